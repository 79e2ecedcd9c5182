/** How a tracker is told an instant: the forms of a date literal that servers of this kind understand, from exact to coarse. */

import { hours } from '../../core/time.ts';
import type { Zone } from './zone.ts';

/** A form of date literal. The literals never lose a record of a half-open window: they may only let more through. */
export interface DateForm {
  /** For people: `epoch milliseconds`, `"yyyy-MM-dd HH:mm" in Europe/Berlin`. */
  readonly name: string;
  /** How far before or after the instant asked for a literal may be read (ms). */
  readonly slack: number;
  /** A literal for `>=` that the server reads as `at` or earlier. */
  from(at: Date): string;
  /** A literal for `<` that the server reads as `at` or later; undefined where it takes no upper bound. */
  to(at: Date): string | undefined;
}

/** The same for a server that knows lower bounds alone: `created >= <date>` is all that the contract says of them. */
export const withoutUpperBound = (form: DateForm): DateForm => ({
  ...form,
  name: `${form.name}, without an upper bound`,
  to: () => undefined,
});

/**
 * Unquoted milliseconds since 1970: absolute, whatever the account's zone. A negative number would be a *relative* time to the vendor
 * ("-5m"), so instants before 1970 are asked for as 1970.
 */
export const epochMillis: DateForm = {
  name: 'epoch milliseconds',
  slack: 0,
  from: (at) => String(Math.max(0, at.getTime())),
  to: (at) => String(Math.max(0, at.getTime())),
};

/**
 * Quoted minutes, read by the server in `zone`; `margin` (ms) widens each bound where the zone is not certain. `between`: what stands between
 * the parts of the day.
 */
export const localMinutes = (zone: Zone, margin = 0, between: '-' | '/' = '-'): DateForm => ({
  name: `"yyyy${between}MM${between}dd HH:mm" in ${zone.name}${widened(margin)}`,
  slack: margin + hours(5),
  from: (at) => `"${minuteText(zone.wall(zone.floor(at.getTime() - margin)), between)}"`,
  to: (at) => `"${minuteText(zone.wall(zone.ceil(at.getTime() + margin)), between)}"`,
});

/**
 * Quoted instants with their offset, for servers that know no literal of the vendor's; `margin` (ms) widens each bound: one that reads over the
 * offset may be right in winter and wrong in summer.
 */
export const offsetInstants = (margin = 0): DateForm => {
  const text = (at: number): string => `"${iso(at).replace('Z', '+00:00')}"`;
  return {
    name: `"yyyy-MM-ddTHH:mm:ss.SSS+00:00"${widened(margin)}`,
    slack: margin,
    from: (at) => text(at.getTime() - margin),
    to: (at) => text(at.getTime() + margin),
  };
};

/**
 * Dates only, for servers that know nothing finer; a date is its first instant in a zone we do not rely on, so each bound is widened by
 * more than any zone's offset (UTC-12 to UTC+14, and an hour for nights whose midnight does not exist).
 */
export const days = (quote: '"' | ''): DateForm => ({
  name: quote === '' ? 'yyyy-MM-dd' : '"yyyy-MM-dd"',
  slack: hours(24) + anyZone,
  from: (at) => `${quote}${dayText(at.getTime() - anyZone)}${quote}`,
  to: (at) => `${quote}${dayText(at.getTime() + anyZone + hours(24) - 1)}${quote}`,
});

/** More than any zone differs from UTC, in milliseconds. */
export const anyZone = hours(15);

/** More than a zone differs from its own offset at another time of the year, in milliseconds. */
export const anySeason = hours(3);

const widened = (margin: number): string => (margin === 0 ? '' : `, widened by ${margin / hours(1)} h`);
const iso = (at: number): string => new Date(at).toISOString();
const minuteText = (wall: number, between: string): string =>
  `${iso(wall).slice(0, 10).replaceAll('-', between)} ${iso(wall).slice(11, 16)}`;
const dayText = (at: number): string => iso(at).slice(0, 10);
