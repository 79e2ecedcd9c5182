import type { Pipeline } from './pipeline.ts';
import { everyNight } from './schedules.ts';

export const workflow: Pipeline = {
  name: 'workflow',
  about: 'DAGs, their runs and steps, from the workflow engine.',
  source: 'workflow',
  needs: 'WORKFLOW_BASE_URL',
  jobs: [{ does: 'sync', on: everyNight, within: 'nightly' }],
};
