import { TooManyRejects } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import type { Reading, WalkEnd } from '../../core/paging.ts';
import type { Slice } from '../../core/stream.ts';
import { Batch, isListing, type Reject } from '../../load/batch.ts';
import { BinaryWriter } from '../../load/binary.ts';
import { ListingLoad } from '../../load/listing-load.ts';
import { readingOf } from '../../reading/open-reading.ts';
import { commit, keepRejected, salvage, scopeOf } from '../batching/commit.ts';
import { underWay } from '../batching/in-flight.ts';
import { takePage } from '../batching/map-page.ts';
import type { Refusal } from '../batching/nested-lists.ts';
import { givenTo } from '../batching/slice-context.ts';
import type { StreamContext } from '../batching/stream-context.ts';
import { manySlices } from '../context/concurrency.ts';
import { tell, tellProgress } from '../context/run-context.ts';
import type { OpenSlice, SliceEnd } from '../state/slice-state.ts';
import { checkShown, knownIn } from './fewer-rows.ts';
import { checkEmptied, endOfNone } from './no-answer.ts';

/** At how many rows or bytes a batch is full, and how many of a slice may be on their way into the warehouse while the next one is filled. */
interface Size {
  readonly records: number;
  readonly bytes: number;
  readonly underWay: number;
}
const usual: Size = { records: 5_000, bytes: 3 << 19, underWay: 1 };
/** Of one of many slices that are read at once: the others are read while it is loaded, and a second batch for each would be memory times many. */
const ofMany: Size = { ...usual, underWay: 0 };
/** Of a listing that is loaded as one: one after the other. While a large one is sent the next is filled; small ones wait for each other. */
const ofListing: Size = { records: 5_000, bytes: 1 << 21, underWay: 1 };
/** Of the last slice of a walk: nothing else is read meanwhile, and its last batch is waited for. */
const ofLast: Size = { records: 500, bytes: 1 << 20, underWay: 2 };

function sizeOf({ context, unread }: StreamContext): Size {
  if (unread.count <= 1) return ofLast;
  return Math.min(unread.count, context.deps.concurrency) >= manySlices ? ofMany : usual;
}

const isFull = ({ received, bytes }: Batch, size: Size): boolean =>
  received >= size.records || bytes >= size.bytes;

/**
 * Reads one slice to its end: pages → rows → batches; the last batch carries the slice's receipt and, where it is the walk's last slice,
 * the checkpoint. When it fails half-way, what was read until then is committed without them, and the error is thrown. `again`: it is read a second
 * time in this run, because it was news that it has no list or nothing in it, or because it showed less than was counted in it. `count`: records in it,
 * as far as that is known.
 */
