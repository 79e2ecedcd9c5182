/** Takes requests from the queue and runs them, one for each pipeline at a time. */

import { Fenced, Interrupted, LockHeld, passesAfter, saidBy, TidemarkError } from '../core/errors.ts';
import type { Observe } from '../core/run.ts';
import type { Runner } from '../runs/ask.ts';
import { type Warehouse, withConnectLimit } from '../warehouse/connect.ts';
import { withRetry } from '../warehouse/with-retry.ts';
import { longestMs, type Queue, type QueueJob, type Times, type Trx } from './queue.ts';
import { repeat } from './repeat.ts';
import { lineOf, openLog, type RunLog } from './request-log.ts';
import * as store from './requests.ts';

export interface WorkerDeps {
  readonly warehouse: Warehouse;
  readonly queue: Queue;
  readonly runner: Runner;
  /** The name of this process, for people. */
  readonly name: string;
  readonly times: Times;
  /** Gets errors outside of the runs, e.g. of a log that cannot be written. */
  readonly trouble: (what: string, error: unknown) => void;
  readonly ended: store.AlsoWritten;
}

/**
 * Runs one job from claim to end; `ending` interrupts it with its reason. Throws if the run lost its lease, or its end could not be written: the
 * queue gives it to another worker.
 */
export async function handleJob(deps: WorkerDeps, job: QueueJob, ending: AbortSignal): Promise<void> {
  const { warehouse, queue, runner, name, times, trouble } = deps;
  // Also while the service ends: a warehouse that is away for a moment is waited for, or finished work would count as lost.
  const limits = { totalMs: times.leaseMs, firstMs: 50, longestMs: 1_000 };
  const write = <T>(work: (db: Trx) => Promise<T>): Promise<T> =>
    withRetry(() => work(withConnectLimit(warehouse, times.leaseMs)), limits);
  const claimed = await write((db) => store.claim(db, job, name));
  if (claimed === undefined) return;
  const { id, ask, trigger, partOf } = claimed;
  const parts = runner.parts(ask);
  if (parts !== undefined) return write((db) => store.splitNight(db, queue, claimed, parts));
  const stop = new AbortController();
  const over = new AbortController();
  const log = openLog(warehouse.db, id);
  const { observe, runs, idleMs } = follow(warehouse.db, id, log);
  job.signal.onabort = () => stop.abort(new Fenced('another worker has taken the request over'));
  const renew = setTimeout(() => stop.abort(new Interrupted('it goes on as another job')), longestMs).unref();
  log.add('info', `taken by ${name}${job.retryCount > 0 ? ` (attempt ${job.retryCount + 1})` : ''}`);
  const report = async (): Promise<void> => {
    await log.flush();
    if (await store.reportProgress(warehouse.db, id, name, idleMs(), times.stuckMs))
      stop.abort(new Interrupted('a stop was requested'));
  };
  repeat(times.heartbeatMs, over.signal, report, (error) => trouble('reporting progress', error));
  const signal = AbortSignal.any([stop.signal, ending]);
  try {
    const run = () => runner.run(ask, { trigger, signal, observe });
    const ended = await outcome(run, claimed, times, signal, log);
    // A reader that sees the end of a request must find its whole log.
    await log.flush().catch(() => undefined);
    const isOver = partOf !== null && !store.waits(ended.status);
    const next = isOver ? await write(() => runner.next(ask)) : undefined;
    await write((db) => store.close(db, queue, claimed, runs, ended, deps.ended, next));
  } finally {
    clearTimeout(renew);
    over.abort();
    await log.flush().catch((error: unknown) => trouble(`the log of request ${id} is not complete`, error));
  }
}

/** Runs, and says how it ended. Throws if the run lost its lease: pg-boss fails the attempt then, and the request is marked lost. */
async function outcome(
  run: () => ReturnType<Runner['run']>,
  { trigger, job }: store.Claimed,
  times: Times,
  signal: AbortSignal,
  log: RunLog,
): Promise<store.Ended> {
  // Scheduled requests that failed of a passing cause are retried (guarantee G14), after the pause or when the source asked.
  const pause = trigger === 'schedule' ? times.againMs[job.data.failures] : undefined;
  const retryMs = (passesMs: number | undefined) =>
    pause === undefined || passesMs === undefined ? undefined : Math.max(pause, passesMs);
  try {
    const { status, error = null, passesAfterMs } = await run();
    if (status === 'interrupted') throw new Interrupted(error?.message ?? 'it was interrupted');
    if (status === 'lost') throw new Fenced(error?.message ?? 'its run was lost');
    return { status, error, pauseMs: retryMs(passesAfterMs) };
  } catch (thrown) {
    const message = saidBy(thrown);
    const isFenced = thrown instanceof Fenced || signal.reason instanceof Fenced;
    const isHeld = thrown instanceof LockHeld;
    if (isFenced || isHeld || thrown instanceof Interrupted) log.add(isFenced ? 'warn' : 'info', message);
    if (isFenced) throw thrown;
    if (isHeld) return { status: 'queued', error: null, pauseMs: times.heldMs };
    if (thrown instanceof Interrupted) return { status: 'interrupted', error: null, pauseMs: 0 };
    const code = thrown instanceof TidemarkError ? thrown.code : 'defect';
    return { status: 'failed', error: { code, message }, pauseMs: retryMs(passesAfter(thrown)) };
  }
}

/** Collects what a run reports: `runs` it became, lines for the log, and for how long it has made no progress (by a clock that only grows). */
function follow(db: Trx, id: string, log: RunLog) {
  const runs: string[] = [];
  const received = new Map<string, number>();
  let progressAt = performance.now();
  const observe: Observe = (event) => {
    if (event.type === 'stream.progress') {
      const stream = `${event.pipeline} ${event.stream}`;
      // While a run waits for the source's rate limit it reports progress without a new record.
      if (received.get(stream) === event.received) return;
      received.set(stream, event.received);
    }
    progressAt = performance.now();
    if (event.type === 'run.started') {
      runs.push(event.runId);
      // For readers meanwhile; the end of the request writes it again.
      store.linkRuns(db, id, [event.runId]).catch(() => undefined);
    }
    const line = lineOf(event);
    if (line !== undefined) log.add(line.level, line.message);
  };
  return { observe, runs, idleMs: () => performance.now() - progressAt };
}
