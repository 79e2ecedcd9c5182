/** How the cells of a row come out of a record that is still bytes (`RawRecord`): declared by a transform, carried out by the loader. */

import type { Value } from './table.ts';

/**
 * One column. `from`: the place of a value in the record's shape. What is null in the record (an empty cell of CSV) is null in the row, unless said otherwise.
 *
 * - constant: the same in every row
 * - text: a text as it is. `needed`: neither null nor empty. `empty`: what an empty cell of CSV is instead of null
 * - count: a whole number without a sign, of at most fifteen digits, `7` or `7.0` → bigint
 * - amount: a decimal without sign or exponent, at most twelve digits before the point and six behind it → numeric with six
 * - rate: a decimal without sign or exponent → numeric. Zeros at the end of a fraction: JSON's mean nothing and go; those of CSV stay,
 *   unless the fraction is nothing else
 * - flag: whether the value is the one that hides a number. A count, amount or rate with the same `hidden` is null there
 * - read: what a function makes of the values as they are written (JSON texts in their quotes). It is pure, and may be asked once for all records
 *   that have the same there. Undefined, or a `BadData`: not to be said in this way
 *
 * A record that has any value which is not so is not written in this way at all: it becomes a value, and goes through the flow's `via`.
 */
export type Cell =
  | { readonly is: 'constant'; readonly value: Value }
  | { readonly is: 'text'; readonly from: number; readonly needed?: true; readonly empty?: '' }
  | { readonly is: 'count' | 'amount' | 'rate'; readonly from: number; readonly hidden?: string }
  | { readonly is: 'flag'; readonly from: number; readonly hidden: string }
  | {
      readonly is: 'read';
      readonly from: readonly number[];
      readonly read: (written: readonly string[]) => Value | undefined;
    };

/** A row, by column. */
export type Cells = Readonly<Record<string, Cell>>;
