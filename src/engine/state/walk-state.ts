/** Walks as they stand in `ops.walks`, and the checkpoints that they move. */

import { sql } from 'kysely';
import { Fenced } from '../../core/errors.ts';
import type { RunKind } from '../../core/run.ts';
import type { Slice, Window } from '../../core/stream.ts';
import type { Session } from '../../load/session.ts';
import type { Db } from '../../queries/db.ts';
import type { Coverage } from './coverage.ts';
import type { Lease } from './lease.ts';
import { insertSlices, type OpenSlice, windowOf } from './slice-state.ts';

type WalkKind = 'full' | 'incremental' | 'backfill';

/** What a walk is for. A walk with the same stream, kind and words resumes an open one. */
export interface WalkPlan {
  readonly kind: WalkKind;
  readonly words: string;
  readonly window: Window | undefined;
}

/** A walk as it stands in `ops.walks`. */
export interface Walk extends WalkPlan {
  readonly walkId: string;
  /** The source's clock when it began; what the watermark becomes when it is done. */
  readonly clock: Date | undefined;
  /** When it was opened, as the warehouse writes it: with microseconds. */
  readonly opened: string;
  /** The run that opened it. */
  readonly runId: string;
}

interface StreamOfRun {
  readonly sourceId: number;
  readonly stream: string;
  readonly runId: string;
}

