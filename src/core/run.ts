/** A run, its events and its report. */
import type { HttpCounters, Stream } from './stream.ts';

/**
 * sync (incremental) · full · backfill (one window) · reconcile (id walk for deletions) · replay (rejects
 * that are tried again)
 */
export type RunKind = 'sync' | 'full' | 'backfill' | 'reconcile' | 'replay';

/**
 * running · succeeded (every stream complete, every receipt matched) · partly_failed (some stream or slice
 * failed or did not match) · failed · interrupted (asked to stop; resumes) · lost (its process died; found by
 * the next) · needs_attention (the deletion guard held).
 */
export type RunStatus =
  | 'running'
  | 'succeeded'
  | 'partly_failed'
  | 'failed'
  | 'interrupted'
  | 'lost'
  | 'needs_attention';

/**
 * What happened to the records of a batch, a stream or a run. `received = inserted + updated + unchanged +
 * deduplicated + superseded + rejected`. deduplicated: the same key again in one batch, the newer one was taken.
 * superseded: older than what the warehouse holds.
 */
export const noCounts = {
  received: 0,
  inserted: 0,
  updated: 0,
  unchanged: 0,
  deduplicated: 0,
  superseded: 0,
  rejected: 0,
};

export type Counts = Readonly<typeof noCounts>;

export const addCounts = (a: Counts, b: Counts): Counts => {
  const sum = { ...a };
  for (const name of Object.keys(noCounts) as (keyof Counts)[]) sum[name] += b[name];
  return sum;
};

/**
 * Expected (the source's own total; null where it states none), read (distinct records of the walk),
 * stored (accounted for in the warehouse).
 */
export interface Receipt {
  readonly expected: number | null;
  readonly read: number;
  readonly stored: number;
}

/**
 * ok · unavailable (the server has no such endpoint) · forbidden (these credentials may not) · partial (a
 * receipt does not match) · failed · interrupted · skipped (nothing to do) · attention (the deletion guard
 * held)
 */
export type StreamStatus =
  | 'ok'
  | 'unavailable'
  | 'forbidden'
  | 'partial'
  | 'failed'
  | 'interrupted'
  | 'skipped'
  | 'attention';

/**
 * How a stream is read: a list, everything, what changed, what was created of late (where the source cannot tell
 * what changed), the days that may have been restated, or the window of a backfill.
 */
export type ReadMode = 'list' | 'full' | 'incremental' | 'created-window' | 'restatement' | 'backfill';

/** How much of a stream is read in a run. */
export interface StreamSize {
  readonly stream: string;
  readonly by: Stream['by'];
  readonly mode: ReadMode;
  readonly slices: number;
  /** Records, where the source states them before they are read. */
  readonly records?: number;
  /** Requests, as far as the source lets expect them. */
  readonly requests?: number | undefined;
  /** Requests a second that the source allows for streams like this one. */
  readonly perSecond?: number;
  /** What a run reads before it leaves the other owners to the next one; absent: it reads all. */
  readonly turn?: TurnBudget | undefined;
  /** By whom it is read one at a time, e.g. 100 of `ads.ad_accounts`. */
  readonly owners?: { readonly count: number; readonly table: string };
}

/** After how many requests, or minutes of reading, a run begins no further owner of a stream. It finishes those that it began. */
export interface TurnBudget {
  readonly most: number;
  readonly of: 'requests' | 'minutes';
}

/** What reading a stream costs. */
export interface Cost {
  readonly requests: number;
  readonly seconds: number;
}

/** What a stream or a run came to. */
interface ReportTotals {
  readonly counts: Counts;
  /** Rows removed or tombstoned. */
  readonly deleted: number;
  readonly seconds: number;
  /**
   * The problem may pass by itself: how long the source asks to wait, ms; 0 where it does not say. Of a run: the longest of its streams.
   */
  readonly passesAfterMs?: number | undefined;
}

export interface StreamReport extends ReportTotals {
  readonly stream: string;
  readonly status: StreamStatus;
  readonly receipt: Receipt;
  readonly slices: number;
  /** Why it is not ok, in one sentence. */
  readonly reason?: string | undefined;
}

export interface RunReport
  extends ReportTotals,
    Readonly<Pick<HttpCounters, 'requests' | 'retries' | 'throttledMs'>> {
  /** `ops.runs.run_id`; null for a dry run. */
  readonly runId: string | null;
  readonly pipeline: string;
  readonly kind: RunKind;
  readonly status: RunStatus;
  readonly streams: readonly StreamReport[];
  readonly error?: { readonly code: string; readonly message: string };
}

/** The longest of several; undefined where none of them may pass. */
export const longestOf = (all: readonly (number | undefined)[]): number | undefined =>
  all.reduce((longest, each) => ((each ?? -1) > (longest ?? -1) ? each : longest), undefined);

/** What happens in a run. The CLI draws it, `--json` prints it, the log keeps a part of it. */
export type RunEvent = { readonly pipeline: string } & (
  | { readonly type: 'run.started'; readonly runId: string; readonly kind: RunKind }
  | { readonly type: 'stream.started'; readonly stream: string }
  | {
      readonly type: 'stream.progress';
      readonly stream: string;
      /** Records received so far. */
      readonly received: number;
      /** The total, if it is known. */
      readonly expected: number | undefined;
      readonly retries: number;
    }
  | { readonly type: 'stream.finished'; readonly report: StreamReport }
  | { readonly type: 'note'; readonly level: 'info' | 'warn'; readonly message: string }
  | { readonly type: 'run.finished'; readonly report: RunReport }
);

export type Observe = (event: RunEvent) => void;

/** How a source is read. */
export interface ReadingOptions {
  /**
   * Streams that are read only where they are named, with what is read owner by owner of them, and single owners
   * that are never read (`boards:7`).
   */
  readonly exclude: readonly string[];
  /**
   * What a run reads of a stream before it leaves its other owners to the next one, by stream. A run that reads
   * everything again, or a window, leaves nothing out.
   */
  readonly rotate: Readonly<Record<string, TurnBudget>>;
  /** Slices that are read at once. */
  readonly concurrency: number;
  /** How far behind the watermark an incremental read begins. */
  readonly lookbackMs: number;
  /** How far back records are read again by creation where the server cannot filter by change. */
  readonly createdWindowMs: number;
  /** Where history begins. */
  readonly historyStart: Date;
}
