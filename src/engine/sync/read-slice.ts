/** One slice to its end: pages → rows → batches. */

import { sql } from 'kysely';
import { HasNone, type TidemarkError, TooManyRejects } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import type { Page, Reading, WalkEnd } from '../../core/paging.ts';
import type { Slice } from '../../core/stream.ts';
import { Batch, isListing } from '../../load/batch.ts';
import type { BinaryWriter } from '../../load/binary.ts';
import { ListingLoad } from '../../load/load.ts';
import { inScope } from '../../load/replace.ts';
import { rowsOf } from '../../queries/db.ts';
import { readingOf } from '../../reading/open-reading.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { commit, keepRejected, salvage, scopeOf, type WalkContext } from '../batching/commit.ts';
import { mostBytes, UnderWay } from '../batching/in-flight.ts';
import { takePage } from '../batching/map-page.ts';
import type { Refusal } from '../batching/nested-lists.ts';
import { sliceContext } from '../batching/slice-context.ts';
import { manySlices } from '../context/deps.ts';
import { tell } from '../context/run-context.ts';
import { tellProgress } from '../context/stream-in-run.ts';
import type { OpenSlice, SliceEnd } from '../state/walk-state.ts';
import { ShownLess } from '../verify.ts';

/**
 * Reads one slice to its end. The last batch carries the slice's receipt and, for the walk's last slice, the
 * checkpoint. When it fails half-way, the batches read until then are committed without them, and the error
 * is thrown. `count`: records in it, as far as known. `doubt`: what the first reading in this run came to,
 * where this is the second; that a list has nothing, or less than it should, is believed when said twice.
 */
export async function readSlice(
  walking: WalkContext,
  open: OpenSlice,
  count: number | undefined,
  doubt: TidemarkError | undefined,
): Promise<SliceEnd> {
  const { context, stream } = walking;
  const { slice, sliceId } = open;
  const { signal } = context;
  const reading =
    stream.read === undefined
      ? readingOf(context.deps.source.http, await stream.pages(slice, signal), signal)
      : await stream.read(slice, sliceContext(context, stream, sliceId), signal);
  return new SliceReader(walking, open, reading).read(
    count,
    doubt instanceof ShownLess || doubt instanceof HasNone,
  );
}

/**
 * When a batch is full, and how many of a slice may be loaded while the next one is filled. Of many slices
 * the others are read meanwhile, and a second batch for each would be memory times many. While the last slice
 * of a walk is loaded nothing else is read: its batches are small.
 */
function sizeOf({ context, unread, stream }: WalkContext) {
  const isWhole = stream.absent === 'delete';
  if (unread.count <= 1 && !isWhole) return { records: 500, bytes: 1 << 20, most: 2 };
  const isOfMany = Math.min(unread.count, context.deps.concurrency) >= manySlices && !isWhole;
  return { records: 5_000, bytes: mostBytes, most: isOfMany ? 0 : 1 };
}

class SliceReader {
  readonly #walking: WalkContext;
  readonly #open: OpenSlice;
  readonly #reading: Reading;
  readonly #loads: UnderWay;
  /** What replaces its scope is committed as one: as one batch, or as a listing where it has no children. */
  readonly #isWhole: boolean;
  readonly #refusals: Refusal[] = [];
  #writer: BinaryWriter;
  #batch: Batch | undefined;
  #listing: ListingLoad | undefined;
  #received = 0;

  constructor(walking: WalkContext, open: OpenSlice, reading: Reading) {
    this.#walking = walking;
    this.#open = open;
    this.#reading = reading;
    // The memory of a batch is used again by the next one, in this slice and in those after it.
    this.#loads = new UnderWay(walking.context.writers);
    this.#writer = this.#loads.writer();
    this.#isWhole = walking.stream.absent === 'delete';
  }

