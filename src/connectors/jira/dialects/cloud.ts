/** Jira Cloud: its REST API v3 is the shape that everything else is turned into. */

import { epochMillis, quotedMinutes } from '../jql.ts';
import type { Dialect } from './dialect.ts';

export const cloud: Dialect = {
  title: 'Jira Cloud',
  adapt: (http) => http,
  issue: (record) => record,
  // Its documents name the quoted form only. Unquoted milliseconds are absolute, whatever the account's zone
  // (airbytehq/airbyte#48395, onyx-dot-app/onyx#14114).
  dates: (timeZone) => [epochMillis, quotedMinutes(timeZone)],
  checksDates: false,
};
