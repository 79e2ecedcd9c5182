/** The workflow engine to which runs are handed over. */

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
