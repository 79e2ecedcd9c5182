/** The fields of a site, and those of them that mean something to the warehouse. */

import { Misconfigured } from '../../../core/errors.ts';
import { names } from '../../../core/record.ts';
import type { MappingFingerprint } from '../../../core/stream.ts';
import type { Row } from '../../../core/table.ts';
import { issues } from '../issue-tables.ts';

// What a field of a site means to the warehouse, whatever it is called there: by the vendor's type key, then by
// its English name and its name, where the type of its values fits. The configuration may name others.

/**
 * A role: what it is for people, the setting that names the fields of a site that has its own, the type of the
 * values (and of a list's elements) with the names that such a field may go by, and type keys that nothing else has.
 */
const kind = <S extends string>(
  about: string,
  setting: S,
  type: string,
  names: RegExp,
  ...keys: string[]
) => ({ about, setting, type, names, keys });

const agile = 'com.pyxis.greenhopper.jira';
const generic = 'com.atlassian.jira.plugin.system.customfieldtypes';
/** "Story Points" is company-managed and a plain number; "Story point estimate" is team-managed. */
const points = /^story points?( estimate)?$/i;
const teams = [`${generic}:atlassian-team`, 'com.atlassian.teams:rm-teams-custom-field-team'];

const kinds = {
  story_points: kind('story points', 'storyPointsFields', 'number', points, `${agile}:jsw-story-points`),
  sprint: kind('sprints', 'sprintFields', 'array json', /^sprint$/i, `${agile}:gh-sprint`),
  epic_link: kind('epic links', 'epicLinkFields', 'any', /^epic link$/i, `${agile}:gh-epic-link`),
  flagged: kind('flags', 'flaggedFields', 'array option', /^flagged$/i),
  team: kind('teams', 'teamFields', 'team', /^team$/i, ...teams),
  start_date: kind('start dates', 'startDateFields', 'date', /^start date$/i),
};

type FieldRole = keyof typeof kinds;

export const fieldRoles = Object.keys(kinds) as readonly FieldRole[];

/** What a role is, for people. */
const aboutRole = (role: FieldRole): string => kinds[role].about;

/** Ids or names of the fields that the configuration names for a role; nothing else then has that role. */
export type OwnFields = Readonly<
  Partial<Record<(typeof kinds)[FieldRole]['setting'], readonly string[] | undefined>>
>;

/** What is named for a role. */
const namedFor = (own: OwnFields, role: FieldRole): readonly string[] => own[kinds[role].setting] ?? [];

/** The role of a field, a row of `tracker.fields`, and its place among those that the configuration names. */
export const roleOf = (field: Row, own: OwnFields): { role: FieldRole | null; role_place: number | null } => {
  const named = fieldRoles.flatMap((role) => {
    const role_place = namedFor(own, role).findIndex((name) => isCalled(field, name));
    return role_place < 0 ? [] : [{ role, role_place }];
  });
  const known = fieldRoles.find((role) => namedFor(own, role).length === 0 && isOf(kinds[role], field));
  return named[0] ?? { role: known ?? null, role_place: null };
};

const isOf = ({ keys, type, names }: (typeof kinds)[FieldRole], field: Row): boolean =>
  field.custom === true &&
  (keys.includes(String(field.schema_custom)) ||
    ([field.schema_type, field.items_type].filter(Boolean).join(' ') === type &&
      namesOf(field).some((name) => names.test(name.trim()))));

/** The English name, where the source gives a translated one beside it, and the name. */
export const namesOf = ({ untranslated_name, name }: Row): readonly string[] =>
  [untranslated_name, name].filter((each) => typeof each === 'string');

/** Whether a field has this id, or this name in upper or lower case. */
const isCalled = (field: Row, name: string): boolean =>
  [String(field.id), ...namesOf(field)].some((each) => each.toLowerCase() === name.toLowerCase());

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

/** Any part may be empty: sprints are then recognised by their shape; what else has a role is not known. */
export type Catalogue = ReturnType<typeof catalogueOf>;

/** The ids of the fields with a role, best first. */
export const idsOf = ({ byRole }: Catalogue, role: FieldRole): readonly string[] => byRole.get(role) ?? [];

/**
 * Finds the fields that mean something: those that are named in their order, others in that of their ids. `fieldsById`: rows of `tracker.fields`.
 * `byRole`: ids of the fields with a role, best first; company-managed and team-managed projects may each have their own story points, and a site
 * into which others were imported several fields of each; an issue uses one of them. `customByName`: ids of custom fields by name, for names of
 * one field only.
 */
export const catalogueOf = (fieldsById: ReadonlyMap<string, Row>, own: OwnFields = {}) => {
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
  facts: readonly (readonly [id: string, fact: Row])[],
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

/**
 * Raise it when the same issue becomes other rows, or more of it is asked for: every warehouse then reads all
 * issues once more.
 */
const edition = 'edition 7';

/** What decides which rows an issue becomes; its text changes when the rows would. */
export const mappingBy = ({ fieldsById, byRole }: Catalogue, whole: boolean): MappingFingerprint => {
  const fields = [...fieldsById].flatMap(([id, { custom }]) => (custom === true ? [id] : []));
  return { edition, mapping: [...byRole].join('; '), whole, ...(whole && { fields }) };
};

/** `story points: Story-Punkte (customfield_10026)`; said where there are any, and always of story points. */
export const foundIn = ({ fieldsById, byRole }: Catalogue): readonly string[] =>
  [...byRole].flatMap(([role, ids]) => {
    const each = ids.map((id) => `${fieldsById.get(id)?.name ?? 'not listed'} (${id})`);
    if (each.length === 0 && role !== 'story_points') return [];
    const none = "no field is known by its type or name; TRACKER_STORY_POINTS_FIELDS names a site's own";
    return `${aboutRole(role)}: ${each.join(', then ') || none}`;
  });

/** What the configuration names in vain. */
export const lackingIn = ({ fieldsById }: Catalogue, own: OwnFields): readonly Misconfigured[] =>
  fieldRoles.flatMap((role) =>
    namedFor(own, role)
      .filter((name) => ![...fieldsById.values()].some((field) => isCalled(field, name)))
      .map((name) => `${aboutRole(role)}: the site shows no field with the id or name ${name}`)
      .map((lack) => new Misconfigured(lack)),
  );

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
