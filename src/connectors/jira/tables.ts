/** The tables of schema `tracker`. Instants are UTC; `_extra` is JSON text of the members that no column holds. */
import {
  bigint,
  bool,
  type Child,
  date,
  int,
  json,
  jsonb,
  numeric,
  type RowOf,
  smallint,
  table,
  text,
  texts,
  timestamptz,
} from '../../core/table.ts';

const statusCategories = ['todo', 'in_progress', 'done', 'unknown'] as const;
export type StatusCategory = (typeof statusCategories)[number];

export const projects = table('tracker.projects', 'Projects of the tracker, one row each.', {
  id: bigint('Project id of the source; stable.').key(),
  key: text('Project key as issue keys begin with it, e.g. PROJ; may change.'),
  name: text('Name as people see it.'),
  description: text('Description as plain text.').nullable(),
  type: text('Type key of the source, e.g. software, service_desk, business.').nullable(),
  style: text('classic (company-managed) or next-gen (team-managed), where the source says.').nullable(),
  category: text('Name of the project category.').nullable(),
  lead_user_id: text('The project lead, see tracker.users.id; null if nobody or no longer known.').nullable(),
  archived: bool('True when the project is archived.').default('false'),
  url: text('Address that the project itself states, if any.').nullable(),
});
export type ProjectRow = RowOf<typeof projects>;

export const fields = table(
  'tracker.fields',
  'Fields an issue can have, system and custom ones, one row each.',
  {
    id: text('Field id, e.g. summary or customfield_10016; the key within issues.custom_fields.').key(),
    name: text("Name, in the language of the sync's account; names may repeat."),
    custom: bool('True for custom fields.'),
    schema_type: text('Type of the value, e.g. string, number, option, array.').nullable(),
    items_type: text('Type of the elements where schema_type is array.').nullable(),
    schema_custom: text('Type key of a custom field, e.g. com.pyxis.greenhopper.jira:gh-sprint.').nullable(),
    description: text('Description as plain text.').nullable(),
  },
);
export type FieldRow = RowOf<typeof fields>;

export const users = table('tracker.users', 'People and apps with an account at the tracker, one row each.', {
  id: text('Account id; where the source has none, its user key or name.').key(),
  display_name: text('Name as shown.').nullable(),
  email: text('E-mail address, where the person shows it.').nullable(),
  active: bool('False for deactivated accounts.').nullable(),
  time_zone: text("The person's IANA time zone, e.g. Europe/Berlin, where shown.").nullable(),
  locale: text("The person's language, e.g. en_US, where shown.").nullable(),
  account_type: text('atlassian, app, customer or unknown.').nullable(),
});
export type UserRow = RowOf<typeof users>;

export const groups = table('tracker.groups', 'User groups, one row each.', {
  id: text('Group id; where the source has none, its name.').key(),
  name: text('Name as people see it.'),
});
export type GroupRow = RowOf<typeof groups>;

export const groupMembers = table(
  'tracker.group_members',
  'Which users are in which groups; one row per group and user.',
  {
    group_id: text('The group, see tracker.groups.id.').key(),
    user_id: text('The member, see tracker.users.id.').key(),
  },
  { relation: true },
);
export type GroupMemberRow = RowOf<typeof groupMembers>;

export const boards = table('tracker.boards', 'Scrum and Kanban boards, one row each.', {
  id: bigint('Board id of the source.').key(),
  name: text('Name as people see it.'),
  type: text('scrum, kanban or simple.').nullable(),
  project_id: bigint('The project it is located in, see tracker.projects.id; null if none.').nullable(),
});
export type BoardRow = RowOf<typeof boards>;

export const sprints = table(
  'tracker.sprints',
  'Sprints, one row each: as the boards list them; those that no board lists, as the issues that name them told last.',
  {
    id: bigint('Sprint id of the source.').key(),
    name: text('Name as people see it.'),
    state: text('future, active or closed.'),
    board_id: bigint('The board it was created on, see tracker.boards.id.').nullable(),
    goal: text('Sprint goal.').nullable(),
    created_at: timestamptz('When it was created (UTC), where the source says.').nullable(),
    start_at: timestamptz(
      'When it starts or started (UTC); null for sprints that are not planned yet.',
    ).nullable(),
    end_at: timestamptz('When it is planned to end (UTC).').nullable(),
    completed_at: timestamptz('When it was closed (UTC); null while it is open.').nullable(),
  },
);
export type SprintRow = RowOf<typeof sprints>;

