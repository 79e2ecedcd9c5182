import { afterEach, describe, expect, test, vi } from 'vitest';
import { status } from '../../../simulators/shared/faults.ts';
import { insightValues } from '../../../simulators/spotify-ads/insight.ts';
import { units } from '../../../simulators/spotify-ads/metrics.ts';
import { Interrupted } from '../../../src/core/errors.ts';
import type { RunReport } from '../../../src/core/run.ts';
import { adsDifferences, stored } from '../../support/ads-compared.ts';
import { insightDifferences } from '../../support/ads-insights.ts';
import { type Cells, pictureOf } from '../../support/ads-picture.ts';
import { type AdsRig, openAdsRig } from '../../support/ads-rig.ts';
import { adSetLines, adSetQuery, dailyLines, dailyQuery } from '../../support/ads-truth.ts';

let rig: AdsRig;
afterEach(async () => {
  vi.restoreAllMocks();
  expect(rig.platform.errors).toEqual([]);
  await rig.close();
});

const day = 86_400_000;
const small = { campaigns: 2, adSetsPerCampaign: 1, adsPerAdSet: 1, days: 20 } as const;
const tiny = { accounts: 1, campaigns: 1, adSetsPerCampaign: 1, adsPerAdSet: 1, days: 20 } as const;
const lists = ['businesses', 'ad_accounts', 'campaigns', 'ad_sets', 'ads'] as const;
/** Where nothing but days is looked at. */
const days = { streams: [...lists, 'report_daily'] };
/** Where no numbers are looked at. */
const entities = { streams: [...lists, 'audiences', 'campaign_drafts', 'ad_set_drafts', 'ad_drafts'] };
const aggregateReports = '/ad_accounts/{id}/aggregate_reports';
const always = { times: Number.POSITIVE_INFINITY };

const lines = async (query: string): Promise<readonly string[]> =>
  (await rig.rows<{ line: string }>(query)).map(({ line }) => line);
const midnight = (): Date => new Date(Math.floor(rig.platform.clock.now().getTime() / day) * day);
const since = (back: number) => new Date(midnight().getTime() - back * day).toISOString();
const dateOf = (back: number) => since(back).slice(0, 10);
const truth = () => dailyLines(rig.platform.state, new Date('2026-01-01T00:00:00Z'), midnight());
/** The lines of the last days. */
const recent = (all: readonly string[], back: number) =>
  all.filter((line) => (line.split(' ')[2] ?? '') >= dateOf(back));
/** Level, entity and day of a line. */
const named = (line: string): string => line.split(' ').slice(0, 3).join(' ');
const statusOf = (report: RunReport, name: string) =>
  report.streams.find(({ stream }) => stream === name)?.status;
const succeed = async (what: Parameters<AdsRig['sync']>[0]): Promise<RunReport> => {
  const report = await rig.sync(what);
  expect(report.status, report.error?.message).toBe('succeeded');
  return report;
};

describe.each(['contract', 'vendor'] as const)('an ads platform that speaks %s', (dialect) => {
  test('is read whole: each list, level, amount and CSV row; a second sync changes and resumes nothing', async () => {
    rig = await openAdsRig({ ...small, dialect, campaigns: 1, days: 15 });
    const { state, storage } = rig.platform;
    const report = await succeed({});
    const absent = report.streams.filter(({ status }) => status !== 'ok');
    expect(absent).toMatchObject(
      // The contract names artists alone, and this platform targets none.
      dialect === 'vendor'
        ? []
        : ['target_names', 'change_history'].map((stream) => ({ stream, status: 'unavailable' })),
    );
    const picture = pictureOf(state, {
      from: new Date('2026-01-01T00:00:00Z'),
      history: dialect === 'vendor',
    });
    expect(await adsDifferences(rig.rows, picture)).toEqual([]);
    expect(await insightDifferences(rig.rows, state)).toEqual([]);
    expect(storage.downloads).toBeGreaterThan(0);
    expect(storage.leaked, 'credentials at the host of CSV files').toEqual([]);

    const again = await succeed({});
    expect(again.counts).toMatchObject({ inserted: 0, updated: 0 });
    expect(await rig.rows('select * from ads.report_revisions')).toEqual([]);
    expect(rig.notes.filter((note) => note.includes('interrupted'))).toEqual([]);
  });
});

