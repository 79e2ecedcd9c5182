/** The parts of an ad set that become rows of their own: targeting, frequency caps and placements. */

import { decimalText, ExactNumber } from '../../core/json.ts';
import { isObject, type JsonObject, own, type Reading } from '../../core/record.ts';
import { field, readerOf } from '../../core/record-table.ts';
import { keyText, list, object } from '../../core/record-values.ts';
import type { Json, Mapped } from '../../core/stream.ts';
import { type Child, type Row, table, text } from '../../core/table.ts';
import { rowsOf } from './fields.ts';

const adSetId = text('The ad set, see ads.ad_sets.id.').key();

const targets = table(
  'ads.ad_set_targets',
  'Targeting of ad sets, exploded; one row per ad set, dimension and value.',
  {
    ad_set_id: adSetId,
    dimension: text('What is targeted: its name in targets, e.g. genders, geo_targets.country_code.').key(),
    value: text('One value as text, e.g. 18-24, MONDAY 9-17 (hours inclusive), topic=filter.').key(),
  },
  { relation: true, indexes: ['(source_id, dimension, value)'] },
);

const cap = {
  unit: field.keyText('frequency_unit', 'DAY, WEEK or MONTH.').key(),
  period: field.int4('frequency_period', 'How many of these units.').key(),
  max_impressions: field.int4('max_impressions', 'Most impressions for one person in that time.').key(),
};
const frequencyCaps = table(
  'ads.ad_set_frequency_caps',
  'How often one person may hear an ad set; one row per ad set and cap.',
  {
    ad_set_id: adSetId,
    ...cap,
  },
  { relation: true },
);
const caps = { child: 'frequency_caps', list: 'frequency_caps', read: readerOf(cap, { noted: true }) };

const placements = table(
  'ads.ad_set_placements',
  'Where ad sets are placed; one row per ad set and placement.',
  { ad_set_id: adSetId, placement: text('MUSIC or PODCAST, or what the source names.').key() },
  { relation: true },
);

const ofAdSet = { parent: ['ad_set_id'], absent: 'deleted' } as const;
export const targetingTables: Readonly<Record<string, Child>> = {
  targets: { table: targets, ...ofAdSet },
  frequency_caps: { table: frequencyCaps, ...ofAdSet },
  placements: { table: placements, ...ofAdSet },
};

/** An index entry holds about 2,600 bytes: id, dimension and value together. */
const longestTargetBytes = 2000;

/** A scalar as text; undefined for null, lists and objects. */
const scalar = (value: Json): string | undefined => {
  if (typeof value === 'number' || value instanceof ExactNumber) return decimalText(value);
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : undefined;
};

/** A member as text; '' where it is no scalar. */
const part = (value: JsonObject, name: string): string => scalar(own(value, name)) ?? '';

/** `{min: 18, max: 24}` → `18-24`; an open side is empty. */
const range = (value: Json): string | undefined => {
  const text = isObject(value) ? `${part(value, 'min')}-${part(value, 'max')}` : '-';
  return text === '-' ? undefined : text;
};

/** `{day_of_week: [MONDAY], hour_of_day: [{min: 9, max: 17}]}` → `MONDAY 9-17`; without hours the whole day, without days every day. */
const dayParts = (value: JsonObject): readonly string[] | undefined => {
  const elements = (name: string): readonly Json[] => [own(value, name) ?? []].flat();
  const days = elements('day_of_week').map(scalar);
  const hours = elements('hour_of_day').map(range);
  if ([...days, ...hours].includes(undefined) || days.length + hours.length === 0) return undefined;
  const daysOrAll = days.length === 0 ? [''] : days;
  return daysOrAll.flatMap((day) =>
    (hours.length === 0 ? [''] : hours).map((hour) => `${day} ${hour}`.trim()),
  );
};

/** Dimensions whose elements are objects that read as one value each (vendor's OpenAPI, `Targets`). */
const readers: Readonly<Record<string, (value: JsonObject) => string | readonly string[] | undefined>> = {
  age_ranges: range,
  user_day_parts: dayParts,
  // `{id: 'war', filter_option: 'LIMITED'}` → `war=LIMITED`.
  'sensitive_topic_exclusions.topics': (value) =>
    part(value, 'id') === '' ? undefined : `${part(value, 'id')}=${part(value, 'filter_option')}`,
};

/** Every [dimension, value]: scalars as text, members of objects with a dot, unknown objects in lists as JSON. */
function* valuesOf(
  r: Reading,
  dimension: string,
  value: Json,
  inList = false,
): Generator<readonly [dimension: string, value: string]> {
  if (value === null || value === undefined) return;
  const read = isObject(value) ? readers[dimension]?.(value) : scalar(value);
  if (Array.isArray(value)) for (const each of value) yield* valuesOf(r, dimension, each, true);
  else if (read !== undefined) for (const each of [read].flat()) yield [dimension, each];
  else if (inList) yield [dimension, r.json(`targets.${dimension}`, value)];
  else if (isObject(value))
    for (const [name, inner] of Object.entries(value)) yield* valuesOf(r, `${dimension}.${name}`, inner);
}

/** A target that cannot be read is rejected by itself, by the name in `targets`. */
const targetRows = (r: Reading, ad_set_id: string, adSet: JsonObject): readonly Row[] => {
  const rows = new Map<string, Row>();
  const targets = object(r, adSet, 'targets') ?? {};
  const names = Object.keys(targets);
  const read = (target: Json, at: number): readonly [] => {
    for (const [dimension, value] of valuesOf(r, names[at] ?? '', target))
      if (Buffer.byteLength(dimension + value) > longestTargetBytes)
        r.note('targets: a value too long for a row of its own; it is in ad_sets.targets only');
      else
        rows.set(`${dimension}\n${value}`, {
          ad_set_id,
          dimension: keyText(r, 'targets', dimension),
          value: keyText(r, `targets.${dimension}`, value),
        });
    return [];
  };
  const given = (at: number) => ({ ad_set_id, dimension: names[at] });
  r.parts('targets', Object.values(targets), read, given);
  return [...rows.values()];
};

/** A placement that is no text is rejected by itself. */
const placementRows = (r: Reading, ad_set_id: string, adSet: JsonObject): readonly Row[] => {
  const path = 'targets.placements';
  const found = list(r, object(r, adSet, 'targets') ?? {}, 'placements', path);
  const read = (placement: Json, index: number): readonly string[] => {
    const at = r.element(path, index);
    if (typeof placement !== 'string') throw at.reject('bad_type', '', 'has a % that is no text');
    return [keyText(at, '', placement)];
  };
  const good = r.parts('placements', found, read, () => ({ ad_set_id }));
  return [...new Set(good)].map((placement) => ({ ad_set_id, placement }));
};

/** A member that is absent is empty. Of a list that cannot be read no row is deleted. */
export const targetingOf = (r: Reading, adSet: JsonObject, id: string): Omit<Mapped, 'row'> => {
  const targeting = own(adSet, 'targets') ?? {};
  const placed = isObject(targeting) ? (own(targeting, 'placements') ?? []) : undefined;
  const capped = own(adSet, 'frequency_caps') ?? [];
  const partial = [
    ...(isObject(targeting) ? [] : ['targets']),
    ...(Array.isArray(capped) ? [] : ['frequency_caps']),
    ...(Array.isArray(placed) ? [] : ['placements']),
  ];
  const children = {
    targets: targetRows(r, id, adSet),
    frequency_caps: rowsOf(r, adSet, caps, () => ({ ad_set_id: id })),
    placements: placementRows(r, id, adSet),
  };
  return { children, ...(partial.length > 0 && { partial }) };
};
