/** Which metrics a row of an aggregate report should tell and does not. */

import type { Json } from '../../../core/request.ts';
import { at, textAt } from '../../../reading/offset-list.ts';
import { indispensableFields } from './fields.ts';

/** The indispensable metrics that a row does not name. A row without a list of metrics lacks none: it is rejected. */
export const lackedBy = (row: Json): readonly string[] => {
  const stats = at(row, 'stats');
  if (!Array.isArray(stats)) return [];
  const told = new Set(stats.map((stat: Json) => textAt(stat, 'field_type')));
  return indispensableFields.filter((name) => !told.has(name));
};
