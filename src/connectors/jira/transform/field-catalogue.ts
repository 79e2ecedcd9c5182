/** The fields of a site, and those of them that mean something to the warehouse. */

import { names } from '../../../core/record-object.ts';
import type { Row } from '../../../core/table.ts';
import { issues } from '../issue-tables.ts';

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
 * Any part may be empty: sprints are then recognised by their shape; story points and epic links are not
 * known.
 */
export interface Catalogue {
  readonly fieldsById: ReadonlyMap<string, FieldFact>;
  /**
   * Ids of the story point fields, best first: company-managed and team-managed projects may each have their
   * own.
   */
  readonly storyPoints: readonly string[];
  /**
   * Ids of the sprint fields: a site into which others were imported may have several, and an issue uses one
   * of them.
   */
  readonly sprintFields: readonly string[];
  /** Ids of the epic link fields; several for the same reason. */
  readonly epicLinks: readonly string[];
  /** Ids of custom fields by name, for names of one field only. */
  readonly customByName: ReadonlyMap<string, string>;
}

const sprintType = 'com.pyxis.greenhopper.jira:gh-sprint';
const epicLinkType = 'com.pyxis.greenhopper.jira:gh-epic-link';
const storyPointsType = 'com.pyxis.greenhopper.jira:jsw-story-points';

/**
 * Story points also go by the vendor's two names: "Story Points" (company-managed), "Story point estimate"
 * (team-managed).
 */
const isStoryPoints = ({ name, schema_type, schema_custom }: FieldFact): boolean =>
  schema_custom === storyPointsType ||
  (schema_type === 'number' && /^story points?( estimate)?$/i.test(String(name).trim()));

/** Finds the fields that mean something by their type keys, in the order of their ids. */
export const catalogueOf = (fieldsById: ReadonlyMap<string, FieldFact>): Catalogue => {
  const custom = [...fieldsById]
    .filter(([, fact]) => fact.custom === true)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const idsWhere = (fits: (fact: FieldFact) => boolean) =>
    custom.flatMap(([id, fact]) => (fits(fact) ? [id] : []));
  return {
    fieldsById,
    storyPoints: idsWhere(isStoryPoints),
    sprintFields: idsWhere(({ schema_custom }) => schema_custom === sprintType),
    epicLinks: idsWhere(({ schema_custom }) => schema_custom === epicLinkType),
    customByName: byName(custom),
  };
};

/** Several sprint fields of one name mean the same; other fields of one name do not. */
const byName = (custom: readonly (readonly [id: string, fact: FieldFact])[]): ReadonlyMap<string, string> => {
  const byTheirName = Map.groupBy(custom, ([, { name }]) => String(name));
  return new Map(
    [...byTheirName].flatMap(([name, [first, ...others]]) => {
      const all = first === undefined || others.length === 0 ? [] : [first, ...others];
      const isClear = all.every(([, { schema_custom }]) => schema_custom === sprintType);
      return first !== undefined && isClear ? [[name, first[0]] as const] : [];
    }),
  );
};

export const noCatalogue: Catalogue = catalogueOf(new Map());

/**
 * Raise it when the same issue becomes other rows, or more of it is asked for: every warehouse then reads all
 * issues once more.
 */
export const edition = 'edition 7';

/** What else decides which rows an issue becomes, in words that change when the rows would. */
export const issuesReadBy = ({ storyPoints, sprintFields, epicLinks }: Catalogue): string =>
  `points ${storyPoints}; sprints ${sprintFields.length > 0 ? sprintFields : 'by their shape'}; epics ${epicLinks}`;

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
