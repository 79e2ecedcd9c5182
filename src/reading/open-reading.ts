/** A walk as something to be read. */

import { elementSlice, parseJson } from '../core/json.ts';
import type { Page, PageWalk, Reading } from '../core/paging.ts';
import type { Http, Json } from '../core/request.ts';
import { pages } from './pages.ts';

/** The pages of a walk, with the identity and the bytes of their records. */
export const readingOf = (http: Http, walk: PageWalk, signal: AbortSignal): Reading => ({
  pages: pages(http, walk, signal),
  id: walk.id,
  bytes: (record, page) => sourceBytes(record, page, walk),
});

/** Finds a record again in the bytes of its page. Slow, and only done for rejects. */
export function sourceBytes(record: Json, page: Page, walk: Pick<PageWalk, 'list' | 'id'>): Buffer {
  const body = parseJson(page.raw);
  const list = walk.list(body);
  const id = walk.id(record);
  const same = list.flatMap((other, index) => (walk.id(other) === id ? [index] : []));
  const index = same.length === 1 ? (same[0] ?? -1) : list.findIndex((other) => alike(other, record));
  const path = Array.isArray(body) ? [] : [keyHolding(body, list)];
  const bytes = index < 0 ? undefined : elementSlice(page.raw, path, index);
  return bytes ?? page.raw;
}

function alike(a: Json, b: Json): boolean {
  try {
    return JSON.stringify(a) === JSON.stringify(b);
  } catch {
    // Too deep to compare (RangeError): then it is not found by likeness, and the page's bytes are kept instead.
    return false;
  }
}

function keyHolding(body: Json, list: readonly Json[]): string {
  for (const [key, value] of Object.entries(body ?? {})) if (value === list) return key;
  return '';
}
