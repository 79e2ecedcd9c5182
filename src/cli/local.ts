/** Verbs that run servers on this machine until Ctrl-C: `simulate` and `warehouse`. */
import { Misconfigured } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import type { Verb } from './context.ts';
import { exit } from './exit.ts';
import { facts, toJson } from './output.ts';
import { current } from './schema.ts';
import { untilStopped } from './signals.ts';

/** An error of listening as Misconfigured where the user can correct it. `change`: the flag or variable to change. */
export function listenError(error: unknown, change: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!/^(EADDR|EACCES|EAFNOSUPPORT|EINVAL|ENOTFOUND|EAI_)/.test(code)) return error;
  return new Misconfigured(`cannot listen: ${(error as Error).message}; change ${change}`, { cause: error });
}

/** Starts simulated sources; prints the lines that configure them. */
export const simulate: Verb<{
  readonly seed: number;
  readonly issues: number;
  readonly port: number;
  readonly dialect: 'contract' | 'vendor';
  readonly latency: number;
}> = async ({ out, json, say, parts, signal }, { latency: latencyMs, ...options }) => {
  const { seed, issues, dialect } = options;
  say(`making a company with ${plural(issues, 'issue')} (seed ${seed})`);
  const { startSources } = await import('../../simulators/start.ts');
  const started = await startSources({ ...options, latencyMs }).catch((error: unknown) => {
    throw listenError(error, '--port (0 takes a free one)');
  });
  const { environment: env } = parts.keep(started, (each) => each.close());
  if (json) out.line(toJson({ dialect, seed, issues, env }));
  else for (const [name, value] of Object.entries(env)) out.line(`${name}=${value}`);
  say('Put these lines into .env (without DATABASE_URL) and run `tidemark sync`. Ctrl-C ends the sources.');
  await untilStopped(signal);
  return exit.ok;
};

/** Starts the embedded warehouse and prints how to connect. */
export const warehouse: Verb = async ({ parts, out, json, say, signal }) => {
  say('starting the warehouse');
  const embedded = await parts.embedded();
  const { address } = await current(parts.warehouse, signal, say);
  if (embedded === undefined) {
    if (json) out.line(toJson({ embedded: false, address }));
    else out.line(`DATABASE_URL is set: the warehouse is ${address}, which Tidemark does not start or stop.`);
    return exit.ok;
  }
  const { url, port, data } = embedded;
  if (json) out.line(toJson({ embedded: true, url, host: '127.0.0.1', port, data }));
  else for (const line of facts({ connection: url, psql: `psql '${url}'`, data }, out)) out.line(line);
  say('The warehouse is open. Ctrl-C closes it.');
  await untilStopped(signal);
  return exit.ok;
};
