/** Jira as a connector: `source: jira({ … })` in a pipeline file. */
import { days, hours } from '../../core/time.ts';
import { defineConnector } from '../connector.ts';
import { authOf, check, settings } from './config.ts';
import { issueTables } from './issue-tables.ts';
import * as tables from './tables.ts';

/** All tables of the schema. */
export const trackerTables = [...Object.values(tables), ...issueTables];

export const jira = defineConnector({
  name: 'jira',
  about: 'Projects, boards, sprints and issues with their history, from the issue tracker.',
  schema: 'tracker',
  tables: trackerTables,
  settings,
  check,
  kinds: { 'jira-cloud': [], 'jira-data-center': ['auth=bearer'] },
  reconciles: true,
  reading: ({ start, lookbackHours, createdWindowDays }) => ({
    historyStart: start,
    lookbackMs: hours(lookbackHours),
    createdWindowMs: days(createdWindowDays),
  }),
  async open(values, tools) {
    const { openTracker } = await import('./source.ts');
    const auth = authOf(values);
    return openTracker(
      { ...values, auth, isPersonal: values.auth === 'bearer' },
      { note: tools.note, http: tools.httpOptions },
    );
  },
});
