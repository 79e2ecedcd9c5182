/** Walks over the tracker's lists. */

import type { PageWalk, Paging } from '../../core/paging.ts';
import type { Request } from '../../core/request.ts';
import { idBy, listOf } from './list-pages.ts';

/** The GET walk over a list whose records have an `id`; `path` where the endpoint has an owner's id in it. */
export const listing = (
  endpoint: string,
  paging: Paging,
  query: NonNullable<Request['query']> = {},
  { path = endpoint, id = ['id'] }: { readonly path?: string; readonly id?: readonly string[] } = {},
): PageWalk => ({
  first: { method: 'GET', path, endpoint, query },
  paging,
  list: listOf(endpoint),
  id: idBy(...id),
});
