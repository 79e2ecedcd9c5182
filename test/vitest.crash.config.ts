import { defineConfig } from 'vitest/config';

/** Every crash point, one after the other: `npm run test:crash`, for now and then, not for each change. */
export default defineConfig({
  resolve: {
    alias: {
      'tidemark/testing': new URL('../simulators/testing/index.ts', import.meta.url).pathname,
      'tidemark/toolkit': new URL('../src/toolkit.ts', import.meta.url).pathname,
      tidemark: new URL('../src/index.ts', import.meta.url).pathname,
    },
  },
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/crash/**/*.test.ts'],
    globalSetup: ['test/support/cluster.ts'],
    setupFiles: ['test/support/failures.ts'],
    maxWorkers: 2,
    testTimeout: 7_200_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 90_000 } },
    passWithNoTests: true,
  },
});