test('restated numbers are the platform’s after three daily runs, and the revisions are exactly what was restated', async () => {
  rig = await openAdsRig({ ...small, dialect: 'contract' });
  await rig.sync(days);
  const before = await lines(dailyQuery);
  const [ad = ''] = rig.platform.state.ads.keys();
  for (let night = 0; night < 3; night += 1) {
    rig.platform.clock.advance(day);
    if (night === 1) rig.platform.state.restate('AD', ad, dateOf(1), 'SPEND', '9007199254.740993');
    await succeed(days);
  }
  const after = await lines(dailyQuery);
  expect(recent(after, 3)).toEqual(recent(truth(), 3));
  expect(after.some((line) => line.includes('9007199254.740993'))).toBe(true);
  const changed = before.filter((line) => !after.includes(line)).map(named);
  expect(changed.length).toBeGreaterThan(0);
  const revised = await lines(
    "select distinct concat_ws(' ', entity_type, entity_id, day) as line from ads.report_revisions where old_value is not null",
  );
  expect(revised.filter((line) => changed.includes(line)).toSorted()).toEqual(changed.toSorted());
  const wrong = await rig.rows(`select r.* from (
      select distinct on (entity_type, entity_id, day) * from ads.report_revisions
      where metric = 'spend' order by entity_type, entity_id, day, seen_at desc, _run_id desc) r
    join ads.report_daily d using (entity_type, entity_id, day) where d.spend is distinct from r.new_value`);
  expect(wrong).toEqual([]);
});

test('a backfill keeps within the API’s limits, reads exactly its days, and those of entities that are dated anew', async () => {
  rig = await openAdsRig({ ...small, dialect: 'vendor' });
  await rig.sync({ streams: lists });
  const window = { from: new Date('2026-06-10T00:00:00Z'), to: new Date('2026-06-12T00:00:00Z') };
  const planned = (await rig.plan(window)).find(({ stream }) => stream === 'report_daily');
  expect(planned).toMatchObject({ slices: 8, requests: expect.any(Number) });
  const before = rig.platform.log.length;
  const backfill = () => rig.backfill({ ...window, streams: ['report_daily'] });
  expect(await backfill()).toMatchObject({ status: 'succeeded' });
  const requests = rig.platform.log.slice(before).filter(({ endpoint }) => endpoint === aggregateReports);
  expect(requests.length).toBeLessThanOrEqual((planned?.requests ?? 0) + 8);
  const those = truth().filter((line) => /2026-06-1[01]/.test(line));
  expect(await lines(dailyQuery)).toEqual(those);
  for (const table of ['campaigns', 'ad_sets', 'ads'])
    await rig.rows(`update ads.${table} set created_at = '2026-06-29T00:00:00Z'`);
  expect(await backfill()).toMatchObject({ status: 'succeeded', counts: { inserted: 0, updated: 0 } });
  expect(await lines(dailyQuery)).toEqual(those);
  expect(await rig.rows('select * from ads.report_revisions')).toEqual([]);
});

