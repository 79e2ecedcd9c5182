import type { Pipeline } from './pipeline.ts';
import { everyNight, everySunday } from './schedules.ts';

export const tracker: Pipeline = {
  name: 'tracker',
  about: 'Projects, boards, sprints and issues with their history, from the issue tracker.',
  source: 'tracker',
  needs: 'TRACKER_BASE_URL',
  jobs: [
    { does: 'sync', on: everyNight, within: 'nightly' },
    { does: 'reconcile', on: everySunday, within: 'nightly' },
  ],
};
