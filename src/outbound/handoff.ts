/**
 * Hands over what was intended (intent.ts) to the workflow engine. A crash between asking and hearing is taken up by asking what is there. What
 * cannot be known is told, never guessed: no second start is blind.
 */

import { type Kysely, sql } from 'kysely';
import type { Engine, EngineRun } from '../core/dag-engine.ts';
import {
  AuthFailed,
  Forbidden,
  Missing,
  RateLimited,
  Refused,
  TidemarkError,
  Transient,
  Unreachable,
} from '../core/errors.ts';
import { days, hours, minutes, seconds } from '../core/time.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';

export interface Handoff {
  readonly handoffId: string;
  readonly pipeline: string;
  readonly runKey: string;
  readonly dag: string;
  readonly params: string;
  readonly remoteRunId: string;
  /** What the engine called the run when it was started, where it takes no ids and told one. */
  readonly engineRunId: string | null;
  readonly wait: boolean;
  readonly status: 'pending' | 'starting' | 'started' | 'succeeded' | 'failed' | 'unknown';
  readonly attempts: number;
  readonly startingAt: Date | null;
  /** When it was last told how it stands, by the warehouse's clock as everything here. */
  readonly changedAt: Date;
  /** What was wrong when it was last asked; null: nothing. */
  readonly error: string | null;
  readonly now: Date;
}

/** Whether a hand-off waits for its next step. */
export async function isAnyDue(db: Kysely<AnyDatabase>): Promise<boolean> {
  const { rows } = await sql<{ due: boolean }>`select exists (select from ops.handoffs
    where status in ('pending', 'starting', 'started') and next_at <= clock_timestamp()) as due`.execute(db);
  return rows[0]?.due === true;
}

/**
 * Brings every hand-off that is due now one step further: what becomes due meanwhile comes the next time, or an engine that is slow would never be
 * left alone; of one that cannot be reached nothing more is asked. Several processes may do it at once: each one is held by one.
 */
export async function drive(db: Kysely<AnyDatabase>, engine: Engine, signal: AbortSignal): Promise<number> {
  const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(db);
  const until = rows[0]?.now ?? '-infinity';
  let steps = 0;
  while (!signal.aborted && (await driveOne(db, engine, signal, until))) steps += 1;
  return steps;
}

/** How long one process holds a hand-off: longer than its requests may take. */
const hold = minutes(5);
const pollEvery = seconds(10);
const tryAgain = seconds(30);
const mostTries = 10;
/** A start that was cut off is looked for so long before it is repeated, where repeating it may start the DAG twice. */
const mayShow = minutes(5);
/** An engine that is being started knows nothing for a while. */
const mayBeUnknown = minutes(10);
/** A run that was accepted may wait so long for its turn. */
const mayWait = hours(24);
/** So long behind a start an engine that answers with an error is asked again what became of it: one that is no more would be asked for ever. */
const mayErr = days(7);
/** Who has not asked for so long himself asks once more then: all that was off begins at once, and the engine may be the last to be up. */
const mayRest = days(2);
/** Who is refused asks as rarely: somebody must change it. So does who asks once more. */
const refusedAgain = minutes(10);
/** The engine's clock may be so far behind the database's where it does not tell it; many engines tell whole seconds alone. */
const skew = minutes(2);

/** Whether there was one, and the engine is there for another. */
async function driveOne(
  db: Kysely<AnyDatabase>,
  engine: Engine,
  signal: AbortSignal,
  until: string,
): Promise<boolean> {
  const handoff = await claim(db, until);
  if (handoff === undefined) return false;
  try {
    await settle(db, handoff, await step(db, handoff, engine, signal));
  } catch (error) {
    if (signal.aborted) throw error;
    if (!(error instanceof TidemarkError)) throw error;
    // The engine said no for good, or it may say yes later; whether a start arrived is asked the next time.
    const final =
      error instanceof AuthFailed ||
      error instanceof Forbidden ||
      error instanceof Missing ||
      error instanceof Refused;
    // An engine that said that it is busy has started nothing; of any other start it is not known.
    const busy = error instanceof Transient && error.cause instanceof Refused;
    const isStarted = handoff.status === 'started';
    const isLate = handoff.status !== 'pending' && since(handoff, handoff.startingAt) >= mayErr;
    const isSpent = isLate && handoff.error !== null && since(handoff, handoff.changedAt) < mayRest;
    const over = !isStarted && (final || (!busy && handoff.attempts >= mostTries));
    const arrived = !(busy || isTurnedAway(error) || error instanceof Unreachable);
    // What was not asked yet stays as it was: `step` itself notes that it asks.
    const status = over ? 'failed' : isSpent ? 'unknown' : arrived ? null : handoff.status;
    await sql`update ops.handoffs set status = coalesce(${status}, status), attempts = coalesce(${busy ? handoff.attempts : null}, attempts),
        error = ${error.message}, changed_at = clock_timestamp(),
        next_at = clock_timestamp() + ${final || isLate ? refusedAgain : tryAgain} * interval '1 millisecond'
      where handoff_id = ${handoff.handoffId}::bigint`.execute(db);
    return !(error instanceof Unreachable);
  }
  return true;
}

