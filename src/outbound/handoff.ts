/**
 * Starts the DAGs of queued hand-offs (handoff-queue.ts) at the workflow engine. A start whose answer was lost is looked up before it is
 * repeated, and what cannot be known ends as `unknown`: no second start is blind.
 */

import { type Kysely, sql } from 'kysely';
import type { Engine, EngineRun } from '../core/dag-engine.ts';
import * as errors from '../core/errors.ts';
import { days, hours, minutes, seconds } from '../core/time.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';

interface Handoff {
  readonly handoffId: string;
  readonly runKey: string;
  readonly dag: string;
  readonly params: string;
  readonly remoteRunId: string;
  /** The engine's id of the run, where it takes no ids and its start gave one. */
  readonly engineRunId: string | null;
  readonly wait: boolean;
  readonly status: 'pending' | 'starting' | 'started' | 'succeeded' | 'failed' | 'unknown';
  readonly attempts: number;
  /** By the warehouse's clock, as are all instants here. */
  readonly startingAt: Date | null;
  /** When its state was last known. */
  readonly changedAt: Date;
  readonly now: Date;
}

/** How long one process holds a hand-off: longer than its requests may take. */
const holdMs = minutes(5);
const pollMs = seconds(10);
const retryMs = seconds(30);
/** After a refusal a person must change something first. */
const refusedMs = minutes(10);
const mostTries = 10;
/** How long a lost start is looked for before it is repeated, where a repetition may start the DAG twice. */
const lostStartMs = minutes(5);
/** An engine that restarts knows no runs for a while. */
const unknownRunMs = minutes(10);
/** How long a run that was accepted may wait for its turn. */
const waitingMs = hours(24);
/** How long an engine that answers with errors is asked for the state of a run. */
const failingMs = days(7);
/** Clocks differ, and many engines give whole seconds. */
const skewMs = minutes(2);

/** Whether a hand-off waits for its next step. */
export async function isAnyDue(db: Kysely<AnyDatabase>): Promise<boolean> {
  const { rows } = await sql<{ due: boolean }>`select exists (select from ops.handoffs
    where status in ('pending', 'starting', 'started') and next_at <= clock_timestamp()) as due`.execute(db);
  return rows[0]?.due === true;
}

/**
 * Brings every hand-off that is due one step further. One that becomes due meanwhile comes the next time; after an engine that cannot be
 * reached no other is tried. Several processes may run this at once: each hand-off is held by one.
 */
export async function advanceHandoffs(
  db: Kysely<AnyDatabase>,
  engine: Engine,
  signal: AbortSignal,
): Promise<void> {
  const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(db);
  const until = rows[0]?.now ?? '-infinity';
  while (!signal.aborted) {
    const handoff = await claim(db, until);
    if (handoff === undefined) return;
    try {
      await store(db, handoff, await step(db, handoff, engine, signal));
    } catch (error) {
      if (signal.aborted || !(error instanceof errors.TidemarkError)) throw error;
      await storeError(db, handoff, error);
      if (error instanceof errors.Unreachable) return;
    }
  }
}

/** The hand-off that is due for the longest time, of those that were due at `until`. */
async function claim(db: Kysely<AnyDatabase>, until: string): Promise<Handoff | undefined> {
  const { rows } =
    await sql<Handoff>`update ops.handoffs set next_at = clock_timestamp() + ${holdMs} * interval '1 millisecond'
    where handoff_id = (select handoff_id from ops.handoffs
      where status in ('pending', 'starting', 'started') and next_at <= ${until}::timestamptz
      order by next_at limit 1 for update skip locked)
    returning handoff_id::text as "handoffId", run_key as "runKey", dag, params, remote_run_id as "remoteRunId",
      engine_run_id as "engineRunId", wait, status, attempts, starting_at as "startingAt", changed_at as "changedAt",
      clock_timestamp() as now`.execute(db);
  return rows[0];
}

