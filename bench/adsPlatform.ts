import { startAds } from '../src/simulator/ads/server.ts';

/** The ads platform of the bench, in a process of its own: prints its address. Arguments: accounts, days, copies of each CSV row. */
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
  csv: { polls: 0, copies },
});

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
