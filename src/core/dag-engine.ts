/** Workflow engines: the one to which runs are handed over, and what their words for states mean. */

/** What is triggered at the engine when a run succeeded and every receipt of it holds. */
export interface OnSuccess {
  readonly dag: string;
  /** Whether its end is waited for and stored with our run. Default: no. */
  readonly wait?: boolean;
  /** Parameters besides RUN_ID, FROM and TO. */
  readonly params?: Readonly<Record<string, string>>;
}

/** State of a run at the engine. */
export interface EngineRun {
  readonly runId: string | undefined;
  readonly state: 'active' | 'succeeded' | 'failed' | 'unknown';
  /** The engine's own word for the state. */
  readonly label: string;
  /** The parameters it was started with, as text, where the engine gives them. */
  readonly params: string | undefined;
  readonly startedAt: Date | undefined;
  /** The engine's clock at its answer; absent where it sends none, and for a run known by its id. */
  readonly answeredAt?: Date;
}

/** Throws the classes of core/errors.ts. */
export interface Engine {
  /** Whether a start can carry a run id, so that repeating it is harmless. */
  takesRunId(signal: AbortSignal): Promise<boolean>;
  /**
   * Starts the DAG. Where the engine takes ids, a run of this id that exists is the success of an earlier try; elsewhere the
   * request is sent once. Throws `Missing` for an unknown DAG, `Transient` where the DAG is running already.
   */
  start(
    dag: string,
    how: { readonly params: string; readonly runId: string },
    signal: AbortSignal,
  ): Promise<{ readonly runId: string | undefined }>;
  /** The run of this id, or the newest one of an engine without ids; undefined where there is none. */
  status(dag: string, runId: string, signal: AbortSignal): Promise<EngineRun | undefined>;
}

/**
 * The states of a run or a step, each with the words of engines that mean it. active: not over, worth asking again · aborted: stopped, skipped or
 * never reached · idle: never started.
 */
const words: Readonly<Record<string, string>> = {
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

/**
 * The state of a run or a step (`unknown` for a word that is not known here), and the engine's word for it in lower snake case; null where it states
 * none. By the label where there is one, else by the number; an unknown number becomes its own word.
 */
export const standingOf = (
  of: keyof typeof numbered,
  { label = '', code }: { readonly label?: string | undefined; readonly code?: number | undefined },
) => {
  const numeral = code === undefined ? null : (numbered[of].split(' ')[code] ?? `status_${code}`);
  const word = wordOf(label) || numeral;
  const state = Object.keys(words).find((each) => ` ${words[each]} `.includes(` ${word} `)) ?? 'unknown';
  return { word, state };
};
