/** Boards, their sprints, and the issues in those. */

import type { Flow, Stream } from '../../../core/stream.ts';
import { offset } from '../../../reading/paginators.ts';
import { existsAt } from '../account.ts';
import { boardSprint } from '../client.ts';
import * as fallbacks from '../fallbacks/sprints.ts';
import { listing, listingOf } from '../lists.ts';
import * as tables from '../tables.ts';
import * as transforms from '../transform/entities.ts';
import { entity, relation, type Tracker } from './stream.ts';

const board = '/rest/agile/1.0/board';
const sprintIssue = '/rest/agile/1.0/sprint/{id}/issue';

export const boards = ({ http }: Tracker): Flow =>
  entity(
    {
      name: 'boards',
      about: 'Boards of all types.',
      endpoint: `GET ${board}`,
      promised: true,
      walk: () => listing(board, offset(), { maxResults: 100 }),
      exists: existsAt(http, '/rest/agile/1.0/board/{id}'),
    },
    tables.boards,
    transforms.board,
  );

/** Kanban boards have no sprints; a board of unknown type is asked. */
const withSprints = "_deleted_at is null and type is distinct from 'kanban'";

const sprintsOfBoard = (name: string, about: string): Stream => ({
  name,
  about,
  endpoint: `GET ${boardSprint}`,
  promised: false,
  after: ['boards'],
  parents: { table: 'tracker.boards', columns: { board_id: 'id' }, where: withSprints },
  walk: ({ partition }) => listingOf(boardSprint, partition?.board_id ?? '', { maxResults: 100 }),
});

/** Not reconciled: the boards' lists are not all sprints, for issues may name others. */
export const sprints = (): Flow => ({
  ...entity(
    sprintsOfBoard(
      'sprints',
      'Sprints: those the boards list, and those that only issues name in their sprint field.',
    ),
    tables.sprints,
    transforms.sprint,
  ),
  fallback: fallbacks.sprintsFromIssues,
  afterwards: [fallbacks.unlistedSprints],
});

/** The same list once more, as a relation: a sprint that one board no longer shows may still show on another. */
export const boardSprints = (): Flow => ({
  ...relation(
    sprintsOfBoard('board_sprints', 'Which sprints a board shows; a sprint can show on several boards.'),
    tables.boardSprints,
    transforms.boardSprint,
  ),
  fallback: fallbacks.boardSprintsFromSprints,
  afterwards: [fallbacks.kanbanBoardsShowNone, fallbacks.boardsOfSprints],
});

export const sprintIssues = (): Flow =>
  relation(
    {
      name: 'sprint_issues',
      about:
        'Which issues are in which sprint, where boards list sprints: of those that they list. Sprints completed more than 30 days ago are read once a week.',
      endpoint: `GET ${sprintIssue}`,
      promised: true,
      // After `board_sprints` because of `shown`.
      after: ['sprints', 'issues', 'board_sprints'],
      parents: {
        table: 'tracker.sprints',
        columns: { sprint_id: 'id' },
        // Where boards list sprints, those that only issues name are left out: the server may refuse them, and their issues say as much.
        where: `_deleted_at is null and (_row_hash is not null
      or not exists (select from tracker.sprints l where l.source_id = sprints.source_id and l._row_hash is not null))`,
        lively:
          "state is distinct from 'closed' or completed_at is null or completed_at > now() - interval '30 days'",
        // A sprint that came from a board must still be on one, unless boards are not asked; one that came from issues must still be named.
        shown: `case when _row_hash is null
      then exists (select from tracker.issue_sprints i where i.source_id = sprints.source_id and i.sprint_id = sprints.id)
      else exists (select from tracker.board_sprints b where b.source_id = sprints.source_id and b.sprint_id = sprints.id)
        or not exists (select from ops.streams t
          where t.source_id = sprints.source_id and t.stream = 'board_sprints' and t.state = 'available' and not t.excluded) end`,
        // The vendor shows a sprint to whoever sees its board or one of its issues (OpenAPI, `GET /rest/agile/1.0/sprint/{sprintId}`).
        unnamed:
          'not exists (select from tracker.issue_sprints i where i.source_id = sprints.source_id and i.sprint_id = sprints.id)',
      },
      walk: ({ partition }) =>
        listingOf(sprintIssue, partition?.sprint_id ?? '', { fields: 'id', maxResults: 100 }),
    },
    tables.sprintIssues,
    transforms.sprintIssue,
  );
