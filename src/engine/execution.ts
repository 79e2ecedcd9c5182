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
import { hurried } from '../warehouse/connect.ts';
import { isPassing, unreachable } from '../warehouse/pg-errors.ts';
import { patiently, usualPatience } from '../warehouse/with-retry.ts';
import { mostLoads, slicesAtOnce } from './context/concurrency.ts';
import type { RunDeps } from './context/deps.ts';
import type { RunContext } from './context/run-context.ts';
import { excludedOf } from './context/select-streams.ts';
import { type Lease, takeLease } from './state/lease.ts';
import { countRejections } from './state/rejections.ts';
import {
  beginRun,
  finishRun,
  movedText,
  moveSource,
  type Run,
  registerSource,
  writtenBy,
} from './state/run-state.ts';
import { hasOpenWalk, pruneWalks } from './state/walk-state.ts';

/** What the body of a run is given. */
export interface Execution {
  readonly context: RunContext;
  /** The source's clock at the beginning of the run. */
  readonly clock: Date | undefined;
  /** The moment by the database's clock, as a monotonic count from the beginning of the run. */
  readonly now: () => Instant;
  /** Ends all work of the run: what one part found out concerns every other. */
  readonly stop: (reason: unknown) => void;
}

/**
 * One run from lease to goodbye: asks the source who we are there, takes the lease, opens `ops.runs`, does the work, and closes it with
 * what became of it. Errors that end a run are thrown after the run's row tells of them; all others are in the report.
 */
export async function withRun(
  deps: RunDeps,
  kind: RunKind,
  params: Readonly<Record<string, unknown>>,
  body: (execution: Execution) => Promise<readonly PromiseSettledResult<StreamReport>[]>,
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
    let settled: readonly PromiseSettledResult<StreamReport>[] = [];
    let thrown: unknown;
    try {
      settled = await work(deps, run, lease, body);
      thrown = origins(settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))).sort(
        byGravity,
      )[0];
      // What the streams tell is true of a warehouse that still has it.
      if (thrown === undefined) await patiently(() => lease.check());
    } catch (error) {
      thrown = error;
    }
    if (!(thrown instanceof TidemarkError)) thrown = transientIf(thrown);
    const { counters } = deps.source.http;
    const streams = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const told = {
      counts: streams.reduce((sum, stream) => addCounts(sum, stream.counts), noCounts),
      deleted: streams.reduce((sum, stream) => sum + stream.deleted, 0),
    };
    const report: RunReport = {
      runId,
      pipeline,
      kind,
      status: statusOf(streams, thrown),
      streams,
      // Of streams that were cut short there is no report; where the warehouse itself failed, the others have to do.
      ...(thrown === undefined ? told : await writtenBy(db, runId).catch(() => told)),
      requests: counters.requests - before.requests,
      retries: counters.retries - before.retries,
      throttledMs: counters.throttledMs - before.throttledMs,
      seconds: (performance.now() - started) / 1000,
      ...errorOf(streams, thrown),
      ...passing(streams, thrown),
    };
    await Promise.all([pruneWalks(db, sourceId), pruneRejects(db, sourceId), pruneCommits(db)]).catch(
      (error: unknown) => {
        deps.observe({
          type: 'note',
          pipeline,
          level: 'warn',
          message: `old slices, rejects and commits were not cleaned up: ${String(error)}`,
        });
      },
    );
    const strain = { throttled: counters.throttled - before.throttled, quiet: counters.quiet };
    const close = (through = db): Promise<void> => finishRun(through, report, strain);
    // What is told to end does not wait for a warehouse that is away; what was done by then has its last word, or it would pass for lost.
    await (thrown instanceof Interrupted || thrown instanceof Fenced ? close() : patiently(() => close()))
      .catch(async (error: unknown) => {
        if (thrown !== undefined || !deps.signal.aborted) throw error;
        const through = hurried(deps.warehouse, lastWordMs);
        await patiently(() => close(through), { ...usualPatience, totalMs: lastWordMs });
      })
      .catch((error: unknown) => {
        if (thrown === undefined) throw transientIf(error);
      });
    deps.observe({ type: 'run.finished', pipeline, report });
    if (thrown !== undefined && !isToldInReport(thrown)) throw thrown;
    return report;
  } finally {
    await lease.release();
  }
}

/**
 * What comes before the first stream: each step may be done twice without harm, so a warehouse that restarts is waited for. Throws
 * `Unreachable` where it stays away, `Transient` or `WarehouseFull` where it does not let the run begin.
 */
async function beginning<T>({ warehouse, signal }: RunDeps, step: () => Promise<T>): Promise<T> {
  try {
    return await patiently(() => {
      signal.throwIfAborted();
      return step();
    });
  } catch (error) {
    throw isPassing(error) ? unreachable(error, warehouse.address) : transientIf(error);
  }
}

