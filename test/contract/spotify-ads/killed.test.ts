import { afterEach, expect, test } from 'vitest';
import { type AdsSimulator, startAds } from '../../../simulators/spotify-ads/server.ts';
import { adSetLines, adSetQuery, dailyLines, dailyQuery } from '../../support/ads-truth.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { start } from '../../unit/cli/command.ts';

let platform: AdsSimulator;
let database: TestDatabase;
afterEach(async () => {
  expect(platform.errors).toEqual([]);
  await platform.close();
  await database.drop();
});

const lines = async (query: string): Promise<readonly string[]> =>
  (await database.warehouse.pool.query<{ line: string }>(query)).rows.map(({ line }) => line);

const truth = () => dailyLines(platform.state, new Date('2026-06-01'), new Date('2026-06-30'));

test('a sync that is killed in reports, insights and CSV and then repeated gives the platform’s rows', async () => {
  const sizes = { accounts: 1, campaigns: 2, adSetsPerCampaign: 1, adsPerAdSet: 1, days: 20 };
  const now = new Date('2026-06-30T02:00:00Z');
  platform = await startAds({ seed: 7, now, dialect: 'vendor', ...sizes });
  database = await testDatabase();
  const env = {
    DATABASE_URL: database.url,
    ADS_BASE_URL: platform.url,
    ADS_ACCESS_TOKEN: platform.tokens.token,
    ADS_SDK_HEADER: platform.sdkHeader,
    ADS_REPORT_HOSTS: new URL(platform.storage.origin).host,
    ADS_REQUESTS_PER_SECOND: '0',
    ADS_REPORT_REQUESTS_PER_SECOND: '0',
    ADS_START: '2026-06-01',
  };
  const fired: string[] = [];
  const points = [
    { endpoint: '/ad_accounts/{id}/aggregate_reports', nth: 6 },
    { endpoint: '/ad_accounts/{id}/insight_reports', nth: 20 },
    { endpoint: '/ad_accounts/{id}/async_reports/{report}' },
  ];
  for (const point of points) {
    const running = start(['sync', 'ads', '--quiet'], { env });
    const rule = platform.script.at(point, () => {
      fired.push(point.endpoint);
      running.kill('SIGKILL');
    });
    await running.ended;
    rule.cancel();
    const rows = new Set(truth());
    expect(
      (await lines(dailyQuery)).filter((line) => !rows.has(line)),
      'rows that are not the platform’s',
    ).toEqual([]);
  }
  expect(fired).toEqual(points.map(({ endpoint }) => endpoint));
  const last = await start(['sync', 'ads'], { env }).ended;
  expect({ code: last.code, err: last.code === 0 ? '' : last.err }).toEqual({ code: 0, err: '' });
  expect(await lines(dailyQuery)).toEqual(truth());
  expect(await lines(adSetQuery)).toEqual(adSetLines(platform.state));
  const sums = `select sum(spend)::text as line from ads.report_csv
    union select sum(spend)::text from ads.report_daily where entity_type = 'AD'`;
  expect(await lines(sums)).toHaveLength(1);
});
