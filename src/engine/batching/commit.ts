/** A batch goes into the warehouse, with what is to be known of it there: the receipt of its slice, the end of its walk, the run's counters. */

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
import type { StreamContext } from './stream-context.ts';

/** Commits a batch; with `end` it is the slice's last one. */
export async function commit(
  stream: StreamContext,
  batch: Batch,
  open: OpenSlice,
  end?: SliceEnd,
  listing?: ListingLoad,
): Promise<Loaded> {
  const { context, flow, tally } = stream;
  const tooMany = context.rejections.add(flow.name, batch.received, batch.rejects.length);
  const closing = tooMany === undefined ? end : undefined;
  const loaded = await write(stream, batch, open, closing, listing);
  if (tooMany !== undefined) throw tooMany;
  if (closing !== undefined) {
    tally.slices += 1;
    stream.unread.count -= 1;
    tally.expected =
      tally.expected === null || closing.expected === null ? null : tally.expected + closing.expected;
    tally.fetched += closing.fetched;
    tally.landed += closing.landed;
  }
  return loaded;
}

async function write(
  stream: StreamContext,
  batch: Batch,
  open: OpenSlice,
  closing?: SliceEnd,
  listing?: ListingLoad,
): Promise<Loaded> {
  const { context, flow, tally, walk } = stream;
  const speaksForAll = closing?.status === 'done' && closing.lacks !== true && showsAll(flow);
  const listed = speaksForAll ? scopeOf(flow, open.slice) : undefined;
  const how: Load = {
    stream: flow.name,
    sourceId: context.run.sourceId,
    runId: context.run.runId,
    force: stream.force,
    resolves: stream.resolves,
    ...(listed !== undefined && { lists: listed, ...(flow.absent === 'delete' && { replaces: listed }) }),
    close: (session, loaded) => close(stream, open, session, loaded, closing),
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
    at: StreamContext,
    of: OpenSlice,
    session: Session,
    result: Loaded,
    receipt: SliceEnd | undefined,
  ): Promise<void> {
    if (receipt !== undefined) {
      const status = result.braked ? ('partial' as const) : receipt.status;
      await endSlice(session, of.sliceId, at.context.run.runId, { ...receipt, status });
      // Two slices that end at once may each take the other for unread: `finishWalk` then closes the walk behind them.
      if (at.unread.count <= 1)
        await closeIfLast(session, walk, {
          sourceId: at.context.run.sourceId,
          stream: at.flow.name,
          runId: at.context.run.runId,
          coverage: at.coverage,
        });
    }
    await countBatch(session, at.context.run, at.flow.name, result);
  }
}

/** Whether a complete reading of a slice shows all there is of its scope. Of what is walked by time it is what was created or changed. */
const showsAll = (stream: Stream): boolean =>
  stream.absent === 'delete' ||
  (stream.windows === undefined && stream.days === undefined && stream.recentOnly !== true);

/** What a complete reading of a slice speaks for. */
export function scopeOf(flow: Stream, { partition = {}, window }: Slice): Scope {
  const { days } = flow;
  if (days === undefined || window?.from === undefined || window.to === undefined)
    return { equal: partition };
  return { equal: partition, days: { column: days.column, from: window.from, to: window.to } };
}

/** What was read before a failure is kept: it is true, and the next run has less to do. */
export async function salvage(stream: StreamContext, batch: Batch, open: OpenSlice): Promise<void> {
  if (batch.received > 0 && !stream.context.lease.signal.aborted) await commit(stream, batch, open);
}

/** Of a listing with more rejects than a run bears nothing is loaded but those: they say what is wrong with it. They were counted as they came. */
export async function keepRejected(
  stream: StreamContext,
  rejects: readonly Reject[],
  open: OpenSlice,
): Promise<void> {
  if (stream.context.lease.signal.aborted) return;
  const batch = new Batch(stream.flow);
  for (const reject of rejects) batch.reject(reject);
  await write(stream, batch, open);
}