test('a number that cannot be stored is resolved by its restatement; replaying then overwrites nothing', async () => {
  rig = await openAdsRig({ ...small, dialect: 'vendor' });
  const { state, clock } = rig.platform;
  const yesterday = dateOf(1);
  const isOf = (id: string) => (line: string) => line.startsWith(`AD ${id} ${yesterday} `);
  const [one = '', other = ''] = [...state.ads.keys()].filter((id) => truth().some(isOf(id)));
  for (const id of [one, other]) state.restate('AD', id, yesterday, 'CLICKS', '99999999999999999999');
  const rejects = () =>
    lines("select concat_ws(' ', status, code, field) as line from ops.rejects order by status");
  expect(await succeed(days)).toMatchObject({ counts: { rejected: 2 } });
  expect(await rejects()).toEqual(['open bad_integer CLICKS', 'open bad_integer CLICKS']);
  const good = truth().filter((line) => !isOf(one)(line) && !isOf(other)(line));
  expect(await lines(dailyQuery)).toEqual(good);
  clock.advance(day);
  state.restate('AD', one, yesterday, 'CLICKS', '7.0');
  expect(await succeed(days)).toMatchObject({ counts: { rejected: 1 } });
  // The other one came again with other numbers beside the bad one: its first reject is of no use.
  expect((await rejects()).map((line) => line.split(' ')[0])).toEqual(['open', 'resolved', 'resolved']);
  const before = await lines(dailyQuery);
  expect(before.some((line) => isOf(one)(line) && line.includes(' 7 '))).toBe(true);
  expect(await rig.replay()).toEqual({ replayed: 0, stillRejected: 1 });
  expect(await lines(dailyQuery)).toEqual(before);
});

test('a stored number stays while its restatement cannot be stored, and no revision says that it went', async () => {
  rig = await openAdsRig(small);
  const { state, clock } = rig.platform;
  await rig.sync(days);
  const yesterday = dateOf(1);
  const ofYesterday = (all: readonly string[]) => all.filter((line) => line.split(' ')[2] === yesterday);
  const held = async () => ofYesterday(await lines(dailyQuery));
  const [first = ''] = ofYesterday(truth()).filter((line) => line.startsWith('AD '));
  const [, bad = ''] = first.split(' ');
  const spends = () =>
    lines(`select concat_ws(' ', trim_scale(new_value), new_value is null) as line from ads.report_revisions
      where entity_id = '${bad}' and day = '${yesterday}' and metric = 'spend' order by seen_at`);
  clock.advance(day);
  state.restate('AD', bad, yesterday, 'SPEND', '1e30');
  expect(await succeed(days)).toMatchObject({ counts: { rejected: 1 } });
  const kept = ofYesterday(truth()).map((line) => (line.startsWith(`AD ${bad} `) ? first : line));
  expect(await held()).toEqual(kept.sort());
  expect(await spends()).toEqual([]);
  // As if we could read it by now.
  await rig.rows(
    "update ops.rejects set payload = replace(convert_from(payload, 'UTF8'), '1e30', '6.5')::bytea",
  );
  expect(await rig.replay()).toEqual({ replayed: 1, stillRejected: 0 });
  expect(await spends()).toEqual(['6.5 f']);
  state.restate('AD', bad, yesterday, 'SPEND', '7.5');
  expect(await rig.sync(days)).toMatchObject({ counts: { rejected: 0 } });
  expect(await held()).toEqual(ofYesterday(truth()));
  expect(await spends()).toEqual(['6.5 f', '7.5 f']);
});

test('a published draft becomes live under its id, and its draft is deleted', async () => {
  rig = await openAdsRig({ ...tiny, dialect: 'vendor' });
  const { state } = rig.platform;
  const [account = ''] = state.accounts.keys();
  const ids = state.createDraft(account, 'Soon to be');
  const kept = state.createDraft(account, 'Later');
  await rig.sync(entities);
  const drafts = `select draft_hierarchy_version::text as line from ads.campaign_drafts where id = '${ids.campaign}'`;
  expect(await lines(drafts)).toEqual(['3']);
  expect(await rig.rows('select from ads.campaigns where id = $1', [ids.campaign])).toEqual([]);
  state.publish(ids.campaign);
  state.deleteAudience([...state.audiences.keys()][0] ?? '');
  expect(await rig.sync(entities)).toMatchObject({ deleted: 4 });
  expect(await lines('select id as line from ads.ad_drafts where _deleted_at is null')).toEqual([kept.ad]);
  expect(
    await lines(`select s.status || ' ' || s.budget as line from ads.ad_sets s
      join ads.campaigns c on c.id = s.campaign_id where c.id = '${ids.campaign}'`),
  ).toEqual(['ACTIVE 12.345678']);
});

