/** One page of records becomes rows of a batch. */

import { setImmediate } from 'node:timers/promises';
import { BadData } from '../../core/errors.ts';
import type { Page, Reading } from '../../core/paging.ts';
import type { Json } from '../../core/request.ts';
import type { Mapped, Slice, Stream } from '../../core/stream.ts';
import { dateToInstant, type Instant } from '../../core/time.ts';
import type { Batch, Reject } from '../../load/batch.ts';
import type { Fetched, RefusedList } from './nested-lists.ts';
import { unchangedOf } from './unchanged.ts';
import type { WalkContext } from './walk-context.ts';

/** After so long a page yields, so that answers that have come are handled and the next requests leave. */
const longestWorkMs = 3;
const recordsBetweenLooks = 16;

/** A record after the transform: rows, or the reason why not. */
type Outcome = { readonly record: Json } & ({ readonly mapped: Mapped } | { readonly bad: BadData });

interface Taken {
  readonly received: number;
  /** Records outside the slice's window. */
  readonly outside: number;
  /** Nested lists that the source did not give. */
  readonly refusals: readonly RefusedList[];
}

/** Maps one page into the batch, fetching truncated lists of records whose content changed. */
export async function takePage(
  walking: WalkContext,
  batch: Batch,
  page: Page,
  reading: Reading,
  slice: Slice,
): Promise<Taken> {
  const { records, outside } = inWindow(walking, page, slice);
  const taker = new PageTaker(walking, batch, page, reading, slice);
  // A record's rows are encoded before the next record is mapped, so that few objects live at once. From the
  // first record on that waits for its lists all wait: the order of the page is kept.
  const waiting: Outcome[] = [];
  let rested = performance.now();
  for (const [place, record] of records.entries()) {
    if (place % recordsBetweenLooks === 0 && performance.now() - rested > longestWorkMs) {
      await setImmediate();
      rested = performance.now();
    }
    const outcome = mapRecord(walking.stream, record, slice);
    if (waiting.length > 0 || isPartial(outcome)) waiting.push(outcome);
    else taker.take(outcome);
  }
  const lists = await listsFor(walking, batch, waiting);
  for (const outcome of waiting)
    taker.take(outcome, 'mapped' in outcome ? lists.get(outcome.mapped) : undefined);
  return { received: records.length, outside, refusals: taker.refusals };
}

/** Puts the records of one page into the batch, as rows or as rejects. */
class PageTaker {
  readonly refusals: RefusedList[] = [];
  readonly #walking: WalkContext;
  readonly #batch: Batch;
  readonly #page: Page;
  readonly #reading: Reading;
  readonly #slice: Slice;
  readonly #fetchedAt: Instant;

  constructor(walking: WalkContext, batch: Batch, page: Page, reading: Reading, slice: Slice) {
    this.#walking = walking;
    this.#batch = batch;
    this.#page = page;
    this.#reading = reading;
    this.#slice = slice;
    this.#fetchedAt = walking.context.warehouseNow();
  }

  take(outcome: Outcome, lists?: Fetched | BadData): void {
    const { record } = outcome;
    const bad = 'bad' in outcome ? outcome.bad : lists;
    if (bad instanceof BadData) this.#reject(bad, record, 'transform');
    if (bad instanceof BadData || !('mapped' in outcome)) return;
    try {
      this.#batch.add(outcome.mapped, this.#fetchedAt, bad?.rows, bad?.lacking);
      this.refusals.push(...(bad?.refusals ?? []));
      if (this.#walking.resolves) this.#batch.names.push(this.#reading.id(record));
    } catch (error) {
      if (!(error instanceof BadData)) throw error;
      this.#reject(error, record, 'encode');
    }
  }

  /** The reject of a record, with its bytes exactly as they were in the page. */
  #reject({ code, field, message }: BadData, record: Json, stage: Reject['stage']): void {
    const { keyOf } = this.#walking.stream;
    const row = unlessBad(() => keyOf?.(record, this.#slice));
    this.#batch.reject({
      key: this.#reading.id(record),
      payload: this.#reading.bytes(record, this.#page),
      ...{ stage, code, field, message },
      slice: this.#slice,
      row: row instanceof BadData ? undefined : row,
    });
  }
}

/** Runs the transform; a record that cannot become rows is an outcome. */
function mapRecord(stream: Stream, record: Json, slice: Slice): Outcome {
  const mapped = unlessBad(() => stream.transform(record, slice));
  return mapped instanceof BadData ? { bad: mapped, record } : { mapped, record };
}

/** What the step gives, or the `BadData` that it throws; every other error is a defect. */
function unlessBad<T>(step: () => T): T | BadData {
  try {
    return step();
  } catch (error) {
    if (error instanceof BadData) return error;
    throw error;
  }
}

const isPartial = (outcome: Outcome): boolean =>
  'mapped' in outcome && (outcome.mapped.nestedLists?.length ?? 0) > 0;

/**
 * The nested lists of those records that came in part and whose content changed, or why a record must be
 * rejected.
 */
async function listsFor(
  walking: WalkContext,
  batch: Batch,
  outcomes: readonly Outcome[],
): Promise<ReadonlyMap<Mapped, Fetched | BadData>> {
  const digests = outcomes.flatMap((outcome) => {
    if (!('mapped' in outcome) || !isPartial(outcome)) return [];
    const { mapped } = outcome;
    // A bad one will be rejected when it is taken, by the same check.
    const digest = unlessBad(() => batch.digest(mapped));
    return digest instanceof BadData ? [] : [{ mapped, digest }];
  });
  const unchanged = await unchangedOf(walking.context, walking.stream, digests);
  const fetched = digests.map(async ({ mapped }) => {
    const lacked = unchanged.get(mapped);
    const isWanted = ({ child }: { readonly child: string }): boolean =>
      walking.force || lacked === undefined || lacked.includes(child);
    const wanted = (mapped.nestedLists ?? []).filter(isWanted);
    if (wanted.length === 0) return undefined;
    const lists = walking.nestedLists.fetch(mapped, wanted, lacked ?? []).catch((error: unknown) => {
      if (error instanceof BadData) return error;
      throw error;
    });
    return [mapped, await lists] as const;
  });
  return new Map((await Promise.all(fetched)).filter((one) => one !== undefined));
}

/**
 * Records outside the window are dropped in a backfill, which must touch nothing else. Elsewhere they are
 * taken along: a server that reads dates differently from how it writes them must not cost a row.
 */
function inWindow(
  { stream, walk }: WalkContext,
  { records }: Page,
  { window }: Slice,
): { readonly records: Page['records']; readonly outside: number } {
  const { windows } = stream;
  if (window === undefined || windows === undefined) return { records, outside: 0 };
  const [from, to] = [window.from, window.to].map((at) => at && dateToInstant(at));
  const inside = records.filter((record) => {
    const at = windows.instant(record, window.field);
    return at === undefined || ((from === undefined || at >= from) && (to === undefined || at < to));
  });
  return { records: walk.kind === 'backfill' ? inside : records, outside: records.length - inside.length };
}
