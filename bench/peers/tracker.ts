import https from 'node:https';
import readline from 'node:readline';
import { request } from 'undici';
import { startTracker } from '../../simulators/jira/server.ts';
import { good, key } from '../../test/support/certificates.ts';

/** What the tracker has, and which issues the last order changed and deleted, by id. */
export interface Truth {
  readonly issues: number;
  /** Entries of the histories of all issues. */
  readonly changes: number;
  readonly changed: readonly string[];
  readonly deleted: readonly string[];
}

/** Where the tracker answers, and its login. */
export interface Address {
  readonly url: string;
  /** The same as version 2 of the API, which takes TLS alone. */
  readonly olderUrl: string;
  readonly email: string;
  readonly token: string;
}

/** The summary that an order gives the issues that it changes. */
export const summaryOf = (order: number): string => `Changed by order ${order}`;

/**
 * Version 2 of the API behind TLS, which tap-jira asks for. Its issues are those of version 3 with the transitions that the account may make:
 * none.
 */
async function olderApi(target: string): Promise<string> {
  const server = https.createServer({ key, cert: good }, async ({ url = '/', headers }, response) => {
    const { authorization } = headers;
    const at = new URL(url.replace('/rest/api/2/', '/rest/api/3/'), target);
    const answer = await request(at, { headers: { authorization, accept: 'application/json' } });
    const body = (await answer.body.json()) as { readonly issues?: readonly object[] };
    const issues = body.issues?.map((issue) => ({ ...issue, transitions: [] }));
    response.writeHead(answer.statusCode, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...body, ...(issues && { issues }) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return `https://127.0.0.1:${address.port}`;
}

/**
 * The tracker that the programs load, in a process of its own. It prints its address. For each line with `change` it changes the summary of one
 * issue in a hundred, deletes one in two hundred, and prints the truth.
 */
if (process.argv[1] === import.meta.filename) {
  const { url, email, token, state, tally } = await startTracker({
    seed: 1,
    issues: Number(process.argv[2]),
    dialect: 'vendor',
    timeZone: 'UTC',
    // Nothing is cut off inside an issue: programs that read no further lists are not at a disadvantage.
    embedded: { changelog: 1000, comments: 1000, worklogs: 1000 },
  });
  const address: Address = { url, olderUrl: await olderApi(url), email, token };
  console.log(JSON.stringify(address));
  let order = 0;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { change = false } = JSON.parse(line) as { readonly change?: boolean };
    const ids = [...state.store.byKey].map((position) => state.store.at(position).id);
    if (change) order += 1;
    const changed = change ? ids.filter((_, place) => place % 100 === order) : [];
    const deleted = change ? ids.filter((_, place) => place % 200 === 150 + order) : [];
    for (const id of changed) state.update(id, { summary: summaryOf(order) });
    for (const id of deleted) state.delete(id);
    const { issues, changes } = tally();
    console.log(JSON.stringify({ issues, changes, changed, deleted } satisfies Truth));
  }
}
