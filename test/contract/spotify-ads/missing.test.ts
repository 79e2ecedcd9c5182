import { afterEach, describe, expect, test } from 'vitest';
import { delay, type Fault, htmlPage, status } from '../../../simulators/shared/faults.ts';
import type { LoggedRequest } from '../../../simulators/shared/script.ts';
import type { RunReport } from '../../../src/core/run.ts';
import { type AdsRig, openAdsRig } from '../../support/ads-rig.ts';

let rig: AdsRig;
afterEach(() => rig.close());

const day = 86_400_000;
const small = { campaigns: 1, adSetsPerCampaign: 1, adsPerAdSet: 1, days: 20 } as const;
const lists = ['businesses', 'ad_accounts', 'campaigns', 'ad_sets', 'ads'] as const;
const always = { times: Number.POSITIVE_INFINITY };
const endpoint = '/ad_accounts/{id}/aggregate_reports';
const streamOf = (report: RunReport, name: string) => report.streams.find(({ stream }) => stream === name);

/** A server that knows reports by DAY alone, and says so to every other word. */
const refusing = (code: number): Fault => ({
  name: `refused with ${code}`,
  instead: ({ call }) => ({
    status: code,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(
      JSON.stringify({ messages: [`granularity ${call.query.get('granularity')} is not one of DAY`] }),
    ),
  }),
});
/** An answer of 200 with this body. */
const answer = (name: string, body: (list: string) => object): Fault => ({
  name,
  instead: ({ call }) => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body(call.path.split('/').at(-1) ?? ''))),
  }),
});
const noRows = answer('no rows', () => ({ continuation_token: '', rows: [], warnings: null }));
const nothingListed = answer('nothing in the list', (list) => ({
  paging: { page_size: 0, total_results: 0, offset: 0 },
  [list]: [],
}));

test('hours that were read before fail while the server has them not, and are read once it has them again', async () => {
  rig = await openAdsRig(small);
  const streams = [...lists, 'report_hourly'];
  const hours = async () =>
    (await rig.rows<{ n: number }>('select count(distinct hour_start)::int as n from ads.report_hourly'))[0]
      ?.n;
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  const before = await hours();
  const rule = rig.platform.script.at({ endpoint, ...always }, status(404));
  for (let run = 0; run < 2; run += 1) {
    rig.platform.clock.advance(day);
    const report = await rig.sync({ streams });
    expect(report).toMatchObject({ status: 'partly_failed' });
    expect(streamOf(report, 'report_hourly')).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/it was there before.*tidemark reset ads.report_hourly/),
    });
  }
  rule.cancel();
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  expect(await hours()).toBe((before ?? 0) + 2 * 24);
});

test('hours of one level that are refused fail where other levels have theirs, in any order of answers', async () => {
  rig = await openAdsRig(small);
  rig.platform.script.at(
    { endpoint, ...always, match: ({ query }) => query.entity_type === 'AD_ACCOUNT' },
    status(400),
  );
  rig.platform.script.at(
    { endpoint, ...always, match: ({ query }) => query.entity_type !== 'AD_ACCOUNT' },
    delay(100),
  );
  const settings = { accountIds: [...rig.platform.state.accounts.keys()].slice(0, 1) };
  const report = await rig.sync({ streams: [...lists, 'report_hourly'] }, { settings });
  expect(report).toMatchObject({ status: 'partly_failed' });
  expect(streamOf(report, 'report_hourly')).toMatchObject({ status: 'failed' });
});

