import { baseUrl, directory, instant, integer, list, oneOf, rate } from './config/parse.ts';
import { Secret } from './config/secret.ts';
import { type Variables, variables } from './config/variables.ts';
import { Misconfigured } from './core/errors.ts';
import { bareHost, isThisMachine } from './core/this-machine.ts';

export { parseInstant } from './config/parse.ts';
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

export interface TrackerConfig {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly email: string;
  readonly apiToken: Secret;
  /** A further filter, in the tracker's query language. */
  readonly jql?: string;
  /** Where history begins. */
  readonly start: Date;
  /** By which field changes are found; `auto` asks the server. */
  readonly changes: 'auto' | 'updated' | 'created';
  /** The window that is walked again each time where changes are found by `created`, in days. */
  readonly createdWindowDays: number;
  /** How far behind the watermark an incremental run begins, in hours. */
  readonly lookbackHours: number;
  /** Names of groups whose members are read where the server lists no groups. */
  readonly groups: readonly string[];
  /** Requests at once. */
  readonly concurrency: number;
  /** Requests a second at most; 0: as many as the server allows. */
  readonly requestsPerSecond: number;
}

export interface AdsConfig {
  /** Includes `/ads/v3`; without a slash at its end. */
  readonly baseUrl: string;
  readonly credentials:
    | { readonly kind: 'token'; readonly accessToken: Secret }
    | {
        readonly kind: 'refresh';
        readonly clientId: string;
        readonly clientSecret: Secret;
        readonly refreshToken: Secret;
        readonly tokenUrl: string;
      };
  /** Ad accounts to read; empty: all that the credentials can see. */
  readonly accountIds: readonly string[];
  /** Name of the header that tells the platform which program asks. */
  readonly sdkHeader: string;
  readonly start: Date;
  /** Requests at once. */
  readonly concurrency: number;
  /** Requests a second at most, all endpoints together; 0: as many as the server allows. */
  readonly requestsPerSecond: number;
  /** The same for the reporting endpoints together, which count as well. */
  readonly reportRequestsPerSecond: number;
  /** Hosts besides the platform's own from which reports may be fetched, without credentials. */
  readonly reportHosts: readonly string[];
  /** How many days of reports are read again: every day, every 7 and every 30 days. */
  readonly restateDays: readonly [nightly: number, weekly: number, monthly: number];
}

export interface WorkflowConfig {
  /** Before `/api/v1`; without a slash at its end. */
  readonly baseUrl: string;
  readonly token?: Secret;
  /** DAGs to read; empty: all. */
  readonly dags: readonly string[];
}

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  readonly apiToken?: Secret;
  /** Another token, with which one may only look. */
  readonly readToken?: Secret;
  /** A run that does not get ahead for so many minutes is stuck. */
  readonly stuckMinutes: number;
}

/** The addresses are secrets: whoever knows them may post. */
export interface NotifyConfig {
  readonly webhookUrl?: Secret;
  /** Signs what is sent to `webhookUrl`. */
  readonly webhookSecret?: Secret;
  readonly slackWebhookUrl?: Secret;
}

/** The addresses are secrets: they may hold a password. */
export interface ProxyConfig {
  /** For addresses of http; a URL of http or https. */
  readonly http?: Secret;
  /** For addresses of https. */
  readonly https?: Secret;
  /** What is reached without one; see `Proxies` of src/extract/http/proxy.ts. */
  readonly except: readonly string[];
}

/** The variables that are secrets: each can be given as NAME_FILE too. */
export const secrets = [
  'DATABASE_URL',
  'TRACKER_API_TOKEN',
  'ADS_ACCESS_TOKEN',
  'ADS_CLIENT_SECRET',
  'ADS_REFRESH_TOKEN',
  'WORKFLOW_TOKEN',
  'TIDEMARK_API_TOKEN',
  'TIDEMARK_READ_TOKEN',
  'TIDEMARK_WEBHOOK_URL',
  'TIDEMARK_WEBHOOK_SECRET',
  'TIDEMARK_SLACK_WEBHOOK_URL',
  'HTTPS_PROXY',
  'HTTP_PROXY',
] as const;

