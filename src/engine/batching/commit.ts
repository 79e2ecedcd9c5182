/**
 * Commits a batch with what belongs to it: the receipt of its slice, the end of its walk, the run's counters.
 */

import type { TurnBudget } from '../../core/run.ts';
import type { Slice, Stream } from '../../core/stream.ts';
import type { Batch } from '../../load/batch.ts';
import { type ListingLoad, type Load, type Loaded, load } from '../../load/load.ts';
import type { Scope } from '../../load/replace.ts';
import type { Session } from '../../load/session.ts';
import { type StreamRun, tallySlice } from '../context/run-context.ts';
import { closeIfLast } from '../state/checkpoint.ts';
import { countBatch } from '../state/run-state.ts';
import { type Coverage, endSlice, type OpenSlice, type SliceEnd, type Walk } from '../state/walk-state.ts';
import type { NestedLists } from './nested-lists.ts';

/** A walk that is read, and what the reading of its slices shares. */
export interface WalkRun extends StreamRun {
  readonly walk: Walk;
  /** What the stream's checkpoint covers once the walk is done. */
  readonly coverage: Coverage;
  /** No walk over the stream was ever complete. */
  readonly isFirst: boolean;
  /** Whether a good version may resolve an open reject of the stream. */
  readonly resolves: boolean;
  /** A forced resync: what is read now wins over what is stored. */
  readonly force: boolean;
  /** What is read before slices are left to the next run; absent: none is. */
  readonly turn?: TurnBudget | undefined;
  readonly nestedLists: NestedLists;
  /** Slices of the walk that are not read to their end; `ending`: those of them that only wait for their commit. */
  readonly unread: { count: number; ending: number };
}

/** Commits a batch; with `end` it is the slice's last one, and carries its receipt. */
export async function commit(
  walking: WalkRun,
  batch: Batch,
  { slice, sliceId }: OpenSlice,
  end?: SliceEnd,
  listing?: ListingLoad,
): Promise<Loaded> {
  const { runId, stream, tally, unread, force, resolves } = walking;
  const isComplete = end?.status === 'done' && end.lacks !== true && showsAll(stream);
  const close = async (session: Session, { isHeld }: Loaded): Promise<void> => {
    if (end === undefined) return;
    const status = isHeld ? 'partial' : end.status;
    await endSlice(session.trx, sliceId, runId, { ...end, status });
    // Two slices that end at once may each take the other for unread: then `readWalk` closes the walk.
    if (unread.count <= 1) await closeIfLast(session, walking);
  };
  const how = { force, resolves, close, ...(isComplete && { lists: scopeOf(stream, slice) }) };
  const loaded = await loadCounted(walking, batch, how, listing, sliceId);
  if (end === undefined) return loaded;
  unread.count -= 1;
  unread.ending -= 1;
  tallySlice(tally, end);
  return loaded;
}

/** Loads a batch under the run's lease, and counts what it did; notes that it is of the slice, if it is of one. */
export function loadCounted(
  run: StreamRun,
  batch: Batch,
  how: Omit<Load, 'sourceId' | 'runId' | 'settings' | 'guard'>,
  listing?: ListingLoad,
  sliceId?: string,
): Promise<Loaded> {
  const { deps, sourceId, runId, lease, stream } = run;
  const whole: Load = {
    ...how,
    sourceId,
    runId,
    settings: lease.settings,
    close: async (session, result) => {
      await how.close(session, result);
      const { moments } = listing?.taken ?? batch;
      await countBatch(session, run, stream.name, result, sliceId, moments);
    },
    guard: (session) => lease.guard(session),
  };
  // An orderly stop lets the batch in hand finish; only the loss of the lease ends it.
  return run.loads(() => load(deps.warehouse.pool, batch, whole, lease.signal, listing));
}

/**
 * Whether a complete reading of a slice shows all rows of its scope. A walk by time shows what was created or
 * changed.
 */
const showsAll = ({ absent, by, recentOnly }: Stream): boolean =>
  absent === 'delete' || (by === 'list' && recentOnly !== true);

/** The rows that a complete reading of a slice shows. */
export function scopeOf({ days }: Stream, { partition = {}, window }: Slice): Scope {
  if (days === undefined || window?.from === undefined || window.to === undefined)
    return { equal: partition };
  return { equal: partition, days: { column: days.column, from: window.from, to: window.to } };
}
