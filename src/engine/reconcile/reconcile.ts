/** Deletions and resurrections: every id of the source is compared with the warehouse (guarantee G10). */

import { Misconfigured } from '../../core/errors.ts';
import type { Stream } from '../../core/stream.ts';
import { kyselyOn } from '../../load/session.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { chosenStreams, type RunDeps } from '../context/deps.ts';
import { inRun, type Problem, type StreamRun } from '../context/run-context.ts';
import { withRun } from '../execution.ts';
import { abandonWalks } from '../state/walk-state.ts';
import { stateOf } from '../sync/plan.ts';
import { liftTombstones, markDeleted } from './deletions.ts';
import { dueBefore, everything, readLacking } from './missing-rows.ts';
import { type Reconciling, readIds } from './seen-ids.ts';

/**
 * Reads every id of each stream whose entities can be asked for one by one. Rows that are not shown are
 * candidates; each is confirmed gone by its own request, twice, while a canary of the same project answers.
 * Tombstones that are shown again are lifted, and records that no sync has shown are read. Nothing is deleted
 * when the ids were not complete or the limit is exceeded (`needs_attention`).
 */
export function reconcile(deps: RunDeps, options: { readonly streams?: readonly string[] }) {
  const { streams: all } = deps.source;
  const streams = chosenStreams(deps, options.streams).filter(hasReconcile);
  // Where all that have one are excluded, a scheduled reconcile has nothing to do and succeeds.
  const isLeftOut = options.streams === undefined && all.some(hasReconcile);
  if (streams.length === 0 && !isLeftOut)
    throw new Misconfigured(
      `none of the streams ${(options.streams ?? all.map(({ name }) => name)).join(', ')} has a reconciliation`,
    );
  return withRun(deps, 'reconcile', { streams: options.streams ?? null }, async (run) => {
    for (const stream of streams) await inRun(run, stream, reconcileStream);
  });
}

/** Whether the entities of a stream can be asked for one by one. */
const hasReconcile = ({ exists, table, partitions }: Stream): boolean =>
  exists !== undefined && table.entity && partitions === undefined;

async function reconcileStream(of: StreamRun): Promise<Problem | undefined> {
  const { deps, db, sourceId, stream } = of;
  const client = await withRetry(() => deps.warehouse.pool.connect());
  try {
    // What an interrupted reconciliation was reading is met again.
    await withRetry(() => abandonWalks(db, sourceId, stream.name, 'missing'));
    const request = { full: false, window: undefined };
    return await compare({ ...of, ...(await stateOf(of, stream)), request, own: kyselyOn(client) });
  } finally {
    client.release(true);
  }
}

async function compare(reconciling: Reconciling): Promise<Problem | undefined> {
  const due = dueBefore(reconciling);
  await readIds(reconciling, everything(reconciling, due));
  const { doubt, isHeld } = await markDeleted(reconciling);
  const attention = doubt === undefined ? undefined : ({ status: 'attention', reason: doubt } as const);
  // Where too much is gone it may be another site: its records are not taken over either.
  if (isHeld) return attention;
  // What is read again loses its tombstone by that; of a stream with changes the next sync reads the rest.
  if (due !== undefined) return (await readLacking(reconciling, due)) ?? attention;
  await liftTombstones(reconciling);
  return attention;
}
