/** The lists in an issue's own fields: labels, components, versions, links and sprints. */

import { isObject, type JsonObject, own, wordOf } from '../../../core/record-object.ts';
import { kindOf, type Reading } from '../../../core/record-reader.ts';
import { lastOfEach } from '../../../core/record-table.ts';
import { id, keyText, object, text } from '../../../core/record-values.ts';
import type { Json } from '../../../core/request.ts';
import type { Integer, Row } from '../../../core/table.ts';
import type { Readable } from '../columns.ts';
import { issueComponents, issueLinks, issueSprints, issueVersions } from '../issue-tables.ts';

/** A list as far as it can be read. */
export interface Found<T = Row> {
  readonly rows: readonly T[];
  /**
   * False where the list is kept in `_extra` instead: rows that are known beside these may belong to it. An
   * element that cannot be read is a reject of its own.
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
export const labelsOf = (issue: Issue): Found<string> => {
  const { rows: elements, whole } = listIn(issue, 'labels');
  const rows = partsOf(issue, 'labels', 'labels', elements, (at, label) => {
    if (typeof label === 'string') return keyText(at, '', label);
    throw at.reject('bad_type', '', `has ${kindOf(label)} as %, expected text`);
  });
  return { rows, whole };
};

/** One row an element, the last of each key. `given`: the columns that no member of the element gives. Throws `BadData`. */
const rowsOf = (
  issue: Issue,
  field: string,
  child: string,
  table: Readable,
  given: (at: Reading, element: JsonObject) => Row,
  { rows: elements, whole }: Found<Json> = listIn(issue, field),
): Found => {
  if (elements.length === 0) return { rows: [], whole };
  const rows = partsOf(issue, field, child, elements, (at, element) => {
    if (isObject(element)) return table.rowOf(at, element, given(at, element));
    throw at.reject('bad_type', '', `has ${kindOf(element)} as %, expected an object`);
  });
  return { rows: lastOfEach(table, rows), whole };
};

export const componentsOf = (issue: Issue): Found =>
  rowsOf(issue, 'components', 'components', issueComponents, () => ({ issue_id: issue.id }));

/** `fixVersions` (kind fix) or `versions` (kind affected). */
export const versionsOf = (issue: Issue, field: 'fixVersions' | 'versions'): Found =>
  rowsOf(issue, field, 'versions', issueVersions, () => ({
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
export const sprintsOf = (issue: Issue, sprintFields: readonly string[]): Found => {
  const found = [...sprintFields, 'closedSprints', 'sprint'].flatMap((field) => {
    const value = own(issue.fields, field) ?? null;
    if (value === null) return [];
    const list = isObject(value) ? { rows: [value], whole: true } : listIn(issue, field);
    return [rowsOf(issue, field, 'sprints', issueSprints, () => ({ issue_id: issue.id }), list)];
  });
  const rows = found.flatMap((each) => each.rows);
  return { rows: lastOfEach(issueSprints, rows), whole: found.every(({ whole }) => whole) };
};