/** Every other variable. */
export const plain = [
  'TIDEMARK_HOME',
  'TIDEMARK_HOST',
  'TIDEMARK_PORT',
  'TIDEMARK_RUN_HOURS',
  'TIDEMARK_STUCK_MINUTES',
  'LOG_LEVEL',
  'TRACKER_BASE_URL',
  'TRACKER_EMAIL',
  'TRACKER_JQL',
  'TRACKER_START',
  'TRACKER_CHANGES',
  'TRACKER_CREATED_WINDOW_DAYS',
  'TRACKER_LOOKBACK_HOURS',
  'TRACKER_GROUPS',
  'TRACKER_CONCURRENCY',
  'TRACKER_REQUESTS_PER_SECOND',
  'ADS_BASE_URL',
  'ADS_CLIENT_ID',
  'ADS_TOKEN_URL',
  'ADS_ACCOUNT_IDS',
  'ADS_SDK_HEADER',
  'ADS_START',
  'ADS_CONCURRENCY',
  'ADS_REQUESTS_PER_SECOND',
  'ADS_REPORT_REQUESTS_PER_SECOND',
  'ADS_REPORT_HOSTS',
  'ADS_RESTATE_DAYS',
  'WORKFLOW_BASE_URL',
  'WORKFLOW_DAGS',
  'NO_PROXY',
] as const;

/**
 * Requests at once: enough that a source which answers within 50 ms is read as fast as it can be loaded, few enough that none of the
 * vendors' published limits (100 requests a second for an account of the tracker) is reached by a site that answers as sites do.
 */
export const defaultConcurrency = 8;

