/** Lists of many issues at once: their changelogs and their worklogs. */

import type { BulkContext, BulkLists, Http, Json, PageWalk, Paging } from '../../core/stream.ts';
import { pages, readWhole } from '../../reading/pages.ts';
import { pageToken } from '../../reading/paginators.ts';
import { get, listNamed } from '../../reading/requests.ts';
import { at, idBy, listOf, post, textAt } from './lists.ts';

const issueOf = idBy('issueId');
const idOf = idBy('id');

// Changelogs: the vendor's OpenAPI, `POST /rest/api/3/changelog/bulkfetch`.

const changelogEndpoint = '/rest/api/3/changelog/bulkfetch';
const logsOf = listNamed(changelogEndpoint, 'issueChangeLogs');
const historiesOf = listNamed(changelogEndpoint, 'changeHistories');

/** Each with its issue. They come by time, and issue by issue on each page: an issue may be on several. */
const changesOf = (body: Json): readonly Json[] =>
  logsOf(body).flatMap((log) => {
    const issueId = issueOf(log);
    return historiesOf(log).map((history) => ({ issueId, history }));
  });

/** Up to 10,000 changes a page; an issue that the account may not see is left out. */
export const histories: BulkLists = {
  most: 1000,
  walk: (issueIds) => ({
    first: post(changelogEndpoint, { issueIdsOrKeys: issueIds, maxResults: 10_000 }),
    paging: pageToken(),
    list: changesOf,
    id(change) {
      const id = idOf(at(change, 'history'));
      return id && `${issueOf(change)} ${id}`;
    },
  }),
  // `created` is a number of seconds in the vendor's example (1492070429) and text in recorded answers.
  elementOf: (change) => ({ key: issueOf(change), record: at(change, 'history') }),
};

/*
 * The worklogs of many issues at once (the vendor's OpenAPI; REST API 9.12.0 of Data Center): the feed
 * `GET /rest/api/3/worklog/updated` names worklogs that were added or edited, without their issues, and
 * `POST /rest/api/3/worklog/list` gives worklogs by their ids.
 *
 * What an issue has is asked for by ids: those that are stored of it and those that the feed adds. The ids are
 * only a guess. An issue's worklogs count where the list shows as many of it as the issue says it has: the list
 * shows what exists and may be seen, so these are all. Any other issue is read by its own list, e.g. one with a
 * worklog of the last minute, which the feed does not name yet. So nothing has to be remembered between runs,
 * and the feed of deleted worklogs is not needed: the list does not show them.
 */

const feedEndpoint = '/rest/api/3/worklog/updated';
const listEndpoint = '/rest/api/3/worklog/list';

/** Ids of one request of the list; also worklogs on a page of the feed. */
const mostIds = 1000;

/** It takes three requests at least: the feed, the issues of what it adds, and the list. */
const leastIssues = 4;

/** Ids of worklogs by their issue. */
type IdsByIssue = ReadonlyMap<string, readonly string[]>;

/**
 * For one run: what the feed named is kept. Gives no walk where the issues' own lists are about as few requests, nor in
 * a first load, for which the feed would name all worklogs of the site.
 */
export const worklogLists = (http: Http): BulkLists => {
  const feeds = new Map<number, Promise<IdsByIssue | undefined>>();
  return {
    most: 1000,
    async walk(issueIds, context) {
      const since = context.since?.getTime();
      if (since === undefined || issueIds.length < leastIssues) return undefined;
      const most = issueIds.length / 2;
      const feed = feeds.get(since) ?? addedSince(http, since, most, context);
      feeds.set(since, feed);
      const added = await feed;
      if (added === undefined) return undefined;
      const stored = await storedOf(context, 'issue_id', issueIds);
      const ids = [...new Set([...stored, ...issueIds.flatMap((id) => added.get(id) ?? [])])];
      return ids.length > 0 && ids.length / mostIds <= most ? listOfIds(ids) : undefined;
    },
    elementOf: (worklog) => ({ key: issueOf(worklog), record: worklog }),
  };
};

/** Ids of stored worklogs of these issues, or with these ids. */
const storedOf = async ({ keys }: BulkContext, column: 'id' | 'issue_id', values: readonly string[]) => {
  const rows = await keys({
    table: 'tracker.worklogs',
    columns: { id: 'id' },
    among: { [column]: values },
    where: '_deleted_at is null',
  });
  return rows.flatMap(({ id }) => id ?? []);
};

/**
 * Worklogs that the feed names since an instant (epoch milliseconds) and that are not stored. Undefined where
 * the feed has more than `most` pages: the lists one by one are fewer requests.
 */
const addedSince = async (http: Http, since: number, most: number, context: BulkContext) => {
  const named: string[] = [];
  let count = 0;
  for await (const { records } of pages(http, feedSince(since), context.signal)) {
    count += 1;
    if (count > most) return undefined;
    named.push(...records.map(feedId));
  }
  const stored = new Set(await storedOf(context, 'id', named));
  const added = named.filter((id) => !stored.has(id));
  if (added.length === 0) return new Map<string, string[]>();
  const { records } = await readWhole(http, listOfIds(added), context.signal);
  const byIssue = Map.groupBy(records, issueOf);
  return new Map([...byIssue].map(([issue, worklogs]) => [issue, worklogs.map(idOf)]));
};

const feedId = idBy('worklogId');

/** The vendor's example names a next page on the last one, too. */
const feedPaging: Paging = {
  next(body, sent) {
    const url = textAt(body, 'nextPage');
    const isLast = at(body, 'lastPage') === true || url === undefined;
    return isLast ? undefined : { request: { ...sent, url }, overlap: 0 };
  },
  total: () => undefined,
};

const feedSince = (since: number): PageWalk => ({
  first: get(feedEndpoint, { since }),
  paging: feedPaging,
  list: listOf(feedEndpoint),
  id: feedId,
});

/** The walk over the worklogs with these ids, which are not none: the next request is for those that follow. */
const listOfIds = (ids: readonly string[]): PageWalk => {
  const starts = Array.from({ length: Math.ceil(ids.length / mostIds) }, (_, part) => part * mostIds);
  const requests = starts.map((start) =>
    post(listEndpoint, { ids: ids.slice(start, start + mostIds).map(Number) }),
  );
  const [first = post(listEndpoint, { ids: [] })] = requests;
  return {
    first,
    paging: {
      next(_body, sent) {
        const request = requests[requests.indexOf(sent) + 1];
        return request && { request, overlap: 0 };
      },
      total: () => undefined,
    },
    list: listOf(listEndpoint),
    id: idOf,
  };
};
