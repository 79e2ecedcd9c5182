/**
 * Changelog, comments and worklogs of an issue: rows of the lists that came complete, and how to fetch the
 * others.
 */

import { ExactNumber } from '../../../core/json.ts';
import type { JsonObject } from '../../../core/record.ts';
import { eachPart, isObject, kindOf, names, own, Reading, unknownIn } from '../../../core/record.ts';
import { keyText, requiredId, requiredInstant, requireRecord } from '../../../core/record-values.ts';
import type { BadPart, BulkLists, Json, NestedList, TakeBadPart } from '../../../core/stream.ts';
import { type Integer, nameOf, type Row } from '../../../core/table.ts';
import { idBy } from '../../../reading/requests.ts';
import type { Readable } from '../columns.ts';
import { comments, type IssueChangeRow, worklogs } from '../issue-tables.ts';
import type { detailWalks } from '../lists.ts';
import { type Catalogue, customFieldId, isCustomId, isIssueKey } from './field-catalogue.ts';
import type { Issue } from './issue-lists.ts';
import { addAuthors, authorsIn } from './people.ts';
import { identityOf } from './values.ts';

/** The walks over the complete lists of one issue. */
export type DetailWalks = ReturnType<typeof detailWalks>;

/** How the server gives such lists of many issues at once. */
export type DetailBulk = Readonly<Partial<Record<keyof DetailWalks, BulkLists>>>;

interface DetailedIssue extends Omit<Issue, 'partial'> {
  readonly key: string;
  readonly catalogue: Catalogue;
  readonly walks: () => DetailWalks;
  readonly bulk: DetailBulk;
}

/** What was found of the lists: rows by child, and the lists that are to be fetched. */
interface IssueDetails {
  readonly children: Record<string, readonly Row[]>;
  readonly nestedLists: NestedList[];
  /** Authors of what came. */
  readonly people: Row[];
}

/** One of the lists: where it is in its holder, and how its elements become rows. */
interface DetailList<T extends Row> {
  readonly child: keyof DetailWalks;
  readonly key: string;
  readonly name: string;
  readonly path: string;
  /** What errors call the table, and an element that was fetched. */
  readonly table: string;
  readonly noun: string;
  readonly read: (owner: DetailedIssue, r: Reading, element: Json, bad?: TakeBadPart) => readonly T[];
}

const changelogList: DetailList<IssueChangeRow> = {
  child: 'changelog',
  key: 'changelog',
  name: 'histories',
  path: 'changelog',
  table: 'tracker.issue_changelog',
  noun: 'change',
  read: (owner, r, history, bad) => changesOf(r, owner.id, history, owner.catalogue, bad),
};

/** A list among the fields. */
const fieldList = (key: string, child: 'comments' | 'worklogs', table: Readable): DetailList<Row> => ({
  child,
  key,
  name: child,
  path: `fields.${key}`,
  table: nameOf(table),
  noun: key,
  read: ({ id }, r, element) => [table.rowOf(r, requireRecord(r, element), { issue_id: id })],
});

const commentList = fieldList('comment', 'comments', comments);
const worklogList = fieldList('worklog', 'worklogs', worklogs);

/** All three lists, and the keys that the changelog names. Adds their authors to `people`. */
export const detailsOf = (owner: DetailedIssue, record: JsonObject, people: Row[]): IssueDetails => {
  const details: IssueDetails = { children: {}, nestedLists: [], people };
  addChangelog(details, owner, record);
  addList(details, owner, owner.fields, commentList);
  addList(details, owner, owner.fields, worklogList);
  return details;
};

/** Adds the rows of a list that came complete, else how to fetch it. `came`: what could be read of it. */
const addList = <T extends Row>(
  details: IssueDetails,
  owner: DetailedIssue,
  holder: JsonObject,
  list: DetailList<T>,
) => {
  const { r } = owner;
  const { child, path, name } = list;
  const { records, complete, stated } = delivered(r, holder, list);
  addAuthors(details.people, records);
  // What is bad in a truncated list comes again with the list itself.
  const take = complete ? (bad: BadPart) => r.takeBad(bad) : ignore;
  const read = (element: Json, at: number) =>
    list.read(owner, r.element(`${path}.${name}`, at, true), element, take);
  const came = eachPart(child, records, read, take, () => ownerOf(owner));
  if (complete) {
    details.children[child] = came;
    return { came, take, fetching: undefined };
  }
  const fetching = fetchingOf(owner, list, stated);
  details.nestedLists.push({ ...fetching, child, shown: idsOf(records), mentions: authorsIn });
  return { came, take, fetching };
};

