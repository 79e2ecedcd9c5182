/**
 * Starts the DAGs of queued hand-offs (handoff-queue.ts) at the workflow engine. A start whose answer was lost is
 * looked up before it is repeated, and what cannot be known ends as `unknown`: no second start is blind.
 */

import { type QueryExecutorProvider as Db, sql } from 'kysely';
import type { Engine, EngineRun } from '../core/dag-engine.ts';
import * as errors from '../core/errors.ts';
import { days, hours, minutes, seconds } from '../core/time.ts';

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
const retryMs = minutes(1);
const mostTries = 10;
/** How long a lost start is looked for before it is repeated, where a repetition may start the DAG twice. */
const lostStartMs = minutes(5);
/** An engine that restarts shows no runs for a while. */
const unknownRunMs = minutes(10);
/** How long a run that was accepted may wait for its turn. */
const waitingMs = hours(24);
/** How long an engine that answers with errors is asked for the state of a run. */
const failingMs = days(7);
/** Clocks differ, and many engines give whole seconds. */
const skewMs = minutes(2);

/**
 * Brings every hand-off that is due one step further. One that becomes due meanwhile comes the next time; after an
 * engine that cannot be reached no other is tried. Several processes may run this at once: each hand-off is held by one.
 */
export async function advanceHandoffs(db: Db, engine: Engine, signal: AbortSignal): Promise<void> {
  const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(db);
  while (!signal.aborted) {
    const handoff = await claim(db, rows[0]?.now ?? '');
    if (handoff === undefined) return;
    try {
      await store(db, handoff, await step(db, handoff, engine, signal));
    } catch (error) {
      if (signal.aborted || !(error instanceof errors.TidemarkError)) throw error;
      await store(db, handoff, outcomeOfError(handoff, error));
      if (error instanceof errors.Unreachable) return;
    }
  }
}

/** The hand-off that is due for the longest time, of those that were due at `begun` by the database clock. */
async function claim(db: Db, begun: string): Promise<Handoff | undefined> {
  const { rows } = await sql<Handoff>`
    update ops.handoffs set next_at = clock_timestamp() + ${holdMs} * interval '1 millisecond'
    where handoff_id = (select handoff_id from ops.handoffs where status in ('pending', 'starting', 'started')
        and next_at <= ${begun}::timestamptz
      order by next_at limit 1 for update skip locked)
    returning handoff_id::text as "handoffId", run_key as "runKey", dag, params, remote_run_id as "remoteRunId",
      engine_run_id as "engineRunId", wait, status, attempts, starting_at as "startingAt", changed_at as "changedAt",
      clock_timestamp() as now`.execute(db);
  return rows[0];
}

/** What a step came to. */
interface StepResult {
  /** Null: as it is, also where `step` has set it to `starting`. */
  readonly status: Handoff['status'] | null;
  readonly engineStatus?: string;
  readonly engineRunId?: string;
  readonly error?: string;
  /** The engine did not show the run: an earlier error stays. */
  readonly isUnseen?: boolean;
  /** Of a start that does not count. */
  readonly attempts?: number;
  readonly nextMs?: number;
}

async function store(db: Db, { handoffId }: Handoff, outcome: StepResult): Promise<void> {
  const { status, engineStatus = null, engineRunId = null, error = null, isUnseen = false } = outcome;
  const { attempts = null, nextMs = pollMs } = outcome;
  await sql`update ops.handoffs set status = coalesce(${status}, status), attempts = coalesce(${attempts}, attempts),
      engine_status = coalesce(${engineStatus}, engine_status), engine_run_id = coalesce(${engineRunId}, engine_run_id),
      error = coalesce(${error}, case when ${isUnseen} then error end),
      changed_at = case when ${isUnseen} then changed_at else clock_timestamp() end,
      next_at = clock_timestamp() + ${nextMs} * interval '1 millisecond'
    where handoff_id = ${handoffId}::bigint`.execute(db);
}

