/** Verbs that run servers on this machine until Ctrl-C: `simulate` and `warehouse`. */
import { Misconfigured } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import type { Verb } from './context.ts';
import { exit } from './exit.ts';
import { facts, toJson } from './output.ts';
import { current } from './schema.ts';
import { untilStopped } from './signals.ts';

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses it',
  EACCES: 'this user may not use it (ports below 1024 need a permission)',
  EADDRNOTAVAIL: 'this machine has no such address',
  EAFNOSUPPORT: 'this machine has no such kind of address',
  EINVAL: 'it is no address to listen on',
  ENOTFOUND: 'there is no such host name',
};

/** An error of listening as Misconfigured where the user can correct it. `change`: the flag or variable to change. */
export function listenError(error: unknown, change: string): unknown {
  const reason = error instanceof Error && 'code' in error ? reasons[String(error.code)] : undefined;
  if (reason === undefined || !(error instanceof Error)) return error;
  return new Misconfigured(`cannot listen: ${error.message}: ${reason}; change ${change}`, { cause: error });
}

/** Starts simulated sources; prints the lines that configure them. */
export const simulate: Verb<{
  readonly seed: number;
  readonly issues: number;
  readonly port: number;
  readonly dialect: 'contract' | 'vendor';
  readonly latency: number;
}> = async ({ out, json, say, parts, signal }, { seed, issues, port, dialect, latency: latencyMs }) => {
  say(`making a company with ${plural(issues, 'issue')} (seed ${seed})`);
  const { startTracker } = await import('../../simulators/jira/server.ts');
  const { startAds } = await import('../../simulators/spotify-ads/server.ts');
  const { startWorkflow } = await import('../../simulators/dagu/server.ts');
  const { inhabit } = await import('../../simulators/dagu/company.ts');
  const closing = <T extends { close(): Promise<unknown> }>(server: T): T =>
    parts.keep(server, (each) => each.close());
  const tracker = await startTracker({ seed, issues, port, dialect, latencyMs }).catch((error: unknown) => {
    throw listenError(error, '--port (0 takes a free one)');
  });
  closing(tracker);
  const ads = closing(await startAds({ seed, dialect, latencyMs, days: 90 }));
  const token = 'simulated-engine-token';
  const engineDialect = dialect === 'vendor' ? 'dagu-v2' : dialect;
  const engine = closing(await startWorkflow({ dialect: engineDialect, token, latencyMs }));
  inhabit(engine, { seed });
  const env = {
    // Its own warehouse, because rows of a real source must not lie in the same tables.
    TIDEMARK_HOME: '.tidemark/simulated',
    TRACKER_BASE_URL: tracker.url,
    TRACKER_EMAIL: tracker.email,
    TRACKER_API_TOKEN: tracker.token,
    ADS_BASE_URL: ads.url,
    ADS_ACCESS_TOKEN: ads.tokens.token,
    ADS_SDK_HEADER: ads.sdkHeader,
    ADS_ACCOUNT_IDS: [...ads.state.accounts.keys()].join(','),
    ADS_REPORT_HOSTS: new URL(ads.storage.origin).host,
    WORKFLOW_BASE_URL: engine.url,
    WORKFLOW_TOKEN: token,
    WORKFLOW_DAGS: [...engine.state.dags.keys()].join(','),
  };
  if (json) out.line(toJson({ dialect, seed, issues, env }));
  else for (const [name, value] of Object.entries(env)) out.line(`${name}=${value}`);
  say('Put these lines into .env (without DATABASE_URL) and run `tidemark sync`. Ctrl-C ends the sources.');
  await untilStopped(signal);
  return exit.ok;
};

/** Starts the embedded warehouse and prints how to connect. */
export const warehouse: Verb = async (context) => {
  const { parts, out, json, say, signal } = context;
  say('starting the warehouse');
  const embedded = await parts.embedded();
  const { address } = await current(context, say);
  if (embedded === undefined) {
    if (json) out.line(toJson({ embedded: false, address }));
    else out.line(`DATABASE_URL is set: the warehouse is ${address}, which Tidemark does not start or stop.`);
    return exit.ok;
  }
  const { url, port, data } = embedded;
  const { hostname, pathname, username, password } = new URL(url);
  const lines = facts(
    {
      connection: url,
      psql: `psql '${url}'`,
      host: hostname,
      port: String(port),
      database: pathname.slice(1),
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      data,
    },
    out,
  );
  if (json) out.line(toJson({ embedded: true, url, host: hostname, port, data }));
  else for (const line of lines) out.line(line);
  say('The warehouse is open. Ctrl-C closes it.');
  await untilStopped(signal);
  return exit.ok;
};
