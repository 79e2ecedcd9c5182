/** Targeting of an ad set, one row a value; nothing is lost by it, since `ad_sets.targets` keeps the whole as delivered. */
import { decimalText } from '../../../core/decimal.ts';
import { ExactNumber } from '../../../core/json.ts';
import { isObject, type JsonObject, own } from '../../../core/record-object.ts';
import type { Reading } from '../../../core/record-reader.ts';
import { int4, keyText, list, object, text } from '../../../core/record-values.ts';
import type { Json } from '../../../core/request.ts';
import type { AdSetFrequencyCapRow, AdSetPlacementRow, AdSetTargetRow } from '../tables.ts';
import { keepNewsIn, texts, words } from './mapper.ts';

/** An index entry takes some 2,600 bytes: id, dimension and value together. */
const LONGEST_VALUE_BYTES = 2000;

/** A scalar as text; undefined for null, lists and objects. */
const scalar = (value: Json): string | undefined => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || value instanceof ExactNumber) return decimalText(value);
  return typeof value === 'boolean' ? String(value) : undefined;
};

/** `{min: 18, max: 24}` → `18-24`; an open side is empty. */
const range = (value: Json): string | undefined => {
  if (!isObject(value)) return undefined;
  const sides = [own(value, 'min'), own(value, 'max')].map((side) => scalar(side) ?? '');
  return sides.every((side) => side === '') ? undefined : sides.join('-');
};

const elements = (value: Json): readonly Json[] =>
  Array.isArray(value) ? value : value === null ? [] : [value];

/** `{day_of_week: [MONDAY], hour_of_day: [{min: 9, max: 17}]}` → `MONDAY 9-17`; without hours the whole day, without days every day. */
const dayParts = (value: Json): readonly string[] | undefined => {
  if (!isObject(value)) return undefined;
  const days = elements(own(value, 'day_of_week') ?? null).map(scalar);
  const hours = elements(own(value, 'hour_of_day') ?? null).map(range);
  if ([...days, ...hours].includes(undefined) || days.length + hours.length === 0) return undefined;
  if (days.length === 0) return hours.map(String);
  return days.flatMap((day) => (hours.length === 0 ? [String(day)] : hours.map((hour) => `${day} ${hour}`)));
};

/** `{id: 'war', filter_option: 'LIMITED'}` → `war=LIMITED`. */
const topic = (value: Json): string | undefined => {
  const id = isObject(value) ? scalar(own(value, 'id')) : undefined;
  return id === undefined || !isObject(value)
    ? undefined
    : `${id}=${scalar(own(value, 'filter_option')) ?? ''}`;
};

/** Dimensions whose elements are objects that read as one value each. */
const readers: Readonly<Record<string, (value: Json) => string | readonly string[] | undefined>> = {
  age_ranges: range,
  user_day_parts: dayParts,
  'sensitive_topic_exclusions.topics': topic,
};

/** Every [dimension, value]: texts, numbers and booleans as text, objects with their keys behind a dot, unknown objects in lists as JSON. */
function* valuesOf(
  r: Reading,
  dimension: string,
  value: Json,
  inList = false,
): Generator<readonly [string, string]> {
  if (value === null || value === undefined) return;
  if (Array.isArray(value)) {
    for (const each of value) yield* valuesOf(r, dimension, each, true);
    return;
  }
  const read = readers[dimension]?.(value) ?? scalar(value);
  if (read !== undefined) {
    for (const each of typeof read === 'string' ? [read] : read) yield [dimension, each];
  } else if (inList && dimension !== 'geo_targets') yield [dimension, r.json(`targets.${dimension}`, value)];
  else if (isObject(value))
    for (const [key, inner] of Object.entries(value)) yield* valuesOf(r, `${dimension}.${key}`, inner);
}

export const targetRows = (r: Reading, id: string, adSet: JsonObject): readonly AdSetTargetRow[] => {
  const targets = object(r, adSet, 'targets');
  if (targets === null) return [];
  const rows = new Map<string, AdSetTargetRow>();
  for (const [key, target] of Object.entries(targets))
    for (const [dimension, value] of valuesOf(r, key, target)) {
      if (Buffer.byteLength(dimension) + Buffer.byteLength(value) > LONGEST_VALUE_BYTES)
        r.note('targets: a value too long for a row of its own; it is in ad_sets.targets only');
      else
        rows.set(`${dimension}\n${value}`, {
          ad_set_id: id,
          dimension: keyText(r, 'targets', dimension),
          value: keyText(r, `targets.${dimension}`, value),
        });
    }
  return [...rows.values()];
};

const CAP_KEYS = words('frequency_unit frequency_period max_impressions');

/** A cap that does not say unit, period and number is kept in `_extra` with a note. */
export const capRows = (r: Reading, id: string, adSet: JsonObject): readonly AdSetFrequencyCapRow[] =>
  list(r, adSet, 'frequency_caps').flatMap((cap, index) => {
    const at = r.element('frequency_caps', index);
    const unit = isObject(cap) ? text(at, cap, 'frequency_unit') : null;
    const period = isObject(cap) ? int4(at, cap, 'frequency_period') : null;
    const most = isObject(cap) ? int4(at, cap, 'max_impressions') : null;
    if (isObject(cap) && unit !== null && period !== null && most !== null) {
      keepNewsIn(r, 'frequency_caps', index, cap, CAP_KEYS);
      return [{ ad_set_id: id, unit: keyText(at, 'frequency_unit', unit), period, max_impressions: most }];
    }
    at.flip('cap', cap, 'unit, period and number of impressions');
    return [];
  });

/** Placements stand in the targeting. */
export const placementRows = (r: Reading, id: string, adSet: JsonObject): readonly AdSetPlacementRow[] => {
  const targets = object(r, adSet, 'targets') ?? {};
  const found = new Set(texts(r, targets, 'placements', 'targets.placements'));
  return [...found].map((placement) => ({
    ad_set_id: id,
    placement: keyText(r, 'targets.placements', placement),
  }));
};

/** Those of an ad set's lists that cannot be read, or not to their end: what is known of them beside may well be in the rest. `caps`: how many were read. */
export const toldInPart = (adSet: JsonObject, caps: number): readonly string[] => {
  const targets = own(adSet, 'targets') ?? {};
  const capped = own(adSet, 'frequency_caps') ?? [];
  const placements = isObject(targets) ? (own(targets, 'placements') ?? []) : undefined;
  return [
    ...(isObject(targets) ? [] : ['targets']),
    ...(Array.isArray(capped) && capped.length === caps ? [] : ['frequency_caps']),
    ...(Array.isArray(placements) && placements.every((each) => typeof each === 'string')
      ? []
      : ['placements']),
  ];
};
