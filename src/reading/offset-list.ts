/** Reading the list out of an answer, whatever the endpoint calls it. */

import { UnexpectedContent } from '../core/errors.ts';
import { ExactNumber } from '../core/json.ts';
import { isObject, names, own } from '../core/record-object.ts';
import { kindOf } from '../core/record-reader.ts';
import type { Json } from '../core/stream.ts';

/** An own property of a JSON value (never an inherited one: records may have a key named `toString`). */
export const at = (value: Json, key: string): Json => (isObject(value) ? own(value, key) : undefined);

/** An own property that is text, or undefined. */
export const textAt = (value: Json, key: string): string | undefined => {
  const found = at(value, key);
  return typeof found === 'string' ? found : undefined;
};

/** Arrays of an envelope that are never its records: a 200 that holds an error must not be read as a list. */
const notRecords = names(
  'errorMessages warningMessages warnings errors messages error_codes validation_errors',
);

/**
 * The reader of an endpoint's list: a bare array, the first of `keys` that is there, or the single array of the envelope. Throws
 * `UnexpectedContent` with the endpoint and the keys seen for anything else: an answer without its list is never an empty list.
 */
export const listNamed =
  (endpoint: string, ...keys: readonly string[]) =>
  (body: Json): readonly Json[] => {
    if (Array.isArray(body)) return body;
    for (const name of keys) {
      const list = at(body, name);
      if (Array.isArray(list)) return list;
      if (list !== undefined)
        throw new UnexpectedContent(`${endpoint}: ${name} is ${kindOf(list)}, not a list`);
    }
    const lists = arraysOf(body);
    const [only] = lists;
    if (only !== undefined && lists.length === 1) return only;
    throw new UnexpectedContent(`${endpoint}: the answer has no list; it is ${kindOf(body)}${keysOf(body)}`);
  };

const arraysOf = (body: Json): readonly (readonly Json[])[] =>
  Object.entries(isObject(body) ? body : {}).flatMap(([key, value]) =>
    Array.isArray(value) && !notRecords.has(key) ? [value] : [],
  );

const keysOf = (body: Json): string =>
  isObject(body) ? ` with the keys ${Object.keys(body).slice(0, 12).join(', ') || '(none)'}` : '';

/** The identity of a record by the first of these properties it has, as text; '' if it has none. */
export const idBy =
  (...keys: readonly string[]) =>
  (record: Json): string => {
    for (const name of keys) {
      const id = at(record, name);
      if (typeof id === 'string' || typeof id === 'number' || id instanceof ExactNumber) return String(id);
    }
    return '';
  };
