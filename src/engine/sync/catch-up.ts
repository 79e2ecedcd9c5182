/** Which days are read beside a walk that cannot be finished: of each owner those that nobody has read of it since. */

import { type Kysely, sql } from 'kysely';
import type { Days, Partition, Slice, Window } from '../../core/stream.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';
import { partitionText, tooOld } from '../state/slice-state.ts';
import type { Walk } from '../state/walk-state.ts';
import { daysDue, daysThere, earlier, lastRead, lateIn, later, midnight, slicesOf } from './days.ts';

/** How walks are called that read what is new beside one that cannot be finished; they move no watermark, and nobody goes on with them. */
const catchUp = 'catch up ';
export const besideWords = ({ walkId }: Pick<Walk, 'walkId'>): string => `${catchUp}${walkId}`;
/** The words of all of them, as a pattern of SQL's `like`. */
export const besideAny = `${catchUp}%`;
export const isCatchUp = ({ words }: Pick<Walk, 'words'>): boolean => words.startsWith(catchUp);

/** Days of an owner that a walk has read completely. */
interface Read {
  /** As they were at this moment of the source. */
  readonly at: Date;
  /** When the walk was opened, as the warehouse writes it: with microseconds. */
  readonly opened: string;
  readonly days: number;
}

/**
 * One owner that fails must not have all others read from where it failed, night after night. An owner that neither the open walk nor one beside it
 * has read is read as `window` says.
 */
export async function slicesBeside(
  db: Kysely<AnyDatabase>,
  at: { readonly sourceId: number; readonly stream: string; readonly days: Days; readonly clock: Date },
  open: Pick<Walk, 'walkId'>,
  window: Window,
  owners: readonly Partition[],
): Promise<readonly Slice[]> {
  const { days, clock, sourceId } = at;
  const reads = await readSince(db, open);
  const lateSince = oncePerWords((opened: string, from: Date) => lateIn(db, sourceId, days, opened, from));
  const slices: Slice[] = [];
  for (const partition of owners) {
    const name = partitionText(partition);
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
    const late = (await lateSince(last.opened, due.from)).get(name);
    const from =
      late === undefined ? due.from : earlier(due.from, later(daysThere(days, clock).from, midnight(late)));
    slices.push(...slicesOf({ days }, { ...due, from }, [partition]));
  }
  return slices;
}

/** Most owners were read by the same walks: what is asked of one is asked for all of them. */
const oncePerWords = <T>(ask: (opened: string, from: Date) => Promise<T>): typeof ask => {
  const asked = new Map<string, Promise<T>>();
  return (opened, from) => {
    const words = `${opened} ${from.toISOString()}`;
    const answer = asked.get(words) ?? ask(opened, from);
    asked.set(words, answer);
    return answer;
  };
};

/** What the open walk and those beside it have read, by owner, oldest first. What an owner refused is not read. */
async function readSince(
  db: Kysely<AnyDatabase>,
  open: Pick<Walk, 'walkId'>,
): Promise<ReadonlyMap<string, readonly Read[]>> {
  const { rows } = await sql<Read & { partition: Partition }>`
    select s.partition, w.source_clock as at, w.opened_at::text as opened,
      (extract(epoch from max(s.window_to) - min(s.window_from)) / 86400)::float8 as days
    from ops.walks w join ops.slices s using (walk_id)
    where (w.walk_id = ${open.walkId}::bigint or w.words = ${besideWords(open)}) and w.source_clock is not null and s.partition is not null
    group by w.walk_id, s.partition
    having bool_and(s.status in ('done', 'split') or (s.status = 'absent' and s.error_code is not distinct from ${tooOld}))
    order by w.walk_id`.execute(db);
  return Map.groupBy(rows, ({ partition }) => partitionText(partition));
}
