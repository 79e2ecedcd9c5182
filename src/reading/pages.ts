/** Walks a list page by page; the next page is fetched while the consumer works on this one. */

import { abortedAtEnd } from '../core/abort.ts';
import { Missing, Refused } from '../core/errors.ts';
import { parseJson, pathOf, valueSlice } from '../core/json.ts';
import type { Answer, Http, Json, Page, PageWalk, Request, SliceReading, WalkEnd } from '../core/stream.ts';
import { defaultWalkLimits, type WalkLimits } from './loop-guard.ts';
import { PageWalker } from './page-walker.ts';

export type { WalkEnd } from '../core/stream.ts';
export type { WalkLimits } from './loop-guard.ts';

/**
 * The pages of a walk as they come; returns how it ended. Each record is delivered once, whatever seams, steps back and further passes
 * show again (what has no id is delivered whenever it is met). A list that does not add up to its total is walked again, three times in
 * all. A page that is too much is asked for with fewer records where the walk can say how. Throws what `http.send` and `walk.list` throw, and `PagingLoop` where the server sends us
 * round in circles. A page token that the server refuses half-way (it expired) restarts the walk, once. Leaving the generator early aborts the request under way.
 */
export async function* pages(
  http: Http,
  walk: PageWalk,
  signal: AbortSignal,
  limits: Partial<WalkLimits> = {},
): AsyncGenerator<Page, WalkEnd, void> {
  const walker = new PageWalker(walk, { ...defaultWalkLimits, ...limits });
  using scope = abortedAtEnd(signal, 'the walk was left');
  const send = (request: Request): Promise<Answer> => {
    const answer = http.send(request, scope.signal);
    // It is awaited later, or never if the consumer leaves: until then a failure must not count as unhandled.
    answer.catch(() => {});
    return answer;
  };
  let sent = walk.first;
  let pending = send(sent);
  let restarted = false;
  /** What to ask for instead of what failed. Throws the error where nothing helps. */
  const instead = (error: unknown): Request => {
    const fewer = walk.fewer?.(sent, error);
    if (fewer !== undefined) return fewer;
    if (restarted || !isTokenRefused(error, walk, sent)) throw error;
    restarted = true;
    return walker.restart();
  };
  for (;;) {
    const answer = await pending.catch(instead);
    const { page, next } = 'raw' in answer ? walker.take(answer, sent) : { page: undefined, next: answer };
    if (next !== undefined) {
      sent = next;
      pending = send(sent);
    }
    if (page !== undefined) yield page;
    if (next === undefined) return walker.end();
  }
}

/** Every record of a walk, and how it ended. For lists that fit into memory. Throws as `pages`. */
export async function readWhole(http: Http, walk: PageWalk, signal: AbortSignal) {
  const reading = pages(http, walk, signal);
  const records: Json[] = [];
  let step = await reading.next();
  for (; step.done !== true; step = await reading.next()) records.push(...step.value.records);
  return { records, end: step.value };
}

/** 400, 410 or 422 for a request that carried a token or a cursor. Their messages are localised: the status has to do. */
const isTokenRefused = (error: unknown, { first, paging }: PageWalk, sent: Request): boolean =>
  sent !== first &&
  paging.offset?.(undefined, sent) === undefined &&
  ((error instanceof Refused && (error.status === 400 || error.status === 422)) ||
    (error instanceof Missing && error.status === 410));

// A walk as something to be read.

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
