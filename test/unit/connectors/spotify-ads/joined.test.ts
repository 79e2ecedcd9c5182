import { afterEach, expect, test } from 'vitest';
import { type AdsSettings, openAds } from '../../../../src/connectors/spotify-ads/source.ts';
import { AuthFailed } from '../../../../src/core/errors.ts';
import type { RunEvent, RunReport } from '../../../../src/core/run.ts';
import { sync } from '../../../../src/engine/sync.ts';
import { type TestDatabase, testDatabase } from '../../../support/postgres.ts';
import { type Entity, type PlatformOptions, platform } from './platform.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const at = (n: number): string => new Date(Date.UTC(2025, 0, 1) + n * 60_000).toISOString();
const some = (prefix: string, count: number, more: (n: number) => object = () => ({})): readonly Entity[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `${prefix}-${n}`,
    name: `${prefix} ${n}`,
    created_at: at(n),
    updated_at: at(n),
    ...more(n),
  }));

const adSets = (account: string): readonly Entity[] =>
  some(`${account}-set`, 60, (n) => ({
    campaign_id: `${account}-campaign-${n % 7}`,
    status: 'ACTIVE',
    budget: { micro_amount: 1_500_000 + n, type: 'DAILY', currency: 'EUR' },
    targets: { platforms: ['ANDROID', 'IOS'] },
  }));

/** Two accounts under two businesses. */
const world = (vendor: boolean) => {
  const accounts = ['a1', 'a2'];
  const lists: Record<string, readonly Entity[]> = {
    '/businesses': some('b', 2),
    '/businesses/b-0/ad_accounts': [{ id: 'a1' }],
    '/businesses/b-1/ad_accounts': [{ id: 'a2' }],
    '/ad_categories': some('ADV', 8),
  };
  const entities: Record<string, Entity> = {};
  for (const account of accounts) {
    const of = `/ad_accounts/${account}`;
    entities[of] = { id: account, name: `Account ${account}`, currency_code: 'EUR' };
    lists[`${of}/campaigns`] = some(`${account}-campaign`, 7, () => ({ status: 'ACTIVE' }));
    lists[`${of}/ads`] = some(`${account}-ad`, 130, (n) => ({
      ad_set_id: `${account}-set-${n % 60}`,
      status: 'ACTIVE',
    }));
    lists[`${of}/assets`] = some(`${account}-asset`, 51, () => ({ asset_type: 'IMAGE', status: 'READY' }));
    lists[`${of}/audiences`] = some(`${account}-audience`, 5, () => ({ type: 'CUSTOM' }));
    lists[`${of}/drafts/campaigns`] = some(`${account}-campaign`, 3, () => ({ draft_hierarchy_version: 4 }));
    lists[`${of}/drafts/ad_sets`] = some(`${account}-set`, 3, () => ({
      campaign_id: `${account}-campaign-0`,
    }));
    lists[`${of}/drafts/ads`] = some(`${account}-ad`, 3, () => ({ ad_set_id: `${account}-set-0` }));
    if (vendor) {
      lists[`${of}/ad_sets`] = adSets(account);
      lists[`${of}/change_history`] = some(`${account}-change`, 9).map(({ id, created_at }) => ({
        id,
        change_id: id,
        timestamp: created_at,
        entity_type: 'CAMPAIGN',
        entity_id: `${account}-campaign-0`,
        operation: 'UPDATE',
        changes: [],
      }));
    } else for (const one of adSets(account)) entities[`${of}/ad_sets/${one.id}`] = one;
  }
  return { lists, entities, closed: [] as string[] };
};

const rigOn = async (options: PlatformOptions, settings: Partial<AdsSettings> = {}) => {
  const server = await platform(options);
  const database: TestDatabase = await testDatabase();
  closing.push(
    () => server.close(),
    () => database.drop(),
  );
  const events: RunEvent[] = [];
  return {
    server,
    events,
    async run(more: Partial<AdsSettings> = {}): Promise<RunReport> {
      const observe = (event: RunEvent): void => void events.push(event);
      const source = openAds(
        {
          baseUrl: `${server.url}/ads/v3`,
          credentials: { kind: 'token', accessToken: { reveal: () => 'g1ven-token' } },
          accountIds: [],
          sdkHeader: 'X-Service-Ads-Sdk',
          start: new Date('2025-01-01T00:00:00Z'),
          concurrency: 8,
          requestsPerSecond: 0,
          reportRequestsPerSecond: 0,
          reportHosts: [],
          restateDays: [3, 14, 90],
          ...settings,
          ...more,
        },
        { observe, http: { version: '1.2.3', retry: { baseMs: 1, capMs: 5 } } },
      );
      try {
        const streams = source.streams.map(({ name }) => name).filter((name) => !name.includes('report'));
        return await sync(
          {
            warehouse: database.warehouse,
            source,
            observe,
            signal: new AbortController().signal,
            concurrency: 4,
            version: 'test',
            trigger: 'manual',
            lookbackMs: 0,
            createdWindowMs: 0,
            historyStart: new Date('2025-01-01T00:00:00Z'),
          },
          { streams },
        );
      } finally {
        await source.close();
      }
    },
    async ids(table: string, where = '_deleted_at is null'): Promise<readonly string[]> {
      const { rows } = await database.warehouse.pool.query<{ id: string }>(
        `select id from ads.${table} where ${where} order by id`,
      );
      return rows.map(({ id }) => id);
    },
  };
};

