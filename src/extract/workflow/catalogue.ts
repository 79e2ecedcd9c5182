/** The DAGs that an engine of the contract lists: all of them, whatever it shows at once. */

import { Missing, Refused, UnexpectedContent } from '../../core/errors.ts';
import type { Answer, Json } from '../../core/request.ts';
import { idBy } from '../lists.ts';
import { listRequest, namesIn } from './dialect.ts';
import { isObject, type JsonObject, type Names, plain, renamed } from './objects.ts';
import { dagInList, payloadOf } from './told.ts';
import type { Workflow } from './workflow.ts';

const nameIn = idBy('name');

/**
 * By their names, from the list's first page on. The contract promises no list and says nothing of pages: a list that says that there is more,
 * or that ends on a round number, is asked for its next page. Throws `UnexpectedContent` where it says that there is more and no page shows it, and
 * for a DAG without a name: DAGs that are not in the list pass for gone.
 */
export const allListed = async (
  { http }: Workflow,
  first: Answer,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, JsonObject>> => {
  const told = new Map<string, JsonObject>();
  const request = listRequest('/api/v1');
  let { body } = first;
  for (let page = 1; ; page++) {
    const before = told.size;
    const elements = namesIn(body) ?? [];
    for (const element of elements) {
      const dag = dagInList(element);
      if (dag === undefined) throw new UnexpectedContent(`${request.endpoint}: a DAG in the list has no name`);
      told.set(nameIn(dag), dag);
    }
    const isMore = saysMore(body, page, told.size);
    const hasNew = told.size > before;
    if (isMore && !hasNew && page > 1)
      throw new UnexpectedContent(
        `${request.endpoint}: the list says that there are more DAGs than the ${told.size} that it shows: name those to read in WORKFLOW_DAGS`,
      );
    if (!isMore && !(hasNew && looksCut(elements.length))) return told;
    try {
      ({ body } = await http.send({ ...request, query: { ...request.query, page: page + 1 } }, signal));
    } catch (cause) {
      if (isMore || !(cause instanceof Missing || cause instanceof Refused)) throw cause;
      return told;
    }
  }
};

/** Limits are round numbers. */
const looksCut = (count: number): boolean => count > 0 && count % 10 === 0;

const pagingNames: Names = {
  total: ['total', 'totalrecords', 'totalcount', 'totalitems', 'totalresults', 'totaldags', 'count'],
  pages: ['totalpages', 'pages', 'pagecount', 'lastpage'],
  more: ['hasmore', 'hasnext', 'hasnextpage', 'more'],
  last: ['islast', 'islastpage'],
  next: ['nextpage', 'nextcursor', 'nextpagetoken', 'next', 'cursor'],
};

/** Whether an answer says that behind this page, with so many shown, there is more. */
const saysMore = (body: Json, page: number, shown: number): boolean =>
  aboutPages(body).some((about) => {
    const { total, pages, more, last, next } = renamed(about, pagingNames);
    return (
      (typeof total === 'number' && total > shown) ||
      (typeof pages === 'number' && pages > page) ||
      more === true ||
      last === false ||
      (typeof next === 'string' && next !== '') ||
      (typeof next === 'number' && next > page)
    );
  });

/** The answer, its payload, and what is in these under the names by which pages are told of. */
const aboutPages = (body: Json): readonly JsonObject[] => {
  const outer = [body, payloadOf(body)].filter((one) => isObject(one));
  const inner = outer.flatMap((one) =>
    Object.entries(one).flatMap(([key, value]) => (abouts.has(plain(key)) && isObject(value) ? [value] : [])),
  );
  return [...outer, ...inner];
};

const abouts = new Set(['pagination', 'paging', 'page', 'pageinfo', 'meta', 'metadata']);
