/** The tables of issues and of what arrives with an issue. */

import { requiredObject } from '../../core/record-values.ts';
import type { Child, RowOf } from '../../core/table.ts';
import * as core from '../../core/table.ts';
import { field, from, original, person, plain, readable } from './columns.ts';
import { statusCategories, statusCategory, visibility } from './transform/values.ts';

const { id, whole, text, word, bool, day, instant } = field;

const statusMeant = core
  .text('What the status meant when the issue was read: todo, in_progress, done or unknown.')
  .oneOf(...statusCategories)
  .nullable();

/** What most views of bi read of all issues, beside the project to filter by: an index-only scan takes a sixth of the time of the wide table. */
const narrowColumns = `(project_id, id, source_id) include (key, issue_type_id, status_id, priority_id, assignee_id, parent_id,
  epic_id, epic_key, created_at, story_points, security_level, security_level_id, _deleted_at)`;

export const issues = readable('issues', 'Issues, one row each, as last read.', {
  id: core.bigint('Issue id; stable, unlike the key.').key(),
  key: core.text('Issue key, e.g. PROJ-7; changes when the issue moves. Former keys: tracker.issue_keys.'),
  project_id: id('project.id', 'The project, see tracker.projects.id.'),
  issue_type_id: id('issuetype?.id?', 'The type, see tracker.issue_types.id.'),
  status_id: id('status.id', 'The status now, see tracker.statuses.id.'),
  priority_id: id('priority?.id?', 'The priority, see tracker.priorities.id.'),
  resolution_id: id('resolution?.id?', 'Resolution id; null while unresolved.'),
  resolution: text('resolution?.name?', "Resolution name, in the account's language; null while unresolved."),
  parent_id: id('parent?.id?', 'The parent (tracker.issues.id): of a sub-task its task, of a task its epic.'),
  epic_id: core.bigint('The epic, see tracker.issues.id, where the source states its id.').nullable(),
  epic_key: core.text('Key of the epic as the source states it.').nullable(),
  assignee_id: person('assignee?', 'The assignee (tracker.users.id); null: none, or no longer known.'),
  reporter_id: person('reporter?', 'The reporter (tracker.users.id); null: none, or no longer known.'),
  creator_id: person('creator?', 'Who created it (tracker.users.id); null: none, or no longer known.'),
  summary: text('summary?', 'The title line.'),
  description: plain('description?', 'Description as plain text.'),
  description_adf: original('description?', 'Description as delivered (ADF); null: came as plain text.'),
  environment: plain('environment?', 'Environment as plain text.'),
  environment_adf: original('environment?', 'Environment as delivered (ADF); null: came as plain text.'),
  labels: core.texts('Labels; one row each in tracker.issue_labels.'),
  components: core.texts('Names of components; with ids in tracker.issue_components.'),
  fix_versions: core.texts('Names of fix versions; with ids in tracker.issue_versions.'),
  affects_versions: core.texts('Names of affected versions; with ids in tracker.issue_versions.'),
  security_level: text('security?.name?', 'Name of the security level; null: all of the project see it.'),
  security_level_id: id('security?.id?', 'Id of the security level; null: all of the project see it.'),
  due_date: day('duedate?', 'Due day; a calendar day without a time zone.'),
  created_at: instant('created', 'When it was created (UTC).'),
  updated_at: instant('updated', 'When the source last changed it (UTC); orders versions.'),
  resolved_at: instant('resolutiondate?', 'When it was resolved (UTC); null while unresolved.'),
  status_category_changed_at: instant('statuscategorychangedate?', 'When its status category changed (UTC).'),
  story_points: core.numeric('Story points, exactly as entered; null: none, or no such field.').nullable(),
  start_date: core.date('Day on which work starts, as planned; null: none, or no such field.').nullable(),
  is_flagged: core.bool('True while it is flagged as impeded; null: there is no such field.').nullable(),
  team: core.text('Name of the team; its id where the source gives no name.').nullable(),
  original_estimate_seconds: whole(
    'timeoriginalestimate?|timetracking?.originalEstimateSeconds?',
    'Original estimate in seconds of work.',
  ),
  remaining_estimate_seconds: whole(
    'timeestimate?|timetracking?.remainingEstimateSeconds?',
    'Remaining estimate in seconds of work.',
  ),
  time_spent_seconds: whole(
    'timespent?|timetracking?.timeSpentSeconds?',
    'Time logged in seconds of work, without sub-tasks.',
  ),
  votes: whole('votes?.votes?', 'How many people voted for it.'),
  watchers: whole('watches?.watchCount?', 'How many people watch it.'),
  custom_fields: core
    .jsonb(
      'Field id to value for every custom field that is set: options by label, people by account id, several as array. Names: tracker.fields.',
    )
    .default("'{}'"),
  status: text('status.name?', 'Name of the status when read; the name of today: tracker.statuses.'),
  status_category: from(statusMeant, 'status', (r, fields) =>
    statusCategory(r, requiredObject(r, fields, 'status'), 'fields.status.statusCategory'),
  ),
  issue_type: text('issuetype?.name?', 'Name of the type when read; the name of today: tracker.issue_types.'),
  is_subtask: bool('issuetype?.subtask?', 'True for a type of sub-tasks; null where the issue does not say.'),
  priority: text('priority?.name?', 'Name of the priority when read; that of today: tracker.priorities.'),
}).with({
  order: 'updated_at',
  wide: true,
  // Not the source first: nearly all issues have the same one, and the planner would walk such an index for all of them.
  // Views of bi give the id as text.
  indexes: ['(key, source_id)', narrowColumns, '((id::text))', '(updated_at)'],
  // Objects that have rows of their own, what the caller did, and times in words.
  prefix: 'fields.',
  ignored: [
    '* project.* issuetype.* status.* priority.* parent.* resolution.description votes.hasVoted watches.isWatching',
    'timetracking.originalEstimate timetracking.remainingEstimate timetracking.timeSpent',
  ].join(' '),
});

