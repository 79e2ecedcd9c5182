/** Which fields of an issue are asked for. */

import { Forbidden, Missing } from '../../core/errors.ts';
import type { Json } from '../../core/request.ts';
import { pages } from '../pages.ts';
import { fields } from './streams/vocabulary.ts';
import type { Tracker } from './tracker.ts';

/** The system's own fields that have a column or a table. What only repeats others, or tells about the reader, is left at the server. */
export const systemFields: readonly string[] = [
  ...['project', 'issuetype', 'status', 'priority', 'resolution', 'parent', 'assignee', 'reporter', 'creator'],
  ...['summary', 'description', 'environment', 'labels', 'components', 'fixVersions', 'versions', 'issuelinks'],
  ...['security', 'duedate', 'created', 'updated', 'resolutiondate', 'statuscategorychangedate', 'votes', 'watches'],
  ...['timeoriginalestimate', 'timeestimate', 'timespent', 'timetracking', 'comment', 'worklog'],
];

/** The records of the site's fields; undefined where the server has no list of them or does not show it to us. */
export const fieldRecords = async (tracker: Tracker, signal: AbortSignal): Promise<readonly Json[] | undefined> => {
  const records: Json[] = [];
  try {
    const walk = await fields(tracker).walk({}, signal);
    for await (const page of pages(tracker.http, walk, signal)) records.push(...page.records);
    return records;
  } catch (cause) {
    if (cause instanceof Missing || cause instanceof Forbidden) return undefined;
    throw cause;
  }
};

/** The system's fields and these of the site's own; all that there are where those are not known. */
export const issueFields = (custom: readonly string[] | undefined): readonly string[] =>
  custom === undefined ? ['*all', ...systemFields] : [...new Set([...systemFields, ...custom])];
