import { nightly } from './nightly.ts';
import type { Pipeline } from './pipeline.ts';

export const ads: Pipeline = {
  name: 'ads',
  about: 'Accounts, campaigns, ads and their daily reports, from the advertising platform.',
  source: 'ads',
  needs: 'ADS_BASE_URL',
  jobs: [{ does: 'sync', on: nightly }],
};
