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

/** 0001-01-01T00:00:00Z and 10000-01-01T00:00:00Z in seconds: the bounds of RFC 3339, half open. */
const FIRST_SECOND = -62_135_596_800;
const END_SECOND = 253_402_300_800;

/** Days from 0001-01-01 to 1970-01-01. */
const DAYS_TO_EPOCH = 719_162;
const DAYS_BEFORE_MONTH = [0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
const DAYS_IN_MONTH = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The widest offset accepted, ±18:00: the bound of Java's ZoneOffset, in which the best-known tracker is written. */
const WIDEST_OFFSET_MINUTES = 18 * 60;

const DASH = 45;
const PLUS = 43;
const DOT = 46;
const ZERO = 48;
const COLON = 58;
const LETTER_T = 84;
const LETTER_Z = 90;

/** The value as an error message may show it: quoted, escaped, short. */
const shown = (value: unknown): string => {
  const text = JSON.stringify(typeof value === 'bigint' ? `${value}` : value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
};

const badInstant = (value: unknown): BadData =>
  new BadData('bad_instant', `${shown(value)} is not an instant like 2020-06-12T08:13:13.360+0800`);

/** The digit at a place, or a number so negative that any sum with it stays negative. */
const digit = (text: string, at: number): number => {
  const value = text.charCodeAt(at) - ZERO;
  // NaN (beyond the end) compares false, too.
  return value >= 0 && value <= 9 ? value : -1_000_000;
};

const twoDigits = (text: string, at: number): number => digit(text, at) * 10 + digit(text, at + 1);

const isLeap = (year: number): boolean => (year & 3) === 0 && (year % 100 !== 0 || year % 400 === 0);

/** Days since 1970-01-01 of the date that begins the text (`YYYY-MM-DD`), or NaN if the calendar has no such day. */
const dayNumber = (text: string): number => {
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  if (text.charCodeAt(4) !== DASH || text.charCodeAt(7) !== DASH || year < 1 || month < 1 || month > 12)
    return Number.NaN;
  const leapDay = isLeap(year) ? 1 : 0;
  const length = (DAYS_IN_MONTH[month] ?? 0) + (month === 2 ? leapDay : 0);
  if (day < 1 || day > length) return Number.NaN;
  const past = year - 1;
  const before = (DAYS_BEFORE_MONTH[month] ?? 0) + (month > 2 ? leapDay : 0);
  return (
    past * 365 +
    (past >> 2) -
    Math.trunc(past / 100) +
    Math.trunc(past / 400) +
    before +
    day -
    1 -
    DAYS_TO_EPOCH
  );
};

/** Minutes east of UTC of the zone that ends the text at `at` (`Z`, `+0800`, `+08:00`), or NaN. */
const offsetMinutes = (text: string, at: number): number => {
  const sign = text.charCodeAt(at);
  if (sign === LETTER_Z) return text.length === at + 1 ? 0 : Number.NaN;
  if (sign !== PLUS && sign !== DASH) return Number.NaN;
  const minuteAt = text.charCodeAt(at + 3) === COLON ? at + 4 : at + 3;
  const hour = twoDigits(text, at + 1);
  const minute = twoDigits(text, minuteAt);
  if (text.length !== minuteAt + 2 || hour < 0 || minute < 0 || minute > 59) return Number.NaN;
  const offset = hour * 60 + minute;
  if (offset > WIDEST_OFFSET_MINUTES) return Number.NaN;
  return sign === PLUS ? offset : -offset;
};

const fromText = (text: string): Instant => {
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  if (
    text.charCodeAt(10) !== LETTER_T ||
    text.charCodeAt(13) !== COLON ||
    text.charCodeAt(16) !== COLON ||
    hour < 0 ||
    hour > 23 ||
    minute < 0 ||
    minute > 59 ||
    second < 0 ||
    second > 59
  ) {
    throw badInstant(text);
  }
  let at = 19;
  let micros = 0;
  if (text.charCodeAt(at) === DOT) {
    let weight = 100_000;
    let next = digit(text, ++at);
    if (next < 0) throw badInstant(text);
    for (; next >= 0; next = digit(text, ++at)) {
      if (weight < 1 && next !== 0) throw badInstant(text);
      if (weight >= 1) micros += next * weight;
      weight = weight >= 10 ? weight / 10 : 0;
    }
  }
  const total = dayNumber(text) * 86_400 + hour * 3600 + minute * 60 + second - offsetMinutes(text, at) * 60;
  if (!(total >= FIRST_SECOND && total < END_SECOND)) throw badInstant(text);
  // Milliseconds of these years fit a double exactly; microseconds do not.
  return BigInt(total * 1000 + Math.trunc(micros / 1000)) * 1000n + BigInt(micros % 1000);
};

/** Epoch milliseconds below this would lie before 1973: from a source that does not say what it counts more likely seconds. */
export const leastLikelyMs = 1e11;

/** A whole number of milliseconds since 1970 UTC. Throws `BadData('bad_instant')` for anything else. */
export const epochMs = (value: number): Instant => {
  if (!Number.isInteger(value) || value < FIRST_SECOND * 1000 || value >= END_SECOND * 1000)
    throw badInstant(value);
  return BigInt(value) * 1000n;
};

/** A whole number of seconds since 1970 UTC. Throws `BadData('bad_instant')` for anything else. */
export const epochSeconds = (value: number): Instant => {
  if (!Number.isInteger(value) || value < FIRST_SECOND || value >= END_SECOND) throw badInstant(value);
  return BigInt(value) * 1_000_000n;
};

/**
 * An instant of a source, exactly: `2020-06-12T08:13:13.360+0800`, `Z`, an offset with colon, up to six fractional digits (more if they
 * are zeros), or a number of epoch milliseconds (a caller whose source counts seconds says `epochSeconds`). Days and times must exist;
 * offsets reach ±18:00; years 0001 to 9999. Throws `BadData('bad_instant')` for everything else, above all for a missing offset.
 */
export const parseInstant = (value: string | number): Instant =>
  typeof value === 'number' ? epochMs(value) : fromText(value);

/**
 * The same of a source that writes nanoseconds, as Go does for whatever instant it is given: rounded down to the microsecond, which is as fine as
 * the warehouse keeps any.
 */
export const parseNanoInstant = (value: string | number): Instant =>
  parseInstant(typeof value === 'string' ? value.replace(/(\.\d{6})\d{1,3}(?!\d)/, '$1') : value);

/** A day, a time and an offset with blanks between them; Go puts the zone's name behind, which the offset has said already. */
const spacedInstant = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d+)?) ?(Z|[+-]\d\d:?\d\d)(?: [A-Z]{3,5})?$/;

