import { afterEach, describe, expect, test } from 'vitest';
import { microsOf } from '../../../../simulators/spotify-ads/fields.ts';
import { type Level, levels } from '../../../../simulators/spotify-ads/model.ts';
import { type AdsOptions, type AdsSimulator, startAds } from '../../../../simulators/spotify-ads/server.ts';
import { type AdsRow, adsAsk, stat } from './ask.ts';

const day = 86_400_000;
const now = new Date('2026-06-30T02:00:00Z');
let ads: AdsSimulator;
let ask: ReturnType<typeof adsAsk>;
const start = async (options: AdsOptions = {}): Promise<void> => {
  ads = await startAds({ now, days: 40, ...options });
  ask = adsAsk(ads);
};
afterEach(async () => {
  expect(ads.errors).toEqual([]);
  await ads.close();
});

const daily = (
  level: string,
  from: string,
  to: string,
  fields: readonly string[] = ['SPEND', 'IMPRESSIONS'],
) => ({
  entity_type: level,
  granularity: 'DAY',
  report_start: `${from}T00:00:00Z`,
  report_end: `${to}T00:00:00Z`,
  fields,
});
const report = () => `${ask.account}/aggregate_reports`;
const owner = (): string => ask.account.slice('/ad_accounts/'.length);
const firstAd = (): string =>
  [...ads.state.ads.values()].find(({ accountId }) => accountId === owner())?.id ?? '';

