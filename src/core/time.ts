/**
 * Time: instants are UTC microseconds inside, text at the edges. Strict by design: what is not exactly an instant is refused,
 * because Postgres and `Date` would guess (`now`, 30 February, a missing offset).
 */
import { BadData } from './errors.ts';

/** Microseconds since 1970-01-01T00:00:00Z, negative before; always within the years 0001 to 9999. */
export type Instant = bigint;

/** Durations in milliseconds, named by their unit: `lookback: hours(24)`. */
export const seconds = (n: number): number => n * 1000;
export const minutes = (n: number): number => n * 60_000;
export const hours = (n: number): number => n * 3_600_000;
export const days = (n: number): number => n * 86_400_000;

/** Midnight UTC at or before the moment. */
export const midnight = (at: Date): Date => new Date(Math.floor(at.getTime() / days(1)) * days(1));
export const plusDays = (at: Date, count: number): Date => new Date(at.getTime() + days(count));
export const later = (a: Date, b: Date): Date => (a > b ? a : b);
export const earlier = (a: Date, b: Date): Date => (a < b ? a : b);

/** 0001-01-01T00:00:00Z and 10000-01-01T00:00:00Z in milliseconds: the bounds of RFC 3339, half open. */
const firstMs = -62_135_596_800_000;
const endMs = 253_402_300_800_000;

/** The widest offset accepted, ±18:00: the bound of Java's ZoneOffset, in which Jira is written. */
const widestOffsetMinutes = 18 * 60;

/** The value as an error message may show it: quoted, escaped, short. */
const shown = (value: unknown): string => {
  const text = JSON.stringify(typeof value === 'bigint' ? `${value}` : value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
};

const badInstant = (value: unknown): BadData =>
  new BadData('bad_instant', `${shown(value)} is not an instant like 2020-06-12T08:13:13.360+0800`);

/** The number that the two digits at a place write. */
const twoDigits = (text: string, at: number): number =>
  text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 0x30 * 11;

const dayText = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`;

/** The calendar repeats after 400 years. `Date.UTC` takes a year below 100 for one of the 20th century. */
const cycleMs = days(146_097);

/** Milliseconds since 1970 of midnight UTC of the `dayText` that begins the text; NaN where the calendar has no such day. */
const midnightMs = (text: string): number => {
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const day = twoDigits(text, 8);
  const ms = Date.UTC(year + 400, twoDigits(text, 5) - 1, day) - cycleMs;
  return day > 28 && new Date(ms).getUTCDate() !== day ? Number.NaN : ms;
};

const instantText = new RegExp(
  `^${dayText}T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6}0*)?(?:Z|[+-]\\d\\d:?[0-5]\\d)$`,
);

const fromText = (text: string): Instant => {
  if (!instantText.test(text)) throw badInstant(text);
  const { length } = text;
  const zone = text.endsWith('Z') ? length - 1 : length - (text[length - 3] === ':' ? 6 : 5);
  const offset = zone === length - 1 ? 0 : twoDigits(text, zone + 1) * 60 + twoDigits(text, length - 2);
  if (offset > widestOffsetMinutes) throw badInstant(text);
  const time = (twoDigits(text, 11) * 60 + twoDigits(text, 14)) * 60 + twoDigits(text, 17);
  const ms = midnightMs(text) + seconds(time) - minutes(text[zone] === '-' ? -offset : offset);
  if (!(ms >= firstMs && ms < endMs)) throw badInstant(text);
  let micros = 0;
  for (let at = 20; at < 26; at++) micros = micros * 10 + (at < zone ? text.charCodeAt(at) - 0x30 : 0);
  const total = ms * 1000 + micros;
  return Number.isSafeInteger(total) ? BigInt(total) : BigInt(ms) * 1000n + BigInt(micros);
};

/** Epoch milliseconds below this would lie before 1973: from a source that does not say what it counts more likely seconds. */
const leastLikelyMs = 1e11;

/** A whole number of milliseconds since 1970 UTC. Throws `BadData('bad_instant')` for anything else. */
const epochMs = (value: number): Instant => {
  if (!Number.isInteger(value) || value < firstMs || value >= endMs) throw badInstant(value);
  return BigInt(value) * 1000n;
};

/**
 * An instant of a source, exactly: `2020-06-12T08:13:13.360+0800`, `Z`, an offset with colon, up to six fractional digits (more if they
 * are zeros), or a number: of milliseconds since 1970, or of seconds where milliseconds would lie before 1973. Days and times must exist;
 * offsets reach ±18:00; years 0001 to 9999. Throws `BadData('bad_instant')` for everything else, above all for a missing offset.
 */
export const parseInstant = (value: string | number): Instant => {
  if (typeof value === 'string') return fromText(value);
  return epochMs(value > 0 && value < leastLikelyMs ? value * 1000 : value);
};

/**
 * The same of a source that does not say how it writes instants: also seconds with a fraction, counts as text, and nanoseconds, as Go
 * writes them, which are rounded down to microseconds.
 */
export const parseAnyInstant = (value: string | number): Instant => {
  const count = typeof value === 'string' && /^\d{9,15}(\.\d{1,9})?$/.test(value) ? Number(value) : value;
  if (typeof count === 'string') return parseInstant(count.replace(/(\.\d{6})\d{1,3}(?!\d)/, '$1'));
  if (count < leastLikelyMs / 1000) throw badInstant(value);
  return count >= leastLikelyMs ? parseInstant(count) : BigInt(Math.round(count * 1_000_000));
};

const wholeDay = new RegExp(`^${dayText}$`);

/** Days since 1970-01-01 of a calendar day `YYYY-MM-DD`, years 0001 to 9999; NaN for anything else. */
export const daysSince1970 = (text: string): number => {
  const ms = wholeDay.test(text) ? midnightMs(text) : Number.NaN;
  return ms >= firstMs ? ms / days(1) : Number.NaN;
};

/** A calendar day `YYYY-MM-DD`, years 0001 to 9999, returned as it came. Throws `BadData('bad_date')` for anything else. */
export const parseDay = (text: string): string => {
  if (!Number.isNaN(daysSince1970(text))) return text;
  throw new BadData('bad_date', `${shown(text)} is not a day like 2020-06-12`);
};

const floorToMs = (instant: Instant): bigint => (instant - (((instant % 1000n) + 1000n) % 1000n)) / 1000n;

/** As a `Date`, rounded down to its millisecond. */
export const instantToDate = (instant: Instant): Date => new Date(Number(floorToMs(instant)));

/** Throws `BadData('bad_instant')` for an invalid `Date` or one outside the years 0001 to 9999. */
export const dateToInstant = (date: Date): Instant => epochMs(date.getTime());

/** As RFC 3339 in UTC, with three fractional digits, or six where the instant has microseconds: `2020-06-12T00:13:13.360Z`. */
export const formatInstant = (instant: Instant): string => {
  const micros = instant - floorToMs(instant) * 1000n;
  const text = instantToDate(instant).toISOString();
  return micros === 0n ? text : `${text.slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
};
