import { isObject, type JsonObject, names, own } from '../../../core/record-object.ts';
import { Reading } from '../../../core/record-reader.ts';
import {
  bool,
  day,
  decimal,
  id,
  instant,
  integer,
  object,
  requiredId,
  requiredInstant,
  requiredKey,
  requiredObject,
  requireRecord,
  text,
} from '../../../core/record-values.ts';
import type { Json } from '../../../core/request.ts';
import type { Flow } from '../../../core/stream.ts';
import type { Integer } from '../../../core/table.ts';
import type { Instant } from '../../../core/time.ts';
import type { IssueRow, IssueSprintRow } from '../tables.ts';
import { customValue } from './custom-fields.ts';
import { type DetailWalks, detailsOf } from './detail-lists.ts';
import type { Catalogue } from './field-catalogue.ts';
import { personId } from './people.ts';
import {
  componentRows,
  labelRows,
  labels,
  linkRows,
  looksLikeSprints,
  namesOf,
  sprintOf,
  sprintRows,
  type Told,
  versionRows,
} from './relations.ts';
import { richText } from './rich-text.ts';
import { statusCategory } from './status-category.ts';
import { isSystemField } from './system-fields.ts';

/** Parts of a record beside its fields that other parts already say, or that depend on how it was asked for. */
const RECORD_KEYS = names(
  'id key self expand fields changelog names schema renderedFields transitions operations',
  'editmeta versionedRepresentations fieldsToInclude',
);

/**
 * The transform of issues: one row of `tracker.issues` and its children by the names of `issueChildren`.
 *
 * Labels, components, versions, links and sprints are always given (a field that is not there is empty), in part where some of the list cannot be
 * read. Changelog, comments and worklogs are given when they came complete. Otherwise a `Tail` fetches them, also where they did not come: the
 * search may leave out the list of a single issue. The tails `changelog` and `keys` share one walk, which is walked once for both.
 *
 * Throws `BadData` where id, key, project, status, created or updated is missing or unreadable, and for values that cannot be stored
 * exactly. Any other surprise becomes null, with the raw value and the reason in `_extra`, and a note.
 */
export const issueMapper =
  (catalogue: Catalogue, walksOf: (issueId: string) => DetailWalks): Flow['via'] =>
  (record) => {
    const r = new Reading('tracker.issues', 'issue', record, 'fields.');
    const issue = requireRecord(r, record);
    const issueId = requiredId(r, issue, 'id');
    const key = requiredKey(r, issue, 'key');
    const fields = requiredObject(r, issue, 'fields');

    const custom = customFields(r, fields, catalogue);
    const lists = listsOf(r, fields, issueId, catalogue, custom.sprints);
    const owner = { r, id: issueId, key, walks: () => walksOf(String(issueId)) };
    const details = detailsOf(owner, issue, fields, catalogue);
    const { children, partial } = childrenOf(issueId, lists);
    r.keepUnknown(issue, RECORD_KEYS, 'record.');

    const row = rowOf(r, issueId, key, fields, lists, custom.json, catalogue);
    const notes = r.notes();
    return {
      row,
      children: { ...children, ...details.children },
      ...(partial.length > 0 && { partial }),
      ...(details.tails.length > 0 && { tails: details.tails }),
      ...(notes.length > 0 && { notes }),
    };
  };

/** The lists in an issue's own fields. */
const listsOf = (
  r: Reading,
  fields: JsonObject,
  issueId: Integer,
  catalogue: Catalogue,
  alike: readonly string[] | undefined,
) => ({
  labels: labels(r, fields),
  components: componentRows(r, issueId, fields),
  fixed: versionRows(r, issueId, fields, 'fixVersions'),
  affected: versionRows(r, issueId, fields, 'versions'),
  links: linkRows(r, issueId, fields),
  sprints: sprintsOf(r, fields, issueId, catalogue, alike),
});

type Lists = ReturnType<typeof listsOf>;

/** The rows of these lists, and the names of those that could be read only in part. */
const childrenOf = (issueId: Integer, { labels: tags, fixed, affected, ...lists }: Lists) => {
  const versions = { rows: [...fixed.rows, ...affected.rows], whole: fixed.whole && affected.whole };
  const found = { labels: tags, versions, ...lists };
  const partial = Object.entries(found).flatMap(([name, { whole }]) => (whole ? [] : [name]));
  const children = {
    labels: labelRows(issueId, tags.rows),
    components: lists.components.rows,
    versions: versions.rows,
    links: lists.links.rows,
    sprints: lists.sprints.rows,
  };
  return { children, partial };
};

