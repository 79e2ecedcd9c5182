/** Facts by day: which days a run reads, and how they are cut into slices. */

import { CompiledQuery, type Kysely, sql } from 'kysely';
import type { Days, Partition, Slice, Window } from '../../core/stream.ts';
import { days as daysOf, hours } from '../../core/time.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';
import { partitionText, tooOld } from '../state/slice-state.ts';

const day = daysOf(1);

/** A run that begins somewhat earlier than the last one still counts as due. */
const slack = hours(6);

/**
 * Whether what is read every `every` days is due, by the source's clock. A last time in the future came from
 * a wrong clock.
 */
export const isDue = (last: Date, every: number, clock: Date): boolean => {
  const age = clock.getTime() - last.getTime();
  return age >= daysOf(every) - slack || age < -slack;
};

/** A slice with more rows than this is halved. */
export const mostRows = 20_000;

/** Midnight UTC at or before the moment. */
export const midnight = (at: Date): Date => new Date(Math.floor(at.getTime() / day) * day);

const plus = (at: Date, count: number): Date => new Date(at.getTime() + count * day);
export const later = (a: Date, b: Date): Date => (a > b ? a : b);
export const earlier = (a: Date, b: Date): Date => (a < b ? a : b);

/** The days that the source has: from the beginning of history to the last day that is read. */
export function daysThere(
  { start, oldest, present }: Days,
  clock: Date,
): { readonly from: Date; readonly to: Date } {
  const today = midnight(clock);
  const from = oldest === undefined ? midnight(start) : later(midnight(start), plus(today, -oldest));
  return { from, to: present ? plus(today, 1) : today };
}

/** The whole days of `asked` that the source has; undefined where it has none. */
export function daysWithin(
  days: Days,
  clock: Date,
  asked: { readonly from: Date; readonly to: Date },
): Window | undefined {
  const there = daysThere(days, clock);
  const from = later(midnight(asked.from), there.from);
  const to = earlier(midnight(new Date(asked.to.getTime() + day - 1)), there.to);
  return from < to ? { field: 'day', from, to } : undefined;
}

/**
 * What a run reads again: everything since the watermark, and as far back as the deepest restatement that is
 * due, counted in days that are over. One that is overdue reaches back as far as it would have reached on
 * time: those days were not read since. `readAt(back)` is when the last so many days were last read, by the
 * source's clock.
 */
export async function daysDue(
  days: Days,
  clock: Date,
  watermark: Date,
  readAt: (back: number) => Promise<Date | undefined>,
): Promise<Window | undefined> {
  const { from, to } = daysThere(days, clock);
  let since = earlier(midnight(watermark), midnight(clock));
  for (const { every, back } of days.reread) {
    const last = every <= 1 ? watermark : await readAt(back);
    if (every > 1 && last !== undefined && !isDue(last, every, clock)) continue;
    const onTime = last === undefined ? clock : earlier(clock, plus(last, every));
    since = earlier(since, plus(midnight(onTime), -back));
  }
  const first = later(from, since);
  return first < to ? { field: 'day', from: first, to } : undefined;
}

/**
 * When so many of the last days were last read completely. A history that is shorter never was: each run
 * reads all of it.
 */
export async function lastRead(
  db: Kysely<AnyDatabase>,
  at: { readonly sourceId: number; readonly stream: string },
  back: number,
): Promise<Date | undefined> {
  const { rows } = await sql<{ last: Date | null }>`select max(source_clock) as last from ops.walks
    where source_id = ${at.sourceId} and stream = ${at.stream} and status = 'done' and kind in ('full', 'incremental')
      and window_to - window_from >= ${back} * interval '1 day'`.execute(db);
  return rows[0]?.last ?? undefined;
}

/**
 * The slices of a walk over the days of `window`. Of an owner that the last walk that was completed did not
 * ask for, all of history is read; of one of whose days it was refused some or all, everything since the
 * first of these; of one that has got members since which may have facts from before, everything since the
 * first of them.
 */
export async function slicesSince(
  db: Kysely<AnyDatabase>,
  at: {
    readonly sourceId: number;
    readonly stream: string;
    readonly days: Days;
    readonly clock: Date;
  },
  window: Window,
  owners: readonly Partition[],
): Promise<readonly Slice[]> {
  const { days } = at;
  const last = await lastComplete(db, at);
  const late = last === undefined ? new Map() : await lateIn(db, at.sourceId, days, last.at, window.from);
  const there = daysThere(days, at.clock);
  return owners.flatMap((partition) => {
    const name = partitionText(partition);
    const since = [late.get(name), last?.refused.get(name)].flatMap((from) =>
      from === undefined ? [] : [later(there.from, midnight(from))],
    );
    const from =
      last?.asked.has(name) === true ? since.reduce(earlier, window.from ?? there.from) : there.from;
    return slicesOf({ days }, { ...window, from }, [partition]);
  });
}

