/** What is sent after a run, and periodically: hand-offs to the workflow engine and notifications. */

import { type Kysely, sql } from 'kysely';
import type { Engine, OnSuccess } from '../core/dag-engine.ts';
import type { RunReport } from '../core/run.ts';
import { type AnyDatabase, hasRows } from '../warehouse/connect.ts';
import type { Channel } from './channel.ts';
import { deliver } from './deliver.ts';
import { advanceHandoffs } from './handoff.ts';
import { enqueueHandoff, enqueueMissedHandoff } from './handoff-queue.ts';
import { type Finding, findings, recordHealth, recoveries } from './health.ts';

export interface Outbound {
  readonly db: Kysely<AnyDatabase>;
  readonly channels: readonly Channel[];
  /** Absent where no engine is configured: hand-offs then wait in the warehouse. Called when one is due. */
  readonly openEngine?: () => Promise<Engine & { close(): Promise<void> }>;
  /** By pipeline. */
  readonly onSuccess: Readonly<Record<string, OnSuccess>>;
}

/** What a report says about the state of its pipeline; undefined for an interrupted run. */
function findingOf({ pipeline, status, runId, streams, error }: RunReport): Finding | undefined {
  const which = runId === null ? null : { run: runId };
  const state = status === 'succeeded' ? 'ok' : status === 'lost' ? 'failed' : status;
  if (state === 'running' || state === 'interrupted') return undefined;
  const bad = streams.find((stream) => stream.status !== 'ok' && stream.reason !== undefined);
  return { pipeline, state, which, cause: state === 'ok' ? null : (error?.message ?? bad?.reason ?? null) };
}

/** After a run: queues its hand-off, records its state, and sends what can be sent now. */
export async function afterRun(outbound: Outbound, report: RunReport, signal: AbortSignal): Promise<void> {
  const { db, onSuccess } = outbound;
  const { runId, pipeline, status } = report;
  const next = onSuccess[pipeline];
  // The run that took over a lost one's pipeline says what the state is.
  if (status === 'lost' && runId !== null && (await exists(db, isNewer(pipeline, runId)))) return;
  const isWhole = runId !== null && status === 'succeeded' && (await exists(db, ofEveryStream(runId)));
  if (next !== undefined && isWhole) await enqueueHandoff(db, { pipeline, runKey: runId }, next);
  // A forbidden stream lets a run succeed and stays as old as it is: the pipeline is not well then.
  const [stale] = isWhole ? await findings(db, [pipeline]) : [];
  const found = findingOf(report);
  const finding = stale && found ? { ...stale, which: found.which } : found;
  // Success of a part (some streams, a backfill, a reconciliation, a replay) says nothing about freshness.
  if (finding !== undefined && (isWhole || finding.state !== 'ok')) await record(outbound, finding);
  await sendAll(outbound, signal);
}

/** After a request that failed before there was a run: records the state, and sends what can be sent now. */
export async function afterFailure(
  outbound: Outbound,
  { pipeline, cause }: { readonly pipeline: string; readonly cause: string },
  signal: AbortSignal,
): Promise<void> {
  await record(outbound, { pipeline, state: 'failed', which: null, cause });
  await sendAll(outbound, signal);
}

const ofEveryStream = (runId: string) => sql`run_id = ${runId}::bigint and settles = 'freshness'`;
const isNewer = (pipeline: string, runId: string) =>
  sql`pipeline = ${pipeline} and run_id > ${runId}::bigint`;

const exists = (db: Kysely<AnyDatabase>, where: ReturnType<typeof sql>): Promise<boolean> =>
  hasRows(db, sql`select from ops.runs where ${where} limit 1`);

/** Periodically: records what is stale or well again, queues missed hand-offs and sends what is due. `pipelines`: those configured. */
export async function checkHealth(
  outbound: Outbound,
  pipelines: readonly string[],
  more: readonly Finding[],
  signal: AbortSignal,
): Promise<void> {
  const { db, onSuccess } = outbound;
  for (const [pipeline, next] of Object.entries(onSuccess))
    if (pipelines.includes(pipeline)) await enqueueMissedHandoff(db, pipeline, next);
  const found = [...(await recoveries(db)), ...(await findings(db, pipelines)), ...more];
  for (const finding of found) await record(outbound, finding);
  await sendAll(outbound, signal);
}

const record = ({ db, channels }: Outbound, finding: Finding): Promise<void> =>
  recordHealth(db, channels, finding);

/** Sends what is due: hand-offs and messages. */
export async function sendAll({ db, channels, openEngine }: Outbound, signal: AbortSignal): Promise<void> {
  const engine = await openEngine?.();
  try {
    if (engine !== undefined) await advanceHandoffs(db, engine, signal);
  } finally {
    await engine?.close();
  }
  await deliver(db, channels, signal);
}
