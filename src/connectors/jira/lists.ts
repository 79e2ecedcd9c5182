/**
 * The tracker's lists: how a list is found in an answer, and the walks over lists whose records have an id.
 */

import { caught, Forbidden, isOf, Missing, Refused } from '../../core/errors.ts';
import type { PageWalk, Paging, Request } from '../../core/stream.ts';
import { offset } from '../../reading/paginators.ts';
import { idBy, listNamed } from '../../reading/requests.ts';

export { at, idBy, textAt } from '../../reading/requests.ts';

/** A bare array, `values`, `issues`, or the single array of the envelope; throws as `listNamed`. */
export const listOf = (endpoint: string) => listNamed(endpoint, 'values', 'issues');

/** A list is not on the server, or not shown to this account. */
const notGiven = [Forbidden, Missing, Refused] as const;
export const isNotGiven = isOf(...notGiven);
export const ifNotGiven = caught(...notGiven);

/** A POST request that only reads. */
export const post = (endpoint: string, body: NonNullable<Request['body']>): Request => ({
  method: 'POST',
  path: endpoint,
  endpoint,
  body,
});

/**
 * The GET walk over a list; `path` where the endpoint has an owner's id in it, `id` where records have
 * another key than `id`.
 */
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

/** The walk over a list of one owner: `endpoint` has `{id}` in the place of the owner's id. */
export const listingOf = (endpoint: string, id: string, query: NonNullable<Request['query']>): PageWalk =>
  listing(endpoint, offset(), query, { path: endpoint.replace('{id}', encodeURIComponent(id)) });

/**
 * The complete lists of one issue, by the child of `issueChildren` that they fill, oldest first, in the
 * largest pages.
 */
export const detailWalks = (issueId: string) => ({
  changelog: listingOf('/rest/api/3/issue/{id}/changelog', issueId, { maxResults: 100 }),
  comments: listingOf('/rest/api/3/issue/{id}/comment', issueId, { maxResults: 100 }),
  worklogs: listingOf('/rest/api/3/issue/{id}/worklog', issueId, { maxResults: 5000 }),
});
