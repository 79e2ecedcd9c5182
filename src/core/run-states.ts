/** What workflow engines say of a run or a step, and what it means. Their words are kept as they are, with the meaning beside them. */

/**
 * active: not over, worth asking again · succeeded · failed · aborted: stopped, skipped or never reached · idle: never started ·
 * unknown: a word that is not known here.
 */
type RunState = 'active' | 'succeeded' | 'failed' | 'aborted' | 'idle' | 'unknown';

/** The state of a run or a step. */
interface Standing {
  /** The source's word in lower snake case; null where it states none. */
  readonly word: string | null;
  readonly state: RunState;
}

const words: Readonly<Record<Exclude<RunState, 'unknown'>, string>> = {
  active:
    'running queued waiting retrying pending starting started scheduled in_progress ' +
    'stopping cancelling canceling paused active stuck interrupted',
  succeeded:
    'succeeded success successful finished completed complete done ok partially_succeeded partial_success',
  failed:
    'failed failure error errored rejected timeout timed_out lost partly_failed needs_attention crashed',
  aborted: 'aborted canceled cancelled cancel stopped killed terminated skipped',
  idle: 'not_started none idle never never_run',
};

const stateByWord = new Map(
  Object.entries(words).flatMap(([state, list]) =>
    list.split(' ').map((word) => [word, state as RunState] as const),
  ),
);

/** `Partially Succeeded` and `partiallySucceeded` as `partially_succeeded`. */
const wordOf = (label: string): string =>
  label
    .trim()
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .replaceAll(/[\s-]+/g, '_')
    .toLowerCase();

/** The words by number, of runs and of steps (vendor's OpenAPI 1.30 to 2.6, `Status` and `NodeStatus`). */
const numbered = {
  run: 'not_started running failed aborted succeeded queued partially_succeeded waiting rejected',
  step: 'not_started running failed aborted succeeded skipped partially_succeeded waiting rejected retrying',
};

/** By the label where there is one, else by the number; an unknown number becomes its own word. */
export const standingOf = (
  of: keyof typeof numbered,
  { label, code }: { readonly label?: string | undefined; readonly code?: number | undefined },
): Standing => {
  const stated = label === undefined || label.trim() === '' ? undefined : wordOf(label);
  const word =
    stated ?? (code === undefined ? undefined : (numbered[of].split(' ')[code] ?? `status_${code}`));
  return { word: word ?? null, state: word === undefined ? 'unknown' : (stateByWord.get(word) ?? 'unknown') };
};