test('an endpoint that is absent, refused or gives a web page fails its stream, on the first night and the next', async () => {
  rig = await openAdsRig(small);
  const { state, script, log } = rig.platform;
  const [empty = ''] = state.accounts.keys();
  // Beside an account that has no entity to request insights of, and before whose first campaign no days are requested.
  script.at(
    { ...always, match: ({ path }) => path.includes(empty) && /\/(campaigns|ad_sets|ads)$/.test(path) },
    nothingListed,
  );
  const absent = { audiences: status(404), insight_reports: status(404) };
  for (const answers of [
    { ...absent, aggregate_reports: status(404), change_history: status(400) },
    { ...absent, aggregate_reports: refusing(400), change_history: htmlPage },
  ]) {
    const rules = Object.entries(answers).map(([name, fault]) =>
      script.at({ ...always, match: ({ path }) => path.endsWith(`/${name}`) }, fault),
    );
    const failing = ['audiences', 'change_history', 'insight_reports', 'report_daily'];
    const report = await rig.sync({ streams: [...lists, ...failing] });
    expect(report).toMatchObject({ status: 'partly_failed' });
    for (const name of failing) expect(streamOf(report, name), name).toMatchObject({ status: 'failed' });
    expect(streamOf(report, 'audiences')?.reason).toContain('404');
    for (const rule of rules) rule.cancel();
  }
  const requests = log.filter(({ path }) => path.endsWith('/insight_reports'));
  expect(requests.some(({ path }) => path.includes(empty))).toBe(false);
});

test('hours of an account are read though another account is gone and answers sooner', async () => {
  rig = await openAdsRig(small);
  const [gone = ''] = rig.platform.state.accounts.keys();
  rig.platform.script.at({ endpoint, ...always, match: ({ path }) => path.includes(gone) }, status(404));
  rig.platform.script.at({ endpoint, ...always, match: ({ path }) => !path.includes(gone) }, delay(100));
  const report = await rig.sync({ streams: [...lists, 'report_hourly'] });
  expect(streamOf(report, 'report_hourly')).toMatchObject({ status: 'ok' });
  expect(rig.notes.filter((note) => note.includes(gone) && note.includes('404'))).toHaveLength(4);
});

test('open days end although one account has no rows for them and the other is gone by then', async () => {
  rig = await openAdsRig(small);
  const streams = [...lists, 'report_daily'];
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  rig.platform.clock.advance(day);
  const [leaving = ''] = rig.platform.state.accounts.keys();
  const isLeaving = ({ path }: { readonly path: string }): boolean => path.includes(leaving);
  rig.platform.script.at({ endpoint, ...always, match: (call) => !isLeaving(call) }, noRows);
  const ill = rig.platform.script.at({ endpoint, ...always, match: isLeaving }, status(500));
  expect(streamOf(await rig.sync({ streams }), 'report_daily')).toMatchObject({ status: 'failed' });
  ill.cancel();
  rig.platform.script.at({ endpoint, ...always, match: isLeaving }, status(404));
  expect(streamOf(await rig.sync({ streams }), 'report_daily')).toMatchObject({ status: 'ok' });
});

test('a closed account is asked for its days a few times a night, not once for each slice of years', async () => {
  rig = await openAdsRig({ ...small, accounts: 2 }, { start: new Date('2021-01-01T00:00:00Z') });
  const streams = [...lists, 'report_daily'];
  const [closed = ''] = rig.platform.state.accounts.keys();
  expect(await rig.sync({ streams: lists })).toMatchObject({ status: 'succeeded' });
  rig.platform.state.forbid(closed);
  const requests = () =>
    rig.platform.log.filter(({ path }) => path.includes(closed) && path.endsWith('/aggregate_reports'))
      .length;
  const asked: number[] = [];
  for (let night = 0; night < 2; night += 1) {
    const before = requests();
    const report = await rig.sync({ streams });
    expect(streamOf(report, 'report_daily')).toMatchObject({
      status: 'forbidden',
      reason: expect.stringContaining(closed),
    });
    asked.push(requests() - before);
    rig.platform.clock.advance(day);
  }
  // Of 23 pieces of four levels; the refusal is confirmed by a second request.
  for (const requests of asked) expect(requests).toBeLessThan(20);
  rig.platform.state.forbid(closed, false);
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  expect(
    await rig.rows(
      "select count(distinct ad_account_id)::int as accounts from ads.report_daily where day < '2026-06-20'",
    ),
  ).toEqual([{ accounts: 2 }]);
});

test('accounts that are gone are passed by, also in a run that has nothing due of the others', async () => {
  rig = await openAdsRig({ ...small, accounts: 3 });
  const streams = [...lists, 'insight_reports'];
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  rig.platform.clock.advance(day);
  const [, ...gone] = rig.platform.state.accounts.keys();
  rig.platform.script.at(
    { ...always, match: ({ path }) => gone.some((id) => path.includes(id)) },
    status(404),
  );
  for (const _ of ['the night', 'the noon'])
    expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
});

