/**
 * The site's fields out of the lists that servers have of them. The vendor has two: `/field/search` leaves out the fields of projects that
 * manage themselves, `/field` the descriptions. The contract has the first, by cursor, with everything in it.
 */

import {
  Forbidden,
  Interrupted,
  Missing,
  OutOfTime,
  Refused,
  TidemarkError,
  Unreachable,
} from '../../core/errors.ts';
import type { Page, Reading, WalkEnd } from '../../core/paging.ts';
import type { Http } from '../../core/request.ts';
import { readingOf } from '../../reading/open-reading.ts';
import { bareArray, cursor, firstThatFits, offset, single } from '../../reading/paginators.ts';
import { listing } from './detail-pages.ts';

export const fieldSearch = '/rest/api/3/field/search';

const search = listing(fieldSearch, firstThatFits(cursor(), offset(), bareArray()), { maxResults: 100 });
const plain = listing('/rest/api/3/field', single());

/**
 * The fields of both lists, each once, as the search tells it where both have it. A list that is not there or closed to us (the vendor gives
 * the search to administrators) is done without; throws, where both are, what says most: that one is closed rather than that the other is
 * not there. Any other failure of the first is thrown. One of the second, which the contract does not have, only says that there may be others:
 * half of the fields must not pass for all. `leavesOut`: whether the second says so, too, by not being given in this way, where the first is
 * counted by places, as the vendor's, or goes on by a cursor.
 */
export const readFields = (http: Http, signal: AbortSignal, leavesOut: LeavesOut = () => false): Reading => {
  const searched = readingOf(http, search, signal);
  return { ...searched, pages: union([searched, readingOf(http, plain, signal)], leavesOut) };
};

/** A list that is not there, or closed to us. */
export type NotGiven = Forbidden | Refused | Missing;

type LeavesOut = (cause: NotGiven, first: { readonly byPlaces: boolean }) => boolean;

/** One list after the other, without what an earlier one had. */
async function* union(
  readings: readonly Reading[],
  leavesOut: LeavesOut,
): AsyncGenerator<Page, WalkEnd, void> {
  const met = new Set<string>();
  const ends: WalkEnd[] = [];
  let told: NotGiven | undefined;
  let byPlaces = false;
  for (const { pages, id } of readings) {
    let begun = false;
    let repeated = 0;
    try {
      for (;;) {
        const step = await pages.next();
        if (step.done === true) {
          ends.push({ ...step.value, fetched: step.value.fetched - repeated });
          break;
        }
        begun = true;
        byPlaces ||= step.value.offset !== undefined;
        const page = without(step.value, id, met);
        repeated += step.value.records.length - page.records.length;
        yield page;
      }
    } catch (cause) {
      if (begun) throw cause;
      if (cause instanceof Forbidden || cause instanceof Refused || cause instanceof Missing) {
        if (told === undefined || told instanceof Missing) told = cause;
        if (ends.length > 0 && leavesOut(cause, { byPlaces })) ends.push(noEnd);
      } else if (ends.length > 0 && isOfThisList(cause)) ends.push(noEnd);
      else throw cause;
    } finally {
      await pages.return(noEnd);
    }
  }
  const [first, ...others] = ends;
  if (first === undefined) throw told ?? new Error('no list was given');
  const end = others.reduce(joined, first);
  return told === undefined || told instanceof Missing ? end : { ...end, lacks: true };
}

/** Whether an error is about one list, rather than about the run or the whole server. */
const isOfThisList = (error: unknown): boolean =>
  error instanceof TidemarkError &&
  !(error instanceof Interrupted || error instanceof OutOfTime || error instanceof Unreachable);

/** The page without the records that are met already; what is left of it is met from now on. */
const without = (page: Page, id: Reading['id'], met: Set<string>): Page => {
  const kept = page.records.flatMap((record, at) => {
    const name = id(record);
    if (name !== '' && met.has(name)) return [];
    met.add(name);
    return [at];
  });
  return {
    ...page,
    records: kept.map((at) => page.records[at]),
    places: kept.map((at) => page.places?.[at] ?? at),
  };
};

/** What both came to. What the second list adds is expected only by itself: its total, if it states one, counts what both have. */
const joined = (one: WalkEnd, other: WalkEnd): WalkEnd => ({
  expected: one.expected === null ? null : one.expected + other.fetched,
  fetched: one.fetched + other.fetched,
  passes: Math.max(one.passes, other.passes),
  moved: one.moved + other.moved,
  matched: one.matched && other.matched,
});

/** Of a walk that did not come to its end. */
const noEnd: WalkEnd = { expected: null, fetched: 0, passes: 0, moved: 0, matched: false };
