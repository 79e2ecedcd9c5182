/** One page of records becomes rows of a batch. */

import { setImmediate } from 'node:timers/promises';
import { BadData } from '../../core/errors.ts';
import type { Page, Reading } from '../../core/paging.ts';
import type { Json } from '../../core/request.ts';
import type { Mapped, Slice } from '../../core/stream.ts';
import { dateToInstant } from '../../core/time.ts';
import type { Batch, Reject } from '../../load/batch.ts';
import type { WalkContext } from './commit.ts';
import { type ListRead, lackingIn, nestedOf, unlessBad } from './nested-lists.ts';

/** After so long a page yields, so that answers that have come are handled and the next requests leave. */
const longestWorkMs = 3;
const recordsBetweenLooks = 16;

/**
 * Maps one page into the batch, fetching truncated lists of records whose content changed. Gives the number
 * of records, and the nested lists that the source did not give or not whole.
 */
export async function takePage(
  walking: WalkContext,
  batch: Batch,
  page: Page,
  reading: Reading,
  slice: Slice,
): Promise<{ readonly received: number; readonly refusals: readonly ListRead[] }> {
  const { stream, nestedLists, force } = walking;
  const records = inWindow(walking, page, slice);
  const put = intoBatch(walking, batch, page, reading, slice);
  // A record's rows are encoded before the next record is mapped, so that few objects live at once. From the
  // first record on that waits for its lists all wait: the order of the page is kept.
  const waiting: (readonly [record: Json, mapped: Mapped | BadData])[] = [];
  let rested = performance.now();
  for (const [place, record] of records.entries()) {
    if (place % recordsBetweenLooks === 0 && performance.now() - rested > longestWorkMs) {
      await setImmediate();
      rested = performance.now();
    }
    const mapped = unlessBad(() => stream.transform(record, slice));
    if (waiting.length > 0 || isPartial(mapped)) waiting.push([record, mapped]);
    else put(record, mapped);
  }
  const partial = waiting.map(([, mapped]) => mapped).filter(isPartial);
  const lists = await nestedLists.ofChanged(batch, partial, force);
  for (const [record, mapped] of waiting) put(record, mapped, lists.get(mapped));
  // Of a closed endpoint nothing more is to be judged.
  const refusals = [...lists.values()].flat().filter(({ error, endpoint }) => error && !endpoint.closedBy);
  return { received: records.length, refusals };
}

const isPartial = (mapped: Mapped | BadData): mapped is Mapped =>
  !(mapped instanceof BadData) && mapped.nestedLists !== undefined;

/** Gives what puts a record of the page into the batch: as rows, or as a reject with its exact bytes. */
function intoBatch(
  { context, stream, resolves }: WalkContext,
  batch: Batch,
  page: Page,
  reading: Reading,
  slice: Slice,
): (record: Json, mapped: Mapped | BadData, lists?: readonly ListRead[]) => void {
  const fetchedAt = context.warehouseNow();
  return (record, mapped, lists) => {
    let stage: Reject['stage'] = 'transform';
    try {
      if (mapped instanceof BadData) throw mapped;
      const nested = lists && nestedOf(lists);
      stage = 'encode';
      batch.add(mapped, fetchedAt, nested, lists && lackingIn(lists));
      if (resolves) batch.names.push(reading.id(record));
    } catch (error) {
      if (!(error instanceof BadData)) throw error;
      const about = unlessBad(() => stream.keyOf?.(record, slice));
      const row = about instanceof BadData ? undefined : about;
      const [key, payload] = [reading.id(record), reading.bytes(record, page)];
      const { code, field, message } = error;
      batch.reject({ key, payload, stage, code, field, message, slice, row });
    }
  };
}

/**
 * Records outside the window are dropped in a backfill, which must touch nothing else. Elsewhere they are
 * taken along: a server that reads dates differently from how it writes them must not cost a row.
 */
function inWindow({ stream, walk }: WalkContext, { records }: Page, { window }: Slice): Page['records'] {
  const { windows } = stream;
  if (walk.kind !== 'backfill' || window === undefined || windows === undefined) return records;
  const [from, to] = [window.from, window.to].map((at) => at && dateToInstant(at));
  return records.filter((record) => {
    const at = windows.instant(record, window.field);
    return at === undefined || ((from === undefined || at >= from) && (to === undefined || at < to));
  });
}