describe('a level without rows on days on which others have numbers is noted', () => {
  const streams = [...lists, 'report_daily'];
  const noted = () => rig.notes.filter((note) => note.includes('that another level has'));

  test('level by level, each night, and after a backfill that took its rows away', async () => {
    rig = await openAdsRig(small);
    await rig.sync({ streams });
    expect(noted()).toEqual([]);
    const from = new Date('2026-06-10T00:00:00Z');
    const to = new Date('2026-06-15T00:00:00Z');
    for (const level of ['AD_ACCOUNT', 'CAMPAIGN', 'AD', 'backfill of AD']) {
      const before = noted().length;
      const isOf = ({ query }: LoggedRequest) => level.endsWith(query.entity_type ?? 'none');
      const rule = rig.platform.script.at({ endpoint, ...always, match: isOf }, noRows);
      rig.platform.clock.advance(day);
      const report =
        level === 'backfill of AD'
          ? await rig.backfill({ from, to, streams: ['report_daily'] })
          : await rig.sync({ streams });
      expect(report).toMatchObject({ status: 'succeeded' });
      const news = noted().slice(before);
      expect(news).toHaveLength(rig.platform.state.accounts.size);
      for (const note of news) expect(note).toContain(`: ${level.replace('backfill of ', '')} lacks `);
      rule.cancel();
    }
  });

  test('but not where an account showed no campaigns twice: reports name them', async () => {
    rig = await openAdsRig(small);
    const [first = ''] = rig.platform.state.accounts.keys();
    const ofFirst = ({ path }: LoggedRequest) => path.includes(first);
    rig.platform.script.at(
      { endpoint: '/ad_accounts/{id}/campaigns', match: ofFirst, times: 2 },
      nothingListed,
    );
    for (const _ of ['the night', 'the noon']) {
      expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
      expect(noted()).toEqual([]);
    }
    expect(await rig.rows('select id from ads.campaigns where not is_listed')).toEqual([]);
  });
});

