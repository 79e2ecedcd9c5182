/** The lists that come with an issue or are fetched for it: changelog, comments, worklogs. */
import { ExactNumber } from '../../../core/json.ts';
import { isObject, type JsonObject, names, own, unknownIn } from '../../../core/record-object.ts';
import { kindOf, type Reading } from '../../../core/record-reader.ts';
import {
  bool,
  instant,
  keyText,
  object,
  requiredId,
  requiredInstant,
  requiredInteger,
  requireRecord,
  soundText,
  text,
} from '../../../core/record-values.ts';
import type { Json } from '../../../core/request.ts';
import type { Integer } from '../../../core/table.ts';
import type { CommentRow, IssueChangeRow, IssueKeyRow, WorklogRow } from '../tables.ts';
import { type Catalogue, customFieldId, isCustomId, isIssueKey } from './field-catalogue.ts';
import { identityOf, personId } from './people.ts';
import { richText } from './rich-text.ts';

/** A list as it came with its record. */
export interface Delivered {
  readonly records: readonly Json[];
  /** False where the server says that there are more. */
  readonly complete: boolean;
}

/**
 * The list under `holder[key][name]` (`{startAt, maxResults, total, <name>: […]}`), each id once; undefined where none was delivered. One that
 * cannot be read, and one that came without the envelope that tells how many there are, count as truncated.
 */
export const delivered = (
  r: Reading,
  holder: JsonObject,
  key: string,
  name: string,
  path: string,
): Delivered | undefined => {
  const envelope = own(holder, key);
  if (envelope === undefined || envelope === null) return undefined;
  const found = isObject(envelope) ? own(envelope, name) : envelope;
  if (!Array.isArray(found)) {
    if (found !== undefined && found !== null) r.flip(path, envelope, `a list of ${name}`);
    return { records: [], complete: false };
  }
  const records = eachOnce(found);
  return { records, complete: isObject(envelope) && isWhole(envelope, records.length) };
};

/**
 * Whether an envelope whose list has `count` records says that this is all. A total that is no count is not believed. Where there is none, a
 * list that fills its page, or begins later than at the first record, may go on.
 */
const isWhole = (envelope: JsonObject, count: number): boolean => {
  const total = own(envelope, 'total') ?? null;
  if (total !== null) return isCount(total) && count >= total;
  const most = own(envelope, 'maxResults') ?? null;
  return (most === null || (isCount(most) && count < most)) && (own(envelope, 'startAt') ?? 0) === 0;
};

const isCount = (value: Json): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0;

/**
 * False for a comment or a worklog that says by its `issueId` that it is of another issue. One that does not is taken at the list's word; its
 * `self` is no statement of that kind: in the vendor's own example of a worklog the two contradict each other.
 */
export const isOfIssue =
  (issueId: Integer) =>
  (record: Json): boolean => {
    const told = idIn(record, 'issueId');
    return told === undefined || !/^\d+$/.test(told) || told === String(issueId);
  };

/** The ids of those that have one. */
export const idsOf = (records: readonly Json[]): readonly string[] =>
  records.flatMap((record) => idIn(record, 'id') ?? []);

/** Without repeated ids, the last of each; what has no id stays and is judged by its reader. */
export const eachOnce = (records: readonly Json[]): readonly Json[] => {
  if (records.length < 2) return records;
  const byId = new Map<string | symbol, Json>();
  for (const record of records) byId.set(idIn(record, 'id') ?? Symbol(), record);
  return byId.size === records.length ? records : [...byId.values()];
};

/** An id as text, given as text or as a number of any length. */
const idIn = (record: Json, key: string): string | undefined => {
  const id = isObject(record) ? own(record, key) : undefined;
  return typeof id === 'string' || typeof id === 'number' || id instanceof ExactNumber
    ? String(id)
    : undefined;
};

const HISTORY_KEYS = names('id created items');
const AUTHORED_KEYS: ReadonlySet<string> = new Set([...HISTORY_KEYS, 'author']);
const ITEM_KEYS = names('field fieldtype fieldId from fromString to toString');

/** One row a changed field. A change is history: what cannot be read rejects the record, nothing is left null. */
export const changeRows = (
  r: Reading,
  issueId: Integer,
  record: Json,
  catalogue: Catalogue,
): readonly IssueChangeRow[] => {
  const history = requireRecord(r, record);
  const historyId = requiredId(r, history, 'id');
  const changedAt = requiredInstant(r, history, 'created');
  const author = changedBy(r, own(history, 'author'));
  // An author without an id has perhaps a name.
  const ofAll = unknownIn(history, author === null ? HISTORY_KEYS : AUTHORED_KEYS);
  const items = own(history, 'items') ?? [];
  if (!Array.isArray(items))
    throw r.reject('bad_type', 'items', `has ${kindOf(items)} as %, expected a list`);
  return items.map((item: Json, place): IssueChangeRow => {
    if (!isObject(item)) throw r.reject('bad_type', 'items[]', `has ${kindOf(item)} in %, expected objects`);
    const name = changedValue(r, item, 'field');
    const isCustom = own(item, 'fieldtype') === 'custom';
    const id =
      changedValue(r, item, 'fieldId') ?? (isCustom && name !== null ? customFieldId(name, catalogue) : name);
    if (id === null) throw r.reject('missing_field', 'items[].field', 'has no %');
    const ofItem = besidesIn(item, id);
    const extra = ofItem === undefined ? ofAll : { ...ofAll, ...ofItem };
    return {
      history_id: historyId,
      item: place,
      issue_id: issueId,
      changed_at: changedAt,
      author_id: author,
      field_id: id,
      field_name: name ?? id,
      from_id: changedValue(r, item, 'from'),
      from_text: changedValue(r, item, 'fromString'),
      to_id: changedValue(r, item, 'to'),
      to_text: changedValue(r, item, 'toString'),
      _extra: extra === undefined ? null : r.jsonObject('', extra),
    };
  });
};

