import type { RawBuilder } from 'kysely';
import type { StreamReport } from '../../core/run.ts';
import type { Instant } from '../../core/time.ts';
import type { BinaryWriter } from '../../load/binary.ts';
import { rowsOf } from '../../queries/db.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
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
  /** Ends the work of all streams: what one of them found out concerns every other. */
  readonly stop: (reason: unknown) => void;
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

/** A remark for people. */
export const tell = (
  { deps, run }: Pick<RunContext, 'deps' | 'run'>,
  level: 'info' | 'warn',
  message: string,
): void => deps.observe({ type: 'note', pipeline: run.pipeline, level, message });

/** The rows of a statement that may run twice; waits while the warehouse is away. */
export const ask = <R>({ deps }: Pick<RunContext, 'deps'>, statement: RawBuilder<R>): Promise<readonly R[]> =>
  withRetry(() => rowsOf(statement, deps.warehouse.db));
