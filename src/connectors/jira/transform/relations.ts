/** What an issue carries in its own fields and the warehouse keeps in tables beside it: labels, components, versions, links, sprints. */

import { isObject, type JsonObject, names, own } from '../../../core/record-object.ts';
import type { Reading } from '../../../core/record-reader.ts';
import { bool, day, id, instant, keyText, list, object, text } from '../../../core/record-values.ts';
import type { Json } from '../../../core/request.ts';
import type { Integer } from '../../../core/table.ts';
import type {
  IssueComponentRow,
  IssueLabelRow,
  IssueLinkRow,
  IssueSprintRow,
  IssueVersionRow,
} from '../tables.ts';

/** A list of an issue as far as it can be read. */
export interface Told<Row> {
  readonly rows: readonly Row[];
  /** False where an element, or the list itself, is kept in `_extra` in place of rows: what is known beside these rows may well be in it. */
  readonly whole: boolean;
}

const nothing: Told<never> = { rows: [], whole: true };

/** The list under `fields[key]`: absent and null are an empty one, anything else is kept in `_extra`, and none. */
const listIn = (r: Reading, fields: JsonObject, key: string): Told<Json> => {
  const value = own(fields, key);
  if (value === undefined || value === null) return nothing;
  const whole = Array.isArray(value);
  return { rows: list(r, fields, key, `fields.${key}`), whole };
};

/** Labels in the order of the source; elements that are not text are kept in `_extra` with the list. */
export const labels = (r: Reading, fields: JsonObject): Told<string> => {
  const { rows: found, whole } = listIn(r, fields, 'labels');
  if (found.length === 0) return { rows: [], whole };
  const texts = found.filter((label) => typeof label === 'string');
  if (texts.length < found.length) r.flip('fields.labels', found, 'a list of texts');
  return {
    rows: texts.map((label) => keyText(r, 'fields.labels', label)),
    whole: texts.length === found.length,
  };
};

export const labelRows = (issueId: Integer, found: readonly string[]): readonly IssueLabelRow[] =>
  [...new Set(found)].map((label) => ({ issue_id: issueId, label }));

const ID_ALONE = names('id');

/** One row per element with a numeric id, each id once, or once on each `side`; an element without is kept in `_extra` with a note. */
const rows = <Row>(
  r: Reading,
  { rows: elements, whole: isList }: Told<Json>,
  path: string,
  read: (at: Reading, element: JsonObject, elementId: Integer) => Row | null,
  side: (row: Row) => string = () => '',
): Told<Row> => {
  if (elements.length === 0) return { rows: [], whole: isList };
  const found = new Map<string, Row>();
  let whole = isList;
  for (let index = 0; index < elements.length; index++) {
    const element = elements[index];
    const at = r.element(path, index);
    if (!isObject(element) || (own(element, 'id') ?? null) === null) {
      at.flip('id', element, 'an object with a numeric id');
      whole = false;
      continue;
    }
    const elementId = id(at, element, 'id');
    if (elementId === null) at.keepUnknown(element, ID_ALONE);
    const row = elementId === null ? null : read(at, element, elementId);
    if (elementId !== null && row !== null) found.set(`${elementId}${side(row)}`, row);
    else whole = false;
  }
  return { rows: [...found.values()], whole };
};

/** The project is the issue's own; who would really be assigned follows from the kind of assignee. */
const COMPONENT_KEYS = names(
  'id name description self project projectId realAssignee realAssigneeType isAssigneeTypeValid',
);

export const componentRows = (r: Reading, issueId: Integer, fields: JsonObject): Told<IssueComponentRow> =>
  rows(r, listIn(r, fields, 'components'), 'fields.components', (at, component, componentId) => {
    at.keepUnknown(component, COMPONENT_KEYS);
    return {
      issue_id: issueId,
      component_id: componentId,
      name: text(at, component, 'name'),
      description: text(at, component, 'description'),
    };
  });

/** The project is the issue's own, `user…Date` a date as the reader writes it; whether it is overdue is a matter of today's date. */
const VERSION_KEYS = names(
  'id name description released archived releaseDate startDate self expand project projectId',
  'userReleaseDate userStartDate overdue',
);

/** `fixVersions` (kind fix) or `versions` (kind affected). */
export const versionRows = (
  r: Reading,
  issueId: Integer,
  fields: JsonObject,
  key: 'fixVersions' | 'versions',
): Told<IssueVersionRow> => {
  const path = `fields.${key}`;
  return rows(r, listIn(r, fields, key), path, (at, version, versionId) => {
    at.keepUnknown(version, VERSION_KEYS);
    return {
      issue_id: issueId,
      kind: key === 'versions' ? 'affected' : 'fix',
      version_id: versionId,
      name: text(at, version, 'name'),
      released: bool(at, version, 'released'),
      archived: bool(at, version, 'archived'),
      release_date: day(at, version, 'releaseDate'),
      start_date: day(at, version, 'startDate'),
      description: text(at, version, 'description'),
    };
  });
};