describe('a list that had records is requested again before it counts as empty', () => {
  const streams = [...lists, 'ad_categories', 'audiences', 'campaign_drafts', 'report_daily'];
  const places = {
    ad_categories: { endpoint: '/ad_categories', nothing: nothingListed },
    audiences: { endpoint: '/ad_accounts/{id}/audiences', nothing: nothingListed },
    campaign_drafts: { endpoint: '/ad_accounts/{id}/drafts/campaigns', nothing: nothingListed },
    report_daily: { endpoint, nothing: noRows },
  } as const;
  const there = async (table: string): Promise<number> => {
    const live = table === 'report_daily' ? 'true' : '_deleted_at is null';
    const [row] = await rig.rows<{ rows: number }>(
      `select count(*)::int as rows from ads.${table} where ${live}`,
    );
    return row?.rows ?? 0;
  };
  const read = (stream: string) => {
    const from = new Date('2026-06-10T00:00:00Z');
    const to = new Date('2026-06-15T00:00:00Z');
    const isReport = stream === 'report_daily';
    return isReport ? rig.backfill({ from, to, streams: [stream] }) : rig.sync({ streams: [stream] });
  };

  test('each kind of list', async () => {
    rig = await openAdsRig({ ...small, accounts: 1 });
    const { state, script, log } = rig.platform;
    const [account = ''] = state.accounts.keys();
    state.createAudience(account, 'People', 'CUSTOM');
    state.createDraft(account, 'Draft');
    expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
    for (const [stream, { endpoint: at, nothing }] of Object.entries(places)) {
      const before = await there(stream);
      expect(before, stream).toBeGreaterThan(0);
      const one = script.at({ endpoint: at }, nothing);
      expect(await read(stream)).toMatchObject({ status: 'succeeded' });
      expect(one.fired).toBe(1);
      expect(await there(stream), stream).toBe(before);
      const empty = script.at({ endpoint: at, ...always }, nothing);
      expect(await read(stream)).toMatchObject({ status: 'succeeded' });
      expect(await there(stream), stream).toBeLessThan(before);
      const requests = log.length;
      await read(stream);
      const once = log.length - requests;
      await read(stream);
      expect(log.length - requests, `${stream}: believed from then on`).toBe(2 * once);
      empty.cancel();
    }
  });

  test('a report, also where the answer without rows is about some of its entities or a lifetime', async () => {
    rig = await openAdsRig({ ...small, accounts: 1, adsPerAdSet: 52, days: 2 });
    const reports = ['report_daily', 'report_lifetime'];
    expect(await rig.sync({ streams: [...lists, ...reports] })).toMatchObject({ status: 'succeeded' });
    const ofAds = () =>
      rig.rows(`select (select count(distinct entity_id)::int from ads.report_daily where entity_type = 'AD') as daily,
        (select count(*)::int from ads.report_lifetime where entity_type = 'AD' and captured_on = '2026-07-01') as lifetime,
        (select count(*)::int from ads.report_lifetime where entity_type = 'CAMPAIGN' and captured_on = '2026-07-01') as campaigns`);
    rig.platform.clock.advance(day);
    const { script, log } = rig.platform;
    const bad = ['DAY', 'LIFETIME'].map((granularity) =>
      script.at(
        { endpoint, match: ({ query }) => query.entity_type === 'AD' && query.granularity === granularity },
        noRows,
      ),
    );
    const whole = script.at(
      {
        endpoint,
        match: ({ query: { entity_type: of, granularity: by } }) => of === 'CAMPAIGN' && by === 'LIFETIME',
      },
      noRows,
    );
    expect(await rig.sync({ streams: reports })).toMatchObject({ status: 'succeeded' });
    expect([...bad, whole].map(({ fired }) => fired)).toEqual([1, 1, 1]);
    expect(await ofAds()).toEqual([{ daily: 52, lifetime: 52, campaigns: 1 }]);
    // Said twice it is believed, and no news in the night behind that.
    script.at(
      {
        endpoint,
        ...always,
        match: ({ query }) => query.entity_type === 'AD' && (query.entity_ids ?? '').split(',').length < 10,
      },
      noRows,
    );
    const timesOf = async (): Promise<number> => {
      const before = log.length;
      expect(await rig.sync({ streams: ['report_daily'] })).toMatchObject({ status: 'succeeded' });
      return log.slice(before).filter(({ query }) => query.entity_type === 'AD' && 'entity_ids' in query)
        .length;
    };
    expect([await timesOf(), await timesOf()]).toEqual([3, 2]);
    expect(await ofAds()).toMatchObject([{ daily: 50 }]);
  });

  test('a CSV report: another one is created, because the same file would be as empty', async () => {
    rig = await openAdsRig({ ...small, accounts: 1, days: 5 }, { start: new Date('2026-06-20T00:00:00Z') });
    const streams = ['ad_accounts', 'async_reports'];
    expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
    const rows = () => rig.rows('select day::text, ad_name, spend from ads.report_csv order by 1, 2');
    const before = await rows();
    const ofNothing: Fault = {
      name: 'a report of nothing',
      call: (call) => ({
        ...call,
        body: Buffer.from(JSON.stringify({ ...JSON.parse(String(call.body)), statuses: ['REJECTED'] })),
      }),
    };
    const one = rig.platform.script.at(
      { method: 'POST', endpoint: '/ad_accounts/{id}/async_reports' },
      ofNothing,
    );
    expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
    expect(one.fired).toBe(1);
    expect(before.length).toBeGreaterThan(0);
    expect(await rows()).toEqual(before);
  });

  test('also where rows stay though their list no longer shows them: what is new is read at once', async () => {
    rig = await openAdsRig({ ...small, accounts: 1, dialect: 'vendor' });
    const entities = ['campaigns', 'ad_sets', 'ads'] as const;
    const { state, script, log } = rig.platform;
    expect(await rig.sync({ streams: lists })).toMatchObject({ status: 'succeeded' });
    const [account = ''] = state.accounts.keys();
    const campaign = state.createCampaign(account, 'Newer');
    state.createAd(state.createAdSet(campaign.id, 'Newer').id, 'Newer');
    const isList = ({ path, query }: (typeof log)[number], name: string): boolean =>
      path.endsWith(`/${name}`) && query.limit === '50';
    for (const name of entities) script.at({ match: (request) => isList(request, name) }, nothingListed);
    expect(await rig.sync({ streams: lists })).toMatchObject({ status: 'succeeded' });
    expect(script.fired).toHaveLength(entities.length);
    const kinds = { campaigns: state.campaigns, ad_sets: state.adSets, ads: state.ads };
    const sizes = entities.map((name) => kinds[name].size);
    const stored = () => Promise.all(entities.map(there));
    expect(await stored()).toEqual(sizes);

    for (const name of entities) for (const id of [...kinds[name].keys()].slice(-1)) kinds[name].delete(id);
    expect(await rig.sync({ streams: lists })).toMatchObject({ status: 'succeeded' });
    expect(await stored(), 'what its list no longer shows').toEqual(sizes);

    for (const name of entities)
      script.at({ ...always, match: (request) => isList(request, name) }, nothingListed);
    const timesOf = async (): Promise<readonly number[]> => {
      const before = log.length;
      expect(await rig.sync({ streams: lists })).toMatchObject({ status: 'succeeded' });
      return entities.map((name) => log.slice(before).filter((request) => isList(request, name)).length);
    };
    expect(await timesOf()).toEqual([2, 2, 2]);
  });
});

