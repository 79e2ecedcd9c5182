/** What the transforms of the ads platform share: members that are not known are kept and noted. */

import type { JsonObject } from '../../../core/record-object.ts';
import type { Reading } from '../../../core/record-reader.ts';
import { object } from '../../../core/record-values.ts';

export { accountOf } from '../ads.ts';

/** Keeps what is neither known nor null in `_extra`, and notes each name once: the vendor adds fields without notice. */
export const keepNews = (
  r: Reading,
  holder: JsonObject,
  known: ReadonlySet<string>,
  as = '',
  noted = as,
): void => {
  for (const [key, value] of Object.entries(holder)) {
    if (known.has(key) || value === null || value === undefined) continue;
    r.keep(as + key, value);
    r.note(`${noted}${shown(key)}: a field that is not known`);
  }
};

/** The same for an element of a list of the record: kept with its place, noted once for all elements. */
export const keepNewsIn = (
  r: Reading,
  list: string,
  index: number,
  element: JsonObject,
  known: ReadonlySet<string>,
): void => keepNews(r, element, known, `${list}[${index}].`, `${list}[].`);

/** A name of the source as a note may show it: short, escaped. */
export const shown = (key: string): string =>
  /^[\w.-]{1,60}$/.test(key) ? key : JSON.stringify(key.slice(0, 60));

/** An object within a record, what it has besides `known` kept as `key.…`. Absent: null. */
export const within = (
  r: Reading,
  holder: JsonObject,
  key: string,
  known: ReadonlySet<string>,
): JsonObject | null => {
  const found = object(r, holder, key);
  if (found !== null) keepNews(r, found, known, `${key}.`);
  return found;
};

export const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));