/** The column of the issue that a row belongs to. */
const issueId = core.bigint('The issue, see tracker.issues.id.');

const issueLabels = readable('issue_labels', 'Labels of issues; one row per issue and label.', {
  issue_id: issueId.key(),
  label: core.text('The label, as written.').key(),
}).with({ relation: true });

/**
 * What a row says of its component is as of the last change of the issue; `sync tracker --full` reads it
 * again.
 */
export const issueComponents = readable(
  'issue_components',
  'Components, as of the last change of the issue.',
  {
    issue_id: issueId.key(),
    component_id: id('id', 'Component id of the source.').key(),
    name: text('name?', 'Component name, as of the last change of the issue.'),
    description: text('description?', 'What the component is, as of the last change of the issue.'),
  },
).with({
  relation: true,
  // The project is the issue's own; who is assigned follows from the kind of assignee.
  ignored: 'project projectId realAssignee realAssigneeType isAssigneeTypeValid',
});

/**
 * What a row says of its version is as of the last change of the issue; `sync tracker --full` reads it again.
 */
export const issueVersions = readable('issue_versions', 'Versions, as of the last change of the issue.', {
  issue_id: issueId.key(),
  kind: core.text('fix: fixed in it; affected: shows the fault.').oneOf('fix', 'affected').key(),
  version_id: id('id', 'Version id of the source.').key(),
  name: text('name?', 'Version name, as of the last change of the issue.'),
  released: bool('released?', 'True when it was released, as of the last change of the issue.'),
  archived: bool('archived?', 'True when it was archived, as of the last change of the issue.'),
  release_date: day('releaseDate?', 'Day of release, planned or real, as of the last change of the issue.'),
  start_date: day('startDate?', 'Day on which work on it starts, as of the last change of the issue.'),
  description: text('description?', 'What the version is for, as of the last change of the issue.'),
}).with({
  relation: true,
  // The project is the issue's own; the others follow from the dates.
  ignored: 'project projectId userReleaseDate userStartDate overdue',
});

export const issueLinks = readable('issue_links', 'Links of issues, one row per issue, link and direction.', {
  issue_id: issueId.key(),
  link_id: id('id', 'Link id; the same at both ends.').key(),
  direction: core
    .text('outward: this issue is the active end (blocks); inward: the passive end (is blocked by).')
    .oneOf('outward', 'inward')
    .key(),
  type_id: id('type?.id?', 'Id of the link type.'),
  type_name: text('type?.name?', 'Name of the link type, e.g. Blocks.'),
  outward: text('type?.outward?', 'How the active end reads, e.g. blocks.'),
  inward: text('type?.inward?', 'How the passive end reads, e.g. is blocked by.'),
  other_issue_id: core.bigint('The issue at the other end, see tracker.issues.id.').nullable(),
  other_issue_key: core.text('Its key when this was read.').nullable(),
}).with({ relation: true, ignored: 'inwardIssue outwardIssue' });

/** What a row says of its sprint is as of the last change of the issue: `tracker.sprints` is newer. */
export const issueSprints = readable('issue_sprints', 'Sprints of issues; tracker.sprints is newer.', {
  issue_id: issueId.key(),
  sprint_id: id('id', 'The sprint, see tracker.sprints.id.').key(),
  name: text('name?', 'Sprint name as last seen on the issue.'),
  state: word('state?', 'future, active or closed, as of the last change of the issue.'),
  board_id: id('boardId?|originBoardId?', 'Its board, see tracker.boards.id, as last seen on the issue.'),
  goal: text('goal?', 'Sprint goal as last seen on the issue.'),
  start_at: instant('startDate?', 'Start (UTC) as last seen on the issue.'),
  end_at: instant('endDate?', 'Planned end (UTC) as last seen on the issue.'),
  completed_at: instant('completeDate?', 'When it was closed (UTC) as last seen on the issue.'),
}).with({ relation: true, ignored: '*', indexes: ['(source_id, sprint_id)'] });

