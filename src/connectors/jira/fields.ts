/**
 * The site's fields, from the lists that servers have of them. The vendor has two: `/field/search` leaves out
 * fields of team-managed projects, `/field` leaves out descriptions. The contract has only the first, with
 * all fields in it.
 */

import * as errors from '../../core/errors.ts';
import { isObject, own as memberOf, unlessBad } from '../../core/record.ts';
import type { Http, Json, Page, PageWalk, SliceReading, Transform, WalkEnd } from '../../core/stream.ts';
import type { Row } from '../../core/table.ts';
import { readingOf } from '../../reading/pages.ts';
import { bareArray, cursor, firstThatFits, offset, single } from '../../reading/paginators.ts';
import { transformOf } from './columns.ts';
import { isNotGiven, listing } from './lists.ts';
import { fields } from './tables.ts';
import type { OwnFields } from './transform/field-catalogue.ts';
import * as roles from './transform/field-catalogue.ts';

export const fieldSearch = '/rest/api/3/field/search';

/** The vendor gives it to administrators. */
const search = listing(fieldSearch, firstThatFits(cursor(), offset(), bareArray()), { maxResults: 100 });
const plain = listing('/rest/api/3/field', single());

/**
 * The contract does not have the second list: any answer but a list is as good as none, unless it is about
 * the run or the whole server.
 */
const isOfSecondList = (cause: unknown): boolean =>
  !errors.isOf(errors.Interrupted, errors.OutOfTime, errors.Unreachable)(cause);

/** Reads a list whole; gives the reason where its first page fails in a way that `isMissing` accepts. */
const readList = async (
  http: Http,
  walk: PageWalk,
  isMissing: (cause: unknown) => boolean,
  signal: AbortSignal,
) => {
  const { pages } = readingOf(http, walk, signal);
  const read: Page[] = [];
  try {
    let step = await pages.next();
    for (; step.done !== true; step = await pages.next()) read.push(step.value);
    return { pages: read, end: step.value };
  } catch (cause) {
    if (!(cause instanceof errors.TidemarkError) || read.length > 0 || !isMissing(cause)) throw cause;
    return cause;
  }
};

/**
 * Both lists. `end.lacks`: a list was closed to us. `isWhole`: no list was missing that may have other
 * fields.
 */
const readBoth = async (http: Http, isVendor: boolean, signal: AbortSignal) => {
  const first = await readList(http, search, isNotGiven, signal);
  const isMissing = first instanceof Error ? isNotGiven : isOfSecondList;
  const others = await readList(http, plain, isMissing, signal);
  const reasons = [first, others].filter((each) => each instanceof Error);
  const [one, other] = [first, others].flatMap((each) => (each instanceof Error ? [] : [each]));
  if (one === undefined) throw reasons.find((reason) => !(reason instanceof errors.Missing)) ?? reasons[0];
  // The English name of a translated one is in the second list only (the vendor's OpenAPI).
  const second = other?.pages.flatMap(({ records }) => records.filter(isObject)) ?? [];
  const english = new Map(second.map((field) => [search.id(field), memberOf(field, 'untranslatedName')]));
  const seen = new Set<string>();
  const isNew = (record: Json): boolean => {
    const id = search.id(record);
    const isSeen = id !== '' && seen.has(id);
    seen.add(id);
    return !isSeen;
  };
  const named = (record: Json): Json =>
    isObject(record) ? { untranslatedName: english.get(search.id(record)), ...record } : record;
  const pages = [...one.pages, ...(other?.pages ?? [])].map((page) => ({
    ...page,
    records: page.records.filter(isNew).map(named),
  }));
  const read = pages.reduce((sum, { records }) => sum + records.length, 0);
  const byOffset = one.pages.some(({ offset }) => offset !== undefined);
  const end: WalkEnd = {
    // A total of the second list counts what both have: only what it added is expected of it.
    expected: one.end.expected === null ? null : one.end.expected + read - one.end.read,
    read,
    passes: Math.max(one.end.passes, other?.end.passes ?? 0),
    matched: one.end.matched && (other?.end.matched ?? reasons.every(isNotGiven)),
    ...(reasons.some((reason) => !(reason instanceof errors.Missing)) && { lacks: true }),
  };
  const lacksVendorList =
    others instanceof Error && (!(others instanceof errors.Missing) || (isVendor && byOffset));
  return { pages, end, isWhole: end.matched && !lacksVendorList && read > 0 };
};

/**
 * The fields of both lists, each once, as the search has it. A list that is not given is left out; where
 * neither is, the first error is thrown that is no 404. Where the second fails otherwise the walk ends as
 * incomplete: half of the fields must not pass for all.
 */
export const readFields = (http: Http, signal: AbortSignal): SliceReading => {
  async function* pages(): AsyncGenerator<Page, WalkEnd, void> {
    const both = await readBoth(http, false, signal);
    yield* both.pages;
    return both.end;
  }
  return { ...readingOf(http, search, signal), pages: pages() };
};

/** What the site's fields mean for issues. */
export type KnownFields = Awaited<ReturnType<typeof knowFields>>;

/**
 * Reads the fields for the issues stream. A server that gives none is asked once more: without them an issue
 * would lose values. `isVendor`: the server answers `/myself`, so its search may leave fields out.
 */
export const knowFields = async (http: Http, isVendor: boolean, own: OwnFields, signal: AbortSignal) => {
  const first = await askFields(http, isVendor, signal);
  const { records, isWhole } = first.records.length > 0 ? first : await askFields(http, isVendor, signal);
  const facts = new Map(records.flatMap(factOf));
  const catalogue = roles.catalogueOf(facts, own);
  // A server that lists the agile fields gives them where they are asked for.
  const listed = [...facts].flatMap(([id, { custom }]) =>
    custom === true || roles.agileFields.includes(id) ? [id] : [],
  );
  return {
    catalogue,
    /** The fields to ask for: those of the system, those of the site, and `*all` where there may be others. */
    asked: [...new Set([...(isWhole ? [] : ['*all']), ...roles.systemFields, ...listed])],
    /** Which fields were found for each role, one sentence each. */
    found: roles.foundIn(catalogue),
    /** Fields that the configuration names and the site does not have. */
    problems: isWhole ? roles.lackingIn(catalogue, own) : [],
    mapping: roles.mappingBy(catalogue, isWhole),
  };
};

/**
 * `isWhole` is false where there may be other fields; none are given where the server has no list or closes
 * both.
 */
const askFields = async (http: Http, isVendor: boolean, signal: AbortSignal) => {
  const ifClosed = errors.caught(errors.Missing, errors.Forbidden);
  const both = await readBoth(http, isVendor, signal).catch(ifClosed);
  if (both instanceof Error) return { records: [], isWhole: false };
  return { records: both.pages.flatMap((page) => page.records), isWhole: both.isWhole };
};

const asField = transformOf(fields);

/** The transform of the fields: rows with the role of each. */
export const fieldMapper =
  (own: OwnFields): Transform =>
  (record, slice) => {
    const mapped = asField(record, slice);
    return { ...mapped, row: { ...mapped.row, ...roles.roleOf(mapped.row, own) } };
  };

/** The row of a field by its id; none for a record that is no field, which the fields stream rejects. */
const factOf = (record: Json): readonly (readonly [id: string, fact: Row])[] => {
  const mapped = unlessBad(() => asField(record, {}));
  return mapped instanceof errors.BadData ? [] : [[String(mapped.row.id), mapped.row]];
};