const beginning = new Date('2000-01-01T00:00:00Z');
/** Before this no platform of the kind told numbers by day; each quarter of a year is asked for on its own. */
const adsBeginning = new Date('2015-01-01T00:00:00Z');

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
    logLevel: oneOf(from, 'LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], 'info'),
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

function readTracker(from: Variables): TrackerConfig | undefined {
  const url = baseUrl(from, 'TRACKER_BASE_URL');
  const email = from.text('TRACKER_EMAIL');
  const apiToken = from.secret('TRACKER_API_TOKEN');
  const jql = from.text('TRACKER_JQL');
  const rest = {
    ...(jql === undefined ? {} : { jql }),
    start: instant(from, 'TRACKER_START', beginning),
    changes: oneOf(from, 'TRACKER_CHANGES', ['auto', 'updated', 'created'], 'auto'),
    createdWindowDays: integer(from, 'TRACKER_CREATED_WINDOW_DAYS', 180, 1, 36_500),
    lookbackHours: integer(from, 'TRACKER_LOOKBACK_HOURS', 24, 0, 87_600),
    groups: list(from, 'TRACKER_GROUPS'),
    concurrency: integer(from, 'TRACKER_CONCURRENCY', defaultConcurrency, 1, 64),
    requestsPerSecond: rate(from, 'TRACKER_REQUESTS_PER_SECOND', 0),
  };
  if (!isSet(from, 'TRACKER_BASE_URL')) {
    if (email !== undefined || apiToken)
      from.problem('TRACKER_BASE_URL', 'is missing, though other variables of the tracker are set');
    return undefined;
  }
  if (email === undefined)
    from.problem('TRACKER_EMAIL', 'is missing: the e-mail address of the account that the token belongs to');
  // RFC 7617: the first colon ends the user, and the rest would be a part of the password.
  else if (email.includes(':'))
    from.problem('TRACKER_EMAIL', 'has a colon in it, which no account of Basic auth can have');
  if (!apiToken && !isSet(from, 'TRACKER_API_TOKEN_FILE'))
    from.problem('TRACKER_API_TOKEN', 'is missing: an API token of that account');
  if (url === undefined || email === undefined || !apiToken) return undefined;
  return { baseUrl: url, email, apiToken, ...rest };
}

function readAds(from: Variables): AdsConfig | undefined {
  const url = baseUrl(from, 'ADS_BASE_URL');
  const accessToken = shown(from, 'ADS_ACCESS_TOKEN');
  const clientId = from.text('ADS_CLIENT_ID');
  const clientSecret = from.secret('ADS_CLIENT_SECRET');
  const refreshToken = from.secret('ADS_REFRESH_TOKEN');
  const tokenUrl = baseUrl(from, 'ADS_TOKEN_URL');
  const rest = {
    accountIds: list(from, 'ADS_ACCOUNT_IDS'),
    sdkHeader: headerName(from, 'ADS_SDK_HEADER', 'X-Service-Ads-Sdk'),
    start: instant(from, 'ADS_START', adsBeginning),
    concurrency: integer(from, 'ADS_CONCURRENCY', defaultConcurrency, 1, 64),
    requestsPerSecond: rate(from, 'ADS_REQUESTS_PER_SECOND', 50),
    reportRequestsPerSecond: rate(from, 'ADS_REPORT_REQUESTS_PER_SECOND', 5),
    reportHosts: hosts(from, 'ADS_REPORT_HOSTS', ['storage.googleapis.com']),
    restateDays: restateDays(from, 'ADS_RESTATE_DAYS'),
  };
  if (!isSet(from, 'ADS_BASE_URL')) {
    if (accessToken || clientId !== undefined)
      from.problem('ADS_BASE_URL', 'is missing, though other variables of the ads platform are set');
    return undefined;
  }
  if (url !== undefined && !url.endsWith('/ads/v3')) from.warn('ADS_BASE_URL', 'usually ends with /ads/v3');
  if (accessToken)
    return url === undefined ? undefined : { baseUrl: url, credentials: { kind: 'token', accessToken }, ...rest };
  const asked = {
    ADS_CLIENT_ID: clientId,
    ADS_CLIENT_SECRET: clientSecret,
    ADS_REFRESH_TOKEN: refreshToken,
    ADS_TOKEN_URL: tokenUrl,
  };
  for (const [name, value] of Object.entries(asked)) {
    if (value === undefined && !isSet(from, name) && !isSet(from, `${name}_FILE`)) {
      from.problem(name, 'is missing; or give ADS_ACCESS_TOKEN instead');
    }
  }
  if (url === undefined || clientId === undefined || !clientSecret || !refreshToken || tokenUrl === undefined)
    return undefined;
  return { baseUrl: url, credentials: { kind: 'refresh', clientId, clientSecret, refreshToken, tokenUrl }, ...rest };
}

function readWorkflow(from: Variables): WorkflowConfig | undefined {
  const given = baseUrl(from, 'WORKFLOW_BASE_URL');
  const url = given?.replace(/\/api\/v[12]$/, '');
  if (url !== given) from.warn('WORKFLOW_BASE_URL', `ends before /api/v1: ${url} is taken`);
  const token = shown(from, 'WORKFLOW_TOKEN');
  const dags = list(from, 'WORKFLOW_DAGS');
  if (!isSet(from, 'WORKFLOW_BASE_URL') && (token || dags.length > 0)) {
    from.problem('WORKFLOW_BASE_URL', 'is missing, though other variables of the workflow engine are set');
  }
  return url === undefined ? undefined : { baseUrl: url, ...(token ? { token } : {}), dags };
}

function readServer(from: Variables): ServerConfig {
  // As in a URL, an address of IPv6 may stand in brackets.
  const host = bareHost(from.text('TIDEMARK_HOST') ?? '127.0.0.1');
  const port = integer(from, 'TIDEMARK_PORT', 8080, 0, 65_535);
  const apiToken = bearer(from, 'TIDEMARK_API_TOKEN');
  if (!isThisMachine(host) && !apiToken && !isSet(from, 'TIDEMARK_API_TOKEN_FILE')) {
    from.problem(
      'TIDEMARK_API_TOKEN',
      `is missing: ${host} can be reached from outside, so the control API needs a token`,
    );
  }
  const readToken = bearer(from, 'TIDEMARK_READ_TOKEN');
  if (readToken && !apiToken)
    from.problem('TIDEMARK_API_TOKEN', 'is missing, though TIDEMARK_READ_TOKEN is set: nobody could start anything');
  if (readToken && readToken.reveal() === apiToken?.reveal())
    from.problem('TIDEMARK_READ_TOKEN', 'is the same as TIDEMARK_API_TOKEN: who may look could start and stop');
  return {
    host,
    port,
    ...(apiToken ? { apiToken } : {}),
    ...(readToken ? { readToken } : {}),
    stuckMinutes: integer(from, 'TIDEMARK_STUCK_MINUTES', 15, 1, 1440),
  };
}

/** A token that we show as it is: what an Authorization header cannot carry is a slip of whoever pasted it. */
function shown(from: Variables, name: string): Secret | undefined {
  return fitting(
    from,
    name,
    /^[\x20-\x7e]+$/,
    'has a line break or a character that is not ASCII: no request could show it; copy it once more',
  );
}

/** A token that callers can show us: an Authorization header carries printable ASCII without blanks, and nothing else. */
function bearer(from: Variables, name: string): Secret | undefined {
  return fitting(
    from,
    name,
    /^[\x21-\x7e]+$/,
    'has a blank or a character that is not ASCII: no caller could show it; make one of letters and digits',
  );
}

/** A secret that is of this form, or is told to be wrong. */
function fitting(from: Variables, name: string, form: RegExp, wrong: string): Secret | undefined {
  const secret = from.secret(name);
  if (secret !== undefined && !form.test(secret.reveal())) from.problem(name, wrong);
  return secret;
}

function readNotify(from: Variables): NotifyConfig {
  const webhookUrl = target(from, 'TIDEMARK_WEBHOOK_URL');
  const slackWebhookUrl = target(from, 'TIDEMARK_SLACK_WEBHOOK_URL');
  const webhookSecret = from.secret('TIDEMARK_WEBHOOK_SECRET');
  if (webhookUrl && !webhookSecret)
    from.warn('TIDEMARK_WEBHOOK_SECRET', 'is not set: its receiver cannot tell our messages from others');
  return {
    ...(webhookUrl ? { webhookUrl } : {}),
    ...(webhookSecret ? { webhookSecret } : {}),
    ...(slackWebhookUrl ? { slackWebhookUrl } : {}),
  };
}

/** Named as all programs name them, in lower case first. What is no proxy of HTTP is left alone: it was set for others. */
function readProxies(from: Variables): ProxyConfig {
  const one = (name: string): Secret | undefined => {
    const given = from.secret(name, name.toLowerCase());
    if (given === undefined) return undefined;
    const text = given.reveal();
    const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
    if (url !== null && isProxy(url)) return new Secret(url.href);
    from.warn(
      name,
      'is not the address of an HTTP proxy, such as http://proxy.example:3128 (special characters in user and password percent-encoded); no proxy is used',
    );
    return undefined;
  };
  const http = one('HTTP_PROXY');
  const https = one('HTTPS_PROXY');
  const except = (from.text('NO_PROXY', 'no_proxy') ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  return { ...(http ? { http } : {}), ...(https ? { https } : {}), except };
}

/** A path is that of a script that names proxies, or the rest of a password with a slash; a % that encodes nothing cannot be shown as Basic auth. */
function isProxy({ protocol, hostname, pathname, search, hash, username, password }: URL): boolean {
  if (!/^https?:$/.test(protocol) || hostname === '' || pathname !== '/' || search !== '' || hash !== '') return false;
  try {
    decodeURIComponent(`${username}:${password}`);
    return true;
  } catch {
    return false;
  }
}

/** An address that is itself a secret: https, or http on this machine. */
function target(from: Variables, name: string): Secret | undefined {
  const secret = from.secret(name);
  if (secret === undefined) return undefined;
  const url = URL.parse(secret.reveal());
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isThisMachine(url.hostname));
  if (url !== null && isSafe && url.username === '' && url.password === '') return secret;
  from.problem(name, isSafe ? 'must not hold a user or a password: they would not be sent' : 'is not an https address');
  return undefined;
}

function headerName(from: Variables, name: string, fallback: string): string {
  const text = from.text(name) ?? fallback;
  const isTaken = takenHeaders.has(text.toLowerCase());
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text) && !isTaken) return text;
  from.problem(name, isTaken ? `'${text}' is a header that says something else` : `'${text}' is not a header name`);
  return fallback;
}

