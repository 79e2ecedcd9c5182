/** The issue search, as the issues stream uses it. */
import { Misconfigured, Refused, UnexpectedContent } from '../../core/errors.ts';
import { memoizeAsync } from '../../core/memoize-async.ts';
import type { Http, Json, PageWalk, Request, Slice, Window } from '../../core/stream.ts';
import { offset, pageSizeOf, pageToken } from '../../reading/paginators.ts';
import { instantAt } from '../../reading/requests.ts';
import type { Server } from './dialects/find.ts';
import { boundsJql, type JqlScope, windowJql } from './jql.ts';
import { at, idBy, ifNotGiven, listOf, post, textAt } from './lists.ts';

// What the issue search understands: paging and changelogs. Found out from its answers, once a run.

export const searchEndpoint = '/rest/api/3/search/jql';
const issuesOf = listOf(searchEndpoint);

/**
 * How searches are paged: the contract and Jira Data Center by `startAt`, with totals; Jira Cloud by
 * `nextPageToken`, without.
 */
const pagings = {
  offset: { summary: 'offset paging with totals', hasTotals: true, paging: offset(), mostIds: 100 },
  token: { summary: 'page tokens, no totals', hasTotals: false, paging: pageToken(), mostIds: 5000 },
} as const;

type SearchFacts = Awaited<ReturnType<typeof findFacts>>;

interface SearchOptions {
  readonly http: Http;
  readonly scope: JqlScope;
  readonly server: (signal: AbortSignal) => Promise<Server>;
  /** The fields of an issue to ask for. */
  readonly fields: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly changes: 'auto' | 'updated' | 'created';
  /** Receives what a person should know. */
  readonly note: (message: string) => void;
}

/** The fields of the search body, e.g. `jql`, `maxResults`, `fields`. */
type SearchBody = NonNullable<Request['body']>;

/** A walk over what a search finds. */
const walkOf = ({ paging }: SearchFacts, body: SearchBody): PageWalk => ({
  first: post(searchEndpoint, { ...body, ...(paging.hasTotals && { startAt: 0 }) }),
  paging: paging.paging,
  list: issuesOf,
  id: idBy('id'),
});

/** Searches for the id of one issue. Throws what `Http.send` throws, and `UnexpectedContent` where the answer has no list. */
const askForOne = async (http: Http, jql: string, signal: AbortSignal, more?: SearchBody) => {
  const request = post(searchEndpoint, { jql, maxResults: 1, fields: ['id'], ...more });
  const { body } = await http.send(request, signal);
  return { body, issues: issuesOf(body) };
};

/** The refusal of a search that the server does not understand; throws any other error. */
const asRefused = (cause: unknown): Refused => {
  if (cause instanceof Refused && (cause.status === 400 || cause.status === 422)) return cause;
  throw cause;
};

/** What the server says of a search that it refuses. */
export const reasonOf = ({ messages, message }: Refused): string => messages.join(' ') || message;

/** An issue's `created` or `updated` (microseconds UTC); undefined where it is no instant. */
export const instantOf = (record: Json, field: Window['field']): bigint | undefined =>
  instantAt(at(record, 'fields'), field);

/** Throws what the server's answers ask for; `Misconfigured` where it refuses the user's filter. */
const findFacts = async ({ http, scope, server, changes }: SearchOptions, signal: AbortSignal) => {
  const { dialect, account } = await server(signal);
  const { dates } = dialect;
  // An issue that is found by `updated`, with its changelog, says all at once.
  const updated = windowJql(dates, scope, { field: 'updated', from: scope.start });
  const byUpdated =
    changes === 'created' ? undefined : await askForOne(http, updated, signal, expand).catch(asRefused);
  const found = byUpdated instanceof Refused || byUpdated?.issues.length === 0 ? undefined : byUpdated;
  const jql = found === undefined ? windowJql(dates, scope) : updated;
  const everything =
    found ??
    (await askForOne(http, jql, signal).catch(async (cause: unknown) => {
      const refused = asRefused(cause);
      if (scope.filter === undefined) throw refused;
      // What the server accepts without the user's filter is the user's to correct.
      await askForOne(http, windowJql(dates, { ...scope, filter: undefined }), signal);
      const message = `the tracker refuses TRACKER_JQL (${scope.filter}): ${reasonOf(refused)}`;
      throw new Misconfigured(message, { cause });
    }));
  const paging = pagingOf(everything.body, account.isVendor);
  const expanded = found ?? (await askForOne(http, jql, signal, expand).catch(asRefused));
  // An accepted `expand` is not enough: the answer must show changelogs, unless there is no issue to show
  // one.
  const changelog =
    !(expanded instanceof Refused) && expanded.issues.every((issue) => at(issue, 'changelog') !== undefined);
  return {
    paging,
    dates,
    /** True where the search gives changelogs with `expand: 'changelog'`. */
    changelog,
    /** What a search for all issues by `updated` came to, where that may be asked. */
    byUpdated,
    /** A query over all issues and its answer. */
    everything: { jql, ...everything },
    /** The same in words, for `check` and the run's notes. */
    summary: [
      `search: ${paging.summary}`,
      `dates: ${dates.name}`,
      `changelog: ${changelog ? 'with its issue' : 'not given by the search'}`,
    ],
  };
};

