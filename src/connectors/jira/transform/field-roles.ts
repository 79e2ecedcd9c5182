/**
 * What a field of a site means to the warehouse, whatever it is called there: by the vendor's type key, then by
 * its English name and its name, where the type of its values fits. The configuration may name others.
 */

import type { Row } from '../../../core/table.ts';

interface Kind {
  /** What it is, for people. */
  readonly about: string;
  /** The setting that names the fields of a site that has its own. */
  readonly setting: `${string}Fields`;
  /** Type keys that nothing else has. */
  readonly keys: readonly string[];
  /** Type of the values and of a list's elements, of fields that go by a name. */
  readonly type: string;
  readonly names: RegExp;
}

const agile = (key: string): readonly string[] => [`com.pyxis.greenhopper.jira:${key}`];
const teams = [
  'com.atlassian.jira.plugin.system.customfieldtypes:atlassian-team',
  'com.atlassian.teams:rm-teams-custom-field-team',
];

const kinds = {
  /** "Story Points" is company-managed and a plain number; "Story point estimate" is team-managed. */
  story_points: {
    ...{ about: 'story points', setting: 'storyPointsFields', type: 'number' },
    ...{ keys: agile('jsw-story-points'), names: /^story points?( estimate)?$/i },
  },
  sprint: {
    ...{ about: 'sprints', setting: 'sprintFields', type: 'array json' },
    ...{ keys: agile('gh-sprint'), names: /^sprint$/i },
  },
  epic_link: {
    ...{ about: 'epic links', setting: 'epicLinkFields', type: 'any' },
    ...{ keys: agile('gh-epic-link'), names: /^epic link$/i },
  },
  flagged: {
    ...{ about: 'flags', setting: 'flaggedFields', type: 'array option' },
    ...{ keys: [], names: /^flagged$/i },
  },
  team: { about: 'teams', setting: 'teamFields', keys: teams, type: 'team', names: /^team$/i },
  start_date: {
    ...{ about: 'start dates', setting: 'startDateFields', type: 'date' },
    ...{ keys: [], names: /^start date$/i },
  },
} as const satisfies Readonly<Record<string, Kind>>;

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

const isOf = ({ keys, type, names }: Kind, field: Row): boolean =>
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
