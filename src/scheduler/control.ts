/** What may be asked of the pipelines from outside: the API, the dashboard and the scheduler all ask here, and nowhere else. */

import type { Observe, RunKind, RunReport } from '../core/run.ts';

/** What a run is to do. */
export interface Ask {
  /** Pipeline by name; `nightly` means every configured one, then reconcile where due, then the hand-off. */
  readonly pipeline: string;
  readonly does: 'sync' | 'full' | 'reconcile' | 'backfill';
  /** Only these streams; absent: all. */
  readonly streams?: readonly string[];
  /** A backfill's window, half-open, UTC. */
  readonly window?: { readonly from: Date; readonly to: Date };
}

/** Runs one job of one pipeline in this process, from lease to goodbye; made by `main.ts`. Throws as `sync` of src/run does. */
export interface Runner {
  run(
    ask: Ask,
    how: {
      readonly trigger: 'schedule' | 'api';
      readonly signal: AbortSignal;
      readonly observe: Observe;
      /** What of it succeeded already, before its process ended or before it was asked for again. */
      readonly done?: readonly Done[];
    },
  ): Promise<RunReport>;
  /** Names of the pipelines that are configured here. */
  readonly configured: readonly string[];
  /** What a backfill would do, without doing it: slices, requests and seconds as far as they can be told. */
  preview(ask: Ask, signal: AbortSignal): Promise<readonly PlanLine[]>;
}

/** A run that a request became. */
export interface Done {
  readonly pipeline: string;
  readonly kind: RunKind;
}

/** One stream's part in a plan. */
export interface PlanLine {
  readonly stream: string;
  readonly slices: number;
  /** Records, if the source can say. */
  readonly records?: number;
  readonly requests?: number;
  readonly seconds?: number;
  /** In words, e.g. `created 2024-01-01 to 2024-02-01`. */
  readonly about: string;
}

/**
 * queued (durably, waits for a worker) · running · succeeded · partly_failed · failed · interrupted (resumes) · stopped (asked to, over) ·
 * lost (its process died; taken up again) · needs_attention · stuck (runs without progress).
 */
export type DagRunStatus =
  | 'queued'
  | 'running'
  | 'succeeded'
  | 'partly_failed'
  | 'failed'
  | 'interrupted'
  | 'stopped'
  | 'lost'
  | 'needs_attention'
  | 'stuck';

/** One request to run, from the moment it was queued to its end. */
export interface DagRun {
  /** Given by the caller or made here; unique over all pipelines. */
  readonly runId: string;
  readonly pipeline: string;
  /** A replay of rejects is never queued: it is a run of the command line. */
  readonly does: Ask['does'] | 'replay';
  readonly trigger: 'schedule' | 'api' | 'manual';
  readonly status: DagRunStatus;
  /** As asked, e.g. `FROM=2024-01-01 TO=2024-02-01`. */
  readonly params: string;
  readonly queuedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** Rows of `ops.runs` it became; several for `nightly` and after a worker was lost. */
  readonly runs: readonly string[];
  readonly received: number;
  readonly changed: number;
  readonly rejected: number;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** A person asked it to stop and it has not ended yet. */
  readonly stopping: boolean;
  /** It failed of what may pass by itself, and is asked for again then; null of every other, and once that began. */
  readonly againAt: Date | null;
}

/** A slice in progress, or a stream where it has no slices yet. */
export interface Step {
  readonly stream: string;
  readonly slice: string | null;
  readonly status: string;
  readonly startedAt: Date | null;
  readonly received: number;
  readonly expected: number | null;
}

export interface Dag {
  readonly name: string;
  readonly about: string;
  readonly configured: boolean;
  readonly schedule: readonly { readonly does: string; readonly cron: string; readonly timeZone: string }[];
  /** The next tick over all its schedules. */
  readonly nextAt: Date | null;
  /** The newest request to run; null if there never was one. */
  readonly last: DagRun | null;
}

export interface DagStatus {
  readonly dag: Dag;
  readonly run: DagRun | null;
  readonly steps: readonly Step[];
}

/** One line of a run's log. `seq` grows; a reader continues behind the last one it saw. */
export interface LogLine {
  readonly seq: number;
  readonly at: Date;
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
}

/** Every method reads and writes the warehouse: it does not matter which process answers. */
export interface Control {
  list(): Promise<readonly Dag[]>;
  /** Throws `UnknownDag`. */
  status(name: string): Promise<DagStatus>;
  /** Queues durably. Throws `UnknownDag`, `AlreadyActive` (with the active run) or `Misconfigured` (which says what is wrong with the ask). */
  start(
    ask: Ask,
    how: { readonly runId?: string; readonly params?: string; readonly by: string },
  ): Promise<DagRun>;
  /** Asks the active run to stop; the answer is that run. Stopping one that is stopping or over is no error: its state is the answer. Throws `UnknownDag`, `NothingActive`. */
  stop(name: string, how: { readonly by: string }): Promise<DagRun>;
  /** Queues the same ask again (failed, partly failed, stopped, lost or interrupted runs only). Throws `UnknownRun`, `AlreadyActive`. */
  retry(name: string, runId: string, how: { readonly by: string }): Promise<DagRun>;
  /** Newest first. `before`: continue behind this run. */
  history(
    name: string,
    page: { readonly limit: number; readonly before?: string },
  ): Promise<readonly DagRun[]>;
  /** Throws `UnknownRun`. */
  run(name: string, runId: string): Promise<DagRun>;
  log(
    name: string,
    runId: string,
    from: { readonly after?: number; readonly tail?: number },
  ): Promise<readonly LogLine[]>;
  plan(ask: Ask, signal: AbortSignal): Promise<readonly PlanLine[]>;
}
