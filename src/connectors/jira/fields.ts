/**
 * The site's fields, from the lists that servers have of them. The vendor has two: `/field/search` leaves out fields of team-managed
 * projects, `/field` leaves out descriptions. The contract has the first alone, by cursor, with all fields in it.
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
import type { Http, Json } from '../../core/request.ts';
import { readingOf } from '../../reading/open-reading.ts';
import { bareArray, cursor, firstThatFits, offset, single } from '../../reading/paginators.ts';
import { listing } from './lists.ts';
import type { FieldFact } from './transform/field-catalogue.ts';
import { agileFields, systemFields } from './transform/system-fields.ts';

export const fieldSearch = '/rest/api/3/field/search';

const search = listing(fieldSearch, firstThatFits(cursor(), offset(), bareArray()), { maxResults: 100 });
const plain = listing('/rest/api/3/field', single());

/** A list that the server does not have, or does not show to this account (the vendor gives the search to administrators). */
type NotGiven = Forbidden | Refused | Missing;

const isNotGiven = (cause: unknown): cause is NotGiven =>
  cause instanceof Forbidden || cause instanceof Refused || cause instanceof Missing;

/** Whether the second list, which was not given, has fields that the first does not. `byOffset`: the first was paged by offset, as the vendor's. */
type LeavesOut = (cause: NotGiven, first: { readonly byOffset: boolean }) => boolean;

/**
 * The fields of both lists, each once, as the search says it. A list that is not given is done without; where both are not, the more telling
 * error is thrown. Any other failure of the second list ends the walk as incomplete: half of the fields must not pass for all.
 */
export const readFields = (http: Http, signal: AbortSignal, leavesOut: LeavesOut = () => false): Reading => {
  const searched = readingOf(http, search, signal);
  return { ...searched, pages: union([searched, readingOf(http, plain, signal)], leavesOut) };
};

async function* union(
  readings: readonly Reading[],
  leavesOut: LeavesOut,
): AsyncGenerator<Page, WalkEnd, void> {
  const seen = new Set<string>();
  const ends: WalkEnd[] = [];
  const first = { byOffset: false };
  let notGiven: NotGiven | undefined;
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
        first.byOffset ||= step.value.offset !== undefined;
        const page = withoutSeen(step.value, id, seen);
        repeated += step.value.records.length - page.records.length;
        yield page;
      }
    } catch (cause) {
      if (begun || !(isNotGiven(cause) || (ends.length > 0 && isOfOneList(cause)))) throw cause;
      if (isNotGiven(cause) && (notGiven === undefined || notGiven instanceof Missing)) notGiven = cause;
      if (ends.length > 0 && (!isNotGiven(cause) || leavesOut(cause, first))) ends.push(incomplete);
    } finally {
      await pages.return(incomplete);
    }
  }
  if (ends[0] === undefined) throw notGiven ?? new Error('no list was given');
  const end = ends.reduce(joined);
  return notGiven === undefined || notGiven instanceof Missing ? end : { ...end, lacks: true };
}

/** Whether an error is about one list rather than about the run or the whole server. */
const isOfOneList = (error: unknown): boolean =>
  error instanceof TidemarkError &&
  !(error instanceof Interrupted || error instanceof OutOfTime || error instanceof Unreachable);

/** The page without the records that were seen before; the rest counts as seen from now on. */
const withoutSeen = (page: Page, id: Reading['id'], seen: Set<string>): Page => {
  const kept = page.records.flatMap((record, at) => {
    const name = id(record);
    if (name !== '' && seen.has(name)) return [];
    seen.add(name);
    return [at];
  });
  return {
    ...page,
    records: kept.map((at) => page.records[at]),
    places: kept.map((at) => page.places?.[at] ?? at),
  };
};

/** The end of both walks. A total of the second counts what both have, so only what it added is expected of it. */
const joined = (one: WalkEnd, other: WalkEnd): WalkEnd => ({
  expected: one.expected === null ? null : one.expected + other.fetched,
  fetched: one.fetched + other.fetched,
  passes: Math.max(one.passes, other.passes),
  moved: one.moved + other.moved,
  matched: one.matched && other.matched,
});

const incomplete: WalkEnd = { expected: null, fetched: 0, passes: 0, moved: 0, matched: false };

/** The site's fields as far as they could be read. */
export interface KnownFields {
  readonly records: readonly Json[];
  /** False where there may be other fields: no list was given, one was empty or did not add up, or the vendor's second was not given. */
  readonly complete: boolean;
}

/**
 * Reads the fields for the issues stream. A server that gives none is asked once more: an issue has fields, and without them it would lose
 * values. `isVendor`: the server answers `/myself`, so its search may leave fields out.
 */
export const knowFields = async (
  http: Http,
  isVendor: boolean,
  signal: AbortSignal,
): Promise<KnownFields> => {
  const known = await askFields(http, isVendor, signal);
  return known.records.length > 0 ? known : askFields(http, isVendor, signal);
};

const askFields = async (http: Http, isVendor: boolean, signal: AbortSignal): Promise<KnownFields> => {
  const records: Json[] = [];
  const { pages } = readFields(
    http,
    signal,
    (cause, { byOffset }) => !(cause instanceof Missing) || (isVendor && byOffset),
  );
  try {
    for (;;) {
      const step = await pages.next();
      if (step.done === true) return { records, complete: step.value.matched && records.length > 0 };
      records.push(...step.value.records);
    }
  } catch (cause) {
    if (records.length > 0 || !(cause instanceof Missing || cause instanceof Forbidden)) throw cause;
    return { records, complete: false };
  }
};

/** Ids of the fields to ask for of an issue: those of the system, those of the site, and `*all` where there may be others. */
export const issueFields = (fields: ReadonlyMap<string, FieldFact>, complete: boolean): readonly string[] => {
  // A server that lists the agile fields gives them where they are asked for.
  const wanted = [...fields].filter(([id, { custom }]) => custom || agileFields.includes(id));
  return [...new Set([...(complete ? [] : ['*all']), ...systemFields, ...wanted.map(([id]) => id)])];
};
