/**
 * Lists: read whole in each run, owner by owner where the stream has owners. An interrupted list is begun
 * anew, with those owners first that it did not come to. Owners whose records change no more are not read
 * again.
 */

import { withRetry } from '../../warehouse/with-retry.ts';
import type { Problem } from '../context/problems.ts';
import { partitionText, slicesOfWalk } from '../state/slice-state.ts';
import type { Walk } from '../state/walk-state.ts';
import { ownersOf, whichFor } from './partitions.ts';
import {
  beginWalk,
  isFresh,
  openWalksFor,
  type Planning,
  type StreamPlan,
  type Syncing,
  staleAfter,
} from './plan.ts';

/** All owners, or only those whose records still change where all were read not long ago. */
export function planList({ stream, request, checkpoint, clock }: Planning): StreamPlan | undefined {
  if (request.window !== undefined) return undefined;
  const recent = stream.partitions?.active !== undefined && !request.full && isFresh(checkpoint, clock);
  return { mode: 'list', kind: recent ? 'incremental' : 'full', words: 'list', window: undefined };
}

/** Reads the plan's window of every owner, in place of the walk that an earlier run left open. */
export async function syncOwners(syncing: Syncing, plan: StreamPlan): Promise<Problem | undefined> {
  const { db } = syncing.deps.warehouse;
  const open = await withRetry(() => openWalksFor(syncing, plan));
  const last = open.at(-1);
  const slices = last === undefined ? [] : await withRetry(() => slicesOfWalk(db, last));
  const read = slices.filter(({ state }) => state === 'read');
  const wasRead = new Set(read.map(({ slice }) => partitionText(slice.partition)));
  const all = await ownersOf(syncing, whichFor(plan));
  const isKept = keepsRead(last, syncing, plan);
  const changing = isKept ? await ownersOf(syncing, 'active', last?.walkId) : all;
  const active = new Set(changing.map(partitionText));
  const kept = read.filter(({ slice }) => !active.has(partitionText(slice.partition)));
  const { window } = plan;
  const due = all
    .filter((owner) => active.has(partitionText(owner)) || !wasRead.has(partitionText(owner)))
    .toSorted((a, b) => Number(wasRead.has(partitionText(a))) - Number(wasRead.has(partitionText(b))))
    .map((partition) => ({ ...(partition && { partition }), ...(window && { window }) }));
  const walkIds = open.map(({ walkId }) => walkId);
  return beginWalk(syncing, plan, due, { walkIds, slices: isKept ? kept : [] });
}

/** Whether what an interrupted walk over all owners has read of some counts for this one. */
const keepsRead = (last: Walk | undefined, { stream, clock }: Syncing, plan: StreamPlan): boolean =>
  stream.partitions?.active !== undefined &&
  plan.kind === 'full' &&
  last?.kind === 'full' &&
  (clock ?? new Date()).getTime() - (last.clock?.getTime() ?? 0) < staleAfter;
