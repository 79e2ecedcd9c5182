import { names } from '../../../core/record-object.ts';

/** Fields of an issue that have a column or a table. They are asked for by name; other system fields are not. */
export const systemFields: readonly string[] = [
  ...names(
    'project issuetype status priority resolution parent assignee reporter creator',
    'summary description environment labels components fixVersions versions issuelinks',
    'security duedate created updated resolutiondate statuscategorychangedate votes watches',
    'timeoriginalestimate timeestimate timespent timetracking comment worklog',
  ),
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
