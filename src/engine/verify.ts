/** What an answer that is no list means. Policy is data: the first row of the table that fits decides. */

import { Forbidden, HasNone, Missing, type TidemarkError, Transient } from '../core/errors.ts';

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
  /** Whether the warehouse has days that this endpoint gave. */
  readonly hasDays: boolean;
}

/**
 * unavailable · forbidden: facts about the stream · failed: the stream fails · wait: the owner is read again
 * by the next run, the watermark does not pass it, and the run is partly failed · gone: the owner's part is
 * passed by with a warning.
 */
export type Outcome = 'unavailable' | 'forbidden' | 'failed' | 'wait' | 'gone';

type Rule = readonly [
  answer: Refusal['answer'],
  of: Refusal['of'] | 'any',
  endpoint: Refusal['endpoint'] | 'any',
  sibling: boolean | 'any',
  hasDays: boolean | 'any',
  outcome: Outcome,
];

/** docs/operations.md, "Missing and forbidden", says the same for users. */
const policy: readonly Rule[] = [
  // answer     of       endpoint    sibling has days outcome
  ['forbidden', 'owner', 'any', true, 'any', 'wait'],
  ['forbidden', 'owner', 'optional', 'any', 'any', 'wait'],
  ['forbidden', 'any', 'promised', 'any', 'any', 'failed'],
  ['forbidden', 'any', 'optional', 'any', 'any', 'forbidden'],
  ['missing', 'owner', 'any', true, 'any', 'gone'],
  ['missing', 'any', 'promised', 'any', 'any', 'failed'],
  // Days go by: what an endpoint does not give for a while would be lost without a word.
  ['missing', 'any', 'optional', 'any', true, 'failed'],
  ['missing', 'any', 'optional', 'any', false, 'unavailable'],
];

export function outcomeOf({ answer, of, endpoint, sibling, hasDays }: Refusal): Outcome {
  const facts = [answer, of, endpoint, sibling, hasDays];
  const found = policy.find((row) => facts.every((fact, at) => row[at] === 'any' || row[at] === fact));
  if (found === undefined) throw new Error(`no rule for ${facts.join(', ')}`);
  return found[5];
}

/**
 * Whether the error is an answer that may be a deployment or a cache: it is believed when a second request
 * confirms it.
 */
export const needsConfirmation = (error: unknown): error is TidemarkError =>
  error instanceof Missing ||
  error instanceof Forbidden ||
  error instanceof HasNone ||
  error instanceof ShownLess;

/**
 * So many owners without an optional list, and none with it, confirm each other: the server does not have the
 * endpoint, and the other owners are not asked.
 */
export const ownersConfirming = 3;

/** Runs the step again where its first answer needs a second one. */
export async function confirmed<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (!needsConfirmation(error)) throw error;
    return step();
  }
}
