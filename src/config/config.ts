import { readWorkflow, type WorkflowConfig, workflowNames } from '../connectors/dagu/config.ts';
import { readTracker, type TrackerConfig, trackerNames } from '../connectors/jira/config.ts';
import { type AdsConfig, adsNames, readAds } from '../connectors/spotify-ads/config.ts';
import { Misconfigured } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import { type NotifyConfig, notifyNames, readNotify } from './notify.ts';
import { directory, integer, oneOf } from './parse.ts';
import { type ProxyConfig, proxyNames, readProxies } from './proxies.ts';
import { readServer, type ServerConfig, serverNames } from './server.ts';
import { type Variables, variables } from './variables.ts';

export type { AdsConfig } from '../connectors/spotify-ads/config.ts';
export { defaultConcurrency } from './concurrency.ts';
export { parseInstant } from './parse.ts';
export { Secret };

/** Everything the user can set, read once and checked. A source that is absent is not configured. */
export interface Config {
  /** Connection string of the warehouse; absent: the embedded one under `home`. */
  readonly databaseUrl?: Secret;
  /** Absolute path of the directory for what Tidemark keeps on disk. */
  readonly home: string;
  readonly tracker?: TrackerConfig;
  readonly ads?: AdsConfig;
  readonly workflow?: WorkflowConfig;
  readonly server: ServerConfig;
  /** Where changes of state are told; empty: nowhere. */
  readonly notify: NotifyConfig;
  /** Between us and whatever is not this machine. */
  readonly proxies: ProxyConfig;
  /** How long one run may take, in hours. */
  readonly runHours: number;
  readonly logLevel: LogLevel;
  /** What is allowed but doubtful, one sentence each. */
  readonly warnings: readonly string[];
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** Those of every part. */
const parts = [trackerNames, adsNames, workflowNames, serverNames, notifyNames, proxyNames] as const;

/** The variables that are secrets: each can be given as NAME_FILE too. */
export const secrets = ['DATABASE_URL', ...parts.flatMap(({ secrets: names }) => [...names])] as const;

/** Every other variable. */
export const plain = [
  'TIDEMARK_HOME',
  'TIDEMARK_RUN_HOURS',
  'LOG_LEVEL',
  ...parts.flatMap(({ plain: names }) => [...names]),
] as const;

/**
 * Reads the environment and `<cwd>/.env`; the environment wins. Touches nothing but `.env` and the files that NAME_FILE variables name.
 * Throws `Misconfigured` with every problem, one a line; no message holds a secret.
 */
export function readConfig(env: NodeJS.ProcessEnv, cwd: string): Config {
  const from = variables(env, cwd);
  const databaseUrl = from.secret('DATABASE_URL');
  const tracker = readTracker(from);
  const ads = readAds(from);
  const workflow = readWorkflow(from);
  const config: Config = {
    ...(databaseUrl ? { databaseUrl } : {}),
    home: directory(from, 'TIDEMARK_HOME', '.tidemark', cwd),
    ...(tracker ? { tracker } : {}),
    ...(ads ? { ads } : {}),
    ...(workflow ? { workflow } : {}),
    server: readServer(from),
    notify: readNotify(from),
    proxies: readProxies(from),
    runHours: integer(from, 'TIDEMARK_RUN_HOURS', 20, 1, 500),
    logLevel: oneOf(
      from,
      'LOG_LEVEL',
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'info',
    ),
    warnings: from.warnings,
  };
  warnOfStrangers(from);
  if (from.problems.length > 0) {
    throw new Misconfigured(
      `the configuration has ${count(from.problems.length)}:\n${from.problems.map((p) => `  ${p}`).join('\n')}`,
    );
  }
  return config;
}

const count = (problems: number): string => (problems === 1 ? 'a problem' : `${problems} problems`);

/** A misspelt variable is otherwise noticed only by what it fails to do. */
function warnOfStrangers(from: Variables): void {
  const known = new Set<string>([...plain, ...secrets, ...secrets.map((name) => `${name}_FILE`)]);
  for (const name of from.names) {
    if (/^(TRACKER|ADS|WORKFLOW|TIDEMARK)_/.test(name) && !known.has(name))
      from.warn(name, 'is not a variable of Tidemark; is it misspelt?');
  }
}