const rowOf = (
  r: Reading,
  issueId: Integer,
  key: string,
  fields: JsonObject,
  lists: Lists,
  customJson: string,
  catalogue: Catalogue,
): IssueRow => {
  const parent = object(r, fields, 'parent', 'fields.parent');
  const epic = epicOf(r, fields, parent, catalogue);
  const description = richText(r, fields, 'description', 'fields.description');
  const environment = richText(r, fields, 'environment', 'fields.environment');
  const resolution = within(r, fields, 'resolution', RESOLUTION_KEYS);
  const security = within(r, fields, 'security', SECURITY_KEYS);
  const project = requiredObject(r, fields, 'project', 'fields.project');
  const status = requiredObject(r, fields, 'status', 'fields.status');
  const type = object(r, fields, 'issuetype', 'fields.issuetype');
  const priority = object(r, fields, 'priority', 'fields.priority');
  const timetracking = within(r, fields, 'timetracking', TIME_KEYS) ?? {};
  const at = (field: string): Instant | null => instant(r, fields, field, `fields.${field}`);
  const seconds = (field: string, tracked: string): Integer | null =>
    integer(r, fields, field, `fields.${field}`) ??
    integer(r, timetracking, tracked, `fields.timetracking.${tracked}`);
  const votes = within(r, fields, 'votes', VOTE_KEYS);
  const watches = within(r, fields, 'watches', WATCH_KEYS);
  const parentId = parent && id(r, parent, 'id', 'fields.parent.id');
  if (parentId === null && parent !== null) r.keep('parent', parent);
  return {
    id: issueId,
    key,
    project_id: requiredId(r, project, 'id', 'fields.project.id'),
    issue_type_id: type && id(r, type, 'id', 'fields.issuetype.id'),
    status_id: requiredId(r, status, 'id', 'fields.status.id'),
    priority_id: priority && id(r, priority, 'id', 'fields.priority.id'),
    resolution_id: resolution && id(r, resolution, 'id', 'fields.resolution.id'),
    resolution: resolution && text(r, resolution, 'name', 'fields.resolution.name'),
    parent_id: parentId,
    epic_id: epic.id,
    epic_key: epic.key,
    assignee_id: personId(r, fields, 'assignee', 'fields.assignee'),
    reporter_id: personId(r, fields, 'reporter', 'fields.reporter'),
    creator_id: personId(r, fields, 'creator', 'fields.creator'),
    summary: text(r, fields, 'summary', 'fields.summary'),
    description: description.text,
    description_adf: description.adf,
    environment: environment.text,
    environment_adf: environment.adf,
    labels: lists.labels.rows,
    components: namesOf(lists.components.rows),
    fix_versions: namesOf(lists.fixed.rows),
    affects_versions: namesOf(lists.affected.rows),
    security_level: security && text(r, security, 'name', 'fields.security.name'),
    security_level_id: security && id(r, security, 'id', 'fields.security.id'),
    due_date: day(r, fields, 'duedate', 'fields.duedate'),
    created_at: requiredInstant(r, fields, 'created', 'fields.created'),
    updated_at: requiredInstant(r, fields, 'updated', 'fields.updated'),
    resolved_at: at('resolutiondate'),
    status_category_changed_at: at('statuscategorychangedate'),
    story_points: firstSet(decimal, r, fields, catalogue.storyPoints),
    original_estimate_seconds: seconds('timeoriginalestimate', 'originalEstimateSeconds'),
    remaining_estimate_seconds: seconds('timeestimate', 'remainingEstimateSeconds'),
    time_spent_seconds: seconds('timespent', 'timeSpentSeconds'),
    votes: votes && integer(r, votes, 'votes', 'fields.votes.votes'),
    watchers: watches && integer(r, watches, 'watchCount', 'fields.watches.watchCount'),
    custom_fields: customJson,
    status: text(r, status, 'name', 'fields.status.name'),
    status_category: statusCategory(r, status, 'fields.status.statusCategory'),
    issue_type: type && text(r, type, 'name', 'fields.issuetype.name'),
    is_subtask: type && bool(r, type, 'subtask', 'fields.issuetype.subtask'),
    priority: priority && text(r, priority, 'name', 'fields.priority.name'),
    // Last: everything before it may keep something.
    _extra: r.extra(),
  };
};

