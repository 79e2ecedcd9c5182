/** What is told to the outside after a run, and from time to time without one. */

import { type Kysely, sql } from 'kysely';
import type { Engine } from '../core/dag-engine.ts';
import type { RunReport } from '../core/run.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import { type Channel, deliver } from './deliver.ts';
import { drive, isAnyDue } from './handoff.ts';
import { type Finding, findings, recoveries, takeIn } from './health.ts';
import { intend, intendMissed, type Then } from './intent.ts';
import type { Which } from './message.ts';

export interface Outbound {
  readonly db: Kysely<AnyDatabase>;
  readonly channels: readonly Channel[];
  /** Absent where no engine is configured: hand-offs then wait in the warehouse. Opened when there is something to be handed over. */
  readonly openEngine?: () => Promise<Engine & { close(): Promise<void> }>;
  /** What each pipeline declares to be triggered. */
  readonly onSuccess: Readonly<Record<string, Then>>;
}

/** What a report says about the state of its pipeline; undefined where it says nothing (a stop that was asked for). */
export function findingOf(report: RunReport): Finding | undefined {
  const { pipeline, status } = report;
  const which = runOf(report);
  const bad = report.streams.find((stream) => stream.status !== 'ok' && stream.reason !== undefined);
  const cause = report.error?.message ?? bad?.reason ?? null;
  if (status === 'succeeded') return { pipeline, state: 'ok', which, cause: null };
  if (status === 'failed' || status === 'partly_failed' || status === 'needs_attention')
    return { pipeline, state: status, which, cause };
  if (status === 'lost') return { pipeline, state: 'failed', which, cause };
  return undefined;
}

const runOf = ({ runId }: RunReport): Which | null => (runId === null ? null : { run: runId });

/** When a run has ended: its hand-off is intended, its state noted, and what can be sent now is sent. */
export async function afterRun(outbound: Outbound, report: RunReport, signal: AbortSignal): Promise<void> {
  const { db, channels, onSuccess } = outbound;
  const next = onSuccess[report.pipeline];
  const { runId } = report;
  if (report.status === 'lost' && runId !== null && (await isOvertaken(db, report.pipeline, runId))) return;
  const whole = runId !== null && report.status === 'succeeded' && (await settlesFreshness(db, runId));
  if (next !== undefined && whole) await intend(db, { pipeline: report.pipeline, runKey: runId }, next);
  // What is closed to us lets a run succeed, and stays as old as it is: that makes nothing well.
  const [stale] = whole ? await findings(db, [report.pipeline]) : [];
  const finding = stale === undefined ? findingOf(report) : { ...stale, which: runOf(report) };
  // That a part went well (some streams, a backfill, a reconciliation, a replay) says nothing about how fresh a pipeline is.
  if (finding !== undefined && (whole || finding.state !== 'ok')) await takeIn(db, names(channels), finding);
  await sendOut(outbound, signal);
}

/** When what was asked of a pipeline failed before there was a run: its state is noted, and what can be sent now is sent. */
export async function afterFailure(
  outbound: Outbound,
  { pipeline, cause }: { readonly pipeline: string; readonly cause: string },
  signal: AbortSignal,
): Promise<void> {
  await takeIn(outbound.db, names(outbound.channels), { pipeline, state: 'failed', which: null, cause });
  await sendOut(outbound, signal);
}

/** Whether the run was one of every stream, as the warehouse has it. */
async function settlesFreshness(db: Kysely<AnyDatabase>, runId: string): Promise<boolean> {
  const { rows } =
    await sql`select from ops.runs where run_id = ${runId}::bigint and settles = 'freshness'`.execute(db);
  return rows.length > 0;
}

/** Whether another run has taken the pipeline since: that one says how it stands. */
async function isOvertaken(db: Kysely<AnyDatabase>, pipeline: string, runId: string): Promise<boolean> {
  const { rows } =
    await sql`select from ops.runs where pipeline = ${pipeline} and run_id > ${runId}::bigint limit 1`.execute(
      db,
    );
  return rows.length > 0;
}

/** Once around: what is stale, what was missed, what is due. `pipelines`: those that are configured. */
export async function lookAround(
  outbound: Outbound,
  pipelines: readonly string[],
  more: readonly Finding[],
  signal: AbortSignal,
): Promise<void> {
  const { db, channels, onSuccess } = outbound;
  for (const [pipeline, next] of Object.entries(onSuccess))
    if (pipelines.includes(pipeline)) await intendMissed(db, pipeline, next);
  const found = [...(await recoveries(db)), ...(await findings(db, pipelines)), ...more];
  for (const finding of found) await takeIn(db, names(channels), finding);
  await sendOut(outbound, signal);
}

async function sendOut({ db, channels, openEngine }: Outbound, signal: AbortSignal): Promise<void> {
  if (openEngine !== undefined && (await isAnyDue(db))) {
    const engine = await openEngine();
    try {
      await drive(db, engine, signal);
    } finally {
      await engine.close();
    }
  }
  await deliver(db, channels, signal);
}

const names = (channels: readonly Channel[]) => channels.map(({ name }) => name);
