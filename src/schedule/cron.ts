/**
 * When a schedule is due. Five fields (minute, hour, day of month, month, day of week) with lists, ranges, steps and English names; as
 * everywhere, a day fits if day of month or day of week fits where both are restricted (crontab(5)).
 *
 * Where clocks are set: a fixed local time that does not exist is due at the first instant behind the gap; one that comes twice is due the
 * first time only. A schedule with `*` or a step for the hour goes by elapsed time instead: it is due at every instant whose clock fits.
 */

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

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

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
  const words = cron.trim().toLowerCase().split(/\s+/);
  const [minute, hour, dayOfMonth, month, dayOfWeek, ...more] = words;
  if (
    minute === undefined ||
    hour === undefined ||
    dayOfMonth === undefined ||
    month === undefined ||
    dayOfWeek === undefined ||
    more.length > 0
  )
    throw new Misconfigured(
      `“${cron}” has ${words.length} fields; a schedule has five: minute, hour, day, month, weekday`,
    );
  const read = (
    text: string,
    name: string,
    low: number,
    high: number,
    names: readonly string[] = [],
  ): readonly number[] => valuesOf(text, { cron, name, low, high, names });
  return {
    minutes: read(minute, 'minute', 0, 59),
    hours: read(hour, 'hour', 0, 23),
    daysOfMonth: new Set(read(dayOfMonth, 'day of month', 1, 31)),
    months: new Set(read(month, 'month', 1, 12, monthNames)),
    daysOfWeek: new Set(read(dayOfWeek, 'day of week', 0, 7, dayNames).map((day) => day % 7)),
    eitherDay: !dayOfMonth.startsWith('*') && !dayOfWeek.startsWith('*'),
    everyHour: hour.startsWith('*'),
  };
}

interface Range {
  readonly cron: string;
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly names: readonly string[];
}

/** `*`, `5`, `1-5`, `mon-fri`, any of them with `/2`, several with commas; ascending, each once. */
function valuesOf(text: string, range: Range): readonly number[] {
  const { cron, name, low, high } = range;
  const wrong = (): Misconfigured => new Misconfigured(`“${cron}”: “${text}” is not a ${name} (${low} to ${high})`);
  const values = text.split(',').flatMap((part) => {
    const found = /^(?:\*|(?<from>\w+)(?:-(?<to>\w+))?)(?:\/(?<step>\d{1,3}))?$/.exec(part)?.groups;
    if (found === undefined) throw wrong();
    const { from, to, step } = found;
    const first = from === undefined ? low : numberOf(from, range);
    // `5/10` is from 5 to the end.
    const single = step === undefined ? first : high;
    const last = from === undefined ? high : to === undefined ? single : numberOf(to, range);
    const by = step === undefined ? 1 : Number(step);
    if (first === undefined || last === undefined || first > last || by < 1) throw wrong();
    return Array.from({ length: Math.floor((last - first) / by) + 1 }, (_, index) => first + index * by);
  });
  return [...new Set(values)].sort((a, b) => a - b);
}

function numberOf(text: string, { low, high, names }: Range): number | undefined {
  const named = names.indexOf(text);
  const value = named >= 0 ? named + low : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= low && value <= high ? value : undefined;
}
