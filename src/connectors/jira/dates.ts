/** Instants as date literals of JQL, and wall-clock time of the account's zone, in which the server reads quoted ones. */

import { hours } from '../../core/time.ts';

/** A form of date literal. Its bounds never lose a record of a half-open window; they may let more through. */
export interface DateForm {
  /** For people: `epoch milliseconds`, `"yyyy-MM-dd HH:mm" in Europe/Berlin`. */
  readonly name: string;
  /** How far from the instant a literal may be read, in milliseconds. */
  readonly slack: number;
  /** A literal for `>=` that the server reads as `at` or earlier. */
  from(at: Date): string;
  /** A literal for `<` that the server reads as `at` or later; undefined where it takes no upper bound. */
  to(at: Date): string | undefined;
}

/** The same for a server that knows lower bounds alone: the contract names only `created >= <date>`. */
export const withoutUpperBound = (form: DateForm): DateForm => ({
  ...form,
  name: `${form.name}, without an upper bound`,
  to: () => undefined,
});

/** Unquoted milliseconds since 1970, absolute. Never negative: the vendor reads `-5` as a relative time. */
export const epochMillis: DateForm = {
  name: 'epoch milliseconds',
  slack: 0,
  from: (at) => String(Math.max(0, at.getTime())),
  to: (at) => String(Math.max(0, at.getTime())),
};

/** Quoted minutes, read by the server in `zone`; `margin` (ms) widens each bound where the zone is not certain. */
export const localMinutes = (zone: Zone, margin = 0): DateForm => ({
  name: `"yyyy-MM-dd HH:mm" in ${zone.name}${margin === 0 ? '' : `, widened by ${margin / hours(1)} h`}`,
  slack: margin + hours(5),
  from: (at) => `"${minuteText(zone.wall(zone.floor(at.getTime() - margin)))}"`,
  to: (at) => `"${minuteText(zone.wall(zone.ceil(at.getTime() + margin)))}"`,
});

/** Dates alone, read in an unknown zone: each bound is widened beyond any zone's offset, by whole days. */
export const days = (quote: '"' | ''): DateForm => ({
  name: quote === '' ? 'yyyy-MM-dd' : '"yyyy-MM-dd"',
  slack: hours(24) + anyZone,
  from: (at) => `${quote}${dayText(at.getTime() - anyZone)}${quote}`,
  to: (at) => `${quote}${dayText(at.getTime() + anyZone + hours(24) - 1)}${quote}`,
});

/** More than any zone differs from UTC (UTC-12 to UTC+14, and an hour for a midnight that does not exist). */
export const anyZone = hours(15);

/** More than a zone differs from its own offset at another time of the year. */
export const anySeason = hours(3);

const dayText = (at: number): string => new Date(at).toISOString().slice(0, 10);
const minuteText = (wall: number): string => new Date(wall).toISOString().slice(0, 16).replace('T', ' ');

const minute = 60_000;
const quarter = 15 * minute;

/** A time zone. Instants are milliseconds since 1970 UTC; wall times are the same number read as if the zone were UTC. */
export interface Zone {
  readonly name: string;
  /** What the clocks of the zone show at an instant. */
  wall(at: number): number;
  /** The latest whole minute at or before `at` whose wall time occurs only once: however the server reads it, it is not later than `at`. */
  floor(at: number): number;
  /** The earliest whole minute at or after `at` whose wall time occurs only once: however the server reads it, it is not earlier than `at`. */
  ceil(at: number): number;
}

/** The zone of a name, or undefined where this machine does not know it. */
export const zoneOf = (name: string): Zone | undefined => {
  const clock = clockOf(name);
  if (clock === undefined) return undefined;
  const wall = (at: number): number => {
    const part: Record<string, number> = {};
    for (const { type, value } of clock.formatToParts(at)) part[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute: min = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, min, second) + (((at % 1000) + 1000) % 1000);
  };
  // A wall time that occurs twice (the clocks went back) has another instant that shows the same; the offsets in use nearby find it.
  const twice = (at: number): boolean => {
    const shown = wall(at);
    return [-26, -4, 4, 26].some((hours) => {
      const near = at + hours * 60 * minute;
      const other = shown - (wall(near) - near);
      return other !== at && wall(other) === shown;
    });
  };
  const intoMinute = (at: number): number => ((wall(at) % minute) + minute) % minute;
  const floor = (at: number): number => {
    let found = at - intoMinute(at);
    while (twice(found)) found -= quarter;
    return found;
  };
  const ceil = (at: number): number => {
    const over = intoMinute(at);
    let found = over === 0 ? at : at + minute - over;
    while (twice(found)) found += quarter;
    return found;
  };
  return { name, wall, floor, ceil };
};

const clockOf = (timeZone: string): Intl.DateTimeFormat | undefined => {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch (cause) {
    if (cause instanceof RangeError) return undefined;
    throw cause;
  }
};

/** Universal time: no wall time occurs twice in it. */
export const utc: Zone = {
  name: 'UTC',
  wall: (at) => at,
  floor: (at) => Math.floor(at / minute) * minute,
  ceil: (at) => Math.ceil(at / minute) * minute,
};
