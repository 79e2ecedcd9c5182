/** What a run is asked to do, and the part that does it. */
import type { Observe, RunReport } from '../core/run.ts';
import type { PlannedStream } from '../engine/preview.ts';
import type { Estimated } from '../planner/estimate.ts';
import type { Tonight } from '../planner/night.ts';

/** What a run is to do. */
export interface Ask {
  /** A pipeline by name; `nightly` is every configured one, each with its reconcile where due, then the hand-off. */
  readonly pipeline: string;
  readonly does: 'sync' | 'full' | 'reconcile' | 'backfill';
  /** Only these streams; absent: all. */
  readonly streams?: readonly string[];
  /** A backfill's window, half open, UTC. */
  readonly window?: { readonly from: Date; readonly to: Date };
}

/** A night, or another request, that has ended. */
export interface EndedRequest {
  /** Unique over all requests. */
  readonly id: string;
  readonly ask: Ask;
  readonly status: string;
}

/** Runs asks in this process. */
export interface Runner {
  /** Throws as `sync` of the engine does. */
  run(
    ask: Ask,
    how: { trigger: 'schedule' | 'api'; signal: AbortSignal; observe: Observe },
  ): Promise<Pick<RunReport, 'status' | 'error'> & { readonly passesAfterMs?: number | undefined }>;
  /** What a night begins with: one ask for each pipeline. Undefined where the ask is no night. */
  parts(ask: Ask): readonly Ask[] | undefined;
  /** What follows that part of a night: the reconcile of its pipeline, where it is due. */
  next(part: Ask): Promise<Ask | undefined>;
  /** What a backfill would do, without doing it. */
  preview(ask: Ask, signal: AbortSignal): Promise<readonly Estimated<PlannedStream>[]>;
  /** Tries an open reject of the pipeline again, from its stored bytes. Throws `LockHeld` while a run has the pipeline. */
  replay(pipeline: string, rejectId: string): Promise<unknown>;
  /** What the configured pipelines need tonight. */
  tonight(signal: AbortSignal): Promise<NightNeeds>;
}

/** What pipelines need tonight. `at`: when their sources had answered; `failed`: those that could not be planned. */
export interface NightNeeds {
  readonly at: Date;
  readonly tonight: readonly Tonight[];
  readonly failed: readonly { readonly pipeline: string; readonly error: unknown }[];
  /** Runs that a process does at once. */
  readonly atOnce: number;
}
