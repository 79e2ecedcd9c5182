/**
 * What the source has had for long and the warehouse has not, or not as it is now: nobody could see it when it last changed (a permission, an
 * archive, an import that is dated back), so no walk over changes will ever show it. A reconciliation meets its id.
 */

import { sql } from 'kysely';
import type pg from 'pg';
import { plural } from '../../core/format.ts';
import { addCounts } from '../../core/run.ts';
import type { Slice, Stream } from '../../core/stream.ts';
import { nameOf, type Table } from '../../core/table.ts';
import { minutes } from '../../core/time.ts';
import type { Session } from '../../load/session.ts';
import { patiently } from '../../warehouse/with-retry.ts';
import { newStreamContext } from '../batching/stream-context.ts';
import type { Problem } from '../context/problems.ts';
import { newTally, type RunContext, type Tally, tell } from '../context/run-context.ts';
import type { Execution } from '../execution.ts';
import { coverageOf } from '../state/coverage.ts';
import { fenced } from '../state/lease-guard.ts';
import { hasOpenRejects, type Run } from '../state/run-state.ts';
import { checkpointOf, openWalk } from '../state/walk-state.ts';
import { readWalk } from '../sync/read-walk.ts';
import { compareWhole, type Seen } from './read-ids.ts';

const minute = minutes(1);

/** Before this moment nothing is new: a sync should have shown what was created until then. Undefined where none was ever complete. */
export async function dueBefore(
  { deps, run, signal }: RunContext,
  stream: Stream,
): Promise<Date | undefined> {
  if (stream.windows === undefined) return undefined;
  const checkpoint = await patiently(() => checkpointOf(deps.warehouse.db, run.sourceId, stream.name));
  // Restricted to something else since then, or read by something else: the next sync reads everything.
  if (checkpoint === undefined) return undefined;
  if (checkpoint.scope !== (await coverageOf(stream, signal, checkpoint.fields)).words) return undefined;
  const due = Math.floor((checkpoint.watermark.getTime() - deps.lookbackMs) / minute) * minute;
  return due > deps.historyStart.getTime() ? new Date(due) : undefined;
}

/** Everything there is, in slices none of which lies on both sides of `due`. */
export function everything({ deps }: RunContext, stream: Stream, due: Date | undefined): readonly Slice[] {
  if (stream.windows === undefined) return [{}];
  const window = { field: 'created', from: deps.historyStart } as const;
  return due === undefined
    ? [{ window }]
    : [{ window: { ...window, to: due } }, { window: { ...window, from: due } }];
}

/** What is lacking: the slices in which it was met, their places in `reconcile_seen`, and how much it is. */
export interface Lacking {
  readonly places: readonly number[];
  readonly slices: readonly Slice[];
  readonly records: number;
}

/**
 * What was met at the places $1 and is not in the table for the source $2, or only as a tombstone, or was noted as unseen of the stream $3. Joins,
 * not subqueries in a disjunction: those would be looked through once an id.
 */
const lackingRows = (client: pg.PoolClient, table: Table): string =>
  `from pg_temp.reconcile_seen s
   left join ${nameOf(table)} t on t.source_id = $2 and t.${client.escapeIdentifier(table.key[0] ?? 'id')}::text = s.key and t._deleted_at is null
   left join ops.unseen u on u.source_id = $2 and u.stream = $3 and u.key = s.key
   where s.place = any ($1::int[]) and (t.source_id is null or u.source_id is not null)`;