/** How to fetch a list, and how what was fetched becomes rows. */
const fetchingOf = <T extends Row>(owner: DetailedIssue, list: DetailList<T>, stated: number | undefined) => {
  const { child, table, noun } = list;
  const rows = (fetched: readonly Json[], bad?: TakeBadPart): readonly T[] => {
    const read = (element: Json) =>
      list.read(owner, new Reading(table, `issue ${owner.id}: ${noun}`, element), element, bad);
    return eachPart(child, eachOnce(fetched), read, bad, () => ownerOf(owner));
  };
  const bulk = owner.bulk[child];
  return { walk: owner.walks()[child], stated, rows, ...(bulk && { bulk }) };
};

const ownerOf = ({ id }: DetailedIssue): Json => ({ issue_id: String(id) });

const addChangelog = (details: IssueDetails, owner: DetailedIssue, record: JsonObject): void => {
  const { came, take, fetching } = addList(details, owner, record, changelogList);
  const keys = keysOf(owner, came, take);
  details.children.keys = keys;
  if (fetching === undefined) return;
  const seen = new Set(keys.map(({ key }) => key));
  // What of the changes is bad is told by `rows`.
  const rows = (fetched: readonly Json[], bad?: TakeBadPart) =>
    keysOf(owner, fetching.rows(fetched, ignore), bad).filter(({ key }) => !seen.has(key));
  details.nestedLists.push({ ...fetching, child: 'keys', rows });
};

/**
 * The list under `holder[key][name]` (`{startAt, maxResults, total, <name>: […]}`), each id once. `complete`
 * is false where none came, where it came without its envelope or cannot be read, and where the envelope says
 * that there are more. `stated` is its total.
 */
const delivered = (r: Reading, holder: JsonObject, { key, name, path }: DetailList<Row>) => {
  const envelope = own(holder, key) ?? null;
  const list = isObject(envelope) ? own(envelope, name) : envelope;
  if (!Array.isArray(list)) {
    if (list !== undefined && list !== null) r.flip(path, envelope, `a list of ${name}`);
    return { records: [], complete: false, stated: undefined };
  }
  const records = eachOnce(list);
  if (!isObject(envelope)) return { records, complete: false, stated: undefined };
  const { total } = envelope;
  const stated = isCount(total) ? total : undefined;
  return { records, complete: isComplete(envelope, records.length), stated };
};

/**
 * A total that is no count is not believed. Without a total, a list that fills its page or does not begin it
 * may go on.
 */
const isComplete = (envelope: JsonObject, count: number): boolean => {
  const { total, maxResults, startAt } = envelope;
  if ((total ?? null) !== null) return isCount(total) && count >= total;
  return (
    ((maxResults ?? null) === null || (isCount(maxResults) && count < maxResults)) && (startAt ?? 0) === 0
  );
};

const isCount = (value: Json): value is number => Number.isInteger(value) && Number(value) >= 0;

const idOf = idBy('id');

const idsOf = (records: readonly Json[]): readonly string[] => records.map(idOf).filter((id) => id !== '');

/** The last record of each id; a record without an id stays, for its reader to reject. */
const eachOnce = (records: readonly Json[]): readonly Json[] =>
  records.length < 2
    ? records
    : [...new Map(records.map((record) => [idOf(record) || Symbol(), record])).values()];

const historyKeys = names('id created items');
const authoredKeys: ReadonlySet<string> = new Set([...historyKeys, 'author']);
const itemKeys = names('field fieldtype fieldId from fromString to toString');

const ignore: TakeBadPart = () => undefined;

/**
 * One row a changed field. A change is history: a field that cannot be read goes to `bad`, nothing is left null.
 * Throws `BadData` where the entire change cannot be read.
 */
