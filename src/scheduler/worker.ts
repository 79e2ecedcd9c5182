/** Takes requests from the queue and runs them, one for each pipeline at a time. */

import { Fenced, Interrupted, LockHeld, passesAfter, saidBy, TidemarkError } from '../core/errors.ts';
import type { Observe } from '../core/run.ts';
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

export class Worker {
  readonly #deps: WorkerDeps;
  readonly #ending: AbortSignal;
  readonly #running = new Set<Running>();

  /** `ending` interrupts what runs here, with its reason. */
  constructor(deps: WorkerDeps, ending: AbortSignal) {
    this.#deps = deps;
    this.#ending = ending;
  }

  /** Runs one job from claim to end. Throws if the run lost its lease, or its end could not be written: the queue gives it to another worker. */
  async handle(job: Job): Promise<void> {
    const { warehouse, name, trouble } = this.#deps;
    const claimed = await this.#whileAway((db) => claim(db, job, name));
    if (claimed === undefined) return;
    const [stop, log] = [new AbortController(), openLog(warehouse.db, claimed.id)];
    const run: Running = { claimed, stop, log, runs: [], progressAt: performance.now() };
    this.#running.add(run);
    const isTaken = () => stop.abort(new Fenced('another worker has taken the request over'));
    job.signal.addEventListener('abort', isTaken);
    const isLong = () => stop.abort(new Interrupted('it goes on as another job'));
    const renew = setTimeout(isLong, longestMs).unref();
    log.add('info', `taken by ${name}${job.retryCount > 0 ? ` (attempt ${job.retryCount + 1})` : ''}`);
    try {
      const ended = await this.#outcome(run);
      // A reader that sees the end of a request must find its whole log.
      await log.flush().catch(() => undefined);
      const also = (trx: Trx) => this.#deps.ended(claimed, ended, trx);
      await this.#whileAway((db) => close(db, this.#deps.queue, claimed, run.runs, ended, also));
    } finally {
      clearTimeout(renew);
      this.#running.delete(run);
      await log
        .flush()
        .catch((error: unknown) => trouble(`the log of request ${claimed.id} is not complete`, error));
    }
  }

  /** Notes the progress of all requests that run here, and stops those that are to be stopped. */
  async report(): Promise<void> {
    const all = [...this.#running];
    if (all.length === 0) return;
    await Promise.allSettled(all.map(({ log }) => log.flush()));
    const { warehouse, name, times } = this.#deps;
    const progress = all.map((run) => ({ id: run.claimed.id, idleMs: performance.now() - run.progressAt }));
    const stopping = await reportProgress(warehouse.db, name, progress, times.stuckMs);
    for (const { claimed, stop } of all)
      if (stopping.includes(claimed.id)) stop.abort(new Interrupted('a stop was requested'));
  }

  /** Also while the service ends: a warehouse that is away for a moment is waited for, or finished work would count as lost. */
  #whileAway<T>(work: (db: Trx) => Promise<T>): Promise<T> {
    const { warehouse, times } = this.#deps;
    const limits = { totalMs: times.leaseMs, firstMs: 50, longestMs: 1_000 };
    return withRetry(() => work(withConnectLimit(warehouse, times.leaseMs)), limits);
  }

  async #outcome(run: Running): Promise<Ended> {
    const { runner, warehouse, times } = this.#deps;
    const { ask, trigger, done, job } = run.claimed;
    const signal = AbortSignal.any([run.stop.signal, this.#ending]);
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
      const isHeld = thrown instanceof LockHeld;
      // pg-boss fails the attempt, and the request is marked lost.
      if (thrown instanceof Fenced || signal.reason instanceof Fenced) {
        run.log.add('warn', message);
        throw thrown;
      }
      if (!isHeld && !(thrown instanceof Interrupted)) {
        const code = thrown instanceof TidemarkError ? thrown.code : 'defect';
        return { status: 'failed', error: { code, message }, pauseMs: retryMs(passesAfter(thrown)) };
      }
      run.log.add('info', message);
      return { status: isHeld ? 'queued' : 'interrupted', error: null, pauseMs: isHeld ? times.heldMs : 0 };
    }
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
