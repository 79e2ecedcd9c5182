/** What an answer's headers say about time: the source's clock, and when to come back. */

/** Names in lower case; a repeated header is joined by commas. */
export type Headers = Readonly<Record<string, string>>;

/** `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that HTTP allows senders. */
const imf = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

const httpDate = (text: string | undefined): Date | undefined => {
  if (text === undefined || !imf.test(text.trim())) return undefined;
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? undefined : date;
};

/** The source's clock when it answered (whole seconds); undefined where it sent none that can be read. */
export const dateOf = (headers: Headers): Date | undefined => httpDate(headers.date);

/** Dates are measured by the clock of the server that wrote them: ours may be wrong. */
const clockOf = (headers: Headers, wallMs: number): number => dateOf(headers)?.getTime() ?? wallMs;

/** How long the source wants us to wait, in ms: from `Retry-After` (seconds or a date), else from a rate limit that is used up. */
export const retryAfterMs = (headers: Headers, wallMs: number): number | undefined => {
  const text = headers['retry-after']?.trim();
  if (text !== undefined && /^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const date = httpDate(text);
  if (date !== undefined) return Math.max(0, date.getTime() - clockOf(headers, wallMs));
  return limitIn(headers, wallMs).resetMs;
};

/** Ms until the limit is fresh again, where the source says that none is left of it. */
export const usedUpMs = (headers: Headers, wallMs: number): number | undefined => {
  const { remaining, resetMs } = limitIn(headers, wallMs);
  return remaining === 0 ? resetMs : undefined;
};

/** The distance that requests are to keep, and for how long. */
export type Pace = Readonly<Record<'spacingMs' | 'forMs', number>>;

/** Without numbers. */
const pace = { spacingMs: 100, forMs: 10_000 };

/** The most that a request is held back before a limit is used up. */
const mostSpacingMs = 1_000;

/**
 * The pace for what is left of a limit, where that is a fifth of it or less: `X-RateLimit-NearLimit` says the same
 * (vendor-facts).
 */
export const paceOf = (headers: Headers, wallMs: number): Pace | undefined => {
  const { limit, remaining, resetMs } = limitIn(headers, wallMs);
  const isNear = headers['x-ratelimit-nearlimit']?.trim().toLowerCase() === 'true';
  if (!isNear && !(remaining !== undefined && limit !== undefined && remaining * 5 <= limit))
    return undefined;
  if (!remaining || resetMs === undefined) return isNear ? pace : undefined;
  return { spacingMs: Math.min(resetMs / remaining, mostSpacingMs), forMs: resetMs };
};

/** What is left of a limit. */
type RemainingLimit = Partial<Record<'limit' | 'remaining' | 'resetMs', number | undefined>>;

const natural = (text: string | undefined): number | undefined =>
  text !== undefined && /^\s*\d{1,15}\s*$/.test(text) ? Number(text) : undefined;

/** By a header for each number (`X-RateLimit-Remaining`, `RateLimit-Remaining`), or by one for all of them. */
const limitIn = (headers: Headers, wallMs: number): RemainingLimit => {
  const of = (name: string): string | undefined =>
    headers[`x-ratelimit-${name}`] ?? headers[`ratelimit-${name}`] ?? headers[`beta-ratelimit-${name}`];
  const all = headers.ratelimit ?? headers['beta-ratelimit'];
  const remaining = natural(of('remaining'));
  if (all !== undefined && remaining === undefined) return tightestIn(all, of('policy') ?? '');
  return { limit: natural(of('limit')), remaining, resetMs: msUntil(of('reset'), headers, wallMs) };
};

/**
 * `"name";r=5;t=30`, one for each limit, with `"name";q=100;w=60` as policies (draft-ietf-httpapi-ratelimit-headers;
 * Jira's `Beta-RateLimit`): of several the one of which least is left.
 */
const tightestIn = (limits: string, policies: string): RemainingLimit => {
  const numberIn = (item: string, name: string): number | undefined =>
    natural(new RegExp(`;\\s*${name}=(\\d+)`).exec(item)?.[1]);
  const nameOf = (item: string): string | undefined => /"([^"]*)"/.exec(item)?.[1];
  const quotas = new Map(policies.split(',').map((item) => [nameOf(item), numberIn(item, 'q')]));
  const found = limits.split(',').map((item) => {
    const seconds = numberIn(item, 't');
    const limit = quotas.get(nameOf(item));
    const remaining = numberIn(item, 'r');
    return { limit, remaining, resetMs: seconds === undefined ? undefined : seconds * 1000 };
  });
  const left = ({ remaining = Number.POSITIVE_INFINITY, limit = 1 }: RemainingLimit): number =>
    remaining / limit;
  return found.toSorted((a, b) => left(a) - left(b))[0] ?? {};
};

/**
 * An answer speaks of one endpoint and method, not of the whole source: `RateLimit-Reason: jira-burst-based`, or
 * `jira-per-issue-on-write`; a quota is of all requests (vendor-facts).
 */
export const isOfEndpoint = (headers: Headers): boolean =>
  /-(burst-based|per-issue-on-write)$/.test(headers['ratelimit-reason']?.trim() ?? '');

/** A 403 that is a rate limit: GitHub's primary one has nothing left, its secondary one says when to come back (docs.github.com/rest). */
export const isLimit = (headers: Headers): boolean =>
  headers['retry-after'] !== undefined || headers['x-ratelimit-remaining']?.trim() === '0';

/** When a limit is fresh again, in ms from now: Jira sends an ISO 8601 time, Spotify seconds until then (vendor-facts), GitHub seconds since 1970. */
const msUntil = (value = '', headers: Headers, wallMs: number): number | undefined => {
  const text = value.trim();
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Number(text) * 1000;
  if (/^\d{10}$/.test(text)) return Math.max(0, Number(text) * 1000 - clockOf(headers, wallMs));
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - clockOf(headers, wallMs));
};
