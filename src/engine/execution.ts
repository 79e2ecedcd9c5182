/** The life of a run: lease, preflight, streams, outcome. */

import pLimit from 'p-limit';
import * as errors from '../core/errors.ts';
import { addCounts, longestOf, noCounts, type RunKind, type RunReport, type RunStatus } from '../core/run.ts';
import type { Instant } from '../core/time.ts';
import { endsSoon } from '../core/token-end.ts';
import { pruneRejects } from '../load/rejects.ts';
import { pruneCommits, transientIf } from '../load/session.ts';
import { withConnectLimit } from '../warehouse/connect.ts';
import { isPassing, unreachable } from '../warehouse/pg-errors.ts';
import { refreshStatistics } from '../warehouse/statistics.ts';
import { usualRetry, withRetry } from '../warehouse/with-retry.ts';
import { excludedOf, mostLoads, type RunDeps, slicesAtOnce } from './context/deps.ts';
import { type Run, tell } from './context/run-context.ts';
import { takeLease, usualTimes } from './state/lease.ts';
import { Rejections } from './state/rejections.ts';
import { beginRun, finishRun, noteTokenEnd, registerSource } from './state/run-state.ts';
import { pruneWalks } from './state/walk-state.ts';

/** The work of a run. Throws what ends the run. */
type Body = (run: Run) => Promise<void>;

/** A run whose source was not asked yet. */
type OpenedRun = Omit<Run, 'clock' | 'now' | 'rejections' | 'writers' | 'slot' | 'loads'>;

/**
 * One run: takes the lease, opens `ops.runs`, asks the source for its clock and our account, does the work,
 * and closes the run's row. Errors that end a run are thrown after the row is closed; all others are in the
 * report.
 */
export async function withRun(
  deps: RunDeps,
  kind: RunKind,
  params: Readonly<Record<string, unknown>>,
  body: Body,
): Promise<RunReport> {
  const started = performance.now();
  const { source, trigger, version, observe } = deps;
  const { db, pool } = deps.warehouse;
  const pipeline = source.name;
  const ending = new AbortController();
  const grace = new AbortController();
  const sourceId = await beginning(deps, () => registerSource(db, source, excludedOf(deps), deps.rotate));
  const times = { ...usualTimes, until: grace.signal };
  const lease = await beginning(deps, () => takeLease(pool, pipeline, times));
  const stopTimers = startTimers(deps, ending, grace);
  try {
    const row = { pipeline, sourceId, kind, trigger, version, epoch: lease.epoch, params };
    const { runId, micros, movedFrom } = await beginning(deps, () => beginRun(db, row, source.baseUrl));
    const warehouseNow = clockFrom(micros);
    observe({ type: 'run.started', pipeline, runId, kind });
    const signal = AbortSignal.any([deps.signal, lease.signal, ending.signal]);
    const stop = (reason: unknown): void => ending.abort(reason);
    const of = { runId, sourceId, pipeline, kind, deps, db };
    const begun: OpenedRun = { ...of, lease, signal, stop, warehouseNow, reports: new Map() };
    const moved = `${pipeline} was ${movedFrom} until now and is ${source.baseUrl}: a site may move, but rows of another system would mix with those that are here; give that one a warehouse of its own`;
    if (movedFrom !== null) tell(begun, 'warn', moved);
    const error = await work(begun, body);
    const report = reportOf(begun, error, started);
    await tidy(begun);
    await close(deps, report, error);
    observe({ type: 'run.finished', pipeline, report });
    // A run with too many rejects went on as far as it could.
    if (error !== undefined && !(error instanceof errors.TooManyRejects)) throw error;
    return report;
  } finally {
    stopTimers();
    await lease.release();
  }
}

/**
 * A step before the first stream. It may be repeated, so a warehouse that restarts is waited for. Throws
 * `Unreachable` where it stays away, `Transient` or `WarehouseFull` where it does not let the run begin.
 */
async function beginning<T>({ warehouse, signal }: RunDeps, step: () => Promise<T>): Promise<T> {
  try {
    return await withRetry(() => {
      signal.throwIfAborted();
      return step();
    });
  } catch (error) {
    throw isPassing(error) ? unreachable(error, warehouse.address) : transientIf(error);
  }
}

/** A clock that goes on from this moment, µs since 1970, by our monotonic one. */
function clockFrom(micros: string): () => Instant {
  const at = performance.now();
  return () => BigInt(micros) + BigInt(Math.round((performance.now() - at) * 1000));
}

/**
 * What was read when the run is stopped is still loaded, if the warehouse takes it in this time: half of the
 * grace time (guarantee G9).
 */
const lastBatchMs = 10_000;

/** The run's deadline ends its work; an order to stop ends its loads after `lastBatchMs`. Gives what stops the timers. */
function startTimers(
  { deadlineMs, signal: stop, source }: RunDeps,
  ending: AbortController,
  grace: AbortController,
): () => void {
  const done = new AbortController();
  const after = (ms: number, step: () => void): void =>
    AbortSignal.timeout(Math.round(ms)).addEventListener('abort', step, { signal: done.signal });
  if (deadlineMs !== undefined) {
    const why = `the run's time (${Math.round(deadlineMs / 60_000)} min) is over; the next run goes on`;
    after(deadlineMs, () => ending.abort(new errors.OutOfTime(`${source.name}: ${why}`)));
  }
  const beginGrace = (): void => after(lastBatchMs, () => grace.abort(stop.reason));
  stop.addEventListener('abort', beginGrace, { once: true, signal: done.signal });
  return () => done.abort();
}

