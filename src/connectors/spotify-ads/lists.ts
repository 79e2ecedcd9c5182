/** The platform's lists: their envelope, their order, and whether they are cut into pages. */

import type { Json, PageWalk } from '../../core/stream.ts';
import { offset } from '../../reading/paginators.ts';
import { at, get, idBy, listNamed } from '../../reading/requests.ts';

/** Where a list is and what it is called. */
export interface ListSpec {
  /** The route as the contract writes it. */
  readonly endpoint: string;
  /** With ids filled in; default: the endpoint. */
  readonly path?: string;
  /** Key of the list in the vendor's envelope; another single array is taken as well (vendor-facts, section 2.9). */
  readonly key: string;
  /** A field of the vendor's list that orders it and does not change; absent: the list has none. */
  readonly sort?: string;
  /** Property that holds a record's identity. Default `id`. */
  readonly id?: string;
}

export const businessList: ListSpec = { endpoint: '/businesses', key: 'businesses' };

/** The largest page: the contract allows 1 to 50. */
export const pageSize = 50;

/**
 * The vendor writes `{paging: {offset, page_size, total_results}, <key>: […]}`. The contract does not show its envelope, so the numbers are also
 * found beside the list and under other usual names.
 */
const numbers = (body: Json): Json => {
  const given = at(body, 'paging') ?? at(body, 'pagination') ?? body;
  return {
    startAt: at(given, 'offset'),
    maxResults: at(given, 'page_size') ?? at(given, 'limit'),
    total: at(given, 'total_results') ?? at(given, 'total') ?? at(given, 'total_count'),
  };
};

/** By offset, each page overlapping the one before. Without numbers in the answers, until nothing new comes: a short page is no end. */
export const byOffset = offset({ parameter: 'offset', numbers, size: 'limit' });

/** The walk over a list in its largest pages, oldest first where it can be ordered: then new records come at its end. */
export const listing = ({ endpoint, path = endpoint, key, sort, id = 'id' }: ListSpec): PageWalk => {
  const list = listNamed(endpoint, key);
  // The vendor's schemas require no list: an empty one may be null or absent where the total says that there is nothing.
  const isEmpty = (body: Json): boolean =>
    (at(body, key) ?? null) === null &&
    at(numbers(body), 'total') === 0 &&
    !Object.values(body as object).some(Array.isArray);
  const query = { limit: pageSize, ...(sort !== undefined && { sort_direction: 'ASC', sort_field: sort }) };
  return {
    first: get(path, query, endpoint),
    paging: byOffset,
    list: (body) => (isEmpty(body) ? [] : list(body)),
    id: idBy(id),
  };
};

/**
 * The walk over a list that the vendor gives whole (vendor-facts, section 2.1: no paging) and the contract by pages. Where a later page begins
 * as the first one did, the server ignores the place: the list is complete.
 */
export const wholeOrPaged = (place: ListSpec): PageWalk => {
  const walk = listing(place);
  let beginning: Json;
  return {
    ...walk,
    paging: {
      ...byOffset,
      next(body, sent, count, repeated = 0) {
        const [first] = [walk.list(body)].flat();
        const skipped = Number(at(sent.query, 'offset') ?? 0);
        if (skipped === 0) beginning = first;
        else if (repeated === 0 && walk.id(first) === walk.id(beginning)) return undefined;
        return byOffset.next(body, sent, count, repeated);
      },
    },
  };
};