export const boardSprints = table(
  'tracker.board_sprints',
  'On which boards a sprint shows; one row per board and sprint.',
  {
    board_id: bigint('The board, see tracker.boards.id.').key(),
    sprint_id: bigint('The sprint, see tracker.sprints.id.').key(),
  },
  { relation: true, indexes: ['(source_id, sprint_id)'] },
);
export type BoardSprintRow = RowOf<typeof boardSprints>;

export const sprintIssues = table(
  'tracker.sprint_issues',
  'Which issues a sprint holds now, as the sprint itself lists them; one row per sprint and issue.',
  {
    sprint_id: bigint('The sprint, see tracker.sprints.id.').key(),
    issue_id: bigint('The issue, see tracker.issues.id.').key(),
  },
  { relation: true, indexes: ['(source_id, issue_id)'] },
);
export type SprintIssueRow = RowOf<typeof sprintIssues>;

export const statuses = table('tracker.statuses', 'Workflow statuses, one row each.', {
  id: bigint('Status id of the source; names may repeat.').key(),
  name: text("Name, in the language of the sync's account."),
  description: text('Description as plain text.').nullable(),
  category: text(
    'What the status means: todo, in_progress, done, or unknown where the source does not say.',
  ).oneOf(...statusCategories),
  project_id: bigint(
    'The project it belongs to, see tracker.projects.id; null for statuses of all projects.',
  ).nullable(),
});
export type StatusRow = RowOf<typeof statuses>;

export const issueTypes = table('tracker.issue_types', 'Issue types, one row each.', {
  id: bigint('Issue type id of the source; names may repeat.').key(),
  name: text("Name, in the language of the sync's account."),
  description: text('Description as plain text.').nullable(),
  subtask: bool('True for types of sub-tasks.').default('false'),
  hierarchy_level: int(
    '-1 sub-task, 0 ordinary, 1 epic, higher above; null where the source does not say.',
  ).nullable(),
  project_id: bigint(
    'The project it belongs to, see tracker.projects.id; null for types of all projects.',
  ).nullable(),
});
export type IssueTypeRow = RowOf<typeof issueTypes>;

export const priorities = table('tracker.priorities', 'Issue priorities, one row each.', {
  id: bigint('Priority id of the source.').key(),
  name: text("Name, in the language of the sync's account."),
  description: text('Description as plain text.').nullable(),
  rank: int('Place in the order of the source, where it says; smaller is more urgent.').nullable(),
});
export type PriorityRow = RowOf<typeof priorities>;

