/** Civil time of named zones, by the IANA rules that Node carries. Instants are epoch milliseconds. */

const DAY = 86_400_000;
const formats = new Map<string, Intl.DateTimeFormat>();
const days = new Map<string, Map<number, number | undefined>>();

const formatOf = (zone: string): Intl.DateTimeFormat => {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formats.set(zone, made);
  return made;
};

const offsetExactly = (zone: string, at: number): number => {
  const whole = Math.floor(at / 1000) * 1000;
  const parts: Record<string, number> = {};
  for (const part of formatOf(zone).formatToParts(whole)) parts[part.type] = Number(part.value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - whole;
};

/** Milliseconds that the zone's wall clock is ahead of UTC at this instant. Throws RangeError for an unknown zone. */
export const offsetAt = (zone: string, at: number): number => {
  if (zone === 'UTC' || zone === 'Etc/UTC') return 0;
  let known = days.get(zone);
  if (known === undefined) {
    known = new Map();
    days.set(zone, known);
  }
  const day = Math.floor(at / DAY);
  if (!known.has(day)) {
    // Two equal ends mean a day without a change; only days with one are asked instant by instant.
    const first = offsetExactly(zone, day * DAY);
    known.set(day, first === offsetExactly(zone, (day + 1) * DAY) ? first : undefined);
  }
  return known.get(day) ?? offsetExactly(zone, at);
};

/** `2020-06-12T08:13:13.360+0800`: milliseconds and an offset without a colon, in the zone (vendor-facts 1.3). */
export const stampIn = (zone: string, at: number): string => {
  const offset = offsetAt(zone, at);
  const minutes = Math.abs(offset) / 60_000;
  const two = (n: number): string => String(n).padStart(2, '0');
  const sign = offset < 0 ? '-' : '+';
  return `${new Date(at + offset).toISOString().slice(0, -1)}${sign}${two(Math.floor(minutes / 60))}${two(Math.floor(minutes % 60))}`;
};

/**
 * The instant at which the zone's wall clock shows this civil time (given as if it were UTC). A time that occurs twice is its first
 * occurrence; a time that is skipped is moved on by the length of the gap, as Java does.
 */
export const instantIn = (zone: string, wall: number): number => {
  const before = offsetAt(zone, wall - DAY);
  const after = offsetAt(zone, wall + DAY);
  const early = wall - Math.max(before, after);
  const late = wall - Math.min(before, after);
  if (offsetAt(zone, early) === wall - early) return early;
  if (offsetAt(zone, late) === wall - late) return late;
  return wall - before;
};