describe('aggregate reports', () => {
  test('the end of a day report is inclusive, and a day without delivery has no row', async () => {
    await start();
    const rows = await ask.rows(ask.account, daily('AD_ACCOUNT', '2026-06-01', '2026-06-03'));
    expect(rows.map(({ start_time, end_time }) => [start_time, end_time])).toEqual(
      [1, 2, 3].map((n) => [`2026-06-0${n}T00:00:00Z`, `2026-06-0${n + 1}T00:00:00Z`]),
    );
    const all = await ask.rows(ask.account, daily('AD', '2026-05-21', '2026-06-29'));
    const mine = [...ads.state.ads.values()].filter(({ accountId }) => accountId === owner());
    expect(all.length).toBeLessThan(mine.length * 40);
    expect(all.length).toBeGreaterThan(mine.length * 30);
    expect(all.every((row) => (stat(row, 'IMPRESSIONS') ?? 0) > 0)).toBe(true);
    // Before anything began there is nothing.
    expect(await ask.rows(ask.account, daily('AD', '2026-04-01', '2026-05-20'))).toEqual([]);
  });

  test.each([
    ['empty', ''],
    ['null', null],
    ['absent', undefined],
  ] as const)(
    'a token is sent alone; whatever comes with it is ignored and warned of; the last page’s is %s',
    async (lastToken, last) => {
      await start({ lastToken });
      const first = await ask.get(report(), { ...daily('AD', '2026-06-01', '2026-06-29'), limit: 7 });
      expect(first.body.rows).toHaveLength(7);
      const token = first.body.continuation_token ?? '';
      const alone = await ask.get(report(), { continuation_token: token });
      expect(alone.body.rows).toHaveLength(7);
      expect(alone.body.warnings).toBeNull();
      const more = await ask.get(report(), { continuation_token: token, entity_type: 'CAMPAIGN', limit: 50 });
      expect(more.body.rows).toEqual(alone.body.rows);
      expect(more.body.warnings).toHaveLength(1);
      expect((await ask.get(report(), { continuation_token: 'made-up' })).status).toBe(400);
      const whole = await ask.get(report(), daily('AD_ACCOUNT', '2026-06-01', '2026-06-02'));
      expect(whole.body.continuation_token).toBe(last);
      const paged = await ask.rows(ask.account, { ...daily('AD', '2026-06-01', '2026-06-29'), limit: 7 });
      expect(paged).toEqual(await ask.rows(ask.account, daily('AD', '2026-06-01', '2026-06-29')));
    },
  );

  test('levels add up: accounts are the sum of their campaigns, ad sets and ads, to the micro; reach is not', async () => {
    await start({ days: 20 });
    const fields = ['SPEND', 'REVENUE', 'IMPRESSIONS', 'PAGE_VIEWS', 'REACH'];
    const truth = ads.truth();
    const [from, to] = [new Date('2026-06-10T00:00:00Z'), new Date('2026-06-29T00:00:00Z')];
    const sums = new Map<Level, { spend: bigint; impressions: number; reach: number; rows: number }>();
    for (const level of levels) {
      const told = await ask.rows(ask.account, daily(level, '2026-06-10', '2026-06-28', fields));
      const real = [...truth.days(level, from, to)].filter(({ accountId }) => accountId === owner());
      // What is served is what the truth says, row by row.
      expect(told.map(served)).toEqual(
        real.map(
          ({ id, start: at, fields: of }) =>
            `${id} ${at?.toISOString().slice(0, 10)} ${Number(of.get('SPEND'))}`,
        ),
      );
      sums.set(level, {
        spend: real.reduce((sum, row) => sum + microsOf(row.fields.get('SPEND') ?? ''), 0n),
        impressions: told.reduce((sum, row) => sum + (stat(row, 'IMPRESSIONS') ?? 0), 0),
        reach: told.reduce((sum, row) => sum + (stat(row, 'REACH') ?? 0), 0),
        rows: told.length,
      });
    }
    const [account, campaign, adSet, ad] = levels.map((level) => sums.get(level));
    for (const one of [campaign, adSet, ad])
      expect([one?.spend, one?.impressions]).toEqual([account?.spend, account?.impressions]);
    expect(account?.reach).toBeLessThan(campaign?.reach ?? 0);
    expect(adSet?.reach).toBeLessThan(ad?.reach ?? 0);
    expect(ad?.rows).toBeGreaterThan(adSet?.rows ?? 0);
  });

  test('hours are told for two weeks, add up to their day, and today’s to what today tells so far', async () => {
    await start();
    const hourly = { entity_type: 'AD_ACCOUNT', granularity: 'HOUR', fields: ['IMPRESSIONS', 'SPEND'] };
    const hours = (from: string, to: string) =>
      ask.rows(ask.account, { ...hourly, report_start: `${from}:00:00Z`, report_end: `${to}:00:00Z` });
    const rows = await hours('2026-06-20T00', '2026-06-20T23');
    expect(rows).toHaveLength(24);
    const [whole] = await ask.rows(ask.account, daily('AD_ACCOUNT', '2026-06-20', '2026-06-20'));
    expect(rows.reduce((sum, row) => sum + (stat(row, 'IMPRESSIONS') ?? 0), 0)).toBe(
      stat(whole, 'IMPRESSIONS'),
    );
    ads.clock.advance(3 * 3_600_000 + 600_000);
    const today = await hours('2026-06-30T00', '2026-06-30T23');
    expect(today.map(({ start_time }) => start_time).at(-1)).toBe('2026-06-30T05:00:00Z');
    const [soFar] = await ask.rows(ask.account, daily('AD_ACCOUNT', '2026-06-30', '2026-06-30'));
    expect(today.reduce((sum, row) => sum + (stat(row, 'IMPRESSIONS') ?? 0), 0)).toBe(
      stat(soFar, 'IMPRESSIONS'),
    );
    const old = { ...hourly, report_start: '2026-06-10T00:00:00Z', report_end: '2026-06-20T00:00:00Z' };
    expect((await ask.get(report(), old)).status).toBe(400);
    const truth = [
      ...ads.truth().hours('AD_ACCOUNT', new Date('2026-06-20T00:00:00Z'), new Date('2026-06-21T00:00:00Z')),
    ];
    expect(truth.filter(({ id }) => id === owner()).map(({ fields }) => Number(fields.get('SPEND')))).toEqual(
      rows.map((row) => stat(row, 'SPEND')),
    );
  });

  test('a lifetime has no times and no dates, and is the sum of its days', async () => {
    await start();
    const life = { entity_type: 'CAMPAIGN', fields: ['IMPRESSIONS', 'REACH'] };
    const rows = await ask.rows(ask.account, life);
    expect(rows.map(({ start_time, end_time }) => [start_time, end_time])).toEqual(
      rows.map(() => [null, null]),
    );
    expect(rows).toHaveLength(3);
    const days = await ask.rows(ask.account, daily('CAMPAIGN', '2026-05-21', '2026-06-30'));
    for (const row of rows) {
      const own = days.filter(({ entity_id }) => entity_id === row.entity_id);
      expect(own.reduce((sum, one) => sum + (stat(one, 'IMPRESSIONS') ?? 0), 0)).toBe(
        stat(row, 'IMPRESSIONS'),
      );
    }
    const below = await ask.rows(ask.account, {
      entity_type: 'AD',
      fields: ['SPEND'],
      entity_ids: [rows[0]?.entity_id ?? ''],
      entity_ids_type: 'CAMPAIGN',
    });
    expect(below).toHaveLength(4);
  });

  test('a count of one to four is told as -5, and what is made of it too; a field asked for twice is told twice', async () => {
    await start();
    const fields = ['LEADS', 'COST_PER_LEAD', 'PURCHASES', 'REVENUE', 'LEADS'];
    const rows = await ask.rows(ask.account, daily('AD', '2026-05-21', '2026-06-29', fields));
    const leads = rows.map((row) => stat(row, 'LEADS') ?? 0);
    expect(leads).toContain(-5);
    expect(leads).toContain(0);
    expect(leads.filter((one) => one > 0 && one < 5)).toEqual([]);
    expect(
      rows.filter((row) => stat(row, 'LEADS') === -5).every((row) => stat(row, 'COST_PER_LEAD') === -5),
    ).toBe(true);
    expect(
      rows.filter((row) => stat(row, 'PURCHASES') === -5).every((row) => stat(row, 'REVENUE') === -5),
    ).toBe(true);
    expect(rows[0]?.stats.map(({ field_type }) => field_type)).toEqual(fields);
  });

  test('the numbers of a day grow, are corrected on the tenth, and then stand still', async () => {
    await start();
    const told = async () => ask.rows(ask.account, daily('AD', '2026-06-29', '2026-06-29', ['SPEND']));
    const seen: string[] = [];
    for (let age = 0; age < 15; age += 1) {
      seen.push((await told()).map((row) => stat(row, 'SPEND')).join());
      ads.clock.advance(day);
    }
    const changed = seen.map((one, age) => age > 0 && one !== seen[age - 1]);
    expect(changed.flatMap((yes, age) => (yes ? [age] : []))).toEqual([1, 2, 3, 10]);
  });
});