/** The names there are, in the order of the source. */
export const namesOf = (found: readonly { readonly name: string | null }[]): readonly string[] =>
  found.length === 0 ? nothing.rows : found.map(({ name }) => name).filter((name) => name !== null);

const LINK_KEYS = names('id self type inwardIssue outwardIssue');
const LINK_TYPE_KEYS = names('id self name inward outward');

/**
 * Each link shows the other end under `outwardIssue` or `inwardIssue`; where it shows both (the vendor's OpenAPI has both as required), the other end
 * is the one that is not this issue. An issue that is linked to itself has the link twice, from each side.
 */
export const linkRows = (r: Reading, issueId: Integer, fields: JsonObject): Told<IssueLinkRow> =>
  rows(
    r,
    listIn(r, fields, 'issuelinks'),
    'fields.issuelinks',
    (at, link, linkId): IssueLinkRow | null => {
      const outward = object(at, link, 'outwardIssue');
      const inward = object(at, link, 'inwardIssue');
      const other =
        inward !== null && (outward === null || String(own(outward, 'id')) === String(issueId))
          ? inward
          : outward;
      if (other === null) return at.flip('other', link, 'an outwardIssue or inwardIssue');
      const type = object(at, link, 'type');
      at.keepUnknown(link, LINK_KEYS);
      if (type !== null) at.keepUnknown(type, LINK_TYPE_KEYS, 'type.');
      return {
        issue_id: issueId,
        link_id: linkId,
        direction: other === inward ? 'inward' : 'outward',
        type_id: type && id(at, type, 'id', 'type.id'),
        type_name: type && text(at, type, 'name', 'type.name'),
        outward: type && text(at, type, 'outward', 'type.outward'),
        inward: type && text(at, type, 'inward', 'type.inward'),
        other_issue_id: id(at, other, 'id', 'other.id'),
        other_issue_key: text(at, other, 'key', 'other.key'),
      };
    },
    ({ direction }) => direction,
  );

/** A number, or its digits: the contract does not say how ids are written. */
const isSprintId = (value: Json): boolean =>
  typeof value === 'number' || (typeof value === 'string' && /^\d{1,18}$/.test(value));

const SPRINT_STATES = names('future active closed FUTURE ACTIVE CLOSED');

/** A list whose first element has what only sprints have: how the sprint field is known where no catalogue names it. */
export const looksLikeSprints = (value: Json): value is readonly Json[] => {
  if (!Array.isArray(value)) return false;
  const first: Json = sprintOf(value[0]);
  return (
    isObject(first) &&
    isSprintId(own(first, 'id')) &&
    typeof own(first, 'name') === 'string' &&
    SPRINT_STATES.has(String(own(first, 'state')))
  );
};

/** How servers before the agile API write a sprint, e.g. `com.atlassian.greenhopper.service.sprint.Sprint@1f[id=7,state=ACTIVE,name=A, B,goal=<null>]`. */
const PRINTED = /^[\w.]*\bSprint@[0-9a-f]+\[(.*)\]$/s;
/** Names and goals may hold commas: only one before the name of a part ends a part. */
const PART =
  /,(?=(?:id|rapidViewId|state|name|goal|startDate|endDate|completeDate|activatedDate|sequence|synced|autoStartStop|incompleteIssuesDestinationId)=)/;

/** A sprint as an object, where it is told as text or by its id alone; anything else as it is. */
export const sprintOf = (told: Json): Json => {
  if (isSprintId(told)) return { id: told };
  const [, printed] = (typeof told === 'string' && PRINTED.exec(told)) || [];
  if (printed === undefined) return told;
  const {
    id: printedId,
    rapidViewId,
    ...parts
  } = Object.fromEntries(
    printed.split(PART).flatMap((part) => {
      const [, name, value] = /^(\w+)=(.*)$/s.exec(part) ?? [];
      return name === undefined || value === undefined || value === '<null>' || value === ''
        ? []
        : [[name, value]];
    }),
  );
  return printedId === undefined ? told : { ...parts, id: Number(printedId), boardId: rapidViewId ?? null };
};

export const sprintRows = (
  r: Reading,
  issueId: Integer,
  sprints: readonly Json[],
  path: string,
): Told<IssueSprintRow> =>
  rows(r, { rows: sprints.map(sprintOf), whole: true }, path, (at, sprint, sprintId) => ({
    issue_id: issueId,
    sprint_id: sprintId,
    name: text(at, sprint, 'name'),
    state: text(at, sprint, 'state')?.toLowerCase() ?? null,
    board_id: id(at, sprint, 'boardId') ?? id(at, sprint, 'originBoardId'),
    goal: text(at, sprint, 'goal'),
    start_at: instant(at, sprint, 'startDate'),
    end_at: instant(at, sprint, 'endDate'),
    completed_at: instant(at, sprint, 'completeDate'),
  }));
