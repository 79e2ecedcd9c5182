/** What a status means, as a list of statuses tells it and as an issue tells it of its own. */

import { isObject, type JsonObject, own } from '../../../core/record-object.ts';
import type { Reading } from '../../../core/record-reader.ts';
import type { Json } from '../../../core/request.ts';
import type { StatusCategory } from '../tables.ts';

/** Keys of `statusCategory` objects, and the words of `/statuses/search`. */
const CATEGORIES: ReadonlyMap<Json, StatusCategory> = new Map([
  ['new', 'todo'],
  ['indeterminate', 'in_progress'],
  ['done', 'done'],
  ['TODO', 'todo'],
  ['IN_PROGRESS', 'in_progress'],
  ['DONE', 'done'],
]);

/** The key of the vendor's own category for statuses that have none. */
const NO_CATEGORY = 'undefined';

/** What a status means; `unknown` where the source does not say or says something new, which is kept with the reason. `path`: where it says so. */
export const statusCategory = (r: Reading, record: JsonObject, path: string): StatusCategory => {
  const told = own(record, 'statusCategory') ?? null;
  const key = isObject(told) ? own(told, 'key') : told;
  const known = CATEGORIES.get(key);
  if (known === undefined && told !== null && key !== NO_CATEGORY)
    r.flip(path, told, 'a category that is known');
  return known ?? 'unknown';
};