test('budgets and statuses are kept as history, dated by the platform where that is plausible', async () => {
  rig = await openAdsRig({ ...tiny, dialect: 'contract' });
  const { state, clock } = rig.platform;
  await rig.sync(entities);
  const [adSet] = [...state.adSets.values()].slice(-1);
  const first = units(adSet?.budget ?? 0n);
  clock.advance(day);
  state.update(adSet?.id ?? '', { budget: 1_000_001n });
  const changed = clock.now().toISOString();
  clock.advance(day / 2);
  await rig.sync(entities);
  clock.advance(day);
  state.update(adSet?.id ?? '', { status: 'ARCHIVED' });
  // Before the run that saw it otherwise: that was another change.
  Object.assign(adSet ?? {}, { updatedAt: Date.parse(changed) + 1000 });
  await rig.sync(entities);
  const versions = await rig.rows<Record<string, unknown>>(
    `select v.budget::text, v.status, valid_to is null as open,
      case when valid_from = s._synced_at then 'seen' else to_char(valid_from at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"') end as since
    from ads.ad_set_versions v join ads.ad_sets s using (source_id, id) where id = $1 order by valid_from`,
    [adSet?.id],
  );
  expect(versions).toEqual([
    { budget: first, status: 'ACTIVE', open: false, since: expect.any(String) },
    { budget: '1.000001', status: 'ACTIVE', open: false, since: changed },
    { budget: '1.000001', status: 'ARCHIVED', open: true, since: 'seen' },
  ]);
});

describe('hours', () => {
  const streams = ['ad_accounts', 'campaigns', 'ad_sets', 'ads', 'report_hourly'];
  const start = new Date('2026-06-01T00:00:00Z');
  /** Hours of the last whole days and of the present one, at the platform and in the warehouse. */
  const hours = async (back: number) => {
    const isRecent = (row: Cells) => (row.hour_start ?? '') >= since(back);
    const text = (row: Cells): string => JSON.stringify({ ...row, is_final: undefined });
    const picture = pictureOf(rig.platform.state, { from: start, history: false });
    const there = (picture.get('report_hourly')?.rows ?? []).filter(isRecent);
    const here = await stored(rig.rows, 'report_hourly', [...Object.keys(there[0] ?? {}), 'is_final']);
    return {
      there: there.map(text).sort(),
      here: here.filter(isRecent).map(text).sort(),
      final: here.filter(({ is_final }) => is_final === 'true').map((row) => row.hour_start ?? ''),
    };
  };

  test('are read again as days are, each night and week; those that failed are read the next night', async () => {
    rig = await openAdsRig({ ...tiny, dialect: 'contract' });
    const { clock, script } = rig.platform;
    const isOfAds = { match: ({ query }: { query: Record<string, string> }) => query.entity_type === 'AD' };
    const broken = script.at({ endpoint: aggregateReports, ...always, ...isOfAds }, status(500));
    expect(await rig.sync({ streams })).toMatchObject({ status: 'partly_failed' });
    expect(broken.fired).toBeGreaterThan(0);
    broken.cancel();
    const lost = dateOf(13);
    clock.advance(day);
    await succeed({ streams });
    const night = await hours(13);
    const ofAds = (rows: readonly string[]) => rows.filter((row) => row.includes('"entity_type":"AD",'));
    expect(ofAds(night.here)).toEqual(ofAds(night.there));
    expect(night.here).toHaveLength(night.there.length);
    expect(night.there.some((row) => row.includes(since(3)))).toBe(true);
    expect((await hours(3)).here).toEqual((await hours(3)).there);
    expect(rig.notes.filter((note) => note.includes(`no longer has ${lost}`))).toHaveLength(1);
    clock.advance(7 * day);
    await succeed({ streams });
    const week = await hours(13);
    expect(week.here).toEqual(week.there);
    expect(week.final.length).toBeGreaterThan(0);
    expect(
      week.final.filter((at) => at >= since(13)),
      'final while they may change',
    ).toEqual([]);
  });

  test('of a run that lasts past midnight are read, less those that the platform kept last when it began', async () => {
    rig = await openAdsRig({ ...tiny, now: new Date('2026-06-29T22:00:00Z') });
    await rig.sync({ streams: lists });
    const { clock, script } = rig.platform;
    const began = performance.now.bind(performance);
    let later = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => began() + later);
    const late = script.at({ endpoint: '/ad_accounts/{id}' }, () => {
      later = 4 * 3_600_000;
      clock.advance(later);
    });
    await succeed({ streams: ['ad_accounts', 'report_hourly'] });
    expect(late.fired).toBe(1);
    const { there, here } = await hours(13);
    const begun = there.filter((row) => (/"hour_start":"([^"]*)/.exec(row)?.[1] ?? '') < '2026-06-29T23');
    expect(begun.some((row) => row.includes(since(13)))).toBe(true);
    expect(here).toEqual(begun);
    expect(rig.notes.filter((note) => note.includes('no longer has 2026-06-16'))).toHaveLength(4);
  });
});

