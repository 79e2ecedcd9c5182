/** Jira Cloud: its REST API v3 is the shape that everything else is turned into. */

import { epochMillis } from '../jql.ts';
import type { Dialect } from './dialect.ts';

export const cloud: Dialect = {
  title: 'Jira Cloud',
  adapt: (http) => http,
  issue: (record) => record,
  dates: epochMillis,
};
