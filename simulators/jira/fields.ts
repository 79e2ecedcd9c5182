import type { Random } from '../shared/random.ts';
import { EPIC, type Field, FLAGGED, POINTS, SPRINT } from './model.ts';

const system = (id: string, name: string, type: string, items?: string): Field => ({
  id,
  name,
  custom: false,
  schema: { type, ...(items === undefined ? {} : { items }), system: id },
});

const custom = (id: string, name: string, kind: string, type: string, items?: string): Field => ({
  id,
  name,
  custom: true,
  schema: {
    type,
    ...(items === undefined ? {} : { items }),
    custom: kind,
    customId: Number(id.slice('customfield_'.length)),
  },
});

const standard = (kind: string): string => `com.atlassian.jira.plugin.system.customfieldtypes:${kind}`;

/** The project that manages itself and has a field of its own, where the site has as many projects. */
const selfManaged = '10002';
const scoped = (one: Field): Field => ({ ...one, scope: selfManaged });

/** Values of the fields that a project has for itself. */
export const ownValues = (r: Random, projectId: string): Record<string, unknown> =>
  projectId === selfManaged && r.chance(0.3) ? { customfield_10044: r.pick(['low', 'high']) } : {};

/** The fields of a new site: the system's own, and custom ones of every schema type, two of them with the same name. */
export const siteFields: readonly Field[] = [
  system('summary', 'Summary', 'string'),
  system('description', 'Description', 'string'),
  system('issuetype', 'Issue Type', 'issuetype'),
  system('project', 'Project', 'project'),
  system('status', 'Status', 'status'),
  system('statuscategorychangedate', 'Status Category Changed', 'datetime'),
  system('priority', 'Priority', 'priority'),
  system('resolution', 'Resolution', 'resolution'),
  system('resolutiondate', 'Resolved', 'datetime'),
  system('assignee', 'Assignee', 'user'),
  system('reporter', 'Reporter', 'user'),
  system('creator', 'Creator', 'user'),
  system('created', 'Created', 'datetime'),
  system('updated', 'Updated', 'datetime'),
  system('duedate', 'Due date', 'date'),
  system('labels', 'Labels', 'array', 'string'),
  system('components', 'Components', 'array', 'component'),
  system('fixVersions', 'Fix versions', 'array', 'version'),
  system('versions', 'Affects versions', 'array', 'version'),
  system('issuelinks', 'Linked Issues', 'array', 'issuelinks'),
  system('parent', 'Parent', 'issuelink'),
  system('subtasks', 'Sub-tasks', 'array', 'issuelinks'),
  system('timeoriginalestimate', 'Original estimate', 'number'),
  system('timeestimate', 'Remaining Estimate', 'number'),
  system('timespent', 'Time Spent', 'number'),
  system('timetracking', 'Time tracking', 'timetracking'),
  system('comment', 'Comment', 'comments-page'),
  system('worklog', 'Log Work', 'array', 'worklog'),
  system('votes', 'Votes', 'votes'),
  system('watches', 'Watchers', 'watches'),
  system('workratio', 'Work Ratio', 'number'),
  system('environment', 'Environment', 'string'),
  custom(EPIC, 'Epic Link', 'com.pyxis.greenhopper.jira:gh-epic-link', 'any'),
  custom(POINTS, 'Story point estimate', 'com.pyxis.greenhopper.jira:jsw-story-points', 'number'),
  custom('customfield_10019', 'Rank', 'com.pyxis.greenhopper.jira:gh-lexo-rank', 'any'),
  custom(SPRINT, 'Sprint', 'com.pyxis.greenhopper.jira:gh-sprint', 'array', 'json'),
  custom(FLAGGED, 'Flagged', standard('multicheckboxes'), 'array', 'option'),
  custom('customfield_10030', 'Team', standard('select'), 'option'),
  custom('customfield_10031', 'Affected platforms', standard('multiselect'), 'array', 'option'),
  custom('customfield_10032', 'Reviewer', standard('userpicker'), 'user'),
  custom('customfield_10033', 'Stakeholders', standard('multiuserpicker'), 'array', 'user'),
  custom('customfield_10034', 'Target date', standard('datepicker'), 'date'),
  custom('customfield_10035', 'Went live at', standard('datetime'), 'datetime'),
  custom('customfield_10036', 'Customer impact', standard('cascadingselect'), 'option-with-child'),
  custom('customfield_10037', 'Tags', standard('labels'), 'array', 'string'),
  custom('customfield_10038', 'Design link', standard('url'), 'string'),
  custom('customfield_10039', 'Release note', standard('textarea'), 'string'),
  custom('customfield_10040', 'Customer reference', standard('textfield'), 'string'),
  custom('customfield_10041', 'Effort score', standard('float'), 'number'),
  custom('customfield_10042', 'Severity', standard('radiobuttons'), 'option'),
  custom('customfield_10043', 'Team', standard('textfield'), 'string'),
  scoped(custom('customfield_10044', 'Risk', standard('textfield'), 'string')),
];
