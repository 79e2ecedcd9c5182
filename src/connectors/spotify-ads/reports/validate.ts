/** Whether a row of an aggregate report is one that was asked for. */

import { isObject } from '../../../core/json-object.ts';
import type { Json } from '../../../core/request.ts';
import { parseInstant } from '../../../core/time.ts';
import { textAt } from '../../../reading/offset-list.ts';
import { canonicalId } from '../ids.ts';
import type { Level } from './levels.ts';
import type { Granularity } from './stated-ranges.ts';

/**
 * row: one that was asked for, or that the transform is to reject · behind: of the day or hour after the last one, which a server adds that takes
 * an end otherwise · outside: of another day or hour that was not asked for · stranger: of another entity
 */
export const kinds = ['row', 'behind', 'outside', 'stranger'] as const;
type Kind = (typeof kinds)[number];

/** How many rows there were of each kind. */
export type Counts = Record<Kind, number>;

export const nothing = (): Counts => ({ row: 0, behind: 0, outside: 0, stranger: 0 });

/** What was asked for: entities by `namesOf` their ids, and milliseconds since 1970, half open. */
export interface Question {
  readonly level: Level;
  readonly wanted: ReadonlyMap<string, string>;
  readonly granularity: Granularity;
  readonly from: number;
  readonly to: number;
}

export const kindOf = (row: Json, question: Question): Kind =>
  isOf(row, question) ? placeOf(row, question) : 'stranger';

/** The names that a row may have for what was asked for: its id, also as `canonicalId`. */
export const namesOf = (ids: readonly string[]): ReadonlyMap<string, string> =>
  new Map([...ids.map((id) => [canonicalId(id), id] as const), ...ids.map((id) => [id, id] as const)]);

/** The row by the name that the entity was asked for by: its numbers are not to stand beside it. What was itself asked for is no other's. */
export const asAsked = (row: Json, { wanted }: Question): Json => {
  const id = textAt(row, 'entity_id');
  const asked = id === undefined ? undefined : (wanted.get(id) ?? wanted.get(canonicalId(id)));
  if (asked === undefined || asked === id) return row;
  return isObject(row) ? { ...row, entity_id: asked } : row;
};

const isOf = (row: Json, { level, wanted }: Question): boolean => {
  const id = textAt(row, 'entity_id');
  const type = textAt(row, 'entity_type') ?? level;
  return id === undefined || (type === level && wanted.has(canonicalId(id)));
};

const placeOf = (row: Json, { from, to, granularity }: Question): Kind => {
  const text = textAt(row, 'start_time');
  if (granularity === 'LIFETIME' || text === undefined) return 'row';
  try {
    const start = Number(parseInstant(text) / 1000n);
    if (start >= from && start < to) return 'row';
    return start === to ? 'behind' : 'outside';
  } catch {
    // Not an instant: the transform says so, with the row's bytes.
    return 'row';
  }
};
