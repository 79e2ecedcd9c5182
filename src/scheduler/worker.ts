/** Takes requests from the queue and runs them, one for each pipeline at a time. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Fenced, Interrupted, LockHeld, passesAfter, saidBy, TidemarkError } from '../core/errors.ts';
import type { Observe } from '../core/run.ts';
import { seconds } from '../core/time.ts';
import { type Warehouse, withConnectLimit } from '../warehouse/connect.ts';
import { withRetry } from '../warehouse/with-retry.ts';
import { type Job, longestMs, type Queue, type Times, type Trx } from './queue.ts';
import { lineOf, openLog, type RunLog } from './request-log.ts';
import { type Claimed, claim, close, type Ended, linkRuns, reportProgress } from './requests.ts';
import type { Runner } from './run-request.ts';

export interface WorkerDeps {
  readonly warehouse: Warehouse;
  readonly queue: Queue;
  readonly runner: Runner;
  /** The name of this process, for people. */
  readonly name: string;
  readonly times: Times;
  /** Gets errors outside of the runs, e.g. of a log that cannot be written. */
  readonly trouble: (what: string, error: unknown) => void;
  /** What else is written when a run of a request ends, in the transaction that closes it. */
  readonly ended: (claimed: Claimed, ended: Ended, trx: Trx) => Promise<void>;
}

/** A request that runs here. */
interface Running {
  readonly claimed: Claimed;
  readonly stop: AbortController;
  readonly log: RunLog;
  /** The runs it became. */
  readonly runs: string[];
  /** By a clock that only grows, ms. */
  progressAt: number;
}

/**
 * Runs one job from claim to end; `ending` interrupts it with its reason. Throws if the run lost its lease, or its end could not be written: the
 * queue gives it to another worker.
 */
export async function handleJob(deps: WorkerDeps, job: Job, ending: AbortSignal): Promise<void> {
  const { warehouse, queue, name, times, trouble } = deps;
  // Also while the service ends: a warehouse that is away for a moment is waited for, or finished work would count as lost.
  const limits = { totalMs: times.leaseMs, firstMs: 50, longestMs: 1_000 };
  const write = <T>(work: (db: Trx) => Promise<T>): Promise<T> =>
    withRetry(() => work(withConnectLimit(warehouse, times.leaseMs)), limits);
  const claimed = await write((db) => claim(db, job, name));
  if (claimed === undefined) return;
  const { id } = claimed;
  const [stop, over, log] = [new AbortController(), new AbortController(), openLog(warehouse.db, id)];
  const run: Running = { claimed, stop, log, runs: [], progressAt: performance.now() };
  job.signal.onabort = () => stop.abort(new Fenced('another worker has taken the request over'));
  const renew = setTimeout(() => stop.abort(new Interrupted('it goes on as another job')), longestMs).unref();
  log.add('info', `taken by ${name}${job.retryCount > 0 ? ` (attempt ${job.retryCount + 1})` : ''}`);
  const report = async (): Promise<void> => {
    await log.flush();
    const idleMs = performance.now() - run.progressAt;
    if (await reportProgress(warehouse.db, id, name, idleMs, times.stuckMs))
      stop.abort(new Interrupted('a stop was requested'));
  };
  repeat(times.heartbeatMs, over.signal, report, (error) => trouble('reporting progress', error));
  try {
    const ended = await outcome(deps, run, AbortSignal.any([stop.signal, ending]));
    // A reader that sees the end of a request must find its whole log.
    await log.flush().catch(() => undefined);
    await write((db) => close(db, queue, claimed, run.runs, ended, (trx) => deps.ended(claimed, ended, trx)));
  } finally {
    clearTimeout(renew);
    over.abort();
    await log.flush().catch((error: unknown) => trouble(`the log of request ${id} is not complete`, error));
  }
}

async function outcome(
  { runner, warehouse, times }: WorkerDeps,
  run: Running,
  signal: AbortSignal,
): Promise<Ended> {
  const { ask, trigger, done, job } = run.claimed;
  // Scheduled requests that failed of a passing cause are retried (guarantee G14), after the pause or when the source asked.
  const retryMs = (passesMs: number | undefined): number | undefined => {
    const pause = times.againMs[job.data.failures];
    if (trigger !== 'schedule' || passesMs === undefined || pause === undefined) return undefined;
    return Math.max(pause, passesMs);
  };
  try {
    const how = { trigger, signal, observe: observing(warehouse.db, run), done };
    const { status, error = null, passesAfterMs } = await runner.run(ask, how);
    if (status === 'interrupted') throw new Interrupted(error?.message ?? 'it was interrupted');
    if (status === 'lost') throw new Fenced(error?.message ?? 'its run was lost');
    return { status, error, pauseMs: retryMs(passesAfterMs) };
  } catch (thrown) {
    const message = saidBy(thrown);
    const isFenced = thrown instanceof Fenced || signal.reason instanceof Fenced;
    const isHeld = thrown instanceof LockHeld;
    if (isFenced || isHeld || thrown instanceof Interrupted) run.log.add(isFenced ? 'warn' : 'info', message);
    // pg-boss fails the attempt, and the request is marked lost.
    if (isFenced) throw thrown;
    if (isHeld) return { status: 'queued', error: null, pauseMs: times.heldMs };
    if (thrown instanceof Interrupted) return { status: 'interrupted', error: null, pauseMs: 0 };
    const code = thrown instanceof TidemarkError ? thrown.code : 'defect';
    return { status: 'failed', error: { code, message }, pauseMs: retryMs(passesAfter(thrown)) };
  }
}

/** Collects what a run reports: its number, that it makes progress, and lines for the log. */
function observing(db: Trx, run: Running): Observe {
  const received = new Map<string, number>();
  return (event) => {
    // While a run waits for the source's rate limit it reports progress without a new record.
    const isProgress = event.type === 'stream.progress';
    const key = isProgress ? `${event.pipeline} ${event.stream}` : '';
    if (!isProgress || received.get(key) !== event.received) run.progressAt = performance.now();
    if (isProgress) received.set(key, event.received);
    if (event.type === 'run.started') {
      run.runs.push(event.runId);
      // For readers meanwhile; the end of the request writes it again.
      linkRuns(db, run.claimed.id, [event.runId]).catch(() => undefined);
    }
    const line = lineOf(event);
    if (line !== undefined) run.log.add(line.level, line.message);
  };
}

/** Does the work again and again, `ms` after its end, until the signal. After an error the pauses grow to half a minute, at random. */
export async function repeat(
  ms: number,
  signal: AbortSignal,
  work: () => Promise<void>,
  trouble: (error: unknown) => void,
): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    try {
      await work();
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      trouble(error);
    }
    const backOff = Math.min(seconds(0.5) * 2 ** failures, seconds(30)) * (0.5 + Math.random() / 2);
    await sleep(failures === 0 ? ms : backOff, undefined, { signal }).catch(() => undefined);
  }
}
