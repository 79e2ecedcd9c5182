/**
 * The tables of schema `tracker` but those of issues: every export is one. Instants are UTC; `_extra` is JSON text of the
 * members that no column holds.
 */

import { isObject, type JsonObject, own, type Reading, wordOf } from '../../core/record.ts';
import { bool as boolOf, requiredKey } from '../../core/record-values.ts';
import * as core from '../../core/table.ts';
import { field, from, person, plain, readable } from './columns.ts';
import { fieldRoles, isSystemField } from './transform/field-catalogue.ts';
import { statusCategories, statusCategory, userId } from './transform/values.ts';

const { id, int4, text, keyText, word, bool, instant } = field;

/** True or false; false where the source does not say. */
const flag = (member: string, about: string) =>
  from(core.bool(about).default('false'), member, (r, record) => boolOf(r, record, member) ?? false);

export const projects = readable('projects', 'Projects of the tracker, one row each.', {
  id: id('id', 'Project id of the source; stable.').key(),
  key: keyText('key', 'Project key as issue keys begin with it, e.g. PROJ; may change.'),
  name: text('name', 'Name as people see it.'),
  description: plain('description?', 'Description as plain text.'),
  type: text('projectTypeKey?', 'Type key of the source, e.g. software, service_desk, business.'),
  style: text('style?', 'classic (company-managed) or next-gen (team-managed), where the source says.'),
  category: text('projectCategory?.name?', 'Name of the project category.'),
  lead_user_id: person('lead?', 'The project lead (tracker.users.id); null: none, or no longer known.'),
  archived: flag('archived', 'True when the project is archived.'),
  url: text('url?', 'Address that the project itself states, if any.'),
}).with({ ignored: 'simplified projectKeys entityId uuid properties insight' });

/**
 * `/field` says it; `/field/search` does not, but only custom fields have a custom type. What is not the
 * system's is the site's.
 */
const isCustom = (r: Reading, record: JsonObject): boolean => {
  const { custom, system } = isObject(record.schema) ? record.schema : {};
  const isOurs =
    typeof custom === 'string' || (typeof system !== 'string' && !isSystemField(wordOf(record.id)));
  return boolOf(r, record, 'custom') ?? isOurs;
};

/** The vendor gives it where the account's language has another name (https://github.com/apache/devlake/issues/2920). */
const english = text('untranslatedName?', 'Name in English where `name` is a translation; null: it is none.');

/** A column that the stream gives, not the record. */
const ofStream = <V extends core.Value>(column: core.Column<V | null>) => from(column, 'id', () => null);

/** The stream of the fields gives each its role, which depends on the configuration. */
export const fields = readable('fields', 'Fields of issues, system and custom ones, one row each.', {
  id: keyText('id', 'Field id, e.g. summary or customfield_10016; the key in issues.custom_fields.').key(),
  name: text('name', "Name, in the language of the sync's account; names may repeat."),
  untranslated_name: english,
  role: ofStream(core.text(`What it means here: ${fieldRoles.join(', ')}; null: nothing.`).nullable()),
  role_place: ofStream(
    core.int('Place among the fields that are configured for the role, from 0.').nullable(),
  ),
  custom: from(core.bool('True for custom fields.'), 'custom', isCustom),
  schema_type: text('schema?.type?', 'Type of the value, e.g. string, number, option, array.'),
  items_type: text('schema?.items?', 'Type of the elements where schema_type is array.'),
  schema_custom: text('schema?.custom?', 'Type key, e.g. com.pyxis.greenhopper.jira:gh-sprint.'),
  description: text('description?', 'Description as plain text.'),
}).with({
  // How often a field is used changes without the field; what lists do with it is in one of the two lists
  // only.
  ignored:
    'key schema.customId schema.system screensCount contextsCount projectsCount lastUsed orderable navigable searchable clauseNames',
});

export const users = readable('users', 'People and apps with an account, one row each.', {
  id: from(
    core.text('Account id; where the source has none, its user key or name.').key(),
    'accountId',
    userId,
  ),
  display_name: text('displayName?', 'Name as shown.'),
  email: text('emailAddress?', 'E-mail address, where the person shows it.'),
  active: bool('active?', 'False for deactivated accounts.'),
  time_zone: text('timeZone?', "The person's IANA time zone, e.g. Europe/Berlin, where shown."),
  locale: text('locale?', "The person's language, e.g. en_US, where shown."),
  account_type: text('accountType?', 'atlassian, app, customer or unknown.'),
}).with({ ignored: 'groups' });

/** What other records say of a person. */
export const mentionedUsers = core.table(
  'tracker.mentioned_users',
  'People as other records name them, one row each, also those that no list of users shows.',
  {
    id: core.text('Account id; where the source has none, its user key or name.').key(),
    display_name: core.text('Name as shown; of a deleted account "Former user".').nullable(),
    active: core.bool('False for deactivated accounts.').nullable(),
    time_zone: core.text("The person's IANA time zone, e.g. Europe/Berlin, where shown.").nullable(),
    account_type: core.text('atlassian, app, customer or unknown.').nullable(),
  },
  { relation: true },
);

