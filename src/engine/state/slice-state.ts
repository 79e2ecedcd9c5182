/** Slices as they stand in `ops.slices`: opened, cut, begun, and closed with a receipt. */

import { type RawBuilder, sql } from 'kysely';
import { Fenced } from '../../core/errors.ts';
import type { Partition, Slice, Window } from '../../core/stream.ts';
import type { Session } from '../../load/session.ts';
import type { Db } from '../../queries/db.ts';

/** The walk that slices belong to. */
interface SlicedWalk {
  readonly walkId: string;
  readonly window: Window | undefined;
}

/** A slice that is still to be read. */
export interface OpenSlice {
  readonly sliceId: string;
  readonly slice: Slice;
  /** It was cut from a larger slice in this run. */
  readonly isPart?: true;
}

/** A window whose ends may be open. */
export const windowOf = (field: Window['field'], from: Date | null, to: Date | null): Window => ({
  field,
  ...(from !== null && { from }),
  ...(to !== null && { to }),
});

interface SliceRow {
  readonly sliceId: string;
  readonly partition: Partition | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

const columns = sql.raw('slice_id::text as "sliceId", partition, window_from as "from", window_to as "to"');

const openSlice = ({ sliceId, partition, from, to }: SliceRow, { window }: SlicedWalk): OpenSlice => ({
  sliceId,
  slice: {
    ...(partition !== null && { partition }),
    ...(window !== undefined && { window: windowOf(window.field, from, to) }),
  },
});

/** The statement that adds slices to a walk, in their order. */
export const insertSlices = (walkId: RawBuilder<unknown>, slices: readonly Slice[]): RawBuilder<unknown> =>
  sql`insert into ops.slices (walk_id, partition, window_from, window_to)
    select ${walkId}, s -> 'partition', (s -> 'window' ->> 'from')::timestamptz, (s -> 'window' ->> 'to')::timestamptz
    from jsonb_array_elements(${JSON.stringify(slices)}::jsonb) with ordinality as added (s, nth) order by nth
    returning slice_id, partition, window_from, window_to`;

/**
 * A slice and its state: unread · read · refused (its owner answered 404, or its days were not given) · too
 * old: the source does not give days so old any more, and never will again.
 */
export interface WalkSlice extends OpenSlice {
  readonly state: 'unread' | 'read' | 'refused' | 'too_old';
}

/** The slices of a walk in the order in which they were added; those that were cut are left out. */
export async function slicesOfWalk(db: Db, walk: SlicedWalk): Promise<readonly WalkSlice[]> {
  const { rows } = await sql<SliceRow & Pick<WalkSlice, 'state'>>`
    select ${columns}, case when status = 'done' then 'read'
      when status <> 'absent' then 'unread' when error_code = ${tooOld} then 'too_old' else 'refused' end as state
    from ops.slices s where walk_id = ${walk.walkId}::bigint and status <> 'split' order by s.slice_id`.execute(
    db,
  );
  return rows.map((row) => ({ ...openSlice(row, walk), state: row.state }));
}

/** A partition as text that is equal exactly for equal partitions. */
export const partitionText = (partition: Partition = {}): string =>
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
  const { rows } = await sql<SliceRow>`with added as (${insertSlices(sql`${walk.walkId}::bigint`, parts)})
    select ${columns} from added order by added.slice_id`.execute(trx);
  return rows.map((row) => openSlice(row, walk));
}

/** Notes that work on a slice begins. */
export async function beginSlice(db: Db, sliceId: string, runId: string): Promise<void> {
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

/** Why a slice was passed by: the source does not have days so old any more. */
export const tooOld = 'too_old';

/**
 * Remembers why a slice could not be read: a failed one is read again by the next run, an absent one is
 * passed by: its walk goes on without it.
 */
export async function leaveSlice(
  db: Db,
  sliceId: string,
  runId: string,
  as: 'failed' | 'absent',
  why: { readonly code: string; readonly message: string },
): Promise<void> {
  await sql`update ops.slices set status = ${as}, run_id = ${runId}::bigint, finished_at = now(),
      error_code = ${why.code}, error_message = ${why.message}
    where slice_id = ${sliceId}::bigint and status in ('pending', 'failed', 'partial')`.execute(db);
}
