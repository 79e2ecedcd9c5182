/**
 * The site's fields, from the lists that servers have of them. The vendor has two: `/field/search` leaves out fields of team-managed
 * projects, `/field` leaves out descriptions. The contract has only the first, with all fields in it.
 */

import {
  BadData,
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
import type { MappingFingerprint } from '../../core/stream.ts';
import { readingOf } from '../../reading/open-reading.ts';
import { bareArray, cursor, firstThatFits, offset, single } from '../../reading/paginators.ts';
import { transformOf } from './columns.ts';
import { listing } from './lists.ts';
import { fields } from './tables.ts';
import {
  type Catalogue,
  catalogueOf,
  customIn,
  edition,
  type FieldFact,
  issuesReadBy,
} from './transform/field-catalogue.ts';
import { agileFields, systemFields } from './transform/system-fields.ts';

export const fieldSearch = '/rest/api/3/field/search';

const search = listing(fieldSearch, firstThatFits(cursor(), offset(), bareArray()), { maxResults: 100 });
const plain = listing('/rest/api/3/field', single());

/** How the walk over both lists ended. */
interface FieldsEnd extends WalkEnd {
  /** Why the second list was not given. */
  readonly plainMissing?: TidemarkError;
  /** True where the first was paged by offset, as the vendor's. */
  readonly byOffset: boolean;
}

/** Whether a list is not on the server, or not shown to this account (the vendor gives the search to administrators). */
const isNotGiven = (cause: unknown): cause is TidemarkError =>
  cause instanceof Forbidden || cause instanceof Refused || cause instanceof Missing;

/** The contract does not have the second list: any answer but a list is as good as none, unless it is about the run or the whole server. */
const isOfSecondList = (cause: unknown): cause is TidemarkError =>
  cause instanceof TidemarkError &&
  ![Interrupted, OutOfTime, Unreachable].some((kind) => cause instanceof kind);

/**
 * The fields of both lists, each once, as the search has it. A list that is not given is left out; where neither is, the first error is
 * thrown that is no 404. Where the second fails otherwise the walk ends as incomplete: half of the fields must not pass for all.
 */
export const readFields = (http: Http, signal: AbortSignal): Reading => {
  const searched = readingOf(http, search, signal);
  return { ...searched, pages: union(searched, readingOf(http, plain, signal)) };
};

async function* union(searched: Reading, listed: Reading): AsyncGenerator<Page, FieldsEnd, void> {
  const seen = new Set<string>();
  const walk = { byOffset: false };
  const first = yield* newFields(searched, seen, isNotGiven, walk);
  const isMissing = first instanceof Error ? isNotGiven : isOfSecondList;
  const second = yield* newFields(listed, seen, isMissing);
  const reasons = [first, second].filter((end) => end instanceof Error);
  const [end, other] = [first, second].flatMap((each) => (each instanceof Error ? [] : [each]));
  if (end === undefined) throw reasons.find((reason) => !(reason instanceof Missing)) ?? reasons[0];
  return {
    // A total of the second list counts what both have: only what it added is expected of it.
    expected: end.expected === null ? null : end.expected + (other?.fetched ?? 0),
    fetched: end.fetched + (other?.fetched ?? 0),
    passes: Math.max(end.passes, other?.passes ?? 0),
    moved: end.moved + (other?.moved ?? 0),
    matched: end.matched && (other?.matched ?? isNotGiven(first instanceof Error ? first : second)),
    ...(reasons.some((reason) => !(reason instanceof Missing)) && { lacks: true }),
    ...(second instanceof Error && { plainMissing: second }),
    ...walk,
  };
}

/** The pages of one list without the fields seen before; ends with the reason where the list is not given. */
async function* newFields(
  { pages, id }: Reading,
  seen: Set<string>,
  isMissing: (cause: unknown) => cause is TidemarkError,
  walk = { byOffset: false },
): AsyncGenerator<Page, WalkEnd | TidemarkError, void> {
  let pagesRead = 0;
  let repeated = 0;
  try {
    for (;;) {
      const step = await pages.next();
      if (step.done === true) return { ...step.value, fetched: step.value.fetched - repeated };
      pagesRead += 1;
      walk.byOffset ||= step.value.offset !== undefined;
      const page = withoutSeen(step.value, id, seen);
      repeated += step.value.records.length - page.records.length;
      yield page;
    }
  } catch (cause) {
    if (pagesRead > 0 || !isMissing(cause)) throw cause;
    return cause;
  } finally {
    await pages.return({ expected: null, fetched: 0, passes: 0, moved: 0, matched: false });
  }
}

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

/** What the site's fields mean for issues. */
export interface KnownFields {
  readonly catalogue: Catalogue;
  /** The fields to ask for: those of the system, those of the site, and `*all` where there may be others. */
  readonly asked: readonly string[];
  readonly mapping: MappingFingerprint;
}

/**
 * Reads the fields for the issues stream. A server that gives none is asked once more: without them an issue would lose values. `isVendor`:
 * the server answers `/myself`, so its search may leave fields out.
 */
export const knowFields = async (
  http: Http,
  isVendor: boolean,
  signal: AbortSignal,
): Promise<KnownFields> => {
  const first = await askFields(http, isVendor, signal);
  const { records, complete } = first.records.length > 0 ? first : await askFields(http, isVendor, signal);
  const facts = new Map(records.flatMap(factOf));
  const catalogue = catalogueOf(facts);
  // A server that lists the agile fields gives them where they are asked for.
  const listed = [...facts].flatMap(([id, { custom }]) => (custom || agileFields.includes(id) ? [id] : []));
  return {
    catalogue,
    asked: [...new Set([...(complete ? [] : ['*all']), ...systemFields, ...listed])],
    mapping: {
      edition,
      words: issuesReadBy(catalogue),
      whole: complete,
      ...(complete && { fields: customIn(catalogue) }),
    },
  };
};

/** `complete` is false where there may be other fields: a list was closed to us, was empty or does not add up, or the vendor's second is missing. */
const askFields = async (http: Http, isVendor: boolean, signal: AbortSignal) => {
  const records: Json[] = [];
  const pages = union(readingOf(http, search, signal), readingOf(http, plain, signal));
  try {
    for (;;) {
      const step = await pages.next();
      if (step.done !== true) {
        records.push(...step.value.records);
        continue;
      }
      const { matched, plainMissing, byOffset } = step.value;
      const isAll =
        plainMissing === undefined || (plainMissing instanceof Missing && !(isVendor && byOffset));
      return { records, complete: matched && isAll && records.length > 0 };
    }
  } catch (cause) {
    if (records.length > 0 || !(cause instanceof Missing || cause instanceof Forbidden)) throw cause;
    return { records, complete: false };
  }
};

const asField = transformOf(fields);

/** A field by its id; none for a record that is no field, which the fields stream rejects. */
const factOf = (record: Json): readonly (readonly [id: string, fact: FieldFact])[] => {
  try {
    const { id, name, custom, schema_type, schema_custom } = asField(record, {}).row;
    const fact = {
      name: String(name),
      custom: custom === true,
      schemaType: schema_type === null ? null : String(schema_type),
      schemaCustom: schema_custom === null ? null : String(schema_custom),
    };
    return [[String(id), fact]];
  } catch (cause) {
    if (cause instanceof BadData) return [];
    throw cause;
  }
};
