import { afterEach, describe, expect, test, vi } from 'vitest';
import { status } from '../../../simulators/shared/faults.ts';
import { insightValues } from '../../../simulators/spotify-ads/insight.ts';
import { Interrupted } from '../../../src/core/errors.ts';
import { stored } from '../../support/ads-compared.ts';
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
const lines = async (query: string): Promise<readonly string[]> =>
  (await rig.rows<{ line: string }>(query)).map(({ line }) => line);
const midnight = (): Date => new Date(Math.floor(rig.platform.clock.now().getTime() / day) * day);
const truth = () => dailyLines(rig.platform.state, new Date('2026-01-01T00:00:00Z'), midnight());

const lists = ['businesses', 'ad_accounts', 'campaigns', 'ad_sets', 'ads'] as const;
/** Where nothing but days is looked at. */
const days = { streams: [...lists, 'report_daily'] };
/** Where no numbers are looked at. */
const entities = { streams: [...lists, 'audiences', 'campaign_drafts', 'ad_set_drafts', 'ad_drafts'] };

/** A third of the usual platform: enough for what is not about reading all of it. */
const small = { campaigns: 2, adSetsPerCampaign: 1, adsPerAdSet: 1 } as const;

describe.each(['contract', 'vendor'] as const)('an ads platform that speaks %s', (dialect) => {
  test('is read whole: every list, every day of every level, every amount to the micro', async () => {
    rig = await openAdsRig({ dialect });
    const report = await rig.sync();
    expect(
      report.streams
        .filter(({ status }) => status !== 'ok')
        .map(({ stream, status, reason }) => [stream, status, reason]),
    ).toEqual(dialect === 'vendor' ? [] : [['change_history', 'unavailable', expect.any(String)]]);
    expect(report.status).toBe('succeeded');
    expect(await lines(dailyQuery)).toEqual(truth());
    expect(await lines(adSetQuery)).toEqual(adSetLines(rig.platform.state));
    const counts =
      await rig.rows(`select (select count(*)::int from ads.campaigns) as campaigns, (select count(*)::int from ads.ads) as ads,
      (select count(*)::int from ads.assets) as assets, (select count(*)::int from ads.audiences) as audiences`);
    const { campaigns, ads, assets, audiences } = rig.platform.state;
    expect(counts).toEqual([
      { campaigns: campaigns.size, ads: ads.size, assets: assets.size, audiences: audiences.size },
    ]);
  });

  test('a second sync changes nothing', async () => {
    rig = await openAdsRig({ ...small, dialect });
    await rig.sync();
    const report = await rig.sync();
    expect(report.status).toBe('succeeded');
    expect(
      report.streams
        .map(({ stream, counts }) => [stream, counts.inserted + counts.updated])
        .filter(([, changed]) => changed !== 0),
    ).toEqual([]);
    expect(await rig.rows('select * from ads.report_revisions')).toEqual([]);
  });

  test('three nights later the restated numbers are the platform’s, and the revisions tell exactly what was restated', async () => {
    rig = await openAdsRig({ ...small, dialect });
    await rig.sync(days);
    const before = await lines(dailyQuery);
    for (let i = 0; i < 3; i += 1) {
      rig.platform.clock.advance(day);
      const [ad] = rig.platform.state.ads.keys();
      if (i === 1)
        rig.platform.state.restate(
          'AD',
          ad ?? '',
          new Date(midnight().getTime() - day).toISOString().slice(0, 10),
          'SPEND',
          '9007199254.740993',
        );
      expect((await rig.sync(days)).status).toBe('succeeded');
    }
    const after = await lines(dailyQuery);
    // What is older than the last three days of each night is not read again before the week is over.
    const recent = new Date(midnight().getTime() - 3 * day).toISOString().slice(0, 10);
    expect(after.filter((line) => (line.split(' ')[2] ?? '') >= recent)).toEqual(
      truth().filter((line) => (line.split(' ')[2] ?? '') >= recent),
    );
    expect(after.some((line) => line.includes('9007199254.740993'))).toBe(true);
    const changed = before
      .filter((line) => !after.includes(line))
      .map((line) => line.split(' ').slice(0, 3).join(' '));
    expect(changed.length).toBeGreaterThan(0);
    const revised =
      await lines(`select distinct concat_ws(' ', entity_type, entity_id, day) as line from ads.report_revisions
      where old_value is not null`);
    expect(revised.filter((line) => changed.includes(line)).toSorted()).toEqual(changed.toSorted());
    const now = await rig.rows<{ wrong: number }>(`select count(*)::int as wrong from (
        select distinct on (entity_type, entity_id, day, metric) r.entity_type, r.entity_id, r.day, r.new_value from ads.report_revisions r
        where metric = 'spend' order by entity_type, entity_id, day, metric, seen_at desc, _run_id desc) r
      join ads.report_daily d using (entity_type, entity_id, day) where d.spend is distinct from r.new_value`);
    expect(now).toEqual([{ wrong: 0 }]);
  });

  test('days that were told of what the platform has dated anew since are read again, and stay', async () => {
    rig = await openAdsRig({ ...small, dialect });
    await rig.sync({ streams: ['businesses', 'ad_accounts', 'campaigns', 'ads', 'ad_sets', 'report_daily'] });
    for (const table of ['campaigns', 'ad_sets', 'ads'])
      await rig.rows(`update ads.${table} set created_at = '2026-06-29T00:00:00Z'`);
    const [from, to] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-06-10T00:00:00Z')];
    const report = await rig.backfill({ from, to, streams: ['report_daily'] });
    expect(report).toMatchObject({ status: 'succeeded', counts: { updated: 0 } });
    expect(await lines(dailyQuery)).toEqual(truth());
    expect(await rig.rows('select * from ads.report_revisions')).toEqual([]);
  });

  test('a number that could not be stored is resolved by its restatement; replaying overwrites nothing then', async () => {
    rig = await openAdsRig({ ...small, dialect });
    const { state, clock } = rig.platform;
    const ads = [...state.ads.keys()];
    const yesterday = new Date(midnight().getTime() - day).toISOString().slice(0, 10);
    const there = new Set(truth().filter((line) => line.startsWith('AD ') && line.includes(yesterday)));
    const [one = '', other = ''] = ads.filter((id) =>
      [...there].some((line) => line.startsWith(`AD ${id} `)),
    );
    for (const id of [one, other]) state.restate('AD', id, yesterday, 'CLICKS', '99999999999999999999');
    const rejects = () =>
      lines(
        `select concat_ws(' ', status, code, field) as line from ops.rejects where stream = 'report_daily' order by record_key`,
      );
    expect(await rig.sync(days)).toMatchObject({ status: 'succeeded', counts: { rejected: 2 } });
    expect(await rejects()).toEqual(['open bad_integer CLICKS', 'open bad_integer CLICKS']);
    expect(await lines(dailyQuery)).toEqual(
      truth().filter(
        (line) =>
          !line.startsWith(`AD ${one} ${yesterday} `) && !line.startsWith(`AD ${other} ${yesterday} `),
      ),
    );
    // One is put right the next night, the other stays as it is.
    clock.advance(day);
    state.restate('AD', one, yesterday, 'CLICKS', '7.0');
    expect((await rig.sync(days)).counts.rejected).toBe(1);
    // The other one came again with other numbers beside the bad one: what it was before is of no use.
    expect((await rejects()).map((line) => line.split(' ')[0]).toSorted()).toEqual([
      'open',
      'resolved',
      'resolved',
    ]);
    const before = await lines(dailyQuery);
    expect(before.some((line) => line.startsWith(`AD ${one} ${yesterday}`) && line.includes(' 7 '))).toBe(
      true,
    );
    expect(await rig.replay()).toEqual({ replayed: 0, stillRejected: 1 });
    expect(await lines(dailyQuery)).toEqual(before);
  });

  test('a draft that is published lives on under its id; the draft is gone, the live one is there', async () => {
    rig = await openAdsRig({ ...small, dialect });
    const { state } = rig.platform;
    const [account = ''] = state.accounts.keys();
    const ids = state.createDraft(account, 'Soon to be');
    const kept = state.createDraft(account, 'Later');
    await rig.sync(entities);
    expect(
      await rig.rows(
        'select id, draft_hierarchy_version::int as version from ads.campaign_drafts where id = $1',
        [ids.campaign],
      ),
    ).toEqual([{ id: ids.campaign, version: 3 }]);
    expect(await rig.rows('select 1 from ads.campaigns where id = $1', [ids.campaign])).toEqual([]);
    state.publish(ids.campaign);
    state.deleteAudience([...state.audiences.keys()][0] ?? '');
    const report = await rig.sync(entities);
    expect(report.deleted).toBe(4);
    expect(await lines('select id as line from ads.ad_drafts where _deleted_at is null')).toEqual([kept.ad]);
    expect(
      await lines(
        `select s.status || ' ' || s.budget as line from ads.ad_sets s join ads.campaigns c on c.id = s.campaign_id where c.id = '${ids.campaign}'`,
      ),
    ).toEqual(['ACTIVE 12.345678']);
  });

  test('a budget and a status that change are kept as history, from when the platform says that they did, if that can be', async () => {
    rig = await openAdsRig({ ...small, dialect });
    const { state, clock } = rig.platform;
    await rig.sync(entities);
    const [adSet] = [...state.adSets.values()].slice(-1);
    const first = adSet?.budget ?? 0n;
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
    const versions = await rig.rows<{ budget: string; status: string; open: boolean; since: string }>(
      `select v.budget::text, v.status, valid_to is null as open,
        case when valid_from = s._synced_at then 'seen' else to_char(valid_from at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"') end as since
      from ads.ad_set_versions v join ads.ad_sets s using (source_id, id) where id = $1 order by valid_from`,
      [adSet?.id],
    );
    expect(versions.map(({ since }) => since).slice(1)).toEqual([changed, 'seen']);
    expect(versions.map(({ status, open }) => [status, open])).toEqual([
      ['ACTIVE', false],
      ['ACTIVE', false],
      ['ARCHIVED', true],
    ]);
    expect(versions.map(({ budget }) => Number(budget))).toEqual([Number(first) / 1e6, 1.000001, 1.000001]);
  });
});