/** By which a search gives the changelog with each issue. */
const expand = { expand: 'changelog' } as const;

/** A page token decides, where there is one; a total or a place without one means offsets. */
const pagingOf = (body: Json, isVendor: boolean): (typeof pagings)[keyof typeof pagings] => {
  if (textAt(body, 'nextPageToken')) return pagings.token;
  if ([at(body, 'total'), at(body, 'startAt')].some((each) => typeof each === 'number'))
    return pagings.offset;
  if (isVendor || typeof at(body, 'isLast') === 'boolean') return pagings.token;
  throw new UnexpectedContent(`${searchEndpoint}: the answer has neither total nor nextPageToken nor isLast`);
};

/**
 * Whether changes can be asked for by `updated`, which the contract does not name: the server must find by it
 * issues where it has any. A doubtful answer is confirmed once. What the user configured is used as it is.
 */
const findChanges = async (
  { http, scope, changes, note }: SearchOptions,
  facts: (signal: AbortSignal) => Promise<SearchFacts>,
  signal: AbortSignal,
): Promise<'updated' | 'created'> => {
  if (changes !== 'auto') return changes;
  const { dates, everything, byUpdated } = await facts(signal);
  const jql = windowJql(dates, scope, { field: 'updated', from: scope.start });
  const problemOf = (answer: typeof byUpdated): string | undefined => {
    if (answer instanceof Refused) return `the server refuses \`updated\` in queries (${reasonOf(answer)})`;
    return everything.issues.length > 0 && answer?.issues.length === 0
      ? 'the server finds nothing by `updated`, not even an issue that it finds by `created`'
      : undefined;
  };
  const why = problemOf(byUpdated) && problemOf(await askForOne(http, jql, signal).catch(asRefused));
  if (why !== undefined) note(`changes are found by re-reading created windows: ${why}`);
  return why === undefined ? 'updated' : 'created';
};

export type Search = ReturnType<typeof openSearch>;

/** Sends no request yet. */
export const openSearch = (options: SearchOptions) => {
  const { scope, note } = options;
  const facts = memoizeAsync((signal) => findFacts(options, signal));
  const size = pageSizeOf(100, note);
  /** Issues with little more than their ids, in the largest pages. */
  const briefly = async (signal: AbortSignal, jqlOf: (found: SearchFacts) => string, fields = ['id']) => {
    const found = await facts(signal);
    return walkOf(found, { jql: jqlOf(found), maxResults: found.paging.mostIds, fields });
  };
  return {
    /** What every walk is restricted to, in words that change when it does. */
    scope: `created >= ${scope.start.toISOString()}${scope.filter === undefined ? '' : ` AND (${scope.filter})`}`,
    facts,
    async walk({ window }: Slice, signal: AbortSignal): Promise<PageWalk> {
      const found = await facts(signal);
      const fields = await options.fields(signal);
      const body = { jql: windowJql(found.dates, scope, window), maxResults: size.most, fields };
      const walk = walkOf(found, found.changelog ? { ...body, ...expand } : body);
      return { ...walk, fewer: size.fewer };
    },
    ids: ({ window }: Slice, signal: AbortSignal): Promise<PageWalk> =>
      briefly(signal, ({ dates }) => windowJql(dates, scope, window)),
    /** What a query of the user finds, `isOurs`: only among the issues that are read. Issues come with `updated`. */
    matching(query: string, isOurs: boolean, signal: AbortSignal): Promise<PageWalk> {
      const within = ({ dates }: SearchFacts) =>
        isOurs ? `${boundsJql(dates, scope)} AND (${query})` : query;
      return briefly(signal, (found) => `${within(found)} ORDER BY key ASC`, ['updated']);
    },
    /** The ids of a sprint's issues; undefined where the search does not page by token. */
    async inSprint(sprintId: string, signal: AbortSignal): Promise<PageWalk | undefined> {
      if ((await facts(signal)).paging.hasTotals) return undefined;
      return briefly(signal, () => `sprint = ${sprintId} ORDER BY key ASC`);
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
    const answer = await http.send(post(endpoint, { jql }), signal).catch(ifNotGiven);
    if (answer instanceof Error) hasApproximateCount = false;
    const count = answer instanceof Error ? undefined : at(answer.body, 'count');
    return typeof count === 'number' ? count : undefined;
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
