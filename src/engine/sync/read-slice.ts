/** One slice to its end: pages → rows → batches. */

import { sql } from 'kysely';
import { AllRejected, HasNone, type TidemarkError, TooManyRejects } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import type { Page, Slice, SliceReading, WalkEnd } from '../../core/stream.ts';
import { Batch, isListing } from '../../load/batch.ts';
import { BinaryWriter } from '../../load/binary.ts';
import { target } from '../../load/layout.ts';
import { ListingLoad } from '../../load/load.ts';
import { inScope } from '../../load/replace.ts';
import { readingOf } from '../../reading/pages.ts';
import { commit, scopeOf, type WalkRun } from '../batching/commit.ts';
import { takePage, WaitingRecords } from '../batching/map-page.ts';
import type { ListRead } from '../batching/nested-lists.ts';
import { sliceContext } from '../batching/slice-context.ts';
import { manySlices } from '../context/deps.ts';
import { ask, tell, tellProgress } from '../context/run-context.ts';
import type { OpenSlice, SliceEnd } from '../state/walk-state.ts';
import { ShownLess } from '../verify.ts';

/**
 * Reads one slice to its end. The last batch carries the slice's receipt and, for the walk's last slice, the
 * checkpoint. When it fails half-way, the batches read until then are committed without them, and the error
 * is thrown. `count`: records in it, as far as known. `doubts`: what earlier readings in this run came to;
 * that a list has nothing, or less than it should, is believed when said twice.
 */
export async function readSlice(
  walking: WalkRun,
  open: OpenSlice,
  count: number | undefined,
  doubts: readonly TidemarkError[],
): Promise<SliceEnd> {
  const { deps, stream, signal } = walking;
  const { slice, sliceId } = open;
  const reading =
    stream.read === undefined
      ? readingOf(deps.source.http, await stream.pages(slice, signal), signal)
      : await stream.read(slice, sliceContext(walking, stream, sliceId), signal);
  const again = doubts.some((doubt) => doubt instanceof ShownLess || doubt instanceof HasNone);
  return new SliceReader(walking, open, reading).read(count, again);
}

/** What replaces its scope is committed as one: as one batch, or as a listing where it has no children. */
const isWhole = ({ stream }: WalkRun): boolean => stream.absent === 'delete';

/**
 * When a batch is full, and how many batches of a slice may be loaded while the next one is filled: none among
 * many slices (`manySlices`). While the last slice of a walk is loaded nothing else is read: its batches are
 * small.
 */
function sizeOf(walking: WalkRun) {
  const { deps, unread } = walking;
  const large = { records: 5_000, bytes: mostBytes };
  if (isWhole(walking)) return { ...large, most: 1 };
  if (unread.count <= 1) return { records: 500, bytes: 1 << 20, most: 2 };
  return { ...large, most: Math.min(unread.count, deps.concurrency) >= manySlices ? 0 : 1 };
}

/** Bytes at which a batch is full. */
const mostBytes = 1 << 21;

/** A batch in the memory of one that is loaded, if there is any. */
const emptyBatch = ({ stream, writers }: WalkRun): Batch =>
  new Batch(stream, writers.pop() ?? new BinaryWriter(mostBytes + (1 << 19)));

class SliceReader {
  readonly #walking: WalkRun;
  readonly #open: OpenSlice;
  readonly #reading: SliceReading;
  readonly #refusals: ListRead[] = [];
  readonly #waiting: WaitingRecords;
  /** Loads that are under way while the next batch is filled. One that failed stays. */
  readonly #loads = new Set<Promise<unknown>>();
  #batch: Batch;
  #listing: ListingLoad | undefined;
  #received = 0;

  constructor(walking: WalkRun, open: OpenSlice, reading: SliceReading) {
    this.#walking = walking;
    this.#open = open;
    this.#reading = reading;
    this.#waiting = new WaitingRecords(walking);
    this.#batch = emptyBatch(walking);
  }