test('a run after one that succeeded does not say that it goes on with it, whatever the server does not have', async () => {
  rig = await openAdsRig({ dialect: 'contract', accounts: 1, campaigns: 1, adSetsPerCampaign: 1, days: 3 });
  for (let night = 0; night < 2; night += 1) {
    const report = await rig.sync();
    expect(report.streams.find(({ stream }) => stream === 'change_history')?.status).toBe('unavailable');
  }
  const notes = rig.events.flatMap((event) => (event.type === 'note' ? [event.message] : []));
  expect(notes.filter((note) => note.includes('interrupted'))).toEqual([]);
});

const hourlyStreams = ['ad_accounts', 'campaigns', 'ad_sets', 'ads', 'report_hourly'];
const since = (back: number) => new Date(midnight().getTime() - back * day).toISOString();
/** Hours of so many days that are over and of the present one: as the platform tells them, and as they are here. */
const hours = async (back: number) => {
  const picture = pictureOf(rig.platform.state, { from: new Date('2026-06-01T00:00:00Z'), history: false });
  const told = (picture.get('report_hourly')?.rows ?? []).filter(
    (row) => (row.hour_start ?? '') >= since(back),
  );
  const kept = await stored(rig.rows, 'report_hourly', [...Object.keys(told[0] ?? {}), 'is_final']);
  const text = (row: Cells): string => JSON.stringify({ ...row, is_final: undefined });
  return {
    told: told.map(text).sort(),
    here: kept
      .filter((row) => (row.hour_start ?? '') >= since(back))
      .map(text)
      .sort(),
    final: kept.filter(({ is_final }) => is_final === 'true').map((row) => row.hour_start ?? ''),
  };
};

