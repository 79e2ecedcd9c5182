/** Takes requests from the queue and runs them, one for each pipeline at a time. */

import { Fenced, Interrupted, LockHeld, passesAfter, saidBy, TidemarkError } from '../core/errors.ts';
import type { Observe } from '../core/run.ts';
import { type Warehouse, withConnectLimit } from '../warehouse/connect.ts';
import { withRetry } from '../warehouse/with-retry.ts';
import { type Job, longestMs, type Queue, type Times, type Trx } from './queue.ts';
import { lineOf, RunLog } from './request-log.ts';
import { type Claimed, claim, type Ended, linkRuns, reportProgress, settle } from './requests.ts';
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
  /** What else is written when a request ends, in the transaction that closes it. */
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
  isStopped: boolean;
}

export class Worker {
  readonly #deps: WorkerDeps;
  readonly #running = new Set<Running>();
  readonly #handling = new Set<Promise<void>>();
  #ending: Interrupted | undefined;

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
  }

  /** Runs one job from claim to end. Throws if the run lost its lease, or its end could not be written: the queue gives it to another worker. */
  handle(job: Job): Promise<void> {
    const done = this.#handle(job).finally(() => this.#handling.delete(done));
    this.#handling.add(done);
    return done;
  }

  /** Notes the progress of all requests that run here, and stops those that are to be stopped or were taken by another worker. */
  async report(): Promise<void> {
    const all = [...this.#running];
    if (all.length === 0) return;
    await Promise.allSettled(all.map(({ log }) => log.flush()));
    const now = performance.now();
    const progress = all.map(({ claimed, progressAt }) => ({ ...claimed, idleMs: now - progressAt }));
    const { warehouse, times } = this.#deps;
    const mine = await reportProgress(warehouse.db, progress, times.stuckMs);
    for (const run of all) {
      const row = mine.find(({ id, claim: number }) => id === run.claimed.id && number === run.claimed.claim);
      if (row === undefined) run.stop.abort(new Fenced('another worker has taken the request over'));
      else if (row.stop) {
        run.isStopped = true;
        run.stop.abort(new Interrupted('a stop was requested'));
      }
    }
  }

  /** Interrupts what runs here and waits until it is put back. Call it again for what was taken meanwhile. */
  async end(reason: Interrupted): Promise<void> {
    this.#ending = reason;
    for (const { stop } of this.#running) stop.abort(reason);
    while (this.#handling.size > 0) await Promise.allSettled(this.#handling);
  }

  async #handle(job: Job): Promise<void> {
    const { warehouse, queue, name, trouble } = this.#deps;
    const claimed = await claim(warehouse.db, job, name);
    if (claimed === undefined) return queue.complete(warehouse.db, job);
    const [stop, log] = [new AbortController(), new RunLog(warehouse.db, claimed.id)];
    const run: Running = { claimed, stop, log, runs: [], progressAt: performance.now(), isStopped: false };
    this.#running.add(run);
    if (this.#ending !== undefined) stop.abort(this.#ending);
    const renew = setTimeout(
      () => stop.abort(new Interrupted('it goes on as another job')),
      longestMs,
    ).unref();
    log.add('info', `taken by ${name}${claimed.claim > 1 ? ` (attempt ${claimed.claim})` : ''}`);
    try {
      await this.#settle(run, await this.#outcome(run));
    } finally {
      clearTimeout(renew);
      this.#running.delete(run);
      await log
        .flush()
        .catch((error: unknown) => trouble(`the log of request ${claimed.id} is not complete`, error));
    }
  }

  async #outcome(run: Running): Promise<Ended> {
    const { runner, warehouse, times } = this.#deps;
    const { ask, trigger, done, job } = run.claimed;
    // Scheduled requests that failed of a passing cause are retried (guarantee G14), after the pause or when the source asked.
    const retryMs = (passesMs: number | undefined): number | undefined => {
      const pause = times.againMs[job.failures ?? 0];
      if (trigger !== 'schedule' || passesMs === undefined || pause === undefined) return undefined;
      return Math.max(pause, passesMs);
    };
    try {
      const how = { trigger, signal: run.stop.signal, observe: observing(warehouse.db, run), done };
      const { status, error = null, passesAfterMs } = await runner.run(ask, how);
      if (status === 'interrupted') throw new Interrupted(error?.message ?? 'it was interrupted');
      if (status === 'lost') throw new Fenced(error?.message ?? 'its run was lost');
      return { status, error, pauseMs: retryMs(passesAfterMs) };
    } catch (thrown) {
      const code = thrown instanceof TidemarkError ? thrown.code : 'defect';
      const error = { code, message: saidBy(thrown) };
      if (thrown instanceof Fenced || run.stop.signal.reason instanceof Fenced)
        return { status: 'lost', error };
      if (thrown instanceof LockHeld) return { status: 'queued', error, pauseMs: times.heldMs };
      if (!(thrown instanceof Interrupted))
        return { status: 'failed', error, pauseMs: retryMs(passesAfter(thrown)) };
      return run.isStopped
        ? { status: 'stopped', error: null }
        : { status: 'interrupted', error, pauseMs: 0 };
    }
  }

  async #settle({ claimed, runs, log }: Running, outcome: Ended): Promise<void> {
    const { warehouse, queue, times, ended } = this.#deps;
    const { status, error } = outcome;
    const waits = status === 'queued' || status === 'interrupted';
    if (error !== null && (waits || status === 'lost')) log.add('warn', error.message);
    // The queue finds the job failed, and the request is marked lost.
    if (status === 'lost') throw new Fenced(error?.message ?? status);
    // A reader that sees the end of a request must find its whole log.
    await log.flush().catch(() => undefined);
    // Also while the service ends: a warehouse that is away for a moment is waited for, or finished work would count as lost.
    const retries = { totalMs: times.leaseMs, firstMs: 50, longestMs: 1_000 };
    const also = (trx: Trx): Promise<void> => (waits ? Promise.resolve() : ended(claimed, outcome, trx));
    await withRetry(
      () => settle(withConnectLimit(warehouse, times.leaseMs), queue, claimed, runs, outcome, also),
      retries,
    );
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