test('days whose last reading fell into days without a run are read by the next one', async () => {
  rig = await openAdsRig({ ...tiny, dialect: 'contract' });
  const { state, clock } = rig.platform;
  const streams = ['report_daily', 'report_hourly'];
  await rig.sync({ streams: [...lists, ...streams] });
  const [row] = await rig.rows<{ id: string; hour: string }>(`select entity_id as id,
      to_char(hour_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24') as hour from ads.report_hourly
    where entity_type = 'AD' and hour_start >= '2026-06-29' and hour_start < '2026-06-30' order by hour_start limit 1`);
  const { id = '', hour = '' } = row ?? {};
  state.restate('AD', id, hour, 'CLICKS', '4711.0');
  state.restate('AD', id, '2026-06-29', 'CLICKS', '4712.0');
  clock.advance(5 * day);
  await succeed({ streams });
  expect(
    await rig.rows(
      `select clicks::int, is_final from ads.report_hourly where entity_type = 'AD' and entity_id = $1 and hour_start = $2::timestamptz
      union all select clicks::int, is_final from ads.report_daily where entity_type = 'AD' and entity_id = $1 and day = '2026-06-29'
       order by clicks`,
      [id, `${hour}:00:00Z`],
    ),
  ).toEqual([
    { clicks: 4711, is_final: false },
    { clicks: 4712, is_final: false },
  ]);
});

describe('an account that is closed to us', () => {
  test('fails the run by its name, is asked for its new days alone, and keeps no other from being read', async () => {
    rig = await openAdsRig({ ...small, campaigns: 1, dialect: 'contract' });
    const { state, clock, log } = rig.platform;
    const streams = [...days.streams, 'audiences'];
    await succeed({ streams });
    const watermark = () =>
      rig.rows<{ at: Date }>("select watermark as at from ops.checkpoints where stream = 'report_daily'");
    const [read] = await watermark();
    const [closed = ''] = state.accounts.keys();
    const [gone] = [...state.audiences.values()].filter(({ accountId }) => accountId !== closed);
    state.forbid(closed);
    for (let night = 0; night < 2; night += 1) {
      clock.advance(day);
      if (night === 1) state.deleteAudience(gone?.id ?? '');
      const requests = log.length;
      const held = (await lines(dailyQuery)).length;
      const report = await rig.sync({ streams });
      expect(report).toMatchObject({ status: 'partly_failed', deleted: night });
      expect(report.error?.message).toContain(closed);
      for (const stream of ['campaigns', 'audiences', 'report_daily'])
        expect(statusOf(report, stream)).toBe('forbidden');
      expect((await lines(dailyQuery)).length).toBeGreaterThan(held);
      expect(await watermark(), 'the days of the account wait').toEqual([read]);
      const asked = log.slice(requests).filter(({ path }) => path.includes(`${closed}/aggregate_reports`));
      expect(asked, 'each of four levels, confirmed by a second request').toHaveLength(8);
    }
    expect(await lines('select id as line from ads.audiences where _deleted_at is not null')).toEqual([
      gone?.id,
    ]);
    const ad = [...state.ads.values()].find(({ accountId }) => accountId === closed)?.id ?? '';
    state.restate('AD', ad, dateOf(4), 'CLICKS', '4711.0');
    state.forbid(closed, false);
    clock.advance(day);
    await succeed({ streams });
    expect((await watermark())[0]?.at.getTime()).toBe((read?.at.getTime() ?? 0) + 3 * day);
    const theirs = (all: readonly string[]) => recent(all, 5).filter((line) => line.startsWith(`AD ${ad} `));
    expect(theirs(await lines(dailyQuery))).toEqual(theirs(truth()));
    expect(theirs(truth()).join()).toContain(' 4711 ');
    expect(recent(await lines(dailyQuery), 3)).toEqual(recent(truth(), 3));
  });
});

