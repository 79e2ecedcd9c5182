/** What the tracker's streams become and where it goes, in the order in which they are read. */

import type { Fallback, Flow, Stream } from '../../core/stream.ts';
import type { Table } from '../../core/table.ts';
import type { Tracker } from './jira.ts';
import { issueTypesFromIssues, prioritiesFromIssues, statusesFromIssues } from './mapping-changes.ts';
import { namedGroups } from './named-groups.ts';
import { rekeyedIssues } from './project-keys.ts';
import {
  boardSprintsFromSprints,
  boardsOfSprints,
  kanbanBoardsShowNone,
  sprintsFromIssues,
  unlistedSprints,
} from './sprint-fallback.ts';
import * as streams from './streams.ts';
import * as tables from './tables.ts';
import * as transforms from './transform/entities.ts';

/** `mapIssue` is given apart: it knows the site's custom fields. Sprints come after issues, which tell of them where boards do not. */
export const trackerFlows = (tracker: Tracker, mapIssue: Flow['via']): readonly Flow[] => [
  entity(streams.fields(tracker), tables.fields, transforms.field),
  { ...entity(streams.projects(tracker), tables.projects, transforms.project), afterwards: [rekeyedIssues] },
  { ...entity(streams.statuses(), tables.statuses, transforms.status), fallback: statusesFromIssues },
  {
    ...entity(streams.issueTypes(), tables.issueTypes, transforms.issueType),
    fallback: issueTypesFromIssues,
  },
  { ...entity(streams.priorities(), tables.priorities, transforms.priority), fallback: prioritiesFromIssues },
  entity(streams.users(tracker), tables.users, transforms.user),
  { ...entity(streams.groups(tracker), tables.groups, transforms.group), afterwards: [namedGroups] },
  relation(streams.groupMembers(), tables.groupMembers, transforms.groupMember),
  entity(streams.boards(tracker), tables.boards, transforms.board),
  { ...entity(streams.issues(tracker), tables.issues, mapIssue), children: tables.issueChildren },
  {
    ...entity(streams.sprints(), tables.sprints, transforms.sprint),
    fallback: sprintsFromIssues,
    afterwards: [unlistedSprints],
  },
  {
    ...relation(streams.boardSprints(), tables.boardSprints, transforms.boardSprint, boardSprintsFromSprints),
    afterwards: [kanbanBoardsShowNone, boardsOfSprints],
  },
  relation(streams.sprintIssues(), tables.sprintIssues, transforms.sprintIssue),
];

const entity = (stream: Stream, table: Table, via: Flow['via']): Flow => ({
  stream,
  table,
  children: {},
  via,
  absent: 'kept',
});

const relation = (stream: Stream, table: Table, via: Flow['via'], fallback?: Fallback): Flow => ({
  ...entity(stream, table, via),
  absent: 'replaced',
  ...(fallback && { fallback }),
});
