/** What a run shares with its streams, and one stream in it: what it has done, and how it ended. */

import type { RawBuilder } from 'kysely';
import * as errors from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import { countingRequests, SentWork } from '../../core/request-count.ts';
import type { ReadMode, Receipt, StreamReport, StreamStatus } from '../../core/run.ts';
import { longestOf, noCounts } from '../../core/run.ts';
import type { Slice, Stream } from '../../core/stream.ts';
import type { Instant } from '../../core/time.ts';
import { noteEnd, traced } from '../../core/traced.ts';
import type { BinaryWriter } from '../../load/binary.ts';
import { rowsOf } from '../../queries/db.ts';
import type { Warehouse } from '../../warehouse/connect.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { Lease } from '../state/lease.ts';
import type { Rejections } from '../state/rejections.ts';
import { beginStream, finishStream, type RunKey, type StreamCost } from '../state/run-state.ts';
import type { RunDeps } from './deps.ts';

/** What every slice of a run shares. */
export interface Run extends RunKey {
  readonly deps: RunDeps;
  /** That of the warehouse. */
  readonly db: Warehouse['db'];
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

/** What of a run a plan needs: it holds no lease. */
export type Reader = Pick<Run, keyof RunKey | 'deps' | 'db' | 'signal' | 'clock' | 'now'>;

/** A remark for people. */
export const tell = (
  { deps, pipeline }: Pick<Run, 'deps' | 'pipeline'>,
  level: 'info' | 'warn',
  message: string,
): void => deps.observe({ type: 'note', pipeline, level, message });

/** The rows of a statement that may run twice; waits while the warehouse is away. */
export const ask = <R>({ db }: Pick<Run, 'db'>, statement: RawBuilder<R>): Promise<readonly R[]> =>
  withRetry(() => rowsOf(statement, db));

/** A stream while it is in a run. */
export interface StreamRun extends Run {
  readonly stream: Stream;
  readonly tally: Tally;
}

/** What a stream has done so far in this run. */
export class Tally extends SentWork {
  slices = 0;
  /** Requests that its slices let expect. */
  expected = 0;
  /** How it is read, once that is planned. */
  mode: ReadMode | undefined;
  /** The sum over its slices. */
  receipt: Receipt = { expected: 0, read: 0, stored: 0 };
  /** Records delivered so far, for progress. */
  received = 0;
  /** Of these, records that were rejected. */
  rejected = 0;
  /** What the source has stated of the total so far, for progress. */
  announced: number | undefined;
}

/** Adds the receipt of a slice that was read to its end. */
export function tallySlice(tally: Tally, { expected, read, stored }: Receipt): void {
  const { receipt: sum } = tally;
  tally.slices += 1;
  tally.receipt = {
    expected: sum.expected === null || expected === null ? null : sum.expected + expected,
    read: sum.read + read,
    stored: sum.stored + stored,
  };
}

/** Tells how far a stream is. */
export const tellProgress = ({ deps, pipeline, stream, tally }: StreamRun): void =>
  deps.observe({
    type: 'stream.progress',
    pipeline,
    stream: stream.name,
    received: tally.received,
    expected: tally.announced,
    retries: deps.source.http.counters.retries,
  });

/** Why a stream is not ok though it went on. `passesAfterMs` as in its report. */
export interface Problem {
  readonly status: StreamStatus;
  readonly reason: string;
  readonly passesAfterMs?: number | undefined;
}

/**
 * Does the work of a stream and records how it ended; `work` gives what kept the stream from being complete.
 * Throws only what ends the run (`endsRun`), after the stream's own row in `ops.run_streams` says so.
 */
export function inRun(run: Run, stream: Stream, work: (of: StreamRun) => Promise<Problem | undefined>) {
  const { name } = stream;
  const attributes = { 'tidemark.pipeline': run.pipeline, 'tidemark.stream': name };
  return traced(`stream ${name}`, attributes, async (span) => {
    await recorded(run, stream, work);
    noteEnd(span, run.reports.get(name)?.status);
  });
}

async function recorded(run: Run, stream: Stream, work: Parameters<typeof inRun>[2]): Promise<void> {
  const started = performance.now();
  const of = { ...run, stream, tally: new Tally() };
  run.deps.observe({ type: 'stream.started', pipeline: run.pipeline, stream: stream.name });
  try {
    await withRetry(() => beginStream(run.db, run, stream.name));
    const problem = await countingRequests(of.tally, () => work(of));
    await end(of, started, problem ?? { status: 'ok' });
  } catch (error) {
    const isStopped = error instanceof errors.Interrupted || error instanceof errors.Fenced;
    const failed = { status: isStopped ? 'interrupted' : 'failed', reason: errors.saidBy(error) } as const;
    const why = { ...failed, passesAfterMs: errors.passesAfter(error) };
    // The warehouse itself may be what failed: the first error is the one to report.
    await end(of, started, why).catch((second: unknown) =>
      tell(run, 'warn', `${stream.name}: its end could not be recorded: ${String(second)}`),
    );
    if (!endsRun(error)) return;
    run.stop(error);
    throw error;
  }
}

/**
 * Writes down and reports that the stream is over. Older versions that were refused are noted: a late index
 * heals itself; a source that was restored does not.
 */
async function end(of: StreamRun, started: number, why: Omit<Problem, 'reason'> & Partial<Problem>) {
  const { deps, db, pipeline, reports, stream } = of;
  const { slices, receipt } = of.tally;
  const seconds = (performance.now() - started) / 1000;
  const none = { counts: noCounts, deleted: 0 };
  let report: StreamReport = { stream: stream.name, ...why, ...none, slices, receipt, seconds };
  reports.set(stream.name, report);
  const cost = await costOf(of, report.status);
  const done = await withRetry(() => finishStream(db, of, report, stream.table, cost));
  report = { ...report, ...done };
  reports.set(stream.name, report);
  const { superseded } = report.counts;
  const kept = `${stream.name}: ${plural(superseded, 'record')} read with an older date than stored: the stored rows were kept`;
  const next = `If the source was restored from a backup, run sync ${pipeline} --full`;
  if (superseded > 0) tell(of, 'warn', `${kept}. ${next}`);
  deps.observe({ type: 'stream.finished', pipeline, report });
}

/** What the stream cost; of one that was read to its end also what was expected. A failure of the estimate is no failure of the stream. */
async function costOf({ deps, stream, tally }: StreamRun, status: StreamStatus): Promise<StreamCost> {
  const { requests, readingMs, limitedMs, mode, slices } = tally;
  const expected = stream.requests && tally.expected;
  const cost = { requests, readingMs, limitedMs, mode, expected };
  if (mode === undefined || status !== 'ok') return { ...cost, estimated: undefined };
  const size = { stream: stream.name, by: stream.by, mode, slices, requests: expected };
  return { ...cost, estimated: await deps.estimate?.(size).catch(() => undefined) };
}

const fatal = [
  errors.AuthFailed,
  errors.Fenced,
  errors.Interrupted,
  errors.Misconfigured,
  errors.OutOfTime,
  errors.TooManyRejects,
  errors.Unreachable,
  errors.WarehouseFull,
];

/** Errors that end the whole run, not just the stream they happened in. */
export const endsRun = (error: unknown): boolean =>
  !(error instanceof errors.TidemarkError) || fatal.some((kind) => error instanceof kind);

/** Several as one: the worst, and how many more there are. */
export const worst = (problems: readonly Problem[]): Problem | undefined => {
  const first = problems.find(({ status }) => status === 'failed') ?? problems[0];
  if (first === undefined || problems.length === 1) return first;
  const reason = `${first.reason} (and ${problems.length - 1} more slices)`;
  return { ...first, reason, passesAfterMs: longestOf(problems.map((problem) => problem.passesAfterMs)) };
};

/** The stream and the slice of it, for people. */
export function where(stream: Stream, slice: Slice): string {
  const parts = Object.entries(slice.partition ?? {}).map(([name, value]) => `${name} ${value}`);
  const { from, to } = slice.window ?? {};
  if (slice.window !== undefined) parts.push(`${from?.toISOString() ?? '…'}/${to?.toISOString() ?? '…'}`);
  return parts.length === 0 ? stream.name : `${stream.name} (${parts.join(', ')})`;
}
