/** The issue search, as the issues stream uses it. */

import { memoizeAsync } from '../../core/memoize-async.ts';
import type { PageWalk, Slice } from '../../core/stream.ts';
import { pageSizeOf } from '../../reading/page-size.ts';
import { boundsJql, windowJql } from './jql.ts';
import { at, isNotGiven, post } from './lists.ts';
import {
  askForOne,
  findChanges,
  findFacts,
  type SearchFacts,
  type SearchOptions,
  walkOf,
} from './search-facts.ts';

export type Search = ReturnType<typeof openSearch>;

/** Sends no request yet. */
export const openSearch = (options: SearchOptions) => {
  const { scope, note } = options;
  const facts = memoizeAsync((signal) => findFacts(options, signal));
  const size = pageSizeOf(100, note);
  return {
    /** What every walk is restricted to, in words that change when it does. */
    scope: `created >= ${scope.start.toISOString()}${scope.filter === undefined ? '' : ` AND (${scope.filter})`}`,
    facts,
    async walk({ window }: Slice, signal: AbortSignal): Promise<PageWalk> {
      const found = await facts(signal);
      const fields = await options.fields(signal);
      const body = { jql: windowJql(found.dates, scope, window), maxResults: size.most, fields };
      const walk = walkOf(found, found.changelog ? { ...body, expand: 'changelog' } : body);
      return { ...walk, fewer: size.fewer };
    },
    async ids({ window }: Slice, signal: AbortSignal): Promise<PageWalk> {
      const found = await facts(signal);
      const jql = windowJql(found.dates, scope, window);
      return walkOf(found, { jql, maxResults: found.paging.mostIds, fields: ['id'] });
    },
    /** The ids of a sprint's issues; undefined where the search does not page by token. */
    async inSprint(sprintId: string, signal: AbortSignal): Promise<PageWalk | undefined> {
      const found = await facts(signal);
      if (found.paging.hasTotals) return undefined;
      const jql = `sprint = ${sprintId} ORDER BY key ASC`;
      return walkOf(found, { jql, maxResults: found.paging.mostIds, fields: ['id'] });
    },
    count: countsOf(options, facts),
    changes: memoizeAsync((signal) => findChanges(options, facts, signal)),
  };
};

/** Totals by query, each asked for once: the contract says that computing one can be costly. */
const countsOf = ({ http, scope }: SearchOptions, facts: (signal: AbortSignal) => Promise<SearchFacts>) => {
  const counts = new Map<string, (signal: AbortSignal) => Promise<number | undefined>>();
  let hasApproximateCount = true;
  const approximately = async (jql: string, signal: AbortSignal): Promise<number | undefined> => {
    if (!hasApproximateCount) return undefined;
    const endpoint = '/rest/api/3/search/approximate-count';
    try {
      const { body } = await http.send(post(endpoint, { jql }), signal);
      const count = at(body, 'count');
      return typeof count === 'number' ? count : undefined;
    } catch (cause) {
      if (!isNotGiven(cause)) throw cause;
      hasApproximateCount = false;
      return undefined;
    }
  };
  return async ({ window }: Slice, signal: AbortSignal): Promise<number | undefined> => {
    const { paging, dates, everything } = await facts(signal);
    const jql = windowJql(dates, scope, window);
    const fresh = memoizeAsync(async (asked) => {
      if (!paging.hasTotals) return approximately(boundsJql(dates, scope, window), asked);
      // The answer that showed the paging stated the total of this query.
      if (jql === everything.jql) return paging.paging.total(everything.body);
      const { body } = await askForOne(http, jql, asked);
      return paging.paging.total(body);
    });
    const count = counts.get(jql) ?? fresh;
    counts.set(jql, count);
    return count(signal);
  };
};
