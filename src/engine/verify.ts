/** What an answer that is no list means. Policy is data: the first row of the table that fits decides. */

import { Forbidden, HasNone, Missing, TidemarkError, Transient } from '../core/errors.ts';

/** A list shows less than the source counts in it, or than the warehouse has seen in it. */
export class ShownLess extends Transient {}

/** What is known when a refusal (403, 404, 405, 410, 501) was confirmed by a second request. */
export interface Refusal {
  readonly answer: 'forbidden' | 'missing';
  /** One owner (ad account, board, group) of several, or the only list of the stream. */
  readonly of: 'owner' | 'stream';
  readonly endpoint: 'promised' | 'optional';
  /** Whether another owner of the stream answers. */
  readonly sibling: boolean;
  /** Whether the warehouse has days, or rows of a list, that this endpoint alone gave. */
  readonly wasThere: boolean;
}

/**
 * unavailable · forbidden: facts about the stream · failed: the stream fails · wait: the owner is read again
 * by the next run, the watermark does not pass it, and the run is partly failed · gone: the owner's part is
 * passed by with a warning.
 */
export type Outcome = 'unavailable' | 'forbidden' | 'failed' | 'wait' | 'gone';

/** docs/operations.md, "Missing and forbidden", says the same for users. */
const policy: readonly (readonly [where: Partial<Refusal>, outcome: Outcome])[] = [
  [{ answer: 'forbidden', sibling: true }, 'wait'],
  [{ answer: 'forbidden', endpoint: 'promised' }, 'failed'],
  [{ answer: 'forbidden', of: 'owner' }, 'wait'],
  [{ answer: 'forbidden' }, 'forbidden'],
  [{ answer: 'missing', sibling: true }, 'gone'],
  [{ answer: 'missing', endpoint: 'promised' }, 'failed'],
  // What an endpoint does not give for a while would be lost, or grow old, without a word.
  [{ answer: 'missing', wasThere: true }, 'failed'],
  [{ answer: 'missing' }, 'unavailable'],
];

export function outcomeOf(refusal: Refusal): Outcome {
  const fits = (where: Partial<Refusal>): boolean =>
    Object.entries(where).every(([fact, value]) => Reflect.get(refusal, fact) === value);
  return policy.find(([where]) => fits(where))?.[1] ?? 'failed';
}

/** Answers that may be a deployment or a cache: they are believed when another request says the same. */
const doubtful = [Missing, Forbidden, HasNone, ShownLess];

/**
 * Runs the step again where its answer needs to be confirmed, until an answer is of a kind that was among the `doubts`
 * before. Of two that differ, e.g. a 403 and then an empty list, neither confirms the other.
 */
export const confirmed = async <T>(step: (doubts: readonly TidemarkError[]) => Promise<T>): Promise<T> => {
  const doubts: TidemarkError[] = [];
  for (;;)
    try {
      return await step(doubts);
    } catch (error) {
      const kind = doubtful.find((one) => error instanceof one);
      const isNew = kind !== undefined && !doubts.some((doubt) => doubt instanceof kind);
      if (!isNew || !(error instanceof TidemarkError)) throw error;
      doubts.push(error);
    }
};