  async read(count: number | undefined, again: boolean): Promise<SliceEnd> {
    try {
      const end = await this.#readAll(count, again).catch((error: unknown) => this.#failed(error));
      return await this.#finish(end);
    } finally {
      await this.#listing?.close();
      // The paging may still have a request under way when we leave early.
      await this.#reading.pages.return?.(undefined as never).catch(() => undefined);
    }
  }

  /** Reads to the end; what is not loaded then is in the batch. */
  async #readAll(count: number | undefined, again: boolean): Promise<WalkEnd> {
    const end = await this.#pages(again);
    await this.#settle();
    // Records that lack what others have: all that was read stays, and the slice is read again.
    const owed = await this.#walking.nestedLists.judge(this.#refusals);
    if (owed !== undefined) throw owed;
    await this.#check(end, count, again);
    // The batch with the receipt waits for all others: an empty one keeps no rows waiting.
    if (this.#batch.received > 0 && !isWhole(this.#walking) && this.#loads.size > 0) await this.#load(2);
    await Promise.all(this.#loads);
    this.#countRejects();
    this.#requireOne();
    return end;
  }

  /**
   * An answer that is empty or lacks its page token passes for the end of its list: throws `ShownLess` where a
   * reading shows much less than the source counts, or nothing though rows are stored; a second reading gives
   * a warning.
   */
  async #check({ read, passes }: WalkEnd, counted: number | undefined, again: boolean): Promise<void> {
    const { stream, signal } = this.#walking;
    const { slice } = this.#open;
    // A reading without a pass sent no request.
    if (passes === 0) return;
    if (stream.by !== 'changes') {
      if (again || read > 0 || !(await mayHaveRows(this.#walking, slice))) return;
      throw new ShownLess(`${stream.name}: the list is empty`);
    }
    const count = counted ?? (await stream.windows.count(slice, signal)) ?? 0;
    // Counts are approximate (the vendor's own word), but none is more than nothing.
    if (read === 0 ? count === 0 : count - read <= Math.max(2, count / 10)) return;
    const [from, to] = [slice.window?.from, slice.window?.to].map((at) => at?.toISOString() ?? '…');
    const message = `${stream.name}: the source counts ${plural(count, 'record')} from ${from} to ${to}, and shows ${read}`;
    if (!again) throw new ShownLess(message);
    tell(this.#walking, 'warn', `${message}, twice: what it does not show is not read`);
  }

  async #pages(again: boolean): Promise<WalkEnd> {
    for (;;) {
      const step = await this.#reading.pages.next().catch((error: unknown) => {
        // An owner that says so twice has no such list: it is read as an empty one.
        if (!(error instanceof HasNone) || !again) throw error;
        return { done: true, value: { expected: 0, read: 0, passes: 1, matched: true } } as const;
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
    const received = await takePage(this.#walking, this.#batch, this.#waiting, page, this.#reading, slice);
    this.#received += received;
    tally.received += received;
    tellProgress(this.#walking);
    if (this.#waiting.isFull) await this.#settle();
    if (isWhole(this.#walking) && !isListing(stream)) return;
    const { records, bytes, most } = sizeOf(this.#walking);
    if (this.#batch.received < records && this.#batch.bytes < bytes) return;
    await this.#settle();
    await this.#load(most);
  }

  /** Puts into the batch what waits for its lists. */
  async #settle(): Promise<void> {
    this.#refusals.push(...(await this.#waiting.settle(this.#batch)));
  }

  /**
   * Begins to load the batch once fewer than `most` are under way; 0: at once, and waits for it. Throws what
   * one of them threw.
   */
  async #load(most: number): Promise<void> {
    this.#countRejects();
    const batch = this.#batch;
    // Where this load cannot begin, there is nothing to salvage.
    this.#batch = new Batch(batch.stream, new BinaryWriter(0));
    if (isWhole(this.#walking)) this.#listing ??= await openListing(this.#walking, this.#open);
    while (this.#loads.size >= Math.max(most, 1)) await Promise.race(this.#loads);
    await Promise.race([...this.#loads, undefined]);
    const work = this.#listing?.add(batch) ?? commit(this.#walking, batch, this.#open);
    const load: Promise<unknown> = work
      .then(() => this.#loads.delete(load))
      .finally(() => this.#walking.writers.push(batch.writer));
    load.catch(() => undefined);
    this.#loads.add(load);
    if (most === 0) await load;
    // Not earlier: the memory of a batch that is loaded is used again.
    this.#batch = emptyBatch(this.#walking);
  }

  /** Takes the batch into account. Throws `TooManyRejects`. */
  #countRejects(): void {
    this.#walking.tally.rejected += this.#batch.rejects.length;
    this.#walking.rejections.add(this.#batch);
  }

  /** Throws `AllRejected` in the last slice of a walk of which no record could be loaded: it stays unread. */
  #requireOne(): void {
    const { stream, tally, unread } = this.#walking;
    const isLast = unread.count - unread.ending <= 1;
    unread.ending += 1;
    if (!isLast || tally.rejected === 0 || tally.rejected < tally.received) return;
    const [first] = [...this.#batch.rejects, ...(this.#listing?.taken.rejects ?? [])];
    const all = tally.rejected === 1 ? 'the only record was' : `all ${tally.rejected} records were`;
    throw new AllRejected(`${stream.name}: ${all} rejected${first ? `: ${first.message}` : ''}`);
  }

  /**
   * Keeps what was read before a failure: the next run has less to do. Of days and listings, which are
   * replaced as a whole or not at all, it keeps the rejects where these are the failure: they say what is wrong. Throws the error.
   */
  async #failed(error: unknown): Promise<never> {
    const { lease, stream } = this.#walking;
    const loads = await Promise.allSettled(this.#loads);
    await this.#listing?.close();
    // What follows a batch that the warehouse refused stays out, too.
    const isLost = loads.some(({ status }) => status === 'rejected');
    if (isLost || lease.signal.aborted) throw error;
    // The first error is the one to report: what waits for lists that cannot be had either is read again.
    await this.#settle().catch(() => undefined);
    const isPart = stream.by !== 'days' && this.#listing === undefined;
    const kept = isPart ? this.#batch : new Batch(stream);
    const rejects = [...(this.#listing?.taken.rejects ?? []), ...this.#batch.rejects];
    const saysWhy = error instanceof TooManyRejects || error instanceof AllRejected;
    if (!isPart && saysWhy) for (const reject of rejects) kept.reject(reject);
    if (kept.received > 0) await commit(this.#walking, kept, this.#open);
    throw error;
  }

  /** Commits the last batch with the receipt. */
  async #finish({ matched, ...walked }: WalkEnd): Promise<SliceEnd> {
    const end = { ...walked, status: matched ? 'done' : 'partial', stored: this.#received } as const;
    const { spared, isHeld } = await commit(this.#walking, this.#batch, this.#open, end, this.#listing);
    this.#walking.writers.push(this.#batch.writer);
    if (spared !== undefined) {
      const why = 'a record of it that was rejected has no name';
      tell(
        this.#walking,
        'warn',
        `${this.#walking.stream.name}: ${plural(spared, 'row')} not in the list stay: ${why}`,
      );
    }
    return isHeld ? { ...end, status: 'partial', isHeld } : end;
  }
}

function openListing(walking: WalkRun, { slice }: OpenSlice): Promise<ListingLoad> {
  const { stream, sourceId, runId, force, deps } = walking;
  const { settings, signal } = walking.lease;
  const target = { stream, scope: scopeOf(stream, slice), sourceId, runId, force, settings };
  return ListingLoad.open(deps.warehouse.pool, target, signal);
}

/** Whether rows of the slice are stored, or the whole list is read for the first time. */
async function mayHaveRows(walking: WalkRun, slice: Slice): Promise<boolean> {
  const { stream, isFirst, sourceId } = walking;
  if (stream.by === 'list' && isFirst) return true;
  const { columns, entity } = stream.table;
  if (!Object.keys(slice.partition ?? {}).every((column) => Object.hasOwn(columns, column))) return false;
  const query = sql`select from ${target(stream.table)} t
    where ${inScope(stream.table, scopeOf(stream, slice), sourceId)}
      ${sql.raw(entity ? 'and t._deleted_at is null' : '')} limit 1`;
  return (await ask(walking, query)).length > 0;
}