test('the hours of as many whole days are read again as the days are, each night and each week; none is final while it is told', async () => {
  rig = await openAdsRig({ dialect: 'contract', accounts: 1, campaigns: 1, adSetsPerCampaign: 1, days: 20 });
  const streams = hourlyStreams;
  const { clock } = rig.platform;
  await rig.sync({ streams });
  clock.advance(day);
  await rig.sync({ streams });
  const night = await hours(3);
  expect(night.here).toEqual(night.told);
  expect(night.told.some((row) => row.includes(since(3)))).toBe(true);
  clock.advance(7 * day);
  await rig.sync({ streams });
  const week = await hours(13);
  expect(week.here).toEqual(week.told);
  expect(week.final.length).toBeGreaterThan(0);
  expect(week.final.filter((at) => at >= since(13))).toEqual([]);
});

test('hours that could not be read at first are read the next night, as far as the platform still tells them', async () => {
  rig = await openAdsRig({ dialect: 'contract', accounts: 1, campaigns: 1, adSetsPerCampaign: 1, days: 20 });
  const broken = rig.platform.script.at(
    {
      endpoint: '/ad_accounts/{id}/aggregate_reports',
      times: Number.POSITIVE_INFINITY,
      match: ({ query }) => query.entity_type === 'AD',
    },
    status(500),
  );
  expect(await rig.sync({ streams: hourlyStreams })).toMatchObject({ status: 'partly_failed' });
  expect(broken.fired).toBeGreaterThan(0);
  broken.cancel();
  const first = since(13).slice(0, 10);
  rig.platform.clock.advance(day);
  expect(await rig.sync({ streams: hourlyStreams })).toMatchObject({ status: 'succeeded' });
  const { told, here } = await hours(13);
  const ofAds = (rows: readonly string[]) => rows.filter((row) => row.includes('"entity_type":"AD",'));
  expect(ofAds(here)).toEqual(ofAds(told));
  expect(here).toHaveLength(told.length);
  expect(rig.notes.filter((note) => note.includes(`no longer has ${first}`))).toHaveLength(1);
});

