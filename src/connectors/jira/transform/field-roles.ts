/**
 * What a field of a site means to the warehouse, whatever it is called there: by the vendor's type key, then by
 * its English name and its name, where the type of its values fits. The configuration may name others.
 */

import type { Row } from '../../../core/table.ts';

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

export type FieldRole = keyof typeof kinds;

export const fieldRoles = Object.keys(kinds) as readonly FieldRole[];

/** What a role is, for people. */
export const aboutRole = (role: FieldRole): string => kinds[role].about;

/** Ids or names of the fields that the configuration names for a role; nothing else then has that role. */
export type OwnFields = Readonly<
  Partial<Record<(typeof kinds)[FieldRole]['setting'], readonly string[] | undefined>>
>;

/** What is named for a role. */
export const namedFor = (own: OwnFields, role: FieldRole): readonly string[] =>
  own[kinds[role].setting] ?? [];

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
export const isCalled = (field: Row, name: string): boolean =>
  [String(field.id), ...namesOf(field)].some((each) => each.toLowerCase() === name.toLowerCase());
