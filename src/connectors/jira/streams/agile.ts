/** Boards, their sprints, and the issues in those. */

import type { Stream } from '../../../core/stream.ts';
import { offset } from '../../../reading/paginators.ts';
import { boardSprint } from '../client.ts';
import { listing } from '../detail-pages.ts';
import type { Tracker } from '../jira.ts';
import { existsAt } from '../probe.ts';

const board = '/rest/agile/1.0/board';
const sprintIssue = '/rest/agile/1.0/sprint/{id}/issue';

export const boards = (tracker: Tracker): Stream => ({
  name: 'boards',
  about: 'Boards of all types.',
  endpoint: `GET ${board}`,
  promised: true,
  walk: () => listing(board, offset(), { maxResults: 100 }),
  exists: existsAt(tracker, '/rest/agile/1.0/board/{id}', (id) => ({
    path: `${board}/${encodeURIComponent(id)}`,
  })),
});

/** Kanban boards have no sprints; boards whose type is not told are asked. */
const withSprints = "_deleted_at is null and type is distinct from 'kanban'";

const sprintsOfBoard = (name: string, about: string): Stream => ({
  name,
  about,
  endpoint: `GET ${boardSprint}`,
  promised: false,
  after: ['boards'],
  parents: { table: 'tracker.boards', columns: { board_id: 'id' }, where: withSprints },
  walk: ({ partition }) =>
    listing(
      boardSprint,
      offset(),
      { maxResults: 100 },
      { path: `${board}/${encodeURIComponent(partition?.board_id ?? '')}/sprint` },
    ),
});

/** Without a reconciliation: a list by owner is none of all sprints, and one that no board shows may still be seen in its issues. */
export const sprints = (): Stream =>
  sprintsOfBoard(
    'sprints',
    'Sprints: those the boards list, and those that only issues name in their sprint field.',
  );

/** The same list once more, as the relation: what a board no longer shows leaves it, while the sprint itself may live on elsewhere. */
export const boardSprints = (): Stream =>
  sprintsOfBoard('board_sprints', 'Which sprints a board shows; a sprint can show on several boards.');

export const sprintIssues = (): Stream => ({
  name: 'sprint_issues',
  about:
    'Which issues are in which sprint, where boards list sprints: of those that they list. Sprints completed more than 30 days ago are read once a week.',
  endpoint: `GET ${sprintIssue}`,
  promised: true,
  // Behind `board_sprints` because of `shown`.
  after: ['sprints', 'issues', 'board_sprints'],
  parents: {
    table: 'tracker.sprints',
    columns: { sprint_id: 'id' },
    // Not those that only issues name where boards list sprints: the server may refuse to tell of them, and their issues have told already.
    where: `_deleted_at is null and (_row_hash is not null
      or not exists (select from tracker.sprints l where l.source_id = sprints.source_id and l._row_hash is not null))`,
    lively:
      "state is distinct from 'closed' or completed_at is null or completed_at > now() - interval '30 days'",
    // Who told of it first, a board or an issue, knows no more of one that was deleted. Where boards are not asked they tell of none.
    shown: `case when _row_hash is null
      then exists (select from tracker.issue_sprints i where i.source_id = sprints.source_id and i.sprint_id = sprints.id)
      else exists (select from tracker.board_sprints b where b.source_id = sprints.source_id and b.sprint_id = sprints.id)
        or not exists (select from ops.streams t
          where t.source_id = sprints.source_id and t.stream = 'board_sprints' and t.state = 'available' and not t.excluded) end`,
    // The vendor shows a sprint to whoever sees its board or one of its issues (its OpenAPI, `GET /rest/agile/1.0/sprint/{sprintId}`).
    unnamed:
      'not exists (select from tracker.issue_sprints i where i.source_id = sprints.source_id and i.sprint_id = sprints.id)',
  },
  walk: ({ partition }) =>
    listing(
      sprintIssue,
      offset(),
      { fields: 'id', maxResults: 100 },
      {
        path: `/rest/agile/1.0/sprint/${encodeURIComponent(partition?.sprint_id ?? '')}/issue`,
      },
    ),
});
