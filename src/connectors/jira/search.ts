/** The issue search in both dialects. */

import { Forbidden, Missing, Refused } from '../../core/errors.ts';
import { once } from '../../core/memoize-async.ts';
import type { PageWalk } from '../../core/paging.ts';
import type { Http, Request } from '../../core/request.ts';
import type { Slice } from '../../core/stream.ts';
import { pageSizeOf } from '../../reading/page-size.ts';
import { offset, pageToken } from '../../reading/paginators.ts';
import { type Dialect, findChanges, findDialect, type Paging, type SearchOptions } from './dialect.ts';
import { boundsJql, windowJql } from './jql.ts';
import { at, idBy, textAt } from './lists.ts';
import { ask, idsPage, issuesOf, type SearchBody, searchRequest, totalOf } from './search-requests.ts';

/** The search, as the issues stream uses it. */
export interface Search {
  /** What every walk is restricted to, in words that change when it does. */
  readonly scope: string;
  dialect(signal: AbortSignal): Promise<Dialect>;
  walk(slice: Slice, signal: AbortSignal): Promise<PageWalk>;
  ids(slice: Slice, signal: AbortSignal): Promise<PageWalk>;
  count(slice: Slice, signal: AbortSignal): Promise<number | undefined>;
  changes(signal: AbortSignal): Promise<'updated' | 'created'>;
}

/** Asks nothing yet. */
export const openSearch = (options: SearchOptions): Search => {
  const { http, scope } = options;
  const dialect = once((signal) => findDialect(options, signal));
  const counts = countsBy(http);
  const size = pageSizeOf(100, options.note);
  const query = async (slice: Slice, signal: AbortSignal) => {
    const found = await dialect(signal);
    return { found, jql: windowJql(found.dates, scope, slice.window) };
  };
  return {
    scope: `created >= ${scope.start.toISOString()}${scope.filter === undefined ? '' : ` AND (${scope.filter})`}`,
    dialect,
    async walk(slice, signal) {
      const { found, jql } = await query(slice, signal);
      const fields = await options.fields(signal);
      const body = { jql, maxResults: size.most, fields };
      return {
        ...walkOf(found.paging, found.changelog ? { ...body, expand: 'changelog' } : body),
        fewer: size.fewer,
      };
    },
    async ids(slice, signal) {
      const { found, jql } = await query(slice, signal);
      return walkOf(found.paging, { jql, maxResults: idsPage[found.paging], fields: ['id'] });
    },
    async count(slice, signal) {
      const { found, jql } = await query(slice, signal);
      if (!found.countable) return undefined;
      // The answer that told the dialect stated this query's total already.
      if (found.paging === 'offset' && jql === found.everything.jql)
        return totalOf(found.everything.answer.body);
      return counts(found.paging, jql, boundsJql(found.dates, scope, slice.window), signal);
    },
    changes: once((signal) => findChanges(options, dialect, signal)),
  };
};

const walkOf = (dialect: Paging, body: SearchBody): PageWalk => ({
  first: searchRequest(dialect === 'offset' ? { ...body, startAt: 0 } : body),
  paging: dialect === 'offset' ? offset() : pageToken(),
  list: issuesOf,
  id: idBy('id'),
});

/** Totals by query, each asked for once: the contract says that computing one can be costly. */
const countsBy = (http: Http) => {
  const asked = new Map<string, (signal: AbortSignal) => Promise<number | undefined>>();
  let approximates = true;
  const approximately = async (jql: string, signal: AbortSignal): Promise<number | undefined> => {
    if (!approximates) return undefined;
    try {
      const { body } = await http.send(approximateCount(jql), signal);
      const count = at(body, 'count');
      return typeof count === 'number' ? count : undefined;
    } catch (cause) {
      if (!(cause instanceof Missing || cause instanceof Forbidden || cause instanceof Refused)) throw cause;
      approximates = false;
      return undefined;
    }
  };
  const byIds = async (jql: string, signal: AbortSignal): Promise<number> => {
    const { body, issues } = await ask(http, { jql, maxResults: idsPage.token, fields: ['id'] }, signal);
    const last = at(body, 'isLast') === true || !textAt(body, 'nextPageToken');
    return last ? issues.length : moreThanAPage;
  };
  return (paging: Paging, jql: string, bounds: string, signal: AbortSignal): Promise<number | undefined> => {
    const known = asked.get(jql);
    if (known !== undefined) return known(signal);
    const fresh = once(async (signal) =>
      paging === 'offset'
        ? totalOf((await ask(http, { jql, maxResults: 1, fields: ['id'] }, signal)).body)
        : ((await approximately(bounds, signal)) ?? (await byIds(jql, signal))),
    );
    asked.set(jql, fresh);
    return fresh(signal);
  };
};

/** The count of a window whose ids do not fit a page: enough to have it halved. */
const moreThanAPage = idsPage.token + 1;

const approximateCount = (jql: string): Request => ({
  method: 'POST',
  path: '/rest/api/3/search/approximate-count',
  endpoint: '/rest/api/3/search/approximate-count',
  body: { jql },
});
