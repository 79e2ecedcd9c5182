import { type Answer, type Call, pieces, type Route } from '../shared/http.ts';
import type { PageSize } from './dialect.ts';
import type { Board, Sprint } from './model.ts';
import { wantsChangelog } from './search-routes.ts';
import type { Site } from './site.ts';

const size: PageSize = { standard: 50, max: 100 };

/** Boards, sprints and who is in them. */
export const agileRoutes = (site: Site): readonly Route[] => {
  const { dialect, entities, state } = site;
  const seen = (one: Board): boolean =>
    one.hidden !== true && state.projects.get(one.projectId)?.hidden !== true;

  const values = (call: Call, items: readonly unknown[]): Answer => {
    if (!dialect.vendor) return dialect.values(call, size, items);
    const at = dialect.position(call, size);
    const shown = items.slice(at.startAt, at.startAt + at.maxResults);
    return dialect.json({
      ...at,
      total: items.length,
      isLast: at.startAt + shown.length >= items.length,
      values: shown,
    });
  };
  const boardOf = (call: Call): Board => {
    const board = state.boards.get(Number(call.params.boardId));
    if (board === undefined || call.anonymous || !seen(board))
      throw dialect.refused(
        404,
        'The requested board cannot be viewed because it either does not exist or you do not have permission to view it.',
      );
    return board;
  };
  /** A sprint is seen by whoever sees its board or an issue in it. */
  const sprintOf = (call: Call): Sprint => {
    const sprint = state.sprints.get(Number(call.params.sprintId));
    const board = state.boards.get(sprint?.boardId ?? -1);
    const isSeen =
      sprint !== undefined && ((board !== undefined && seen(board)) || site.members(sprint.id).length > 0);
    if (!isSeen || call.anonymous)
      throw dialect.refused(404, 'Sprint does not exist or you do not have permission to view it.');
    return sprint;
  };

  return [
    {
      method: 'GET',
      path: '/rest/agile/1.0/board',
      inContract: true,
      handle: (call) => {
        const type = call.query.get('type');
        const project = call.query.get('projectKeyOrId');
        const home = [...state.projects.values()].find((one) => one.key === project || one.id === project);
        const shown = [...state.boards.values()].filter(
          (one) =>
            seen(one) &&
            (type === null || type.split(',').includes(one.type)) &&
            (project === null || one.projectId === home?.id),
        );
        return values(call, call.anonymous ? [] : shown.map(entities.board));
      },
    },
    {
      method: 'GET',
      path: '/rest/agile/1.0/board/{boardId}',
      inContract: false,
      handle: (call) => dialect.json(entities.board(boardOf(call))),
    },
    {
      method: 'GET',
      path: '/rest/agile/1.0/board/{boardId}/sprint',
      inContract: false,
      handle: (call) => {
        const board = boardOf(call);
        if (board.type === 'kanban') throw dialect.refused(400, 'The board does not support sprints');
        const states = call.query.get('state')?.split(',');
        const shown = [...state.sprints.values()].filter(
          (one) =>
            (one.boardId === board.id || board.shows.includes(one.id)) &&
            (states === undefined || states.includes(one.state)),
        );
        return values(call, shown.map(entities.sprint));
      },
    },
    {
      method: 'GET',
      path: '/rest/agile/1.0/sprint/{sprintId}',
      inContract: false,
      handle: (call) => dialect.json(entities.sprint(sprintOf(call))),
    },
    {
      method: 'GET',
      path: '/rest/agile/1.0/sprint/{sprintId}/issue',
      inContract: true,
      handle: (call) => {
        const sprint = sprintOf(call);
        const { startAt, maxResults } = dialect.position(call, size);
        const jql = site.bare ? null : call.query.get('jql');
        const members = site.members(sprint.id);
        const { hits } = jql === null || jql.trim() === '' ? { hits: members } : site.find(jql);
        const inside = new Set(members.map((one) => one.position));
        const shown = hits === members ? members : hits.filter((one) => inside.has(one.position));
        const fields = call.query
          .getAll('fields')
          .flatMap((one) => one.split(','))
          .filter((one) => one !== '');
        const projection = {
          fields: fields.length === 0 ? ['*navigable'] : fields,
          changelog: !site.bare && wantsChangelog(call.query.get('expand')),
          agile: true,
          sparse: false,
        };
        const list = site.fragments.list(shown.slice(startAt, startAt + maxResults), projection);
        const expand = dialect.vendor ? '"expand":"schema,names",' : '';
        return dialect.written(
          pieces(
            `{${expand}"startAt":${startAt},"maxResults":${maxResults},"total":${shown.length},"issues":`,
            list,
            '}',
          ),
        );
      },
    },
  ];
};
