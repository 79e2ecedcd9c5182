/** Requests for one entity each: those that fail do not keep the others from being read. */

import {
  Forbidden,
  passesAfter,
  RateLimited,
  Refused,
  TooLarge,
  Transient,
  UnexpectedContent,
} from '../../core/errors.ts';

/** What a request for one entity may fail by while others are answered. */
export type Failure = Forbidden | Refused | TooLarge | Transient | UnexpectedContent;

/** Other errors concern the source, the credentials or the run: the next request would fail as well. */
export const isOfOne = (cause: unknown): cause is Failure =>
  [Forbidden, Refused, TooLarge, Transient, UnexpectedContent].some((one) => cause instanceof one) &&
  !(cause instanceof RateLimited);

/** After this many failures in a row the fault is not with single entities. */
const mostInARow = 10;

export interface Failures {
  readonly answered: () => void;
  /** Keeps a failure for the end. Throws all of them after `mostInARow`, which bounds what a broken source costs. */
  readonly keep: (what: string, failure: Failure) => void;
  /** All of them as one error that names them; undefined where nothing failed. */
  readonly asOne: () => Failure | undefined;
}

/** `where`: the endpoint; `asked`: how many requests there are. */
export const failures = (where: string, asked: number): Failures => {
  const all = new Map<string, Failure>();
  let inARow = 0;
  const asOne = (): Failure | undefined => {
    const each = [...all.values()];
    // One that may pass by itself is worth another try, whatever the others call for.
    const first = each.find((one) => passesAfter(one) !== undefined) ?? each[0];
    return first && withMessage(first, `${where}: ${all.size} of ${asked} failed: ${named(all)}`);
  };
  return {
    answered: () => {
      inARow = 0;
    },
    keep: (what, failure) => {
      all.set(what, failure);
      inARow += 1;
      if (inARow === mostInARow) throw asOne();
    },
    asOne,
  };
};

const withMessage = (cause: Failure, message: string): Failure => {
  if (cause instanceof Refused) return new Refused(message, cause.status, cause.messages, { cause });
  if (cause instanceof Transient) return new Transient(message, { cause, retryAfterMs: cause.retryAfterMs });
  if (cause instanceof Forbidden) return new Forbidden(message, { cause });
  return cause instanceof TooLarge
    ? new TooLarge(message, { cause })
    : new UnexpectedContent(message, { cause });
};

/** Which ones, for people: five of them, and the first reason. */
export const named = (errors: ReadonlyMap<string, Error>): string => {
  const [first] = errors.values();
  const more = errors.size > 5 ? ` and ${errors.size - 5} more` : '';
  return `${[...errors.keys()].sort().slice(0, 5).join(', ')}${more} (${first?.message ?? ''})`;
};
