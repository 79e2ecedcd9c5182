/** What an answer's headers say about time: the source's clock, and when to come back. */

type Headers = Readonly<Record<string, string>>;

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
  return limitResetMs(headers, wallMs);
};

/** How long until the limit is fresh again, if `X-RateLimit-Remaining` says that none is left. */
export const usedUpMs = (headers: Headers, wallMs: number): number | undefined =>
  headers['x-ratelimit-remaining']?.trim() === '0' ? limitResetMs(headers, wallMs) : undefined;

/** The source says that little is left of its limit. */
export const isNearLimit = (headers: Headers): boolean =>
  headers['x-ratelimit-nearlimit']?.trim().toLowerCase() === 'true';

/** A 429 speaks of one endpoint and method, not of the whole source: `RateLimit-Reason: jira-burst-based` (vendor-facts). */
export const isOfEndpoint = (headers: Headers): boolean =>
  headers['ratelimit-reason']?.trim().endsWith('-burst-based') === true;

/** A 403 that is a rate limit: GitHub's primary one has nothing left, its secondary one says when to come back (docs.github.com/rest). */
export const isLimit = (headers: Headers): boolean =>
  headers['retry-after'] !== undefined || headers['x-ratelimit-remaining']?.trim() === '0';

/** `X-RateLimit-Reset` in ms from now: Jira sends an ISO 8601 time, Spotify seconds until then (vendor-facts), GitHub seconds since 1970. */
const limitResetMs = (headers: Headers, wallMs: number): number | undefined => {
  const text = headers['x-ratelimit-reset']?.trim() ?? '';
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Number(text) * 1000;
  if (/^\d{10}$/.test(text)) return Math.max(0, Number(text) * 1000 - clockOf(headers, wallMs));
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - clockOf(headers, wallMs));
};