const groupId = (r: Reading, record: JsonObject): string =>
  requiredKey(r, record, (own(record, 'groupId') ?? null) === null ? 'name' : 'groupId');

export const groups = readable('groups', 'User groups, one row each.', {
  id: from(core.text('Group id; where the source has none, its name.').key(), 'groupId', groupId),
  name: text('name', 'Name as people see it.'),
}).with({ ignored: 'html labels' });

export const groupMembers = readable('group_members', 'Members of groups, one row per group and user.', {
  group_id: core.text('The group, see tracker.groups.id.').key(),
  user_id: from(core.text('The member, see tracker.users.id.').key(), 'accountId', userId),
}).with({ relation: true, ignored: '*' });

export const boards = readable('boards', 'Scrum and Kanban boards, one row each.', {
  id: id('id', 'Board id of the source.').key(),
  name: text('name', 'Name as people see it.'),
  type: text('type?', 'scrum, kanban or simple.'),
  project_id: id('location?.projectId?', 'The project it is in, see tracker.projects.id; null if none.'),
}).with({
  // About the caller, and names of the project.
  ignored: [
    'canEdit favourite location.projectKey location.projectName location.projectTypeKey location.name',
    'location.displayName location.avatarURI',
  ].join(' '),
});

/** As the boards list them; sprints that no board lists, as the issues that name them were read last. */
export const sprints = readable('sprints', 'Sprints of boards and of issues, one row each.', {
  id: id('id', 'Sprint id of the source.').key(),
  name: text('name', 'Name as people see it.'),
  state: word('state', 'future, active or closed.'),
  board_id: id('originBoardId?|boardId?', 'The board it was created on, see tracker.boards.id.'),
  goal: text('goal?', 'Sprint goal.'),
  created_at: instant('createdDate?', 'When it was created (UTC), where the source says.'),
  start_at: instant('startDate?', 'When it starts or started (UTC); null while it is not planned.'),
  end_at: instant('endDate?', 'When it is planned to end (UTC).'),
  completed_at: instant('completeDate?', 'When it was closed (UTC); null while it is open.'),
});

/** Which board shows a sprint: not always the one that it was created on. */
export const boardSprints = readable('board_sprints', 'Boards that show a sprint, one row per pair.', {
  board_id: core.bigint('The board, see tracker.boards.id.').key(),
  sprint_id: id('id', 'The sprint, see tracker.sprints.id.').key(),
}).with({ relation: true, ignored: '*', indexes: ['(source_id, sprint_id)'] });

export const sprintIssues = readable('sprint_issues', 'Issues that a sprint lists now, one row per pair.', {
  sprint_id: core.bigint('The sprint, see tracker.sprints.id.').key(),
  issue_id: id('id', 'The issue, see tracker.issues.id.').key(),
}).with({ relation: true, ignored: '*', indexes: ['(source_id, issue_id)'] });

const projectOfScope = id(
  'scope?.project?.id?',
  'Its project, see tracker.projects.id; null: of all projects.',
);

const statusMeans = core
  .text('What the status means: todo, in_progress, done, or unknown where the source does not say.')
  .oneOf(...statusCategories);

export const statuses = readable('statuses', 'Workflow statuses, one row each.', {
  id: id('id', 'Status id of the source; names may repeat.').key(),
  name: text('name', "Name, in the language of the sync's account."),
  untranslated_name: english,
  description: text('description?', 'Description as plain text.'),
  category: from(statusMeans, 'statusCategory.*', (r, record) => statusCategory(r, record, 'statusCategory')),
  project_id: projectOfScope,
}).with({ ignored: 'usages workflowUsages scope.project.*' });

export const issueTypes = readable('issue_types', 'Issue types, one row each.', {
  id: id('id', 'Issue type id of the source; names may repeat.').key(),
  name: text('name', "Name, in the language of the sync's account."),
  untranslated_name: english,
  description: text('description?', 'Description as plain text.'),
  subtask: flag('subtask', 'True for types of sub-tasks.'),
  hierarchy_level: int4('hierarchyLevel?', '-1 sub-task, 0 ordinary, 1 epic, higher above; null: not said.'),
  project_id: projectOfScope,
}).with({ ignored: 'avatarId entityId scope.project.*' });

/** The stream gives each its `rank`, of its place in the lists of the vendor. */
export const priorities = readable('priorities', 'Issue priorities, one row each.', {
  id: id('id', 'Priority id of the source.').key(),
  name: text('name', "Name, in the language of the sync's account."),
  description: text('description?', 'Description as plain text.'),
  rank: int4('rank?', 'Place in the order of the source, where it says; smaller is more urgent.'),
}).with({ ignored: 'avatarId schemes sequence' });
