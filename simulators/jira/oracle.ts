import {
  type Board,
  type Change,
  type Field,
  type Group,
  type Issue,
  type IssueType,
  isShown,
  type Named,
  type Project,
  type Sprint,
  type Status,
  type User,
} from './model.ts';
import type { TrackerState } from './state.ts';

/** The truth about one issue: what the warehouse should hold once everything is synced. Instants are epoch ms. */
export interface OracleIssue extends Issue {
  readonly key: string;
  readonly projectKey: string;
  readonly deleted: boolean;
  /** False: the credentials may not see it (its project is hidden). */
  readonly visible: boolean;
  readonly spentSeconds: number;
}

/** The truth about the tracker, as plain data of its own: later writes do not change it. */
export interface Oracle {
  /** By id; deleted ones too. */
  readonly issues: ReadonlyMap<string, OracleIssue>;
  readonly projects: readonly Project[];
  readonly users: readonly User[];
  readonly groups: readonly Group[];
  readonly boards: readonly Board[];
  readonly sprints: readonly Sprint[];
  /** Which sprints each board that can have sprints shows. */
  readonly boardSprints: readonly { readonly boardId: number; readonly sprintId: number }[];
  /** Live, visible issues only. */
  readonly sprintIssues: readonly { readonly sprintId: number; readonly issueId: string }[];
  readonly fields: readonly Field[];
  readonly statuses: readonly Status[];
  readonly issueTypes: readonly IssueType[];
  readonly priorities: readonly Named[];
}

/** How much there is of what hangs on live, visible issues: cheap in memory for any number of them. */
export interface Tally {
  readonly issues: number;
  readonly changes: number;
  readonly changeItems: number;
  readonly comments: number;
  readonly worklogs: number;
  readonly labels: number;
  readonly components: number;
  readonly fixVersions: number;
  readonly links: number;
  readonly oldKeys: number;
}

const truthOf = (state: TrackerState, position: number): OracleIssue => {
  const issue = state.store.at(position);
  const project = state.projects.get(issue.projectId);
  return {
    ...issue,
    key: state.store.keyOf(position),
    projectKey: project?.key ?? '',
    deleted: !state.store.isLive(position),
    visible: project?.hidden !== true,
    worklogs: issue.worklogs.filter(isShown),
    spentSeconds: issue.worklogs.reduce((all, one) => all + one.seconds, 0),
  };
};

/** Takes the truth down. Holds every issue in memory: for 200,000 ask for the tally instead. */
export const oracle = (state: TrackerState): Oracle => {
  const issues = new Map<string, OracleIssue>();
  for (let position = 0; position < state.store.size; position++) {
    const issue = truthOf(state, position);
    issues.set(issue.id, issue);
  }
  const seen = [...issues.values()].filter((one) => one.visible && !one.deleted);
  const boards = [...state.boards.values()];
  return {
    issues,
    projects: [...state.projects.values()],
    users: [...state.users.values()],
    groups: [...state.groups.values()],
    boards,
    sprints: [...state.sprints.values()],
    boardSprints: boards
      .filter((board) => board.type !== 'kanban')
      .flatMap((board) => {
        const shown = [...state.sprints.values()].filter(
          (one) => one.boardId === board.id || board.shows.includes(one.id),
        );
        return shown.map((one) => ({ boardId: board.id, sprintId: one.id }));
      }),
    sprintIssues: seen.flatMap((issue) =>
      [...new Set(issue.sprintIds)].map((sprintId) => ({ sprintId, issueId: issue.id })),
    ),
    fields: [...state.fields.values()],
    statuses: [...state.statuses.values()],
    issueTypes: [...state.issueTypes.values()],
    priorities: [...state.priorities.values()],
  };
};

const sum = <T>(list: readonly T[], of: (one: T) => number): number =>
  list.reduce((all, one) => all + of(one), 0);

/** Counts without keeping. */
export const tally = (state: TrackerState): Tally => {
  const counts = {
    issues: 0,
    changes: 0,
    changeItems: 0,
    comments: 0,
    worklogs: 0,
    labels: 0,
    components: 0,
    fixVersions: 0,
    links: 0,
    oldKeys: 0,
  };
  for (let position = 0; position < state.store.size; position++) {
    if (!state.store.isLive(position) || state.projects.get(state.store.projectId(position))?.hidden === true)
      continue;
    const issue = state.store.at(position);
    counts.issues += 1;
    counts.changes += issue.history.length;
    counts.changeItems += sum<Change>(issue.history, (one) => one.items.length);
    counts.comments += issue.comments.length;
    counts.worklogs += issue.worklogs.filter(isShown).length;
    counts.labels += issue.labels.length;
    counts.components += issue.componentIds.length;
    counts.fixVersions += issue.fixVersionIds.length;
    counts.links += issue.links.length;
    counts.oldKeys += issue.oldKeys.length;
  }
  return counts;
};