/** Headers that each request has for its own ends, or that are of the connection. */
const takenHeaders: ReadonlySet<string> = new Set([
  ...['authorization', 'accept', 'accept-encoding', 'content-type', 'content-length', 'user-agent', 'host'],
  ...['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'expect', 'proxy-authorization'],
]);

/** Names of hosts, in lower case, each with a port where it is not the usual one; a URL is a mistake. */
function hosts(from: Variables, name: string, fallback: readonly string[]): readonly string[] {
  const given = list(from, name).map((host) => host.toLowerCase());
  for (const host of given)
    if (!/^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/.test(host))
      from.problem(name, `'${host}' is not the name of a host, such as storage.googleapis.com`);
  return given.length === 0 ? fallback : given;
}

/** Three numbers of days, none smaller than the one before it. */
function restateDays(from: Variables, name: string): AdsConfig['restateDays'] {
  const fallback = [3, 14, 90] as const;
  const text = from.text(name);
  if (text === undefined) return fallback;
  const [nightly, weekly, monthly, ...more] = list(from, name).map((word) =>
    /^\d{1,4}$/.test(word) ? Number(word) : -1,
  );
  const fits = nightly !== undefined && weekly !== undefined && monthly !== undefined && more.length === 0;
  if (fits && nightly >= 1 && weekly >= nightly && monthly >= weekly) return [nightly, weekly, monthly];
  from.problem(name, `'${text}' is not three growing numbers of days (every day, week and month), such as 3,14,90`);
  return fallback;
}

const isSet = (from: Variables, name: string): boolean => from.text(name) !== undefined;

/** A misspelt variable is otherwise noticed only by what it fails to do. */
function warnOfStrangers(from: Variables): void {
  const known = new Set<string>([...plain, ...secrets, ...secrets.map((name) => `${name}_FILE`)]);
  for (const name of from.names) {
    if (/^(TRACKER|ADS|WORKFLOW|TIDEMARK)_/.test(name) && !known.has(name))
      from.warn(name, 'is not a variable of Tidemark; is it misspelt?');
  }
}
