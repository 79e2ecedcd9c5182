/** Boards, their sprints, and the issues in those. */

import { caught, Refused, TidemarkError } from '../../../core/errors.ts';
import type { Fallback, Http, PageWalk, Slice, Stream } from '../../../core/stream.ts';
import { readingOf } from '../../../reading/pages.ts';
import { firstThatFits, offset, pageToken } from '../../../reading/paginators.ts';
import { boardSprint, existsAt } from '../account.ts';
import { listing, listingOf } from '../lists.ts';
import type { Search } from '../search.ts';
import * as tables from '../tables.ts';
import { afterwards, calling, entities, relations, type Tracker } from './stream.ts';

const board = '/rest/agile/1.0/board';
const sprintIssue = '/rest/agile/1.0/sprint/{id}/issue';

/**
 * The agile API belongs to Jira Software, which a site need not have
 * (developer.atlassian.com/server/jira/platform/rest/intro): without it its endpoints answer 404.
 */
const ofSoftware = { optional: true } as const;

export const boards = ({ http }: Tracker): Stream =>
  entities(`GET ${board}`, tables.boards, {
    ...ofSoftware,
    by: 'list',
    about: 'Boards of all types.',
    pages: () => listing(board, offset(), { maxResults: 100 }),
    exists: existsAt(http, '/rest/agile/1.0/board/{id}'),
  });

/** The contract does not list the sprints of boards. */
export const sprintsFromIssues: Fallback = {
  reason: "the server does not list the sprints of its boards; they are taken from the issues' sprint field",
  after: ['issues'],
  sql: calling('sprints_of_issues', 'true'),
};

export const boardSprintsFromSprints: Fallback = {
  reason:
    'the server does not list the sprints of its boards; each is taken to show on the board it was created on',
  after: ['sprints'],
  sql: calling('board_sprints_of_sprints'),
};

/** The sprints of each board. Kanban boards have none; a board of unknown type is asked. */
const sprintsOfBoards = (http: Http) => ({
  ...ofSoftware,
  by: 'list' as const,
  after: ['boards'],
  partitions: {
    table: 'tracker.boards',
    columns: { board_id: 'id' },
    where: "_deleted_at is null and type is distinct from 'kanban'",
  },
  read: ({ partition }: Slice, _context: unknown, signal: AbortSignal) =>
    readingOf(http, listingOf(boardSprint, partition?.board_id ?? '', { maxResults: 100 }), signal),
});

/** Not reconciled: the boards' lists are not all sprints, because issues may name others. */
export const sprints = ({ handing }: Tracker): Stream =>
  entities(`GET ${boardSprint}`, tables.sprints, {
    ...sprintsOfBoards(handing.first),
    about: 'Sprints: those the boards list, and those that only issues name in their sprint field.',
    fallback: sprintsFromIssues,
    afterwards: [afterwards(calling('sprints_of_issues', 'false'), { after: ['issues'], evenInPart: true })],
  });

/** The same list again, as a relation: a sprint that one board no longer shows may still show on another. */
export const boardSprints = ({ handing }: Tracker): Stream =>
  relations(`GET ${boardSprint}`, tables.boardSprints, {
    ...sprintsOfBoards(handing.second),
    about: 'Which sprints a board shows; a sprint can show on several boards.',
    fallback: boardSprintsFromSprints,
    afterwards: [
      afterwards(calling('empty_kanban_boards'), { evenInPart: true }),
      afterwards(calling('boards_of_sprints'), { after: ['sprints'], evenInPart: true }),
    ],
  });

const isNamed =
  'exists (select from tracker.issue_sprints i where i.source_id = sprints.source_id and i.sprint_id = sprints.id)';

/**
 * By the search where it pages by token: the sprint's own list pages by number, and a site limits how many issues it
 * shows (the vendor's OpenAPI). What the search refuses, such as a sprint that is gone, the list is asked for.
 */
const issuesOf = async (search: Search, sprintId: string, signal: AbortSignal): Promise<PageWalk> => {
  const list = listingOf(sprintIssue, sprintId, { fields: 'id', maxResults: 100 });
  // That there is no search is said by the stream of issues.
  const found = await search.inSprint(sprintId, signal).catch(caught(TidemarkError));
  if (found === undefined || found instanceof Error) return list;
  return {
    ...found,
    paging: firstThatFits(pageToken(), offset()),
    fewer: (sent, error) => (sent === found.first && error instanceof Refused ? list.first : undefined),
  };
};

export const sprintIssues = ({ search }: Tracker): Stream =>
  relations(`GET ${sprintIssue}`, tables.sprintIssues, {
    ...ofSoftware,
    by: 'list',
    about:
      'Which issues are in which sprint, where boards list sprints: of those that they list. Sprints completed more than 30 days ago are read once a week.',
    // After `board_sprints` because of `shown`.
    after: ['sprints', 'issues', 'board_sprints'],
    partitions: {
      table: 'tracker.sprints',
      columns: { sprint_id: 'id' },
      // Where boards list sprints, those that only issues name are left out: the server may refuse them, and
      // their issues name them.
      where: `_deleted_at is null and (_row_hash is not null
      or not exists (select from tracker.sprints l where l.source_id = sprints.source_id and l._row_hash is not null))`,
      active:
        "state is distinct from 'closed' or completed_at is null or completed_at > now() - interval '30 days'",
      // A sprint that came from a board must still be on one, unless boards are not asked; one that came from
      // issues must still be named.
      listed: `case when _row_hash is null then ${isNamed}
      else exists (select from tracker.board_sprints b where b.source_id = sprints.source_id and b.sprint_id = sprints.id)
        or not exists (select from ops.streams t
          where t.source_id = sprints.source_id and t.stream = 'board_sprints' and t.state = 'available' and not t.excluded) end`,
      // The vendor shows a sprint to an account that sees its board or one of its issues (OpenAPI, `GET
      // /rest/agile/1.0/sprint/{sprintId}`).
      unreferenced: `not ${isNamed}`,
    },
    pages: ({ partition }, signal) => issuesOf(search, partition?.sprint_id ?? '', signal),
  });
