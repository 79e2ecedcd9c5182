import { nightly, weekly } from './nightly.ts';
import type { Pipeline } from './pipeline.ts';

export const tracker: Pipeline = {
  name: 'tracker',
  about: 'Projects, boards, sprints and issues with their history, from the issue tracker.',
  source: 'tracker',
  needs: 'TRACKER_BASE_URL',
  jobs: [
    { does: 'sync', on: nightly },
    { does: 'census', on: weekly },
  ],
};
