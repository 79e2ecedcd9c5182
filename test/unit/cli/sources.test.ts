import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuthFailed } from '../../../src/core/errors.ts';
import { outboundOf } from '../../../src/runs/after.ts';
import type { ProgramSettings } from '../../../src/runs/assemble.ts';
import { nextPart } from '../../../src/runs/nightly.ts';
import { openSource } from '../../../src/runs/pipelines.ts';
import { configOf } from '../../support/config.ts';
import { forwardProxy } from '../../support/forward-proxy.ts';
import * as play from '../../support/misbehaving-server.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

describe('the proxy of the environment', async () => {
  const closed = await play.misbehaving(() => play.status(401));
  const proxy = await forwardProxy(closed.port);
  afterAll(() => Promise.all([proxy.close(), closed.close()]));
  const config = (more: NodeJS.ProcessEnv): ProgramSettings =>
    configOf({ HTTP_PROXY: proxy.url, ...sources, ...more }, import.meta.dirname);
  const sources = {
    TRACKER_BASE_URL: 'http://tracker.example',
    TRACKER_EMAIL: 'me@x.example',
    TRACKER_API_TOKEN: 'x',
    ADS_BASE_URL: 'http://ads.example/ads/v3',
    ADS_ACCESS_TOKEN: 'x',
    WORKFLOW_BASE_URL: 'http://workflow.example',
  };
  const refresh = {
    ADS_ACCESS_TOKEN: '',
    ADS_CLIENT_ID: 'i',
    ADS_CLIENT_SECRET: 's',
    ADS_REFRESH_TOKEN: 'r',
    ADS_TOKEN_URL: 'http://login.example/token',
  };

  test.each([
    ['tracker', 'tracker.example', {}],
    ['ads', 'ads.example', {}],
    ['workflow', 'workflow.example', {}],
    ['ads', 'login.example', refresh],
  ])('carries the requests of %s to %s', async (pipeline, host, more) => {
    const before = proxy.asked.length;
    const source = await openSource(pipeline, config(more), '0');
    await expect(source.preflight(new AbortController().signal)).rejects.toThrow(AuthFailed);
    await source.close();
    const hosts = proxy.asked.slice(before).map((line) => new URL(line.split(' ')[1] ?? '').host);
    expect([...new Set(hosts)]).toEqual([host]);
  });

  test('carries notifications', () => {
    const url = 'https://hook.example/1';
    const urls = { TIDEMARK_WEBHOOK_URL: url, TIDEMARK_SLACK_WEBHOOK_URL: url };
    const { channels } = outboundOf({ db: {} as TestDatabase['warehouse']['db'] }, config(urls));
    expect(channels.map((each) => 'proxies' in each && each.proxies?.http?.reveal())).toEqual(
      Array(2).fill(`${proxy.url}/`),
    );
  });
});

describe('the reconcile that nightly runs', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.drop());

  test.each([
    [null, false],
    [['issues'], true],
  ])('is due unless one of every stream has ended: streams %j → %s', async (streams, isDue) => {
    const { pool } = database.warehouse;
    await pool.query('truncate ops.runs cascade');
    await pool.query(
      `insert into ops.runs (pipeline, source_id, kind, status, params, epoch, started_at) values
        ('tracker', 1, 'sync', 'succeeded', '{}', 1, now() - interval '30 days'),
        ('tracker', 1, 'reconcile', 'succeeded', $1, 1, now())`,
      [{ streams }],
    );
    const ask = { pipeline: 'tracker', does: 'sync' } as const;
    const next = await nextPart(database.warehouse, configOf({}, import.meta.dirname), ask);
    expect(next).toEqual(isDue ? { pipeline: 'tracker', does: 'reconcile' } : undefined);
  });
});
