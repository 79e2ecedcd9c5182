/** Walks and their slices, as they are in `ops.walks` and `ops.slices`. */

import { type RawBuilder, sql } from 'kysely';
import { Fenced } from '../../core/errors.ts';
import type { MappingFingerprint, Partition, Slice, Stream, WalkEnd, Window } from '../../core/stream.ts';
import type { Session } from '../../load/session.ts';
import { type Db, query } from '../../queries/db.ts';
import type { RunKey } from './run-state.ts';

/** What a walk over all of a stream covers: which records, by which mapping and fields. */
export interface Coverage extends MappingFingerprint {
  /** What the configuration restricts the stream to. */
  readonly selection: string;
}

/** The part of it that walks and checkpoints keep. */
export type Covered = Pick<Coverage, 'selection' | 'edition' | 'mapping'>;

export const isSameCoverage = (one: Covered, other: Covered): boolean =>
  one.selection === other.selection && one.edition === other.edition && one.mapping === other.mapping;

/**
 * What a backfill is for: a window that a person asked for, what changed while another walk cannot be finished,
 * or what a reconciliation found missing.
 */
type Purpose = 'requested' | 'beside' | 'missing';

/** A walk to be opened: what is read, and what for. */
export interface WalkPlan {
  readonly kind: 'full' | 'incremental' | 'backfill';
  /** Of a backfill. */
  readonly purpose?: Purpose;
  /** What it reads wins over what is stored. */
  readonly forced?: boolean;
  readonly window: Window | undefined;
  /** Why everything is read again without a request for it, as a sentence for people. */
  readonly why?: string;
}

/** A row of `ops.walks`. */
export interface Walk extends Covered {
  readonly walkId: string;
  readonly kind: WalkPlan['kind'];
  readonly purpose: Purpose | null;
  readonly forced: boolean;
  readonly field: Window['field'] | null;
  readonly windowFrom: Date | null;
  readonly windowTo: Date | null;
  /** The source's clock when it began; what the watermark becomes when it is done. Null: it has none. */
  readonly clock: Date | null;
  /** When it was opened, as the warehouse writes it: with microseconds. */
  readonly opened: string;
  readonly isOpen: boolean;
}

const walkColumns = sql.raw(`walk_id::text, kind, purpose, forced, field, window_from, window_to,
  selection, edition, mapping, source_clock as clock, opened_at::text as opened, status = 'open' as is_open`);

/** A slice that is still to be read. */
export interface OpenSlice {
  readonly sliceId: string;
  /** Its partition as text: equal exactly for equal partitions. */
  readonly owner: string;
  readonly slice: Slice;
  /** It was cut from a larger slice in this run. */
  readonly isPart?: true;
}

/** A slice and its state; refused: its owner answered 404, or its days were not given. */
export interface WalkSlice extends OpenSlice {
  readonly state: 'unread' | 'read' | 'refused';
}

export const sliceOf = (partition?: Partition | null, window?: Window): Slice => ({
  ...(partition && { partition }),
  ...(window && { window }),
});

/** The open walks of a stream, and the last that was complete (no backfill), in the order of their opening. */
export async function walksOf(db: Db, sourceId: number, stream: string): Promise<readonly Walk[]> {
  return await query(db)<Walk>`select ${walkColumns} from ops.walks w
    where source_id = ${sourceId} and stream = ${stream} and (status = 'open' or walk_id = (
      select max(walk_id) from ops.walks d where d.source_id = w.source_id and d.stream = w.stream
        and d.status = 'done' and d.kind <> 'backfill')) order by w.walk_id`;
}

