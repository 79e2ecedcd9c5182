/** Walks as they stand in `ops.walks`, and the checkpoints that they move. */

import { type Kysely, sql } from 'kysely';
import type { RunKind } from '../../core/run.ts';
import type { Slice, Window } from '../../core/stream.ts';
import type { Session } from '../../load/session.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';
import type { Coverage } from './coverage.ts';
import { type Holder, withLease } from './lease-guard.ts';
import { addSlices, windowOf } from './slice-state.ts';

export type WalkKind = 'full' | 'incremental' | 'backfill';

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
  readonly resumed: boolean;
  /** The run that opened it. */
  readonly runId: string;
}

interface WalkRow {
  walk_id: string;
  run_id: string;
  kind: WalkKind;
  words: string;
  source_clock: Date | null;
  field: Window['field'] | null;
  window_from: Date | null;
  window_to: Date | null;
}

/** The open walks of a stream, oldest first. */
export async function openWalks(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  stream: string,
): Promise<readonly Walk[]> {
  const { rows } =
    await sql<WalkRow>`select walk_id::text, run_id::text, kind, words, source_clock, field, window_from, window_to
    from ops.walks w where source_id = ${sourceId} and stream = ${stream} and status = 'open' order by w.walk_id`.execute(
      db,
    );
  return rows.map((row) => ({
    walkId: row.walk_id,
    kind: row.kind,
    words: row.words,
    window: row.field === null ? undefined : windowOf(row.field, row.window_from, row.window_to),
    clock: row.source_clock ?? undefined,
    resumed: true,
    runId: row.run_id,
  }));
}

/** How long finished walks and their slices are kept. */
const keptFor = '30 days';

/**
 * Forgets walks that ended long ago, with their slices and the jobs of these; receipts per stream and run
 * stay in `ops.run_streams`. The last of each kind that read a stream whole or what had changed in it stays:
 * it tells since when the stream is stale, and what it has read. So does, of walks over days, the last one
 * that read so many: it tells when they are due again.
 */
