/** The owners of a walk that goes on: some have come since it began, and some are none any more. */

import { patiently } from '../../warehouse/with-retry.ts';
import type { StreamContext } from '../batching/stream-context.ts';
import {
  addSlices,
  leaveSlice,
  type OpenSlice,
  partitionsOf,
  partitionText,
  type Unread,
  unreadSlices,
} from '../state/slice-state.ts';
import { slicesOf, slicesSince } from './days.ts';
import { ownersOf, partitionsFrom } from './plan.ts';

/** Adds slices for the owners that came, and closes those of who left the configuration or their list. */
export async function renewOwners(stream: StreamContext): Promise<void> {
  const { context, flow, walk } = stream;
  const { db } = context.deps.warehouse;
  const { partitions: parents, days } = flow;
  if (parents === undefined) return;
  const known = await partitionsOf(db, walk);
  const owners = (which: 'all' | 'lively') =>
    partitionsFrom(db, context.run.sourceId, flow.name, parents, which);
  const late = (await owners(ownersOf(walk))).filter((partition) => !known.has(partitionText(partition)));
  const all = new Set((await owners('all')).map(partitionText));
  for (const open of await patiently(() => unreadSlices(db, walk)))
    if (!all.has(partitionText(open.slice.partition ?? {})))
      await passBy(stream, open, { code: 'no_owner', message: 'its owner is none any more' });
  const at = { sourceId: context.run.sourceId, stream: flow, clock: context.clock ?? new Date() };
  const slices =
    days === undefined || walk.window === undefined || walk.kind !== 'incremental'
      ? slicesOf(flow, walk.window, late)
      : await slicesSince(db, { ...at, days }, walk.window, late);
  await addSlices(db, walk, slices);
}

/** Those of the slices whose owners the source shows. */
export async function ofShown<Part extends { readonly open: OpenSlice }>(
  { context, flow }: StreamContext,
  parts: readonly Part[],
): Promise<readonly Part[]> {
  const { name, partitions: parents } = flow;
  if (parents?.listed === undefined) return parts;
  const { db } = context.deps.warehouse;
  const shown = await patiently(() => partitionsFrom(db, context.run.sourceId, name, parents, 'shown'));
  const owners = new Set(shown.map(partitionText));
  return parts.filter(({ open }) => owners.has(partitionText(open.slice.partition ?? {})));
}

/** Closes the slice of an owner whose part cannot be read. */
export const passBy = (
  { context }: StreamContext,
  { sliceId }: OpenSlice,
  { code, message }: Unread,
): Promise<void> =>
  patiently(() =>
    leaveSlice(context.deps.warehouse.db, sliceId, context.run.runId, 'absent', { code, message }),
  );
