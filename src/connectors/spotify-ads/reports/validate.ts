/** Rows of aggregate reports: in the vendor's shape, of what was requested, one for each entity and time. */

import { UnexpectedContent } from '../../../core/errors.ts';
import { isObject } from '../../../core/record-object.ts';
import type { Json } from '../../../core/request.ts';
import { parseInstant } from '../../../core/time.ts';
import { textAt } from '../../../reading/offset-list.ts';
import { fieldsOf } from '../metrics.ts';
import type { Level } from './request.ts';

export const granularities = ['DAY', 'HOUR', 'LIFETIME'] as const;
export type Granularity = (typeof granularities)[number];

/** What a report was requested for. Times: milliseconds since 1970, half open. */
export interface Question {
  readonly endpoint: string;
  readonly account: string;
  readonly level: Level;
  readonly ids: ReadonlySet<string>;
  readonly granularity: Granularity;
  readonly from: number;
  readonly to: number;
}

/** What a row is of and when. Without an entity: ''; the transform rejects such a row. */
export const subjectOf = (row: Json): string => {
  const id = textAt(row, 'entity_id');
  return id === undefined ? '' : `${id} ${textAt(row, 'start_time') ?? ''}`;
};

/** Whether a row is of an entity, day and hour that was requested. What cannot be read is for the transform to reject. */
export const isRequested = (row: Json, { level, ids, granularity, from, to }: Question): boolean => {
  const id = textAt(row, 'entity_id');
  if (id !== undefined && (!ids.has(id) || (textAt(row, 'entity_type') ?? level) !== level)) return false;
  const text = textAt(row, 'start_time');
  if (granularity === 'LIFETIME' || text === undefined) return true;
  try {
    const start = Number(parseInstant(text) / 1000n);
    return start >= from && start < to;
  } catch {
    return true;
  }
};

/**
 * Throws `UnexpectedContent` where the answer is by another granularity (the vendor's default is LIFETIME), or says two things of one entity
 * and time: it is cut finer than requested, and only one of the rows could be kept.
 */
export const checkAnswer = (body: Json, rows: readonly Json[], { endpoint, granularity }: Question): void => {
  const given = textAt(body, 'granularity')?.toUpperCase();
  if (given !== granularity && granularities.some((one) => one === given))
    throw new UnexpectedContent(`${endpoint}: the report is by ${given}; it was requested by ${granularity}`);
  const seen = new Map<string, string>();
  for (const row of rows) {
    const id = textAt(row, 'entity_id');
    if (id === undefined) continue;
    const time = granularity === 'LIFETIME' ? '' : textAt(row, 'start_time');
    const subject = `${textAt(row, 'entity_type')} ${id} ${time}`;
    const text = JSON.stringify(row);
    if ((seen.get(subject) ?? text) !== text)
      throw new UnexpectedContent(
        `${endpoint}: the report by ${granularity} has 2 rows of ${id} that differ: it is cut finer than requested`,
      );
    seen.set(subject, text);
  }
};

const metrics: ReadonlySet<string> = new Set(fieldsOf('aggregate'));
const isMetric = (name: string): boolean => metrics.has(name.toUpperCase());

/**
 * The row as the vendor writes it: `{entity_id, start_time, stats: [{field_type, field_value}]}`. The contract shows no row: metrics may also
 * be members of the row, of `stats` or of `metrics`, the entity `<level>_id` or `id`, the day a date. An account's row may name no entity:
 * the account is in the path. Other rows stay as they are; the transform rejects them.
 */
export const vendorRow = (row: Json, { level, account }: Question): Json => {
  if (!isObject(row) || (Array.isArray(row.stats) && textAt(row, 'entity_id') !== undefined)) return row;
  const given = (names: readonly string[]): string =>
    names.find((name) => textAt(row, name) !== undefined) ?? names[0] ?? '';
  const id = given(['entity_id', `${level.toLowerCase()}_id`, 'id']);
  const time = given(['start_time', 'date', 'day', 'start_date']);
  const { stats, metrics: listed, [id]: entity, [time]: start, ...rest } = row;
  const holder = [stats, listed].find(isObject);
  const numbers = Object.entries(holder ?? rest).filter(([name]) => holder !== undefined || isMetric(name));
  if (!Array.isArray(stats) && numbers.length === 0) return row;
  const others = Object.entries(rest).filter(([name]) => holder !== undefined || !isMetric(name));
  const namesNone = level === 'AD_ACCOUNT' && !others.some(([name]) => /id$/i.test(name));
  return {
    ...Object.fromEntries(others),
    entity_id: entity ?? (namesNone ? account : null),
    start_time: typeof start === 'string' && start.length === 10 ? `${start}T00:00:00Z` : start,
    stats: Array.isArray(stats)
      ? stats
      : numbers.map(([name, value]) => ({
          field_type: isMetric(name) ? name.toUpperCase() : name,
          field_value: value,
        })),
  };
};