/**
 * The same of a source that does not say how it writes instants: also counts of seconds, whole or with a fraction, and counts as text. A
 * count that as milliseconds would lie before 1973 is one of seconds. Blanks may stand between day, time and offset (RFC 3339, 5.6, allows the
 * first; `2020-06-12 08:13:13.36 +0800 CST` is how Go prints an instant).
 */
export const parseAnyInstant = (value: string | number): Instant => {
  const count = typeof value === 'string' && /^\d{9,15}(\.\d{1,9})?$/.test(value) ? Number(value) : value;
  if (typeof count === 'string') return parseNanoInstant(count.replace(spacedInstant, '$1T$2$3'));
  if (count >= leastLikelyMs) return parseNanoInstant(count);
  if (count < leastLikelyMs / 1000) throw badInstant(value);
  return BigInt(Math.round(count * 1_000_000));
};

/** As `parseInstant`, but a number is of seconds where milliseconds would lie before 1973. */
export const parseToldInstant = (value: string | number): Instant =>
  typeof value === 'number' && value > 0 && value < leastLikelyMs ? epochSeconds(value) : parseInstant(value);

/** Days since 1970-01-01 of a calendar day `YYYY-MM-DD`; NaN for anything else. */
export const daysSince1970 = (text: string): number => (text.length === 10 ? dayNumber(text) : Number.NaN);

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
