import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/order.ts';

export default defineConfig({
  // As a pipeline file imports it.
  resolve: {
    alias: {
      'tidemark/testing': new URL('simulators/testing/index.ts', import.meta.url).pathname,
      'tidemark/toolkit': new URL('src/toolkit.ts', import.meta.url).pathname,
      tidemark: new URL('src/index.ts', import.meta.url).pathname,
    },
  },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/chaos/chaos.test.ts', 'test/crash/**'],
    globalSetup: ['test/support/cluster.ts'],
    setupFiles: ['test/support/failures.ts'],
    sequence: { sequencer: LongestFirst },
    // Of two cores; many tests wait.
    maxWorkers: 3,
    // Files keep their state in their own databases, so that a worker loads `src` once, not for each file.
    isolate: false,
    // A nursery of V8's own size is collected again and again: some 10 % of the CPU time of a file.
    execArgv: ['--min-semi-space-size=16'],
    // A machine may be ten times as slow as usual: a hang is found late rather than slowness for a hang.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 90_000 } },
  },
});
