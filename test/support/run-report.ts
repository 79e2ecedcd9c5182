import { noCounts, type RunReport } from '../../src/core/run.ts';

/** The report of a sync that read no stream and succeeded, with what is told otherwise. */
export const runReport = (told: Partial<RunReport> = {}): RunReport => ({
  runId: '1',
  pipeline: 'tracker',
  kind: 'sync',
  status: 'succeeded',
  streams: [],
  counts: noCounts,
  deleted: 0,
  requests: 0,
  retries: 0,
  throttledMs: 0,
  seconds: 1,
  ...told,
});
