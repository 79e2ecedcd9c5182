/** Takes requests from the queue and runs them, one for each pipeline at once, until told to end. */

import { type Kysely, sql } from 'kysely';
import { orStopped } from '../core/abort.ts';
import { Fenced, Interrupted, LockHeld, passesAfter, saidBy, TidemarkError } from '../core/errors.ts';
import { silence } from '../core/idle-timer.ts';
import type { Observe, RunReport } from '../core/run.ts';
import { type AnyDatabase, hurried, type Warehouse } from '../warehouse/connect.ts';
import { patiently } from '../warehouse/with-retry.ts';
import type { Runner } from './control.ts';
import { type Job, longestMs, type Queue } from './queue.ts';
import { lineOf, openLog, type RunLog } from './request-log.ts';
import {
  type Claimed,
  claim,
  type Ended,
  finish,
  giveUp,
  type Lost,
  linkRuns,
  putBack,
  report,
} from './requests.ts';
import { askAgain, doneBefore } from './retry.ts';
import { askOf } from './run-request.ts';
import type { Times } from './schedule-times.ts';

/** What a worker is made of. */
export interface WorkerDeps {
  readonly warehouse: Warehouse;
  readonly queue: Queue;
  readonly runner: Runner;
  /** The name of this process, for people. */
  readonly name: string;
  readonly times: Times;
  /** Hears of what goes wrong beside the runs, e.g. a warehouse that does not answer. */
  readonly trouble: (what: string, error: unknown) => void;
  /** What else is written when a request is over, in the transaction that closes it. */
  readonly ended: (claimed: Claimed, ended: Ended, trx: Kysely<AnyDatabase>) => Promise<void>;
  /** Hears what became of a request whose run lost its lease here. */
  readonly lost: (lost: Lost) => Promise<void>;
}

/** A request that runs here. */
interface InHand {
  readonly claimed: Claimed;
  readonly stop: AbortController;
  /** By a clock that only grows. */
  progressAt: number;
  /** A person asked to stop it. */
  stopped: boolean;
}

