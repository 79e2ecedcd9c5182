/** The issue search in both tongues. */

import { once } from '../../core/memoize-async.ts';
import type { PageWalk } from '../../core/paging.ts';
import type { Slice } from '../../core/stream.ts';
import { pageSizeOf } from '../../reading/page-size.ts';
import { offset, pageToken } from '../../reading/paginators.ts';
import { countsBy } from './counts.ts';
import { type Dialect, findChanges, findDialect, type SearchOptions, type Tongue } from './dialect.ts';
import { boundsJql, windowJql } from './jql.ts';
import { idBy } from './list-pages.ts';
import { idsPage, issuesOf, type SearchBody, searchRequest, totalOf } from './search-requests.ts';

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
        ...walkOf(found.tongue, found.changelog ? { ...body, expand: 'changelog' } : body),
        fewer: size.fewer,
      };
    },
    async ids(slice, signal) {
      const { found, jql } = await query(slice, signal);
      return walkOf(found.tongue, { jql, maxResults: idsPage[found.tongue], fields: ['id'] });
    },
    async count(slice, signal) {
      const { found, jql } = await query(slice, signal);
      if (!found.countable) return undefined;
      // The answer that told the dialect stated this query's total already.
      if (found.tongue === 'offset' && jql === found.everything.jql)
        return totalOf(found.everything.heard.body);
      return counts(found.tongue, jql, boundsJql(found.dates, scope, slice.window), signal);
    },
    changes: once((signal) => findChanges(options, dialect, signal)),
  };
};

const walkOf = (tongue: Tongue, body: SearchBody): PageWalk => ({
  first: searchRequest(tongue === 'offset' ? { ...body, startAt: 0 } : body),
  paging: tongue === 'offset' ? offset() : pageToken(),
  list: issuesOf,
  id: idBy('id'),
});