test('hours of a run that lasts past midnight are read, less those that the platform told last while it began', async () => {
  const now = new Date('2026-06-29T22:00:00Z');
  rig = await openAdsRig({ accounts: 1, campaigns: 1, adSetsPerCampaign: 1, days: 20, now });
  await rig.sync({ streams: lists });
  const { clock, script } = rig.platform;
  const began = performance.now.bind(performance);
  let later = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => began() + later);
  const late = script.at({ endpoint: '/ad_accounts/{id}' }, () => {
    later = 4 * 3_600_000;
    clock.advance(later);
  });
  expect(await rig.sync({ streams: ['ad_accounts', 'report_hourly'] })).toMatchObject({
    status: 'succeeded',
  });
  expect(late.fired).toBe(1);
  const { told, here } = await hours(13);
  const begun = told.filter((row) => (/"hour_start":"([^"]*)/.exec(row)?.[1] ?? '') < '2026-06-29T23');
  expect(begun.some((row) => row.includes(since(13)))).toBe(true);
  expect(here).toEqual(begun);
  expect(rig.notes.filter((note) => note.includes('no longer has 2026-06-16'))).toHaveLength(4);
});

test('days whose last reading fell into nights without a run are read by the next one', async () => {
  rig = await openAdsRig({
    dialect: 'contract',
    accounts: 1,
    campaigns: 1,
    adSetsPerCampaign: 1,
    adsPerAdSet: 1,
  });
  await rig.sync();
  const { state, clock } = rig.platform;
  const streams = ['report_daily', 'report_hourly'];
  const [row] = await rig.rows<{ id: string; hour: string }>(`select entity_id as id,
      to_char(hour_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24') as hour from ads.report_hourly
    where entity_type = 'AD' and hour_start >= '2026-06-29' and hour_start < '2026-06-30' order by hour_start limit 1`);
  const { id = '', hour = '' } = row ?? {};
  state.restate('AD', id, hour, 'CLICKS', '4711.0');
  state.restate('AD', id, '2026-06-29', 'CLICKS', '4712.0');
  clock.advance(5 * day);
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
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

test('one account’s 403 makes the run partly failed by its name; the others are read and nothing is deleted', async () => {
  rig = await openAdsRig({ ...small, dialect: 'contract' });
  await rig.sync(days);
  const before = await lines(dailyQuery);
  const watermark = () =>
    rig.rows<{ at: Date }>("select watermark as at from ops.checkpoints where stream = 'report_daily'");
  const [read] = await watermark();
  const [closed] = rig.platform.state.accounts.values();
  if (closed !== undefined) closed.forbidden = true;
  rig.platform.clock.advance(day);
  const report = await rig.sync(days);
  expect(report.status).toBe('partly_failed');
  expect(report.error?.message).toContain(closed?.id ?? 'an account');
  expect(report.streams.find(({ stream }) => stream === 'campaigns')?.status).toBe('forbidden');
  expect(report.streams.find(({ stream }) => stream === 'report_daily')?.status).toBe('forbidden');
  expect(report.deleted).toBe(0);
  const theirs = (all: readonly string[]) => all.length;
  expect(theirs(await lines(dailyQuery))).toBeGreaterThan(theirs(before));
  // Its days wait: the checkpoint, and with it the stream's freshness, does not pass them.
  expect(await watermark()).toEqual([read]);
  if (closed !== undefined) closed.forbidden = false;
  rig.platform.clock.advance(day);
  expect((await rig.sync(days)).status).toBe('succeeded');
  expect((await watermark())[0]?.at.getTime()).toBe((read?.at.getTime() ?? 0) + 2 * day);
  const recent = new Date(midnight().getTime() - 3 * day).toISOString().slice(0, 10);
  const fresh = (all: readonly string[]) => all.filter((line) => (line.split(' ')[2] ?? '') >= recent);
  expect(fresh(await lines(dailyQuery))).toEqual(fresh(truth()));
});

test('beside an account that stays closed the others are read anew by each sync, however soon it comes', async () => {
  rig = await openAdsRig({ ...small, dialect: 'contract' });
  const { state } = rig.platform;
  const [closed = ''] = state.accounts.keys();
  const [gone] = [...state.audiences.values()].filter(({ accountId }) => accountId !== closed);
  expect((await rig.sync(entities)).status).toBe('succeeded');
  state.forbid(closed);
  expect((await rig.sync(entities)).status).toBe('partly_failed');
  state.deleteAudience(gone?.id ?? '');
  const report = await rig.sync(entities);
  expect(report.streams.find(({ stream }) => stream === 'audiences')).toMatchObject({
    status: 'forbidden',
    deleted: 1,
  });
  expect(await rig.rows('select id from ads.audiences where _deleted_at is not null')).toEqual([
    { id: gone?.id },
  ]);
});

test('an account that stays closed is asked for the days since it was closed, not for all of history each night', async () => {
  const tiny = { accounts: 2, campaigns: 1, adSetsPerCampaign: 1, adsPerAdSet: 1, days: 200 } as const;
  rig = await openAdsRig({ ...tiny, dialect: 'contract' }, { start: new Date('2025-10-01T00:00:00Z') });
  const { state, clock } = rig.platform;
  const streams = ['ad_accounts', 'campaigns', 'ad_sets', 'ads', 'report_daily'];
  await rig.sync({ streams });
  const [closed = ''] = state.accounts.keys();
  state.forbid(closed);
  const asked: number[] = [];
  for (let night = 0; night < 3; night += 1) {
    clock.advance(day);
    const before = rig.platform.log.length;
    const report = await rig.sync({ streams });
    expect(report.streams.find(({ stream }) => stream === 'report_daily')?.status).toBe('forbidden');
    asked.push(
      rig.platform.log.slice(before).filter(({ path }) => path.includes(`${closed}/aggregate_reports`))
        .length,
    );
  }
  // Each refusal is confirmed by a second request: four levels.
  expect(asked).toEqual([8, 8, 8]);
  const [ad = ''] = [...state.ads.values()]
    .filter(({ accountId }) => accountId === closed)
    .map(({ id }) => id);
  state.restate(
    'AD',
    ad,
    new Date(midnight().getTime() - 5 * day).toISOString().slice(0, 10),
    'CLICKS',
    '4711.0',
  );
  state.forbid(closed, false);
  clock.advance(day);
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  const theirs = (all: readonly string[]) =>
    all.filter((line) => line.startsWith(`AD ${ad} `) && (line.split(' ')[2] ?? '') >= since(6).slice(0, 10));
  expect(theirs(await lines(dailyQuery))).toEqual(theirs(truth()));
  expect(theirs(truth()).join()).toContain(' 4711 ');
});

test('servers that call their lists otherwise, and state no totals, are read as well', async () => {
  rig = await openAdsRig({
    dialect: 'contract',
    container: 'items',
    paging: false,
    campaigns: 60,
    adSetsPerCampaign: 1,
    adsPerAdSet: 1,
    days: 3,
  });
  const report = await rig.sync({ streams: ['ad_accounts', 'campaigns', 'ads', 'ad_sets'] });
  expect(report.status).toBe('succeeded');
  expect(await rig.rows('select count(*)::int as n from ads.campaigns')).toEqual([{ n: 120 }]);
  expect(await lines(adSetQuery)).toEqual(adSetLines(rig.platform.state));
});

test('a backfill plans within the API’s limits and reads exactly its days', async () => {
  rig = await openAdsRig({ dialect: 'vendor' });
  await rig.sync({ streams: ['businesses', 'ad_accounts', 'campaigns', 'ad_sets', 'ads'] });
  const window = { from: new Date('2026-06-10T00:00:00Z'), to: new Date('2026-06-12T00:00:00Z') };
  const planned = (await rig.plan(window)).find(({ stream }) => stream === 'report_daily');
  expect(planned).toMatchObject({ slices: 8, requests: expect.any(Number) });
  const asked = rig.platform.log.length;
  expect((await rig.backfill({ ...window, streams: ['report_daily'] })).status).toBe('succeeded');
  expect(
    rig.platform.log.slice(asked).filter(({ endpoint }) => endpoint.endsWith('aggregate_reports')).length,
  ).toBeLessThanOrEqual((planned?.requests ?? 0) + 8);
  expect(await lines(dailyQuery)).toEqual(truth().filter((line) => /2026-06-1[01]/.test(line)));
});

test('a CSV report equals the rows by id that it names, to the micro, and no credential reaches its host', async () => {
  rig = await openAdsRig({ dialect: 'vendor' });
  const report = await rig.sync({ streams: [...days.streams, 'async_reports'] });
  expect(report.status).toBe('succeeded');
  const both =
    await rig.rows(`select c.rows = d.rows as rows, c.spend = d.spend as spend, c.impressions = d.impressions as impressions, c.rows > 100 as many
    from (select count(*) as rows, sum(spend) as spend, sum(impressions) as impressions from ads.report_csv) c,
      (select count(*) as rows, sum(spend) as spend, sum(impressions) as impressions from ads.report_daily where entity_type = 'AD') d`);
  expect(both).toEqual([{ rows: true, spend: true, impressions: true, many: true }]);
  expect(rig.platform.storage.downloads).toBeGreaterThan(0);
  expect(rig.platform.storage.leaked).toEqual([]);
});

test('a number that stands stays where its restatement cannot be stored, and nothing says that it went', async () => {
  rig = await openAdsRig(small);
  const { state, clock } = rig.platform;
  await rig.sync(days);
  const yesterday = new Date(midnight().getTime() - day).toISOString().slice(0, 10);
  const ofYesterday = (all: readonly string[]) => all.filter((line) => line.split(' ')[2] === yesterday);
  const stored = async () => ofYesterday(await lines(dailyQuery));
  const [told = ''] = ofYesterday(truth()).filter((line) => line.startsWith('AD '));
  const [, bad = ''] = told.split(' ');
  const spends = () =>
    lines(`select concat_ws(' ', trim_scale(new_value), new_value is null) as line from ads.report_revisions
      where entity_id = '${bad}' and day = '${yesterday}' and metric = 'spend' order by seen_at`);
  clock.advance(day);
  state.restate('AD', bad, yesterday, 'SPEND', '1e30');
  expect(await rig.sync(days)).toMatchObject({ status: 'succeeded', counts: { rejected: 1 } });
  expect(await stored()).toEqual(
    ofYesterday(truth())
      .map((line) => (line.startsWith(`AD ${bad} `) ? told : line))
      .sort(),
  );
  expect(await spends()).toEqual([]);
  // As if we could read it by now.
  await rig.rows(
    "update ops.rejects set payload = replace(convert_from(payload, 'UTF8'), '1e30', '6.5')::bytea",
  );
  expect(await rig.replay()).toEqual({ replayed: 1, stillRejected: 0 });
  expect(await spends()).toEqual(['6.5 f']);
  state.restate('AD', bad, yesterday, 'SPEND', '7.5');
  expect(await rig.sync(days)).toMatchObject({ counts: { rejected: 0 } });
  expect(await stored()).toEqual(ofYesterday(truth()));
  expect(await spends()).toEqual(['6.5 f', '7.5 f']);
});

test('a reject of a list is resolved when the list no longer shows it, of the history of changes it is not', async () => {
  rig = await openAdsRig({ ...small, dialect: 'vendor' });
  const only = { streams: ['ad_accounts', 'campaigns', 'change_history'] };
  const odd = ['campaigns', 'change_history'].map((key) =>
    rig.platform.script.at(
      { endpoint: `/ad_accounts/{id}/${key}`, times: Number.POSITIVE_INFINITY },
      {
        name: 'a record without an id in place of the first one',
        answer: (answer) => {
          const body = JSON.parse(answer.body.toString());
          if (body.paging.offset > 0) return answer;
          const records = [{ id: 5, change_id: 5 }, ...body[key].slice(1)];
          const paging = {
            ...body.paging,
            total_results: Math.max(body.paging.total_results, records.length),
          };
          return { ...answer, body: Buffer.from(JSON.stringify({ ...body, paging, [key]: records })) };
        },
      },
    ),
  );
  await rig.sync({ streams: ['businesses', ...only.streams] });
  const rejects = () =>
    lines("select distinct concat_ws(' ', stream, status) as line from ops.rejects order by 1");
  expect(await rejects()).toEqual(['campaigns open', 'change_history open']);
  for (const rule of odd) rule.cancel();
  expect(await rig.sync(only)).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
  expect(await rejects()).toEqual(['campaigns resolved', 'change_history open']);
});

test.each([
  ['targets that are a text and caps that are none', { targets: 'everybody', frequency_caps: 'none' }],
  [
    'a cap and a placement that cannot be read',
    { targets: { placements: ['MUSIC', 5] }, frequency_caps: [5] },
  ],
])('%s take no caps and no placements of an ad set away', async (_, odd) => {
  rig = await openAdsRig({ ...small, dialect: 'vendor' });
  const count = async () =>
    (
      await rig.rows<
        Record<string, number>
      >(`select (select count(*) from ads.ad_set_targets)::int as targets,
        (select count(*) from ads.ad_set_frequency_caps)::int as caps, (select count(*) from ads.ad_set_placements)::int as placements`)
    )[0];
  const only = ['ad_accounts', 'campaigns', 'ads', 'ad_sets'];
  const answering = (change: object) =>
    rig.platform.script.at(
      { endpoint: '/ad_accounts/{id}/ad_sets', times: Number.POSITIVE_INFINITY },
      {
        name: 'other parts of ad sets',
        answer: (answer) => {
          const body = JSON.parse(answer.body.toString());
          const changed = body.ad_sets.map((adSet: object) => ({ ...adSet, ...change }));
          return { ...answer, body: Buffer.from(JSON.stringify({ ...body, ad_sets: changed })) };
        },
      },
    );
  const cap = { frequency_unit: 'DAY', frequency_period: 1, max_impressions: 3 };
  const good = answering({ targets: { placements: ['MUSIC', 'PODCAST'] }, frequency_caps: [cap] });
  await rig.sync({ streams: ['businesses', ...only] });
  const before = await count();
  expect(before?.caps).toBeGreaterThan(0);
  expect(before).toEqual({
    targets: 2 * (before?.caps ?? 0),
    caps: before?.caps,
    placements: 2 * (before?.caps ?? 0),
  });
  good.cancel();
  const spoilt = answering(odd);
  expect(await rig.sync({ streams: ['ad_sets'] })).toMatchObject({
    status: 'succeeded',
    counts: { rejected: 0 },
  });
  expect(await count()).toMatchObject({ caps: before?.caps, placements: before?.placements });
  spoilt.cancel();
  answering({ targets: null, frequency_caps: [] });
  expect(await rig.sync({ streams: ['ad_sets'] })).toMatchObject({ status: 'succeeded' });
  expect(await count()).toEqual({ targets: 0, caps: 0, placements: 0 });
});

describe('who heard it, of what is archived', () => {
  const insights = { streams: [...lists, 'insight_reports'] };
  const tiny = { accounts: 1, campaigns: 2, adSetsPerCampaign: 1, adsPerAdSet: 1 } as const;
  const endpoint = '/ad_accounts/{id}/insight_reports';
  const all = Object.keys(insightValues).toSorted();
  /** The dimensions of an entity that were last asked for on a day. */
  const askedOn = (id: string, on: Date): Promise<readonly string[]> =>
    lines(`select dimension as line from ads.insight_states
      where entity_id = '${id}' and asked_on = '${on.toISOString().slice(0, 10)}' order by 1`);
  const archived = (level: 'campaigns' | 'adSets'): string => {
    const id = [...rig.platform.state[level].keys()].at(-1) ?? '';
    rig.platform.state.update(id, { status: 'ARCHIVED' });
    return id;
  };

  test.each(['campaigns', 'adSets'] as const)(
    'every dimension comes in the end, also where a night broke off between them (%s)',
    async (level) => {
      rig = await openAdsRig({ ...tiny, dialect: 'vendor' });
      const id = archived(level);
      rig.platform.clock.advance(30 * day);
      const broken = rig.platform.script.at(
        {
          endpoint,
          times: Number.POSITIVE_INFINITY,
          match: ({ query }) => query.entity_ids === id && query.insight_dimension === 'METRO',
        },
        status(502),
      );
      expect(await rig.sync(insights)).toMatchObject({ status: 'partly_failed' });
      expect(broken.fired).toBeGreaterThan(0);
      const some = await askedOn(id, rig.platform.clock.now());
      expect(some).toContain('AGE');
      expect(some).not.toContain('METRO');
      broken.cancel();
      expect(await rig.sync(insights)).toMatchObject({ status: 'succeeded' });
      expect(await askedOn(id, rig.platform.clock.now())).toEqual(all);
    },
  );

  test.each(['campaigns', 'adSets'] as const)(
    'is asked for until two weeks are over, once behind them, and no more (%s)',
    async (level) => {
      rig = await openAdsRig({ ...tiny, dialect: 'vendor' });
      const { clock } = rig.platform;
      await rig.sync(insights);
      const id = archived(level);
      for (const later of [1, 12, 20]) {
        clock.advance(later * day);
        expect(await rig.sync(insights)).toMatchObject({ status: 'succeeded' });
        expect(await askedOn(id, clock.now())).toEqual(all);
      }
      const last = clock.now();
      clock.advance(day);
      await rig.sync(insights);
      expect(await askedOn(id, last)).toEqual(all);
      expect(await insightDifferences(rig.rows, rig.platform.state)).toEqual([]);
    },
  );
});

describe('what becomes known late brings the days from before', () => {
  const short = { restateDays: [2, 7, 7] } as const;
  /** What days need; the other reports learn of it in the same way. */
  const daily = { streams: [...lists, 'report_daily'] };
  const inTheEnd = async (what: Parameters<AdsRig['sync']>[0] = daily): Promise<void> => {
    rig.platform.clock.advance(day);
    expect((await rig.sync(what)).status).toBe('succeeded');
    // Days between are restated in their own time; none of them may be missing.
    expect((await lines(dailyQuery)).map(named)).toEqual(truth().map(named));
    expect((await rig.sync(what)).counts).toMatchObject({ inserted: 0, updated: 0 });
  };
  /** Level, entity and day of a line. */
  const named = (line: string): string => line.split(' ').slice(0, 3).join(' ');

  test.each(['contract', 'vendor'] as const)(
    'an account that was closed to us at first (%s)',
    async (dialect) => {
      rig = await openAdsRig({ ...small, dialect }, short);
      const closed = [...rig.platform.state.accounts.keys()].at(-1) ?? '';
      rig.platform.state.forbid(closed);
      await rig.sync();
      expect((await lines(dailyQuery)).length).toBeLessThan(truth().length);
      rig.platform.state.forbid(closed, false);
      await inTheEnd({});
    },
  );

  const isOld = ({ query }: { readonly query: Readonly<Record<string, string>> }): boolean =>
    query.entity_type === 'AD' && (query.report_start ?? '') < '2026-03-15';

  test.each([
    ['contract', 403],
    ['vendor', 403],
    ['vendor', 404],
    ['vendor', 410],
  ] as const)('days that were refused at first (%s: %i)', async (dialect, code) => {
    rig = await openAdsRig({ ...small, dialect, days: 120 }, short);
    const refused = rig.platform.script.at(
      { endpoint: '/ad_accounts/{id}/aggregate_reports', times: Number.POSITIVE_INFINITY, match: isOld },
      status(code),
    );
    expect(await rig.sync(daily)).toMatchObject({ status: code === 403 ? 'partly_failed' : 'succeeded' });
    expect(refused.fired).toBeGreaterThan(0);
    expect((await lines(dailyQuery)).length).toBeLessThan(truth().length);
    refused.cancel();
    await inTheEnd();
  });

  test.each([
    ['contract', '/ad_accounts/{id}/ads', 500],
    ['vendor', '/ad_accounts/{id}/ads', 500],
    ['vendor', '/ad_accounts/{id}/ad_sets', 500],
    ['vendor', '/ad_accounts/{id}/campaigns', 500],
  ] as const)('what a list of %s did not show at first (%s: %i)', async (dialect, endpoint, code) => {
    rig = await openAdsRig({ ...small, dialect }, short);
    const broken = rig.platform.script.at({ endpoint, times: Number.POSITIVE_INFINITY }, status(code));
    await rig.sync(daily);
    expect(broken.fired).toBeGreaterThan(0);
    expect((await lines(dailyQuery)).length).toBeLessThan(truth().length);
    broken.cancel();
    await inTheEnd();
  });

  test('an account whose days fail night after night keeps those of no other out of the warehouse', async () => {
    rig = await openAdsRig({ ...small, dialect: 'vendor', days: 120 }, short);
    const broken = rig.platform.script.at(
      { endpoint: '/ad_accounts/{id}/aggregate_reports', times: Number.POSITIVE_INFINITY, match: isOld },
      status(500),
    );
    expect(await rig.sync(daily)).toMatchObject({ status: 'partly_failed' });
    rig.platform.clock.advance(5 * day);
    expect(await rig.sync(daily)).toMatchObject({ status: 'partly_failed' });
    const recent = new Date(midnight().getTime() - 20 * day).toISOString().slice(0, 10);
    const fresh = (all: readonly string[]) => all.filter((line) => (line.split(' ')[2] ?? '') >= recent);
    expect(fresh(await lines(dailyQuery)).map(named)).toEqual(fresh(truth()).map(named));
    expect(broken.fired).toBeGreaterThan(0);
    broken.cancel();
    await inTheEnd();
    expect(await rig.rows("select from ops.walks where status = 'open'")).toEqual([]);
  });

  test('a list that failed at first, and a night that was cut short behind it', async () => {
    rig = await openAdsRig({ ...small, dialect: 'vendor' }, short);
    const broken = rig.platform.script.at(
      { endpoint: '/ad_accounts/{id}/ads', times: Number.POSITIVE_INFINITY },
      status(500),
    );
    await rig.sync(daily);
    rig.platform.clock.advance(day);
    const stop = new AbortController();
    const cut = rig.platform.script.at({ endpoint: '/ad_accounts/{id}/aggregate_reports', nth: 3 }, () =>
      stop.abort(new Interrupted('asked to stop')),
    );
    await expect(rig.sync(daily, { signal: stop.signal })).rejects.toThrow(Interrupted);
    expect([broken.fired > 0, cut.fired]).toEqual([true, 1]);
    broken.cancel();
    await rig.sync(daily);
    await inTheEnd();
  });

  test('what is born each day costs no history', async () => {
    rig = await openAdsRig({ ...small, dialect: 'vendor' }, short);
    await rig.sync(daily);
    rig.platform.clock.advance(day);
    const [adSet = ''] = rig.platform.state.adSets.keys();
    rig.platform.state.createAd(adSet, 'New today');
    await rig.sync(daily);
    expect(
      await lines(`select distinct s.window_from::date::text as line from ops.slices s join ops.walks w using (walk_id)
        where w.stream = 'report_daily' and w.kind = 'incremental' order by 1`),
    ).toHaveLength(1);
  });
});
