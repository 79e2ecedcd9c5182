import { addCounts, type Counts, noCounts, type Receipt, type StreamReport } from '../../core/run.ts';
import type { Stream } from '../../core/stream.ts';
import type { Instant } from '../../core/time.ts';
import type { BinaryWriter } from '../../load/binary.ts';
import type { Loaded } from '../../load/load.ts';
import type { Lease } from '../state/lease.ts';
import type { Rejections } from '../state/rejections.ts';
import type { Run } from '../state/run-state.ts';
import type { RunDeps } from './deps.ts';

/** What every slice of a run shares. */
export interface RunContext {
  readonly deps: RunDeps;
  readonly run: Run;
  readonly lease: Lease;
  /** Aborts on a request to stop and on the loss of the lease. */
  readonly signal: AbortSignal;
  /** The source's clock at the beginning of the run. */
  readonly clock: Date | undefined;
  /** The same at this moment: carried on by our monotonic clock. Ours where the source has none. */
  readonly now: () => Date;
  /** This moment by the warehouse's clock, carried on in the same way. */
  readonly warehouseNow: () => Instant;
  /** What became of the streams that have ended, by their names. */
  readonly reports: Map<string, StreamReport>;
  readonly rejections: Rejections;
  /** Memory of batches that are loaded, for those to come. */
  readonly writers: BinaryWriter[];
  /** Runs the load of a batch when its turn comes. */
  readonly loads: <T>(load: () => Promise<T>) => Promise<T>;
  /** Runs a piece of work when one of the run's places for concurrent slices is free. */
  readonly slot: <T>(work: () => Promise<T>) => Promise<T>;
}

/** What a stream has done so far in this run. */
export interface Tally {
  counts: Counts;
  deleted: number;
  slices: number;
  /** The sum over its slices. */
  receipt: Receipt;
  /** Records delivered so far, for progress. */
  received: number;
  /** What the source has stated of the total so far, for progress. */
  announced: number | undefined;
}

export const newTally = (): Tally => ({
  ...{ counts: noCounts, deleted: 0, slices: 0, received: 0, announced: undefined },
  receipt: { expected: 0, fetched: 0, landed: 0 },
});

/** Adds what one committed batch did. */
export function tallyBatch(tally: Tally, loaded: Loaded): void {
  tally.counts = addCounts(tally.counts, loaded.counts);
  tally.deleted += loaded.deleted;
}

/** Adds the receipt of a slice that was read to its end. */
export function tallySlice(tally: Tally, { expected, fetched, landed }: Receipt): void {
  const { receipt: sum } = tally;
  tally.slices += 1;
  tally.receipt = {
    expected: sum.expected === null || expected === null ? null : sum.expected + expected,
    fetched: sum.fetched + fetched,
    landed: sum.landed + landed,
  };
}

/** Tells how far a stream is. */
export function tellProgress({ deps, run }: RunContext, stream: Stream, tally: Tally): void {
  deps.observe({
    ...{ type: 'stream.progress', pipeline: run.pipeline, stream: stream.name },
    ...{ received: tally.received, expected: tally.announced },
    retries: deps.source.http.counters.retries,
  });
}

/** A remark for people. */
export const tell = (
  { deps, run }: Pick<RunContext, 'deps' | 'run'>,
  level: 'info' | 'warn',
  message: string,
): void => deps.observe({ type: 'note', pipeline: run.pipeline, level, message });
