import path from 'node:path';
import { z } from 'zod';
import { Misconfigured } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import { bareHost, isThisMachine } from '../core/this-machine.ts';
import { type Part, part } from './part.ts';
import { bearerToken, integer, oneOf, text, webhookUrl } from './values.ts';
import { Variables } from './variables.ts';

/** Everything that the user can set, read once and checked. */
export type Config<Sources> = ReturnType<typeof readOwn> & {
  /** Settings by the name of the source; one that is absent is not configured. */
  readonly sources: Sources;
  /** What is allowed but doubtful, one sentence each. */
  readonly warnings: readonly string[];
};

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const general = part({
  secrets: { DATABASE_URL: text },
  plain: {
    TIDEMARK_HOME: z.string().default('.tidemark'),
    TIDEMARK_RUN_HOURS: integer(1, 500).default(20),
    LOG_LEVEL: oneOf(...logLevels).optional(),
  },
  build: (v, from) => ({
    /** Connection string of the warehouse; absent: the embedded one under `home`. */
    databaseUrl: v.DATABASE_URL,
    /** Absolute path of the directory for what Tidemark keeps on disk. */
    home: path.resolve(from.cwd, v.TIDEMARK_HOME),
    /** How long one run may take, in hours. */
    runHours: v.TIDEMARK_RUN_HOURS,
    logLevel: v.LOG_LEVEL,
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

/** The addresses are secrets: anyone who knows one may post to it. */
interface Channel {
  readonly name: 'webhook' | 'slack';
  readonly url: Secret;
  /** Signs the messages. */
  readonly secret?: Secret;
}

const notify = part({
  secrets: {
    TIDEMARK_WEBHOOK_URL: webhookUrl,
    TIDEMARK_WEBHOOK_SECRET: text,
    TIDEMARK_SLACK_WEBHOOK_URL: webhookUrl,
  },
  plain: {},
  build: (v, from): readonly Channel[] => {
    const [url, secret] = [v.TIDEMARK_WEBHOOK_URL, v.TIDEMARK_WEBHOOK_SECRET];
    const slack = v.TIDEMARK_SLACK_WEBHOOK_URL;
    if (url && !secret)
      from.warn('TIDEMARK_WEBHOOK_SECRET', 'is not set: the receiver cannot verify who sent a message');
    return [
      ...(url ? [{ name: 'webhook' as const, url, ...(secret && { secret }) }] : []),
      ...(slack ? [{ name: 'slack' as const, url: slack }] : []),
    ];
  },
});

/** Proxies by scheme of the target. They are secrets: an address may hold a password. */
const proxies = {
  secrets: ['HTTPS_PROXY', 'HTTP_PROXY'],
  plain: ['NO_PROXY'],
  read(from: Variables) {
    const [http, https] = [proxy(from, 'HTTP_PROXY'), proxy(from, 'HTTPS_PROXY')];
    const except = (from.text('no_proxy', 'NO_PROXY') ?? '').split(/[\s,]+/).filter(Boolean);
    return { ...(http && { http }), ...(https && { https }), except };
  },
};

/** In lower case first. What is no HTTP proxy is ignored with a warning: it was set for other programs. */
function proxy(from: Variables, name: string): Secret | undefined {
  const given = from.secret(name, name.toLowerCase());
  if (given === undefined) return undefined;
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`);
  // A path belongs to a proxy script, or to a password with a slash; a stray % cannot be sent as Basic auth.
  const isBare = url?.hostname && `${url.pathname}${url.search}${url.hash}` === '/';
  if (isBare && /^https?:$/.test(url.protocol) && isDecodable(`${url.username}:${url.password}`))
    return new Secret(url.href);
  const form = 'http://proxy.example:3128 (special characters percent-encoded)';
  from.warn(name, `is not the address of an HTTP proxy, such as ${form}; no proxy is used`);
  return undefined;
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== '';
  } catch {
    return false;
  }
}

type Parts = Readonly<Record<string, Part<unknown>>>;

/** Names of all variables, secrets apart. */
export function variableNames(sources: Parts) {
  const parts = [general, server, notify, proxies, ...Object.values(sources)];
  return { secrets: parts.flatMap(({ secrets }) => secrets), plain: parts.flatMap(({ plain }) => plain) };
}

const readOwn = (from: Variables) => ({
  ...general.read(from),
  server: server.read(from),
  /** Where changes of state are sent. */
  notify: notify.read(from),
  proxies: proxies.read(from),
});

/**
 * Reads the environment and `<cwd>/.env`; the environment wins. Reads nothing but `.env` and the files that NAME_FILE variables name.
 * Throws `Misconfigured` with every problem, one a line; no message holds a secret.
 */
export function readConfig<P extends Parts>(env: NodeJS.ProcessEnv, cwd: string, sources: P) {
  const from = new Variables(env, cwd);
  const { problems, warnings } = from;
  const settings = Object.entries(sources).map(([name, part]) => [name, part.read(from)]);
  type Sources = { readonly [K in keyof P]: ReturnType<P[K]['read']> };
  const config: Config<Sources> = {
    ...readOwn(from),
    sources: Object.fromEntries(settings) as Sources,
    warnings,
  };
  warnOfUnknown(from, variableNames(sources));
  if (problems.length === 0) return config;
  const many = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  throw new Misconfigured([`the configuration has ${many}:`, ...problems].join('\n  '));
}

/** A misspelt variable would otherwise be ignored without notice. */
function warnOfUnknown(from: Variables, { secrets, plain }: ReturnType<typeof variableNames>): void {
  const valid = new Set([...plain, ...secrets, ...secrets.map((name) => `${name}_FILE`)]);
  for (const name of new Set(from.names()))
    if (/^(TRACKER|ADS|WORKFLOW|TIDEMARK)_/.test(name) && !valid.has(name))
      from.warn(name, 'is not a variable of Tidemark; is it misspelt?');
}
