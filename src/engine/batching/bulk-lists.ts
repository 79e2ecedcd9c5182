/** Lists of many records at once. What a source does not give that way is for the lists of single records. */

import pLimit from 'p-limit';
import { RateLimited, TidemarkError } from '../../core/errors.ts';
import type { BulkContext, BulkLists, Json, NestedList } from '../../core/stream.ts';
import { readingOf } from '../../reading/pages.ts';
import { endsRun, type StreamRun, tell } from '../context/run-context.ts';
import { sliceContext } from './slice-context.ts';

/** Elements that are read at once: they are held in memory until the rows of their records are made. */
export const mostElements = 4_000;

/** How many elements a list has, as far as its record says. */
export const elementsIn = (list?: NestedList): number => list?.stated ?? 100;

/** A list of one record: one request for all that is made of it. */
export interface Wanted {
  /** The record's key in the stream's table, as text. */
  readonly key: string;
  /** What is made of it: several children may be read from one list. */
  readonly lists: readonly NestedList[];
}

/** An element of a list, and what the source sent it as, with its bytes. */
export interface Element {
  readonly record: Json;
  readonly source: Json;
  readonly bytes: () => Buffer;
}

/** The lists of many records, for one walk over the stream. */
export class BulkReader {
  readonly #of: StreamRun;
  readonly #bulkContext: BulkContext;
  /** One at a time until the source has given any. */
  readonly #limit = pLimit(1);
  /** Whether a source gave any, by the kind of list. One that refused the first is not asked again. */
  readonly #given = new Map<BulkLists, boolean>();

  /** `since` as in `BulkContext`. */
  constructor(of: StreamRun, since: Date | undefined) {
    this.#of = of;
    this.#bulkContext = { keys: sliceContext(of, of.stream).keys, since, signal: of.signal };
  }

  /** The elements by the key of their record: of all records that the source shows any of. */
  async read(bulk: BulkLists, wanted: readonly Wanted[]): Promise<ReadonlyMap<string, readonly Element[]>> {
    const found = new Map<string, Element[]>();
    const asked = cut(wanted, bulk.most).map((some) => this.#limit(() => this.#readSome(bulk, some, found)));
    await Promise.all(asked);
    return found;
  }

  async #readSome(bulk: BulkLists, some: readonly Wanted[], found: Map<string, Element[]>): Promise<void> {
    if (this.#given.get(bulk) === false) return;
    const { deps, signal, stream } = this.#of;
    const keys = some.map(({ key }) => key);
    try {
      const walk = await bulk.walk(keys, this.#bulkContext);
      if (walk === undefined) return;
      const reading = readingOf(deps.source.http, walk, signal);
      for await (const page of reading.pages) {
        this.#given.set(bulk, true);
        // Few, for the memory that they take.
        this.#limit.concurrency = 2;
        for (const source of page.records) {
          const { key, record } = bulk.elementOf(source);
          const list = found.get(key) ?? [];
          list.push({ record, source, bytes: () => reading.bytes(source, page) });
          found.set(key, list);
        }
      }
    } catch (error) {
      // A limit of the source holds for single lists, too.
      if (!(error instanceof TidemarkError) || endsRun(error) || error instanceof RateLimited) throw error;
      // Half of what was asked for is as good as nothing: each record's own list says how long it is.
      for (const key of keys) found.delete(key);
      if (this.#given.has(bulk)) return;
      this.#given.set(bulk, false);
      tell(this.#of, 'info', `${stream.name}: lists are requested one by one: ${error.message}`);
    }
  }
}

/** Cuts at so many records, and before their lists hold more than is read at once. */
function cut(wanted: readonly Wanted[], most: number): readonly (readonly Wanted[])[] {
  const parts: Wanted[][] = [];
  let held = mostElements;
  for (const one of wanted) {
    const elements = elementsIn(one.lists[0]);
    held += elements;
    if (held > mostElements || (parts.at(-1)?.length ?? 0) >= most) {
      parts.push([]);
      held = elements;
    }
    parts.at(-1)?.push(one);
  }
  return parts;
}
