/** The numbers of a report's row as cells of a record that is still bytes: the plain ones, which are most. The rest goes by way of `Numbers`. */

import type { Cell, Cells } from '../../../core/cell.ts';
import type { Plan, Slot } from './numbers.ts';
import { HIDDEN } from './numbers.ts';

const kinds = { count: 'count', money: 'amount', rate: 'rate' } as const satisfies Readonly<
  Record<Slot['kind'], Cell['is']>
>;

const hidden = String(HIDDEN);

export const constant = (value: string | number | null): Cell => ({ is: 'constant', value });

/**
 * All columns of the plan, given where the metrics lie: their names at the source and their places. Undefined where a metric has no column, or
 * two go into one.
 */
export const numberCells = (
  plan: Plan,
  metrics: readonly (readonly [name: string, from: number])[],
): Cells | undefined => {
  const cells: Record<string, Cell> = {};
  for (const [name, from] of metrics) {
    const slot = plan.slots.get(name);
    if (slot === undefined || Object.hasOwn(cells, slot.column)) return undefined;
    const { column, flag, kind } = slot;
    cells[column] = { is: kinds[kind], from, ...(flag !== undefined && { hidden }) };
    if (flag !== undefined) cells[flag] = { is: 'flag', from, hidden };
  }
  const empty = Object.entries(plan.empty).map(
    ([column, value]) => [column, { is: 'constant', value }] as const,
  );
  return { ...Object.fromEntries(empty), ...cells };
};
