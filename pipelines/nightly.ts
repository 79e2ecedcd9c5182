import type { Nightly } from './pipeline.ts';
import { everyNight } from './schedules.ts';

export const nightly: Nightly = {
  name: 'nightly',
  about:
    'Every configured pipeline in turn, then the reconciliation of those for which it is due, then the hand-off.',
  jobs: [{ does: 'sync', on: everyNight }],
};
