import { HasNone, TooManyRejects } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import type { Page, Reading, WalkEnd } from '../../core/paging.ts';
import { Batch, isListing, type Reject } from '../../load/batch.ts';
import type { BinaryWriter } from '../../load/binary.ts';
import { ListingLoad } from '../../load/load.ts';
import { readingOf } from '../../reading/open-reading.ts';
import { commit, keepRejected, salvage, scopeOf } from '../batching/commit.ts';
import { mostBytes, UnderWay } from '../batching/in-flight.ts';
import { takePage } from '../batching/map-page.ts';
import type { ListRead } from '../batching/nested-lists.ts';
import { sliceContext } from '../batching/slice-context.ts';
import type { WalkContext } from '../batching/walk-context.ts';
import { manySlices } from '../context/concurrency.ts';
import { tell, tellProgress } from '../context/run-context.ts';
import type { OpenSlice, SliceEnd } from '../state/slice-state.ts';
import { checkShown } from './suspicious.ts';

/**
 * When a batch is full, and how many of a slice may be loaded while the next one is filled. Of many slices
 * the others are read meanwhile, and a second batch for each would be memory times many. While the last slice
 * of a walk is loaded nothing else is read: its batches are small.
 */
function sizeOf({ context, unread }: WalkContext, isWhole: boolean) {
  if (unread.count <= 1 && !isWhole) return { records: 500, bytes: 1 << 20, underWay: 2 };
  const isOfMany = Math.min(unread.count, context.deps.concurrency) >= manySlices && !isWhole;
  return { records: 5_000, bytes: mostBytes, underWay: isOfMany ? 0 : 1 };
}

/**
 * `again`: the slice is read a second time in this run, and what it shows is believed. `count`: records in
 * it, as far as known.
 */
interface How {
  readonly again: boolean;
  readonly count: number | undefined;
}

/**
 * Reads one slice to its end: pages → rows → batches. The last batch carries the slice's receipt and, for the
 * walk's last slice, the checkpoint. When it fails half-way, the batches read until then are committed
 * without them, and the error is thrown.
 */
export async function readSlice(walking: WalkContext, open: OpenSlice, how: How): Promise<SliceEnd> {
  const { context, stream } = walking;
  const { slice, sliceId } = open;
  const { signal } = context;
  const reading =
    stream.read === undefined
      ? readingOf(context.deps.source.http, await stream.pages(slice, signal), signal)
      : await stream.read(slice, sliceContext(context, stream, sliceId), signal);
  return new SliceReader(walking, open, how, reading).read();
}

const emptyList: WalkEnd = { expected: 0, fetched: 0, passes: 1, matched: true };

class SliceReader {
  readonly #walking: WalkContext;
  readonly #open: OpenSlice;
  readonly #how: How;
  readonly #reading: Reading;
  readonly #loads: UnderWay;
  /** What replaces its scope is committed as one: as one batch, or as a listing where it has no children. */
  readonly #isWhole: boolean;
  readonly #refusals: ListRead[] = [];
  /** Rejects of the batches that the listing took. */
  readonly #rejects: Reject[] = [];
  #writer: BinaryWriter;
  #batch: Batch | undefined;
  #listing: ListingLoad | undefined;
  #received = 0;
  #announced = 0;

  constructor(walking: WalkContext, open: OpenSlice, how: How, reading: Reading) {
    this.#walking = walking;
    this.#open = open;
    this.#how = how;
    this.#reading = reading;
    // The memory of a batch is used again by the next one, in this slice and in those after it.
    this.#loads = new UnderWay(walking.context.writers);
    this.#writer = this.#loads.writer();
    this.#isWhole = walking.stream.absent === 'delete';
  }

  async read(): Promise<SliceEnd> {
    let end: WalkEnd;
    try {
      end = await this.#pages();
      // Records that lack what others have: all that was read stays, and the slice is read again.
      const owed = await this.#walking.nestedLists.judge(this.#refusals);
      if (owed !== undefined) throw owed;
      await checkShown(this.#walking, this.#open, end, this.#how);
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

  async #pages(): Promise<WalkEnd> {
    for (;;) {
      const step = await this.#reading.pages.next().catch((error: unknown) => {
        // An owner that says so twice has no such list: it is read as an empty one.
        if (!(error instanceof HasNone) || !this.#how.again) throw error;
        return { done: true as const, value: emptyList };
      });
      if (step.done === true) return step.value;
      await this.#take(step.value);
    }
  }

  async #take(page: Page): Promise<void> {
    const { context, stream, tally } = this.#walking;
    this.#batch ??= new Batch(stream, this.#writer);
    const taken = await takePage(this.#walking, this.#batch, page, this.#reading, this.#open.slice);
    this.#received += taken.received;
    this.#refusals.push(...taken.refusals);
    tally.received += taken.received;
    const { total = 0 } = page;
    if (total > this.#announced && this.#open.slice.window === undefined) {
      tally.announced = (tally.announced ?? 0) + total - this.#announced;
      this.#announced = total;
    }
    tellProgress(context, stream, tally);
    if (this.#isWhole && !isListing(stream)) return;
    const { records, bytes, underWay: most } = sizeOf(this.#walking, this.#isWhole);
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
    if (!this.#isWhole) return;
    this.#rejects.push(...batch.rejects);
    const tooMany = context.rejections.add(stream.name, batch.received, batch.rejects.length);
    if (tooMany !== undefined) throw tooMany;
  }

  async #failed(error: unknown): Promise<void> {
    const isLost = await this.#loads.failed();
    await this.#listing?.close();
    if (error instanceof TooManyRejects && this.#rejects.length > 0)
      await keepRejected(this.#walking, this.#rejects);
    // Days are replaced as a whole or not at all. What follows a batch that the warehouse refused stays out,
    // too.
    if (this.#batch !== undefined && this.#walking.stream.by !== 'days' && !isLost)
      await salvage(this.#walking, this.#batch, this.#open);
  }

  /** Commits the last batch with the receipt. */
  async #finish({ matched, expected, fetched, passes, lacks }: WalkEnd): Promise<SliceEnd> {
    const { context, stream } = this.#walking;
    const status = matched ? 'done' : 'partial';
    const end = {
      status,
      expected,
      fetched,
      landed: this.#received,
      passes,
      ...(lacks && { lacks }),
    } as const;
    const last = this.#batch ?? new Batch(stream, this.#writer);
    const loaded = await commit(this.#walking, last, this.#open, end, this.#listing).finally(() =>
      this.#listing?.close(),
    );
    context.writers.push(this.#writer);
    if (loaded.spared !== undefined) {
      const rows = plural(loaded.spared, 'row');
      const why = 'a record of it that was rejected has no name';
      tell(context, 'warn', `${stream.name}: ${rows} not in the list stay: ${why}`);
    }
    return loaded.isHeld ? { ...end, status: 'partial', isHeld: true } : end;
  }
}

function openListing({ context, stream, force }: WalkContext, { slice }: OpenSlice): Promise<ListingLoad> {
  const { sourceId, runId } = context.run;
  const { settings, signal } = context.lease;
  const target = { stream, scope: scopeOf(stream, slice), sourceId, runId, force, settings };
  return ListingLoad.open(context.deps.warehouse.pool, target, signal);
}