const truth = (lists: Readonly<Record<string, readonly Entity[]>>, ending: string): readonly string[] =>
  Object.entries(lists)
    .flatMap(([path, list]) =>
      path.startsWith('/ad_accounts') && path.endsWith(ending) ? list.map(({ id }) => id) : [],
    )
    .sort();

const byName = (report: RunReport): Readonly<Record<string, string>> =>
  Object.fromEntries(report.streams.map(({ stream, status }) => [stream, status]));

test.each([
  ['vendor, which lists ad sets', 'vendor', true],
  ['contract without numbers, where ad sets are asked for by id', 'bare', false],
] as const)(
  'a server of the %s, fills every table of its lists; a second sync changes nothing',
  async (_, tongue, vendor) => {
    const options = world(vendor);
    const rig = await rigOn({ ...options, tongue });
    const report = await rig.run();
    expect(
      report.streams.filter(({ status }) => status !== 'ok').map(({ stream, status }) => [stream, status]),
    ).toEqual(vendor ? [] : [['change_history', 'unavailable']]);
    expect(report.status).toBe('succeeded');
    const { lists } = options;
    expect(await rig.ids('businesses')).toEqual(['b-0', 'b-1']);
    expect(await rig.ids('ad_accounts')).toEqual(['a1', 'a2']);
    expect(await rig.ids('ad_categories')).toHaveLength(8);
    for (const [table, ending] of [
      ['campaigns', 'a1/campaigns'],
      ['ads', '/ads'],
      ['assets', '/assets'],
      ['audiences', '/audiences'],
      ['campaign_drafts', '/drafts/campaigns'],
      ['ad_set_drafts', '/drafts/ad_sets'],
      ['ad_drafts', '/drafts/ads'],
    ] as const) {
      const wanted =
        table === 'ads' || table === 'campaigns'
          ? ['a1', 'a2'].flatMap((a) => lists[`/ad_accounts/${a}/${table}`]?.map(({ id }) => id) ?? []).sort()
          : truth(lists, ending);
      expect(await rig.ids(table), table).toEqual(wanted);
    }
    expect(await rig.ids('ad_sets')).toEqual([...adSets('a1'), ...adSets('a2')].map(({ id }) => id).sort());
    expect(await rig.ids('ad_sets', `budget = 1.500007 and ad_account_id = 'a1'`)).toEqual(['a1-set-7']);
    const again = await rig.run();
    expect(again.status).toBe('succeeded');
    expect(again.counts).toMatchObject({ inserted: 0, updated: 0, rejected: 0 });
    expect(again.deleted).toBe(0);
  },
);

test('a closed account makes the run partly failed, deletes nothing, and comes back', async () => {
  const options = world(false);
  const rig = await rigOn(options, { accountIds: ['A1', 'A2'] });
  options.entities['/ad_accounts/A1'] = options.entities['/ad_accounts/a1'] ?? { id: 'a1' };
  options.entities['/ad_accounts/A2'] = options.entities['/ad_accounts/a2'] ?? { id: 'a2' };
  expect((await rig.run()).status).toBe('succeeded');
  const before = await rig.ids('ads');
  options.closed.push('/ad_accounts/a2', '/ad_accounts/A2');
  const report = await rig.run();
  expect(report.status).toBe('partly_failed');
  expect(byName(report)).toMatchObject({
    ad_accounts: 'failed',
    campaigns: 'forbidden',
    ad_sets: 'forbidden',
    ads: 'forbidden',
  });
  expect(report.deleted).toBe(0);
  expect(await rig.ids('ads')).toEqual(before);
  expect(await rig.ids('audiences')).toHaveLength(10);
  const [accounts] = report.streams.filter(({ stream }) => stream === 'ad_accounts');
  expect(accounts?.reason).toContain('1 of 2 failed: A2 (GET');
  options.closed.length = 0;
  expect(byName(await rig.run())).toMatchObject({ campaigns: 'ok', ad_sets: 'ok', ads: 'ok' });
});

