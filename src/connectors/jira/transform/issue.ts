import type { PageWalk } from '../../../core/paging.ts';
import { isObject, type JsonObject, own } from '../../../core/record-object.ts';
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
import type { Flow, Tail } from '../../../core/stream.ts';
import type { Integer, Row } from '../../../core/table.ts';
import type { IssueChangeRow, IssueRow, IssueSprintRow } from '../tables.ts';
import { customValue } from './custom-fields.ts';
import type { Catalogue } from './field-catalogue.ts';
import {
  changeRows,
  commentRow,
  type Delivered,
  delivered,
  eachOnce,
  idsOf,
  isOfIssue,
  keyRows,
  worklogRow,
} from './issue-details.ts';
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

/** The walks over the complete lists of one issue. */
export interface DetailWalks {
  readonly changelog: PageWalk;
  readonly comments: PageWalk;
  readonly worklogs: PageWalk;
}

export interface IssueOptions {
  /** Which lists to fetch for every changed issue although the server did not embed them at all. */
  readonly fetchDetails?: { readonly [detail in keyof DetailWalks]?: boolean };
}

/** Parts of a record beside its fields that other parts already say, or that depend on how it was asked for. */
const RECORD_KEYS: ReadonlySet<string> = new Set([
  ...[
    'id',
    'key',
    'self',
    'expand',
    'fields',
    'changelog',
    'names',
    'schema',
    'renderedFields',
    'transitions',
  ],
  ...['operations', 'editmeta', 'versionedRepresentations', 'fieldsToInclude'],
]);

const NO_DETAILS = {};
const NOT_PARTIAL: readonly string[] = [];

/**
 * The transform of issues: one row of `tracker.issues` and its children by the names of `issueChildren`.
 *
 * Labels, components, versions, links and sprints are always given (a field that is not there is empty), in part where some of the list cannot be
 * read. Changelog, comments and worklogs
 * are given when they came complete, fetched by a `Tail` when they came truncated, and left alone when they did not come, unless
 * `fetchDetails` asks for them. The tails `changelog` and `keys` share one walk object: it needs to be walked only once for both.
 *
 * Throws `BadData` where id, key, project, status, created or updated is missing or unreadable, and for values that cannot be stored
 * exactly. Any other surprise becomes null, with the raw value and the reason in `_extra`, and a note.
 */
