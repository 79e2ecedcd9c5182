/** The lists in an issue's own fields: labels, components, versions, links and sprints. */

import { isObject, type JsonObject, kindOf, own, type Reading, wordOf } from '../../../core/record.ts';
import { lastOfEach } from '../../../core/record-table.ts';
import { id, keyText, object, requireElement, text } from '../../../core/record-values.ts';
import type { Json } from '../../../core/stream.ts';
import type { Integer, Row } from '../../../core/table.ts';
import type { Readable } from '../columns.ts';
import { issueComponents, issueLinks, issueSprints, issueVersions } from '../issue-tables.ts';

/** The issue whose lists are read. */
export interface Issue {
  readonly r: Reading;
  readonly id: Integer;
  readonly fields: JsonObject;
  /** Children of which a list is kept in `_extra` instead: rows that are known may belong to it. */
  readonly partial: string[];
}

/** The list of a field; absent and null are an empty one, anything else is kept in `_extra`. */
const listIn = ({ r, fields, partial }: Issue, field: string, child: string): readonly Json[] => {
  const value = own(fields, field) ?? none;
  if (Array.isArray(value)) return value;
  r.flip(`fields.${field}`, value, 'a list');
  partial.push(child);
  return none;
};

const none: readonly never[] = [];

/** What is read of each element, with what a part needs to be read by itself. Others are rejected by themselves. */
const partsOf = <T>(
  { r, id }: Issue,
  field: string,
  child: string,
  elements: readonly Json[],
  read: (at: Reading, element: Json) => T,
): readonly T[] =>
  r.parts(
    child,
    elements,
    (element, index) => [read(r.element(`fields.${field}`, index), element)],
    () => ({ issue_id: String(id), field }),
  );

/** Labels in the order of the source. */
export const labelsOf = (issue: Issue): readonly string[] =>
  partsOf(issue, 'labels', 'labels', listIn(issue, 'labels', 'labels'), (at, label) => {
    if (typeof label === 'string') return keyText(at, '', label);
    throw at.reject('bad_type', '', `has ${kindOf(label)} as %, expected text`);
  });

/** One row an element, the last of each key. `given`: the columns that no member of the element gives. Throws `BadData`. */
const rowsOf = (
  issue: Issue,
  field: string,
  child: string,
  table: Readable,
  given: (at: Reading, element: JsonObject) => Row,
  elements = listIn(issue, field, child),
): readonly Row[] => {
  if (elements.length === 0) return none;
  const rows = partsOf(issue, field, child, elements, (at, element) => {
    const object = requireElement(at, element);
    return table.rowOf(at, object, given(at, object));
  });
  return lastOfEach(table, rows);
};

export const componentsOf = (issue: Issue): readonly Row[] =>
  rowsOf(issue, 'components', 'components', issueComponents, () => ({ issue_id: issue.id }));

/** `fixVersions` (kind fix) or `versions` (kind affected). */
export const versionsOf = (issue: Issue, field: 'fixVersions' | 'versions'): readonly Row[] =>
  rowsOf(issue, field, 'versions', issueVersions, () => ({
    issue_id: issue.id,
    kind: field === 'versions' ? 'affected' : 'fix',
  }));

/** The names that are there, in the order of the source. */
export const namesOf = (rows: readonly Row[]): readonly string[] =>
  rows.map(({ name }) => name).filter((name) => typeof name === 'string');

/**
 * A link shows the issue at its other end as `outwardIssue` or `inwardIssue`. The vendor's OpenAPI requires
 * both: then the other end is the one that is not this issue. An issue that is linked to itself has the link
 * twice, from each side.
 */
export const linksOf = (issue: Issue): readonly Row[] =>
  rowsOf(issue, 'issuelinks', 'links', issueLinks, (at, link) => {
    const outward = object(at, link, 'outwardIssue');
    const inward = object(at, link, 'inwardIssue');
    const isInward = inward !== null && (outward === null || wordOf(own(outward, 'id')) === String(issue.id));
    const other = isInward ? inward : outward;
    if (other === null) throw at.reject('missing_field', 'outwardIssue', 'has neither % nor an inwardIssue');
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
export const sprintsOf = (issue: Issue, sprintFields: readonly string[]): readonly Row[] => {
  const rows = [...sprintFields, 'closedSprints', 'sprint'].flatMap((field) => {
    const value = own(issue.fields, field) ?? null;
    if (value === null) return none;
    const list = isObject(value) ? [value] : listIn(issue, field, 'sprints');
    return rowsOf(issue, field, 'sprints', issueSprints, () => ({ issue_id: issue.id }), list);
  });
  return lastOfEach(issueSprints, rows);
};
