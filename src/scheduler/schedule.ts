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

/** A schedule that was read. Instants are UTC. */
export interface Due {
  /** The first instant after `after`. */
  next(after: Date): Date;
  /** The instants in `(after, to]`, oldest first. */
  between(after: Date, to: Date): readonly Date[];
}

type Fields = ReturnType<typeof fieldsOf>;

/** Milliseconds that a zone is ahead of UTC at an instant (epoch ms). */
type Offset = (at: number) => number;

/** 29 February on a given weekday comes after 40 years at the latest (over 2100). */
const farthestDays = 366 * 41;

/** Clocks are at most this far from UTC, and have jumped at most this far (islands that crossed the date line). */
const farthest = hours(26);

/** Reads five cron fields in an IANA time zone. Throws `Misconfigured` with what is wrong: a field, the zone, or a day that never comes. */
export function due({ cron, timeZone }: { readonly cron: string; readonly timeZone: string }): Due {
  const fields = fieldsOf(cron);
  const offset = offsetOf(timeZone);
  function* after(start: number): Generator<number> {
    const today = Math.floor((start + offset(start)) / days(1));
    for (let day = today - 1, last = start; day < today + farthestDays; day++)
      for (const at of instantsOn(fields, offset, days(day))) {
        if (at <= last) continue;
        last = at;
        yield at;
      }
    throw new Misconfigured(`the schedule “${cron}” never comes`);
  }
  const next = (start: Date): Date => new Date(Number(after(start.getTime()).next().value));
  next(new Date(0));
  return {
    next,
    between(start, to) {
      const found: Date[] = [];
      for (const at of after(start.getTime())) {
        if (at > to.getTime()) break;
        found.push(new Date(at));
      }
      return found;
    },
  };
}

/** The instants due on the local day that begins at `midnight` (a wall clock written as if it were UTC), ascending. */
function instantsOn(
  { isDay, times, everyHour }: Fields,
  offset: Offset,
  midnight: number,
): readonly number[] {
  if (!isDay(new Date(midnight))) return [];
  const before = offset(midnight - farthest);
  const later = offset(midnight + days(1) + farthest);
  const found = times.flatMap((time) => {
    const wall = midnight + time;
    if (before === later) return [wall - before];
    const exact = [wall - Math.max(before, later), wall - Math.min(before, later)].filter(
      (at) => at + offset(at) === wall,
    );
    return everyHour ? exact : [exact[0] ?? afterGap(offset, wall, later)];
  });
  return found.sort((a, b) => a - b);
}

/** The first instant at which clocks that were set forward over `wall` show a later time, to the minute. */
function afterGap(offset: Offset, wall: number, later: number): number {
  let at = wall - later;
  while (at + offset(at) < wall) at += minutes(1);
  return at;
}

function offsetOf(timeZone: string): Offset {
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
    return (at) => {
      const [, sign, hour, minute] = /GMT([+-])(\d\d):(\d\d)/.exec(format.format(at)) ?? [];
      const ahead = hours(Number(hour ?? 0)) + minutes(Number(minute ?? 0));
      return sign === '-' ? -ahead : ahead;
    };
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