/** The requests that run in this process. */
export class Worker {
  readonly #deps: WorkerDeps;
  readonly #hands = new Set<InHand>();
  readonly #running = new Set<Promise<void>>();
  readonly #unanswered;
  readonly #watch;
  #ending: Interrupted | undefined;

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    const { heartbeatMs, leaseMs } = deps.times;
    this.#unanswered = silence(3 * heartbeatMs);
    // A timer of its own: a warehouse that hangs also holds up the reports.
    this.#watch = setInterval(() => {
      if (this.#unanswered.look() < leaseMs) return;
      for (const hand of this.#hands) lose(hand, 'the warehouse did not answer for a whole lease time');
    }, heartbeatMs).unref();
  }

  /** Number of requests that run here. */
  get busy(): number {
    return this.#hands.size;
  }

  /** Runs one job from claim to end. Throws only if its end could not be written: then the queue gives it to another worker. */
  handle(job: Job): Promise<void> {
    const done = this.#handle(job).finally(() => this.#running.delete(done));
    this.#running.add(done);
    return done;
  }

  /** Notes the progress of all requests in hand, and stops those that a person asked to stop or another worker has taken. */
  async report(): Promise<void> {
    const hands = [...this.#hands];
    if (hands.length === 0) return;
    const now = performance.now();
    const all = hands.map(({ claimed, progressAt }) => ({ ...claimed, idleMs: now - progressAt }));
    const heard = await report(this.#deps.warehouse.db, all, this.#deps.times.stuckMs);
    this.#unanswered.heard();
    for (const hand of hands.filter((each) => this.#hands.has(each))) {
      const { id, claim: number } = hand.claimed;
      const still = heard.find((each) => each.id === id && each.claim === number);
      if (still === undefined) lose(hand, 'another worker has taken the request over');
      else if (still.stop) {
        hand.stopped = true;
        hand.stop.abort(new Interrupted('a person asked to stop it'));
      }
    }
  }

  /** Interrupts what runs here and waits until it is put back. Call it again for what came in between. */
  async end(reason: Interrupted): Promise<void> {
    this.#ending = reason;
    for (const { stop } of this.#hands) stop.abort(reason);
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    clearInterval(this.#watch);
  }

  async #handle(job: Job): Promise<void> {
    const { warehouse, queue, name } = this.#deps;
    const claimed = await patiently(() => claim(warehouse.db, job, name), brief);
    if (claimed === undefined) return queue.complete(warehouse.db, job);
    const hand: InHand = {
      claimed,
      stop: new AbortController(),
      progressAt: performance.now(),
      stopped: false,
    };
    if (this.#hands.size === 0) this.#unanswered.heard();
    this.#hands.add(hand);
    if (this.#ending !== undefined) hand.stop.abort(this.#ending);
    const renew = setTimeout(
      () => hand.stop.abort(new Interrupted('it goes on as another job')),
      longestMs,
    ).unref();
    try {
      await this.#run(hand);
    } finally {
      clearTimeout(renew);
      this.#hands.delete(hand);
    }
  }

  async #run(hand: InHand): Promise<void> {
    const { runner, times, warehouse, name, trouble } = this.#deps;
    const { db } = warehouse;
    const { claimed } = hand;
    const log = openLog(db, claimed.id, times.logMs);
    const runs: string[] = [];
    log.add('info', `taken by ${name}${claimed.claim > 1 ? ` (attempt ${claimed.claim})` : ''}`);
    try {
      const { signal } = hand.stop;
      const work = async (): Promise<RunReport> =>
        runner.run(askOf(claimed.ask), {
          trigger: claimed.trigger,
          signal,
          observe: observing(db, hand, log, runs),
          done: await orStopped(
            patiently(() => doneBefore(db, claimed.id)),
            signal,
          ),
        });
      const outcome = await work().then(
        (done) => outcomeOf(done, hand),
        (error: unknown) => outcomeOfError(error, hand),
      );
      // A reader who follows the log takes what is there when the request is over for all of it.
      await log.flush().catch(() => undefined);
      await this.#settle(hand, runs, outcome, log);
    } finally {
      await log
        .close()
        .catch((error: unknown) => trouble(`the log of request ${claimed.id} is not complete`, error));
    }
  }

  async #settle({ claimed }: InHand, runs: readonly string[], outcome: Outcome, log: RunLog): Promise<void> {
    const { warehouse, queue, times, ended, lost } = this.#deps;
    // Also while ending: a warehouse that is away for a moment is waited for, or finished work would count as lost.
    const db = hurried(warehouse, times.leaseMs);
    const written = <T>(work: () => Promise<T>): Promise<T> =>
      patiently(work, { ...brief, totalMs: times.leaseMs });
    if (outcome.do === 'finish') {
      let tries = 0;
      const isMine = await written(() => {
        tries += 1;
        return finish(db, queue, claimed, runs, outcome.ended, async (trx) => {
          await ended(claimed, outcome.ended, trx);
          if (outcome.passesAfterMs !== undefined)
            await askAgain(trx, queue, claimed, outcome.passesAfterMs, times.againMs);
        });
      });
      // After a second try it may be closed by the first, whose answer was lost.
      if (!isMine && tries === 1)
        log.add('warn', 'another worker had taken it over: this end is not recorded');
      return;
    }
    log.add('warn', outcome.why);
    if (outcome.do === 'put back') {
      const pauseMs = outcome.as === 'queued' ? times.heldMs : 0;
      await written(() => putBack(db, queue, claimed, runs, { as: outcome.as, pauseMs }));
    } else for (const gone of await written(() => giveUp(db, queue, claimed))) await lost(gone);
  }
}

/** How long a statement about a request is tried again while the warehouse is away. */
const brief = { totalMs: 5_000, firstMs: 50, longestMs: 1_000 };

function lose({ claimed, stop }: InHand, why: string): void {
  stop.abort(new Fenced(`${claimed.ask.pipeline}: ${why}`));
}

/** Collects what a run reports: which runs it became, that it makes progress, and what is worth a line. */
function observing(db: Kysely<AnyDatabase>, hand: InHand, log: RunLog, runs: string[]): Observe {
  const received = new Map<string, number>();
  return (event) => {
    const key = `${event.pipeline} ${'stream' in event ? event.stream : ''}`;
    // While a run waits for the source's rate limit it reports progress without a new record.
    if (event.type !== 'stream.progress' || received.get(key) !== event.received)
      hand.progressAt = performance.now();
    if (event.type === 'stream.progress') received.set(key, event.received);
    if (event.type === 'run.started') {
      runs.push(event.runId);
      // For readers meanwhile; the end of the request writes it again.
      linkRuns(db, hand.claimed.id, [event.runId]).catch(() => undefined);
    }
    const line = lineOf(event);
    if (line !== undefined) log.add(line.level, line.message);
  };
}

/** What is done with a request whose run is over. */
type Outcome =
  | { readonly do: 'finish'; readonly ended: Ended; readonly passesAfterMs?: number | undefined }
  | { readonly do: 'put back'; readonly as: 'queued' | 'interrupted'; readonly why: string }
  | { readonly do: 'give up'; readonly why: string };

function outcomeOf({ status, error, passesAfterMs }: RunReport, hand: InHand): Outcome {
  if (status === 'running' || status === 'lost')
    return { do: 'give up', why: error?.message ?? 'the run was lost' };
  if (status === 'interrupted')
    return outcomeOfError(new Interrupted(error?.message ?? 'it was interrupted'), hand);
  return { do: 'finish', ended: { status, error: error ?? null }, passesAfterMs };
}

function outcomeOfError(error: unknown, { stopped, stop }: InHand): Outcome {
  const message = saidBy(error);
  if (error instanceof Fenced || stop.signal.reason instanceof Fenced) return { do: 'give up', why: message };
  if (error instanceof Interrupted)
    return stopped
      ? { do: 'finish', ended: { status: 'stopped', error: null } }
      : { do: 'put back', as: 'interrupted', why: message };
  if (error instanceof LockHeld) return { do: 'put back', as: 'queued', why: message };
  const code = error instanceof TidemarkError ? error.code : 'defect';
  return {
    do: 'finish',
    ended: { status: 'failed', error: { code, message } },
    passesAfterMs: passesAfter(error),
  };
}

/** The database clock, in milliseconds since 1970. */
export async function databaseNow(db: Kysely<AnyDatabase>): Promise<number> {
  const { rows } = await sql<{
    ms: number;
  }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(db);
  const ms = rows[0]?.ms;
  if (ms === undefined) throw new Error('the warehouse gives no time');
  return ms;
}