/** What a resolution means in general would be repeated on every issue that is done. */
const RESOLUTION_KEYS = names('id name self description');
const SECURITY_KEYS = names('id name self');
/** Whether the caller is among them is nothing of the issue's. */
const VOTE_KEYS = names('votes self hasVoted');
const WATCH_KEYS = names('watchCount self isWatching');
/** The texts say the seconds in words. */
const TIME_KEYS = names(
  'originalEstimate remainingEstimate timeSpent originalEstimateSeconds',
  'remainingEstimateSeconds timeSpentSeconds',
);

/** An object among the fields; what it has besides `known` is kept as `key.…`. */
const within = (
  r: Reading,
  fields: JsonObject,
  key: string,
  known: ReadonlySet<string>,
): JsonObject | null => {
  const found = object(r, fields, key, `fields.${key}`);
  if (found !== null) r.keepUnknown(found, known, `${key}.`);
  return found;
};

/** Custom fields that are set as JSON text, and those of them that look like sprints. Keeps unknown system fields in `_extra`. */
const customFields = (r: Reading, fields: JsonObject, catalogue: Catalogue) => {
  const keys: string[] = [];
  const values: Json[] = [];
  const knowsSprints = catalogue.sprintFields.length > 0;
  let sprints: string[] | undefined;
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (value === null || value === undefined) continue;
    if (key.startsWith('customfield_') || catalogue.fieldsById.get(key)?.custom === true) {
      keys.push(key);
      values.push(customValue(value));
      if (!knowsSprints && looksLikeSprints(value)) {
        sprints ??= [];
        sprints.push(key);
      }
    } else if (!isSystemField(key)) r.keep(key, value);
  }
  return { json: r.jsonMembers('fields.', keys, values), sprints };
};

/** Sprints of the issue's sprint fields, and of `sprint` and `closedSprints`, which the agile API adds. Each once. */
const sprintsOf = (
  r: Reading,
  fields: JsonObject,
  issueId: Integer,
  { sprintFields }: Catalogue,
  alike: readonly string[] | undefined,
): Told<IssueSprintRow> => {
  const found: IssueSprintRow[] = [];
  let whole = true;
  for (const key of [...(alike ?? sprintFields), ...AGILE_FIELDS]) {
    const value = own(fields, key);
    if (value === undefined || value === null) continue;
    if (Array.isArray(value) || isObject(sprintOf(value))) {
      const told = sprintRows(r, issueId, Array.isArray(value) ? value : [value], `fields.${key}`);
      found.push(...told.rows);
      whole &&= told.whole;
    } else {
      r.flip(`fields.${key}`, value, 'a list of sprints');
      whole = false;
    }
  }
  const rows = found.length < 2 ? found : [...new Map(found.map((row) => [row.sprint_id, row])).values()];
  return { rows, whole };
};

const AGILE_FIELDS: readonly string[] = ['closedSprints', 'sprint'];

/** The value of the first of these fields that is set, as `read` reads it. */
const firstSet = (
  read: typeof text,
  r: Reading,
  fields: JsonObject,
  keys: readonly string[],
): string | null => {
  for (const key of keys) {
    const value = read(r, fields, key, `fields.${key}`);
    if (value !== null) return value;
  }
  return null;
};

/** The epic: stated by the agile API with its id, by the epic link with its key, or the parent where that is of an epic's level. */
const epicOf = (r: Reading, fields: JsonObject, parent: JsonObject | null, { epicLinks }: Catalogue) => {
  const stated = object(r, fields, 'epic', 'fields.epic');
  const link = firstSet(text, r, fields, epicLinks);
  const epic = stated ?? (parent !== null && isEpic(r, parent) ? parent : null);
  const path = epic === stated ? 'fields.epic' : 'fields.parent';
  return {
    id: epic && id(r, epic, 'id', `${path}.id`),
    key: (epic && text(r, epic, 'key', `${path}.key`)) ?? link,
  };
};

/** Level 1 of the vendor's hierarchy is the epic, whatever it is called in the site's language. */
const isEpic = (r: Reading, parent: JsonObject): boolean => {
  const fields = object(r, parent, 'fields', 'fields.parent.fields');
  const type = fields && object(r, fields, 'issuetype', 'fields.parent.fields.issuetype');
  return (
    type !== null && integer(r, type, 'hierarchyLevel', 'fields.parent.fields.issuetype.hierarchyLevel') === 1
  );
};
