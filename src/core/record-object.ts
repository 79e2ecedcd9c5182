/** Objects of parsed JSON: any key is data, `toString` and `__proto__` included. */
import { ExactNumber } from './json.ts';
import type { Json } from './stream.ts';

export type JsonObject = Readonly<Record<string, Json>>;

export const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

/** The value under a key of the object itself, never an inherited one: a changelog item has a key `toString`. */
export const own = (object: JsonObject, key: string): Json => {
  const value = object[key];
  // What an object inherits is functions, and under `__proto__` what it inherits them from: nothing that JSON knows.
  return typeof value === 'function' || value === Object.prototype ? undefined : value;
};

/** A scalar as text; '' for an object or a list, whose own `toString` may be anything. */
export const wordOf = (value: Json): string => (isObject(value) || Array.isArray(value) ? '' : String(value));

/** The members under keys that are not known, without nulls; undefined where there are none. */
export const unknownIn = (
  object: JsonObject,
  known: ReadonlySet<string>,
  isNews: (value: Json) => boolean = () => true,
): JsonObject | undefined => {
  let found: Record<string, Json> | undefined;
  for (const key of Object.keys(object)) {
    if (known.has(key)) continue;
    const value = object[key];
    if (value === null || value === undefined || !isNews(value)) continue;
    found ??= {};
    put(found, key, value);
  }
  return found;
};

/** Sets a key as data; `__proto__` would otherwise call a setter and be lost. */
export const put = (object: Record<string, Json>, key: string, value: Json): void => {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
};

/** Names written as words: `names('id key', 'self')`. */
export const names = (...words: readonly string[]): ReadonlySet<string> =>
  new Set(words.join(' ').split(' '));