export async function readSlice(
  stream: StreamContext,
  open: OpenSlice,
  { again, count }: { readonly again: boolean; readonly count: number | undefined },
): Promise<SliceEnd> {
  const { context, flow, tally } = stream;
  const missed = await knownIn(stream, open);
  const reading = await openReading(stream, open);
  // The memory of a batch is used again by the next one, in this slice and in those after it.
  const loads = underWay(context.writers, () => new BinaryWriter(usual.bytes + (1 << 19)));
  let writer = loads.writer();
  let batch: Batch | undefined;
  let received = 0;
  let outside = 0;
  const refusals: Refusal[] = [];
  let announced = 0;
  let end: WalkEnd;
  const whole = flow.absent === 'delete';
  const roomy = isListing(flow);
  let gathering: ListingLoad | undefined;
  const gathered: Reject[] = [];
  try {
    for (;;) {
      const step = await reading.pages.next().catch(async (error: unknown) => ({
        done: true as const,
        value: await endOfNone(stream, open, error, again),
      }));
      if (step.done === true) {
        end = step.value;
        break;
      }
      batch ??= new Batch(flow, writer);
      if (missed.size > 0) for (const record of step.value.records) missed.delete(reading.id(record));
      const taken = await takePage(stream, batch, step.value, reading, open.slice);
      received += taken.received;
      outside += taken.outside;
      refusals.push(...taken.refusals);
      tally.received += taken.received;
      if (step.value.total !== undefined && step.value.total > announced && open.slice.window === undefined) {
        tally.announced = (tally.announced ?? 0) + step.value.total - announced;
        announced = step.value.total;
      }
      tellProgress(context, flow, tally);
      if (whole && !roomy) continue;
      const size = roomy ? ofListing : sizeOf(stream);
      if (!isFull(batch, size)) continue;
      const full = batch;
      batch = undefined;
      if (whole) gathering ??= await openListing(stream, open.slice);
      const into = gathering;
      if (whole) gathered.push(...full.rejects);
      await loads.begin(size.underWay, writer, () => into?.add(full) ?? commit(stream, full, open));
      writer = loads.writer();
      if (whole) {
        const tooMany = context.rejections.add(flow.name, full.received, full.rejects.length);
        if (tooMany !== undefined) throw tooMany;
      }
    }
    // Records that lack what others have: all that was read stays, and the slice is read again.
    const owed = await stream.tails.judge(refusals);
    if (owed !== undefined) throw owed;
    await checkShown(stream, open, { end, count, missed, again });
    await checkEmptied(stream, open, end, again);
    // The batch with the receipt waits for all others: let it be an empty one rather than keep rows waiting.
    if (batch !== undefined && !whole && loads.busy) {
      const last = batch;
      batch = undefined;
      await loads.begin(ofLast.underWay, writer, () => commit(stream, last, open));
      writer = loads.writer();
    }
    await loads.landed();
  } catch (error) {
    const isLost = await loads.failed();
    await gathering?.close();
    if (error instanceof TooManyRejects && gathered.length > 0) await keepRejected(stream, gathered, open);
    // Days are replaced as a whole or not at all: readers never see half of one. What follows a batch that the warehouse refused stays out, too.
    if (batch !== undefined && flow.days === undefined && !isLost) await salvage(stream, batch, open);
    throw error;
  } finally {
    // The paging may still have a request under way when we leave early.
    await reading.pages.return?.(undefined as never).catch(() => undefined);
  }
  // What reads in its own way asks for no window.
  if (outside > 0 && stream.walk.kind !== 'backfill' && flow.read === undefined)
    tell(
      context,
      'info',
      `${flow.name}: ${plural(outside, 'record')} lay outside the window that was asked for`,
    );
  const sliceEnd: SliceEnd = {
    status: end.matched ? 'done' : 'partial',
    expected: end.expected,
    fetched: end.fetched,
    landed: received,
    passes: end.passes,
    ...(end.lacks && { lacks: end.lacks }),
  };
  const loaded = await commit(stream, batch ?? new Batch(flow, writer), open, sliceEnd, gathering).finally(
    () => gathering?.close(),
  );
  context.writers.push(writer);
  if (loaded.spared !== undefined)
    tell(
      context,
      'warn',
      `${flow.name}: ${plural(loaded.spared, 'row')} not in the list stay: a record of it that was rejected has no name`,
    );
  if (loaded.braked) return { ...sliceEnd, status: 'partial', braked: true };
  return sliceEnd;
}

function openListing({ context, flow, force }: StreamContext, slice: Slice): Promise<ListingLoad> {
  const { sourceId, runId } = context.run;
  const { settings, signal } = context.lease;
  const target = { flow, scope: scopeOf(flow, slice), sourceId, runId, force, settings };
  return ListingLoad.open(context.deps.warehouse.pool, target, signal);
}

async function openReading({ context, flow }: StreamContext, open: OpenSlice): Promise<Reading> {
  if (flow.read !== undefined)
    return flow.read(open.slice, givenTo(context, flow, open.sliceId), context.signal);
  return readingOf(context.deps.source.http, await flow.pages(open.slice, context.signal), context.signal);
}
