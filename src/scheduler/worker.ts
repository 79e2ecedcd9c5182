/** Takes requests from the queue and runs them, several pipelines at once, until told to end. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import type pg from 'pg';
import { orStopped } from '../core/abort.ts';
import { Fenced, Interrupted, LockHeld, passesAfter, saidBy, TidemarkError } from '../core/errors.ts';
import { silence } from '../core/idle-timer.ts';
import type { Observe, RunReport } from '../core/run.ts';
import { type AnyDatabase, hurried, type Warehouse } from '../warehouse/connect.ts';
import { patiently } from '../warehouse/with-retry.ts';
import type { Runner } from './control.ts';
import {
  type Beat,
  type Beaten,
  beat,
  type Claimed,
  claim,
  close,
  type Ended,
  join,
  type Lost,
  putBack,
  reap,
} from './queue.ts';
import { lineOf, openLog, type RunLog } from './request-log.ts';
import { askAgain, doneBefore } from './retry.ts';
import { askOf } from './run-request.ts';
import type { Times } from './schedule-times.ts';

/** What a worker is made of. */
export interface WorkerDeps {
  readonly warehouse: Warehouse;
  readonly runner: Runner;
  /** The name by which people find the process. */
  readonly name: string;
  readonly times: Times;
  /** Told of what went wrong beside the runs: a warehouse that does not answer. */
  readonly trouble: (what: string, error: unknown) => void;
  /** What else is written when a request is over, in the transaction that says so. */
  readonly ended: (claimed: Claimed, ended: Ended, trx: Kysely<AnyDatabase>) => Promise<void>;
  /** Told what became of a request whose run lost its lease here. */
  readonly lost: (lost: Lost) => Promise<void>;
}

export interface Worker {
  /** Looks for a request, takes it up if there is one, and gives whether there was. */
  take(): Promise<boolean>;
  /** One sign of life for all requests in hand. */
  beat(): Promise<void>;
  /** Requests in hand. */
  readonly busy: number;
  /** Aborts what is in hand in good order; it is taken up by somebody else at once. Calling it again waits for what came in between. */
  end(reason: Interrupted): Promise<void>;
}

/** A request that runs here. */
interface InHand {
  readonly claimed: Claimed;
  readonly stop: AbortController;
  /** By a clock that only grows. */
  gotAheadAt: number;
  /** Somebody asked to stop this one. */
  stopped: boolean;
  /** It is no longer ours. */
  lost: boolean;
}

/** So long an end waits for the last look into the queue: a warehouse that says nothing must not hold it up. */
const longestLookMs = 1_000;

export function openWorker(deps: WorkerDeps): Worker {
  const { warehouse, runner, times, name } = deps;
  const { db } = warehouse;
  // One request may be here twice: lost and taken up again while its first try is still ending.
  const hands = new Set<InHand>();
  const going = new Set<Promise<void>>();
  const session = heartbeatSession(warehouse.pool, times.leaseMs / 3);
  // `nightly` beside each pipeline by itself.
  const places = runner.configured.length + 1;
  const pipelines = [...runner.configured, 'nightly'];
  let ending: Interrupted | undefined;
  let looking: Promise<unknown> = Promise.resolve();
  const unanswered = silence(3 * times.heartbeatMs);
  // By a timer of its own: a warehouse that says nothing at all keeps the beats themselves waiting.
  const watch = setInterval(() => {
    if (unanswered.look() < times.leaseMs) return;
    for (const hand of hands) lose(hand, 'the warehouse did not answer for a whole lease time');
  }, times.heartbeatMs).unref();

  const giveSign = async (): Promise<void> => {
    if (hands.size === 0) return;
    const asked = [...hands];
    const beats = asked.map(
      ({ claimed: { id, claim: number }, gotAheadAt }): Beat => ({
        id,
        claim: number,
        idleMs: performance.now() - gotAheadAt,
      }),
    );
    const ours = await beat(session.query, beats, times);
    unanswered.heard();
    for (const hand of asked) {
      const { id, claim: number } = hand.claimed;
      if (!hands.has(hand)) continue;
      const still = ours.find((each) => each.id === id && each.claim === number);
      if (still === undefined) lose(hand, 'another worker has taken the request over');
      else if (still.stop && !hand.stopped) {
        hand.stopped = true;
        hand.stop.abort(new Interrupted('somebody asked to stop it'));
      }
    }
  };

  const take = async (): Promise<boolean> => {
    if (ending !== undefined || hands.size >= places) return false;
    const claimed = await claim(db, pipelines, { worker: name, leaseMs: times.leaseMs });
    if (claimed === undefined) return false;
    const hand: InHand = {
      claimed,
      stop: new AbortController(),
      gotAheadAt: performance.now(),
      stopped: false,
      lost: false,
    };
    if (hands.size === 0) unanswered.heard();
    hands.add(hand);
    // Before anything is done: from now on others can see when this process is gone.
    await giveSign().catch((error: unknown) => deps.trouble('giving signs of life', error));
    if (ending !== undefined) hand.stop.abort(ending);
    const work = runOne(deps, hand)
      .catch((error: unknown) =>
        deps.trouble(
          `${claimed.ask.pipeline}: what became of request ${claimed.id} could not be written`,
          error,
        ),
      )
      .finally(() => {
        hands.delete(hand);
        going.delete(work);
      });
    going.add(work);
    return true;
  };

  return {
    take() {
      const taken = take();
      looking = taken.catch(() => undefined);
      return taken;
    },
    get busy() {
      return hands.size;
    },
    beat: giveSign,
    async end(reason) {
      ending = reason;
      // What is put back now must not be the answer to a question of our own that is still under way.
      await Promise.race([looking, sleep(longestLookMs, undefined, { ref: false })]);
      for (const { stop } of hands) stop.abort(reason);
      while (going.size > 0) {
        await Promise.all(going);
      }
      clearInterval(watch);
      session.close();
    },
  };
}

