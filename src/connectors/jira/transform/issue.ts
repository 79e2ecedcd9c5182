/** The transform of issues: one row of `tracker.issues` and the rows of its children. */

import { isObject, type JsonObject, names, own, Reading, wordOf } from '../../../core/record.ts';
import * as values from '../../../core/record-values.ts';
import type { Json, Transform } from '../../../core/stream.ts';
import type { Row } from '../../../core/table.ts';
import { issues } from '../issue-tables.ts';
import { type Catalogue, idsOf, isSystemField } from './field-catalogue.ts';
import { type DetailBulk, type DetailWalks, detailsOf } from './issue-details.ts';
import * as lists from './issue-lists.ts';
import { addPeople } from './people.ts';

/**
 * Members of a record beside its fields that other members repeat, or that depend on how it was asked for.
 */
const recordKeys = names(
  'id key self expand fields changelog names schema renderedFields transitions operations',
  'editmeta versionedRepresentations fieldsToInclude',
);

/**
 * Labels, components, versions, links and sprints are always given (a field that is missing is empty);
 * `partial` names those that can be read in part only. Changelog, comments and worklogs are given where they
 * came complete. Otherwise a `NestedList` fetches them, also where none came: the search may leave out the
 * list of a single issue. The nested lists `changelog` and `keys` share one walk.
 *
 * Throws `BadData` where id, key, project, status, created or updated is missing or unreadable, and for
 * values that cannot be stored exactly. Any other surprise becomes null, with the raw value and the reason in
 * `_extra`, and a note.
 */
export const issueMapper =
  (catalogue: Catalogue, walksOf: (issueId: string) => DetailWalks, bulk: DetailBulk = {}): Transform =>
  (record) => {
    const r = new Reading('tracker.issues', 'issue', record, 'fields.');
    const whole = values.requireRecord(r, record);
    const id = values.requiredId(r, whole, 'id');
    const fields = values.requiredObject(r, whole, 'fields');
    const issue = { r, id, fields, partial: [] };
    const key = values.requiredKey(r, whole, 'key');

    const people: Row[] = [];
    const custom = customFields(r, fields, catalogue, people);
    const epic = epicOf(issue, idsOf(catalogue, 'epic_link'));
    const flagged = idsOf(catalogue, 'flagged');
    const labels = lists.labelsOf(issue);
    const components = lists.componentsOf(issue);
    const fixed = lists.versionsOf(issue, 'fixVersions');
    const affected = lists.versionsOf(issue, 'versions');
    const links = lists.linksOf(issue);
    const sprints = lists.sprintsOf(issue, custom.sprintFields);
    const walks = () => walksOf(String(id));
    const details = detailsOf({ r, id, fields, key, catalogue, walks, bulk }, whole, people);
    r.keepUnknown(whole, recordKeys, 'record.');

    const row = issues.rowOf(r, fields, {
      epic_id: epic.id,
      epic_key: epic.key,
      id,
      key,
      labels,
      components: lists.namesOf(components),
      fix_versions: lists.namesOf(fixed),
      affects_versions: lists.namesOf(affected),
      story_points: firstSet(values.decimal, issue, idsOf(catalogue, 'story_points')),
      start_date: firstSet(values.day, issue, idsOf(catalogue, 'start_date')),
      is_flagged: flagged.length === 0 ? null : flagged.some((field) => isFilled(fields[field])),
      team: firstSet(teamName, issue, idsOf(catalogue, 'team')),
      custom_fields: custom.json,
    });
    const { children, nestedLists } = details;
    children.labels = [...new Set(labels)].map((label) => ({ issue_id: id, label }));
    children.components = components;
    children.versions = [...fixed, ...affected];
    children.links = links;
    children.sprints = sprints;
    return {
      row,
      children,
      ...(issue.partial.length > 0 && { partial: issue.partial }),
      ...(nestedLists.length > 0 && { nestedLists }),
      ...r.remarks(),
      mentions: people,
    };
  };

/**
 * The custom fields that are set, as JSON text, the ids of the sprint fields, and adds the people in all fields. Keeps unknown system
 * fields in `_extra`.
 */
