/** What is known of a site's fields, and which of them mean something to us. */

/** One field of the site. */
export interface FieldFact {
  readonly name: string;
  readonly custom: boolean;
  readonly schemaType?: string | null | undefined;
  readonly itemsType?: string | null | undefined;
  /** Type key of a custom field, e.g. `com.pyxis.greenhopper.jira:gh-sprint`. */
  readonly schemaCustom?: string | null | undefined;
}

/** The fields of a site. Everything in it may be missing: sprints are then known by their shape, points and epic links not at all. */
export interface Catalogue {
  readonly fieldsById: ReadonlyMap<string, FieldFact>;
  /** Ids of the story point fields, best first: a site can have one for company-managed and one for team-managed projects. */
  readonly storyPoints?: readonly string[] | undefined;
  /** Ids of the sprint fields: a site that others were imported into can have several, and an issue uses one of them. */
  readonly sprintFields?: readonly string[] | undefined;
  /** Ids of the epic link fields, as many for the same reason. */
  readonly epicLinks?: readonly string[] | undefined;
}

export const noCatalogue: Catalogue = { fieldsById: new Map() };

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
  };
};
