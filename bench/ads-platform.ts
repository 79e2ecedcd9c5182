import type { Whole } from '../simulators/shared/faults.ts';
import { startAds } from '../simulators/spotify-ads/server.ts';

/**
 * The ads platform of the bench, in a process of its own: prints its address. Arguments: accounts, days, copies of each CSV row. What it made for the
 * warm-up it keeps: a real platform does not share our two cores.
 */
const [accounts = 2, days = 90, copies = 1] = process.argv.slice(2).map(Number);
const platform = await startAds({
  seed: 1,
  now: new Date('2026-06-30T02:00:00Z'),
  accounts,
  campaigns: 10,
  adSetsPerCampaign: 10,
  adsPerAdSet: 5,
  days,
  dialect: 'vendor',
  csv: { polls: 0, copies, kept: true },
});

/** Pages by account and token; a token holds the question and the place. */
const pages = new Map<string, Whole>();
const keyOf = (path: string, token: string | null | undefined): string =>
  `${path.slice(path.indexOf('/ad_accounts/'))} ${token ?? ''}`;
const reports = { endpoint: '/ad_accounts/{id}/aggregate_reports', times: Number.POSITIVE_INFINITY };
platform.script.at(
  { ...reports, match: ({ path, query }) => pages.has(keyOf(path, query.continuation_token)) },
  {
    name: 'kept',
    instead: ({ call }) => {
      const page = pages.get(keyOf(call.path, call.query.get('continuation_token')));
      if (page === undefined) throw new Error('the page was there a moment ago');
      return page;
    },
  },
);
platform.script.at(
  {
    ...reports,
    match: ({ path, query }) =>
      query.continuation_token !== undefined && !pages.has(keyOf(path, query.continuation_token)),
  },
  {
    name: 'keep',
    answer: (page, { call }) => {
      pages.set(keyOf(call.path, call.query.get('continuation_token')), page);
      return page;
    },
  },
);

console.log(
  JSON.stringify({
    ADS_BASE_URL: platform.url,
    ADS_ACCESS_TOKEN: platform.tokens.token,
    ADS_SDK_HEADER: platform.sdkHeader,
    ADS_REPORT_HOSTS: new URL(platform.storage.origin).host,
    ADS_REQUESTS_PER_SECOND: '0',
    ADS_REPORT_REQUESTS_PER_SECOND: '0',
    ADS_START: new Date(Date.UTC(2026, 5, 30) - days * 86_400_000).toISOString().slice(0, 10),
  }),
);