/** One step: start, look for a start whose answer was lost, or look for the end of the run. */
async function step(db: Db, handoff: Handoff, engine: Engine, signal: AbortSignal): Promise<StepResult> {
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

/** A start whose answer was lost, by the newest run of an engine without run ids. Undefined: it is to be repeated. */
function outcomeOfLostStart(handoff: Handoff, run: EngineRun | undefined): StepResult | undefined {
  const owner = run === undefined ? 'older' : ownerOf(handoff, run);
  if (run !== undefined && owner === 'ours') return outcomeOf(handoff, run);
  const error = `the answer to the start was lost, and ${handoff.dag} has run since: it is not known whether that was this run`;
  if (owner === 'unknown') return { status: 'unknown', error };
  const isRecent = ageOf(handoff, handoff.startingAt) < lostStartMs;
  return isRecent ? { status: 'starting', isUnseen: true } : undefined;
}

/** The state of a run whose start was answered. The newest run of an engine without run ids may be another one. */
function outcomeOfStarted(handoff: Handoff, run: EngineRun | undefined, takesRunId: boolean): StepResult {
  const { dag, engineRunId, changedAt, startingAt } = handoff;
  if (run === undefined)
    return ageOf(handoff, changedAt) < unknownRunMs
      ? { status: 'started', error: 'the engine does not know the run at the moment', isUnseen: true }
      : { status: 'unknown', error: 'the engine no longer knows the run' };
  const owner = takesRunId ? 'ours' : ownerOf(handoff, run);
  const isOther = run.params !== undefined || (run.runId !== undefined && engineRunId !== null);
  if (owner === 'unknown' && isOther)
    return { status: 'unknown', error: `${dag} has run since: it is not known how this run ended` };
  const outcome: StepResult = owner === 'older' ? { status: 'started' } : outcomeOf(handoff, run);
  const isActive = owner !== 'older' && run.state === 'active';
  if (outcome.status !== 'started' || isActive || ageOf(handoff, startingAt) < waitingMs) return outcome;
  const why =
    owner === 'older'
      ? `${dag} has not begun the run within a day`
      : `the engine says ${JSON.stringify(run.label)} of the run, which is no known state`;
  return { status: 'unknown', error: `${why}: its end is no longer waited for` };
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

const ageOf = ({ now }: Handoff, then: Date | null): number =>
  then === null ? Number.POSITIVE_INFINITY : now.getTime() - then.getTime();

const outcomeOf = ({ wait }: Handoff, { state, label }: EngineRun): StepResult => {
  const isOver = state === 'succeeded' || state === 'failed';
  return { status: wait ? (isOver ? state : 'started') : 'succeeded', engineStatus: label };
};

/** The engine refused for good, or may accept later; whether a start arrived is asked the next time. */
function outcomeOfError(handoff: Handoff, error: errors.TidemarkError): StepResult {
  const { status, attempts, startingAt } = handoff;
  const { AuthFailed, Forbidden, Missing, RateLimited, Refused, Transient, Unreachable } = errors;
  const outcome = { error: error.message, nextMs: retryMs };
  // An engine that says that the DAG is running has started nothing, and is asked for as long as it takes.
  if (error instanceof Transient && error.cause instanceof Refused) return { ...outcome, status, attempts };
  const isFinal = [AuthFailed, Forbidden, Missing, Refused].some((kind) => error instanceof kind);
  if (status !== 'started' && (isFinal || attempts >= mostTries)) return { ...outcome, status: 'failed' };
  if (status !== 'pending' && ageOf(handoff, startingAt) >= failingMs)
    return { ...outcome, status: 'unknown' };
  // A rate limit whose cause is another error is a gateway's that asks for too long a wait: the start may have arrived.
  const cause = error.cause instanceof Transient ? error.cause : error;
  const isRefused = error instanceof Unreachable || cause instanceof RateLimited;
  return { ...outcome, status: isRefused ? status : null };
}
