/**
 * Commits a batch with what belongs to it: the receipt of its slice, the end of its walk, the run's counters.
 */

import type { Slice, Stream } from '../../core/stream.ts';
import { Batch, type Reject } from '../../load/batch.ts';
import { type ListingLoad, type Load, type Loaded, load } from '../../load/load.ts';
import type { Scope } from '../../load/replace.ts';
import type { Session } from '../../load/session.ts';
import { tallyBatch, tallySlice } from '../context/run-context.ts';
import { countBatch } from '../state/run-state.ts';
import { endSlice, type OpenSlice, type SliceEnd } from '../state/slice-state.ts';
import { closeIfLast } from '../state/walk-state.ts';
import type { WalkContext } from './walk-context.ts';

/** Commits a batch; with `end` it is the slice's last one. */
export async function commit(
  walking: WalkContext,
  batch: Batch,
  open: OpenSlice,
  end?: SliceEnd,
  listing?: ListingLoad,
): Promise<Loaded> {
  const { context, stream, tally } = walking;
  const tooMany = context.rejections.add(stream.name, batch.received, batch.rejects.length);
  const closing = tooMany === undefined ? end : undefined;
  const loaded = await write(walking, batch, open, closing, listing);
  if (tooMany !== undefined) throw tooMany;
  if (closing !== undefined) {
    walking.unread.count -= 1;
    tallySlice(tally, closing);
  }
  return loaded;
}

async function write(
  walking: WalkContext,
  batch: Batch,
  open: OpenSlice,
  closing?: SliceEnd,
  listing?: ListingLoad,
): Promise<Loaded> {
  const { context, stream, tally } = walking;
  const showsScope = closing?.status === 'done' && closing.lacks !== true && showsAll(stream);
  const listed = showsScope ? scopeOf(stream, open.slice) : undefined;
  const how: Load = {
    sourceId: context.run.sourceId,
    runId: context.run.runId,
    force: walking.force,
    resolves: walking.resolves,
    ...(listed !== undefined && { lists: listed }),
    close: async (session, result) => {
      if (closing !== undefined) await endWith(walking, open, session, closing, result.isHeld);
      await countBatch(session, context.run, stream.name, result);
    },
    settings: context.lease.settings,
    guard: (session) => context.lease.guard(session),
  };
  // An orderly stop lets the batch in hand finish; only the loss of the lease ends it.
  const loaded = await context.loads(() =>
    load(context.deps.warehouse.pool, batch, how, context.lease.signal, listing),
  );
  tallyBatch(tally, loaded);
  return loaded;
}

/** Writes the slice's receipt, and closes the walk with its last slice. */
async function endWith(
  walking: WalkContext,
  { sliceId }: OpenSlice,
  session: Session,
  receipt: SliceEnd,
  isBraked: boolean,
): Promise<void> {
  const status = isBraked ? ('partial' as const) : receipt.status;
  await endSlice(session, sliceId, walking.context.run.runId, { ...receipt, status });
  // Two slices that end at once may each take the other for unread: then `readWalk` closes the walk.
  if (walking.unread.count <= 1) await closeWalk(session, walking);
}

/**
 * Closes the walk if every slice of it is done. Where a nested list is given that was closed before, the
 * checkpoint covers only part of the records: the next run reads everything.
 */
export async function closeWalk(session: Pick<Session, 'trx'>, walking: WalkContext): Promise<boolean> {
  const { context, stream, walk, nestedLists } = walking;
  const { sourceId, runId } = context.run;
  const coverage = nestedLists.hasOpened
    ? { ...walking.coverage, words: walking.coverage.ours, whole: false }
    : walking.coverage;
  const isClosed = await closeIfLast(session, walk, { sourceId, stream: stream.name, runId, coverage });
  if (isClosed) await nestedLists.forgetOpened(session);
  return isClosed;
}

/**
 * Whether a complete reading of a slice shows all rows of its scope. A walk by time shows what was created or
 * changed.
 */
const showsAll = ({ absent, by, recentOnly }: Stream): boolean =>
  absent === 'delete' || (by === 'list' && recentOnly !== true);

/** The rows that a complete reading of a slice shows. */
export function scopeOf(stream: Stream, { partition = {}, window }: Slice): Scope {
  const { days } = stream;
  if (days === undefined || window?.from === undefined || window.to === undefined)
    return { equal: partition };
  return { equal: partition, days: { column: days.column, from: window.from, to: window.to } };
}

/** Commits what was read before a failure: the next run has less to do. */
export async function salvage(walking: WalkContext, batch: Batch, open: OpenSlice): Promise<void> {
  if (batch.received > 0 && !walking.context.lease.signal.aborted) await commit(walking, batch, open);
}

/**
 * Loads only the rejects of a listing that has more of them than a run may: they say what is wrong with it.
 * They are counted already.
 */
export async function keepRejected(
  walking: WalkContext,
  rejects: readonly Reject[],
  open: OpenSlice,
): Promise<void> {
  if (walking.context.lease.signal.aborted) return;
  const batch = new Batch(walking.stream);
  for (const reject of rejects) batch.reject(reject);
  await write(walking, batch, open);
}
