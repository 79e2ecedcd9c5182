/**
 * The transforms of the tracker's lists, one per stream: record to row, pure. Each throws `BadData` for a record without what its row
 * must have; anything else unexpected is kept in `_extra` with a note. Issues: `tracker-issue.ts`.
 */

import { type JsonObject, names, own } from '../../../core/record-object.ts';
import { Reading } from '../../../core/record-reader.ts';
import {
  bool,
  id,
  instant,
  int4,
  keyText,
  object,
  requiredId,
  requiredKey,
  requiredText,
  requireRecord,
  text,
} from '../../../core/record-values.ts';
import type { Flow, Slice } from '../../../core/stream.ts';
import type { Integer, Row } from '../../../core/table.ts';
import type {
  BoardRow,
  BoardSprintRow,
  FieldRow,
  GroupMemberRow,
  GroupRow,
  IssueTypeRow,
  PriorityRow,
  ProjectRow,
  SprintIssueRow,
  SprintRow,
  StatusRow,
  UserRow,
} from '../tables.ts';
import { identityOf, personId } from './people.ts';
import { richText } from './rich-text.ts';
import { statusCategory } from './status-category.ts';
import { isSystemField } from './system-fields.ts';

/** Rows of relations say that two things belong together and nothing else. */
const RELATION: ReadonlySet<string> = new Set();

/** A transform: reads one record of the stream into its row, and names the keys of the record that are read or say nothing. */
const mapper = <R extends Row>(
  stream: string,
  noun: string,
  known: ReadonlySet<string>,
  read: (r: Reading, record: JsonObject, slice: Slice) => R,
): Flow['via'] => {
  return (record, slice) => {
    const r = new Reading(stream, noun, record);
    const object = requireRecord(r, record);
    const content = read(r, object, slice);
    if (known !== RELATION) r.keepUnknown(object, known);
    // Last: everything before it may keep something.
    const row = known === RELATION ? content : { ...content, _extra: r.extra() };
    const notes = r.notes();
    return { row, children: {}, ...(notes.length > 0 && { notes }) };
  };
};

type Content<R> = Omit<R, '_extra'>;

const CATEGORY_KEYS = names('name self');

export const project = mapper(
  'tracker.projects',
  'project',
  names(
    'id key name description projectTypeKey style projectCategory lead archived url self expand',
    'avatarUrls simplified projectKeys entityId uuid properties insight',
  ),
  (r, record): Content<ProjectRow> => {
    const category = object(r, record, 'projectCategory');
    if (category !== null) r.keepUnknown(category, CATEGORY_KEYS, 'projectCategory.');
    return {
      id: requiredId(r, record, 'id'),
      key: requiredKey(r, record, 'key'),
      name: requiredText(r, record, 'name'),
      description: richText(r, record, 'description').text,
      type: text(r, record, 'projectTypeKey'),
      style: text(r, record, 'style'),
      category: category && text(r, category, 'name', 'projectCategory.name'),
      lead_user_id: personId(r, record, 'lead'),
      archived: bool(r, record, 'archived') ?? false,
      url: text(r, record, 'url'),
    };
  },
);

/** `system` and `customId` are the field's id once more. */
const SCHEMA_KEYS = names('type items custom customId system');

/** How often a field is used changes without the field; what the tracker's own lists do with it is told by one of its two lists alone. */
export const field = mapper(
  'tracker.fields',
  'field',
  names(
    'id key name custom schema description self screensCount contextsCount projectsCount lastUsed',
    'orderable navigable searchable clauseNames',
  ),
  (r, record): Content<FieldRow> => {
    const fieldId = requiredKey(r, record, 'id');
    const schema = object(r, record, 'schema') ?? {};
    r.keepUnknown(schema, SCHEMA_KEYS, 'schema.');
    const schemaCustom = text(r, schema, 'custom', 'schema.custom');
    return {
      id: fieldId,
      name: requiredText(r, record, 'name'),
      // `/field` says so; `/field/search` does not, but only custom fields have a custom type. What nothing makes one of the system's own
      // is the site's.
      custom:
        bool(r, record, 'custom') ??
        (schemaCustom !== null ||
          (text(r, schema, 'system', 'schema.system') === null && !isSystemField(fieldId))),
      schema_type: text(r, schema, 'type', 'schema.type'),
      items_type: text(r, schema, 'items', 'schema.items'),
      schema_custom: schemaCustom,
      description: text(r, record, 'description'),
    };
  },
);

/** The id of a user record; people are recorded even where the server has no account ids. */
const userId = (r: Reading, record: JsonObject): string => {
  const identity = identityOf(record);
  if (identity === undefined) throw r.reject('missing_field', 'accountId', 'has no %');
  return keyText(r, 'accountId', identity);
};

export const user = mapper(
  'tracker.users',
  'user',
  names(
    'accountId key name displayName emailAddress active timeZone locale accountType self',
    'avatarUrls expand groups',
  ),
  (r, record): Content<UserRow> => {
    const known = userId(r, record);
    // What servers that know no account ids call people by besides.
    for (const key of ['key', 'name']) {
      const other = text(r, record, key);
      if (other !== null && other !== '' && other !== known) r.keep(key, other);
    }
    return {
      id: known,
      display_name: text(r, record, 'displayName'),
      email: text(r, record, 'emailAddress'),
      active: bool(r, record, 'active'),
      time_zone: text(r, record, 'timeZone'),
      locale: text(r, record, 'locale'),
      account_type: text(r, record, 'accountType'),
    };
  },
);