  async read(count: number | undefined, again: boolean): Promise<SliceEnd> {
    let end: WalkEnd;
    try {
      end = await this.#pages(again);
      // Records that lack what others have: all that was read stays, and the slice is read again.
      const owed = await this.#walking.nestedLists.judge(this.#refusals);
      if (owed !== undefined) throw owed;
      await checkShown(this.#walking, this.#open.slice, end, count, again);
      // The batch with the receipt waits for all others: an empty one keeps no rows waiting.
      if (this.#batch !== undefined && !this.#isWhole && this.#loads.busy) await this.#load(this.#batch, 2);
      await this.#loads.landed();
    } catch (error) {
      await this.#failed(error);
      throw error;
    } finally {
      // The paging may still have a request under way when we leave early.
      await this.#reading.pages.return?.(undefined as never).catch(() => undefined);
    }
    return this.#finish(end);
  }

  async #pages(again: boolean): Promise<WalkEnd> {
    for (;;) {
      const step = await this.#reading.pages.next().catch((error: unknown) => {
        // An owner that says so twice has no such list: it is read as an empty one.
        if (!(error instanceof HasNone) || !again) throw error;
        return { done: true, value: { expected: 0, fetched: 0, passes: 1, matched: true } } as const;
      });
      if (step.done === true) return step.value;
      await this.#take(step.value);
    }
  }

  async #take(page: Page): Promise<void> {
    const { stream, tally } = this.#walking;
    const { slice } = this.#open;
    // The total of a window was announced when it was counted.
    if (this.#received === 0 && slice.window === undefined && page.total !== undefined)
      tally.announced = (tally.announced ?? 0) + page.total;
    this.#batch ??= new Batch(stream, this.#writer);
    const taken = await takePage(this.#walking, this.#batch, page, this.#reading, slice);
    this.#received += taken.received;
    this.#refusals.push(...taken.refusals);
    tally.received += taken.received;
    tellProgress(this.#walking);
    if (this.#isWhole && !isListing(stream)) return;
    const { records, bytes, most } = sizeOf(this.#walking);
    if (this.#batch.received >= records || this.#batch.bytes >= bytes) await this.#load(this.#batch, most);
  }

  /** Begins to load a full batch, once fewer than `most` are under way. */
  async #load(batch: Batch, most: number): Promise<void> {
    const { context, stream } = this.#walking;
    this.#batch = undefined;
    if (this.#isWhole) this.#listing ??= await openListing(this.#walking, this.#open);
    const listing = this.#listing;
    const load = () => listing?.add(batch) ?? commit(this.#walking, batch, this.#open);
    await this.#loads.begin(most, this.#writer, load);
    this.#writer = this.#loads.writer();
    if (listing === undefined) return;
    const tooMany = context.rejections.add(stream.name, batch.received, batch.rejects.length);
    if (tooMany !== undefined) throw tooMany;
  }

  async #failed(error: unknown): Promise<void> {
    const isLost = await this.#loads.failed();
    const { rejects = [] } = this.#listing?.taken ?? {};
    await this.#listing?.close();
    if (error instanceof TooManyRejects && rejects.length > 0) await keepRejected(this.#walking, rejects);
    // Days are replaced as a whole or not at all. What follows a batch that the warehouse refused stays out,
    // too.
    if (this.#batch !== undefined && this.#walking.stream.by !== 'days' && !isLost)
      await salvage(this.#walking, this.#batch, this.#open);
  }

  /** Commits the last batch with the receipt. */
  async #finish({ matched, ...walked }: WalkEnd): Promise<SliceEnd> {
    const { context, stream } = this.#walking;
    const end = { ...walked, status: matched ? 'done' : 'partial', landed: this.#received } as const;
    const last = this.#batch ?? new Batch(stream, this.#writer);
    const loaded = await commit(this.#walking, last, this.#open, end, this.#listing).finally(() =>
      this.#listing?.close(),
    );
    context.writers.push(this.#writer);
    const spared = `${plural(loaded.spared ?? 0, 'row')} not in the list stay: a record of it that was rejected has no name`;
    if (loaded.spared !== undefined) tell(context, 'warn', `${stream.name}: ${spared}`);
    return loaded.isHeld ? { ...end, status: 'partial', isHeld: true } : end;
  }
}

function openListing({ context, stream, force }: WalkContext, { slice }: OpenSlice): Promise<ListingLoad> {
  const { sourceId, runId } = context.run;
  const { settings, signal } = context.lease;
  const target = { stream, scope: scopeOf(stream, slice), sourceId, runId, force, settings };
  return ListingLoad.open(context.deps.warehouse.pool, target, signal);
}

/**
 * An answer that is empty or lacks its page token passes for the end of its list: throws `ShownLess` where a reading shows much less than the source counts, or nothing though rows are
 * stored; a second reading gives a warning.
 */
async function checkShown(
  walking: WalkContext,
  slice: Slice,
  { fetched, passes }: WalkEnd,
  counted: number | undefined,
  again: boolean,
): Promise<void> {
  const { context, stream } = walking;
  // A reading without a pass sent no request.
  if (passes === 0) return;
  if (stream.by !== 'changes') {
    if (again || fetched > 0 || !(await isUnexpectedlyEmpty(walking, slice))) return;
    throw new ShownLess(`${stream.name}: the list is empty`);
  }
  const count = counted ?? (await stream.windows.count(slice, context.signal)) ?? 0;
  // Counts are approximate (the vendor's own word), but none is more than nothing.
  if (fetched === 0 ? count === 0 : count - fetched <= Math.max(2, count / 10)) return;
  const [from, to] = [slice.window?.from, slice.window?.to].map((at) => at?.toISOString() ?? '…');
  const message = `${stream.name}: the source counts ${plural(count, 'record')} from ${from} to ${to}, and shows ${fetched}`;
  if (!again) throw new ShownLess(message);
  tell(context, 'warn', `${message}, twice: what it does not show is not read`);
}

/** Whether rows of the slice are stored, or the whole list is read for the first time. */
async function isUnexpectedlyEmpty(
  { context, stream, isFirst }: WalkContext,
  slice: Slice,
): Promise<boolean> {
  if (stream.by === 'list' && isFirst) return true;
  const { columns, schema, name, entity } = stream.table;
  if (!Object.keys(slice.partition ?? {}).every((column) => Object.hasOwn(columns, column))) return false;
  const query = sql`select from ${sql.id(schema, name)} t
    where ${inScope(stream.table, scopeOf(stream, slice), context.run.sourceId)}
      ${sql.raw(entity ? 'and t._deleted_at is null' : '')} limit 1`;
  return (await withRetry(() => rowsOf(query, context.deps.warehouse.db))).length > 0;
}
