/** One page of records becomes rows of a batch. */

import { setImmediate } from 'node:timers/promises';
import { BadData } from '../../core/errors.ts';
import { unlessBad } from '../../core/record.ts';
import type { Json, Mapped, Page, Slice, SliceReading } from '../../core/stream.ts';
import { dateToInstant } from '../../core/time.ts';
import type { Batch, Reject, RejectPart } from '../../load/batch.ts';
import { elementsIn, mostElements } from './bulk-lists.ts';
import type { WalkRun } from './commit.ts';
import { type ListRead, nestedOf, partRejected } from './nested-lists.ts';

/** After so long a page yields, so that answers that have come are handled and the next requests leave. */
const longestWorkMs = 3;
const recordsBetweenLooks = 16;

/** A record that waits for lists it came without. */
interface WaitingRecord {
  readonly mapped: Mapped;
  readonly put: (batch: Batch, lists: readonly ListRead[]) => void;
}

/**
 * Maps one page: records that came whole go into the batch, the others wait for their lists. Gives the number of
 * records.
 */
export async function takePage(
  walking: WalkRun,
  batch: Batch,
  waiting: WaitingRecords,
  page: Page,
  reading: SliceReading,
  slice: Slice,
): Promise<number> {
  const { stream } = walking;
  const records = inWindow(walking, page, slice);
  const put = intoBatch(walking, page, reading, slice);
  // Without the other records, which need not live as long.
  const putLater = intoBatch(walking, { ...page, records: [] }, reading, slice);
  // A record's rows are encoded before the next record is mapped, so that few objects live at once.
  let rested = performance.now();
  for (const [place, record] of records.entries()) {
    if (place % recordsBetweenLooks === 0 && performance.now() - rested > longestWorkMs) {
      await setImmediate();
      rested = performance.now();
    }
    const mapped = unlessBad(() => stream.transform(record, slice));
    if (mapped instanceof BadData || mapped.nestedLists === undefined) put(batch, record, mapped);
    else waiting.add({ mapped, put: (into, lists) => putLater(into, record, mapped, lists) }, page);
  }
  return records.length;
}

/** Bytes of pages that are held for records that wait: a reject keeps the exact bytes of its record. */
const mostHeldBytes = 4 << 20;

/** Records of a slice that wait for lists, which are read together: some sources give those of many records at once. */
export class WaitingRecords {
  readonly #walking: WalkRun;
  #records: WaitingRecord[] = [];
  #lastPage: Buffer | undefined;
  #bytes = 0;
  #elements = 0;

  constructor(walking: WalkRun) {
    this.#walking = walking;
  }

  add(record: WaitingRecord, { raw }: Page): void {
    this.#records.push(record);
    if (raw !== this.#lastPage) this.#bytes += raw.length;
    this.#lastPage = raw;
    const lists = new Map(record.mapped.nestedLists?.map((list) => [list.walk, elementsIn(list)]));
    for (const elements of lists.values()) this.#elements += elements;
  }

  /** Whether to read the lists now, for the memory that they and their records take. */
  get isFull(): boolean {
    return this.#elements >= mostElements || this.#bytes >= mostHeldBytes;
  }

  /**
   * Reads the lists of those whose content changed, and puts all into the batch. Gives the lists that the
   * source did not give or not whole.
   */
  async settle(batch: Batch): Promise<readonly ListRead[]> {
    const { nestedLists, force } = this.#walking;
    const records = this.#records;
    if (records.length === 0) return [];
    this.#records = [];
    [this.#lastPage, this.#bytes, this.#elements] = [undefined, 0, 0];
    const partial = records.map(({ mapped }) => mapped);
    const lists = await nestedLists.ofChanged(batch, partial, force);
    for (const { mapped, put } of records) put(batch, lists.get(mapped) ?? []);
    // Of a closed endpoint nothing more is to be judged.
    return [...lists.values()].flat().filter(({ error, endpoint }) => error && !endpoint.closedBy);
  }
}

/** Gives what puts a record of the page into a batch: as rows, or as a reject with its exact bytes. */
function intoBatch(
  { warehouseNow, stream, resolves }: WalkRun,
  page: Page,
  reading: SliceReading,
  slice: Slice,
): (batch: Batch, record: Json, mapped: Mapped | BadData, lists?: readonly ListRead[]) => void {
  const fetchedAt = warehouseNow();
  return (batch, record, mapped, lists) => {
    let stage: Reject['stage'] = 'transform';
    try {
      if (mapped instanceof BadData) throw mapped;
      const besides = lists && nestedOf(lists);
      stage = 'encode';
      const element = { record, source: record, bytes: () => reading.bytes(record, page) };
      const rejectPart: RejectPart = (bad) => partRejected(bad, reading.id(record), element, slice);
      batch.add(mapped, fetchedAt, { ...besides, rejectPart });
      if (!resolves) return;
      const key = reading.id(record);
      const read = ['', ...Object.keys({ ...mapped.children, ...besides?.nested })];
      for (const part of read) if (!besides?.lacking?.includes(part)) batch.names.push([key, part]);
    } catch (error) {
      if (!(error instanceof BadData)) throw error;
      const about = unlessBad(() => stream.keyOf?.(record, slice));
      const row = about instanceof BadData ? undefined : about;
      const key = reading.id(record);
      const payload = reading.bytes(record, page);
      const { code, field } = error;
      const message =
        stage === 'encode' ? `${error.message} (record ${key || 'without a key'})` : error.message;
      batch.reject({ key, payload, stage, code, field, message, slice, row });
    }
  };
}

/**
 * Records outside the window are dropped in a backfill, which must touch nothing else. Elsewhere they are
 * taken along: a server that reads dates differently from how it writes them must not cost a row.
 */
function inWindow({ stream, walk }: WalkRun, { records }: Page, { window }: Slice): Page['records'] {
  const { windows } = stream;
  if (walk.kind !== 'backfill' || window === undefined || windows === undefined) return records;
  const [from, to] = [window.from, window.to].map((at) => at && dateToInstant(at));
  return records.filter((record) => {
    const at = windows.instant(record, window.field);
    return at === undefined || ((from === undefined || at >= from) && (to === undefined || at < to));
  });
}