export const issueMapper =
  (
    catalogue: Catalogue,
    tails: (issueId: string, key: string) => DetailWalks,
    options: IssueOptions = NO_DETAILS,
  ): Flow['via'] =>
  (record) => {
    const r = new Reading('tracker.issues', 'issue', record, 'fields.');
    const issue = requireRecord(r, record);
    const issueId = requiredId(r, issue, 'id');
    const key = requiredKey(r, issue, 'key');
    const fields = requiredObject(r, issue, 'fields');

    const custom = customFields(r, fields, catalogue);
    const tags = labels(r, fields);
    const components = componentRows(r, issueId, fields);
    const fixed = versionRows(r, issueId, fields, 'fixVersions');
    const affected = versionRows(r, issueId, fields, 'versions');
    const details = detailsOf(r, issue, fields, issueId, key, catalogue, tails, options);
    const links = linkRows(r, issueId, fields);
    const sprints = sprintsOf(r, fields, issueId, catalogue, custom.sprints);
    const children = {
      labels: labelRows(issueId, tags.rows),
      components: components.rows,
      versions: [...fixed.rows, ...affected.rows],
      links: links.rows,
      sprints: sprints.rows,
      ...details.children,
    };
    const partial = [
      ...(tags.whole ? NOT_PARTIAL : ['labels']),
      ...(components.whole ? NOT_PARTIAL : ['components']),
      ...(fixed.whole && affected.whole ? NOT_PARTIAL : ['versions']),
      ...(links.whole ? NOT_PARTIAL : ['links']),
      ...(sprints.whole ? NOT_PARTIAL : ['sprints']),
    ];
    r.keepUnknown(issue, RECORD_KEYS, 'record.');

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
    const votes = within(r, fields, 'votes', VOTE_KEYS);
    const watches = within(r, fields, 'watches', WATCH_KEYS);
    const parentId = parent && id(r, parent, 'id', 'fields.parent.id');
    if (parentId === null && parent !== null) r.keep('parent', parent);
    const row: IssueRow = {
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
      labels: tags.rows,
      components: namesOf(components.rows),
      fix_versions: namesOf(fixed.rows),
      affects_versions: namesOf(affected.rows),
      security_level: security && text(r, security, 'name', 'fields.security.name'),
      security_level_id: security && id(r, security, 'id', 'fields.security.id'),
      due_date: day(r, fields, 'duedate', 'fields.duedate'),
      created_at: requiredInstant(r, fields, 'created', 'fields.created'),
      updated_at: requiredInstant(r, fields, 'updated', 'fields.updated'),
      resolved_at: instant(r, fields, 'resolutiondate', 'fields.resolutiondate'),
      status_category_changed_at: instant(
        r,
        fields,
        'statuscategorychangedate',
        'fields.statuscategorychangedate',
      ),
      story_points: firstSet(decimal, r, fields, catalogue.storyPoints),
      original_estimate_seconds:
        integer(r, fields, 'timeoriginalestimate', 'fields.timeoriginalestimate') ??
        integer(r, timetracking, 'originalEstimateSeconds', 'fields.timetracking.originalEstimateSeconds'),
      remaining_estimate_seconds:
        integer(r, fields, 'timeestimate', 'fields.timeestimate') ??
        integer(r, timetracking, 'remainingEstimateSeconds', 'fields.timetracking.remainingEstimateSeconds'),
      time_spent_seconds:
        integer(r, fields, 'timespent', 'fields.timespent') ??
        integer(r, timetracking, 'timeSpentSeconds', 'fields.timetracking.timeSpentSeconds'),
      votes: votes && integer(r, votes, 'votes', 'fields.votes.votes'),
      watchers: watches && integer(r, watches, 'watchCount', 'fields.watches.watchCount'),
      custom_fields: custom.json,
      status: text(r, status, 'name', 'fields.status.name'),
      status_category: statusCategory(r, status, 'fields.status.statusCategory'),
      issue_type: type && text(r, type, 'name', 'fields.issuetype.name'),
      is_subtask: type && bool(r, type, 'subtask', 'fields.issuetype.subtask'),
      priority: priority && text(r, priority, 'name', 'fields.priority.name'),
      // Last: everything before it may keep something.
      _extra: r.extra(),
    };
    const notes = r.notes();
    return {
      row,
      children,
      ...(partial.length > 0 && { partial }),
      ...(details.tails.length > 0 && { tails: details.tails }),
      ...(notes.length > 0 && { notes }),
    };
  };

/** What a resolution means in general would be repeated on every issue that is done. */
const RESOLUTION_KEYS: ReadonlySet<string> = new Set(['id', 'name', 'self', 'description']);
const SECURITY_KEYS: ReadonlySet<string> = new Set(['id', 'name', 'self']);
/** Whether the caller is among them is nothing of the issue's. */
const VOTE_KEYS: ReadonlySet<string> = new Set(['votes', 'self', 'hasVoted']);
const WATCH_KEYS: ReadonlySet<string> = new Set(['watchCount', 'self', 'isWatching']);
/** The texts say the seconds in words. */
const TIME_KEYS: ReadonlySet<string> = new Set([
  ...['originalEstimate', 'remainingEstimate', 'timeSpent'],
  ...['originalEstimateSeconds', 'remainingEstimateSeconds', 'timeSpentSeconds'],
]);

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

