import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pLimit from 'p-limit';
import { Fenced, Interrupted, OutOfTime, passesAfter, saidBy, TidemarkError } from '../core/errors.ts';
import {
  addCounts,
  longestOf,
  noCounts,
  type RunKind,
  type RunReport,
  type RunStatus,
  type StreamReport,
} from '../core/run.ts';
import type { Instant } from '../core/time.ts';
import { pruneRejects } from '../load/rejects.ts';
import { pruneCommits, transientIf } from '../load/session.ts';
import { withConnectLimit } from '../warehouse/connect.ts';
import { isPassing, unreachable } from '../warehouse/pg-errors.ts';
import { usualRetry, withRetry } from '../warehouse/with-retry.ts';
import { mostLoads, slicesAtOnce } from './context/concurrency.ts';
import type { RunDeps } from './context/deps.ts';
import { type RunContext, tell } from './context/run-context.ts';
import { excludedOf } from './context/select-streams.ts';
import { type Lease, takeLease } from './state/lease.ts';
import { countRejections } from './state/rejections.ts';
import { beginRun, finishRun, moveSource, type Run, registerSource, writtenBy } from './state/run-state.ts';
import { hasOpenWalk, pruneWalks } from './state/walk-state.ts';

/** What the body of a run is given. */
export interface Execution {
  readonly context: RunContext;
  /** The source's clock at the beginning of the run. */
  readonly clock: Date | undefined;
  /** The moment by the database's clock, as a monotonic count from the beginning of the run. */
  readonly now: () => Instant;
  /** Ends all work of the run: what one stream found out concerns every other. */
  readonly stop: (reason: unknown) => void;
}

type Settled = readonly PromiseSettledResult<StreamReport>[];
type Body = (execution: Execution) => Promise<Settled>;

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
  const { db, pool } = deps.warehouse;
  const sourceId = await beginning(deps, () => registerSource(db, deps.source, excludedOf(deps)));
  const pipeline = deps.source.name;
  const lease = await beginning(deps, () => takeLease(pool, pipeline));
  try {
    const { trigger, version } = deps;
    const begun = { pipeline, sourceId, kind, trigger, version, epoch: lease.epoch, params };
    const runId = await beginning(deps, () => beginRun(db, begun));
    await beginning(deps, () => lease.name(runId));
    const run: Run = { runId, sourceId, pipeline, kind };
    const resumed = await beginning(deps, () => hasOpenWalk(db, sourceId, kind));
    deps.observe({ type: 'run.started', pipeline, runId, kind, resumed });
    const before = { ...deps.source.http.counters };
    const { settled, error } = await work(deps, run, lease, body);
    const report = await reportOf(deps, run, settled, error, { started, before });
    await prune(deps, run);
    await close(deps, report, deps.source.http.counters.throttled - before.throttled, error);
    deps.observe({ type: 'run.finished', pipeline, report });
    if (error !== undefined && !isInReport(error)) throw error;
    return report;
  } finally {
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

/** Runs the body. Gives what became of the streams, and the gravest error that ended the run. */
async function work(
  deps: RunDeps,
  run: Run,
  lease: Lease,
  body: Body,
): Promise<{ readonly settled: Settled; readonly error: unknown }> {
  const ending = new AbortController();
  const stopTimers = startTimers(deps, lease, ending);
  let settled: Settled = [];
  let error: unknown;
  try {
    const signal = AbortSignal.any([deps.signal, lease.signal, ending.signal]);
    const opened = await openContext(deps, run, lease, signal);
    settled = await body({ ...opened, stop: (reason) => ending.abort(reason) });
    error = gravest(settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : [])));
    // What the streams report is true of a warehouse that still has it.
    if (error === undefined) await withRetry(() => lease.check());
  } catch (thrown) {
    error = thrown;
  } finally {
    stopTimers();
  }
  if (error !== undefined && !(error instanceof TidemarkError)) error = transientIf(error);
  return { settled, error };
}

