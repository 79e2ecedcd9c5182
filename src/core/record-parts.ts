/** Lists whose elements become rows one by one: an element that cannot be read costs itself, not its list and not its record. */

import { BadData } from './errors.ts';
import type { Json, TakeBadPart } from './stream.ts';

type ReadPart<T> = (element: Json, index: number) => readonly T[];

export type PartsOf<T> = [
  child: string,
  elements: readonly Json[],
  read: ReadPart<T>,
  given?: (index: number) => Json,
];

/** Throws what is wrong with a part: for lists that are read whole or not at all. */
const throwBad: TakeBadPart = ({ error }) => {
  throw error;
};

/**
 * What `read` makes of each element. An element for which it throws `BadData` is left out and given to `bad`, with what
 * `given` says of it for a replay.
 */
export const eachPart = <T>(
  child: string,
  elements: readonly Json[],
  read: ReadPart<T>,
  bad: TakeBadPart = throwBad,
  given?: (index: number) => Json,
): readonly T[] => {
  // Most lists are empty.
  if (elements.length === 0) return [];
  const all: T[] = [];
  for (let index = 0; index < elements.length; index += 1) {
    const part = elements[index];
    try {
      for (const one of read(part, index)) all.push(one);
    } catch (error) {
      if (!(error instanceof BadData)) throw error;
      bad({ child, part, error, given: given?.(index) ?? null });
    }
  }
  return all;
};

/** What the step gives, or the `BadData` that it throws; every other error is a defect. */
export function unlessBad<T>(step: () => T): T | BadData {
  try {
    return step();
  } catch (error) {
    if (error instanceof BadData) return error;
    throw error;
  }
}
