/** Questions that are asked one by one: one that fails, tonight and every night, does not stand before those that come after it. */

import {
  Forbidden,
  passesAfter,
  RateLimited,
  Refused,
  TooLarge,
  Transient,
  UnexpectedContent,
} from '../../core/errors.ts';

/** What a single question may fail by while others are answered. */
export type Failure = Forbidden | Refused | TooLarge | Transient | UnexpectedContent;

/** Anything else is said of the source, of the credentials or of the run: who goes on asking only asks in vain. */
export const isOfOne = (cause: unknown): cause is Failure =>
  [Forbidden, Refused, TooLarge, Transient, UnexpectedContent].some((one) => cause instanceof one) &&
  !(cause instanceof RateLimited);

/** When so many questions fail one after the other, it is not they that are at fault. */
const mostInARow = 10;

export interface Failures {
  /** By what was asked for, in the order of asking. */
  readonly all: ReadonlyMap<string, Failure>;
  readonly answered: () => void;
  /** Keeps a failure for the end. Throws all of them where too many came one after the other: that bounds what a broken source costs. */
  readonly keep: (what: string, failure: Failure) => void;
  /** All of them as one, which says whose they are; undefined where nothing failed. */
  readonly asOne: () => Failure | undefined;
}

/** `where` the questions are asked, and how many there are. */
export const failures = (where: string, asked: number): Failures => {
  const all = new Map<string, Failure>();
  let inARow = 0;
  const asOne = (): Failure | undefined => {
    const each = [...all.values()];
    // What may pass by itself is worth another try, whatever the others call for.
    const told = each.find((one) => passesAfter(one) !== undefined) ?? each[0];
    return told && retold(told, `${where}: ${all.size} of ${asked} failed: ${named(all)}`);
  };
  return {
    all,
    answered() {
      inARow = 0;
    },
    keep(what, failure) {
      all.set(what, failure);
      inARow += 1;
      if (inARow === mostInARow) throw asOne();
    },
    asOne,
  };
};

/** A failure in other words: what it calls for is the same. */
const retold = (cause: Failure, message: string): Failure => {
  if (cause instanceof Refused)
    return new Refused(message, cause.status, cause.messages, { cause, whole: cause.whole });
  if (cause instanceof Transient) return new Transient(message, { cause, retryAfterMs: cause.retryAfterMs });
  if (cause instanceof Forbidden) return new Forbidden(message, { cause });
  if (cause instanceof TooLarge) return new TooLarge(message, { cause });
  return new UnexpectedContent(message, { cause });
};

/** Which ones, for people: the first five, and the first reason. */
export const named = (errors: ReadonlyMap<string, Error>): string => {
  const [first] = errors.values();
  const more = errors.size > 5 ? ` and ${errors.size - 5} more` : '';
  return `${[...errors.keys()].slice(0, 5).join(', ')}${more} (${first?.message ?? ''})`;
};
