/** The fields of a site, and those of them that mean something to the warehouse. */

import { names } from '../../../core/record-object.ts';
import type { Row } from '../../../core/table.ts';
import { issues } from '../issue-tables.ts';
import { type FieldRole, fieldRoles, namedFor, namesOf, type OwnFields, roleOf } from './field-roles.ts';

/**
 * Fields of an issue that become a column or a table. They are asked for by name; other system fields are
 * not.
 */
export const systemFields: readonly string[] = [
  ...issues.members,
  ...names('labels components fixVersions versions issuelinks comment worklog'),
];

/** What the agile API adds to an issue. The vendor has them in no list of fields. */
export const agileFields: readonly string[] = ['epic', 'sprint', 'closedSprints'];

/** Fields that are computed from others or depend on the caller. */
const derived = names(
  'aggregatetimeoriginalestimate aggregatetimeestimate aggregatetimespent aggregateprogress progress',
  'workratio lastViewed thumbnail subtasks statusCategory issuekey',
);

const ids: ReadonlySet<string> = new Set([...systemFields, ...agileFields, ...derived]);

/** Whether a field is one of the tracker's own, by its id. */
export const isSystemField = (id: string): boolean => ids.has(id);

/** One field of the site, as a row of `tracker.fields`. */
export type FieldFact = Row;

/**
 * Any part may be empty: sprints are then recognised by their shape; what else has a role is not known.
 */
export interface Catalogue {
  readonly fieldsById: ReadonlyMap<string, FieldFact>;
  /**
   * Ids of the fields with a role, best first. Company-managed and team-managed projects may each have their own
   * story points, and a site into which others were imported several fields of each; an issue uses one of them.
   */
  readonly byRole: ReadonlyMap<FieldRole, readonly string[]>;
  /** Ids of custom fields by name, for names of one field only. */
  readonly customByName: ReadonlyMap<string, string>;
}

/** The ids of the fields with a role, best first. */
export const idsOf = ({ byRole }: Catalogue, role: FieldRole): readonly string[] => byRole.get(role) ?? [];

/** Finds the fields that mean something: those that are named in their order, others in that of their ids. */
export const catalogueOf = (fieldsById: ReadonlyMap<string, FieldFact>, own: OwnFields = {}): Catalogue => {
  const facts = [...fieldsById].sort(([a], [b]) => (a < b ? -1 : 1));
  const inRole = facts.map(([id, fact]) => ({ id, ...roleOf(fact, own) }));
  // An id that no list shows is taken as it is: the lists may be closed to us.
  const hidden = fieldRoles.flatMap((role) =>
    namedFor(own, role).flatMap((id, role_place) =>
      isCustomId(id) && !fieldsById.has(id) ? [{ id, role, role_place }] : [],
    ),
  );
  const ordered = [...inRole, ...hidden].sort((a, b) => (a.role_place ?? 0) - (b.role_place ?? 0));
  const byRole = new Map(
    fieldRoles.map((role) => [role, ordered.flatMap((each) => (each.role === role ? [each.id] : []))]),
  );
  return { fieldsById, byRole, customByName: byName(facts, byRole) };
};

/**
 * Several sprint fields of one name mean the same; other fields of one name do not. A change may name a field in
 * English that the list names in the account's language (https://github.com/apache/devlake/issues/3991).
 */
const byName = (
  facts: readonly (readonly [id: string, fact: FieldFact])[],
  byRole: ReadonlyMap<FieldRole, readonly string[]>,
): ReadonlyMap<string, string> => {
  const named = facts.flatMap(([id, fact]) =>
    fact.custom === true ? [...new Set(namesOf(fact))].map((name) => ({ id, name })) : [],
  );
  const sprints = byRole.get('sprint') ?? [];
  const [sprint] = sprints;
  const found = new Map(
    [...Map.groupBy(named, ({ name }) => name)].flatMap(([name, [first, ...others]]) => {
      const isClear =
        others.length === 0 || [first, ...others].every((one) => one && sprints.includes(one.id));
      return first !== undefined && isClear ? [[name, first.id] as const] : [];
    }),
  );
  const isTaken = named.some(({ name }) => name === 'Sprint');
  return sprint === undefined || isTaken ? found : found.set('Sprint', sprint);
};

export const noCatalogue: Catalogue = catalogueOf(new Map());

/**
 * Raise it when the same issue becomes other rows, or more of it is asked for: every warehouse then reads all
 * issues once more.
 */
export const edition = 'edition 7';

/** What else decides which rows an issue becomes, in words that change when the rows would. */
export const issuesReadBy = ({ byRole }: Catalogue): string => [...byRole].join('; ');

/** The ids of the site's custom fields. */
export const customIn = ({ fieldsById }: Catalogue): readonly string[] =>
  [...fieldsById].flatMap(([id, { custom }]) => (custom === true ? [id] : []));

/** The key of an issue, as its changes name it: `issuekey` in every language, or the vendor's `Key`. */
export const isIssueKey = (fieldId: string): boolean => /^(issue)?key$/i.test(fieldId);

const withoutId = 'custom field ';

/**
 * The id of a custom field that a change names without its id: that of the site's only field of the name,
 * else the name. A field that was deleted and was named like one of the tracker's own (`status`, `Key`) must
 * not be taken for that.
 */
export const customFieldId = (name: string, { customByName }: Catalogue): string =>
  customByName.get(name) ?? (isSystemField(name) || isIssueKey(name) ? `${withoutId}${name}` : name);

/** Whether an id is that of a custom field: the vendor's, or one that `customFieldId` made. */
export const isCustomId = (fieldId: string): boolean =>
  fieldId.startsWith('customfield_') || fieldId.startsWith(withoutId);
