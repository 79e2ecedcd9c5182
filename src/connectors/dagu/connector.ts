/** Dagu as a connector: `source: dagu({ … })` in a pipeline file. */
import { defineConnector } from '../connector.ts';
import { check, settings } from './config.ts';
import { workflowTables } from './tables.ts';

const source = () => import('./source.ts');

export const dagu = defineConnector({
  name: 'dagu',
  about: 'DAGs, their runs and steps, from the workflow engine.',
  schema: 'workflow',
  tables: workflowTables,
  settings,
  check,
  logins: ['token', 'username'],
  open: async (values, { note, httpOptions: http }) => (await source()).openWorkflow(values, { note, http }),
  openEngine: async (values, dags, proxies) => (await source()).openEngine(values, dags, { proxies }),
});