function lose(hand: InHand, why: string): void {
  if (hand.lost) return;
  hand.lost = true;
  hand.stop.abort(new Fenced(`${hand.claimed.ask.pipeline}: ${why}`));
}

/** One request from claim to goodbye. Throws only if its end could not be written. */
async function runOne(deps: WorkerDeps, hand: InHand): Promise<void> {
  const { runner, times, warehouse, name } = deps;
  const { db } = warehouse;
  const { claimed } = hand;
  const log = openLog(db, claimed.id, times.logMs);
  const runs: string[] = [];
  const again = claimed.claim > 1 ? `, for the ${ordinal(claimed.claim)} time` : '';
  log.add('info', `taken up by ${name}${again}`);
  try {
    const work = async (): Promise<RunReport> =>
      runner.run(askOf(claimed.ask), {
        trigger: claimed.trigger,
        signal: hand.stop.signal,
        observe: observing(db, hand, log, runs),
        done: await orStopped(
          patiently(() => doneBefore(db, claimed.id)),
          hand.stop.signal,
        ),
      });
    const outcome = await work().then(
      (report) => outcomeOf(report, hand),
      (error: unknown) => outcomeOfError(error, hand),
    );
    // Whoever follows the log takes what is there when the request is over for all of it.
    await log.flush().catch(() => undefined);
    await settle(deps, hand, runs, outcome, log);
  } finally {
    await log
      .close()
      .catch((error: unknown) => deps.trouble(`the log of request ${claimed.id} is not complete`, error));
  }
}

/** Notes what a run tells: which run it is, that it gets ahead, and what is worth a line. */
function observing(db: Kysely<AnyDatabase>, hand: InHand, log: RunLog, runs: string[]): Observe {
  const received = new Map<string, number>();
  return (event) => {
    const key = `${event.pipeline} ${'stream' in event ? event.stream : ''}`;
    // Waiting for the source's rate limit is told as progress without a new record.
    if (event.type !== 'stream.progress' || received.get(key) !== event.received)
      hand.gotAheadAt = performance.now();
    if (event.type === 'stream.progress') received.set(key, event.received);
    if (event.type === 'run.started') {
      runs.push(event.runId);
      // For those who look meanwhile; the end of the request writes it again.
      join(db, hand.claimed.id, [event.runId]).catch(() => undefined);
    }
    const line = lineOf(event);
    if (line !== undefined) log.add(line.level, line.message);
  };
}

/** What is to be done with a request whose run is over. */
type Outcome =
  | { readonly do: 'close'; readonly ended: Ended; readonly passesAfterMs?: number | undefined }
  | { readonly do: 'put back'; readonly as: 'queued' | 'interrupted'; readonly why: string }
  | { readonly do: 'give up'; readonly why: string };

