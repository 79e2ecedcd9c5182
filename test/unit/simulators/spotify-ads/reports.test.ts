import { describe, expect, test } from 'vitest';
import { microsOf } from '../../../../simulators/spotify-ads/fields.ts';
import { type Level, levels } from '../../../../simulators/spotify-ads/model.ts';
import type { AdsOptions, AdsSimulator } from '../../../../simulators/spotify-ads/server.ts';
import { type adsAsk, simulated, stat } from './ask.ts';

const day = 86_400_000;
let ads: AdsSimulator;
let ask: ReturnType<typeof adsAsk>;
const start = async (options: AdsOptions = {}): Promise<void> => {
  ({ ads, ask } = await simulated({ days: 40, ...options }));
};

const daily = (level: string, from: string, to: string, fields = ['SPEND', 'IMPRESSIONS']) => ({
  entity_type: level,
  granularity: 'DAY',
  fields,
  report_start: `${from}T00:00:00Z`,
  report_end: `${to}T00:00:00Z`,
});
const report = () => `${ask.account}/aggregate_reports`;
const owner = (): string => ask.account.slice('/ad_accounts/'.length);
const firstOf = (those: ReadonlyMap<string, { readonly id: string; readonly accountId: string }>): string =>
  [...those.values()].find(({ accountId }) => accountId === owner())?.id ?? '';

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
    const from = new Date('2026-06-10T00:00:00Z');
    const to = new Date('2026-06-29T00:00:00Z');
    const sums = new Map<Level, { spend: bigint; impressions: number; reach: number; rows: number }>();
    for (const level of levels) {
      const served = await ask.rows(ask.account, daily(level, '2026-06-10', '2026-06-28', fields));
      const real = [...truth.days(level, from, to)].filter(({ accountId }) => accountId === owner());
      // What is served is what the truth says, row by row.
      const line = (id: string, at: string | undefined, spend: unknown) =>
        `${id} ${at?.slice(0, 10)} ${spend}`;
      expect(
        served.map((row) => line(row.entity_id, row.start_time ?? undefined, stat(row, 'SPEND'))),
      ).toEqual(real.map((row) => line(row.id, row.start?.toISOString(), Number(row.fields.get('SPEND')))));
      sums.set(level, {
        spend: real.reduce((sum, row) => sum + microsOf(row.fields.get('SPEND') ?? ''), 0n),
        impressions: served.reduce((sum, row) => sum + (stat(row, 'IMPRESSIONS') ?? 0), 0),
        reach: served.reduce((sum, row) => sum + (stat(row, 'REACH') ?? 0), 0),
        rows: served.length,
      });
    }
    const [account, campaign, adSet, ad] = levels.map((level) => sums.get(level));
    for (const one of [campaign, adSet, ad])
      expect([one?.spend, one?.impressions]).toEqual([account?.spend, account?.impressions]);
    expect(account?.reach).toBeLessThan(campaign?.reach ?? 0);
    expect(adSet?.reach).toBeLessThan(ad?.reach ?? 0);
    expect(ad?.rows).toBeGreaterThan(adSet?.rows ?? 0);
  });

  test('people of several days are fewer than those of each day together, and not fewer than those of one day', async () => {
    await start();
    const fields = ['REACH', 'LISTENERS'];
    for (const level of levels) {
      const days = await ask.rows(ask.account, daily(level, '2026-05-21', '2026-06-30', fields));
      const lives = await ask.rows(ask.account, { entity_type: level, granularity: 'LIFETIME', fields });
      expect(lives.length).toBeGreaterThan(0);
      for (const life of lives)
        for (const field of fields) {
          const each = days
            .filter((row) => row.entity_id === life.entity_id)
            .map((row) => stat(row, field) ?? 0);
          const people = stat(life, field) ?? 0;
          expect(people).toBeLessThan(each.reduce((sum, one) => sum + one, 0));
          expect(people).toBeGreaterThanOrEqual(Math.max(...each));
        }
    }
  });

  test('a count of one to four and what is made of it is given as -5; a field that is asked for twice comes twice', async () => {
    await start();
    const fields = ['LEADS', 'COST_PER_LEAD', 'PURCHASES', 'REVENUE', 'LEADS'];
    const rows = await ask.rows(ask.account, daily('AD', '2026-05-21', '2026-06-29', fields));
    const leads = rows.map((row) => stat(row, 'LEADS') ?? 0);
    expect(leads).toContain(-5);
    expect(leads).toContain(0);
    expect(leads.filter((one) => one > 0 && one < 5)).toEqual([]);
    for (const [count, made] of [
      ['LEADS', 'COST_PER_LEAD'],
      ['PURCHASES', 'REVENUE'],
    ] as const)
      expect(rows.filter((row) => stat(row, count) === -5 && stat(row, made) !== -5)).toEqual([]);
    expect(rows[0]?.stats.map(({ field_type }) => field_type)).toEqual(fields);
  });

  test('the numbers of a day grow, are corrected on the tenth, and then no longer change', async () => {
    await start();
    const seen: string[] = [];
    for (let age = 0; age < 15; age += 1) {
      const rows = await ask.rows(ask.account, daily('AD', '2026-06-29', '2026-06-29', ['SPEND']));
      seen.push(rows.map((row) => stat(row, 'SPEND')).join());
      ads.clock.advance(day);
    }
    const changed = seen.map((one, age) => age > 0 && one !== seen[age - 1]);
    expect(changed.flatMap((yes, age) => (yes ? [age] : []))).toEqual([1, 2, 3, 10]);
  });
});

describe('insight reports', () => {
  test('one entity and one dimension over the lifetime; the parts add up to the whole', async () => {
    await start();
    const campaign = firstOf(ads.state.campaigns);
    const path = `${ask.account}/insight_reports`;
    const fields = ['IMPRESSIONS'];
    const of = { entity_ids: [campaign], entity_ids_type: 'CAMPAIGN' };
    const good = { insight_dimension: 'GENDER', ...of, fields };
    const { body } = await ask.get(path, good);
    expect(body.rows.map(({ insight_value }) => insight_value)).toEqual(['FEMALE', 'MALE', 'NON_BINARY']);
    const [life] = await ask.rows(ask.account, { entity_type: 'CAMPAIGN', fields });
    const whole = body.rows.reduce((sum, row) => sum + (stat(row, 'IMPRESSIONS') ?? 0), 0);
    expect(whole).toBe(stat(life, 'IMPRESSIONS'));
    const wrong = {
      'two entities': { ...good, entity_ids: [campaign, campaign] },
      'an ad': { ...good, entity_ids: [firstOf(ads.state.ads)], entity_ids_type: 'AD' },
      'an unknown dimension': { ...good, insight_dimension: 'MOOD' },
      'a field it has not': { ...good, fields: ['SPEND'] },
      dates: { ...good, report_start: '2026-06-01T00:00:00Z' },
    };
    for (const [what, query] of Object.entries(wrong))
      expect([what, (await ask.get(path, query)).status]).toEqual([what, 400]);
  });
});
