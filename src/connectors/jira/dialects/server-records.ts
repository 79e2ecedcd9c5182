/** Records of Jira Data Center in the cloud's shape: sprints as objects, changes with ids, people with an account id. */

import { isObject, type JsonObject, own } from '../../../core/record.ts';
import type { Json } from '../../../core/stream.ts';
import { identityOf } from '../transform/values.ts';

/** An issue. Whatever is not as expected stays as it came. */
export const issueOf = (record: Json): Json => {
  if (!isObject(record)) return record;
  const fields = own(record, 'fields');
  const changelog = own(record, 'changelog');
  return {
    ...record,
    ...(isObject(fields) && { fields: fieldsOf(fields) }),
    ...(isObject(changelog) && {
      changelog: { ...changelog, histories: historiesOf(own(changelog, 'histories')) },
    }),
  };
};

const fieldsOf = (fields: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      key.startsWith('customfield_') ? customOf(value) : value,
    ]),
  );

const customOf = (value: Json): Json => (Array.isArray(value) ? value.map(elementOf) : elementOf(value));

const elementOf = (value: Json): Json => {
  if (typeof value === 'string') return sprintOf(value) ?? value;
  const isPerson = isObject(value) && typeof own(value, 'displayName') === 'string';
  return isPerson && own(value, 'accountId') === undefined
    ? { ...value, accountId: identityOf(value) }
    : value;
};

/** Java's `toString` of a sprint: `…Sprint@1b2c[id=5,rapidViewId=3,state=ACTIVE,name=Sprint 5,…,goal=<null>]`. */
const sprintText = /^com\.atlassian\.greenhopper\.service\.sprint\.Sprint@[^[]*\[(.*)\]$/s;

/**
 * Where a member begins. Names and goals are free text, with commas and brackets in it: only a comma before a
 * known member, with a value of its kind, divides. Version 6 has `id` last, versions since 9.13 have their
 * members by the alphabet, the goal before the id (ICTU/quality-time#12884, pycontribs/jira#820).
 */
const divider = new RegExp(
  `,(?=(?:${[
    '(?:id|rapidViewId|sequence)=(?:\\d+|<null>)',
    'state=(?:ACTIVE|CLOSED|FUTURE)',
    '(?:start|end|complete|activated)Date=(?:\\d{4}-[\\dT:.+Z-]+|<null>)',
    '(?:autoStartStop|synced|incompleteIssuesDestinationId)=(?:\\w+|<null>)',
  ].join('|')})(?:,|$)|(?:name|goal)=)`,
);

/** A sprint as an object of the cloud; undefined for any other text. */
export const sprintOf = (text: string): JsonObject | undefined => {
  const [, inside] = sprintText.exec(text) ?? [];
  if (inside === undefined) return undefined;
  const members = membersOf(inside);
  const id = members.get('id');
  if (id === undefined) return undefined;
  const value = (key: string): string | null => members.get(key) ?? null;
  return {
    id,
    name: value('name'),
    state: value('state')?.toLowerCase() ?? null,
    boardId: value('rapidViewId'),
    goal: value('goal'),
    startDate: value('startDate'),
    endDate: value('endDate'),
    completeDate: value('completeDate'),
  };
};

const isText = (key: string): boolean => key === 'name' || key === 'goal';

/**
 * The members with a value. Names and goals may hold what looks like a member: of two with one key, the one
 * that comes right after such a text belongs to it, the first one if both do.
 */
const membersOf = (inside: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  const textBefore = new Map<string, string>();
  let last = '';
  for (const part of inside.split(divider)) {
    const [, key = '', value = ''] = /^(\w+)=(.*)$/s.exec(part) ?? [];
    const earlier = found.get(key);
    const holder = textBefore.get(key);
    if (earlier !== undefined && (isText(last) || holder === undefined)) {
      found.set(last, `${found.get(last)},${part}`);
      continue;
    }
    if (earlier !== undefined && holder !== undefined)
      found.set(holder, `${found.get(holder)},${key}=${earlier}`);
    found.set(key, value);
    if (isText(last)) textBefore.set(key, last);
    last = key;
  }
  return new Map([...found].filter(([, value]) => value !== '<null>'));
};

/** The histories of an issue. Anything but a list stays as it is, for its reader to refuse. */
export const historiesOf = (histories: Json): Json =>
  Array.isArray(histories) ? histories.map(historyOf) : histories;

const historyOf = (history: Json): Json => {
  const items = isObject(history) ? own(history, 'items') : undefined;
  return isObject(history) && Array.isArray(items) ? { ...history, items: items.map(itemOf) } : history;
};

/**
 * The server names a changed field and not its id. The names of its own fields are the same in all languages;
 * those of custom fields are looked up by their reader.
 */
const itemOf = (item: Json): Json => {
  if (!isObject(item) || own(item, 'fieldId') !== undefined || own(item, 'fieldtype') === 'custom')
    return item;
  const name = own(item, 'field');
  const fieldId = typeof name === 'string' ? fieldIds.get(name) : undefined;
  return fieldId === undefined ? item : { ...item, fieldId };
};

/** The server's own fields whose name in a history is not their id. */
const fieldIds: ReadonlyMap<string, string> = new Map([
  ['Fix Version', 'fixVersions'],
  ['Version', 'versions'],
  ['Component', 'components'],
  ['Attachment', 'attachment'],
  ['Comment', 'comment'],
  ['Key', 'issuekey'],
]);
