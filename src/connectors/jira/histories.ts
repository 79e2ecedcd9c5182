/** The changelogs of many issues at once (the vendor's OpenAPI, `POST /rest/api/3/changelog/bulkfetch`). */

import type { BulkLists, Json } from '../../core/stream.ts';
import { pageToken } from '../../reading/paginators.ts';
import { at, idBy, listNamed } from '../../reading/requests.ts';
import { post } from './lists.ts';

const endpoint = '/rest/api/3/changelog/bulkfetch';
const logsOf = listNamed(endpoint, 'issueChangeLogs');
const historiesOf = listNamed(endpoint, 'changeHistories');
const issueOf = idBy('issueId');
const idOf = idBy('id');

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
  // `created` is a number of seconds in the vendor's example (1492070429) and text in recorded answers.
  elementOf: (change) => ({ key: issueOf(change), record: at(change, 'history') }),
};