test('an account that was closed from the beginning makes the run partly failed', async () => {
  const options = { ...world(false), closed: ['/ad_accounts/a2'] };
  const rig = await rigOn(options, { accountIds: ['a1', 'a2'] });
  const report = await rig.run();
  expect(report.status).toBe('partly_failed');
  expect(byName(report)).toMatchObject({ ad_accounts: 'failed', campaigns: 'ok', audiences: 'ok' });
  expect(await rig.ids('campaigns')).toEqual(options.lists['/ad_accounts/a1/campaigns']?.map(({ id }) => id));
});

test('an account that is configured in capitals is one account', async () => {
  const id = '7f4c1cc9-9a1d-4b65-b05c-46e5e33b6705';
  const options = world(false);
  options.entities[`/ad_accounts/${id.toUpperCase()}`] = { id };
  const rig = await rigOn(options, { accountIds: ['a1', id.toUpperCase()] });
  await rig.run();
  await rig.run();
  expect(await rig.ids('ad_accounts')).toEqual([id, 'a1']);
});

test('only the accounts that are configured are read', async () => {
  const options = world(true);
  const rig = await rigOn(options);
  await rig.run();
  const before = rig.server.requests.length;
  await rig.run({ accountIds: ['a1'] });
  expect(rig.server.requests.slice(before).filter(({ url }) => url.includes('/ad_accounts/a2'))).toEqual([]);
});

test('what a list no longer shows is tombstoned where the platform deletes, and stays where it archives', async () => {
  const options = world(true);
  const rig = await rigOn(options);
  await rig.run();
  for (const path of ['campaigns', 'ads', 'audiences', 'drafts/ads']) {
    const list = options.lists[`/ad_accounts/a1/${path}`] ?? [];
    options.lists[`/ad_accounts/a1/${path}`] = list.slice(1);
  }
  expect((await rig.run()).status).toBe('succeeded');
  expect(await rig.ids('campaigns', '_deleted_at is not null')).toEqual([]);
  expect(await rig.ids('ads', '_deleted_at is not null')).toEqual([]);
  expect(await rig.ids('audiences', '_deleted_at is not null')).toEqual(['a1-audience-0']);
  expect(await rig.ids('ad_drafts', '_deleted_at is not null')).toEqual(['a1-ad-0']);
});

test('an ad set that lost its last ad is still asked for by its id', async () => {
  const options = world(false);
  const rig = await rigOn(options);
  await rig.run();
  options.lists['/ad_accounts/a1/ads'] = (options.lists['/ad_accounts/a1/ads'] ?? []).filter(
    ({ ad_set_id }) => ad_set_id !== 'a1-set-5',
  );
  const { '/ad_accounts/a1/ad_sets/a1-set-5': one = { id: '' } } = options.entities;
  options.entities['/ad_accounts/a1/ad_sets/a1-set-5'] = { ...one, status: 'ARCHIVED', updated_at: at(999) };
  await rig.run();
  expect(await rig.ids('ad_sets', `status = 'ARCHIVED' or status = 'archived'`)).toEqual(['a1-set-5']);
});

test('a wrong token, and one to which nothing is open, end the run as a failed login', async () => {
  const closed = await rigOn({ ...world(true), closed: ['/'] });
  await expect(closed.run()).rejects.toBeInstanceOf(AuthFailed);
  const rig = await rigOn(world(true));
  const wrong = { kind: 'token', accessToken: { reveal: () => 'another-token' } } as const;
  await expect(rig.run({ credentials: wrong })).rejects.toBeInstanceOf(AuthFailed);
  expect(rig.server.fired).toEqual(['status 401']);
});

test('every request of a sync carries the bearer, the tracking header and a limit within bounds', async () => {
  const rig = await rigOn(world(false));
  await rig.run();
  expect(rig.server.requests.length).toBeGreaterThan(100);
  for (const { headers, url } of rig.server.requests) {
    expect(headers.authorization).toBe('Bearer g1ven-token');
    expect(headers['x-service-ads-sdk']).toBe('tidemark/1.2.3');
    const limit = new URL(url, 'http://x').searchParams.get('limit');
    if (limit !== null) expect(Number(limit) >= 1 && Number(limit) <= 50).toBe(true);
  }
});
