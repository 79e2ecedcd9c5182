/** What workflow engines call the state of a run or step, and what it means. Their words are kept; the meaning is a column of its own. */

/** active: not over · aborted: stopped, skipped or never reached · idle: never started · unknown: a word that is not known here. */
export type RunState = 'active' | 'succeeded' | 'failed' | 'aborted' | 'idle' | 'unknown';

export interface Standing {
  /** The source's word in lower snake case; null where it gives none. */
  readonly word: string | null;
  readonly state: RunState;
}

/** Words of Dagu (its OpenAPI 1.30.2 and 2.6.5, and before 1.17), and the usual ones for the contract, which shows none. */
const words: Readonly<Record<Exclude<RunState, 'unknown'>, string>> = {
  active: 'running queued waiting retrying pending started scheduled in_progress',
  succeeded: 'succeeded success finished completed done partially_succeeded partial_success',
  failed: 'failed failure error rejected timeout timed_out',
  aborted: 'aborted canceled cancelled stopped killed skipped',
  idle: 'not_started none idle never_run',
};

const stateByWord = new Map(
  Object.entries(words).flatMap(([state, list]) =>
    list.split(' ').map((word) => [word, state as RunState] as const),
  ),
);

/** `Partially Succeeded` and `partiallySucceeded` as `partially_succeeded`. */
const snakeCase = (label: string): string =>
  label
    .trim()
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .replaceAll(/[\s-]+/g, '_')
    .toLowerCase();

/** Words by their numbers, the same of runs and steps but for 5 (vendor's OpenAPI, `Status` and `NodeStatus`). */
const wordsByNumber = {
  run: 'not_started running failed aborted succeeded queued partially_succeeded waiting rejected'.split(' '),
  step: 'not_started running failed aborted succeeded skipped partially_succeeded waiting rejected retrying'.split(
    ' ',
  ),
};

/** Whether nothing more will happen to it by itself. */
export const isOver = (state: RunState): boolean =>
  state === 'succeeded' || state === 'failed' || state === 'aborted';

/** By the label where there is one, else by the number; a number that is not known is its own word. */
export const standingOf = (
  of: 'run' | 'step',
  { label = '', code }: { readonly label?: string | undefined; readonly code?: number | undefined },
): Standing => {
  const byNumber = code === undefined ? null : (wordsByNumber[of][code] ?? `status_${code}`);
  const word = snakeCase(label) || byNumber;
  return { word, state: (word !== null && stateByWord.get(word)) || 'unknown' };
};