const customFields = (r: Reading, fields: JsonObject, catalogue: Catalogue, people: Row[]) => {
  const keys: string[] = [];
  for (const key of Object.keys(fields)) {
    const value = fields[key] ?? null;
    if (value === null) continue;
    addPeople(people, value);
    if (key.startsWith('customfield_') || catalogue.fieldsById.get(key)?.custom === true) keys.push(key);
    else if (!isSystemField(key)) r.keep(key, value);
  }
  const values: readonly Json[] = keys.map((key) => customValue(fields[key]));
  const sprintFields = idsOf(catalogue, 'sprint');
  return {
    json: r.jsonMembers('fields.', keys, values),
    sprintFields:
      sprintFields.length > 0 ? sprintFields : keys.filter((key) => lists.looksLikeSprints(fields[key])),
  };
};

/**
 * The value of a custom field as people filter by it: an option by its label, a user by the account id,
 * several as a list, a cascading choice as `[parent, child]`. Recognised by its shape, so that it does not
 * depend on the catalogue. Anything else stays as it is.
 */
const customValue = (value: Json): Json =>
  Array.isArray(value) ? (value.some(isObject) ? value.map(single) : value) : single(value);

const single = (value: Json): Json => {
  if (!isObject(value)) return value;
  const accountId = own(value, 'accountId');
  if (typeof accountId === 'string' && accountId !== '') return accountId;
  if (!isOption(value)) return value;
  const child = own(value, 'child');
  return isObject(child) ? [own(value, 'value'), own(child, 'value') ?? null] : own(value, 'value');
};

const optionKeys = names('self value id child disabled optionId');

/**
 * `{self, value, id, child?, disabled?}` and nothing else: another object with a `value` must not be
 * shortened.
 */
const isOption = (value: JsonObject): boolean => {
  const child = own(value, 'child');
  return (
    typeof own(value, 'value') === 'string' &&
    (!isObject(child) || isOption(child)) &&
    Object.keys(value).every((key) => optionKeys.has(key))
  );
};

/** The value of the first of these fields that is set. */
const firstSet = (read: typeof values.text, { r, fields }: lists.Issue, keys: readonly string[]) => {
  for (const key of keys) {
    const value = read(r, fields, key, `fields.${key}`);
    if (value !== null) return value;
  }
  return null;
};

/** Whether a list of chosen options has one. */
const isFilled = (value: Json): boolean => Array.isArray(value) && value.length > 0;

/** The name of a team, `{id, name, title}`; a server of one's own gives its id alone. */
const teamName = (r: Reading, fields: JsonObject, key: string, path?: string): string | null => {
  const value = own(fields, key);
  if (!isObject(value)) return typeof value === 'number' ? String(value) : values.text(r, fields, key, path);
  return (
    values.text(r, value, 'name', `${path}.name`) ??
    values.text(r, value, 'title', `${path}.title`) ??
    wordOf(own(value, 'id'))
  );
};

/**
 * The epic: `epic` of the agile API, else the parent where that is an epic, else the key in the epic link.
 */
const epicOf = (issue: lists.Issue, epicLinks: readonly string[]) => {
  const { r, fields } = issue;
  const stated = values.object(r, fields, 'epic', 'fields.epic');
  const parent = values.object(r, fields, 'parent', 'fields.parent');
  const epic = stated ?? (parent !== null && isEpic(r, parent) ? parent : null);
  const path = epic === stated ? 'fields.epic' : 'fields.parent';
  return {
    id: epic && values.id(r, epic, 'id', `${path}.id`),
    key: (epic && values.text(r, epic, 'key', `${path}.key`)) ?? firstSet(epicKey, issue, epicLinks),
  };
};

/** More characters than any key of an issue has: one of a project has at most 255, and a number follows. */
const longestEpicKey = 300;

/** An epic link that was configured by mistake may hold any text: what is too long for a key would not fit into an index. */
const epicKey: typeof values.text = (r, fields, key, path) => {
  const text = values.text(r, fields, key, path);
  if (text === null || text.length <= longestEpicKey) return text;
  r.note(`${path}: a text too long for the key of an epic; it is in custom_fields only`);
  return null;
};

/** Level 1 of the vendor's hierarchy is the epic, whatever it is called in the site's language. */
const isEpic = (r: Reading, parent: JsonObject): boolean => {
  const fields = values.object(r, parent, 'fields', 'fields.parent.fields');
  const type = fields && values.object(r, fields, 'issuetype', 'fields.parent.fields.issuetype');
  const path = 'fields.parent.fields.issuetype.hierarchyLevel';
  return isObject(type) && values.integer(r, type, 'hierarchyLevel', path) === 1;
};