interface Complete {
  /** When the walk was opened, as the warehouse writes it: with microseconds. */
  readonly at: string;
  /** The owners that it asked for some days, and was answered or refused. */
  readonly asked: ReadonlySet<string>;
  /** The first day that it was refused, by owner. */
  readonly refused: ReadonlyMap<string, Date>;
}

/** What the last walk that was completed has read. */
async function lastComplete(
  db: Kysely<AnyDatabase>,
  at: { readonly sourceId: number; readonly stream: string },
): Promise<Complete | undefined> {
  const { rows } = await sql<{
    at: string;
    partition: Partition | null;
    asked: boolean | null;
    refused: Date | null;
  }>`select w.opened_at::text as at, s.partition, bool_or(s.status in ('done', 'absent')) as asked,
      min(s.window_from) filter (where s.status = 'absent' and s.error_code is distinct from ${tooOld}) as refused
    from ops.walks w left join ops.slices s on s.walk_id = w.walk_id
    where w.walk_id = (select max(walk_id) from ops.walks
      where source_id = ${at.sourceId} and stream = ${at.stream} and status = 'done' and kind in ('full', 'incremental'))
    group by w.opened_at, s.partition`.execute(db);
  const [first] = rows;
  const named = rows.map((row) => ({ ...row, name: partitionText(row.partition ?? {}) }));
  return (
    first && {
      at: first.at,
      asked: new Set(named.flatMap(({ name, asked }) => (asked === true ? [name] : []))),
      refused: new Map(
        named.flatMap(({ name, refused }) => (refused === null ? [] : [[name, refused] as const])),
      ),
    }
  );
}

/**
 * The first day, by owner, of facts from before `from` that became known after the moment `known` (as the
 * warehouse writes it).
 */
export async function lateIn(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  { joined }: Days,
  known: string,
  from: Date | undefined,
): Promise<ReadonlyMap<string, Date>> {
  if (joined === undefined || from === undefined) return new Map();
  const { rows } = await db.executeQuery<{ since: Date | null; [column: string]: unknown }>(
    CompiledQuery.raw(joined, [sourceId, known, from.toISOString()]),
  );
  return new Map(
    rows.map(({ since, ...partition }) => [
      partitionText(
        Object.fromEntries(Object.entries(partition).map(([name, value]) => [name, String(value)])),
      ),
      since ?? new Date(0),
    ]),
  );
}

/** One slice an owner; of days as many as the server's limit makes necessary. */
export function slicesOf(
  { days }: { readonly days?: Days | undefined },
  window: Window | undefined,
  owners: readonly (Partition | undefined)[],
): readonly Slice[] {
  const windows =
    window === undefined ? [undefined] : days === undefined ? [window] : pieces(window, days.longest);
  return owners.flatMap((partition) =>
    windows.map((piece) => ({
      ...(partition === undefined ? {} : { partition }),
      ...(piece === undefined ? {} : { window: piece }),
    })),
  );
}

/** Cuts a window into pieces of at most so many days, the newest first: it is what people ask for first. */
function pieces(window: Window, longest: number): readonly Window[] {
  const { from, to } = window;
  if (from === undefined || to === undefined) return [window];
  const cut: Window[] = [];
  for (let end = to; end > from; end = cut.at(-1)?.from ?? from)
    cut.push({ ...window, from: later(from, plus(end, -longest)), to: end });
  return cut;
}

/** The two halves of a slice of several days, cut at a midnight; undefined for a single day. */
export function halfDays(slice: Slice): readonly [Slice, Slice] | undefined {
  const { window } = slice;
  if (window?.from === undefined || window.to === undefined) return undefined;
  const count = Math.round((window.to.getTime() - window.from.getTime()) / day);
  if (count < 2) return undefined;
  return cutAt(slice, plus(window.from, Math.floor(count / 2)));
}

/**
 * What the source does not tell any more of a slice that an earlier run has planned, and the rest, which it
 * still does; undefined where the slice is all of one kind.
 */
export function goneAndThere(slice: Slice, days: Days, clock: Date): readonly [Slice, Slice] | undefined {
  const { window } = slice;
  if (window?.from === undefined || window.to === undefined) return undefined;
  const { from } = daysThere(days, clock);
  return window.from < from && from < window.to ? cutAt(slice, from) : undefined;
}

const cutAt = (slice: Slice, at: Date): readonly [Slice, Slice] | undefined =>
  slice.window && [
    { ...slice, window: { ...slice.window, to: at } },
    { ...slice, window: { ...slice.window, from: at } },
  ];
