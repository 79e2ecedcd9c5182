/** Report rows of servers that tell metrics as fields. The contract shows no row; the vendor's is the one that everything behind here reads. */

import { UnexpectedContent } from '../../../core/errors.ts';
import { isObject, type JsonObject } from '../../../core/json-object.ts';
import type { Json } from '../../../core/request.ts';
import { at, textAt } from '../../../reading/offset-list.ts';
import { aggregateFields } from './fields.ts';
import type { Level } from './levels.ts';
import type { Granularity } from './stated-ranges.ts';

/** What rows were asked for. */
interface Asked {
  readonly level: Level;
  readonly granularity: Granularity;
  readonly account: string;
}

/**
 * The row as the vendor writes it: `{entity_id, start_time, stats: [{field_type, field_value}]}`. The entity may be named `<level>_id` or `id`, that of
 * an account, which is in the path, not at all, and a day as a day; `end_date` ends what begins at a `start_date`. Without a list of `stats` the metrics
 * are the fields of `stats`, those of `metrics`, or those of the row itself that have a metric's name, in any case. A row without any metric stays as it
 * is, to be rejected with its bytes. Throws `UnexpectedContent` where a row by the hour names a day alone: all hours of the day would be its first one.
 */
export const vendorRow = (endpoint: string, row: Json, { level, granularity, account }: Asked): Json => {
  const isTimed = granularity === 'LIFETIME' || at(row, 'start_time') !== undefined;
  if (Array.isArray(at(row, 'stats')) && at(row, 'entity_id') !== undefined && isTimed) return row;
  const plain = row;
  if (!isObject(plain)) return row;
  const isListed = Array.isArray(plain.stats);
  const holder = isListed ? 'stats' : ['stats', 'metrics'].find((key) => isObject(plain[key]));
  const stats = isListed ? plain.stats : statsIn(plain, holder);
  if (stats === undefined) return row;
  const id = plain.entity_id === undefined ? keyIn(plain, [`${level.toLowerCase()}_id`, 'id']) : undefined;
  const isOfAccount = level === 'AD_ACCOUNT' && !Object.keys(plain).some((key) => /id$/i.test(key));
  const day = plain.start_time === undefined ? keyIn(plain, dayNames) : undefined;
  if (granularity === 'HOUR' && day !== undefined && isBareDay(plain[day]))
    throw new UnexpectedContent(
      `${endpoint}: asked for by ${granularity}, a row of the report names its ${day} alone`,
    );
  const end = day === 'start_date' && plain.end_time === undefined ? keyIn(plain, ['end_date']) : undefined;
  const renamed = [holder, id, day, end];
  const others = Object.entries(plain).filter(
    ([key]) => !renamed.includes(key) && (holder !== undefined || !isMetric(key)),
  );
  return {
    ...Object.fromEntries(others),
    ...(isOfAccount && { entity_id: account }),
    ...(id !== undefined && { entity_id: plain[id] }),
    ...(day !== undefined && { start_time: beginning(plain[day]) }),
    ...(end !== undefined && { end_time: beginning(plain[end]) }),
    stats,
  };
};

/** The metrics that are fields, as the vendor lists them; undefined where there are none. */
const statsIn = (plain: JsonObject, holder: string | undefined): readonly Json[] | undefined => {
  const held = holder === undefined ? plain : plain[holder];
  if (!isObject(held) || !Object.keys(held).some(isMetric)) return undefined;
  return Object.entries(held)
    .filter(([key]) => holder !== undefined || isMetric(key))
    .map(([key, value]) => ({ field_type: isMetric(key) ? key.toUpperCase() : key, field_value: value }));
};

const known: ReadonlySet<string> = new Set(aggregateFields);
const isMetric = (key: string): boolean => known.has(key.toUpperCase());

const dayNames = ['date', 'day', 'date_day', 'report_date', 'start_date'];

const isBareDay = (day: Json): boolean => String(day).length === 10;

const beginning = (day: Json): string => (isBareDay(day) ? `${String(day)}T00:00:00Z` : String(day));

const keyIn = (row: JsonObject, names: readonly string[]): string | undefined =>
  names.find((name) => textAt(row, name) !== undefined);