test('lists under other names and without totals are read whole', async () => {
  rig = await openAdsRig({
    dialect: 'contract',
    container: 'items',
    paging: false,
    campaigns: 60,
    adSetsPerCampaign: 1,
    adsPerAdSet: 1,
    days: 3,
  });
  await succeed({ streams: ['ad_accounts', 'campaigns', 'ads', 'ad_sets'] });
  expect(await rig.rows('select count(*)::int as n from ads.campaigns')).toEqual([{ n: 120 }]);
  expect(await lines(adSetQuery)).toEqual(adSetLines(rig.platform.state));
});

interface Body {
  readonly paging: { readonly offset: number; readonly total_results: number };
  readonly [list: string]: unknown;
}
const listIn = (body: Body, key: string): readonly object[] => body[key] as readonly object[];

/** Changes the answers of an endpoint. */
const answering = (endpoint: string, change: (body: Body) => object) =>
  rig.platform.script.at(
    { endpoint, ...always },
    {
      name: 'another answer',
      answer: (answer) => {
        const body = JSON.parse(answer.body.toString());
        return { ...answer, body: Buffer.from(JSON.stringify({ ...body, ...change(body) })) };
      },
    },
  );

test('a reject of a list is resolved when the list no longer shows it; one of the history of changes is not', async () => {
  rig = await openAdsRig({ ...small, dialect: 'vendor' });
  const streams = ['ad_accounts', 'campaigns', 'change_history'];
  const odd = ['campaigns', 'change_history'].map((key) =>
    answering(`/ad_accounts/{id}/${key}`, (body) =>
      body.paging.offset > 0
        ? {}
        : {
            [key]: [{ id: 5, change_id: 5 }, ...listIn(body, key).slice(1)],
            paging: { ...body.paging, total_results: Math.max(body.paging.total_results, 1) },
          },
    ),
  );
  await rig.sync({ streams: ['businesses', ...streams] });
  const rejects = () =>
    lines("select distinct concat_ws(' ', stream, status) as line from ops.rejects order by 1");
  expect(await rejects()).toEqual(['campaigns open', 'change_history open']);
  for (const rule of odd) rule.cancel();
  expect(await succeed({ streams })).toMatchObject({ counts: { rejected: 0 } });
  expect(await rejects()).toEqual(['campaigns resolved', 'change_history open']);
});

