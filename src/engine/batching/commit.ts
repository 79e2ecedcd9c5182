/** Commits a batch with what belongs to it: the receipt of its slice, the end of its walk, the run's counters. */

import type { Slice, Stream } from '../../core/stream.ts';
import { Batch, type Reject } from '../../load/batch.ts';
import type { ListingLoad } from '../../load/listing-load.ts';
import { type Load, type Loaded, load } from '../../load/load.ts';
import type { Scope } from '../../load/replace.ts';
import type { Session } from '../../load/session.ts';
import { tallyBatch } from '../context/run-context.ts';
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
    tally.slices += 1;
    walking.unread.count -= 1;
    tally.expected =
      tally.expected === null || closing.expected === null ? null : tally.expected + closing.expected;
    tally.fetched += closing.fetched;
    tally.landed += closing.landed;
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
  const { context, stream, tally, walk } = walking;
  const speaksForAll = closing?.status === 'done' && closing.lacks !== true && showsAll(stream);
  const listed = speaksForAll ? scopeOf(stream, open.slice) : undefined;
  const how: Load = {
    stream: stream.name,
    sourceId: context.run.sourceId,
    runId: context.run.runId,
    force: walking.force,
    resolves: walking.resolves,
    ...(listed !== undefined && { lists: listed, ...(stream.absent === 'delete' && { replaces: listed }) }),
    close: (session, loaded) => close(walking, open, session, loaded, closing),
    settings: context.lease.settings,
    guard: (session) => context.lease.guard(session),
  };
  // An orderly stop lets the batch in hand finish; only the loss of the lease ends it.
  const loaded = await context.loads(() =>
    load(context.deps.warehouse.pool, batch, how, context.lease.signal, listing),
  );
  tallyBatch(tally, loaded);
  return loaded;

  async function close(
    at: WalkContext,
    of: OpenSlice,
    session: Session,
    result: Loaded,
    receipt: SliceEnd | undefined,
  ): Promise<void> {
    if (receipt !== undefined) {
      const status = result.braked ? ('partial' as const) : receipt.status;
      await endSlice(session, of.sliceId, at.context.run.runId, { ...receipt, status });
      // Two slices that end at once may each take the other for unread: then `readWalk` closes the walk.
      if (at.unread.count <= 1)
        await closeIfLast(session, walk, {
          sourceId: at.context.run.sourceId,
          stream: at.stream.name,
          runId: at.context.run.runId,
          coverage: at.coverage,
        });
    }
    await countBatch(session, at.context.run, at.stream.name, result);
  }
}

/** Whether a complete reading of a slice shows all rows of its scope. A walk by time shows what was created or changed. */
const showsAll = (stream: Stream): boolean =>
  stream.absent === 'delete' ||
  (stream.windows === undefined && stream.days === undefined && stream.recentOnly !== true);

/** What a complete reading of a slice speaks for. */
export function scopeOf(stream: Stream, { partition = {}, window }: Slice): Scope {
  const { days } = stream;
  if (days === undefined || window?.from === undefined || window.to === undefined)
    return { equal: partition };
  return { equal: partition, days: { column: days.column, from: window.from, to: window.to } };
}

/** What was read before a failure is kept: it is true, and the next run has less to do. */
export async function salvage(walking: WalkContext, batch: Batch, open: OpenSlice): Promise<void> {
  if (batch.received > 0 && !walking.context.lease.signal.aborted) await commit(walking, batch, open);
}

/** Of a listing with more rejects than a run bears nothing is loaded but those: they say what is wrong with it. They were counted as they came. */
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
