/**
 * Values of the tracker that are read in more than one place: people, rich text, status categories, who may
 * see something.
 */

import { isObject, type JsonObject, own, type Reading } from '../../../core/record.ts';
import { keyText, object, text } from '../../../core/record-values.ts';
import type { JsonText } from '../../../core/table.ts';
import { adfText } from './adf.ts';

/**
 * The id of a user object: `accountId`; where a server knows none, `key` or `name`. Undefined where it has
 * none of them.
 */
export const identityOf = (user: JsonObject): string | undefined => {
  for (const key of ['accountId', 'key', 'name']) {
    const value = own(user, key);
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
};

/** The id of the person under a key. Null: unassigned, anonymous, account deleted. */
export const personId = (r: Reading, holder: JsonObject, key: string, path = key): string | null => {
  const value = own(holder, key);
  if (value === undefined || value === null) return null;
  const identity = isObject(value) ? identityOf(value) : undefined;
  return identity ?? r.flip(path, value, 'a user with an id');
};

/** The id of a user record. */
export const userId = (r: Reading, record: JsonObject): string => {
  const identity = identityOf(record);
  if (identity === undefined) throw r.reject('missing_field', 'accountId', 'has no %');
  return keyText(r, 'accountId', identity);
};

/** A text or document (ADF) under a key; anything else is kept in `_extra`. */
const richText = (r: Reading, holder: JsonObject, key: string, path: string): string | JsonObject | null => {
  const value = own(holder, key);
  if (value === undefined || value === null || typeof value === 'string') return value ?? null;
  const isDocument =
    isObject(value) && (own(value, 'type') === 'doc' || Array.isArray(own(value, 'content')));
  return isDocument ? value : r.flip(path, value, 'text or a document');
};

/** Rich text as plain text. */
export const plainText = (r: Reading, holder: JsonObject, key: string, path = key): string | null => {
  const value = richText(r, holder, key, path);
  return value === null ? null : adfText(value);
};

/** The original of rich text, where it is a document. Throws `BadData` where it is nested too deeply. */
export const document = (r: Reading, holder: JsonObject, key: string, path = key): JsonText | null => {
  const value = richText(r, holder, key, path);
  return isObject(value) ? r.json(path, value) : null;
};

export const statusCategories = ['todo', 'in_progress', 'done', 'unknown'] as const;
export type StatusCategory = (typeof statusCategories)[number];

/** By the vendor's key; `undefined` is the key of its own category for statuses that have none. */
const categories: ReadonlyMap<unknown, StatusCategory> = new Map([
  ['new', 'todo'],
  ['indeterminate', 'in_progress'],
  ['done', 'done'],
  ['undefined', 'unknown'],
]);

/**
 * What a status means. `unknown` where the source does not say, or says something new, which is kept with the
 * reason.
 */
export const statusCategory = (r: Reading, status: JsonObject, path: string): StatusCategory => {
  const value = own(status, 'statusCategory') ?? null;
  const category = isObject(value) ? categories.get(own(value, 'key')) : undefined;
  if (category === undefined && value !== null) r.flip(path, value, 'a category that is known');
  return category ?? 'unknown';
};

/**
 * `{type: role | group, value, identifier}` as `role:Administrators`. A group's identifier, which outlives
 * its name, is kept.
 */
export const visibility = (r: Reading, holder: JsonObject): string | null => {
  const found = object(r, holder, 'visibility');
  if (found === null) return null;
  const type = text(r, found, 'type', 'visibility.type');
  const identifier = text(r, found, 'identifier', 'visibility.identifier');
  const value = text(r, found, 'value', 'visibility.value') ?? identifier;
  if (identifier !== null && identifier !== value) r.keep('visibility.identifier', identifier);
  return value === null ? type : `${type ?? 'unknown'}:${value}`;
};