/** What a step came to. */
interface Outcome {
  readonly status: Handoff['status'];
  readonly engineStatus?: string;
  readonly engineRunId?: string;
  readonly error?: string;
  /** The engine says that the run is active. */
  readonly isActive?: boolean;
  /** The engine did not show the run. */
  readonly isUnseen?: boolean;
}

/** One step: start, look for a start whose answer was lost, or look for the end of the run. */
async function step(
  db: Kysely<AnyDatabase>,
  handoff: Handoff,
  engine: Engine,
  signal: AbortSignal,
): Promise<Outcome> {
  const { dag, params, remoteRunId, status } = handoff;
  const takesRunId = await engine.takesRunId(signal);
  if (status === 'started' || (status === 'starting' && !takesRunId)) {
    const run = await engine.status(dag, remoteRunId, signal).catch((cause: unknown) => {
      if (cause instanceof errors.Missing) return undefined;
      throw cause;
    });
    if (status === 'started') return outcomeOfStarted(handoff, run, takesRunId);
    const lost = outcomeOfLostStart(handoff, run);
    if (lost !== undefined) return lost;
  }
  await sql`update ops.handoffs set status = 'starting', attempts = attempts + 1, starting_at = clock_timestamp(),
      changed_at = clock_timestamp() where handoff_id = ${handoff.handoffId}::bigint`.execute(db);
  const { runId } = await engine.start(dag, { params, runId: remoteRunId }, signal);
  return {
    status: handoff.wait ? 'started' : 'succeeded',
    engineStatus: 'started',
    ...(!takesRunId && runId !== undefined && { engineRunId: runId }),
  };
}

const ageOf = ({ now }: Handoff, then: Date | null): number =>
  then === null ? Number.POSITIVE_INFINITY : now.getTime() - then.getTime();

/** A start whose answer was lost, by the newest run of an engine without run ids. Undefined: it is to be repeated. */
function outcomeOfLostStart(handoff: Handoff, run: EngineRun | undefined): Outcome | undefined {
  const whose = run === undefined ? 'older' : ownerOf(handoff, run);
  if (run !== undefined && whose === 'ours') return outcomeOf(handoff, run);
  if (whose === 'unknown')
    return {
      status: 'unknown',
      error: `the answer to the start was lost, and ${handoff.dag} has run since: it is not known whether that was this run`,
    };
  const isRecent = ageOf(handoff, handoff.startingAt) < lostStartMs;
  return isRecent ? { status: 'starting', isUnseen: true } : undefined;
}

/** The state of a run whose start was answered. */
function outcomeOfStarted(handoff: Handoff, run: EngineRun | undefined, takesRunId: boolean): Outcome {
  if (run === undefined)
    return ageOf(handoff, handoff.changedAt) < unknownRunMs
      ? { status: 'started', error: 'the engine does not know the run at the moment', isUnseen: true }
      : { status: 'unknown', error: 'the engine no longer knows the run' };
  const outcome = takesRunId ? outcomeOf(handoff, run) : outcomeOfNewest(handoff, run);
  const isOverdue = ageOf(handoff, handoff.startingAt) >= waitingMs;
  if (outcome.status !== 'started' || outcome.isActive === true || !isOverdue) return outcome;
  const error =
    outcome.engineStatus === undefined
      ? `${handoff.dag} took the start and has not begun the run within a day: its end is no longer waited for`
      : `the engine says ${JSON.stringify(outcome.engineStatus)} of the run, which is no known state: its end is no longer waited for`;
  return { status: 'unknown', error };
}

/** The same by the newest run of an engine without run ids, which may be another one. */
function outcomeOfNewest(handoff: Handoff, run: EngineRun): Outcome {
  const owner = ownerOf(handoff, run);
  if (owner === 'older') return { status: 'started' };
  const isOther = run.params !== undefined || (run.runId !== undefined && handoff.engineRunId !== null);
  if (owner === 'ours' || !isOther) return outcomeOf(handoff, run);
  const how = run.params === undefined ? 'under another id' : 'with other parameters';
  return {
    status: 'unknown',
    error: `${handoff.dag} has run since ${how}: it is not known how this run ended`,
  };
}

