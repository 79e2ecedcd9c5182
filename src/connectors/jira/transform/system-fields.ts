import { names } from '../../../core/record-object.ts';
import { issues } from '../issue-tables.ts';

/** Fields of an issue that become a column or a table. They are asked for by name; other system fields are not. */
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