/** The slices before `due` with records that are not in the warehouse, or only as tombstones, or that were out of sight for a while. */
export async function lackingIn(
  { run }: RunContext,
  stream: Stream,
  client: pg.PoolClient,
  { slices }: Seen,
  due: Date,
): Promise<Lacking> {
  const isDue = ({ window }: Slice): boolean =>
    window?.to !== undefined && window.to.getTime() <= due.getTime();
  const rows = await compareWhole<{ place: number; records: number }>(
    client,
    `select s.place, count(*)::int as records ${lackingRows(client, stream.table)} group by s.place order by s.place`,
    [slices.flatMap((slice, place) => (isDue(slice) ? [place] : [])), run.sourceId, stream.name],
  );
  return {
    places: rows.map(({ place }) => place),
    slices: rows.flatMap(({ place }) => slices[place] ?? []),
    records: rows.reduce((sum, row) => sum + row.records, 0),
  };
}

/** Notes rows that cannot be seen for now: when they can, they are read again. What is listed whole by every sync needs no note. */
export async function noteUnseen(
  context: RunContext,
  stream: Stream,
  keys: readonly string[],
): Promise<void> {
  if (stream.windows === undefined) return;
  await fenced(context, async ({ trx }) => {
    await sql`insert into ops.unseen (source_id, stream, key)
      select ${context.run.sourceId}, ${stream.name}, unnest(${[...keys]}::text[]) on conflict do nothing`.execute(
      trx,
    );
  });
}

/** Notes what is lacking, until it was read: part of it may be here by then, and would pass for all. `client`: the session of the ids. */
export async function noteLacking(
  { run }: RunContext,
  stream: Stream,
  client: pg.PoolClient,
  { places }: Lacking,
): Promise<void> {
  await compareWhole(
    client,
    `insert into ops.unseen (source_id, stream, key) select distinct $2::smallint, $3, s.key ${lackingRows(client, stream.table)}
     on conflict do nothing`,
    [[...places], run.sourceId, stream.name],
  );
}

/** Of what is gone nothing is to be read; should it come back, its tombstone says as much. */
export async function dropUnseen(
  { trx }: Pick<Session, 'trx'>,
  run: Run,
  stream: Stream,
  keys: readonly string[],
): Promise<void> {
  await sql`delete from ops.unseen
    where source_id = ${run.sourceId} and stream = ${stream.name} and key = any (${[...keys]}::text[])`.execute(
    trx,
  );
}

/** What this reconciliation has seen is seen, and was read. `client`: the session of the ids. */
export async function forgetUnseen(
  { run }: RunContext,
  stream: Stream,
  client: pg.PoolClient,
): Promise<void> {
  await compareWhole(
    client,
    `delete from ops.unseen u using pg_temp.reconcile_seen s where u.source_id = $1 and u.stream = $2 and u.key = s.key`,
    [run.sourceId, stream.name],
  );
}

/** Reads slices as a sync would read them; the watermark stays where it is. What is cut short is found again by the next reconciliation. */
export async function readLacking(
  { context, clock, now }: Execution,
  flow: Stream,
  lacking: Lacking,
  tally: Tally,
): Promise<Problem | undefined> {
  const { deps, run } = context;
  const { db } = deps.warehouse;
  const { name } = flow;
  tell(
    context,
    'warn',
    `${name}: ${plural(lacking.records, 'record')} of long ago came into sight; ${plural(lacking.slices.length, 'window')} of them are read again`,
  );
  const plan = {
    kind: 'backfill' as const,
    words: `reconcile ${run.runId}`,
    window: { field: 'created' as const, from: deps.historyStart },
  };
  const walk = await openWalk(
    db,
    { sourceId: run.sourceId, stream: name, runId: run.runId },
    plan,
    undefined,
    lacking.slices,
  );
  const reading = newTally();
  const resolves = await patiently(() => hasOpenRejects(db, run.sourceId, name));
  const coverage = await coverageOf(flow, context.signal);
  const stream = newStreamContext(context, {
    flow,
    walk,
    tally: reading,
    coverage,
    isFirst: false,
    resolves,
    force: false,
    clock: now,
  });
  try {
    return await readWalk(stream, clock);
  } finally {
    tally.counts = addCounts(tally.counts, reading.counts);
    tally.deleted += reading.deleted;
  }
}