async function work(
  deps: RunDeps,
  run: Run,
  lease: Lease,
  body: (execution: Execution) => Promise<readonly PromiseSettledResult<StreamReport>[]>,
): Promise<readonly PromiseSettledResult<StreamReport>[]> {
  const limit = pLimit(slicesAtOnce(deps.concurrency));
  const ending = new AbortController();
  const over = deadline(deps);
  const signal = AbortSignal.any([deps.signal, lease.signal, ending.signal, over.signal]);
  const word = lastWord(deps.signal);
  const now = await beginning(deps, () => databaseClock(deps));
  const { clock, dialect } = await deps.source.preflight(signal);
  const answeredAt = performance.now();
  const { baseUrl } = deps.source;
  // Behind the preflight: a place that does not answer or does not let us in has not become the source's.
  const before = await beginning(deps, () => moveSource(deps.warehouse.db, run.sourceId, baseUrl));
  if (before !== undefined)
    deps.observe({
      type: 'note',
      pipeline: run.pipeline,
      level: 'warn',
      message: movedText(run.pipeline, before, baseUrl),
    });
  const context: RunContext = {
    deps,
    run,
    lease: { ...lease, signal: AbortSignal.any([lease.signal, word.signal]) },
    signal,
    clock,
    now: () =>
      clock === undefined ? new Date() : new Date(clock.getTime() + performance.now() - answeredAt),
    rejections: countRejections(),
    writers: [],
    slot: (piece) => limit(piece),
    loads: pLimit(mostLoads),
  };
  for (const line of dialect)
    deps.observe({ type: 'note', pipeline: run.pipeline, level: 'info', message: line });
  if (clock === undefined)
    deps.observe({
      type: 'note',
      pipeline: run.pipeline,
      level: 'warn',
      message:
        'the source sends no Date header: watermarks stay where they are, and the next run reads the same again',
    });
  return body({ context, clock, now, stop: (reason) => ending.abort(reason) }).finally(() => {
    over.release();
    word.release();
  });
}

/** What was read when the run is told to end is still loaded, if the warehouse takes it in this time: half of the grace time (guarantee G9). */
const lastWordMs = 10_000;

/** Aborts so long after the signal, with its reason. */
function lastWord(asked: AbortSignal): { readonly signal: AbortSignal; readonly release: () => void } {
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const count = (): void => {
    timer = setTimeout(() => over.abort(asked.reason), lastWordMs).unref();
  };
  if (asked.aborted) count();
  else asked.addEventListener('abort', count, { once: true });
  return {
    signal: over.signal,
    release: () => {
      clearTimeout(timer);
      asked.removeEventListener('abort', count);
    },
  };
}

/** Timers hold at most 2^31 ms: beyond that they fire at once. */
const longestTimer = 2 ** 31 - 1;

/** Aborts when the run's time is over. */
function deadline({ deadlineMs, source }: RunDeps): {
  readonly signal: AbortSignal;
  readonly release: () => void;
} {
  const over = new AbortController();
  if (deadlineMs === undefined) return { signal: over.signal, release: () => undefined };
  const message = `${source.name}: the run's time (${Math.round(deadlineMs / 60_000)} min) is over; the next run goes on`;
  const timer = setTimeout(
    () => over.abort(new OutOfTime(message)),
    Math.min(deadlineMs, longestTimer),
  ).unref();
  return { signal: over.signal, release: () => clearTimeout(timer) };
}

/** The database's clock, read once and carried on by our monotonic one. */
async function databaseClock(deps: RunDeps): Promise<() => Instant> {
  const { rows } = await sql<{
    micros: string;
  }>`select (extract(epoch from clock_timestamp()) * 1000000)::bigint::text as micros`.execute(
    deps.warehouse.db,
  );
  const base = BigInt(rows[0]?.micros ?? '0');
  const at = performance.now();
  return () => base + BigInt(Math.round((performance.now() - at) * 1000));
}

/** Told in the report instead of thrown: the run went on as far as it could, and exits with 1. */
const isToldInReport = (error: unknown): boolean =>
  error instanceof TidemarkError && error.code === 'too_many_rejects';

/** Without what only followed: a stream that is waiting when another one's defect ends the run is interrupted by it. */
function origins(errors: readonly unknown[]): unknown[] {
  return errors.filter((error) => !(error instanceof Interrupted && errors.includes(error.cause)));
}

/** The gravest of several errors is the one to tell: losing the lease before an order to stop before all others. */
function byGravity(a: unknown, b: unknown): number {
  const rank = (error: unknown): number =>
    error instanceof Fenced ? 0 : error instanceof Interrupted ? 1 : error instanceof TidemarkError ? 3 : 2;
  return rank(a) - rank(b);
}

/** A stream of which a part could not be read: a run with one is not complete, also where only one owner (an ad account, a board) is closed. */
const incomplete: ReadonlySet<StreamReport['status']> = new Set(['failed', 'partial', 'forbidden']);

function statusOf(streams: readonly StreamReport[], thrown: unknown): RunStatus {
  if (thrown instanceof Interrupted) return 'interrupted';
  if (thrown instanceof Fenced) return 'lost';
  if (thrown !== undefined) return 'failed';
  const bad = streams.filter(({ status }) => incomplete.has(status));
  if (bad.length === 0)
    return streams.some((stream) => stream.status === 'attention') ? 'needs_attention' : 'succeeded';
  return bad.length === streams.length && bad.every((stream) => stream.status === 'failed')
    ? 'failed'
    : 'partly_failed';
}

function passing(streams: readonly StreamReport[], thrown: unknown): Pick<RunReport, 'passesAfterMs'> {
  const passesAfterMs =
    thrown === undefined ? longestOf(streams.map((stream) => stream.passesAfterMs)) : passesAfter(thrown);
  return passesAfterMs === undefined ? {} : { passesAfterMs };
}

function errorOf(streams: readonly StreamReport[], thrown: unknown): Pick<RunReport, 'error'> {
  if (thrown !== undefined) {
    const code = thrown instanceof TidemarkError ? thrown.code : 'defect';
    return { error: { code, message: saidBy(thrown) } };
  }
  const bad = streams.find(({ status }) => incomplete.has(status) || status === 'attention');
  return bad === undefined
    ? {}
    : { error: { code: bad.status, message: bad.reason ?? `${bad.stream} ${bad.status}` } };
}
