/** Fields of an issue with a column, a table or no information of their own (computed from others, or about the caller). */
const ids: ReadonlySet<string> = new Set([
  ...[
    'project',
    'issuetype',
    'status',
    'priority',
    'resolution',
    'parent',
    'epic',
    'assignee',
    'reporter',
    'creator',
  ],
  ...[
    'summary',
    'description',
    'environment',
    'labels',
    'components',
    'fixVersions',
    'versions',
    'issuelinks',
  ],
  ...[
    'security',
    'duedate',
    'created',
    'updated',
    'resolutiondate',
    'statuscategorychangedate',
    'votes',
    'watches',
  ],
  ...['timeoriginalestimate', 'timeestimate', 'timespent', 'timetracking', 'comment', 'worklog'],
  ...['sprint', 'closedSprints'],
  ...[
    'aggregatetimeoriginalestimate',
    'aggregatetimeestimate',
    'aggregatetimespent',
    'aggregateprogress',
    'progress',
  ],
  ...['workratio', 'lastViewed', 'thumbnail', 'subtasks', 'statusCategory', 'issuekey'],
]);

/** Whether a field is known to be the tracker's own, by its id. */
export const isSystemField = (id: string): boolean => ids.has(id);
