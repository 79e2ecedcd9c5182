/** Whether a report says one thing of each entity and time: of two that differ only one could be kept, and neither is the whole. */

import { UnexpectedContent } from '../../../core/errors.ts';
import type { Json } from '../../../core/request.ts';
import { textAt } from '../../../reading/offset-list.ts';
import type { Granularity } from './stated-ranges.ts';

/**
 * The check of one walk, to be given the rows page by page. Throws `UnexpectedContent` where rows of one entity and time differ in a page, or those of
 * a lifetime begin at different times: the report is cut finer than was asked for, into days or by who knows what. The same row again is none of that,
 * nor is one with other numbers in a later page: what goes on is counted on.
 */
export const distinctRows = (
  endpoint: string,
  granularity: Granularity,
): ((rows: readonly Json[]) => void) => {
  const begun = new Map<string, string>();
  return (rows) => {
    const met = new Map<string, Json>();
    for (const row of rows) {
      const id = textAt(row, 'entity_id');
      if (id === undefined) continue;
      const entity = entityOf(row);
      const time = textAt(row, 'start_time') ?? '';
      const subject = subjectOf(row);
      const other = met.get(subject);
      const isOfOneLife = granularity !== 'LIFETIME' || (begun.get(entity) ?? time) === time;
      if (!isOfOneLife || (other !== undefined && !areSame(row, other)))
        throw new UnexpectedContent(
          `${endpoint}: the report by ${granularity} has 2 rows of ${id} that differ: it is cut finer than was asked for`,
        );
      met.set(subject, row);
      if (granularity === 'LIFETIME') begun.set(entity, time);
    }
  };
};

/** What a row is of and when. */
export const subjectOf = (row: Json): string => `${entityOf(row)} ${textAt(row, 'start_time') ?? ''}`;

/** A server that does not look at the level that it is asked for tells of all of them, and their ids need not differ. */
const entityOf = (row: Json): string =>
  `${textAt(row, 'entity_type') ?? ''} ${textAt(row, 'entity_id') ?? ''}`;

const areSame = (one: Json, other: Json): boolean => JSON.stringify(one) === JSON.stringify(other);