const issueChangelog = core.table(
  'tracker.issue_changelog',
  'Every change of every field of an issue; one row per changed field.',
  {
    history_id: core.bigint('Id of the change; the fields changed together share it.').key(),
    item: core.smallint('Place of the field within the change, from 0.').key(),
    issue_id: issueId,
    changed_at: core.timestamptz('When it was changed (UTC).'),
    author_id: core.text('Who changed it (tracker.users.id); null: none, or no longer known.').nullable(),
    field_id: core.text('Field id, see tracker.fields.id; the field name where the source gives no id.'),
    field_name: core.text('Field name at the time.'),
    from_id: core.text('Value before, as id where the field has ids.').nullable(),
    from_text: core.text('Value before, as people read it.').nullable(),
    to_id: core.text('Value after, as id where the field has ids.').nullable(),
    to_text: core.text('Value after, as people read it.').nullable(),
    _extra: core.jsonb('What no column holds, e.g. historyMetadata: what made the change.').nullable(),
  },
  { relation: true, indexes: ['(changed_at)', '(source_id, issue_id, changed_at)'] },
);
export type IssueChangeRow = RowOf<typeof issueChangelog>;

/** Who edited a comment or a worklog. */
const editor = person(
  'updateAuthor?',
  'Who edited it last (tracker.users.id); null: none, or no longer known.',
);

/** Who may see it. */
const visibleTo = from(
  core.text('Who may see it, e.g. role:Administrators; null: all who see the issue.').nullable(),
  'visibility.type visibility.value visibility.identifier',
  visibility,
);

export const comments = readable('comments', 'Comments on issues, one row each, as last read.', {
  id: id('id', 'Comment id of the source.').key(),
  issue_id: issueId,
  author_id: person('author?', 'The author (tracker.users.id); null: none, or no longer known.'),
  update_author_id: editor,
  body: plain('body?', 'The comment as plain text.'),
  body_adf: original('body?', 'The comment as delivered (ADF); null: came as plain text.'),
  visibility: visibleTo,
  is_public: bool('jsdPublic?', 'Service desk: true when customers see it; null elsewhere.'),
  created_at: instant('created', 'When it was written (UTC).'),
  updated_at: instant(
    'updated?|created',
    'When it was last edited (UTC); created_at if the source says none.',
  ),
}).with({
  order: 'updated_at',
  wide: true,
  indexes: ['(source_id, issue_id)'],
  ignored: 'renderedBody',
});

export const worklogs = readable('worklogs', 'Time logged on issues, one row per entry, as last read.', {
  id: id('id', 'Worklog id of the source.').key(),
  issue_id: issueId,
  author_id: person('author?', 'Who did the work (tracker.users.id); null: none, or no longer known.'),
  update_author_id: editor,
  started_at: instant('started', 'When the work began (UTC).'),
  time_spent_seconds: whole('timeSpentSeconds', 'Duration of the work in seconds.'),
  comment: plain('comment?', 'What was done, as plain text.'),
  comment_adf: original('comment?', 'What was done as delivered (ADF); null: came as plain text.'),
  visibility: visibleTo,
  created_at: instant('created?', 'When the entry was made (UTC).'),
  updated_at: instant('updated?', 'When the entry was last edited (UTC).'),
}).with({ indexes: ['(source_id, issue_id)', '(started_at)'], ignored: 'issueId timeSpent' });

/** The key of today is `tracker.issues.key`. */
const issueKeys = readable('issue_keys', 'Every key that an issue has or had.', {
  key: core.text('Issue key, current or former.').key(),
  issue_id: issueId.key(),
}).with({ relation: true });

const child = (table: core.DeclaredTable, absent: Child['absent'] = 'deleted') => {
  return { table, parent: ['issue_id'], absent };
};

/** Everything that arrives with an issue, by the names that `Mapped.children` and `NestedList.child` use. */
export const issueChildren = {
  labels: child(issueLabels),
  components: child(issueComponents),
  versions: child(issueVersions),
  links: child(issueLinks),
  sprints: child(issueSprints),
  changelog: child(issueChangelog),
  comments: { ...child(comments), moves: true },
  worklogs: { ...child(worklogs), moves: true },
  // A key that an issue once had still leads to it.
  keys: child(issueKeys, 'kept'),
};

export const issueTables = [issues, ...Object.values(issueChildren).map(({ table }) => table)];
