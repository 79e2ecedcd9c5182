/** The workflow engine that is handed over to, as far as a hand-off needs it. */

/** Where a run at the engine stands. `label` is the engine's own word. */
export interface EngineRun {
  readonly runId: string | undefined;
  readonly state: 'active' | 'succeeded' | 'failed' | 'unknown';
  readonly label: string;
  /** The parameters it was started with, where the engine tells them. */
  readonly params: string | undefined;
  readonly startedAt: Date | undefined;
  /** The engine's own clock when it told this, where it told it. */
  readonly toldAt?: Date;
}

export interface Engine {
  /** Whether a start can carry a run id, so that the same run is never started twice. */
  takesRunId(signal: AbortSignal): Promise<boolean>;
  /** Starts the DAG once. A run id that is already known there is success. Throws the classes of core/errors.ts. */
  start(
    dag: string,
    how: { readonly params: string; readonly runId: string },
    signal: AbortSignal,
  ): Promise<{ readonly runId: string | undefined }>;
  /** The run of this id, or the newest one where the engine knows no ids; undefined where there is none. */
  status(dag: string, runId: string, signal: AbortSignal): Promise<EngineRun | undefined>;
}
