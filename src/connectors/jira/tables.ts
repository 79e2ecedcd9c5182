/**
 * The tables of schema `tracker` and the rows they hold. Instants are UTC; `_extra` is JSON text of what no column holds.
 * Names and grains follow the warehouse's design; migrations/0002_tracker.ts makes them, and a test compares the two.
 */
import { type Child, type Day, type Decimal, type Integer, type JsonText, table } from '../../core/table.ts';
import type { Instant } from '../../core/time.ts';

type Maybe<T> = T | null;
/** Every entity keeps what it has no column for, and so does every change. */
type Extra = { readonly _extra: Maybe<JsonText> };

export type ProjectRow = Extra & {
  readonly id: Integer;
  readonly key: string;
  readonly name: string;
  readonly description: Maybe<string>;
  readonly type: Maybe<string>;
  readonly style: Maybe<string>;
  readonly category: Maybe<string>;
  readonly lead_user_id: Maybe<string>;
  readonly archived: boolean;
  readonly url: Maybe<string>;
};

export const projects = table<ProjectRow>({
  schema: 'tracker',
  name: 'projects',
  columns: {
    id: 'bigint',
    key: 'text',
    name: 'text',
    description: 'text',
    type: 'text',
    style: 'text',
    category: 'text',
    lead_user_id: 'text',
    archived: 'bool',
    url: 'text',
    _extra: 'jsonb',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type FieldRow = Extra & {
  readonly id: string;
  readonly name: string;
  readonly custom: boolean;
  readonly schema_type: Maybe<string>;
  readonly items_type: Maybe<string>;
  readonly schema_custom: Maybe<string>;
  readonly description: Maybe<string>;
};

export const fields = table<FieldRow>({
  schema: 'tracker',
  name: 'fields',
  columns: {
    id: 'text',
    name: 'text',
    custom: 'bool',
    schema_type: 'text',
    items_type: 'text',
    schema_custom: 'text',
    description: 'text',
    _extra: 'jsonb',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type UserRow = Extra & {
  readonly id: string;
  readonly display_name: Maybe<string>;
  readonly email: Maybe<string>;
  readonly active: Maybe<boolean>;
  readonly time_zone: Maybe<string>;
  readonly locale: Maybe<string>;
  readonly account_type: Maybe<string>;
};

export const users = table<UserRow>({
  schema: 'tracker',
  name: 'users',
  columns: {
    id: 'text',
    display_name: 'text',
    email: 'text',
    active: 'bool',
    time_zone: 'text',
    locale: 'text',
    account_type: 'text',
    _extra: 'jsonb',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type GroupRow = Extra & { readonly id: string; readonly name: string };

export const groups = table<GroupRow>({
  schema: 'tracker',
  name: 'groups',
  columns: { id: 'text', name: 'text', _extra: 'jsonb' },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type GroupMemberRow = { readonly group_id: string; readonly user_id: string };

export const groupMembers = table<GroupMemberRow>({
  schema: 'tracker',
  name: 'group_members',
  columns: { group_id: 'text', user_id: 'text' },
  key: ['group_id', 'user_id'],
  tombstones: false,
  entity: false,
});

export type BoardRow = Extra & {
  readonly id: Integer;
  readonly name: string;
  readonly type: Maybe<string>;
  readonly project_id: Maybe<Integer>;
};

export const boards = table<BoardRow>({
  schema: 'tracker',
  name: 'boards',
  columns: { id: 'bigint', name: 'text', type: 'text', project_id: 'bigint', _extra: 'jsonb' },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type SprintRow = Extra & {
  readonly id: Integer;
  readonly name: string;
  readonly state: string;
  readonly board_id: Maybe<Integer>;
  readonly goal: Maybe<string>;
  readonly created_at: Maybe<Instant>;
  readonly start_at: Maybe<Instant>;
  readonly end_at: Maybe<Instant>;
  readonly completed_at: Maybe<Instant>;
};

export const sprints = table<SprintRow>({
  schema: 'tracker',
  name: 'sprints',
  columns: {
    id: 'bigint',
    name: 'text',
    state: 'text',
    board_id: 'bigint',
    goal: 'text',
    created_at: 'timestamptz',
    start_at: 'timestamptz',
    end_at: 'timestamptz',
    completed_at: 'timestamptz',
    _extra: 'jsonb',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type BoardSprintRow = { readonly board_id: Integer; readonly sprint_id: Integer };

export const boardSprints = table<BoardSprintRow>({
  schema: 'tracker',
  name: 'board_sprints',
  columns: { board_id: 'bigint', sprint_id: 'bigint' },
  key: ['board_id', 'sprint_id'],
  tombstones: false,
  entity: false,
});

export type SprintIssueRow = { readonly sprint_id: Integer; readonly issue_id: Integer };

export const sprintIssues = table<SprintIssueRow>({
  schema: 'tracker',
  name: 'sprint_issues',
  columns: { sprint_id: 'bigint', issue_id: 'bigint' },
  key: ['sprint_id', 'issue_id'],
  tombstones: false,
  entity: false,
});

export type StatusCategory = 'todo' | 'in_progress' | 'done' | 'unknown';

export type StatusRow = Extra & {
  readonly id: Integer;
  readonly name: string;
  readonly description: Maybe<string>;
  readonly category: StatusCategory;
  readonly project_id: Maybe<Integer>;
};

export const statuses = table<StatusRow>({
  schema: 'tracker',
  name: 'statuses',
  columns: {
    id: 'bigint',
    name: 'text',
    description: 'text',
    category: 'text',
    project_id: 'bigint',
    _extra: 'jsonb',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type IssueTypeRow = Extra & {
  readonly id: Integer;
  readonly name: string;
  readonly description: Maybe<string>;
  readonly subtask: boolean;
  readonly hierarchy_level: Maybe<number>;
  readonly project_id: Maybe<Integer>;
};

export const issueTypes = table<IssueTypeRow>({
  schema: 'tracker',
  name: 'issue_types',
  columns: {
    id: 'bigint',
    name: 'text',
    description: 'text',
    subtask: 'bool',
    hierarchy_level: 'int',
    project_id: 'bigint',
    _extra: 'jsonb',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type PriorityRow = Extra & {
  readonly id: Integer;
  readonly name: string;
  readonly description: Maybe<string>;
  readonly rank: Maybe<number>;
};

export const priorities = table<PriorityRow>({
  schema: 'tracker',
  name: 'priorities',
  columns: { id: 'bigint', name: 'text', description: 'text', rank: 'int', _extra: 'jsonb' },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type IssueRow = Extra & {
  readonly id: Integer;
  readonly key: string;
  readonly project_id: Integer;
  readonly issue_type_id: Maybe<Integer>;
  readonly status_id: Integer;
  readonly priority_id: Maybe<Integer>;
  readonly resolution_id: Maybe<Integer>;
  readonly resolution: Maybe<string>;
  readonly parent_id: Maybe<Integer>;
  readonly epic_id: Maybe<Integer>;
  readonly epic_key: Maybe<string>;
  readonly assignee_id: Maybe<string>;
  readonly reporter_id: Maybe<string>;
  readonly creator_id: Maybe<string>;
  readonly summary: Maybe<string>;
  readonly description: Maybe<string>;
  readonly description_adf: Maybe<JsonText>;
  readonly environment: Maybe<string>;
  readonly environment_adf: Maybe<JsonText>;
  readonly labels: readonly string[];
  readonly components: readonly string[];
  readonly fix_versions: readonly string[];
  readonly affects_versions: readonly string[];
  readonly security_level: Maybe<string>;
  readonly security_level_id: Maybe<Integer>;
  readonly due_date: Maybe<Day>;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  readonly resolved_at: Maybe<Instant>;
  readonly status_category_changed_at: Maybe<Instant>;
  readonly story_points: Maybe<Decimal>;
  readonly original_estimate_seconds: Maybe<Integer>;
  readonly remaining_estimate_seconds: Maybe<Integer>;
  readonly time_spent_seconds: Maybe<Integer>;
  readonly votes: Maybe<Integer>;
  readonly watchers: Maybe<Integer>;
  readonly custom_fields: JsonText;
  readonly status: Maybe<string>;
  readonly status_category: StatusCategory;
  readonly issue_type: Maybe<string>;
  readonly is_subtask: Maybe<boolean>;
  readonly priority: Maybe<string>;
};

export const issues = table<IssueRow>({
  schema: 'tracker',
  name: 'issues',
  columns: {
    id: 'bigint',
    key: 'text',
    project_id: 'bigint',
    issue_type_id: 'bigint',
    status_id: 'bigint',
    priority_id: 'bigint',
    resolution_id: 'bigint',
    resolution: 'text',
    parent_id: 'bigint',
    epic_id: 'bigint',
    epic_key: 'text',
    assignee_id: 'text',
    reporter_id: 'text',
    creator_id: 'text',
    summary: 'text',
    description: 'text',
    description_adf: 'json',
    environment: 'text',
    environment_adf: 'json',
    labels: 'text[]',
    components: 'text[]',
    fix_versions: 'text[]',
    affects_versions: 'text[]',
    security_level: 'text',
    security_level_id: 'bigint',
    due_date: 'date',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    resolved_at: 'timestamptz',
    status_category_changed_at: 'timestamptz',
    story_points: 'numeric',
    original_estimate_seconds: 'bigint',
    remaining_estimate_seconds: 'bigint',
    time_spent_seconds: 'bigint',
    votes: 'bigint',
    watchers: 'bigint',
    custom_fields: 'jsonb',
    status: 'text',
    status_category: 'text',
    issue_type: 'text',
    is_subtask: 'bool',
    priority: 'text',
    _extra: 'jsonb',
  },
  key: ['id'],
  order: 'updated_at',
  tombstones: true,
  entity: true,
});

export type IssueLabelRow = { readonly issue_id: Integer; readonly label: string };

export const issueLabels = table<IssueLabelRow>({
  schema: 'tracker',
  name: 'issue_labels',
  columns: { issue_id: 'bigint', label: 'text' },
  key: ['issue_id', 'label'],
  tombstones: false,
  entity: false,
});

export type IssueComponentRow = {
  readonly issue_id: Integer;
  readonly component_id: Integer;
  readonly name: Maybe<string>;
  readonly description: Maybe<string>;
};

export const issueComponents = table<IssueComponentRow>({
  schema: 'tracker',
  name: 'issue_components',
  columns: { issue_id: 'bigint', component_id: 'bigint', name: 'text', description: 'text' },
  key: ['issue_id', 'component_id'],
  tombstones: false,
  entity: false,
});

export type IssueVersionRow = {
  readonly issue_id: Integer;
  readonly kind: 'fix' | 'affected';
  readonly version_id: Integer;
  readonly name: Maybe<string>;
  readonly released: Maybe<boolean>;
  readonly archived: Maybe<boolean>;
  readonly release_date: Maybe<Day>;
  readonly start_date: Maybe<Day>;
  readonly description: Maybe<string>;
};

export const issueVersions = table<IssueVersionRow>({
  schema: 'tracker',
  name: 'issue_versions',
  columns: {
    issue_id: 'bigint',
    kind: 'text',
    version_id: 'bigint',
    name: 'text',
    released: 'bool',
    archived: 'bool',
    release_date: 'date',
    start_date: 'date',
    description: 'text',
  },
  key: ['issue_id', 'kind', 'version_id'],
  tombstones: false,
  entity: false,
});

export type IssueLinkRow = {
  readonly issue_id: Integer;
  readonly link_id: Integer;
  readonly direction: 'outward' | 'inward';
  readonly type_id: Maybe<Integer>;
  readonly type_name: Maybe<string>;
  readonly outward: Maybe<string>;
  readonly inward: Maybe<string>;
  readonly other_issue_id: Maybe<Integer>;
  readonly other_issue_key: Maybe<string>;
};

export const issueLinks = table<IssueLinkRow>({
  schema: 'tracker',
  name: 'issue_links',
  columns: {
    issue_id: 'bigint',
    link_id: 'bigint',
    direction: 'text',
    type_id: 'bigint',
    type_name: 'text',
    outward: 'text',
    inward: 'text',
    other_issue_id: 'bigint',
    other_issue_key: 'text',
  },
  key: ['issue_id', 'link_id', 'direction'],
  tombstones: false,
  entity: false,
});

export type IssueSprintRow = {
  readonly issue_id: Integer;
  readonly sprint_id: Integer;
  readonly name: Maybe<string>;
  readonly state: Maybe<string>;
  readonly board_id: Maybe<Integer>;
  readonly goal: Maybe<string>;
  readonly start_at: Maybe<Instant>;
  readonly end_at: Maybe<Instant>;
  readonly completed_at: Maybe<Instant>;
};

export const issueSprints = table<IssueSprintRow>({
  schema: 'tracker',
  name: 'issue_sprints',
  columns: {
    issue_id: 'bigint',
    sprint_id: 'bigint',
    name: 'text',
    state: 'text',
    board_id: 'bigint',
    goal: 'text',
    start_at: 'timestamptz',
    end_at: 'timestamptz',
    completed_at: 'timestamptz',
  },
  key: ['issue_id', 'sprint_id'],
  tombstones: false,
  entity: false,
});

export type IssueChangeRow = Extra & {
  readonly history_id: Integer;
  /** Place of the item within its history, from 0. */
  readonly item: number;
  readonly issue_id: Integer;
  readonly changed_at: Instant;
  readonly author_id: Maybe<string>;
  readonly field_id: string;
  readonly field_name: string;
  readonly from_id: Maybe<string>;
  readonly from_text: Maybe<string>;
  readonly to_id: Maybe<string>;
  readonly to_text: Maybe<string>;
};

export const issueChangelog = table<IssueChangeRow>({
  schema: 'tracker',
  name: 'issue_changelog',
  columns: {
    history_id: 'bigint',
    item: 'smallint',
    issue_id: 'bigint',
    changed_at: 'timestamptz',
    author_id: 'text',
    field_id: 'text',
    field_name: 'text',
    from_id: 'text',
    from_text: 'text',
    to_id: 'text',
    to_text: 'text',
    _extra: 'jsonb',
  },
  key: ['history_id', 'item'],
  tombstones: false,
  entity: false,
});

export type CommentRow = Extra & {
  readonly id: Integer;
  readonly issue_id: Integer;
  readonly author_id: Maybe<string>;
  readonly update_author_id: Maybe<string>;
  readonly body: Maybe<string>;
  readonly body_adf: Maybe<JsonText>;
  readonly visibility: Maybe<string>;
  readonly is_public: Maybe<boolean>;
  readonly created_at: Instant;
  readonly updated_at: Instant;
};

export const comments = table<CommentRow>({
  schema: 'tracker',
  name: 'comments',
  columns: {
    id: 'bigint',
    issue_id: 'bigint',
    author_id: 'text',
    update_author_id: 'text',
    body: 'text',
    body_adf: 'json',
    visibility: 'text',
    is_public: 'bool',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    _extra: 'jsonb',
  },
  key: ['id'],
  order: 'updated_at',
  tombstones: true,
  entity: true,
});

export type WorklogRow = Extra & {
  readonly id: Integer;
  readonly issue_id: Integer;
  readonly author_id: Maybe<string>;
  readonly update_author_id: Maybe<string>;
  readonly started_at: Instant;
  readonly time_spent_seconds: Integer;
  readonly comment: Maybe<string>;
  readonly comment_adf: Maybe<JsonText>;
  readonly visibility: Maybe<string>;
  readonly created_at: Maybe<Instant>;
  readonly updated_at: Maybe<Instant>;
};

export const worklogs = table<WorklogRow>({
  schema: 'tracker',
  name: 'worklogs',
  columns: {
    id: 'bigint',
    issue_id: 'bigint',
    author_id: 'text',
    update_author_id: 'text',
    started_at: 'timestamptz',
    time_spent_seconds: 'bigint',
    comment: 'text',
    comment_adf: 'json',
    visibility: 'text',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    _extra: 'jsonb',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type IssueKeyRow = { readonly key: string; readonly issue_id: Integer };

export const issueKeys = table<IssueKeyRow>({
  schema: 'tracker',
  name: 'issue_keys',
  columns: { key: 'text', issue_id: 'bigint' },
  key: ['key', 'issue_id'],
  tombstones: false,
  entity: false,
});

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