/** Whether it was told to come later (429), by `RateLimited` itself: any error that asks for too much patience becomes one, a gateway's among them. */
const isTurnedAway = (error: unknown): boolean =>
  error instanceof RateLimited && (!(error.cause instanceof Transient) || isTurnedAway(error.cause));

interface Settled {
  readonly status: Handoff['status'];
  readonly engineStatus?: string;
  readonly engineRunId?: string;
  readonly error?: string;
  /** The engine says that it is under way. */
  readonly isGoing?: boolean;
  /** The engine said nothing of it. */
  readonly isSilent?: boolean;
}

/** One step: start, find out about a start that was cut off, or look how the run is going. */
async function step(
  db: Kysely<AnyDatabase>,
  handoff: Handoff,
  engine: Engine,
  signal: AbortSignal,
): Promise<Settled> {
  const sure = await engine.takesRunId(signal);
  if (handoff.status === 'started') {
    const there = await byOurClock(db, await known(engine.status(handoff.dag, handoff.remoteRunId, signal)));
    if (there === undefined) return outcomeOfLost(handoff);
    return bounded(handoff, sure ? outcome(handoff, there) : outcomeOfNewest(handoff, there));
  }
  if (handoff.status === 'starting' && !sure) {
    const there = await byOurClock(db, await known(engine.status(handoff.dag, handoff.remoteRunId, signal)));
    const verdict = whose(handoff, there);
    if (there !== undefined && verdict === 'ours') return outcome(handoff, there);
    if (verdict === 'nobody knows')
      return {
        status: 'unknown',
        error: `the start was cut off, and ${handoff.dag} has run since: it cannot be told whether that was this run`,
      };
    if (since(handoff, handoff.startingAt) < mayShow) return { status: 'starting', isSilent: true };
  }
  await sql`update ops.handoffs set status = 'starting', attempts = attempts + 1, starting_at = clock_timestamp(),
      changed_at = clock_timestamp() where handoff_id = ${handoff.handoffId}::bigint`.execute(db);
  const { runId } = await engine.start(
    handoff.dag,
    { params: handoff.params, runId: handoff.remoteRunId },
    signal,
  );
  return {
    status: handoff.wait ? 'started' : 'succeeded',
    engineStatus: 'started',
    ...(!sure && runId !== undefined && { engineRunId: runId }),
  };
}

/** What the engine tells of the run; undefined where it does not know it, or its DAG. */
const known = (answer: Promise<EngineRun | undefined>): Promise<EngineRun | undefined> =>
  answer.catch((cause: unknown) => {
    if (cause instanceof Missing) return undefined;
    throw cause;
  });

/** The same with its start by the warehouse's clock, which is asked after the engine's: an engine's may be hours off. */
async function byOurClock(
  db: Kysely<AnyDatabase>,
  there: EngineRun | undefined,
): Promise<EngineRun | undefined> {
  if (there?.startedAt === undefined || there.answeredAt === undefined) return there;
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  const behind = (rows[0]?.now ?? there.answeredAt).getTime() - there.answeredAt.getTime();
  return { ...there, startedAt: new Date(there.startedAt.getTime() + behind) };
}

const since = ({ now }: Handoff, then: Date | null): number =>
  then === null ? Number.POSITIVE_INFINITY : now.getTime() - then.getTime();

/** Of an engine without run ids: whether its newest run is the one that we asked for. */
function whose(handoff: Handoff, there: EngineRun | undefined): 'ours' | 'not started' | 'nobody knows' {
  if (there === undefined) return 'not started';
  const { runKey, startingAt, engineRunId } = handoff;
  const isById = there.runId !== undefined && there.runId === engineRunId;
  if (isById || (there.params !== undefined && isNamedIn(there.params, runKey))) return 'ours';
  const before =
    there.startedAt !== undefined &&
    startingAt !== null &&
    there.startedAt.getTime() + skew < startingAt.getTime();
  return before ? 'not started' : 'nobody knows';
}