export const issues = table(
  'tracker.issues',
  'Issues, one row each, as last read.',
  {
    id: bigint('Issue id; stable, unlike the key.').key(),
    key: text('Issue key, e.g. PROJ-7; changes when the issue moves. Former keys: tracker.issue_keys.'),
    project_id: bigint('The project, see tracker.projects.id.'),
    issue_type_id: bigint('The type, see tracker.issue_types.id.').nullable(),
    status_id: bigint('The status now, see tracker.statuses.id.'),
    priority_id: bigint('The priority, see tracker.priorities.id.').nullable(),
    resolution_id: bigint('Resolution id; null while unresolved.').nullable(),
    resolution: text(
      "Resolution name, in the language of the sync's account; null while unresolved.",
    ).nullable(),
    parent_id: bigint(
      'The parent issue, see tracker.issues.id: of a sub-task its task, of a task its epic.',
    ).nullable(),
    epic_id: bigint('The epic, see tracker.issues.id, where the source states its id.').nullable(),
    epic_key: text('Key of the epic as the source states it.').nullable(),
    assignee_id: text('The assignee, see tracker.users.id; null if nobody or no longer known.').nullable(),
    reporter_id: text('The reporter, see tracker.users.id; null if nobody or no longer known.').nullable(),
    creator_id: text('Who created it, see tracker.users.id; null if nobody or no longer known.').nullable(),
    summary: text('The title line.').nullable(),
    description: text('Description as plain text.').nullable(),
    description_adf: json(
      'Description as delivered (Atlassian Document Format); null where the source gives plain text.',
    ).nullable(),
    environment: text('Environment as plain text.').nullable(),
    environment_adf: json(
      'Environment as delivered (Atlassian Document Format); null where the source gives plain text.',
    ).nullable(),
    labels: texts('Labels; one row each in tracker.issue_labels.'),
    components: texts('Names of components; with ids in tracker.issue_components.'),
    fix_versions: texts('Names of fix versions; with ids in tracker.issue_versions.'),
    affects_versions: texts('Names of affected versions; with ids in tracker.issue_versions.'),
    security_level: text(
      'Name of the security level; null if everybody of the project may see it.',
    ).nullable(),
    security_level_id: bigint(
      'Id of the security level; null if everybody of the project may see it.',
    ).nullable(),
    due_date: date('Due day; a calendar day without a time zone.').nullable(),
    created_at: timestamptz('When it was created (UTC).'),
    updated_at: timestamptz('When the source last changed it (UTC); tells newer versions from older.'),
    resolved_at: timestamptz('When it was resolved (UTC); null while unresolved.').nullable(),
    status_category_changed_at: timestamptz(
      'When its status category last changed (UTC), where delivered.',
    ).nullable(),
    story_points: numeric(
      'Story points, exactly as entered; null if not estimated or no such field is known.',
    ).nullable(),
    original_estimate_seconds: bigint('Original estimate in seconds of work.').nullable(),
    remaining_estimate_seconds: bigint('Remaining estimate in seconds of work.').nullable(),
    time_spent_seconds: bigint('Time logged in seconds of work, without sub-tasks.').nullable(),
    votes: bigint('How many people voted for it.').nullable(),
    watchers: bigint('How many people watch it.').nullable(),
    custom_fields: jsonb(
      'Field id to value for every custom field that is set: options by label, people by account id, several as array. Names: tracker.fields.',
    ).default("'{}'"),
    status: text(
      'Name of the status when the issue was read; the name of today: tracker.statuses.',
    ).nullable(),
    status_category: text(
      'What the status meant when the issue was read: todo, in_progress, done, or unknown where the issue does not say.',
    )
      .oneOf(...statusCategories)
      .nullable(),
    issue_type: text(
      'Name of the type when the issue was read; the name of today: tracker.issue_types.',
    ).nullable(),
    is_subtask: bool('True for a type of sub-tasks; null where the issue does not say.').nullable(),
    priority: text(
      'Name of the priority when the issue was read; the name of today: tracker.priorities.',
    ).nullable(),
  },
  {
    order: 'updated_at',
    wide: true,
    indexes: ['(source_id, key)', '(source_id, project_id)', '(updated_at)'],
  },
);
export type IssueRow = RowOf<typeof issues>;

export const issueLabels = table(
  'tracker.issue_labels',
  'Labels of issues; one row per issue and label.',
  {
    issue_id: bigint('The issue, see tracker.issues.id.').key(),
    label: text('The label, as written.').key(),
  },
  { relation: true },
);
export type IssueLabelRow = RowOf<typeof issueLabels>;

export const issueComponents = table(
  'tracker.issue_components',
  'Components of issues; one row per issue and component. What they say of the component is as of the last change of the issue; sync tracker --full reads it as it is.',
  {
    issue_id: bigint('The issue, see tracker.issues.id.').key(),
    component_id: bigint('Component id of the source.').key(),
    name: text('Component name, as of the last change of the issue.').nullable(),
    description: text('What the component is, as of the last change of the issue.').nullable(),
  },
  { relation: true },
);
export type IssueComponentRow = RowOf<typeof issueComponents>;

