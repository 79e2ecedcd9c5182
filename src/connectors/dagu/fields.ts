/** Values and columns that are read in the engine's own ways: see `core/record-table.ts`. */

import { standingOf } from '../../core/dag-engine.ts';
import { BadData } from '../../core/errors.ts';
import { ExactNumber } from '../../core/json.ts';
import { type JsonObject, own, type Reading, unlessBad } from '../../core/record.ts';
import { kind } from '../../core/record-table.ts';
import * as values from '../../core/record-values.ts';
import type { Json } from '../../core/stream.ts';
import * as core from '../../core/table.ts';
import { formatInstant, type Instant, parseAnyInstant } from '../../core/time.ts';

export const isFilled = (value: Json): boolean => value !== undefined && value !== null && value !== '';

/** Text, or a number as its digits; undefined for an empty text and everything else. */
export const textOf = (value: Json): string | undefined => {
  if (typeof value === 'number' || value instanceof ExactNumber) return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** Null where it says that there is no instant: Dagu writes `""` or `-`, Go the year 1, counts of seconds 0. Undefined for what is none. */
export const instantIn = (value: Json): Instant | null | undefined => {
  if (!isFilled(value) || value === '-' || value === 0 || value === '0001-01-01T00:00:00Z') return null;
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const instant = unlessBad(() => parseAnyInstant(value));
  return instant instanceof BadData ? undefined : instant;
};

/** An instant in RFC 3339; undefined where there is none. */
export const instantText = (value: Json): string | undefined => {
  const instant = instantIn(value);
  return typeof instant === 'bigint' ? formatInstant(instant) : undefined;
};

/** Text; a number as its digits, because the contract does not say what ids are. Empty text is null. */
export const text = kind(
  core.text,
  (r, record, name, path) => textOf(own(record, name)) ?? (values.text(r, record, name, path) || null),
);

/** What cannot be read as an instant is kept with the reason. */
export const instant = kind(core.timestamptz, (r, record, name, path) => {
  const value = instantIn(own(record, name));
  return value === undefined ? r.flip(path, own(record, name), 'an instant') : value;
});

/** The status of a run or a step as a word, and its meaning; null and `unknown` where it states none. */
export const standingIn = (of: 'run' | 'step', { status, statusLabel }: JsonObject) =>
  standingOf(of, { label: textOf(statusLabel), code: typeof status === 'number' ? status : undefined });

/** That meaning as a column's value. An unknown word is noted (R17). */
export const stateIn = (r: Reading, of: 'run' | 'step', record: JsonObject): string => {
  const { state, word } = standingIn(of, record);
  if (state === 'unknown' && word !== null) r.note(`status: an unknown word: ${word.slice(0, 60)}`);
  return state;
};