const changesOf = (r: Reading, issueId: Integer, record: Json, catalogue: Catalogue, bad?: TakeBadPart) => {
  const history = requireRecord(r, record);
  const historyId = requiredId(r, history, 'id');
  const changedAt = requiredInstant(r, history, 'created');
  const author = authorOf(r, history);
  // An author without an id may have a name.
  const ofHistory = unknownIn(history, author === null ? historyKeys : authoredKeys);
  const items = own(history, 'items') ?? [];
  if (!Array.isArray(items))
    throw r.reject('bad_type', 'items', `has ${kindOf(items)} as %, expected a list`);
  const given = (item: number) => ({ issue_id: String(issueId), change: { ...history, items: [] }, item });
  const read = (item: Json, index: number): readonly [IssueChangeRow] => {
    if (!isObject(item)) throw r.reject('bad_type', 'items[]', `has ${kindOf(item)} in %, expected objects`);
    const name = changedValue(r, item, 'field');
    const isCustom = own(item, 'fieldtype') === 'custom';
    const fieldId =
      changedValue(r, item, 'fieldId') ?? (isCustom && name !== null ? customFieldId(name, catalogue) : name);
    if (fieldId === null) throw r.reject('missing_field', 'items[].field', 'has no %');
    const rest = restOf(item, fieldId);
    const extra = rest === undefined ? ofHistory : { ...ofHistory, ...rest };
    const row = {
      history_id: historyId,
      item: index,
      issue_id: issueId,
      changed_at: changedAt,
      author_id: author,
      field_id: fieldId,
      field_name: name ?? fieldId,
      from_id: changedValue(r, item, 'from'),
      from_text: changedValue(r, item, 'fromString'),
      to_id: changedValue(r, item, 'to'),
      to_text: changedValue(r, item, 'toString'),
      _extra: extra === undefined ? null : r.jsonObject('', extra),
    };
    return [row];
  };
  return eachPart('changelog', items, read, bad, given);
};

/**
 * Members of an item that no column holds; not those that repeat a value (`tmpToAccountId`), nor a type that
 * the id implies.
 */
const restOf = (item: JsonObject, fieldId: string): JsonObject | undefined => {
  const { from, to, fieldtype } = item;
  const isImplied = (fieldtype ?? null) === null || fieldtype === (isCustomId(fieldId) ? 'custom' : 'jira');
  const unknown = unknownIn(item, itemKeys, (value) => value !== from && value !== to);
  return isImplied ? unknown : { fieldtype, ...unknown };
};

/** Null for anonymous changes and deleted accounts. */
const authorOf = (r: Reading, history: JsonObject): string | null => {
  const author = own(history, 'author') ?? null;
  if (author === null) return null;
  if (!isObject(author)) throw r.reject('bad_type', 'author', `has ${kindOf(author)} as %, expected a user`);
  return identityOf(author) ?? null;
};

/** A value before or after. The vendor gives text; anything else is kept as its JSON text. */
const changedValue = (r: Reading, item: JsonObject, key: string): string | null => {
  const value = own(item, key) ?? null;
  if (value === null || typeof value === 'string') return value;
  return value instanceof ExactNumber ? value.text : r.json(`items[].${key}`, value);
};

/** The key of an issue and those that its changes name, each once. A custom field may be called Key, too. */
const keysOf = ({ r, id, key }: DetailedIssue, changes: readonly IssueChangeRow[], bad?: TakeBadPart) => {
  const ofKey = changes.filter(
    ({ field_id, field_name }) => isIssueKey(field_id) || (field_name === 'Key' && !isCustomId(field_id)),
  );
  if (ofKey.length === 0) return [{ key, issue_id: id }];
  const named = ofKey.flatMap(({ from_text, to_text }) => [from_text, to_text]);
  const read = (each: Json) =>
    typeof each === 'string' && each !== '' ? [keyText(r, 'changelog', each)] : [];
  const former = eachPart('keys', named, read, bad, () => ({ issue_id: String(id) }));
  return [...new Set([key, ...former])].map((each) => ({ key: each, issue_id: id }));
};
