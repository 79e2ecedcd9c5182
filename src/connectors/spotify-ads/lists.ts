/** The platform's lists: their envelope, their order, and whether they are cut into pages at all. */

import { Missing, Refused, UnexpectedContent } from '../../core/errors.ts';
import type { PageWalk } from '../../core/paging.ts';
import type { Http, Json, Request } from '../../core/request.ts';
import { at, idBy, listNamed, textAt } from '../../reading/offset-list.ts';
import { offset, type Scheme, single } from '../../reading/paginators.ts';

/** Where a list is and what it is called. */
export interface Place {
  /** The route as the contract writes it. */
  readonly endpoint: string;
  /** With ids filled in; default: the endpoint. */
  readonly path?: string;
  /** Key of the list in its envelope, as the vendor writes it; another single array is taken as well. */
  readonly key: string;
  /** A field of the vendor's list that orders it for good; absent: the list has none. */
  readonly sort?: string;
  /** Property that holds a record's identity. Default `id`. */
  readonly id?: string;
}

/** The largest page: the contract allows 1 to 50. */
export const pageSize = 50;

/**
 * `{paging: {offset, page_size, total_results}, <key>: […]}`, as the vendor writes it. The contract shows no envelope: the same numbers beside the
 * list, and under the other names that they commonly have, are understood as well.
 */
const numbers = (body: Json): Json => {
  const holders = [at(body, 'paging'), at(body, 'pagination'), at(body, 'meta'), body];
  const told = (...names: readonly string[]): Json =>
    holders
      .flatMap((holder) => names.map((name) => at(holder, name)))
      .find((value) => (value ?? null) !== null);
  const more = told('has_more');
  return {
    startAt: told('offset'),
    maxResults: told('page_size', 'limit'),
    total: told('total_results', 'total_count', 'total'),
    ...(typeof more === 'boolean' && { isLast: !more }),
  };
};

const placed = offset({ parameter: 'offset', numbers, size: 'limit' });

/** By offset, with seams. Where the answer has no numbers, until nothing new comes: a short page is no end. */
export const byOffset: Scheme = {
  ...placed,
  fits: (body, sent) => placed.fits(body, sent) || typeof at(numbers(body), 'isLast') === 'boolean',
};

/**
 * The walk over a list in its largest pages, oldest first where it can be ordered. New records then come at its end, and none is pushed
 * over a page's edge.
 */
export const listing = ({ endpoint, path = endpoint, key, sort, id = 'id' }: Place): PageWalk => ({
  first: {
    method: 'GET',
    path,
    endpoint,
    query: { limit: pageSize, ...(sort !== undefined && { sort_direction: 'ASC', sort_field: sort }) },
  },
  paging: byOffset,
  list: recordsOf(endpoint, key),
  id: idBy(id),
});

const recordsOf = (endpoint: string, key: string): ((body: Json) => readonly Json[]) => {
  const list = listNamed(endpoint, key);
  return (body) => (isToldEmpty(body, key) ? [] : list(body));
};

/** An empty list is null at some servers, and no vendor's schema demands it: believed where their own total says that there is nothing. */
const isToldEmpty = (body: Json, key: string): boolean =>
  (at(body, key) ?? null) === null && at(numbers(body), 'total') === 0 && !inside(body).some(Array.isArray);

/**
 * The walk over a list that the vendor gives whole and the contract by pages. An answer with numbers is walked by them; one without is asked
 * for what comes behind it: a server that then has nothing new to show has given everything at once.
 */
export const wholeOrPaged = async (http: Http, place: Place, signal: AbortSignal): Promise<PageWalk> => {
  const walk = listing(place);
  const { body } = await http.send(walk.first, signal);
  if (byOffset.fits(body, walk.first)) return walk;
  const ids = new Set(walk.list(body).map(walk.id));
  const whole: PageWalk = { ...walk, paging: single() };
  if (ids.size === 0) return whole;
  const shown = async (query: Request['query']): Promise<readonly Json[]> =>
    walk.list((await http.send({ ...walk.first, query: { ...walk.first.query, ...query } }, signal)).body);
  const isOver = await shown({ offset: ids.size }).then(
    (more) => more.every((record) => ids.has(walk.id(record))),
    (cause: unknown) => {
      // The same list was just given from its beginning: it is the place behind its end that this server does not have.
      if (cause instanceof Refused || cause instanceof Missing) return true;
      throw cause;
    },
  );
  // As many as were asked for may be all that is given at once, unless as many come where fewer are asked for.
  const isCut = async (): Promise<boolean> =>
    ids.size === pageSize && (await shown({ limit: pageSize - 1 })).length < pageSize;
  return isOver && !(await isCut()) ? whole : walk;
};

/** The one entity of an answer: the body itself, or its only object with an id. Throws `UnexpectedContent` where it is not the one asked for. */
export const entityOf = (endpoint: string, id: string, body: Json): Json => {
  const found = [body, ...inside(body)].find((one) => textAt(one, 'id') !== undefined);
  const named = textAt(found, 'id');
  if (named?.toLowerCase() === id.toLowerCase()) return found;
  throw new UnexpectedContent(
    `${endpoint}: asked for ${id}, the answer is ${named === undefined ? 'no entity with an id' : named}`,
  );
};

const inside = (body: Json): readonly Json[] =>
  typeof body === 'object' && body !== null ? Object.values(body) : [];