/** Whether the newest run of an engine without run ids is ours, or began before our start. */
function ownerOf(handoff: Handoff, run: EngineRun): 'ours' | 'older' | 'unknown' {
  const { runKey, startingAt, engineRunId, now } = handoff;
  const isById = run.runId !== undefined && run.runId === engineRunId;
  if (isById || (run.params !== undefined && hasRunId(run.params, runKey))) return 'ours';
  if (run.startedAt === undefined || startingAt === null) return 'unknown';
  // The engine's clock may be hours off, so its ages are compared with ours, not its instants.
  const age = (run.answeredAt ?? now).getTime() - run.startedAt.getTime();
  return age > ageOf(handoff, startingAt) + skewMs ? 'older' : 'unknown';
}

/** Whether parameters, as NAME=value pairs or JSON, hold the run that was given as RUN_ID. */
const hasRunId = (params: string, runKey: string): boolean => {
  const plain = params.replaceAll(/["'{},]/g, ' ').replace(/\bRUN_ID\s*[=:]\s*/, 'RUN_ID=');
  return ` ${plain} `.includes(` RUN_ID=${runKey} `);
};

function outcomeOf({ wait }: Handoff, { state, label }: EngineRun): Outcome {
  if (!wait) return { status: 'succeeded', engineStatus: label };
  if (state !== 'active' && state !== 'unknown') return { status: state, engineStatus: label };
  return { status: 'started', engineStatus: label, isActive: state === 'active' };
}

async function store(db: Kysely<AnyDatabase>, { handoffId }: Handoff, outcome: Outcome): Promise<void> {
  const { status, engineStatus = null, engineRunId = null, error = null, isUnseen = false } = outcome;
  await sql`update ops.handoffs set status = ${status}, engine_status = coalesce(${engineStatus}, engine_status),
      engine_run_id = coalesce(${engineRunId}, engine_run_id), error = coalesce(${error}, case when ${isUnseen} then error end),
      changed_at = case when ${isUnseen} then changed_at else clock_timestamp() end,
      next_at = clock_timestamp() + ${pollMs} * interval '1 millisecond'
    where handoff_id = ${handoffId}::bigint`.execute(db);
}

/** A rate limit of the engine itself: other errors that ask for too long a wait are `RateLimited`, too, e.g. a gateway's. */
const isRateLimit = (error: unknown): boolean =>
  error instanceof errors.RateLimited &&
  (!(error.cause instanceof errors.Transient) || error.cause instanceof errors.RateLimited);

/** The engine refused for good, or may accept later; whether a start arrived is asked the next time. */
async function storeError(
  db: Kysely<AnyDatabase>,
  handoff: Handoff,
  error: errors.TidemarkError,
): Promise<void> {
  const { AuthFailed, Forbidden, Missing, Refused, Transient, Unreachable } = errors;
  const isFinal = [AuthFailed, Forbidden, Missing, Refused].some((kind) => error instanceof kind);
  // An engine that says that the DAG is running has started nothing, and is asked for as long as it takes.
  const isBusy = error instanceof Transient && error.cause instanceof Refused;
  const isSpent = !isBusy && handoff.attempts >= mostTries;
  const isLate = handoff.status !== 'pending' && ageOf(handoff, handoff.startingAt) >= failingMs;
  const mayHaveArrived = !(isBusy || isRateLimit(error) || error instanceof Unreachable);
  // Null keeps the status, which `step` may have set to `starting`.
  const unchanged = mayHaveArrived ? null : handoff.status;
  const isFailed = handoff.status !== 'started' && (isFinal || isSpent);
  const status = isFailed ? 'failed' : isLate ? 'unknown' : unchanged;
  await sql`update ops.handoffs set status = coalesce(${status}, status),
      attempts = coalesce(${isBusy ? handoff.attempts : null}, attempts), error = ${error.message},
      changed_at = clock_timestamp(), next_at = clock_timestamp() + ${isFinal ? refusedMs : retryMs} * interval '1 millisecond'
    where handoff_id = ${handoff.handoffId}::bigint`.execute(db);
}
