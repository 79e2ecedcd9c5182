/** Rows of aggregate reports: in the vendor's shape, of what was requested, one for each entity and time. */

import { UnexpectedContent } from '../../../core/errors.ts';
import type { Json } from '../../../core/request.ts';
import { parseInstant } from '../../../core/time.ts';
import { textAt } from '../../../reading/offset-list.ts';
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
export const requestedBy = ({ level, ids, granularity, from, to }: Question): ((row: Json) => boolean) => {
  const inside = new Map<string, boolean>();
  const isInside = (text: string): boolean => {
    try {
      const start = Number(parseInstant(text) / 1000n);
      return start >= from && start < to;
    } catch {
      return true;
    }
  };
  return (row) => {
    const id = textAt(row, 'entity_id');
    if (id !== undefined && (!ids.has(id) || (textAt(row, 'entity_type') ?? level) !== level)) return false;
    const text = textAt(row, 'start_time');
    if (granularity === 'LIFETIME' || text === undefined) return true;
    const isKnown = inside.get(text) ?? isInside(text);
    inside.set(text, isKnown);
    return isKnown;
  };
};

/**
 * Throws `UnexpectedContent` where the answer is by another granularity (the vendor's default is LIFETIME), or says two things of one entity
 * and time: it is cut finer than requested, and only one of the rows could be kept.
 */
export const checkAnswer = (body: Json, rows: readonly Json[], { endpoint, granularity }: Question): void => {
  const given = textAt(body, 'granularity')?.toUpperCase();
  if (given !== granularity && granularities.some((one) => one === given))
    throw new UnexpectedContent(`${endpoint}: the report is by ${given}; it was requested by ${granularity}`);
  const seen = new Map<string, Json>();
  for (const row of rows) {
    const id = textAt(row, 'entity_id');
    if (id === undefined) continue;
    const time = granularity === 'LIFETIME' ? '' : textAt(row, 'start_time');
    const subject = `${textAt(row, 'entity_type')} ${id} ${time}`;
    const before = seen.get(subject);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(row))
      throw new UnexpectedContent(
        `${endpoint}: the report by ${granularity} has 2 rows of ${id} that differ: it is cut finer than requested`,
      );
    seen.set(subject, row);
  }
};