/** Runs the body. Gives the error that ended the run, if one did. */
async function work(begun: OpenedRun, body: Body): Promise<unknown> {
  const { lease, signal } = begun;
  try {
    await body(await openRun(begun));
    // What the streams report is true of a warehouse that still has it: the lease knows what it confirmed.
    await lease.transaction(async () => undefined);
    return undefined;
  } catch (thrown) {
    if (lease.signal.reason instanceof errors.Fenced) return lease.signal.reason;
    // What ended the work of all streams; what they threw then only followed.
    const first: unknown = signal.aborted ? signal.reason : thrown;
    return first instanceof errors.TidemarkError ? first : transientIf(first);
  }
}

async function openRun(begun: OpenedRun): Promise<Run> {
  const { deps, signal } = begun;
  const { clock, dialect, tokenEnds } = await deps.source.preflight(signal);
  const answeredAt = performance.now();
  for (const line of dialect) tell(begun, 'info', line);
  const none =
    'the source sends no Date header: watermarks stay where they are, and the next run reads the same again';
  if (clock === undefined) tell(begun, 'warn', none);
  await withRetry(() => noteTokenEnd(begun.db, begun.sourceId, tokenEnds));
  const ending = endsSoon(tokenEnds, clock ?? new Date());
  if (ending !== undefined) tell(begun, 'warn', ending);
  const now = (): Date =>
    clock === undefined ? new Date() : new Date(clock.getTime() + performance.now() - answeredAt);
  const work = { slot: pLimit(slicesAtOnce(deps.concurrency)), loads: pLimit(mostLoads) };
  return { ...begun, clock, now, rejections: new Rejections(), writers: [], ...work };
}

function reportOf(
  { deps: { source }, runId, pipeline, kind, reports }: OpenedRun,
  error: unknown,
  started: number,
): RunReport {
  const { requests, retries, throttledMs } = source.http.counters;
  const streams = source.streams.flatMap(({ name }) => reports.get(name) ?? []);
  return {
    runId,
    pipeline,
    kind,
    streams,
    requests,
    retries,
    throttledMs,
    counts: streams.reduce((sum, stream) => addCounts(sum, stream.counts), noCounts),
    deleted: streams.reduce((sum, stream) => sum + stream.deleted, 0),
    seconds: (performance.now() - started) / 1000,
    ...outcomeOf(streams, error),
  };
}

/** What runs are called that these errors ended, by their codes; any other error fails a run. */
const endings: Readonly<Record<string, RunStatus>> = { interrupted: 'interrupted', fenced: 'lost' };

/**
 * What became of a run: by the error that ended it, or else by its streams. One is not complete also where
 * only one owner (an ad account, a board) is closed.
 */
function outcomeOf(
  streams: RunReport['streams'],
  error: unknown,
): Pick<RunReport, 'status' | 'error' | 'passesAfterMs'> {
  if (error !== undefined) {
    const code = error instanceof errors.TidemarkError ? error.code : 'defect';
    const passesAfterMs = errors.passesAfter(error);
    return {
      status: endings[code] ?? 'failed',
      error: { code, message: errors.saidBy(error) },
      passesAfterMs,
    };
  }
  const bad = streams.filter(({ status }) => ['failed', 'partial', 'forbidden'].includes(status));
  const [first] = [...bad, ...streams.filter(({ status }) => status === 'attention')];
  if (first === undefined) return { status: 'succeeded' };
  const ofBad = streams.every(({ status }) => status === 'failed') ? 'failed' : 'partly_failed';
  return {
    status: bad.length === 0 ? 'needs_attention' : ofBad,
    error: { code: first.status, message: first.reason ?? `${first.stream} ${first.status}` },
    passesAfterMs: longestOf(streams.map((stream) => stream.passesAfterMs)),
  };
}

async function tidy(begun: OpenedRun): Promise<void> {
  const { db, sourceId, deps } = begun;
  await Promise.all([pruneWalks(db, sourceId), pruneRejects(db, sourceId), pruneCommits(db)]).catch((error) =>
    tell(begun, 'warn', `old slices, rejects and commits were not cleaned up: ${String(error)}`),
  );
  if (begun.signal.aborted) return;
  await refreshStatistics(deps.warehouse.pool, begun.signal).catch((error) =>
    tell(begun, 'warn', `tables were not analyzed, queries may be slow: ${String(error)}`),
  );
}

/**
 * Closes the run's row. A run that was stopped or fenced does not wait for a warehouse that is away; one that
 * was done when it was asked to end waits for as long as the grace time allows, or it would pass for lost.
 */
async function close({ warehouse, signal, source }: RunDeps, report: RunReport, error: unknown) {
  const patience = signal.aborted ? lastBatchMs : usualRetry.totalMs;
  const totalMs = report.status === 'interrupted' || report.status === 'lost' ? 0 : patience;
  const db = withConnectLimit(warehouse, totalMs);
  const finish = () => finishRun(db, report, source.http.counters);
  await withRetry(finish, { ...usualRetry, totalMs }).catch((failure: unknown) => {
    if (error === undefined) throw transientIf(failure);
  });
}