/** What an item tells that no column holds. A member that repeats a value is none (the vendor's `tmpToAccountId`), nor a type that the id implies. */
const besidesIn = (item: JsonObject, fieldId: string): JsonObject | undefined => {
  const { from, to, fieldtype } = item;
  const isImplied = (fieldtype ?? null) === null || fieldtype === (isCustomId(fieldId) ? 'custom' : 'jira');
  const unknown = unknownIn(item, ITEM_KEYS, (value) => value !== from && value !== to);
  return isImplied ? unknown : { fieldtype, ...unknown };
};

/** Null for anonymous changes and deleted accounts. */
const changedBy = (r: Reading, author: Json): string | null => {
  if (author === undefined || author === null) return null;
  if (!isObject(author)) throw r.reject('bad_type', 'author', `has ${kindOf(author)} as %, expected a user`);
  const id = identityOf(author);
  return id === undefined ? null : soundText(r, 'author', id);
};

/** A value before or after: text as a rule, whatever it is in the end; nothing is lost by writing it as text. */
const changedValue = (r: Reading, item: JsonObject, key: string): string | null => {
  const value = own(item, key);
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return soundText(r, `items[].${key}`, value);
  return value instanceof ExactNumber ? value.text : r.json(`items[].${key}`, value);
};

/** The key an issue has and those its changes tell of, each once. */
export const keyRows = (
  r: Reading,
  issueId: Integer,
  key: string,
  changes: readonly IssueChangeRow[],
): readonly IssueKeyRow[] => {
  let keys: Set<string> | undefined;
  for (const change of changes) {
    // A custom field may be called Key, too.
    if (!isIssueKey(change.field_id) && (change.field_name !== 'Key' || isCustomId(change.field_id)))
      continue;
    keys ??= new Set([key]);
    for (const other of [change.from_text, change.to_text])
      if (other !== null && other !== '') keys.add(keyText(r, 'changelog', other));
  }
  if (keys === undefined) return [{ key, issue_id: issueId }];
  return [...keys].map((each) => ({ key: each, issue_id: issueId }));
};

const COMMENT_KEYS = names(
  'self id author updateAuthor body renderedBody created updated visibility jsdPublic',
);

export const commentRow = (r: Reading, issueId: Integer, record: Json): CommentRow => {
  const comment = requireRecord(r, record);
  const body = richText(r, comment, 'body');
  const createdAt = requiredInstant(r, comment, 'created');
  r.keepUnknown(comment, COMMENT_KEYS);
  return {
    id: requiredId(r, comment, 'id'),
    issue_id: issueId,
    author_id: personId(r, comment, 'author'),
    update_author_id: personId(r, comment, 'updateAuthor'),
    body: body.text,
    body_adf: body.adf,
    visibility: visibility(r, comment),
    is_public: bool(r, comment, 'jsdPublic'),
    created_at: createdAt,
    updated_at: instant(r, comment, 'updated') ?? createdAt,
    _extra: r.extra(),
  };
};

const WORKLOG_KEYS = names(
  'self id issueId author updateAuthor comment created updated started visibility timeSpent',
  'timeSpentSeconds',
);

export const worklogRow = (r: Reading, issueId: Integer, record: Json): WorklogRow => {
  const worklog = requireRecord(r, record);
  const comment = richText(r, worklog, 'comment');
  r.keepUnknown(worklog, WORKLOG_KEYS);
  return {
    id: requiredId(r, worklog, 'id'),
    issue_id: issueId,
    author_id: personId(r, worklog, 'author'),
    update_author_id: personId(r, worklog, 'updateAuthor'),
    started_at: requiredInstant(r, worklog, 'started'),
    time_spent_seconds: requiredInteger(r, worklog, 'timeSpentSeconds'),
    comment: comment.text,
    comment_adf: comment.adf,
    visibility: visibility(r, worklog),
    created_at: instant(r, worklog, 'created'),
    updated_at: instant(r, worklog, 'updated'),
    _extra: r.extra(),
  };
};

const VISIBILITY_KEYS = names('type value identifier');

/** `{type: role | group, value, identifier}` as `role:Administrators`. A group's identifier, which stays where its name changes, is kept beside. */
const visibility = (r: Reading, holder: JsonObject): string | null => {
  const found = object(r, holder, 'visibility');
  if (found === null) return null;
  const type = text(r, found, 'type', 'visibility.type');
  const identifier = text(r, found, 'identifier', 'visibility.identifier');
  const value = text(r, found, 'value', 'visibility.value') ?? identifier;
  if (identifier !== null && identifier !== value) r.keep('visibility.identifier', identifier);
  r.keepUnknown(found, VISIBILITY_KEYS, 'visibility.');
  return value === null ? type : `${type ?? 'unknown'}:${value}`;
};
