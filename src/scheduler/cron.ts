/**
 * When a schedule is due. node-cron reads the five fields (minute, hour, day of month, month, day of week, with lists, ranges, steps and English
 * names); the instants are found here. As everywhere, a day fits if day of month or day of week fits where both are restricted (crontab(5)).
 *
 * Where clocks are set: a fixed local time that does not exist is due at the first instant behind the gap; one that comes twice is due the
 * first time only. A schedule with `*` or a step for the hour goes by elapsed time instead: it is due at every instant whose clock fits.
 */

import { type ParsedFields, validateDetailed } from 'node-cron';
import { Misconfigured } from '../core/errors.ts';
import { days } from '../core/time.ts';
import { instantsOf, isUneven, type Offset, offsets } from './zone.ts';

/** A schedule as a pipeline file has it. */
export interface When {
  readonly cron: string;
  readonly timeZone: string;
}

/** A schedule that can be asked. Instants are UTC. */
export interface Due {
  /** The first instant behind `after`. */
  next(after: Date): Date;
  /** The instants in `(after, to]`, newest first, `most` at most. */
  between(after: Date, to: Date, most: number): readonly Date[];
}

interface Fields {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly daysOfMonth: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly daysOfWeek: ReadonlySet<number>;
  /** Both kinds of day are restricted: one that fits is enough. */
  readonly eitherDay: boolean;
  readonly everyHour: boolean;
}

/** 29 February on a given weekday comes after 40 years at the latest (over 2100). */
const farthestDays = 366 * 41;

/** Throws Misconfigured with what is wrong: the fields, the zone, or a day that never comes. */
export function due({ cron, timeZone }: When): Due {
  const fields = fieldsOf(cron);
  const offset = offsets(timeZone);
  const next = (after: number): number => {
    const first = midnightOf(offset, after) - days(1);
    for (let day = 0; day <= farthestDays; day++) {
      const found = instantsOn(fields, offset, first + days(day)).find((at) => at > after);
      if (found !== undefined) return found;
    }
    throw new Misconfigured(`the schedule “${cron}” never comes`);
  };
  next(Date.UTC(2020, 0, 1));
  return {
    next: (after) => new Date(next(after.getTime())),
    between(after, to, most) {
      const found: Date[] = [];
      const last = midnightOf(offset, after.getTime()) - days(1);
      for (let midnight = midnightOf(offset, to.getTime()) + days(1); midnight >= last; midnight -= days(1)) {
        for (const at of instantsOn(fields, offset, midnight).toReversed()) {
          if (at > to.getTime() || at === found.at(-1)?.getTime()) continue;
          if (at <= after.getTime() || found.length >= most) return found;
          found.push(new Date(at));
        }
      }
      return found;
    },
  };
}

/** The wall clock of the midnight before an instant, written as if it were UTC. */
const midnightOf = (offset: Offset, at: number): number => Math.floor((at + offset(at)) / days(1)) * days(1);

/** The instants due on the local day that begins at the wall clock `midnight`, ascending. */
function instantsOn(fields: Fields, offset: Offset, midnight: number): readonly number[] {
  const date = new Date(midnight);
  if (!fields.months.has(date.getUTCMonth() + 1) || !fitsDay(fields, date)) return [];
  const walls = fields.hours.flatMap((hour) =>
    fields.minutes.map((minute) => midnight + hour * 3_600_000 + minute * 60_000),
  );
  if (!isUneven(offset, midnight)) {
    const ahead = offset(midnight);
    return walls.map((wall) => wall - ahead);
  }
  const found = walls.flatMap((wall) => {
    const { at, after } = instantsOf(offset, wall);
    return fields.everyHour ? at : [after];
  });
  return [...new Set(found)].sort((a, b) => a - b);
}

function fitsDay({ daysOfMonth, daysOfWeek, eitherDay }: Fields, date: Date): boolean {
  const ofMonth = daysOfMonth.has(date.getUTCDate());
  const ofWeek = daysOfWeek.has(date.getUTCDay());
  return eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

function fieldsOf(cron: string): Fields {
  const words = cron.trim().split(/\s+/);
  // node-cron also takes a field of seconds, and names such as @daily.
  const [, hour = '', dayOfMonth = '', , dayOfWeek] = words;
  if (dayOfWeek === undefined || words.length > 5)
    throw new Misconfigured(
      `“${cron}” has ${words.length} fields; a schedule has five: minute, hour, day, month, weekday`,
    );
  const { fields, errors } = validateDetailed(words.join(' '));
  const [wrong] = errors;
  if (wrong?.message.includes('impossible')) throw new Misconfigured(`the schedule “${cron}” never comes`);
  if (fields === undefined || wrong !== undefined)
    throw new Misconfigured(
      `“${cron}”: “${wrong?.value}” is not a ${names[wrong?.field ?? ''] ?? 'schedule'}`,
    );
  const numbers = (field: keyof ParsedFields): readonly number[] =>
    fields[field]
      .map((value) => {
        if (typeof value === 'number') return value;
        throw new Misconfigured(`“${cron}”: “${value}” as ${names[field]} is not understood; give numbers`);
      })
      .sort((a, b) => a - b);
  return {
    minutes: numbers('minute'),
    hours: numbers('hour'),
    daysOfMonth: new Set(numbers('dayOfMonth')),
    months: new Set(numbers('month')),
    daysOfWeek: new Set(numbers('dayOfWeek')),
    eitherDay: isRestricted(dayOfMonth) && isRestricted(dayOfWeek),
    everyHour: hour.startsWith('*'),
  };
}

const isRestricted = (field: string): boolean => !field.startsWith('*') && field !== '?';

/** The fields as people call them, with their bounds. */
const names: Readonly<Record<string, string>> = {
  minute: 'minute (0 to 59)',
  hour: 'hour (0 to 23)',
  dayOfMonth: 'day of month (1 to 31)',
  month: 'month (1 to 12)',
  dayOfWeek: 'day of week (0 to 7)',
};
