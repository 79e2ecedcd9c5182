/** The DAGs that an engine of the contract lists: all of them, whatever it shows at once. */

import { Missing, RateLimited, Refused, Transient, UnexpectedContent } from '../../core/errors.ts';
import type { Answer, Json } from '../../core/request.ts';
import type { SliceContext } from '../../core/stream.ts';
import { idBy } from '../../reading/offset-list.ts';
import type { Workflow } from './dagu.ts';
import { listRequest, namesIn, pageSize } from './dialect.ts';
import { isObject, type JsonObject, type Names, plain, renamed, textOf } from './json-members.ts';
import { dagInList, instantText, payloadOf } from './normalize.ts';

const nameIn = idBy('name');

/**
 * By their names, from the list's first page on. The contract promises no list and says nothing of pages: a list that says that there is more,
 * or that ends on a round number, is asked for its next page. Throws `UnexpectedContent` where it says that there is more and no page shows it (what
 * may mean something else is believed of a round number alone), and for a DAG without a name: DAGs that are not in the list pass for gone. A server
 * that breaks down where it is asked behind a round number has shown all, as far as is known here, and that is noted; but not where it showed as
 * many as it was asked for.
 */
export const allListed = async (
  { http, note }: Workflow,
  given: SliceContext,
  first: Answer,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, JsonObject>> => {
  const told = new Map<string, JsonObject>();
  const request = listRequest('/api/v1');
  let { body } = first;
  // Two files may define a DAG of one name: a list counts both.
  let twins = 0;
  let isPromised = false;
  for (let page = 1; ; page++) {
    const before = told.size;
    const list = namesIn(body);
    if (list === undefined && isPromised)
      throw new UnexpectedContent(
        `${request.endpoint}: the list says that there is more behind its page ${page - 1}, and the answer to that has no list of DAGs`,
      );
    const elements = list ?? [];
    const here = new Set<string>();
    for (const element of elements) {
      const dag = dagInList(element);
      if (dag === undefined)
        throw new UnexpectedContent(`${request.endpoint}: a DAG in the list has no name`);
      told.set(nameIn(dag), dag);
      here.add(nameIn(dag));
    }
    const hasNew = told.size > before;
    if (hasNew) twins += elements.length - here.size;
    const isCut = looksCut(elements.length);
    const said = saysMore(body, page, told.size + twins);
    const isMore = said === 'surely' || (said === 'perhaps' && isCut);
    if (isMore && !hasNew && page > 1)
      throw new UnexpectedContent(
        `${request.endpoint}: the list says that there are more DAGs than the ${told.size} that it shows: name those to read in WORKFLOW_DAGS`,
      );
    if (said !== 'surely' && !(hasNew && (isCut || said === 'perhaps'))) return told;
    isPromised = said === 'surely';
    try {
      ({ body } = await http.send({ ...request, query: { ...request.query, page: page + 1 } }, signal));
    } catch (cause) {
      if (isMore) throw cause;
      if (cause instanceof Missing || cause instanceof Refused) return told;
      const isWhole =
        page === 1 && elements.length < pageSize && isBreakdown(cause) && (await areAllIn(told, given));
      if (!isWhole) throw cause;
      note(
        `${request.endpoint}: the list shows ${told.size} DAGs, and whether there are more cannot be asked: ${cause.message}`,
      );
      return told;
    }
  }
};

/** Servers that know of no pages, or of no page behind the last, may break down over the question. */
const isBreakdown = (cause: unknown): cause is Transient =>
  cause instanceof Transient && !(cause instanceof RateLimited);

/** Whether no DAG that is known here is missing in the list: then it is no page of a longer one that was read before. */
const areAllIn = async (told: ReadonlyMap<string, JsonObject>, given: SliceContext): Promise<boolean> => {
  const where = '_deleted_at is null';
  const rows = await given.keys({ table: 'workflow.dags', columns: { name: 'name' }, of: {}, where });
  return rows.every(({ name }) => name === undefined || told.has(name));
};

/** Limits are round numbers: 10, 25, 64, 100. */
const looksCut = (count: number): boolean => count > 0 && [5, 8, 12].some((part) => count % part === 0);

const pagingNames: Names = {
  total: ['total', 'totalrecords', 'totalcount', 'totalitems', 'totalresults', 'totaldags'],
  count: ['count'],
  pages: ['totalpages', 'pages', 'pagecount', 'lastpage'],
  more: ['hasmore', 'hasnext', 'hasnextpage', 'more'],
  last: ['islast', 'islastpage'],
  next: ['nextpage', 'nextcursor', 'nextpagetoken', 'nexturl', 'nextlink'],
  following: ['next', 'cursor'],
};

/**
 * Whether an answer says that behind this page, with so many shown, there is more. `perhaps`: in words that lists that are whole use, too, for how
 * many runs there are, for the page that is shown, or for what is due next.
 */
const saysMore = (body: Json, page: number, shown: number): 'surely' | 'perhaps' | 'no' => {
  const said = aboutPages(body).map((about) => {
    const { total, count, pages, more, last, next, following } = renamed(about, pagingNames);
    const isSure =
      (typeof total === 'number' && total > shown) ||
      (typeof pages === 'number' && pages > page) ||
      more === true ||
      last === false ||
      leadsOn(next, page) ||
      (leadsOn(following, page) && isAddress(following));
    return isSure
      ? 'surely'
      : (typeof count === 'number' && count > shown) || leadsOn(following, page)
        ? 'perhaps'
        : 'no';
  });
  return said.find((one) => one === 'surely') ?? said.find((one) => one === 'perhaps') ?? 'no';
};

/** Larger numbers are no pages: they are instants. */
const mostPages = 1_000_000;

/** Whether what stands where the next page is named names one: no instant, and no page that was shown. */
const leadsOn = (next: Json, page: number): boolean => {
  const number = typeof next === 'string' && /^\d+$/.test(next) ? Number(next) : next;
  if (typeof number === 'number') return number > page && number <= mostPages;
  return isObject(next) ? isAddress(next) : textOf(next) !== undefined && instantText(next) === undefined;
};

/** A URL or a path, as links to pages are written: as text or under `href`. */
const isAddress = (next: Json): boolean => /[/?]/.test(textOf(isObject(next) ? next.href : next) ?? '');

/** The answer, its payload, and what is in these under the names by which pages are told of. */
const aboutPages = (body: Json): readonly JsonObject[] => {
  const outer = [body, payloadOf(body)].filter((one) => isObject(one));
  const inner = outer.flatMap((one) =>
    Object.entries(one).flatMap(([key, value]) => (abouts.has(plain(key)) && isObject(value) ? [value] : [])),
  );
  return [...outer, ...inner];
};

const abouts = new Set(['pagination', 'paging', 'page', 'pageinfo', 'meta', 'metadata', 'links']);
