/** Which fields of an issue are asked for. */

import { Forbidden, Missing } from '../../core/errors.ts';
import type { Json } from '../../core/request.ts';
import { readFields } from './field-lists.ts';
import type { Tracker } from './jira.ts';

/** The system's own fields that have a column or a table. What only repeats others, or tells about the reader, is left at the server. */
export const systemFields: readonly string[] = [
  ...[
    'project',
    'issuetype',
    'status',
    'priority',
    'resolution',
    'parent',
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
];

/** What the agile API adds to an issue, as its sprint and epic: no custom fields, and at the vendor none of the list. */
const agileFields: readonly string[] = ['epic', 'sprint', 'closedSprints'];

/** The site's fields as far as they could be read. */
export interface KnownFields {
  readonly records: readonly Json[];
  /** False where the lists did not add up, or one was not given that the server has: there may be others. */
  readonly complete: boolean;
}

/**
 * The records of the site's fields; undefined where the server has no list of them or does not show it to us, which its first page says: what is
 * refused behind that is thrown. The vendor has two lists, and the one that the contract has leaves fields out there: without the other they are not
 * all, however the vendor says that it is not given. One by cursor is the contract's, with everything in it.
 */
export const fieldRecords = async (
  { http, account }: Tracker,
  signal: AbortSignal,
): Promise<KnownFields | undefined> => {
  const records: Json[] = [];
  const { known } = await account(signal);
  const { pages } = readFields(
    http,
    signal,
    (cause, { byPlaces }) => !(cause instanceof Missing) || (known && byPlaces),
  );
  try {
    for (;;) {
      const step = await pages.next();
      if (step.done === true) return { records, complete: step.value.matched };
      records.push(...step.value.records);
    }
  } catch (cause) {
    if (records.length === 0 && (cause instanceof Missing || cause instanceof Forbidden)) return undefined;
    throw cause;
  }
};

/** The system's fields and these of the site; where there may be others, all that there are besides: a server need not know the word for them. */
export const issueFields = (listed: readonly ListedField[], complete: boolean): readonly string[] => {
  // A server that lists the agile API's among the fields gives them where they are asked for.
  const wanted = listed.filter(({ id, custom }) => custom || agileFields.includes(id));
  return [...new Set([...(complete ? [] : ['*all']), ...systemFields, ...wanted.map(({ id }) => id)])];
};

/** A field of the site's list. */
export interface ListedField {
  readonly id: string;
  readonly custom: boolean;
}
