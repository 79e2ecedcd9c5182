/** The lists in an issue's own fields: labels, components, versions, links and sprints. */

import { isObject, type JsonObject, own, wordOf } from '../../../core/record-object.ts';
import type { Reading } from '../../../core/record-reader.ts';
import { id, keyText, object, text } from '../../../core/record-values.ts';
import type { Json } from '../../../core/request.ts';
import type { Integer, Row } from '../../../core/table.ts';
import type { Readable } from '../columns.ts';
import { issueComponents, issueLinks, issueSprints, issueVersions } from '../issue-tables.ts';

/** A list as far as it can be read. */
export interface Found<T = Row> {
  readonly rows: readonly T[];
  /**
   * False where the list or an element is kept in `_extra` instead: rows that are known beside these may
   * belong to it.
   */
  readonly whole: boolean;
}

/** The issue whose lists are read. */
export interface Issue {
  readonly r: Reading;
  readonly id: Integer;
  readonly fields: JsonObject;
}

/** The list of a field; absent and null are an empty one, anything else is kept in `_extra`. */
const listIn = ({ r, fields }: Issue, field: string): Found<Json> => {
  const value = own(fields, field) ?? [];
  if (Array.isArray(value)) return { rows: value, whole: true };
  r.flip(`fields.${field}`, value, 'a list');
  return { rows: [], whole: false };
};

/** Labels in the order of the source. */
export const labelsOf = (issue: Issue): Found<string> => {
  const { rows: elements, whole } = listIn(issue, 'labels');
  const labels = elements.filter((label) => typeof label === 'string');
  if (labels.length < elements.length) issue.r.flip('fields.labels', elements, 'a list of texts');
  return {
    rows: labels.map((label) => keyText(issue.r, 'fields.labels', label)),
    whole: whole && labels.length === elements.length,
  };
};

const noRows: readonly Row[] = [];

/** The columns of an element that its list or the issue gives; null where it cannot become a row. */
type Completion = (issue: Issue, at: Reading, element: JsonObject) => Row | null;

const ofIssue: Completion = (issue) => ({ issue_id: issue.id });

/**
 * One row an element with a numeric id, the last of each key. Other elements are kept in `_extra` with a
 * note.
 */
const rowsOf = (
  issue: Issue,
  field: string,
  table: Readable,
  { rows: elements, whole }: Found<Json> = listIn(issue, field),
  given: Completion = ofIssue,
): Found => {
  if (elements.length === 0) return { rows: noRows, whole };
  const rows: Row[] = [];
  for (let index = 0; index < elements.length; index += 1) {
    const element = elements[index];
    const at = issue.r.element(`fields.${field}`, index);
    const isNumbered = isObject(element) && id(at, element, 'id') !== null;
    const more = isNumbered
      ? given(issue, at, element)
      : at.flip('id', element, 'an object with a numeric id');
    if (isNumbered && more !== null) rows.push(table.rowOf(at, element, more));
  }
  return { rows: lastOfEach(table, rows), whole: whole && rows.length === elements.length };
};

/** The last row of each key. */
const lastOfEach = ({ key }: Readable, rows: readonly Row[]): readonly Row[] =>
  rows.length < 2
    ? rows
    : [...new Map(rows.map((row) => [key.map((column) => String(row[column])).join(' '), row])).values()];

export const componentsOf = (issue: Issue): Found => rowsOf(issue, 'components', issueComponents);

/** `fixVersions` (kind fix) or `versions` (kind affected). */
export const versionsOf = (issue: Issue, field: 'fixVersions' | 'versions'): Found =>
  rowsOf(issue, field, issueVersions, undefined, () => ({
    issue_id: issue.id,
    kind: field === 'versions' ? 'affected' : 'fix',
  }));

/** The names that are there, in the order of the source. */
export const namesOf = ({ rows }: Found): readonly string[] =>
  rows.map(({ name }) => name).filter((name) => typeof name === 'string');

/**
 * A link shows the issue at its other end as `outwardIssue` or `inwardIssue`. The vendor's OpenAPI requires
 * both: then the other end is the one that is not this issue. An issue that is linked to itself has the link
 * twice, from each side.
 */
export const linksOf = (issue: Issue): Found =>
  rowsOf(issue, 'issuelinks', issueLinks, undefined, (_issue, at, link) => {
    const outward = object(at, link, 'outwardIssue');
    const inward = object(at, link, 'inwardIssue');
    const isInward = inward !== null && (outward === null || wordOf(own(outward, 'id')) === String(issue.id));
    const other = isInward ? inward : outward;
    if (other === null) return at.flip('other', link, 'an outwardIssue or inwardIssue');
    return {
      issue_id: issue.id,
      direction: isInward ? 'inward' : 'outward',
      other_issue_id: id(at, other, 'id', 'other.id'),
      other_issue_key: text(at, other, 'key', 'other.key'),
    };
  });

/**
 * Whether a list's first element has what only sprints have: without a catalogue, the sprint field is
 * recognised by it.
 */
export const looksLikeSprints = (value: Json): boolean => {
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return (
    isObject(first) &&
    /^\d{1,18}$/.test(wordOf(own(first, 'id'))) &&
    typeof own(first, 'name') === 'string' &&
    /^(future|active|closed)$/i.test(wordOf(own(first, 'state')))
  );
};

/** Sprints of the sprint fields, and of `closedSprints` and `sprint`, which the agile API adds. Each once. */
export const sprintsOf = (issue: Issue, sprintFields: readonly string[]): Found => {
  const found = [...sprintFields, 'closedSprints', 'sprint'].flatMap((field) => {
    const value = own(issue.fields, field) ?? null;
    if (value === null) return [];
    const list = isObject(value) ? { rows: [value], whole: true } : listIn(issue, field);
    return [rowsOf(issue, field, issueSprints, list)];
  });
  const rows = found.flatMap((each) => each.rows);
  return { rows: lastOfEach(issueSprints, rows), whole: found.every(({ whole }) => whole) };
};