export const group = mapper(
  'tracker.groups',
  'group',
  names('groupId name self expand html labels'),
  (r, record): Content<GroupRow> => {
    const name = requiredText(r, record, 'name');
    const groupId = own(record, 'groupId') ?? undefined;
    return { id: groupId === undefined ? keyText(r, 'name', name) : requiredKey(r, record, 'groupId'), name };
  },
);

/** The owner of a slice's records. A slice without it is a fault of ours, told as such. */
const owner = (slice: Slice, key: string): string => {
  const value = slice.partition?.[key];
  if (value === undefined) throw new TypeError(`the slice has no partition key ${key}`);
  return value;
};

/** A numeric owner, strictly read like every id. */
const ownerId = (r: Reading, slice: Slice, key: string): Integer =>
  requiredId(r, { [key]: owner(slice, key) }, key);

/** Partition `group_id`. */
export const groupMember = mapper(
  'tracker.group_members',
  'user',
  RELATION,
  (r, record, slice): GroupMemberRow => ({ group_id: owner(slice, 'group_id'), user_id: userId(r, record) }),
);

/** Of a project: what it is called, in several ways. */
const LOCATION_KEYS = names('projectId projectKey projectName projectTypeKey name displayName avatarURI');

/** `canEdit` and `favourite` are about the caller. */
export const board = mapper(
  'tracker.boards',
  'board',
  names('id name type location self canEdit favourite'),
  (r, record): Content<BoardRow> => {
    const location = object(r, record, 'location');
    const project = location && id(r, location, 'projectId', 'location.projectId');
    // A board of a person says there whose it is (the vendor's OpenAPI, `BoardLocationBean`).
    if (location !== null && project === null) r.keep('location', location);
    else if (location !== null) r.keepUnknown(location, LOCATION_KEYS, 'location.');
    return {
      id: requiredId(r, record, 'id'),
      name: requiredText(r, record, 'name'),
      type: text(r, record, 'type'),
      project_id: project,
    };
  },
);

/** Listed by board. That the sprint shows on that one is `boardSprint`'s to say: it may have been created on another. */
export const sprint = mapper(
  'tracker.sprints',
  'sprint',
  names('id name state originBoardId goal createdDate startDate endDate completeDate self boardId'),
  (r, record): Content<SprintRow> => ({
    id: requiredId(r, record, 'id'),
    name: requiredText(r, record, 'name'),
    state: requiredText(r, record, 'state').toLowerCase(),
    board_id: id(r, record, 'originBoardId') ?? id(r, record, 'boardId'),
    goal: text(r, record, 'goal'),
    created_at: instant(r, record, 'createdDate'),
    start_at: instant(r, record, 'startDate'),
    end_at: instant(r, record, 'endDate'),
    completed_at: instant(r, record, 'completeDate'),
  }),
);

/** Partition `board_id`: the same list as `sprint`, as the relation alone, for a walk that replaces a board's sprints. */
export const boardSprint = mapper(
  'tracker.board_sprints',
  'sprint',
  RELATION,
  (r, record, slice): BoardSprintRow => ({
    board_id: ownerId(r, slice, 'board_id'),
    sprint_id: requiredId(r, record, 'id'),
  }),
);

/** Partition `sprint_id`; the records are issues. */
export const sprintIssue = mapper(
  'tracker.sprint_issues',
  'issue',
  RELATION,
  (r, record, slice): SprintIssueRow => ({
    sprint_id: ownerId(r, slice, 'sprint_id'),
    issue_id: requiredId(r, record, 'id'),
  }),
);

const SCOPE_KEYS = names('type project');

/** The project in a record's `scope`, for what belongs to one project only. Another scope than that or all of the site is kept. */
const scopedTo = (r: Reading, record: JsonObject): Integer | null => {
  const scope = object(r, record, 'scope');
  if (scope === null) return null;
  const scoped = object(r, scope, 'project', 'scope.project');
  const type = text(r, scope, 'type', 'scope.type');
  if (type !== null && type !== (scoped === null ? 'GLOBAL' : 'PROJECT')) r.keep('scope.type', type);
  r.keepUnknown(scope, SCOPE_KEYS, 'scope.');
  return scoped && id(r, scoped, 'id', 'scope.project.id');
};

export const status = mapper(
  'tracker.statuses',
  'status',
  names('id name description statusCategory scope self iconUrl usages workflowUsages'),
  (r, record): Content<StatusRow> => ({
    id: requiredId(r, record, 'id'),
    name: requiredText(r, record, 'name'),
    description: text(r, record, 'description'),
    category: statusCategory(r, record, 'statusCategory'),
    project_id: scopedTo(r, record),
  }),
);

export const issueType = mapper(
  'tracker.issue_types',
  'issue type',
  names('id name description subtask hierarchyLevel scope self iconUrl avatarId entityId'),
  (r, record): Content<IssueTypeRow> => ({
    id: requiredId(r, record, 'id'),
    name: requiredText(r, record, 'name'),
    description: text(r, record, 'description'),
    subtask: bool(r, record, 'subtask') ?? false,
    hierarchy_level: int4(r, record, 'hierarchyLevel'),
    project_id: scopedTo(r, record),
  }),
);

/** The vendor states the order only by the list's own order; a stream that knows the place gives it as `rank`. */
export const priority = mapper(
  'tracker.priorities',
  'priority',
  names('id name description rank self iconUrl statusColor avatarId schemes'),
  (r, record): Content<PriorityRow> => ({
    id: requiredId(r, record, 'id'),
    name: requiredText(r, record, 'name'),
    description: text(r, record, 'description'),
    rank: int4(r, record, 'rank'),
  }),
);
