/**
 * When a schedule is due. node-cron reads the five fields; the instants are found here, exactly in every time zone. As in crontab(5), a day fits
 * if day of month or day of week fits where both are restricted.
 *
 * Where clocks change: a fixed local time that does not exist is due at the first instant after the gap; one that comes twice is due the first
 * time only. A schedule with `*` or a step for the hour is due at every instant whose clock fits.
 */

import { validateDetailed } from 'node-cron';
import { Misconfigured } from '../core/errors.ts';
import { days, hours, minutes } from '../core/time.ts';

/** A schedule that was read: the instants after the given one, oldest first. UTC. */
export type Due = (after: Date) => Generator<Date, never>;

type Fields = ReturnType<typeof fieldsOf>;

/** What clocks show at an instant (epoch ms), in whole seconds, written as if it were UTC. */
type Clock = (at: number) => number;

/** 29 February on a given weekday comes after 40 years at the latest (over 2100). */
const farthestDays = 366 * 41;

/** Clocks are at most this far from UTC, and have jumped at most this far (islands that crossed the date line). */
const farthest = hours(26);

/** Reads five cron fields in an IANA time zone. Throws `Misconfigured` with what is wrong: a field, the zone, or a day that never comes. */
export function due({ cron, timeZone }: { readonly cron: string; readonly timeZone: string }): Due {
  const fields = fieldsOf(cron);
  const clock = clockOf(timeZone);
  function* after(start: Date): Generator<Date, never> {
    const today = Math.floor(clock(start.getTime()) / days(1));
    for (let day = today - 1, last = start.getTime(); day < today + farthestDays; day++)
      for (const at of instantsOn(fields, clock, days(day)))
        if (at > last) {
          last = at;
          yield new Date(at);
        }
    throw new Misconfigured(`the schedule “${cron}” never comes`);
  }
  after(new Date(0)).next();
  return after;
}

/** The instants in `(after, to]`, oldest first. */
export function between(due: Due, after: Date, to: Date): readonly Date[] {
  const found: Date[] = [];
  for (const at of due(after)) {
    if (at > to) break;
    found.push(at);
  }
  return found;
}

/** The instants due on the local day that begins at `midnight` (a wall clock written as if it were UTC), ascending. */
function instantsOn({ isDay, times, everyHour }: Fields, clock: Clock, midnight: number): readonly number[] {
  if (!isDay(new Date(midnight))) return [];
  // How far clocks are ahead of UTC before and after that day, the larger one first: two where they change.
  const sides = [midnight - farthest, midnight + days(1) + farthest].map((at) => clock(at) - at);
  const ahead = [...new Set(sides)].sort((a, b) => b - a);
  const found = times.flatMap((time) => {
    const wall = midnight + time;
    const possible = ahead.map((ms) => wall - ms);
    const exact = ahead.length === 1 ? possible : possible.filter((at) => clock(at) === wall);
    return everyHour ? exact : (exact[0] ?? afterGap(clock, wall, Math.min(...possible)));
  });
  return found.sort((a, b) => a - b);
}

/** The first instant at which clocks that were set forward over `wall` show a later time, to the minute. */
function afterGap(clock: Clock, wall: number, before: number): number {
  let at = before;
  while (clock(at) < wall) at += minutes(1);
  return at;
}

/** Made once for each time zone: it takes longer than a day of instants. */
const formats = new Map<string, Intl.DateTimeFormat>();

function clockOf(timeZone: string): Clock {
  try {
    const style = { timeZone, dateStyle: 'short', timeStyle: 'medium' } as const;
    const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', style);
    formats.set(timeZone, format);
    return (at) => Date.parse(`${format.format(at).replace(' ', 'T')}Z`);
  } catch (cause) {
    throw new Misconfigured(`there is no time zone “${timeZone}”`, { cause });
  }
}

/** Times of a day are ms since its midnight, ascending. */
function fieldsOf(cron: string) {
  const parts = cron.trim().split(/\s+/);
  const { fields, errors } = validateDetailed(parts.join(' '));
  // node-cron also knows a field of seconds, names such as @daily, and L, W and #.
  const special = Object.values(fields ?? {})
    .flat()
    .find((value) => typeof value === 'string');
  const why =
    parts.length === 5
      ? (errors[0]?.message ?? (special && `“${special}” is not supported`))
      : `it has ${parts.length} fields, not five: minute, hour, day of month, month, day of week`;
  if (fields === undefined || why !== undefined)
    throw new Misconfigured(`the schedule “${cron}” cannot be read: ${why}`);
  const { minute, hour, dayOfMonth, month, dayOfWeek } = fields;
  const isRestricted = (word = '*'): boolean => !word.startsWith('*') && word !== '?';
  const eitherDay = isRestricted(parts[2]) && isRestricted(parts[4]);
  return {
    isDay(date: Date): boolean {
      if (!month.includes(date.getUTCMonth() + 1)) return false;
      const fits = [dayOfMonth.includes(date.getUTCDate()), dayOfWeek.includes(date.getUTCDay())];
      return eitherDay ? fits.includes(true) : !fits.includes(false);
    },
    times: hour.flatMap((h) => minute.map((m) => hours(h) + minutes(m))).sort((a, b) => a - b),
    everyHour: parts[1]?.startsWith('*') === true,
  };
}
