/** Everything that can go wrong and that the reader can act on. The class says what must be done; the message says which, what and the value. */

/**
 * The common ancestor. `code` is a short stable word that lands in `ops.runs.error_code` and in `--json` output.
 * Messages quote sources and are kept in the warehouse: a NUL, which no text column takes, is written out.
 */
export abstract class TidemarkError extends Error {
  abstract readonly code: string;
  constructor(message: string, facts: ErrorOptions = {}) {
    super(message.replaceAll('\0', '\\x00'), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
  }
}

/** The base of the classes that differ in their code alone. */
export const withCode = <C extends string>(code: C) =>
  class extends TidemarkError {
    readonly code: C = code;
  };

/** The user must change a flag, a variable or a file. Exit code 2. */
export class Misconfigured extends withCode('misconfigured') {}

/** The source or the warehouse cannot be reached at all (refused, DNS, TLS). Exit code 4 when nothing could be done. */
export class Unreachable extends withCode('unreachable') {}

/** The credentials are wrong, expired or not accepted. Exit code 4; never retried. */
export class AuthFailed extends withCode('auth') {}

/** This part of the source is closed to these credentials (403). Only this slice or stream suffers. */
export class Forbidden extends withCode('forbidden') {}

/** The endpoint or the entity is not there (404, 405, 410, 501). */
export class Missing extends withCode('missing') {
  readonly status: number;
  /** The server's answer, where that was JSON. */
  declare readonly body: unknown;
  constructor(message: string, status: number, facts: ErrorOptions & { readonly body?: unknown } = {}) {
    super(message, facts);
    this.status = status;
    // Not enumerable: it may echo secrets, and loggers print an error's own properties.
    Object.defineProperty(this, 'body', { value: facts.body });
  }
}

/** Days older than the source keeps, by its own rules: no request is sent for them. A refusal by the server is a plain `Missing`. */
export class TooOld extends Missing {
  constructor(message: string) {
    super(message, 410);
  }
}

/**
 * The server understood and said no (400, 413, 414, 415, 422): asking again the same way is pointless. `messages` are the server's own,
 * uncut: code looks for names in them.
 */
export class Refused extends withCode('refused') {
  readonly status: number;
  readonly messages: readonly string[];
  constructor(message: string, status: number, messages: readonly string[], facts?: ErrorOptions) {
    super(message, facts);
    this.status = status;
    this.messages = messages;
  }
}

/** The server says, by refusing the question, that an owner has no list of this kind (a board without sprints). */
export class HasNone extends withCode('has_none') {}

/** A passing fault that outlived its retries (5xx, network, time-out). `retryAfterMs`: the source's own wish, if it had one. */
export class Transient extends TidemarkError {
  readonly code: string = 'transient';
  readonly retryAfterMs: number | undefined;
  constructor(message: string, facts: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {}) {
    super(message, facts);
    this.retryAfterMs = facts.retryAfterMs;
  }
}

/** The server, or a gateway before it, did not make the answer in time (our deadlines, 408, 504, 524). */
export class TimedOut extends Transient {}

/** The source asked for more patience than the run has (429 for ever, or a Retry-After beyond the bound). Progress is kept. */
export class RateLimited extends Transient {
  override readonly code = 'rate_limited';
}

/** An answer that is not what the endpoint promises (HTML page, redirect, wrong content type, list field absent). Never "end of data". */
export class UnexpectedContent extends withCode('unexpected_content') {}

/** A redirect. It is not followed: it may lead anywhere, and a moved record is another's. */
export class Redirected extends UnexpectedContent {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** An answer beyond the size limits (wire bytes, decompressed bytes, ratio, depth). */
export class TooLarge extends withCode('page_too_large') {}

/** The server sends us round in circles: repeated token, repeated page, no new key for several pages, or the page cap. */
export class PagingLoop extends withCode('paging_loop') {}

/** A URL of the answer points away from the configured origin; no socket was opened to it. */
export class ForeignOrigin extends withCode('foreign_origin') {}

/** One record cannot become rows. It goes to `ops.rejects`; the rest of its page lands. */
export class BadData extends TidemarkError {
  readonly code: string;
  readonly field: string | undefined;
  constructor(code: string, message: string, facts: ErrorOptions & { readonly field?: string } = {}) {
    super(message, facts);
    this.code = code;
    this.field = facts.field;
  }
}

/** More records were rejected than the thresholds allow (guarantee G12): the run fails, the checkpoint stays. */
export class TooManyRejects extends withCode('too_many_rejects') {}

/** Every record that a stream was given was rejected (guarantee G12): it fails, however few there were. */
export class AllRejected extends withCode('all_rejected') {}

/** Another run holds the pipeline. Exit code 5. The message says who, since when and where. */
export class LockHeld extends withCode('lock_held') {}

/** This process lost its lease (it was frozen or cut off, and another took over). Nothing more may be written. */
export class Fenced extends withCode('fenced') {}

/** A signal or an API call asked to stop. Exit code 130 or 143. */
export class Interrupted extends withCode('interrupted') {}

/** The run's time is over (guarantee G14). What was committed stays; the next run goes on. */
export class OutOfTime extends withCode('deadline') {}

/** The warehouse has no room left. Waiting does not help: free some space; the next run goes on. */
export class WarehouseFull extends withCode('warehouse_full') {}

/** The received, written and rejected records do not add up (guarantee G13): a defect of ours; nothing is committed. */
export class AccountsDoNotBalance extends withCode('accounts_do_not_balance') {}

/** So long (ms) the source asks to be left alone, 0 where it does not say, where the error may pass by itself; undefined where it will not. */
export const passesAfter = (error: unknown): number | undefined => {
  if (error instanceof Transient) return error.retryAfterMs ?? 0;
  return error instanceof Unreachable || error instanceof UnexpectedContent ? 0 : undefined;
};

/** The code that Node, OpenSSL or Postgres gave an error; of several addresses that all failed the first one's. */
export const codeOf = (error: unknown): string | undefined => {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof AggregateError ? error.errors.map(codeOf).find(Boolean) : undefined;
};

type Kinds = readonly (abstract new (...args: never[]) => Error)[];

/** Whether an error is of one of these kinds. */
export const isOf =
  <K extends Kinds>(...kinds: K) =>
  (error: unknown): error is InstanceType<K[number]> =>
    kinds.some((kind) => error instanceof kind);

/** For `catch`: makes an error of one of these kinds the result; throws any other. */
export const caught =
  <K extends Kinds>(...kinds: K) =>
  (error: unknown): InstanceType<K[number]> => {
    if (isOf(...kinds)(error)) return error;
    throw error;
  };

/** What was thrown, in its own words: it may be anything. */
export const saidBy = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);