const served = (row: AdsRow): string =>
  `${row.entity_id} ${row.start_time?.slice(0, 10)} ${stat(row, 'SPEND')}`;

describe('insight reports', () => {
  test('one entity and one dimension over the lifetime; the parts add up to the whole', async () => {
    await start();
    const [campaign = ''] = [...ads.state.campaigns.values()]
      .filter(({ accountId }) => accountId === owner())
      .map(({ id }) => id);
    const path = `${ask.account}/insight_reports`;
    const good = {
      insight_dimension: 'GENDER',
      entity_ids: [campaign],
      entity_ids_type: 'CAMPAIGN',
      fields: ['IMPRESSIONS'],
    };
    const { body } = await ask.get(path, good);
    expect(body.rows.map(({ insight_value }) => insight_value)).toEqual(['FEMALE', 'MALE', 'NON_BINARY']);
    const [life] = await ask.rows(ask.account, { entity_type: 'CAMPAIGN', fields: ['IMPRESSIONS'] });
    expect(body.rows.reduce((sum, row) => sum + (stat(row, 'IMPRESSIONS') ?? 0), 0)).toBe(
      stat(life, 'IMPRESSIONS'),
    );
    const wrong = {
      'two entities': { ...good, entity_ids: [campaign, campaign] },
      'an ad': { ...good, entity_ids: [firstAd()], entity_ids_type: 'AD' },
      'an unknown dimension': { ...good, insight_dimension: 'MOOD' },
      'a field it has not': { ...good, fields: ['SPEND'] },
      dates: { ...good, report_start: '2026-06-01T00:00:00Z' },
    };
    for (const [what, query] of Object.entries(wrong))
      expect([what, (await ask.get(path, query)).status]).toEqual([what, 400]);
  });

  test('too few impressions are 422 with a code of their own', async () => {
    await start();
    const made = ads.state.createCampaign(owner(), 'Nobody heard it');
    const query = {
      insight_dimension: 'AGE',
      entity_ids: [made.id],
      entity_ids_type: 'CAMPAIGN',
      fields: ['CLICKS'],
    };
    const { status, body } = await ask.get(`${ask.account}/insight_reports`, query);
    expect(status).toBe(422);
    expect(body.error_codes?.[0]?.code).toBe('ILLEGAL.INSIGHT_REPORT.INSUFFICIENT_IMPRESSIONS');
  });
});
