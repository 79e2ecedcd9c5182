/** What is known of a site's fields, and which of them mean something to us. */
import { isSystemField } from './system-fields.ts';

/** One field of the site. */
export interface FieldFact {
  readonly name: string;
  readonly custom: boolean;
  readonly schemaType?: string | null | undefined;
  readonly itemsType?: string | null | undefined;
  /** Type key of a custom field, e.g. `com.pyxis.greenhopper.jira:gh-sprint`. */
  readonly schemaCustom?: string | null | undefined;
}

/** The fields of a site. Everything in it may be empty: sprints are then known by their shape, points and epic links not at all. */
export interface Catalogue {
  readonly fieldsById: ReadonlyMap<string, FieldFact>;
  /** Ids of the story point fields, best first: a site can have one for company-managed and one for team-managed projects. */
  readonly storyPoints: readonly string[];
  /** Ids of the sprint fields: a site that others were imported into can have several, and an issue uses one of them. */
  readonly sprintFields: readonly string[];
  /** Ids of the epic link fields, as many for the same reason. */
  readonly epicLinks: readonly string[];
  /** Ids of the custom fields by name, where a name means but one of them. */
  readonly customByName: ReadonlyMap<string, string>;
}

const SPRINT = 'com.pyxis.greenhopper.jira:gh-sprint';
const EPIC_LINK = 'com.pyxis.greenhopper.jira:gh-epic-link';
const STORY_POINTS = 'com.pyxis.greenhopper.jira:jsw-story-points';

/**
 * The catalogue with the fields that mean something picked out by their type keys, story points also by the vendor's two names
 * ("Story Points" of company-managed, "Story point estimate" of team-managed projects). The order of ids decides between equals.
 */
export const catalogueOf = (fieldsById: ReadonlyMap<string, FieldFact>): Catalogue => {
  const custom = [...fieldsById].filter(([, fact]) => fact.custom).sort(([a], [b]) => (a < b ? -1 : 1));
  const typed = (key: string): readonly string[] =>
    custom.flatMap(([id, fact]) => (fact.schemaCustom === key ? [id] : []));
  const points = custom.filter(
    ([, fact]) =>
      fact.schemaCustom === STORY_POINTS ||
      (fact.schemaType === 'number' && /^story points?( estimate)?$/i.test(fact.name.trim())),
  );
  return {
    fieldsById,
    storyPoints: points.map(([id]) => id),
    sprintFields: typed(SPRINT),
    epicLinks: typed(EPIC_LINK),
    customByName: byName(custom),
  };
};

/**
 * Raised by whoever changes the transform of issues so that a record as it was becomes other rows, or who asks for more of it: every warehouse
 * then reads all issues once more, the next time it syncs.
 */
export const edition = 'edition 5';

/** What sprints are known by where no field is: said anew where that changes, for those alone that read by it. */
const looks = 'by their looks, ids as number or text';

/** What issues are read by besides the edition, in words that change when the same issue would become other rows. */
export const issuesReadBy = ({ storyPoints, sprintFields, epicLinks }: Catalogue): string =>
  [
    `points ${storyPoints}`,
    `sprints ${sprintFields.length > 0 ? sprintFields : looks}`,
    `epics ${epicLinks}`,
  ].join('; ');

/** The ids of the site's custom fields. */
export const customIn = ({ fieldsById }: Catalogue): readonly string[] =>
  [...fieldsById].flatMap(([id, { custom }]) => (custom ? [id] : []));

export const noCatalogue: Catalogue = catalogueOf(new Map());

/** Several sprint fields of one name mean the same; other fields of one name do not. */
function byName(custom: readonly (readonly [string, FieldFact])[]): ReadonlyMap<string, string> {
  const found = new Map<string, readonly [string, FieldFact]>();
  const unclear = new Set<string>();
  for (const [id, fact] of custom) {
    const other = found.get(fact.name)?.[1];
    if (other === undefined) found.set(fact.name, [id, fact]);
    else if (other.schemaCustom !== SPRINT || fact.schemaCustom !== SPRINT) unclear.add(fact.name);
  }
  return new Map([...found].flatMap(([name, [id]]) => (unclear.has(name) ? [] : [[name, id] as const])));
}

/** The key of an issue, as changes of it are told: `issuekey` in every language, or the vendor's `Key`. */
export const isIssueKey = (fieldId: string): boolean => /^(issue)?key$/i.test(fieldId);

/** What a custom field without an id is called where its name alone would pass for a field of the tracker's own. */
const unnumbered = 'custom field ';

/**
 * The id of a custom field that a change tells by its name alone: that of the site's only field of the name, else the name. One that is gone
 * by now and was called like a field of the tracker's own (`status`, `Key`) must not be taken for that.
 */
export const customFieldId = (name: string, { customByName }: Catalogue): string =>
  customByName.get(name) ?? (isSystemField(name) || isIssueKey(name) ? `${unnumbered}${name}` : name);

/** Whether an id is that of a custom field: the vendor's, or one that `customFieldId` made. */
export const isCustomId = (fieldId: string): boolean =>
  fieldId.startsWith('customfield_') || fieldId.startsWith(unnumbered);
