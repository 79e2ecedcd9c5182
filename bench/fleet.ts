/** Processes of `serve` on one warehouse, and many pipelines of simulated sites. */
import fs from 'node:fs';
import path from 'node:path';
import { type Service, service } from './processes.ts';

export interface Address {
  readonly url: string;
  readonly email: string;
  readonly token: string;
}

type Serving = Service<{ readonly url: string }>;

/** Runs at once in each process. */
const jobs = 4;

const nameOf = (n: number): string => `site_${String(n + 1).padStart(3, '0')}`;

/**
 * Writes a pipeline file for each site, and a night over all of them; gives the variables that a process needs. `more`: what the files of the
 * pipelines say besides.
 */
export function pipelinesOf(
  folder: string,
  sites: readonly Address[],
  warehouse: string,
  more = '',
): Readonly<Record<string, string>> {
  fs.mkdirSync(folder);
  const write = (name: string, text: string): void =>
    fs.writeFileSync(
      path.join(folder, `${name}.ts`),
      `import { jira, nightly, pipeline } from 'tidemark';\nexport default ${text};\n`,
    );
  const variables: Record<string, string> = {
    DATABASE_URL: warehouse,
    TIDEMARK_PIPELINES: folder,
    TIDEMARK_JOBS: String(jobs),
    HOME: folder,
  };
  for (const [n, { url, email, token }] of sites.entries()) {
    const name = nameOf(n);
    write(name, `pipeline({ name: '${name}', source: jira.fromEnv('${name.toUpperCase()}')${more} })`);
    variables[`${name.toUpperCase()}_BASE_URL`] = url;
    variables[`${name.toUpperCase()}_EMAIL`] = email;
    variables[`${name.toUpperCase()}_API_TOKEN`] = token;
    variables[`${name.toUpperCase()}_CONCURRENCY`] = '2';
  }
  write('nightly', `nightly({ pipelines: ${JSON.stringify(sites.map((_, n) => nameOf(n)))} })`);
  return variables;
}

export const serving = (
  count: number,
  variables: Readonly<Record<string, string>>,
): Promise<readonly Serving[]> =>
  Promise.all(
    Array.from({ length: count }, () =>
      service<{ readonly url: string }>('src/tidemark.js', ['serve', '--port', '0', '--json'], variables),
    ),
  );

/** Starts a run through the API of a process; gives its id. */
export async function start({ ready }: Serving, pipeline: string): Promise<string> {
  const answer = await fetch(`${ready.url}/api/v1/dags/${pipeline}/start`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const body = (await answer.json()) as { readonly data?: { readonly runId: string } };
  if (answer.status !== 202 || body.data === undefined)
    throw new Error(`start of ${pipeline}: ${answer.status} ${JSON.stringify(body)}`);
  return body.data.runId;
}
