/** Objects whose keys are written in every engine's own way. */

import { ExactNumber } from '../../core/json.ts';
import { isObject, type JsonObject } from '../../core/json-object.ts';
import type { Json } from '../../core/request.ts';

export { isObject, type JsonObject };

/** A key without its spelling: `RequestId`, `request_id` and `requestId` are one. */
export const plain = (key: string): string => key.replaceAll(/[_\-\s]/g, '').toLowerCase();

/** Text, or a number as text; undefined for nothing, an empty text, and everything else. */
export const textOf = (value: Json): string | undefined => {
  if (typeof value === 'number' || value instanceof ExactNumber) return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** Known name → names that engines use for it, the surest first; written plain. */
export type Names = Readonly<Record<string, readonly string[]>>;

/** The same object with known names; a second key of one meaning, and what has none, keep their own. */
export const renamed = (object: JsonObject, names: Names): JsonObject => {
  const byPlain = new Map<string, string[]>();
  for (const key of Object.keys(object)) byPlain.set(plain(key), [...(byPlain.get(plain(key)) ?? []), key]);
  const known = new Map<string, string>();
  for (const [name, spellings] of Object.entries(names)) {
    const found = spellings.flatMap((one) => byPlain.get(one) ?? []);
    const key = found.find((one) => !isNothing(object[one])) ?? found[0];
    if (key !== undefined) known.set(key, name);
  }
  const taken = new Set(known.values());
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => {
      const name = known.get(key);
      // A stranger must not take the place of what is known.
      return [name ?? (taken.has(key) ? `other_${key}` : key), value];
    }),
  );
};

const isNothing = (value: Json): boolean => value === undefined || value === null || value === '';
