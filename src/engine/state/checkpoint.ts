/** What was last completed of a stream, and what a walk over it covers: which records, by which fields and mapping. */

import { sql } from 'kysely';
import { plural } from '../../core/format.ts';
import type { Stream } from '../../core/stream.ts';
import type { Session } from '../../load/session.ts';
import { type Db, query } from '../../queries/db.ts';
import type { Coverage, Covered, Walk } from './walk-state.ts';

export interface Checkpoint extends Covered {
  readonly watermark: Date;
  /** The source's clock at the start of the last complete walk over everything. */
  readonly fullAt: Date | null;
  /**
   * Fields requested by name when it was last moved and, after a minus, fields requested before; null: all,
   * or unknown.
   */
  readonly fields: readonly string[] | null;
}

/** The stored watermark of a stream, if a walk over it was ever completed. */
export async function checkpointOf(db: Db, sourceId: number, stream: string) {
  const [checkpoint] = await query(db)<Checkpoint>`
    select watermark, full_at, selection, edition, mapping, fields from ops.checkpoints
    where source_id = ${sourceId} and stream = ${stream}`;
  return checkpoint;
}

/**
 * What a walk over all of the stream would cover now. `before`: the checkpoint's fields; where the source's
 * list lacks some of them it is requested again, because one answer may leave some out.
 */
export async function coverageOf(
  { windows, days }: Stream,
  signal: AbortSignal,
  before: readonly string[] | null = null,
): Promise<Coverage> {
  const selection = windows?.scope ?? days?.scope ?? '';
  const first = await windows?.reading?.(signal);
  // Those after a minus were not requested.
  const lacks = before?.some((id) => !id.startsWith('-') && first?.fields?.includes(id) === false);
  const reading = lacks === true ? await windows?.reading?.(signal, true) : first;
  return { selection, edition: '', mapping: '', whole: true, ...reading };
}

/**
 * Why everything is to be read again that was read once, for people; undefined where it was read as it is
 * asked for now. Where the source gives only part of that, nothing is read again: the checkpoint then keeps
 * the part (`closeIfLast`), and all is read when the source gives more.
 */
export function whyAgain(read: Checkpoint, now: Coverage): string | undefined {
  if (read.selection !== now.selection) return 'what is to be read was configured anew';
  if (read.edition !== now.edition) return 'it now makes more of a record than when it was read';
  if (now.whole && read.mapping !== now.mapping)
    return 'the source has other fields of a kind that decides what its records become';
  const [first, ...more] = read.fields === null ? [] : cameIntoSight(read.fields, now.fields ?? []);
  if (first === undefined) return undefined;
  return `${first}${more.length === 0 ? '' : ` and ${plural(more.length, 'other field')}`} came into sight`;
}

/**
 * Fields that are asked for now and were not when everything was last read, and that are no new ones: they
 * were hidden, or missing in one list of fields. No record counts as changed by that. A new field has the
 * highest number, and a record that gets a value in it is changed.
 */
function cameIntoSight(before: readonly string[], now: readonly string[]): readonly string[] {
  const old = new Set(before);
  const newest = before.reduce((highest, id) => Math.max(highest, numberIn(id)), 0);
  return now.filter((id) => !old.has(id) && numberIn(id) <= newest);
}

/** The number at the end of an id such as `customfield_10016`. */
const numberIn = (id: string): number => Number(/\d+$/.exec(id)?.[0] ?? 0);

/** A walk that may be over, and the run that has read it. */
interface Closing {
  readonly walk: Pick<Walk, 'walkId'>;
  readonly runId: string;
  readonly coverage: Covered & Pick<Coverage, 'whole'>;
}

/**
 * Closes the walk if every slice of it is done, and moves the watermark to the walk's start: in the same
 * transaction (guarantee G2). A backfill moves none. The watermark never goes back. Fields that are no longer
 * requested stay after a minus: should they come back, they are not new. Call it before any counter that other
 * slices of the stream also write: the lock on the walk's row puts two slices that end at once in an order.
 */
export async function closeIfLast({ trx }: Pick<Session, 'trx'>, { walk, runId, coverage }: Closing) {
  const { selection, edition, mapping, whole } = coverage;
  const keeps = sql`excluded.full_at is null and ${whole}`;
  await sql`select from ops.walks where walk_id = ${walk.walkId}::bigint for update`.execute(trx);
  await sql`with closed as (
      update ops.walks w set status = 'done', closed_at = now()
      where walk_id = ${walk.walkId}::bigint and status = 'open' and not exists (select from ops.slices s
        where s.walk_id = w.walk_id and s.status in ('pending', 'failed', 'partial')) returning *),
    moved as (
      insert into ops.checkpoints as c (source_id, stream, run_id, watermark, full_at, selection, edition,
        mapping, fields)
      select source_id, stream, ${runId}::bigint, source_clock, case when kind = 'full' then source_clock end,
        ${selection}, ${edition}, ${mapping}, fields from closed where kind <> 'backfill' and source_clock is not null
      on conflict (source_id, stream) do update set watermark = greatest(c.watermark, excluded.watermark),
        full_at = coalesce(excluded.full_at, c.full_at),
        selection = case when ${keeps} then c.selection else excluded.selection end,
        edition = case when ${keeps} then c.edition else excluded.edition end,
        mapping = case when ${keeps} then c.mapping else excluded.mapping end,
        fields = case when excluded.fields is not null then excluded.fields || array(
            select '-' || ltrim(f, '-') from unnest(c.fields) f where ltrim(f, '-') <> all (excluded.fields))
          when excluded.full_at is null then c.fields end,
        run_id = excluded.run_id, updated_at = now())
    select from closed`.execute(trx);
}

/**
 * Takes from the checkpoint the fields that this run does not ask for, before its first record is read: where
 * a run reads records by less than the checkpoint says, the next run that reads by all of it reads everything
 * again.
 */
export async function narrowCheckpoint(
  { trx }: Pick<Session, 'trx'>,
  sourceId: number,
  stream: string,
  { selection, edition, mapping, fields }: Coverage,
): Promise<void> {
  const asked = sql`${fields ?? null}::text[]`;
  await sql`update ops.checkpoints set fields = case when ${asked} is null then fields else array(
        select case when f = any (${asked}) then f else '-' || ltrim(f, '-') end
        from unnest(coalesce(fields, ${asked})) f) end,
      mapping = case when (selection, edition) = (${selection}, ${edition}) and mapping <> ${mapping}
        then '' else mapping end
    where source_id = ${sourceId} and stream = ${stream}`.execute(trx);
}