interface SliceRow extends Omit<WalkSlice, 'slice' | 'isPart'>, Pick<Walk, 'field'> {
  readonly partition: Partition | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

/** The slices of a walk in the order in which they were added; those that were cut are left out. */
export async function slicesOf(db: Db, walkId: string | undefined): Promise<readonly WalkSlice[]> {
  if (walkId === undefined) return [];
  const rows = await query(db)<SliceRow>`
      select slice_id::text, partition, coalesce(partition, '{}')::text as owner,
      w.field, s.window_from as "from", s.window_to as "to",
      case s.status when 'done' then 'read' when 'absent' then 'refused' else 'unread' end as state
    from ops.slices s join ops.walks w using (walk_id)
    where walk_id = ${walkId}::bigint and s.status <> 'split' order by s.slice_id`;
  return rows.map(({ sliceId, owner, state, partition, field, from, to }) => {
    const window = field === null ? undefined : { field, ...(from && { from }), ...(to && { to }) };
    return { sliceId, owner, state, slice: sliceOf(partition, window) };
  });
}

/** The statement that adds slices, in their order, to the walk of the row `walk`. */
const insertSlices = (slices: readonly Slice[]): RawBuilder<unknown> =>
  sql`insert into ops.slices (walk_id, partition, window_from, window_to)
    select walk.walk_id, s -> 'partition', (s -> 'window' ->> 'from')::timestamptz,
      (s -> 'window' ->> 'to')::timestamptz
    from walk, jsonb_array_elements(${JSON.stringify(slices)}::jsonb) with ordinality as added (s, nth)
    order by nth returning slice_id`;

/** Whose walk is opened, and by the source's clock. */
interface NewWalk extends Pick<RunKey, 'sourceId' | 'runId'> {
  readonly stream: Pick<Stream, 'name'>;
  readonly clock: Date | undefined;
  readonly coverage: Covered & Pick<Coverage, 'fields'>;
}

/**
 * Opens a walk with its slices, in place of open ones; of these it takes over the slices of `kept`. It goes on with
 * `begun`: it is as old as that one, by both clocks.
 */
export async function openWalk(
  db: Db,
  { sourceId, runId, stream, clock, coverage: { selection, edition, mapping, fields } }: NewWalk,
  { kind, purpose, forced = false, window }: WalkPlan,
  slices: readonly Slice[],
  replaced: readonly Walk[] = [],
  kept: readonly OpenSlice[] = [],
  begun?: Pick<Walk, 'clock' | 'opened'>,
): Promise<Walk> {
  const { field = null, from = null, to = null } = window ?? {};
  const [walk] = await query(db)<Walk>`with walk as (
      insert into ops.walks (source_id, stream, run_id, kind, purpose, forced, source_clock, field, window_from,
        window_to, selection, edition, mapping, fields, opened_at)
      values (${sourceId}, ${stream.name}, ${runId}::bigint, ${kind}, ${purpose ?? null}, ${forced}, ${(begun ? begun.clock : clock) ?? null},
        ${field}, ${from}, ${to}, ${selection}, ${edition}, ${mapping}, ${fields ?? null}::text[],
        coalesce(${begun?.opened ?? null}::timestamptz, now())) returning *),
    closed as (update ops.walks set status = 'abandoned', closed_at = now()
      where walk_id = any (${replaced.map(({ walkId }) => walkId)}::bigint[])),
    taken as (update ops.slices s set walk_id = walk.walk_id from walk
      where s.slice_id = any (${kept.map(({ sliceId }) => sliceId)}::bigint[])),
    added as (${insertSlices(slices)})
    select ${walkColumns} from walk`;
  if (walk === undefined) throw new Error(`no walk of ${stream.name} was opened`);
  return walk;
}

/** Closes the open walks of a stream, or those of one purpose: they are not resumed. */
export async function abandonWalks(db: Db, sourceId: number, stream: string, purpose?: Purpose) {
  await sql`update ops.walks set status = 'abandoned', closed_at = now() where source_id = ${sourceId}
    and stream = ${stream} and status = 'open' and purpose is not distinct from
      coalesce(${purpose ?? null}, purpose)`.execute(db);
}

/**
 * Forgets walks that ended more than 30 days ago, with their slices and the jobs of these; receipts per stream
 * and run stay in `ops.run_streams`. The last of each kind that read a stream whole or what had changed in it
 * stays: it says since when the stream is stale, and what it has read. So does, for each number of days, the
 * last walk that read as many: it says when they are due again.
 */
export async function pruneWalks(db: Db, sourceId: number): Promise<void> {
  await sql`with old as (
      delete from ops.walks w
      where source_id = ${sourceId} and status <> 'open' and closed_at < now() - interval '30 days'
        and (status <> 'done' or kind not in ('full', 'incremental') or exists (
          select from ops.walks n where n.source_id = w.source_id and n.stream = w.stream and n.kind = w.kind
            and n.status = 'done' and n.walk_id > w.walk_id and (w.field is distinct from 'day'
              or n.window_to - n.window_from >= w.window_to - w.window_from)))
      returning walk_id),
    slices as (delete from ops.slices s using old where s.walk_id = old.walk_id returning slice_id),
    batches as (delete from ops.batches b using slices s where b.slice_id = s.slice_id)
    delete from ops.jobs j using slices s where j.slice_id = s.slice_id`.execute(db);
}

/** Slices that are not read to their end. */
const unread = sql`status in ('pending', 'failed', 'partial')`;

/**
 * Replaces an unread slice by its parts, in a transaction; gives them in their order. Throws `Fenced` where
 * another run has read it.
 */
export async function splitSlice(
  { trx }: Pick<Session, 'trx'>,
  { sliceId, owner }: OpenSlice,
  parts: readonly Slice[],
): Promise<readonly OpenSlice[]> {
  const rows = await query(trx)<{ sliceId: string }>`with walk as (
      update ops.slices set status = 'split', finished_at = now()
      where slice_id = ${sliceId}::bigint and ${unread} returning walk_id),
    added as (${insertSlices(parts)})
    select slice_id::text from added order by added.slice_id`;
  if (rows.length === 0) throw new Fenced(`slice ${sliceId} is not ours to cut any more`);
  return parts.flatMap((slice, at) => (rows[at] ? [{ ...rows[at], owner, slice, isPart: true }] : []));
}

/** Notes that work on a slice begins. */
export async function beginSlice(db: Db, sliceId: string, runId: string): Promise<void> {
  await sql`update ops.slices set run_id = ${runId}::bigint, started_at = clock_timestamp(), finished_at = null
    where slice_id = ${sliceId}::bigint`.execute(db);
}

/** How the reading of a slice ended: its receipt. */
export interface SliceEnd extends Omit<WalkEnd, 'matched'> {
  readonly status: 'done' | 'partial';
  readonly stored: number;
  /** The receipt matches, but what the list no longer shows is more than is believed: nothing was removed. */
  readonly isHeld?: true;
}

/**
 * Writes the receipt of a slice, inside the transaction of its last batch, or why it could not be read. A failed
 * one is read again by the next run, and the watermark does not pass it; the walk goes on without an absent one.
 */
export async function endSlice(
  db: Db,
  sliceId: string,
  runId: string,
  end: SliceEnd | { readonly status: 'failed' | 'absent'; readonly code: string; readonly message: string },
): Promise<void> {
  const row = { expected: null, read: null, stored: null, passes: null, code: null, message: null, ...end };
  await sql`update ops.slices set status = ${row.status}, expected = ${row.expected}, read = ${row.read},
      stored = ${row.stored}, passes = ${row.passes}, error_code = ${row.code}, error_message = ${row.message},
      run_id = ${runId}::bigint, finished_at = now()
    where slice_id = ${sliceId}::bigint and ${unread}`.execute(db);
}
