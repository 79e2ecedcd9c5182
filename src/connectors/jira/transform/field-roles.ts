/**
 * What a field of a site means to the warehouse, whatever it is called there: by the vendor's type key, then by
 * its English name and its name, where the type of its values fits. The configuration may name others.
 */

import type { Row } from '../../../core/table.ts';

interface Kind {
  /** What it is, for people. */
  readonly about: string;
  /** Type keys that nothing else has. */
  readonly keys: readonly string[];
  /** Type of the values and of a list's elements, of fields that go by a name. */
  readonly type: string;
  readonly names: RegExp;
}

const agile = (key: string): readonly string[] => [`com.pyxis.greenhopper.jira:${key}`];

const kinds = {
  /** "Story Points" is company-managed and a plain number; "Story point estimate" is team-managed. */
  story_points: {
    about: 'story points',
    keys: agile('jsw-story-points'),
    type: 'number',
    names: /^story points?( estimate)?$/i,
  },
  sprint: { about: 'sprints', keys: agile('gh-sprint'), type: 'array json', names: /^sprint$/i },
  epic_link: { about: 'epic links', keys: agile('gh-epic-link'), type: 'any', names: /^epic link$/i },
  flagged: { about: 'flags', keys: [], type: 'array option', names: /^flagged$/i },
  team: {
    about: 'teams',
    keys: [
      'com.atlassian.jira.plugin.system.customfieldtypes:atlassian-team',
      'com.atlassian.teams:rm-teams-custom-field-team',
    ],
    type: 'team',
    names: /^team$/i,
  },
  start_date: { about: 'start dates', keys: [], type: 'date', names: /^start date$/i },
} as const satisfies Readonly<Record<string, Kind>>;

export type FieldRole = keyof typeof kinds;

export const fieldRoles = Object.keys(kinds) as readonly FieldRole[];

/** What a role is, for people. */
export const aboutRole = (role: FieldRole): string => kinds[role].about;

/** Ids or names of the fields that the configuration names for a role; nothing else then has that role. */
export type OwnFields = Readonly<Partial<Record<FieldRole, readonly string[]>>>;

/** The role of a field, a row of `tracker.fields`, and its place among those that the configuration names. */
export const roleOf = (field: Row, own: OwnFields): { role: FieldRole | null; role_place: number | null } => {
  const named = fieldRoles.flatMap((role) => {
    const place = own[role]?.findIndex((name) => isCalled(field, name)) ?? -1;
    return place < 0 ? [] : [{ role, role_place: place }];
  });
  const known = fieldRoles.find((role) => !own[role]?.length && isOf(kinds[role], field));
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