/**
 * What was read when the run is stopped is still loaded, if the warehouse takes it in this time: half of the
 * grace time (guarantee G9).
 */
const lastBatchMs = 10_000;

/** Timers hold at most 2^31 ms: beyond that they fire at once. */
const longestTimer = 2 ** 31 - 1;

/**
 * The run's deadline ends its work; an order to stop ends its loads after `lastBatchMs`. Gives what stops the
 * timers.
 */
function startTimers(deps: RunDeps, lease: Lease, ending: AbortController): () => void {
  const { deadlineMs, signal: stop } = deps;
  const done = new AbortController();
  const after = (ms: number, step: () => void): void => {
    sleep(ms, undefined, { ref: false, signal: done.signal }).then(step, () => undefined);
  };
  if (deadlineMs !== undefined)
    after(Math.min(deadlineMs, longestTimer), () => ending.abort(outOfTime(deps, deadlineMs)));
  const grace = new AbortController();
  lease.alsoEndWith(grace.signal);
  const beginGrace = (): void => after(lastBatchMs, () => grace.abort(stop.reason));
  if (stop.aborted) beginGrace();
  else stop.addEventListener('abort', beginGrace, { once: true, signal: done.signal });
  return () => done.abort();
}

const outOfTime = ({ source }: RunDeps, deadlineMs: number): OutOfTime =>
  new OutOfTime(
    `${source.name}: the run's time (${Math.round(deadlineMs / 60_000)} min) is over; the next run goes on`,
  );

async function openContext(
  deps: RunDeps,
  run: Run,
  lease: Lease,
  signal: AbortSignal,
): Promise<Omit<Execution, 'stop'>> {
  const limit = pLimit(slicesAtOnce(deps.concurrency));
  const { baseUrl } = deps.source;
  const { pipeline } = run;
  const note = (level: 'info' | 'warn', message: string): void => tell({ deps, run }, level, message);
  const now = await beginning(deps, () => databaseClock(deps));
  const { clock, dialect } = await deps.source.preflight(signal);
  const answeredAt = performance.now();
  // After the preflight: a server that does not answer or does not let us in has not become the source's.
  const before = await beginning(deps, () => moveSource(deps.warehouse.db, run.sourceId, baseUrl));
  if (before !== undefined)
    note(
      'warn',
      `${pipeline} was ${before} until now and is ${baseUrl}: a site may move, but rows of another system would mix with those that are here; give that one a warehouse of its own`,
    );
  for (const line of dialect) note('info', line);
  if (clock === undefined)
    note(
      'warn',
      'the source sends no Date header: watermarks stay where they are, and the next run reads the same again',
    );
  const context: RunContext = {
    ...{ deps, run, lease, signal, clock },
    now: () =>
      clock === undefined ? new Date() : new Date(clock.getTime() + performance.now() - answeredAt),
    rejections: countRejections(),
    writers: [],
    slot: (piece) => limit(piece),
    loads: pLimit(mostLoads),
  };
  return { context, clock, now };
}

/** The database's clock, read once and carried on by our monotonic one. */
async function databaseClock({ warehouse }: RunDeps): Promise<() => Instant> {
  const { rows } = await sql<{ micros: string }>`
    select (extract(epoch from clock_timestamp()) * 1000000)::bigint::text as micros`.execute(warehouse.db);
  const base = BigInt(rows[0]?.micros ?? '0');
  const at = performance.now();
  return () => base + BigInt(Math.round((performance.now() - at) * 1000));
}

