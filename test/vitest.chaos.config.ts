import { defineConfig } from 'vitest/config';
import crash from './vitest.crash.config.ts';

/** Faults by seed on a fleet of processes: `npm run test:chaos`. */
export default defineConfig({
  ...crash,
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/chaos/chaos.test.ts'],
    maxWorkers: 1,
    testTimeout: 7_200_000,
    hookTimeout: 180_000,
  },
});