describe('days of an account that are refused', () => {
  const isOf =
    (account: string) =>
    ({ path, endpoint: of }: LoggedRequest): boolean =>
      of === endpoint && path.includes(account);
  /** How often the account was asked for days in a run that does not fail. */
  const timesAsked = async (account: string): Promise<number> => {
    const before = rig.platform.log.length;
    const report = await rig.sync({ streams: ['report_daily'] });
    expect(streamOf(report, 'report_daily')?.status).not.toBe('failed');
    return rig.platform.log.slice(before).filter(isOf(account)).length;
  };

  test.each([403, 404])(
    'with %d are requested twice: once more in a run, and so each night',
    async (code) => {
      rig = await openAdsRig(small);
      expect(await rig.sync({ streams: lists })).toMatchObject({ status: 'succeeded' });
      const { state, script, clock } = rig.platform;
      const one = script.at({ endpoint }, status(code));
      const days = { from: new Date('2026-06-10T00:00:00Z'), to: new Date('2026-06-15T00:00:00Z') };
      const backfill = () => rig.backfill({ ...days, streams: ['report_daily'] });
      const report = await backfill();
      expect(report).toMatchObject({ status: 'succeeded' });
      expect(streamOf(report, 'report_daily')).toMatchObject({ status: 'ok' });
      expect(one.fired).toBe(1);
      expect(await backfill()).toMatchObject({ counts: { inserted: 0 } });

      const [closed = ''] = state.accounts.keys();
      expect(await rig.sync({ streams: ['report_daily'] })).toMatchObject({ status: 'succeeded' });
      clock.advance(day);
      script.at({ ...always, match: isOf(closed) }, status(code));
      expect(await timesAsked(closed)).toBe(2 * 4);
    },
  );

  test('cost a first sync a few requests more, and not each of many slices twice', async () => {
    rig = await openAdsRig(small, { start: new Date('2024-01-01T00:00:00Z') });
    expect(await rig.sync({ streams: lists })).toMatchObject({ status: 'succeeded' });
    for (const table of ['campaigns', 'ad_sets', 'ads'])
      await rig.rows(`update ads.${table} set created_at = '2024-01-01T00:00:00Z'`);
    const [closed = ''] = rig.platform.state.accounts.keys();
    rig.platform.script.at({ ...always, match: isOf(closed) }, status(404));
    const asked = await timesAsked(closed);
    const [refused] = await rig.rows<{ slices: number }>(`select count(*)::int as slices from ops.slices
      where partition @> '{"ad_account_id": "${closed}"}' and error_code is not null`);
    expect(refused?.slices).toBeGreaterThan(40);
    // Those that are under way while the first is asked for a second time.
    expect(asked).toBeLessThan((refused?.slices ?? 0) + 4 * 8);
  });
});
