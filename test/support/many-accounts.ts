import type { StreamSize } from '../../src/core/run.ts';

/** Insights of 100 ad accounts at the vendor's five report requests a second: more than a short night holds. */
export const insightsOfMany: StreamSize = {
  stream: 'insights',
  by: 'days',
  mode: 'restatement',
  slices: 100,
  requests: 60_000,
  perSecond: 5,
  owners: { count: 100, table: 'ads.ad_accounts' },
};
