import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { Misconfigured } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import { bareHost, isThisMachine } from '../core/this-machine.ts';
import { configuredOf } from './configured.ts';
import { notify } from './notify.ts';
import type { Configurable } from './pipeline.ts';
import { type PipelineFile, pipelineFiles } from './pipeline-files.ts';
import { bearerToken, currency, daysOfWeek, integer, isoDays, oneOf, text, timeZone } from './values.ts';
import { Variables } from './variables.ts';

const general = (from: Variables) => ({
  /** Connection string of the warehouse; absent: the embedded one under `home`. */
  databaseUrl: from.secretValue('DATABASE_URL', text),
  /** Encrypts in the warehouse what sources renew; absent: that is kept under `home`. */
  secretKey: from.secretValue('TIDEMARK_SECRET_KEY', longText),
  /** Absolute path of the directory for what Tidemark keeps on disk. */
  home: path.resolve(from.cwd, from.value('TIDEMARK_HOME', z.string().default('.tidemark'))),
  /** How long one run may take, in hours. */
  runHours: from.value('TIDEMARK_RUN_HOURS', integer(1, 500).default(20)),
  /** The folder of pipeline files as the user names it, see `folderOf`. */
  folder: from.value('TIDEMARK_PIPELINES', text),
  /** When pipelines run unless a pipeline file says otherwise. */
  defaults: {
    schedule: from.value('TIDEMARK_SCHEDULE', z.string().default('0 2 * * *')),
    timeZone: from.value('TIDEMARK_TIME_ZONE', timeZone.default('UTC')),
  },
  logLevel: from.value('LOG_LEVEL', logLevel.optional()),
});

const longText = z
  .string()
  .min(32, 'is shorter than 32 characters; make one with openssl rand -base64 32')
  .optional();

const logLevel = oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent');

function server(from: Variables) {
  // In brackets, too, as URLs write an IPv6 address.
  const host = from.value('TIDEMARK_HOST', z.string().default('127.0.0.1').transform(bareHost));
  const port = from.value('TIDEMARK_PORT', integer(0, 65_535).default(8080));
  const stuckMinutes = from.value('TIDEMARK_STUCK_MINUTES', integer(1, 1440).default(15));
  const jobs = from.value('TIDEMARK_JOBS', integer(1, 64).default(usualJobs()));
  const jobsPerSite = from.value('TIDEMARK_JOBS_PER_SITE', integer(1, 64).default(2));
  const apiToken = from.secretValue('TIDEMARK_API_TOKEN', bearerToken);
  const readToken = from.secretValue('TIDEMARK_READ_TOKEN', bearerToken);
  const problem = (what: string) => from.problem('TIDEMARK_API_TOKEN', what);
  if (!from.isSet('TIDEMARK_API_TOKEN')) {
    if (!isThisMachine(host))
      problem(`is missing: ${host} can be reached from outside, so the control API needs a token`);
    else if (readToken) problem('is missing, though TIDEMARK_READ_TOKEN is set: nothing could be started');
  }
  if (readToken && readToken.reveal() === apiToken?.reveal())
    from.problem('TIDEMARK_READ_TOKEN', 'equals TIDEMARK_API_TOKEN: a reader could start and stop runs');
  return { host, port, apiToken, readToken, stuckMinutes, jobs, jobsPerSite };
}

/** A run waits for its source more than it computes; and each has some five connections, of the hundred that Postgres allows by default. */
const usualJobs = (): number => Math.min(8, Math.max(2, 2 * os.availableParallelism()));

/** What the views of the reporting schema show. */
const reporting = (from: Variables) => ({
  timeZone: from.value('TIDEMARK_REPORTING_TIME_ZONE', timeZone.default('UTC')),
  currency: from.value('TIDEMARK_REPORTING_CURRENCY', currency.optional()),
  workingDays: isoDays(from.value('TIDEMARK_WORKING_DAYS', daysOfWeek)),
  fiscalYearStart: from.value('TIDEMARK_FISCAL_YEAR_START', integer(1, 12).default(1)),
  names: from.value('TIDEMARK_BI_NAMES', oneOf('shown', 'pseudonyms').default('shown')),
  restrictedIssues: from.value('TIDEMARK_BI_RESTRICTED_ISSUES', oneOf('hidden', 'shown').default('hidden')),
});

