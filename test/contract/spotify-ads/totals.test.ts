import { afterEach, expect, test } from 'vitest';
import { fieldsOf, sumsOf } from '../../../simulators/spotify-ads/metrics.ts';
import { type AdsRig, openAdsRig } from '../../support/ads-rig.ts';

let rig: AdsRig;
afterEach(async () => {
  expect(rig.platform.errors).toEqual([]);
  await rig.close();
});

const day = 86_400_000;
const small = { accounts: 1, campaigns: 2, adSetsPerCampaign: 1, adsPerAdSet: 2, days: 40 } as const;
const streams = ['businesses', 'ad_accounts', 'campaigns', 'ads', 'ad_sets', 'report_daily', 'report_totals'];
const isTotal = ({ query }: { readonly query: Readonly<Record<string, string>> }): boolean =>
  query.fields === 'IMPRESSIONS,CLICKS,REACH,FREQUENCY';
const asked = (since = 0) => rig.platform.log.slice(since).filter(isTotal).length;
const gaps = () => rig.notes.filter((note) => note.includes('totals are not the sum of their days'));
interface Row {
  readonly id: string;
  readonly level: 'AD_ACCOUNT' | 'CAMPAIGN';
  readonly period: string;
  readonly from: string;
  readonly to: string;
  readonly reach: number;
  readonly impressions: number;
}
const rows = () =>
  rig.rows<Row>(`select entity_id as id, entity_type as level, period, reach_period::int as reach, impressions_period::int as impressions,
    period_start_at::text as from, period_end_at::text as to from bi.reach_periods where is_latest order by 3, 1`);

/** Reach adds up over no days: only the platform can count the people of a period (OpenAPI, AggregatedTotalsResponse). */
test('people of a month and of the last 7 and 30 days are counted once, and agree with the days', async () => {
  rig = await openAdsRig({ ...small, dialect: 'vendor' });
  const { state, clock } = rig.platform;
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  const found = await rows();
  // Forty days back from the night of 30 June: May and June.
  expect(found.map(({ period }) => period)).toEqual(
    ['2026-05', '2026-06', 'LAST_30_DAYS', 'LAST_7_DAYS'].flatMap((period) => [period, period, period]),
  );
  for (const { id, level, from, to, reach, impressions, period } of found) {
    const sums = sumsOf(state, level, id, Date.parse(from), Date.parse(to));
    const { REACH, IMPRESSIONS } = sums === undefined ? {} : fieldsOf(sums);
    expect([reach, impressions], `${level} ${period}`).toEqual([Number(REACH), Number(IMPRESSIONS)]);
  }
  expect(gaps()).toEqual([]);
  // One for each, and one that finds out whether the server has totals.
  expect(asked()).toBe(13);

  // The same night asks for nothing; the next one for what has a new day: May is over and agrees.
  const before = rig.platform.log.length;
  expect(await rig.sync({ streams })).toMatchObject({ counts: { inserted: 0, updated: 0 } });
  expect(asked(before)).toBe(0);
  clock.advance(day);
  const next = rig.platform.log.length;
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  expect(asked(next)).toBe(10);
});

test('totals that are not the sum of their days are said, by account, entity and period', async () => {
  rig = await openAdsRig({ ...small, dialect: 'vendor' });
  const { state } = rig.platform;
  const [owner] = state.accounts.values();
  // A day of May by which the report by day is wrong.
  const at = Date.parse('2026-05-25T00:00:00Z');
  const [campaign] = state.campaigns.values();
  const sums = sumsOf(state, 'CAMPAIGN', campaign?.id ?? '', at, at + day);
  expect(sums).toBeDefined();
  state.restate('CAMPAIGN', campaign?.id ?? '', '2026-05-25', 'IMPRESSIONS', '1.0');
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  expect(gaps()).toEqual([
    expect.stringMatching(
      `${owner?.name} \\(${owner?.id}\\): 1 totals are not the sum of their days; CAMPAIGN ${campaign?.id}, MONTH from 2026-05-01 to 2026-05-31: `,
    ),
  ]);
});

test('a server of the contract has no totals: those of accounts come from their report', async () => {
  rig = await openAdsRig({ ...small, campaigns: 1, dialect: 'contract' });
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  expect(new Set((await rows()).map(({ level }) => level))).toEqual(new Set(['AD_ACCOUNT']));
});
