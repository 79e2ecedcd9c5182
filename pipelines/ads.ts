import type { Pipeline } from './pipeline.ts';
import { everyNight } from './schedules.ts';

export const ads: Pipeline = {
  name: 'ads',
  about: 'Accounts, campaigns, ads and their daily reports, from the advertising platform.',
  source: 'ads',
  needs: 'ADS_BASE_URL',
  jobs: [{ does: 'sync', on: everyNight, within: 'nightly' }],
};
