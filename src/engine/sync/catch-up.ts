/**
 * Which days are read beside a walk that cannot be finished: of each owner those that no walk has read since.
 */

import { type Kysely, sql } from 'kysely';
import type { Days, Partition, Slice, Window } from '../../core/stream.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';
import { partitionText, tooOld } from '../state/slice-state.ts';
import type { Walk } from '../state/walk-state.ts';
import { daysDue, daysThere, earlier, lastRead, lateIn, later, midnight, slicesOf } from './days.ts';

const prefix = 'catch up ';
/**
 * The words of walks that read what is new beside one that cannot be finished. They move no watermark and are
 * not resumed.
 */
export const catchUpWords = ({ walkId }: Pick<Walk, 'walkId'>): string => `${prefix}${walkId}`;
/** All such words, as a pattern of SQL's `like`. */
export const catchUpWordsLike = `${prefix}%`;
export const isCatchUp = ({ words }: Pick<Walk, 'words'>): boolean => words.startsWith(prefix);

/** Days of an owner that a walk has read completely. */
interface Read {
  /** As they were at this moment of the source. */
  readonly at: Date;
  /** When the walk was opened, as the warehouse writes it: with microseconds. */
  readonly opened: string;
  readonly days: number;
}

/**
 * One owner that fails must not make the others be read from where it failed, night after night. An owner
 * that neither the open walk nor a catch-up has read is read as `window` says; one that is closed to us waits
 * for the open walk.
 */
export async function catchUpSlices(
  db: Kysely<AnyDatabase>,
  at: { readonly sourceId: number; readonly stream: string; readonly days: Days; readonly clock: Date },
  open: Pick<Walk, 'walkId'>,
  window: Window,
  owners: readonly Partition[],
): Promise<readonly Slice[]> {
  const { days, clock, sourceId } = at;
  const reads = await readSince(db, open);
  const closed = await closedOwners(db, open);
  // Most owners were read by the same walks: one query answers for all of them.
  const late = new Map<string, ReturnType<typeof lateIn>>();
  const lateSince = (opened: string, from: Date): ReturnType<typeof lateIn> => {
    const key = `${opened} ${from.toISOString()}`;
    const found = late.get(key) ?? lateIn(db, sourceId, days, opened, from);
    late.set(key, found);
    return found;
  };
  const slices: Slice[] = [];
  for (const partition of owners) {
    const name = partitionText(partition);
    if (closed.has(name)) continue;
    const own = reads.get(name) ?? [];
    const last = own.at(-1);
    if (last === undefined) {
      slices.push(...slicesOf({ days }, window, [partition]));
      continue;
    }
    const due = await daysDue(days, clock, last.at, async (back) => {
      const deep = own.findLast((read) => read.days >= back);
      return deep?.at ?? lastRead(db, at, back);
    });
    if (due?.from === undefined) continue;
    const since = (await lateSince(last.opened, due.from)).get(name);
    const from =
      since === undefined ? due.from : earlier(due.from, later(daysThere(days, clock).from, midnight(since)));
    slices.push(...slicesOf({ days }, { ...due, from }, [partition]));
  }
  return slices;
}

/** What the open walk and its catch-ups have read, by owner, oldest first. */
async function readSince(
  db: Kysely<AnyDatabase>,
  open: Pick<Walk, 'walkId'>,
): Promise<ReadonlyMap<string, readonly Read[]>> {
  const { rows } = await sql<Read & { partition: Partition }>`
    select s.partition, w.source_clock as at, w.opened_at::text as opened,
      (extract(epoch from max(s.window_to) - min(s.window_from)) / 86400)::float8 as days
    from ops.walks w join ops.slices s using (walk_id)
    where (w.walk_id = ${open.walkId}::bigint or w.words = ${catchUpWords(open)}) and w.source_clock is not null and s.partition is not null
    group by w.walk_id, s.partition
    having bool_and(s.status in ('done', 'split') or (s.status = 'absent' and s.error_code is not distinct from ${tooOld}))
    order by w.walk_id`.execute(db);
  return Map.groupBy(rows, ({ partition }) => partitionText(partition));
}

/** Owners whose part of the open walk was refused (403) when it was last asked for. */
async function closedOwners(
  db: Kysely<AnyDatabase>,
  { walkId }: Pick<Walk, 'walkId'>,
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ partition: Partition }>`select distinct partition from ops.slices
    where walk_id = ${walkId}::bigint and status = 'failed' and error_code = 'forbidden' and partition is not null`.execute(
    db,
  );
  return new Set(rows.map(({ partition }) => partitionText(partition)));
}
