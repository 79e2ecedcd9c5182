/** The rest of lists that come with an issue only in part, each in the largest pages its endpoint gives. */

import type { PageWalk } from '../../core/paging.ts';
import { offset } from '../../reading/paginators.ts';
import { listing } from './detail-pages.ts';

const tail =
  (list: string, maxResults: number) =>
  (issueId: string): PageWalk =>
    listing(
      `/rest/api/3/issue/{id}/${list}`,
      offset(),
      { maxResults },
      {
        path: `/rest/api/3/issue/${encodeURIComponent(issueId)}/${list}`,
      },
    );

/** By the name of the child in `issueChildren`. Oldest first, as the vendor gives them without being asked. */
export const tails = {
  changelog: tail('changelog', 100),
  comments: tail('comment', 100),
  worklogs: tail('worklog', 5000),
} as const;
