/** Slices as they stand in `ops.slices`: opened, cut, begun, and closed with a receipt. */

import { type Kysely, sql } from 'kysely';
import { Fenced } from '../../core/errors.ts';
import type { Partition, Slice, Window } from '../../core/stream.ts';
import type { Session } from '../../load/session.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';

/** The walk that slices belong to. */
export interface SlicedWalk {
  readonly walkId: string;
  readonly window: Window | undefined;
}

/** A slice that is still to be read. */
export interface OpenSlice {
  readonly sliceId: string;
  readonly slice: Slice;
}

/** A window whose ends may be open. */
export const windowOf = (field: Window['field'], from: Date | null, to: Date | null): Window => ({
  field,
  ...(from === null ? {} : { from }),
  ...(to === null ? {} : { to }),
});

interface SliceRow {
  slice_id: string;
  partition: Partition | null;
  window_from: Date | null;
  window_to: Date | null;
}

const openSlice = (row: SliceRow, { window }: SlicedWalk): OpenSlice => ({
  sliceId: row.slice_id,
  slice: {
    ...(row.partition === null ? {} : { partition: row.partition }),
    ...(window === undefined ? {} : { window: windowOf(window.field, row.window_from, row.window_to) }),
  },
});

/** Adds slices to a walk; gives them in their order. */
export async function addSlices(
  db: Kysely<AnyDatabase>,
  walk: SlicedWalk,
  slices: readonly Slice[],
): Promise<readonly OpenSlice[]> {
  if (slices.length === 0) return [];
  const { rows } = await sql<SliceRow>`with added as (
      insert into ops.slices (walk_id, partition, window_from, window_to)
      select ${walk.walkId}::bigint, (s ->> 'partition')::jsonb, (s ->> 'from')::timestamptz, (s ->> 'to')::timestamptz
      from jsonb_array_elements(${JSON.stringify(
        slices.map((slice) => ({
          partition: slice.partition === undefined ? null : JSON.stringify(slice.partition),
          from: slice.window?.from ?? null,
          to: slice.window?.to ?? null,
        })),
      )}::jsonb) with ordinality as added (s, nth) order by nth
      returning slice_id, partition, window_from, window_to)
    select slice_id::text, partition, window_from, window_to from added order by added.slice_id`.execute(db);
  return rows.map((row) => openSlice(row, walk));
}

/** The slices of a walk that are not done: to be read now, in the order in which they were added. */
export async function unreadSlices(db: Kysely<AnyDatabase>, walk: SlicedWalk): Promise<readonly OpenSlice[]> {
  const { rows } =
    await sql<SliceRow>`select slice_id::text, partition, window_from, window_to from ops.slices s
    where walk_id = ${walk.walkId}::bigint and status in ('pending', 'failed', 'partial') order by s.slice_id`.execute(
      db,
    );
  return rows.map((row) => openSlice(row, walk));
}

/** Whether the source has answered for a slice of the walk, in this run or one before it. */
export async function hasAnswered(db: Kysely<AnyDatabase>, walk: SlicedWalk): Promise<boolean> {
  const { rows } = await sql<{ answered: boolean }>`select exists (select from ops.slices
    where walk_id = ${walk.walkId}::bigint and status in ('done', 'partial') and passes > 0) as answered`.execute(
    db,
  );
  return rows[0]?.answered === true;
}

/** Whether an earlier run than this has read slices of the walk to their ends. */
export async function wasReadBefore(
  db: Kysely<AnyDatabase>,
  walk: SlicedWalk,
  runId: string,
): Promise<boolean> {
  const { rows } = await sql<{ read: boolean }>`select exists (select from ops.slices
    where walk_id = ${walk.walkId}::bigint and status = 'done' and run_id <> ${runId}::bigint) as read`.execute(
    db,
  );
  return rows[0]?.read === true;
}

/** Partitions that already have a slice in the walk, as canonical text. */
export async function partitionsOf(db: Kysely<AnyDatabase>, walk: SlicedWalk): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ partition: Partition }>`select partition from ops.slices
    where walk_id = ${walk.walkId}::bigint and partition is not null`.execute(db);
  return new Set(rows.map((row) => partitionText(row.partition)));
}

/** A partition as text that is equal exactly for equal partitions. */
export const partitionText = (partition: Partition): string =>
  JSON.stringify(Object.entries(partition).sort(([a], [b]) => (a < b ? -1 : 1)));

/**
 * Replaces an unread slice by its parts, in a transaction; gives them in their order. Throws `Fenced` where
 * another run has read it.
 */
export async function splitSlice(
  { trx }: Pick<Session, 'trx'>,
  walk: SlicedWalk,
  sliceId: string,
  parts: readonly Slice[],
): Promise<readonly OpenSlice[]> {
  const { numAffectedRows } = await sql`update ops.slices set status = 'split', finished_at = now()
    where slice_id = ${sliceId}::bigint and status in ('pending', 'failed', 'partial')`.execute(trx);
  if (Number(numAffectedRows ?? 0) !== 1) throw new Fenced(`slice ${sliceId} is not ours to cut any more`);
  return addSlices(trx, walk, parts);
}

/** Notes that work on a slice begins. */
export async function beginSlice(db: Kysely<AnyDatabase>, sliceId: string, runId: string): Promise<void> {
  await sql`update ops.slices set run_id = ${runId}::bigint, started_at = clock_timestamp(), finished_at = null
    where slice_id = ${sliceId}::bigint`.execute(db);
}

/** How the reading of a slice ended: its receipt. */
export interface SliceEnd {
  readonly status: 'done' | 'partial';
  readonly expected: number | null;
  readonly fetched: number;
  readonly landed: number;
  readonly passes: number;
  /** As `WalkEnd.lacks`: rows that were not shown stay. */
  readonly lacks?: true;
  /** The receipt matches, but what the list no longer shows is more than is believed: nothing was removed. */
  readonly isHeld?: true;
}

/** Writes a slice's receipt, inside the transaction of its last batch. */
export async function endSlice(
  session: Session,
  sliceId: string,
  runId: string,
  end: SliceEnd,
): Promise<void> {
  await sql`update ops.slices set status = ${end.status}, expected = ${end.expected}, fetched = ${end.fetched},
      landed = ${end.landed}, passes = ${end.passes}, run_id = ${runId}::bigint, finished_at = now(),
      error_code = null, error_message = null
    where slice_id = ${sliceId}::bigint`.execute(session.trx);
}

/** Why a slice was passed by: the source does not tell days so old any more, and never will again. */
export const tooOld = 'too_old';

/** Why a slice was not read. */
export interface Unread {
  readonly code: string;
  readonly message: string;
}

/**
 * Remembers why a slice could not be read: a failed one is read again by the next run, an absent one is
 * passed by: its walk goes on without it.
 */
export async function leaveSlice(
  db: Kysely<AnyDatabase>,
  sliceId: string,
  runId: string,
  as: 'failed' | 'absent',
  why: Unread,
): Promise<void> {
  await sql`update ops.slices set status = ${as}, run_id = ${runId}::bigint, finished_at = now(),
      error_code = ${why.code}, error_message = ${why.message}
    where slice_id = ${sliceId}::bigint and status in ('pending', 'failed', 'partial')`.execute(db);
}
