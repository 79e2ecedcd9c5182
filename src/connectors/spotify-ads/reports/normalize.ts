/** Which metrics a row of an aggregate report should tell and does not. */

import { RawRecord, type Shape } from '../../../core/raw-record.ts';
import type { Json } from '../../../core/request.ts';
import { at, textAt } from '../../../reading/offset-list.ts';
import { indispensableFields } from './fields.ts';

/** The indispensable metrics that a row does not name. Rows of one shape name the same ones. A row without a list of metrics lacks none: it is rejected. */
export const lackedBy = (row: Json): readonly string[] => {
  if (!(row instanceof RawRecord)) return lackedIn(row);
  const known = byShape.get(row.shape);
  if (known !== undefined) return known;
  const lacked = lackedIn(row.shape.sample);
  byShape.set(row.shape, lacked);
  return lacked;
};

const byShape = new WeakMap<Shape, readonly string[]>();

const lackedIn = (row: Json): readonly string[] => {
  const stats = at(row, 'stats');
  if (!Array.isArray(stats)) return [];
  const told = new Set(stats.map((stat: Json) => textAt(stat, 'field_type')));
  return indispensableFields.filter((name) => !told.has(name));
};
