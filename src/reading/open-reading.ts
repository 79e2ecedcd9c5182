/** A walk as something to be read. */

import { parseJson, pathOf, valueSlice } from '../core/json.ts';
import type { Http, Json, Page, PageWalk, SliceReading } from '../core/stream.ts';
import { pages } from './pages.ts';

/** The pages of a walk, with the identity and the bytes of their records. */
export const readingOf = (http: Http, walk: PageWalk, signal: AbortSignal): SliceReading => ({
  pages: pages(http, walk, signal),
  id: walk.id,
  bytes: (record, page) => sourceBytes(record, page, walk),
});

/** Finds a record again in the bytes of its page. Slow, and only done for rejects. */
export function sourceBytes(record: Json, page: Page, walk: Pick<PageWalk, 'list' | 'id'>): Buffer {
  const body = parseJson(page.raw);
  const list = walk.list(body);
  const id = walk.id(record);
  const same = list.filter((other) => walk.id(other) === id);
  const found = same.length === 1 ? same[0] : list.find((other) => alike(other, record));
  const path = found === undefined ? undefined : pathOf(body, found);
  return (path && valueSlice(page.raw, path)) ?? page.raw;
}

function alike(a: Json, b: Json): boolean {
  try {
    return JSON.stringify(a) === JSON.stringify(b);
  } catch {
    // Too deep to compare (RangeError): then it is not found by likeness, and the page's bytes are kept instead.
    return false;
  }
}