interface WalkRow extends Omit<Walk, 'window' | 'clock'> {
  readonly clock: Date | null;
  readonly field: Window['field'] | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

const columns =
  sql.raw(`walk_id::text as "walkId", run_id::text as "runId", kind, words, source_clock as clock,
  opened_at::text as opened, field, window_from as "from", window_to as "to"`);

const walkOf = ({ field, from, to, clock, ...row }: WalkRow): Walk => ({
  ...row,
  clock: clock ?? undefined,
  window: field === null ? undefined : windowOf(field, from, to),
});

/** The open walks of a stream, oldest first. */
export async function openWalks(db: Db, sourceId: number, stream: string): Promise<readonly Walk[]> {
  const { rows } = await sql<WalkRow>`select ${columns} from ops.walks w
    where source_id = ${sourceId} and stream = ${stream} and status = 'open' order by w.walk_id`.execute(db);
  return rows.map(walkOf);
}

/** The last complete walk of a stream; backfills do not count. */
export async function lastCompleteWalk(db: Db, sourceId: number, stream: string): Promise<Walk | undefined> {
  const { rows } = await sql<WalkRow>`select ${columns} from ops.walks w
    where source_id = ${sourceId} and stream = ${stream} and status = 'done' and kind <> 'backfill'
    order by w.walk_id desc limit 1`.execute(db);
  return rows.map(walkOf)[0];
}

/**
 * Forgets walks that ended more than 30 days ago, with their slices and the jobs of these; receipts per stream and run
 * stay in `ops.run_streams`. The last of each kind that read a stream whole or what had changed in it stays:
 * it says since when the stream is stale, and what it has read. So does, for each number of days,
 * the last walk that read as many: it says when they are due again.
 */
export async function pruneWalks(db: Db, sourceId: number): Promise<void> {
  await sql`with old as (
      delete from ops.walks w where source_id = ${sourceId} and status <> 'open' and closed_at < now() - interval '30 days'
        and (status <> 'done' or kind not in ('full', 'incremental') or exists (
          select from ops.walks n where n.source_id = w.source_id and n.stream = w.stream and n.kind = w.kind and n.status = 'done'
            and n.walk_id > w.walk_id and (w.field is distinct from 'day' or n.window_to - n.window_from >= w.window_to - w.window_from)))
      returning walk_id)
    delete from ops.slices s using old where s.walk_id = old.walk_id`.execute(db);
  await sql`delete from ops.jobs j where source_id = ${sourceId} and not exists (select from ops.slices s where s.slice_id = j.slice_id)`.execute(
    db,
  );
}

/** Whether an earlier run of the source left a walk open that a run of this kind goes on with. */
export async function hasOpenWalk(db: Db, sourceId: number, kind: RunKind): Promise<boolean> {
  const { rows } = await sql<{ open: boolean }>`select exists (
    select from ops.walks w left join ops.streams s using (source_id, stream)
    where w.source_id = ${sourceId} and w.status = 'open' and w.words not like 'reconcile %' and (w.kind = 'backfill') = ${kind === 'backfill'}
      and coalesce(s.state, '') not in ('unavailable', 'forbidden')) as open`.execute(db);
  return rows[0]?.open === true;
}

/** Open walks that a new one replaces, and the slices of them that it takes over. */
export interface Replaced {
  readonly walkIds: readonly string[];
  readonly slices: readonly OpenSlice[];
}

/**
 * Opens a walk with its slices, in one statement. `fields`: those that are asked for by name; absent: all
 * that there are. Throws `Fenced` where a walk to be replaced is not open any more.
 */
export async function openWalk(
  db: Db,
  at: StreamOfRun & { readonly fields?: readonly string[] | undefined },
  plan: WalkPlan,
  clock: Date | undefined,
  slices: readonly Slice[],
  replaced: Replaced = { walkIds: [], slices: [] },
): Promise<Walk> {
  const { field = null, from = null, to = null } = plan.window ?? {};
  const taken = replaced.slices.map(({ sliceId }) => sliceId);
  const { rows } = await sql<{ walk_id: string; opened: string; replaced: number }>`
    with walk as (
      insert into ops.walks (source_id, stream, kind, words, source_clock, field, window_from, window_to, fields, run_id)
      values (${at.sourceId}, ${at.stream}, ${plan.kind}, ${plan.words}, ${clock ?? null}, ${field}, ${from}, ${to},
        ${at.fields ?? null}::text[], ${at.runId}::bigint) returning walk_id, opened_at),
    closed as (
      update ops.walks set status = 'abandoned', closed_at = now()
      where walk_id = any (${replaced.walkIds}::bigint[]) and status = 'open' returning walk_id),
    taken as (
      update ops.slices s set walk_id = walk.walk_id from walk
      where s.slice_id = any (${taken}::bigint[]) and s.walk_id = any (${replaced.walkIds}::bigint[])),
    added as (${insertSlices(sql`(select walk_id from walk)`, slices)})
    select walk_id::text, opened_at::text as opened, (select count(*)::int from closed) as replaced from walk`.execute(
    db,
  );
  const [walk] = rows;
  if (walk === undefined || walk.replaced !== replaced.walkIds.length)
    throw new Fenced(`a walk of ${at.stream} that this run goes on with is not open any more`);
  return { ...plan, walkId: walk.walk_id, clock, opened: walk.opened, runId: at.runId };
}

/** Closes open walks whose words match this pattern: they are not resumed. */
export async function abandonWalks(db: Db, sourceId: number, stream: string, words: string): Promise<void> {
  await sql`update ops.walks set status = 'abandoned', closed_at = now()
    where source_id = ${sourceId} and stream = ${stream} and status = 'open' and words like ${words}`.execute(
    db,
  );
}

/**
 * Closes the walk if this was its last slice, and moves the watermark to the walk's start: in the same
 * transaction (guarantee G2). A backfill moves none. The watermark never goes back. Call it before any
 * counter that other slices of the stream also write: the walk's row lock is what makes two last slices agree
 * on who is the last.
 */
export async function closeIfLast(
  session: Pick<Session, 'trx'>,
  walk: Walk,
  at: StreamOfRun & { readonly coverage: Coverage },
): Promise<boolean> {
  await sql`select from ops.walks where walk_id = ${walk.walkId}::bigint for update`.execute(session.trx);
  const { numAffectedRows } = await sql`update ops.walks w set status = 'done', closed_at = now()
    where walk_id = ${walk.walkId}::bigint and status = 'open' and not exists (
      select from ops.slices s where s.walk_id = w.walk_id and s.status in ('pending', 'failed', 'partial'))`.execute(
    session.trx,
  );
  if (Number(numAffectedRows ?? 0) === 0) return false;
  if (walk.kind !== 'backfill' && walk.clock !== undefined)
    await sql`insert into ops.checkpoints as c (source_id, stream, watermark, full_at, scope, fields, run_id)
      select ${at.sourceId}, ${at.stream}, ${walk.clock}, ${walk.kind === 'full' ? walk.clock : null}::timestamptz, ${at.coverage.words}, w.fields,
        ${at.runId}::bigint from ops.walks w where w.walk_id = ${walk.walkId}::bigint
      on conflict (source_id, stream) do update set watermark = greatest(c.watermark, excluded.watermark),
        full_at = coalesce(excluded.full_at, c.full_at),
        scope = case when excluded.full_at is null and ${at.coverage.whole} then c.scope else excluded.scope end,
        fields = case when excluded.fields is not null then ${askedAndOnceAsked('excluded.fields', 'c.fields')}
          when excluded.full_at is null then c.fields end,
        run_id = excluded.run_id, updated_at = now()`.execute(session.trx);
  return true;
}

/**
 * The fields that are requested and, after a minus, those of the checkpoint that are not: should they come
 * back, they are not new. Both are columns; the first may not be null.
 */
const askedAndOnceAsked = (asked: string, before: string) =>
  sql.raw(
    `${asked} || array(select '-' || ltrim(f, '-') from unnest(${before}) f where ltrim(f, '-') <> all (${asked}))`,
  );

/**
 * Takes from the checkpoint the fields that this run does not ask for, before its first record is read: where
 * a run reads records by less than the checkpoint says, the next run that reads by all of it reads everything
 * again.
 */
export async function narrowCheckpoint(
  { run, lease }: { readonly lease: Lease; readonly run: { readonly sourceId: number } },
  stream: string,
  { words, ours, fields }: Coverage,
): Promise<void> {
  if (words === ours) return;
  await lease.transaction(async ({ trx }) => {
    await sql`update ops.checkpoints c set
        fields = case when asked.fields is null then c.fields else ${askedAndOnceAsked('asked.kept', 'c.fields')} end,
        scope = case when c.scope <> ${words} and starts_with(c.scope, ${ours}) then ${ours} else c.scope end
      from (select s.source_id, s.stream, a.fields, array(select f from unnest(coalesce(s.fields, a.fields)) f where f = any (a.fields)) as kept
        from ops.checkpoints s cross join (select ${fields ?? null}::text[] as fields) a) asked
      where asked.source_id = c.source_id and asked.stream = c.stream and c.source_id = ${run.sourceId} and c.stream = ${stream}`.execute(
      trx,
    );
  });
}

export interface Checkpoint {
  readonly watermark: Date;
  /** The source's clock at the start of the last complete walk over everything. */
  readonly fullAt: Date | null;
  readonly scope: string;
  /**
   * Fields requested by name when it was last moved and, after a minus, fields requested before; null: all,
   * or unknown.
   */
  readonly fields: readonly string[] | null;
}

/** The stored watermark of a stream, if a walk over it was ever completed. */
export async function checkpointOf(
  db: Db,
  sourceId: number,
  stream: string,
): Promise<Checkpoint | undefined> {
  const { rows } =
    await sql<Checkpoint>`select watermark, full_at as "fullAt", scope, fields from ops.checkpoints
    where source_id = ${sourceId} and stream = ${stream}`.execute(db);
  return rows[0];
}
