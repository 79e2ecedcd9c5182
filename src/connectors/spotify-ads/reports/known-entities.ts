/** Whether anything is known here of what a report shows nothing of: one empty answer is none. */

import type { Slice, SliceContext } from '../../../core/stream.ts';
import { accountIn } from '../streams/of-account.ts';
import { type Facts, levelIn } from './levels.ts';

/** Lifetimes are captured one day at a time, and a night may have gone by without a run. */
const capturesBefore = 7;

/** Whether there are facts of some of the entities in the slice's days; of a lifetime, in the week that ends with them. */
export const hasFacts = async (
  slice: Slice,
  given: SliceContext,
  { table, column }: Facts,
  ids: readonly string[],
): Promise<boolean> => {
  const { from, to } = slice.window ?? {};
  if (from === undefined || to === undefined) return false;
  const back = column === 'captured_on' ? capturesBefore : 0;
  const found = await given.keys({
    table,
    columns: { id: 'entity_id' },
    of: { ad_account_id: accountIn(slice), entity_type: levelIn(slice) },
    among: { entity_id: ids },
    where: `${column} >= timestamptz '${from.toISOString()}' - interval '${back} days' and ${column} < timestamptz '${to.toISOString()}'`,
  });
  return found.length > 0;
};
