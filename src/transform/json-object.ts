/** Objects of parsed JSON: any key is data, `toString` and `__proto__` included. */
import { isObject, type JsonObject } from '../core/json-object.ts';
import type { Json } from '../core/request.ts';

export { isObject, type JsonObject };

/** The value under a key of the object itself, never an inherited one: a changelog item has a key `toString`. */
export const own = (object: JsonObject, key: string): Json => {
  const value = object[key];
  // What an object inherits is functions, and under `__proto__` what it inherits them from: nothing that JSON knows.
  return typeof value === 'function' || value === Object.prototype ? undefined : value;
};

/** Sets a key as data; `__proto__` would otherwise call a setter and be lost. */
export const put = (object: Record<string, Json>, key: string, value: Json): void => {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
};
