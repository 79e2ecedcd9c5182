/** The changelogs of many issues at once (the vendor's OpenAPI, `POST /rest/api/3/changelog/bulkfetch`). */

import { isObject } from '../../core/record-object.ts';
import type { Json } from '../../core/request.ts';
import type { BulkLists } from '../../core/stream.ts';
import { at, idBy, listNamed } from '../../reading/offset-list.ts';
import { pageToken } from '../../reading/paginators.ts';
import { post } from './lists.ts';

const endpoint = '/rest/api/3/changelog/bulkfetch';
const logsOf = listNamed(endpoint, 'issueChangeLogs');
const historiesOf = listNamed(endpoint, 'changeHistories');
const [issueOf, idOf] = [idBy('issueId'), idBy('id')];

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
    first: post(endpoint, { issueIdsOrKeys: issueIds, maxResults: 10_000 }),
    paging: pageToken(),
    list: changesOf,
    id(change) {
      const id = idOf(at(change, 'history'));
      return id && `${issueOf(change)} ${id}`;
    },
  }),
  elementOf: (change) => ({ key: issueOf(change), record: withText(at(change, 'history')) }),
};

/** Seconds since 1970 stay below this until the year 5138; as milliseconds it is a day of 1973. */
const mostSeconds = 1e11;

/**
 * `created` is a number of seconds in the vendor's example (1492070429) and text in recorded answers; a larger
 * number is milliseconds. The list of one issue has text.
 */
const withText = (history: Json): Json => {
  const created = at(history, 'created');
  if (!isObject(history) || typeof created !== 'number') return history;
  const date = new Date(created < mostSeconds ? created * 1000 : created);
  return Number.isNaN(date.getTime()) ? history : { ...history, created: date.toISOString() };
};
