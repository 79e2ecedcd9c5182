import path from 'node:path';
import { z } from 'zod';
import { Misconfigured } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import { bareHost, isThisMachine } from '../core/this-machine.ts';
import { configuredOf } from './configured.ts';
import type { Configurable } from './pipeline.ts';
import { type PipelineFile, pipelineFiles } from './pipeline-files.ts';
import { bearerToken, currency, daysOfWeek, integer, oneOf, text, timeZone, webhookUrl } from './values.ts';
import { part, Variables } from './variables.ts';

const general = part({
  secrets: { DATABASE_URL: text },
  plain: {
    TIDEMARK_HOME: z.string().default('.tidemark'),
    TIDEMARK_RUN_HOURS: integer(1, 500).default(20),
    TIDEMARK_PIPELINES: text,
    TIDEMARK_SCHEDULE: z.string().default('0 2 * * *'),
    TIDEMARK_TIME_ZONE: timeZone.default('UTC'),
    LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').optional(),
  },
  build: (v, from) => ({
    /** Connection string of the warehouse; absent: the embedded one under `home`. */
    databaseUrl: v.DATABASE_URL,
    /** Absolute path of the directory for what Tidemark keeps on disk. */
    home: path.resolve(from.cwd, v.TIDEMARK_HOME),
    /** How long one run may take, in hours. */
    runHours: v.TIDEMARK_RUN_HOURS,
    logLevel: v.LOG_LEVEL,
    /** When pipelines run unless a pipeline file says otherwise. */
    defaults: { schedule: v.TIDEMARK_SCHEDULE, timeZone: v.TIDEMARK_TIME_ZONE },
  }),
});

const server = part({
  secrets: { TIDEMARK_API_TOKEN: bearerToken, TIDEMARK_READ_TOKEN: bearerToken },
  plain: {
    // In brackets, too, as URLs write an IPv6 address.
    TIDEMARK_HOST: z.string().default('127.0.0.1').transform(bareHost),
    TIDEMARK_PORT: integer(0, 65_535).default(8080),
    TIDEMARK_STUCK_MINUTES: integer(1, 1440).default(15),
  },
  build: (v, from) => {
    const [host, apiToken, readToken] = [v.TIDEMARK_HOST, v.TIDEMARK_API_TOKEN, v.TIDEMARK_READ_TOKEN];
    const problem = (what: string) => from.problem('TIDEMARK_API_TOKEN', what);
    if (!from.isSet('TIDEMARK_API_TOKEN')) {
      if (!isThisMachine(host))
        problem(`is missing: ${host} can be reached from outside, so the control API needs a token`);
      else if (readToken) problem('is missing, though TIDEMARK_READ_TOKEN is set: nothing could be started');
    }
    if (readToken && readToken.reveal() === apiToken?.reveal())
      from.problem('TIDEMARK_READ_TOKEN', 'equals TIDEMARK_API_TOKEN: a reader could start and stop runs');
    return { host, port: v.TIDEMARK_PORT, apiToken, readToken, stuckMinutes: v.TIDEMARK_STUCK_MINUTES };
  },
});

/** What the views of the reporting schema show. */
const reporting = part({
  secrets: {},
  plain: {
    TIDEMARK_REPORTING_TIME_ZONE: timeZone.default('UTC'),
    TIDEMARK_REPORTING_CURRENCY: currency.optional(),
    TIDEMARK_WORKING_DAYS: daysOfWeek.default([1, 2, 3, 4, 5]),
    TIDEMARK_FISCAL_YEAR_START: integer(1, 12).default(1),
    TIDEMARK_BI_NAMES: oneOf('shown', 'pseudonyms').default('shown'),
    TIDEMARK_BI_RESTRICTED_ISSUES: oneOf('hidden', 'shown').default('hidden'),
  },
  build: (v) => ({
    timeZone: v.TIDEMARK_REPORTING_TIME_ZONE,
    currency: v.TIDEMARK_REPORTING_CURRENCY,
    workingDays: v.TIDEMARK_WORKING_DAYS,
    fiscalYearStart: v.TIDEMARK_FISCAL_YEAR_START,
    names: v.TIDEMARK_BI_NAMES,
    restrictedIssues: v.TIDEMARK_BI_RESTRICTED_ISSUES,
  }),
});

/** Where changes of state are sent. The addresses are secrets: anyone who knows one may post to it. */
const notify = part({
  secrets: {
    TIDEMARK_WEBHOOK_URL: webhookUrl,
    TIDEMARK_WEBHOOK_SECRET: text,
    TIDEMARK_SLACK_WEBHOOK_URL: webhookUrl,
  },
  plain: {},
  build: (v, from) => {
    const [url, secret] = [v.TIDEMARK_WEBHOOK_URL, v.TIDEMARK_WEBHOOK_SECRET];
    const slack = v.TIDEMARK_SLACK_WEBHOOK_URL;
    if (url && !secret)
      from.warn('TIDEMARK_WEBHOOK_SECRET', 'is not set: the receiver cannot verify who sent a message');
    // The secret signs the messages.
    const webhook = url && { name: 'webhook' as const, url, ...(secret && { secret }) };
    return [webhook, slack && { name: 'slack' as const, url: slack }].filter((one) => one !== undefined);
  },
});

/** Proxies by scheme of the target. They are secrets: an address may hold a password. */
const proxies = part({
  secrets: { HTTPS_PROXY: text, HTTP_PROXY: text },
  plain: { NO_PROXY: z.string().default('') },
  build: (v, from) => {
    const [http, https] = [
      proxy(from, 'HTTP_PROXY', v.HTTP_PROXY),
      proxy(from, 'HTTPS_PROXY', v.HTTPS_PROXY),
    ];
    const except = v.NO_PROXY.split(/[\s,]+/).filter(Boolean);
    return { ...(http && { http }), ...(https && { https }), except };
  },
});

/** What is no HTTP proxy is ignored with a warning: it was set for other programs. */
function proxy(from: Variables, name: string, address: Secret | undefined): Secret | undefined {
  const given = address?.reveal();
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
export async function loadConfig<C extends Configurable>(
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<Config<C>> {
  return readConfig(env, cwd, await pipelineFiles<C>(new Variables(env, cwd)));
}

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
  warnOfUnread(from, files);
  if (from.problems.length > 0) throw misconfigured(from.problems);
  return config;
}

/** An error with these problems, one a line. */
export function misconfigured(problems: readonly string[]): Misconfigured {
  const many = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  return new Misconfigured([`the configuration has ${many}:`, ...problems].join('\n  '));
}

/** A variable that is named like those that are read, and is not read itself. */
function warnOfUnread<C extends Configurable>(from: Variables, files: readonly PipelineFile<C>[]): void {
  const read = new Set(
    from.shown.flatMap(({ variable, isSecret }) => [variable, isSecret && `${variable}_FILE`]),
  );
  const prefixes = files.flatMap(({ definition }) =>
    definition.is === 'pipeline' ? (definition.source?.prefix ?? []) : [],
  );
  const ours = ['TIDEMARK', 'TRACKER', 'ADS', 'WORKFLOW', ...prefixes].map((prefix) => `${prefix}_`);
  for (const name of new Set(from.names()))
    if (!read.has(name) && ours.some((prefix) => name.startsWith(prefix)))
      from.warn(name, 'is read by nothing; is it misspelt, or missing in a pipeline file?');
}
