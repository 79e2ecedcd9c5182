/** Wall-clock time of an IANA zone, for query literals that the server reads in the account's zone. */

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