/** Proxies by scheme of the target. They are secrets: an address may hold a password. */
function proxies(from: Variables) {
  const http = proxy(from, 'HTTP_PROXY');
  const https = proxy(from, 'HTTPS_PROXY');
  const except = from
    .value('NO_PROXY', z.string().default(''))
    .split(/[\s,]+/)
    .filter(Boolean);
  return { ...(http && { http }), ...(https && { https }), except };
}

/** What is no HTTP proxy is ignored with a warning: it was set for other programs. */
function proxy(from: Variables, name: string): Secret | undefined {
  const given = from.secretValue(name, text)?.reveal();
  if (given === undefined) return undefined;
  try {
    const url = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`);
    // A stray % cannot be sent as Basic auth.
    decodeURIComponent(`${url.username}:${url.password}`);
    // A path belongs to a proxy script, or to a password with a slash.
    const isBare = url.hostname !== '' && `${url.pathname}${url.search}${url.hash}` === '/';
    if (isBare && /^https?:$/.test(url.protocol)) return new Secret(url.href);
  } catch {
    // It is no URL.
  }
  const form = 'http://proxy.example:3128 (special characters percent-encoded)';
  from.warn(name, `is not the address of an HTTP proxy, such as ${form}; no proxy is used`);
  return undefined;
}

/** Everything that the user can set, read once and checked. */
export type Config<C extends Configurable = Configurable> = ReturnType<typeof readConfig<C>>;

/** As `readConfig`, with the pipeline files that `pipelineFiles` finds. Throws Misconfigured. */
export const loadConfig = async <C extends Configurable>(env: NodeJS.ProcessEnv, cwd: string) =>
  readConfig(env, cwd, await pipelineFiles<C>(new Variables(env, cwd)));

/**
 * Reads the environment and `<cwd>/.env`; the environment wins. Reads nothing but `.env` and the files that NAME_FILE variables name.
 * Throws `Misconfigured` with every problem, one a line; no message holds a secret.
 */
export function readConfig<C extends Configurable>(
  env: NodeJS.ProcessEnv,
  cwd: string,
  files: readonly PipelineFile<C>[],
) {
  const from = new Variables(env, cwd);
  const { defaults, ...own } = general(from);
  const config = {
    ...own,
    server: server(from),
    notify: notify(from),
    reporting: reporting(from),
    proxies: proxies(from),
    /** In the order in which they run. */
    ...configuredOf(from, files, defaults),
    /** What is allowed but doubtful, one sentence each. */
    warnings: from.warnings,
    /** Every value and where it comes from, for people. */
    shown: from.shown,
  };
  const renews = config.pipelines.some(({ values }) => values?.refreshToken !== undefined);
  if (renews && config.databaseUrl && !config.secretKey)
    from.warn(
      'TIDEMARK_SECRET_KEY',
      'is not set: a refresh token that a source renews is kept on this machine alone, and no other can sign in with it',
    );
  warnOfUnread(from, files);
  if (from.problems.length > 0) throw misconfigured(from.problems);
  return config;
}

/** What says where a server listens, and its tokens. Throws Misconfigured for problems of these alone. */
export function serverSettings(env: NodeJS.ProcessEnv, cwd: string): Config['server'] {
  const from = new Variables(env, cwd);
  const settings = server(from);
  if (from.problems.length > 0) throw misconfigured(from.problems);
  return settings;
}

/** An error with these problems, one a line. */
export function misconfigured(problems: readonly string[]): Misconfigured {
  const many = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  return new Misconfigured([`the configuration has ${many}:`, ...problems].join('\n  '));
}

/** A variable that is named like those that are read, and is not read itself. */
function warnOfUnread<C extends Configurable>(from: Variables, files: readonly PipelineFile<C>[]): void {
  const names = from.shown.map(({ variable, isSecret }) => [variable, isSecret && `${variable}_FILE`]);
  const read = new Set(names.flat());
  const prefixes = files.flatMap(({ definition }) =>
    definition.is === 'pipeline' ? (definition.source?.prefix ?? []) : [],
  );
  const ours = ['TIDEMARK', 'TRACKER', 'ADS', 'WORKFLOW', ...prefixes].map((prefix) => `${prefix}_`);
  for (const name of new Set(from.names()))
    if (!read.has(name) && ours.some((prefix) => name.startsWith(prefix)))
      from.warn(name, 'is read by nothing; is it misspelt, or missing in a pipeline file?');
}
