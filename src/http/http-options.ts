/** The options of an `Http`. One right default each. */

import type { Http } from '../core/stream.ts';
import type { Advice } from './advice.ts';
import type { Proxies } from './proxy.ts';

export interface HttpOptions {
  /** Origin and optional path prefix, e.g. `https://api.example.com/ads/v3`; no user, query or fragment. */
  readonly baseUrl: string;
  /** How requests log in (`auth.ts`); absent: they do not. Credentials go to the origin of `baseUrl` and nowhere else. */
  readonly auth?: Auth | undefined;
  /** Sent as `tidemark/<version>`. */
  readonly version?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How bodies are written: as JSON (default), or as a form whose fields are text. */
  readonly bodies?: 'json' | 'form';
  /** Further secrets that a server could echo: no message shows them. Asked when there is a message. */
  readonly secrets?: () => readonly string[];
  /** What to do about sentences of this vendor's errors; also those of its token endpoint. */
  readonly advice?: readonly Advice[];
  /** Between us and the origin; absent: none. */
  readonly proxies?: Proxies;
  /** Connections, and requests under way at once. Default 8. */
  readonly concurrency?: number;
  readonly timeouts?: Partial<Timeouts>;
  readonly limits?: Partial<SizeLimits>;
  readonly retry?: Partial<RetryPolicy>;
  /** The narrowest first; a request keeps to every one that covers its endpoint. */
  readonly rates?: readonly Rate[];
  /** Keeps rates and pauses together with other processes; absent: this process keeps them by itself. */
  readonly budget?: Budget;
  readonly observe?: (event: HttpEvent) => void;
  /** For tests: the dice, the monotonic clock (ms), the wall clock (epoch ms) and how to wait. */
  readonly random?: () => number;
  readonly now?: () => number;
  readonly wall?: () => number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * A way to log in. Each `Http` opens it for itself, and closes it. `open` gives an `Http` to another server, with the proxies, deadlines,
 * retries and clocks of the source's; `now` is their monotonic clock (ms).
 */
export type Auth = (open: (options: HttpOptions) => Http, now: () => number) => Login;

/** A login of one `Http`. */
export interface Login {
  /** The headers of the next request; asked before each. */
  authorize(): Credentials;
  /** Awaited before each request: resolves when `authorize` gives credentials that do not expire at once. */
  ready?(signal: AbortSignal): Promise<void>;
  /** Gets new credentials after a 401; true if `authorize` now gives others. Shared by all requests that wait for it. */
  renew?(signal: AbortSignal): Promise<boolean>;
  close?(): Promise<void>;
}

/** Headers that carry the credentials. */
export type Credentials = Readonly<Record<string, string>>;

/** In ms. */
export const defaultTimeouts = {
  /** Until the connection is there, TLS included. */
  connectMs: 10_000,
  /** From the request, connecting included, to the end of the answer's headers. */
  headersMs: 60_000,
  /** From the headers to the last byte of the body. */
  bodyMs: 120_000,
};

const mb = 1024 * 1024;

export const defaultLimits = {
  /** Of the body as it comes over the wire. */
  wireBytes: 64 * mb,
  /** Of the body decompressed. */
  decodedBytes: 64 * mb,
  /** Decompressed over compressed; counts from 4 MB on. Believable JSON stays below 100; gzip can make 1,032. */
  ratio: 200,
};

export const defaultRetry = {
  /** Requests sent for one `send`, the first included; waits that a 429 asked for are not counted. */
  tries: 6,
  /** The same where no connection comes about, nor ever has: the address may be wrong. */
  connectTries: 3,
  /** Full jitter: the k-th wait is uniform in [0, baseMs × 2^k). */
  baseMs: 1_000,
  capMs: 60_000,
  /** A source that wants us to wait longer ends the request as `RateLimited` at once. */
  retryAfterMaxMs: 15 * 60_000,
  /** What one `send` may wait for rate limits in all. */
  throttledMaxMs: 60 * 60_000,
  /** Retries per request over the life of the instance; `budgetFloor` of them are always allowed. */
  budgetRatio: 0.2,
  budgetFloor: 20,
  /** What retries during outages of the source may wait in all without counting against that. */
  outageMs: 5 * 60_000,
};

export type Timeouts = Readonly<typeof defaultTimeouts>;
export type SizeLimits = Readonly<typeof defaultLimits>;
export type RetryPolicy = Readonly<typeof defaultRetry>;

/** At most `perSecond` requests a second to the endpoints that it covers, `burst` of them at once. */
export interface Rate {
  /** What is covered, in a word, e.g. `reports`: processes share the rates of one source by their names. */
  readonly name: string;
  readonly perSecond: number;
  readonly burst: number;
  readonly covers: (endpoint: string) => boolean;
}

/**
 * Rates and pauses that processes keep together, by one clock. Each call may reject, within seconds; then the process keeps to the rate by
 * itself for that request.
 */
export interface Budget {
  /** Takes `count` requests of a rate. Resolves with the ms until the first may leave, negative: it might have left already; the others follow at the rate. */
  take(key: string, count: number, rate: Rate, signal: AbortSignal): Promise<number>;
  /** Nothing of that key leaves for `ms` from now, in any process. */
  pause(key: string, ms: number): Promise<void>;
  /** The ms left of each pause of `key`, and of keys that begin with it and a space. */
  pauses(key: string): Promise<ReadonlyMap<string, number>>;
}

/**
 * What happens between requests: for progress lines and the log. retry: sent again after `waitMs`; `tries`: sent so far. throttled: no request
 * leaves until then (epoch ms). unshared: the budget does not answer, so this process keeps the limits by itself; said once.
 */
export type HttpEvent = { readonly endpoint: string; readonly reason: string } & (
  | { readonly type: 'retry'; readonly tries: number; readonly waitMs: number }
  | { readonly type: 'throttled'; readonly untilMs: number }
  | { readonly type: 'unshared' }
);