test('parts of an ad set that cannot be read take none of its caps and placements away', async () => {
  rig = await openAdsRig({ ...tiny, dialect: 'vendor' });
  const count = async () =>
    lines(`select concat_ws(' ', (select count(*) from ads.ad_set_targets), (select count(*) from ads.ad_set_frequency_caps),
      (select count(*) from ads.ad_set_placements)) as line`);
  const parts = (change: object) =>
    answering('/ad_accounts/{id}/ad_sets', (body) => ({
      ad_sets: listIn(body, 'ad_sets').map((adSet) => ({ ...adSet, ...change })),
    }));
  const cap = { frequency_unit: 'DAY', frequency_period: 1, max_impressions: 3 };
  const good = parts({ targets: { placements: ['MUSIC', 'PODCAST'] }, frequency_caps: [cap] });
  await rig.sync({ streams: lists });
  expect(await count()).toEqual(['2 1 2']);
  good.cancel();
  // What is no list is kept with a note; an element that cannot be read is rejected by itself.
  for (const [odd, rejected] of [
    [{ targets: 'everybody', frequency_caps: 'none' }, 0],
    [{ targets: { placements: ['MUSIC', 5] }, frequency_caps: [5] }, 2],
  ] as const) {
    const spoilt = parts(odd);
    expect(await succeed({ streams: ['ad_sets'] })).toMatchObject({ counts: { rejected } });
    expect(await count()).toEqual([expect.stringMatching(/ 1 2$/)]);
    spoilt.cancel();
  }
  parts({ targets: null, frequency_caps: [] });
  await succeed({ streams: ['ad_sets'] });
  expect(await count()).toEqual(['0 0 0']);
});

describe('insights of what is archived', () => {
  const insights = { streams: [...lists, 'insight_reports'] };
  const all = Object.keys(insightValues).toSorted();
  /** The dimensions of an entity that were last requested today. */
  const askedToday = (id: string, now = rig.platform.clock.now()): Promise<readonly string[]> =>
    lines(`select dimension as line from ads.insight_states
      where entity_id = '${id}' and asked_on = '${now.toISOString().slice(0, 10)}' order by 1`);
  /** A campaign, and an ad set of another one. */
  const archived = (): readonly string[] => {
    const { state } = rig.platform;
    const ids = [[...state.campaigns.keys()].at(-1) ?? '', [...state.adSets.keys()][0] ?? ''];
    for (const id of ids) state.update(id, { status: 'ARCHIVED' });
    return ids;
  };

  test('come in every dimension, also where a run broke off between them', async () => {
    rig = await openAdsRig({ ...tiny, campaigns: 2, dialect: 'vendor' });
    const ids = archived();
    rig.platform.clock.advance(30 * day);
    const broken = rig.platform.script.at(
      {
        endpoint: '/ad_accounts/{id}/insight_reports',
        ...always,
        match: ({ query }) => ids.includes(query.entity_ids ?? '') && query.insight_dimension === 'METRO',
      },
      status(502),
    );
    expect(await rig.sync(insights)).toMatchObject({ status: 'partly_failed' });
    expect(broken.fired).toBeGreaterThan(0);
    for (const id of ids)
      expect(await askedToday(id)).toEqual(all.filter((dimension) => dimension !== 'METRO'));
    broken.cancel();
    await succeed(insights);
    for (const id of ids) expect(await askedToday(id)).toEqual(all);
  });

  test('are requested for two weeks, once more after them, and then no longer', async () => {
    rig = await openAdsRig({ ...tiny, campaigns: 2, dialect: 'vendor' });
    const { clock } = rig.platform;
    await rig.sync(insights);
    const ids = archived();
    for (const later of [1, 12, 20]) {
      clock.advance(later * day);
      await succeed(insights);
      for (const id of ids) expect(await askedToday(id)).toEqual(all);
    }
    const last = clock.now();
    clock.advance(day);
    await rig.sync(insights);
    for (const id of ids) expect(await askedToday(id, last)).toEqual(all);
    expect(await insightDifferences(rig.rows, rig.platform.state)).toEqual([]);
  });
});

