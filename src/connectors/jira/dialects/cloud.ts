/** Servers with version 3 of the REST API: Jira Cloud, and those of the contract. */

import { sending } from '../account.ts';
import { epochMillis, quotedMinutes } from '../jql.ts';
import type { JiraDialect } from './dialect.ts';

/** The shape that everything else is turned into. */
export const cloud: JiraDialect = {
  title: 'Jira Cloud',
  adapt: (http) => http,
  issue: (record) => record,
  dates: epochMillis,
};

/**
 * Parameters of lists that the contract does not name, and that a server may refuse: archived projects,
 * descriptions and leads; inactive members; issues by ids alone.
 */
const unnamed = { status: undefined, expand: undefined, includeInactiveUsers: undefined, fields: undefined };

/**
 * A server that does not say what it is: it has the endpoints of the tracker's contract, and may have others
 * of the cloud's. The contract names `created >= <date>` and leaves open how a date is written.
 */
export const contract: JiraDialect = {
  ...cloud,
  title: 'a tracker that does not say what it is',
  adapt: (http) =>
    sending(http, ({ query, ...request }, signal) =>
      http.send(query === undefined ? request : { ...request, query: { ...query, ...unnamed } }, signal),
    ),
  dates: quotedMinutes,
};
