/** What workflow engines say of a run or a step, and what it means. Their words are kept as they are; the meaning stands beside them. */

/**
 * active: not over, worth asking again · succeeded · failed · aborted: stopped, skipped or never reached · idle: never started ·
 * unknown: a word that is not known here.
 */
export type RunState = 'active' | 'succeeded' | 'failed' | 'aborted' | 'idle' | 'unknown';

/** Where a run or a step stands. */
export interface Standing {
  /** The source's word in lower snake case; null where it tells none. */
  readonly word: string | null;
  readonly state: RunState;
}

const states: Readonly<Record<Exclude<RunState, 'unknown'>, readonly string[]>> = {
  active: [
    ...[
      'running',
      'queued',
      'waiting',
      'retrying',
      'pending',
      'starting',
      'started',
      'scheduled',
      'in_progress',
    ],
    ...['stopping', 'cancelling', 'canceling', 'paused', 'active', 'stuck', 'interrupted'],
  ],
  succeeded: [
    ...['succeeded', 'success', 'successful', 'finished', 'completed', 'complete', 'done', 'ok'],
    ...['partially_succeeded', 'partial_success'],
  ],
  failed: [
    ...['failed', 'failure', 'error', 'errored', 'rejected', 'timeout', 'timed_out', 'lost', 'partly_failed'],
    ...['needs_attention', 'crashed'],
  ],
  aborted: ['aborted', 'canceled', 'cancelled', 'cancel', 'stopped', 'killed', 'terminated', 'skipped'],
  idle: ['not_started', 'none', 'idle', 'never', 'never_run'],
};

const stateByWord = new Map(
  Object.entries(states).flatMap(([state, words]) => words.map((word) => [word, state as RunState] as const)),
);

/** `Partially Succeeded` and `partiallySucceeded` as `partially_succeeded`. */
export const wordOf = (label: string): string =>
  label
    .trim()
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .replaceAll(/[\s-]+/g, '_')
    .toLowerCase();

/** The numbers by which engines of this family count, of runs and of steps (vendor's OpenAPI 1.30 to 2.6, `Status` and `NodeStatus`). */
const numbers = {
  run: [
    ...[
      'not_started',
      'running',
      'failed',
      'aborted',
      'succeeded',
      'queued',
      'partially_succeeded',
      'waiting',
    ],
    'rejected',
  ],
  step: [
    ...[
      'not_started',
      'running',
      'failed',
      'aborted',
      'succeeded',
      'skipped',
      'partially_succeeded',
      'waiting',
    ],
    ...['rejected', 'retrying'],
  ],
} as const;

/** Whether nothing more will happen to it by itself. */
export const isOver = (state: RunState): boolean =>
  state === 'succeeded' || state === 'failed' || state === 'aborted';

/** By the label where there is one, else by the number; a number that is not known is its own word. */
export const standingOf = (
  of: keyof typeof numbers,
  { label, code }: { readonly label?: string | undefined; readonly code?: number | undefined },
): Standing => {
  const told = label === undefined || label.trim() === '' ? undefined : wordOf(label);
  const word = told ?? (code === undefined ? undefined : (numbers[of][code] ?? `status_${code}`));
  return { word: word ?? null, state: word === undefined ? 'unknown' : (stateByWord.get(word) ?? 'unknown') };
};