export const issueVersions = table(
  'tracker.issue_versions',
  'Fix versions and affected versions of issues; one row per issue, kind and version. What they say of the version is as of the last change of the issue; sync tracker --full reads it as it is.',
  {
    issue_id: bigint('The issue, see tracker.issues.id.').key(),
    kind: text('fix: will be or was fixed in it; affected: shows the fault.').oneOf('fix', 'affected').key(),
    version_id: bigint('Version id of the source.').key(),
    name: text('Version name, as of the last change of the issue.').nullable(),
    released: bool('True when the version was released, as of the last change of the issue.').nullable(),
    archived: bool('True when the version was archived, as of the last change of the issue.').nullable(),
    release_date: date(
      'Day of release, planned or real, as of the last change of the issue; a calendar day without a time zone.',
    ).nullable(),
    start_date: date(
      'Day on which work on it starts or started, as of the last change of the issue; a calendar day without a time zone.',
    ).nullable(),
    description: text('What the version is for, as of the last change of the issue.').nullable(),
  },
  { relation: true },
);
export type IssueVersionRow = RowOf<typeof issueVersions>;

export const issueLinks = table(
  'tracker.issue_links',
  'Links between issues as each end shows them; one row per issue, link and direction.',
  {
    issue_id: bigint('The issue, see tracker.issues.id.').key(),
    link_id: bigint('Link id; the same at both ends.').key(),
    direction: text(
      'outward: this issue stands at the active end (blocks); inward: at the passive end (is blocked by).',
    )
      .oneOf('outward', 'inward')
      .key(),
    type_id: bigint('Id of the link type.').nullable(),
    type_name: text('Name of the link type, e.g. Blocks.').nullable(),
    outward: text('How the active end reads, e.g. blocks.').nullable(),
    inward: text('How the passive end reads, e.g. is blocked by.').nullable(),
    other_issue_id: bigint('The issue at the other end, see tracker.issues.id.').nullable(),
    other_issue_key: text('Its key when this was read.').nullable(),
  },
  { relation: true },
);
export type IssueLinkRow = RowOf<typeof issueLinks>;

export const issueSprints = table(
  'tracker.issue_sprints',
  'Sprints that an issue is or was in, from its own sprint field; one row per issue and sprint. What they say of the sprint is as of the last change of the issue: tracker.sprints is newer.',
  {
    issue_id: bigint('The issue, see tracker.issues.id.').key(),
    sprint_id: bigint('The sprint, see tracker.sprints.id.').key(),
    name: text('Sprint name as last seen on the issue.').nullable(),
    state: text('future, active or closed, as of the last change of the issue.').nullable(),
    board_id: bigint('Board of the sprint, see tracker.boards.id, as last seen on the issue.').nullable(),
    goal: text('Sprint goal as last seen on the issue.').nullable(),
    start_at: timestamptz('Start (UTC) as last seen on the issue.').nullable(),
    end_at: timestamptz('Planned end (UTC) as last seen on the issue.').nullable(),
    completed_at: timestamptz('When it was closed (UTC) as last seen on the issue.').nullable(),
  },
  { relation: true, indexes: ['(source_id, sprint_id)'] },
);
export type IssueSprintRow = RowOf<typeof issueSprints>;

export const issueChangelog = table(
  'tracker.issue_changelog',
  'Every change of every field of an issue; one row per changed field.',
  {
    history_id: bigint('Id of the change; the fields changed together share it.').key(),
    item: smallint('Place of the field within the change, from 0.').key(),
    issue_id: bigint('The issue, see tracker.issues.id.'),
    changed_at: timestamptz('When it was changed (UTC).'),
    author_id: text('Who changed it, see tracker.users.id; null if nobody or no longer known.').nullable(),
    field_id: text('Field id, see tracker.fields.id; the field name where the source gives no id.'),
    field_name: text('Field name at the time.'),
    from_id: text('Value before, as id where the field has ids.').nullable(),
    from_text: text('Value before, as people read it.').nullable(),
    to_id: text('Value after, as id where the field has ids.').nullable(),
    to_text: text('Value after, as people read it.').nullable(),
    _extra: jsonb(
      'What the source tells of the change and no column holds, e.g. historyMetadata: what made it, as an automation or another system.',
    ).nullable(),
  },
  { relation: true, indexes: ['(changed_at)', '(source_id, issue_id, changed_at)'] },
);
export type IssueChangeRow = RowOf<typeof issueChangelog>;