function outcomeOf({ status, error, passesAfterMs }: RunReport, hand: InHand): Outcome {
  if (status === 'running' || status === 'lost')
    return { do: 'give up', why: error?.message ?? 'the run was lost' };
  if (status === 'interrupted')
    return outcomeOfError(new Interrupted(error?.message ?? 'it was interrupted'), hand);
  return { do: 'close', ended: { status, error: error ?? null }, passesAfterMs };
}

function outcomeOfError(error: unknown, { stopped, lost }: InHand): Outcome {
  const message = saidBy(error);
  if (lost || error instanceof Fenced) return { do: 'give up', why: message };
  if (error instanceof Interrupted)
    return stopped
      ? { do: 'close', ended: { status: 'stopped', error: null } }
      : { do: 'put back', as: 'interrupted', why: message };
  if (error instanceof LockHeld) return { do: 'put back', as: 'queued', why: message };
  const code = error instanceof TidemarkError ? error.code : 'defect';
  return {
    do: 'close',
    ended: { status: 'failed', error: { code, message } },
    passesAfterMs: passesAfter(error),
  };
}

async function settle(
  deps: WorkerDeps,
  hand: InHand,
  runs: readonly string[],
  outcome: Outcome,
  log: RunLog,
): Promise<void> {
  const { warehouse, times, ended, lost } = deps;
  // Also by who is told to end: a warehouse that is away for a moment is waited for, or what is done would pass for lost.
  const db = hurried(warehouse, times.leaseMs);
  const { claimed } = hand;
  const noted = <T>(work: () => Promise<T>): Promise<T> =>
    patiently(work, { totalMs: times.leaseMs, firstMs: 50, longestMs: 1_000 });
  if (outcome.do === 'close') {
    let tries = 0;
    const ours = await noted(() => {
      tries += 1;
      return close(db, claimed, runs, outcome.ended, async (trx) => {
        await ended(claimed, outcome.ended, trx);
        if (outcome.passesAfterMs !== undefined)
          await askAgain(trx, claimed, outcome.passesAfterMs, times.againMs);
      });
    });
    // Tried again it may be closed by us: the answer was lost then.
    if (!ours && tries === 1)
      log.add('warn', 'it had been taken over by another worker: what this one did of it is not its end');
    return;
  }
  log.add('warn', outcome.why);
  if (outcome.do === 'put back')
    await noted(() =>
      putBack(db, claimed, runs, { as: outcome.as, pauseMs: outcome.as === 'queued' ? times.heldMs : 0 }),
    );
  // If it was taken over already, this finds nothing.
  else for (const gone of await noted(() => reap(db, times, { only: claimed }))) await lost(gone);
}

const ordinal = (n: number): string => (n === 2 ? 'second' : n === 3 ? 'third' : `${n}th`);

/** A database session of its own for signs of life: that it is gone tells others that the worker is. */
function heartbeatSession(pool: pg.Pool, patienceMs: number) {
  let client: pg.PoolClient | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const drop = (): void => {
    client?.release(true);
    client = undefined;
  };
  const ask = async (text: string, values: readonly unknown[]): Promise<{ rows: Beaten[] }> => {
    try {
      client ??= await pool.connect();
      // The next beat finds another session where this one says nothing.
      const asked: pg.QueryConfig & { readonly query_timeout: number } = {
        text,
        values: [...values],
        query_timeout: patienceMs,
      };
      return await client.query<Beaten>(asked);
    } catch (error) {
      drop();
      throw error;
    }
  };
  return {
    /** One after the other: two at once would open two sessions. */
    query(text: string, values: readonly unknown[]): Promise<{ rows: Beaten[] }> {
      const answer = last.then(() => ask(text, values));
      last = answer.catch(() => undefined);
      return answer;
    },
    close: drop,
  };
}

/** The database clock, as a count of milliseconds. */
export async function databaseNow(db: Kysely<AnyDatabase>): Promise<number> {
  const { rows } = await sql<{
    ms: number;
  }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(db);
  const ms = rows[0]?.ms;
  if (ms === undefined) throw new Error('the warehouse does not know the time');
  return ms;
}