export async function pruneWalks(db: Kysely<AnyDatabase>, sourceId: number): Promise<void> {
  await sql`with old as (
      delete from ops.walks w where source_id = ${sourceId} and status <> 'open' and closed_at < now() - ${keptFor}::interval
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
export async function hasOpenWalk(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  kind: RunKind,
): Promise<boolean> {
  const { rows } = await sql<{ open: boolean }>`select exists (
    select from ops.walks w left join ops.streams s using (source_id, stream)
    where w.source_id = ${sourceId} and w.status = 'open' and w.words not like 'reconcile %' and (w.kind = 'backfill') = ${kind === 'backfill'}
      and coalesce(s.state, '') not in ('unavailable', 'forbidden')) as open`.execute(db);
  return rows[0]?.open === true;
}

/**
 * Opens a walk with its first slices, in one transaction. `fields`: those that are asked for by name; absent:
 * all that there are.
 */
export async function openWalk(
  db: Kysely<AnyDatabase>,
  at: {
    readonly sourceId: number;
    readonly stream: string;
    readonly runId: string;
    readonly fields?: readonly string[] | undefined;
  },
  plan: WalkPlan,
  clock: Date | undefined,
  slices: readonly Slice[],
): Promise<Walk> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ walk_id: string }>`insert into ops.walks
        (source_id, stream, kind, words, source_clock, field, window_from, window_to, fields, run_id)
      values (${at.sourceId}, ${at.stream}, ${plan.kind}, ${plan.words}, ${clock ?? null}, ${plan.window?.field ?? null},
        ${plan.window?.from ?? null}, ${plan.window?.to ?? null}, ${at.fields ?? null}::text[], ${at.runId}::bigint) returning walk_id::text`.execute(
      trx,
    );
    const walk: Walk = { ...plan, walkId: rows[0]?.walk_id ?? '', clock, resumed: false, runId: at.runId };
    await addSlices(trx, walk, slices);
    return walk;
  });
}

/** Closes an open walk without a watermark: what it was for is no longer wanted. */
export async function abandonWalk(db: Kysely<AnyDatabase>, walkId: string): Promise<void> {
  await sql`update ops.walks set status = 'abandoned', closed_at = now()
    where walk_id = ${walkId}::bigint and status = 'open'`.execute(db);
}

/** Closes open walks whose words match any of these patterns: they are not resumed. */
export async function abandonWalks(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  stream: string,
  ...words: readonly ('list' | 'days' | 'full from %' | 'catch up %' | 'reconcile %')[]
): Promise<void> {
  await sql`update ops.walks set status = 'abandoned', closed_at = now()
    where source_id = ${sourceId} and stream = ${stream} and status = 'open' and words like any (${words}::text[])`.execute(
    db,
  );
}

/**
 * Whether nothing is left of a walk but what is closed to us: then it was not interrupted, it is only not
 * whole.
 */
export async function lacksOnlyClosed(db: Kysely<AnyDatabase>, walkId: string): Promise<boolean> {
  const { rows } = await sql<{ closed: boolean }>`
    select coalesce(bool_and(error_code is not distinct from 'forbidden'), false) as closed from ops.slices
    where walk_id = ${walkId}::bigint and status in ('pending', 'failed', 'partial')`.execute(db);
  return rows[0]?.closed === true;
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
  at: {
    readonly sourceId: number;
    readonly stream: string;
    readonly runId: string;
    readonly coverage: Coverage;
  },
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
const askedAndOnceAsked = (asked: string, known: string) =>
  sql.raw(
    `${asked} || array(select '-' || ltrim(f, '-') from unnest(${known}) f where ltrim(f, '-') <> all (${asked}))`,
  );

/**
 * Takes from the checkpoint the fields that this run does not ask for, before its first record is read: where
 * a run reads records by less than the checkpoint says, the next run that reads by all of it reads everything
 * again.
 */
export async function narrowCheckpoint(
  { run, ...holder }: Holder & { readonly run: { readonly sourceId: number } },
  stream: string,
  { words, ours, fields }: Coverage,
): Promise<void> {
  if (words === ours) return;
  await withLease(holder, async ({ trx }) => {
    await sql`update ops.checkpoints c set
        fields = case when asked.fields is null then c.fields else ${askedAndOnceAsked('asked.known', 'c.fields')} end,
        scope = case when c.scope <> ${words} and starts_with(c.scope, ${ours}) then ${ours} else c.scope end
      from (select s.source_id, s.stream, a.fields, array(select f from unnest(coalesce(s.fields, a.fields)) f where f = any (a.fields)) as known
        from ops.checkpoints s cross join (select ${fields ?? null}::text[] as fields) a) asked
      where asked.source_id = c.source_id and asked.stream = c.stream and c.source_id = ${run.sourceId} and c.stream = ${stream}`.execute(
      trx,
    );
  });
}

export interface Checkpoint {
  readonly watermark: Date;
  readonly fullAt: Date | undefined;
  readonly scope: string;
  /**
   * Fields requested by name when it was last moved and, after a minus, fields requested before; undefined:
   * all, or unknown.
   */
  readonly fields: readonly string[] | undefined;
}

/** The stored watermark of a stream, if a walk over it was ever completed. */
export async function checkpointOf(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  stream: string,
): Promise<Checkpoint | undefined> {
  const { rows } = await sql<{
    watermark: Date;
    full_at: Date | null;
    scope: string;
    fields: string[] | null;
  }>`select watermark, full_at, scope, fields from ops.checkpoints where source_id = ${sourceId} and stream = ${stream}`.execute(
    db,
  );
  const row = rows[0];
  return row === undefined
    ? undefined
    : {
        watermark: row.watermark,
        fullAt: row.full_at ?? undefined,
        scope: row.scope,
        fields: row.fields ?? undefined,
      };
}
