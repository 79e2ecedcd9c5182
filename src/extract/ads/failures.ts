/** Questions that are asked one by one: one that fails, tonight and every night, does not stand before those that come after it. */

import { Forbidden, RateLimited, Refused, TooLarge, Transient, UnexpectedContent } from '../../core/errors.ts';

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
  /** Keeps a failure for the end. Throws it where too many came one after the other: that bounds what a broken source costs. */
  readonly keep: (what: string, failure: Failure) => void;
}

export const failures = (): Failures => {
  const all = new Map<string, Failure>();
  let inARow = 0;
  return {
    all,
    answered() {
      inARow = 0;
    },
    keep(what, failure) {
      all.set(what, failure);
      inARow += 1;
      if (inARow === mostInARow) throw failure;
    },
  };
};

/** Which ones, for people: the first five, and the first reason. */
export const named = (errors: ReadonlyMap<string, Error>): string => {
  const [first] = errors.values();
  const more = errors.size > 5 ? ` and ${errors.size - 5} more` : '';
  return `${[...errors.keys()].slice(0, 5).join(', ')}${more} (${first?.message ?? ''})`;
};