export const comments = table(
  'tracker.comments',
  'Comments on issues, one row each, as last read.',
  {
    id: bigint('Comment id of the source.').key(),
    issue_id: bigint('The issue, see tracker.issues.id.'),
    author_id: text('The author, see tracker.users.id; null if nobody or no longer known.').nullable(),
    update_author_id: text(
      'Who edited it last, see tracker.users.id; null if nobody or no longer known.',
    ).nullable(),
    body: text('The comment as plain text.').nullable(),
    body_adf: json(
      'The comment as delivered (Atlassian Document Format); null where the source gives plain text.',
    ).nullable(),
    visibility: text(
      'Who may see it, e.g. role:Administrators; null if everybody who sees the issue.',
    ).nullable(),
    is_public: bool('Service desk: true when customers see it; null elsewhere.').nullable(),
    created_at: timestamptz('When it was written (UTC).'),
    updated_at: timestamptz('When it was last edited (UTC); equals created_at if the source says nothing.'),
  },
  { order: 'updated_at', wide: true, indexes: ['(source_id, issue_id)'] },
);
export type CommentRow = RowOf<typeof comments>;

export const worklogs = table(
  'tracker.worklogs',
  'Time logged on issues, one row per entry, as last read.',
  {
    id: bigint('Worklog id of the source.').key(),
    issue_id: bigint('The issue, see tracker.issues.id.'),
    author_id: text('Who did the work, see tracker.users.id; null if nobody or no longer known.').nullable(),
    update_author_id: text(
      'Who edited the entry last, see tracker.users.id; null if nobody or no longer known.',
    ).nullable(),
    started_at: timestamptz('When the work began (UTC).'),
    time_spent_seconds: bigint('Duration of the work in seconds.'),
    comment: text('What was done, as plain text.').nullable(),
    comment_adf: json(
      'What was done as delivered (Atlassian Document Format); null where the source gives plain text.',
    ).nullable(),
    visibility: text(
      'Who may see it, e.g. role:Administrators; null if everybody who sees the issue.',
    ).nullable(),
    created_at: timestamptz('When the entry was made (UTC).').nullable(),
    updated_at: timestamptz('When the entry was last edited (UTC).').nullable(),
  },
  { indexes: ['(source_id, issue_id)', '(started_at)'] },
);
export type WorklogRow = RowOf<typeof worklogs>;

export const issueKeys = table(
  'tracker.issue_keys',
  'Every key an issue has or had, so that old keys still lead to it; the key of today is tracker.issues.key.',
  {
    key: text('Issue key, current or former.').key(),
    issue_id: bigint('The issue, see tracker.issues.id.').key(),
  },
  { relation: true },
);
export type IssueKeyRow = RowOf<typeof issueKeys>;

/** Everything that arrives with an issue, by the names that `Mapped.children` and `Tail.child` use. */
export const issueChildren = {
  labels: { table: issueLabels, parent: ['issue_id'], absent: 'deleted' },
  components: { table: issueComponents, parent: ['issue_id'], absent: 'deleted' },
  versions: { table: issueVersions, parent: ['issue_id'], absent: 'deleted' },
  links: { table: issueLinks, parent: ['issue_id'], absent: 'deleted' },
  sprints: { table: issueSprints, parent: ['issue_id'], absent: 'deleted' },
  changelog: { table: issueChangelog, parent: ['issue_id'], absent: 'deleted' },
  comments: { table: comments, parent: ['issue_id'], absent: 'deleted', moves: true },
  worklogs: { table: worklogs, parent: ['issue_id'], absent: 'deleted', moves: true },
  // A key that an issue once had goes on leading to it.
  keys: { table: issueKeys, parent: ['issue_id'], absent: 'kept' },
} as const satisfies Readonly<Record<string, Child>>;

/** All tables of the schema. */
export const trackerTables = [
  projects,
  fields,
  users,
  groups,
  groupMembers,
  boards,
  sprints,
  boardSprints,
  sprintIssues,
  statuses,
  issueTypes,
  priorities,
  issues,
  issueLabels,
  issueComponents,
  issueVersions,
  issueLinks,
  issueSprints,
  issueChangelog,
  comments,
  worklogs,
  issueKeys,
] as const;
