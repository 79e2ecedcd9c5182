import { afterEach, expect, test } from 'vitest';
import { type AdsSettings, openAds } from '../../../../src/connectors/spotify-ads/source.ts';
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

const byName = (report: RunReport): Readonly<Record<string, string>> =>
  Object.fromEntries(report.streams.map(({ stream, status }) => [stream, status]));

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

test('an account that is configured in capitals is one account', async () => {
  const id = '7f4c1cc9-9a1d-4b65-b05c-46e5e33b6705';
  const options = world(false);
  options.entities[`/ad_accounts/${id.toUpperCase()}`] = { id };
  const rig = await rigOn(options, { accountIds: ['a1', id.toUpperCase()] });
  await rig.run();
  await rig.run();
  expect(await rig.ids('ad_accounts')).toEqual([id, 'a1']);
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