describe('the earlier days of what becomes known late are read', () => {
  const short = { restateDays: [2, 7, 7] } as const;
  /** Opens a platform. The first sync does not read all of its days. */
  const begin = async (options: Parameters<typeof openAdsRig>[0], spoil: () => { cancel(): void }) => {
    rig = await openAdsRig({ ...small, dialect: 'vendor', ...options }, short);
    const spoilt = spoil();
    const report = await rig.sync(days);
    expect((await lines(dailyQuery)).length).toBeLessThan(truth().length);
    return { spoilt, report };
  };
  const inTheEnd = async (): Promise<void> => {
    rig.platform.clock.advance(day);
    await succeed(days);
    // Days between are restated in their own time; none of them may be missing.
    expect((await lines(dailyQuery)).map(named)).toEqual(truth().map(named));
    expect((await rig.sync(days)).counts).toMatchObject({ inserted: 0, updated: 0 });
  };
  const failing = (endpoint: string, code = 500) =>
    rig.platform.script.at({ endpoint, ...always }, status(code));
  /** A list that fails, at a server that reports by id alone: elsewhere reports name what the list does not. */
  const failingList = (name: string) => {
    const whole = rig.platform.script.at(
      {
        endpoint: aggregateReports,
        ...always,
        match: ({ query }) => 'report_start' in query && query.granularity === 'LIFETIME',
      },
      status(400),
    );
    const list = failing(`/ad_accounts/{id}/${name}`);
    return { cancel: () => [whole, list].map((rule) => rule.cancel()) };
  };
  const failingDays = (code: number) =>
    rig.platform.script.at(
      {
        endpoint: aggregateReports,
        ...always,
        match: ({ query }) => query.entity_type === 'AD' && (query.report_start ?? '') < '2026-03-15',
      },
      status(code),
    );

  test('where an account was closed to us at first', async () => {
    const { spoilt } = await begin({ dialect: 'contract' }, () => {
      const closed = [...rig.platform.state.accounts.keys()].at(-1) ?? '';
      rig.platform.state.forbid(closed);
      return { cancel: () => rig.platform.state.forbid(closed, false) };
    });
    spoilt.cancel();
    await inTheEnd();
  });

  test.each([403, 404])('where they were refused at first with %i', async (code) => {
    const { spoilt, report } = await begin({ days: 120 }, () => failingDays(code));
    expect(report).toMatchObject({ status: code === 403 ? 'partly_failed' : 'succeeded' });
    spoilt.cancel();
    await inTheEnd();
  });

  test.each(['ad_sets', 'campaigns'])('where the list of %s failed at first', async (list) => {
    const { spoilt } = await begin({}, () => failingList(list));
    spoilt.cancel();
    await inTheEnd();
  });

  test('where days of an account fail each night, which keeps out the days of no other', async () => {
    const { spoilt, report } = await begin({ days: 120 }, () => failingDays(500));
    expect(report).toMatchObject({ status: 'partly_failed' });
    rig.platform.clock.advance(5 * day);
    expect(await rig.sync(days)).toMatchObject({ status: 'partly_failed' });
    expect(recent(await lines(dailyQuery), 20).map(named)).toEqual(recent(truth(), 20).map(named));
    spoilt.cancel();
    await inTheEnd();
    expect(await rig.rows("select from ops.walks where status = 'open'")).toEqual([]);
  });

  test('where the list of ads failed at first, and the next run was cut short; what is new costs no history', async () => {
    const { spoilt } = await begin({}, () => failingList('ads'));
    const { clock, script, state } = rig.platform;
    clock.advance(day);
    spoilt.cancel();
    const stop = new AbortController();
    const cut = script.at({ endpoint: aggregateReports, nth: 3 }, () =>
      stop.abort(new Interrupted('asked to stop')),
    );
    await expect(rig.sync(days, { signal: stop.signal })).rejects.toThrow(Interrupted);
    expect(cut.fired).toBe(1);
    await rig.sync(days);
    await inTheEnd();
    clock.advance(day);
    state.createAd([...state.adSets.keys()][0] ?? '', 'New today');
    const { runId } = await rig.sync(days);
    const windows = await lines(`select distinct s.window_from::date::text as line from ops.slices s
      join ops.walks w using (walk_id) where w.stream = 'report_daily' and s.run_id = ${runId}`);
    expect(windows).toHaveLength(1);
  });
});