/** Whether parameters, as NAME=value pairs or JSON, hold the run that was given as RUN_ID. */
const isNamedIn = (params: string, runKey: string): boolean =>
  ` ${params.replaceAll(/["'{},]/g, ' ').replace(/\bRUN_ID\s*[=:]\s*/, 'RUN_ID=')} `.includes(
    ` RUN_ID=${runKey} `,
  );

/** Where a run stands that the engine no longer tells of. */
const outcomeOfLost = (handoff: Handoff): Settled =>
  since(handoff, handoff.changedAt) < mayBeUnknown
    ? { status: 'started', error: 'the engine does not know the run at the moment', isSilent: true }
    : { status: 'unknown', error: 'the engine no longer knows the run' };

/** The same, or its end where it has not begun, or stands under a word that nobody knows, for longer than is waited for. */
const bounded = (handoff: Handoff, settled: Settled): Settled =>
  settled.status === 'started' && settled.isGoing !== true && since(handoff, handoff.startingAt) >= mayWait
    ? {
        status: 'unknown',
        error:
          settled.engineStatus === undefined
            ? `${handoff.dag} took the start and has not begun the run within a day: its end is no longer waited for`
            : `the engine says ${JSON.stringify(settled.engineStatus)} of the run, which is no end that is known: it is no longer waited for`,
      }
    : settled;

/** Where a run stands whose start was answered, by the newest run of an engine without run ids: that may be another one. */
function outcomeOfNewest(handoff: Handoff, there: EngineRun): Settled {
  const verdict = whose(handoff, there);
  // It is accepted and has not begun: what is shown is the run before it.
  if (verdict === 'not started') return { status: 'started' };
  const isOther = there.params !== undefined || (there.runId !== undefined && handoff.engineRunId !== null);
  if (verdict === 'nobody knows' && isOther)
    return {
      status: 'unknown',
      error: `${handoff.dag} has run since ${there.params === undefined ? 'under another id' : 'with other parameters'}: it cannot be told how this run ended`,
    };
  return outcome(handoff, there);
}

function outcome(handoff: Handoff, there: EngineRun): Settled {
  if (!handoff.wait) return { status: 'succeeded', engineStatus: there.label };
  if (there.state === 'active' || there.state === 'unknown')
    return { status: 'started', engineStatus: there.label, isGoing: there.state === 'active' };
  return { status: there.state, engineStatus: there.label };
}

async function settle(db: Kysely<AnyDatabase>, { handoffId }: Handoff, settled: Settled): Promise<void> {
  await sql`update ops.handoffs set status = ${settled.status}, engine_status = coalesce(${settled.engineStatus ?? null}, engine_status),
      engine_run_id = coalesce(${settled.engineRunId ?? null}, engine_run_id), error = coalesce(${settled.error ?? null}, case when ${settled.isSilent === true} then error end),
      changed_at = case when ${settled.isSilent === true} then changed_at else clock_timestamp() end,
      next_at = clock_timestamp() + ${pollEvery} * interval '1 millisecond'
    where handoff_id = ${handoffId}::bigint`.execute(db);
}

/** The one that is due for the longest time, of those that were due at `until`. */
async function claim(db: Kysely<AnyDatabase>, until: string): Promise<Handoff | undefined> {
  const { rows } = await sql<{
    handoff_id: string;
    pipeline: string;
    run_key: string;
    dag: string;
    params: string;
    remote_run_id: string;
    engine_run_id: string | null;
    wait: boolean;
    status: Handoff['status'];
    attempts: number;
    starting_at: Date | null;
    changed_at: Date;
    error: string | null;
    now: Date;
  }>`update ops.handoffs set next_at = clock_timestamp() + ${hold} * interval '1 millisecond'
    where handoff_id = (select handoff_id from ops.handoffs
      where status in ('pending', 'starting', 'started') and next_at <= ${until}::timestamptz
      order by next_at limit 1 for update skip locked)
    returning handoff_id::text, pipeline, run_key, dag, params, remote_run_id, engine_run_id, wait, status, attempts, starting_at,
      changed_at, error, clock_timestamp() as now`.execute(db);
  const [row] = rows;
  return (
    row && {
      handoffId: row.handoff_id,
      pipeline: row.pipeline,
      runKey: row.run_key,
      dag: row.dag,
      params: row.params,
      remoteRunId: row.remote_run_id,
      engineRunId: row.engine_run_id,
      wait: row.wait,
      status: row.status,
      attempts: row.attempts,
      startingAt: row.starting_at,
      changedAt: row.changed_at,
      error: row.error,
      now: row.now,
    }
  );
}
