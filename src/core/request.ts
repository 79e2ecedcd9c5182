/** What is asked of a source, and what it answered. Plain values: the place in a walk is in the request, nowhere else. */

export type Json = unknown;

/** One HTTP request to a source, relative to its base URL. */
export interface Request {
  readonly method: 'GET' | 'POST';
  /** Path below the base URL, beginning with `/`; values in it already percent-encoded. */
  readonly path: string;
  /** Query parameters; `undefined` ones are left out; an array repeats the parameter. */
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  /** JSON body (POST). */
  readonly body?: Readonly<Record<string, unknown>>;
  /** The route as the contract writes it, e.g. `/rest/agile/1.0/sprint/{id}/issue`: label of logs, metrics and its rate bucket. */
  readonly endpoint: string;
  /** False for what changes something at the source (a report job): never sent again by itself. */
  readonly idempotent?: false;
  /** A status by which this endpoint says that it took too long, beside those that say so everywhere. */
  readonly passing?: number;
  /** True where a good status without a body is an answer, too (something was done, and there is nothing to say); its `body` is undefined then. */
  readonly bodiless?: true;
  /** An absolute URL the server gave for the next page; replaces path and query. Refused unless it is of the configured origin. */
  readonly url?: string;
}

/** A complete answer with status 2xx. */
export interface Answer {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, decompressed, exactly as received. */
  readonly raw: Buffer;
  /** The body parsed: by the request's `parse`, else by `core/json.ts`. */
  readonly body: Json;
  /** The source's clock from the `Date` header (seconds), if it sent one. */
  readonly date: Date | undefined;
}

/** Sends requests with deadlines, retries, rate limits and credentials. Throws the classes of `core/errors.ts`. */
export interface Http {
  /** The origin that gets the credentials, e.g. `https://example.atlassian.net`. */
  readonly origin: string;
  send(request: Request, signal: AbortSignal): Promise<Answer>;
  /** Counters since creation: what a run reports. */
  readonly counters: HttpCounters;
  close(): Promise<void>;
}

export interface HttpCounters {
  requests: number;
  retries: number;
  /** Milliseconds spent waiting for a rate limit or a Retry-After, summed over concurrent requests. */
  throttledMs: number;
  /** Answers that asked for patience (429); the same request was sent again later. */
  throttled: number;
  /** When no request left because the source asked for quiet, by `performance.now()` (ms); half-open, ascending, apart from each other. */
  quiet: readonly { readonly fromMs: number; readonly untilMs: number }[];
  /** Bytes received, decompressed. */
  bytes: number;
}