async function reportOf(
  { source, warehouse }: RunDeps,
  { runId, pipeline, kind }: Run,
  settled: Settled,
  error: unknown,
  { started, before }: { readonly started: number; readonly before: RunDeps['source']['http']['counters'] },
): Promise<RunReport> {
  const { counters } = source.http;
  const streams = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const reported = {
    counts: streams.reduce((sum, stream) => addCounts(sum, stream.counts), noCounts),
    deleted: streams.reduce((sum, stream) => sum + stream.deleted, 0),
  };
  const passesAfterMs =
    error === undefined ? longestOf(streams.map((stream) => stream.passesAfterMs)) : passesAfter(error);
  const failure = errorOf(streams, error);
  return {
    ...{ runId, pipeline, kind, streams },
    status: statusOf(streams, error),
    // Streams that were cut short have no report: what their batches committed counts, if the warehouse can
    // be asked.
    ...(error === undefined ? reported : await writtenBy(warehouse.db, runId).catch(() => reported)),
    requests: counters.requests - before.requests,
    retries: counters.retries - before.retries,
    throttledMs: counters.throttledMs - before.throttledMs,
    seconds: (performance.now() - started) / 1000,
    ...(failure !== undefined && { error: failure }),
    ...(passesAfterMs !== undefined && { passesAfterMs }),
  };
}

async function prune(deps: RunDeps, run: Run): Promise<void> {
  const { db } = deps.warehouse;
  try {
    await Promise.all([pruneWalks(db, run.sourceId), pruneRejects(db, run.sourceId), pruneCommits(db)]);
  } catch (error) {
    tell({ deps, run }, 'warn', `old slices, rejects and commits were not cleaned up: ${String(error)}`);
  }
}

/**
 * Closes the run's row. A run that is stopped or fenced does not wait for a warehouse that is away; one that
 * was done when it was asked to end waits for as long as the grace time allows, or it would pass for lost.
 */
async function close(deps: RunDeps, report: RunReport, throttled: number, error: unknown): Promise<void> {
  const { warehouse, signal, source } = deps;
  const strain = { throttled, quiet: source.http.counters.quiet };
  const finish = (db = warehouse.db): Promise<void> => finishRun(db, report, strain);
  try {
    await (error instanceof Interrupted || error instanceof Fenced ? finish() : withRetry(() => finish()));
  } catch (failure) {
    if (error !== undefined) return;
    if (!signal.aborted) throw transientIf(failure);
    const db = withConnectLimit(warehouse, lastBatchMs);
    await withRetry(() => finish(db), { ...usualRetry, totalMs: lastBatchMs }).catch((last: unknown) => {
      throw transientIf(last);
    });
  }
}

/** Reported instead of thrown: the run went on as far as it could, and exits with 1. */
const isInReport = (error: unknown): boolean =>
  error instanceof TidemarkError && error.code === 'too_many_rejects';

/**
 * The gravest error, without those that only followed: losing the lease before an order to stop before all
 * others.
 */
function gravest(errors: readonly unknown[]): unknown {
  const origins = errors.filter((error) => !(error instanceof Interrupted && errors.includes(error.cause)));
  return (
    origins.find((error) => error instanceof Fenced) ??
    origins.find((error) => error instanceof Interrupted) ??
    origins.find((error) => !(error instanceof TidemarkError)) ??
    origins[0]
  );
}

/** A stream that is not complete, also where only one owner (an ad account, a board) is closed. */
const incomplete: ReadonlySet<StreamReport['status']> = new Set(['failed', 'partial', 'forbidden']);

function statusOf(streams: readonly StreamReport[], error: unknown): RunStatus {
  if (error instanceof Interrupted) return 'interrupted';
  if (error instanceof Fenced) return 'lost';
  if (error !== undefined) return 'failed';
  const bad = streams.filter(({ status }) => incomplete.has(status));
  if (bad.length === 0)
    return streams.some(({ status }) => status === 'attention') ? 'needs_attention' : 'succeeded';
  return bad.length === streams.length && bad.every(({ status }) => status === 'failed')
    ? 'failed'
    : 'partly_failed';
}

function errorOf(streams: readonly StreamReport[], error: unknown): RunReport['error'] {
  if (error !== undefined)
    return { code: error instanceof TidemarkError ? error.code : 'defect', message: saidBy(error) };
  const bad = streams.find(({ status }) => incomplete.has(status) || status === 'attention');
  return bad && { code: bad.status, message: bad.reason ?? `${bad.stream} ${bad.status}` };
}