/** Changelog, comments, worklogs and the keys that the changelog tells of. */
const detailsOf = (
  r: Reading,
  issue: JsonObject,
  fields: JsonObject,
  issueId: Integer,
  key: string,
  catalogue: Catalogue,
  walksOf: (issueId: string, key: string) => DetailWalks,
  { fetchDetails = NO_DETAILS }: IssueOptions,
): { readonly children: Readonly<Record<string, readonly Row[]>>; readonly tails: readonly Tail[] } => {
  const changelog = delivered(r, issue, 'changelog', 'histories', 'changelog');
  const belongs = isOfIssue(issueId);
  // What is of another issue says nothing of this one's list: that is then fetched.
  const ownOnly = (found: Delivered | undefined): Delivered | undefined =>
    found === undefined || found.records.every(belongs) ? found : { ...found, complete: false };
  const comments = ownOnly(delivered(r, fields, 'comment', 'comments', 'fields.comment'));
  const worklogs = ownOnly(delivered(r, fields, 'worklog', 'worklogs', 'fields.worklog'));
  // Also of a truncated list: its keys are true, and its faults are faults.
  const changes: readonly IssueChangeRow[] =
    changelog?.records.flatMap((history, at) =>
      changeRows(r.element('changelog.histories', at), issueId, history, catalogue),
    ) ?? [];

  const keys = keyRows(r, issueId, key, changes);
  const children: Record<string, readonly Row[]> = { keys };
  if (changelog?.complete) children.changelog = changes;
  if (comments?.complete)
    children.comments = comments.records.map((comment, at) =>
      commentRow(r.row('fields.comment.comments', at), issueId, comment),
    );
  if (worklogs?.complete)
    children.worklogs = worklogs.records.map((worklog, at) =>
      worklogRow(r.row('fields.worklog.worklogs', at), issueId, worklog),
    );

  const open = (found: { readonly complete: boolean } | undefined, detail: keyof DetailWalks): boolean =>
    found === undefined ? fetchDetails[detail] === true : !found.complete;
  const openChangelog = open(changelog, 'changelog');
  const openComments = open(comments, 'comments');
  const openWorklogs = open(worklogs, 'worklogs');
  if (!openChangelog && !openComments && !openWorklogs) return { children, tails: NO_TAILS };

  const walks = walksOf(String(issueId), key);
  const shownOf = (found: Delivered | undefined): readonly string[] =>
    idsOf(found?.records.filter(belongs) ?? []);
  const tails: Tail[] = [];
  if (openChangelog) {
    tails.push({
      child: 'changelog',
      walk: walks.changelog,
      shown: idsOf(changelog?.records ?? []),
      rows: (records) => changesOf(issueId, records, catalogue),
    });
    tails.push({
      child: 'keys',
      walk: walks.changelog,
      rows: (records) => {
        const told = new Set(keys.map((row) => row.key));
        return keyRows(r, issueId, key, changesOf(issueId, records, catalogue)).filter(
          (row) => !told.has(row.key),
        );
      },
    });
  }
  if (openComments)
    tails.push({
      child: 'comments',
      walk: walks.comments,
      belongs,
      shown: shownOf(comments),
      rows: (records) => commentsOf(issueId, records),
    });
  if (openWorklogs)
    tails.push({
      child: 'worklogs',
      walk: walks.worklogs,
      belongs,
      shown: shownOf(worklogs),
      rows: (records) => worklogsOf(issueId, records),
    });
  return { children, tails };
};

const NO_TAILS: readonly Tail[] = [];

/** Rows of a list that was fetched by itself. */
const changesOf = (
  issueId: Integer,
  records: readonly Json[],
  catalogue: Catalogue,
): readonly IssueChangeRow[] =>
  eachOnce(records).flatMap((record) =>
    changeRows(
      new Reading('tracker.issue_changelog', `issue ${issueId}: change`, record),
      issueId,
      record,
      catalogue,
    ),
  );

const commentsOf = (issueId: Integer, records: readonly Json[]): readonly Row[] =>
  eachOnce(records).map((record) =>
    commentRow(new Reading('tracker.comments', `issue ${issueId}: comment`, record), issueId, record),
  );

const worklogsOf = (issueId: Integer, records: readonly Json[]): readonly Row[] =>
  eachOnce(records).map((record) =>
    worklogRow(new Reading('tracker.worklogs', `issue ${issueId}: worklog`, record), issueId, record),
  );
