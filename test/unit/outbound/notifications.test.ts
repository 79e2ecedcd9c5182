import crypto from 'node:crypto';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RunReport, RunStatus } from '../../../src/core/run.ts';
import type { Channel } from '../../../src/outbound/channel.ts';
import type { RunRef } from '../../../src/outbound/health.ts';
import { afterRun, checkHealth, type Outbound } from '../../../src/outbound/outbound.ts';
import { streamStates } from '../../../src/queries/freshness.ts';
import { key, other } from '../../support/certificates.ts';
import { type ForwardProxy, forwardProxy } from '../../support/forward-proxy.ts';
import * as play from '../../support/misbehaving-server.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { runReport } from '../../support/run-report.ts';
import { type Receiver, startReceiver } from './receiver.ts';

let database: TestDatabase;
let hook: Receiver;
let slack: Receiver;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  hook = await startReceiver();
  slack = await startReceiver();
  await query('truncate ops.health, ops.notifications, ops.handoffs, ops.runs cascade');
});
afterEach(() => Promise.all([hook.close(), slack.close()]));

const secret = 'whsec of the test';
const channels = (): readonly Channel[] => [
  { name: 'webhook', url: { reveal: () => hook.url }, secret: { reveal: () => secret } },
  { name: 'slack', url: { reveal: () => slack.url } },
];
const outbound = (): Outbound => ({ db: database.warehouse.db, channels: channels(), onSuccess: {} });
const query = (text: string, values: readonly unknown[] = []) =>
  database.warehouse.pool.query(text, [...values]).then(({ rows }) => rows);
const { signal } = new AbortController();
let runs = 0;
const report = (status: RunStatus, more: Partial<RunReport> = {}): RunReport => {
  runs += 1;
  return runReport({
    runId: String(runs),
    status,
    ...(status === 'failed' && { error: { code: 'auth', message: 'GET /myself answered 401' } }),
    ...more,
  });
};
/** A run as the warehouse keeps it, and its report. */
const ended = async (
  status: RunStatus,
  more: Partial<RunReport> = {},
  params: object = { streams: null },
): Promise<void> => {
  const end = report(status, more);
  await query(
    `insert into ops.runs (run_id, pipeline, source_id, kind, status, params, epoch, finished_at)
      overriding system value values ($1, $2, 1, $3, $4, $5, 1, clock_timestamp())`,
    [end.runId, end.pipeline, end.kind, status, params],
  );
  await afterRun({ ...outbound(), onSuccess: { tracker: { dag: 'reports' } } }, end, signal);
};
/** A tracker with one stream whose last complete walk began 30 hours ago. */
const staleStream = (stream: string, more = "'available', null") =>
  query(`truncate ops.sources, ops.streams, ops.checkpoints, ops.walks restart identity cascade;
      insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://x');
      insert into ops.streams (source_id, stream, target, about, endpoint, state, reason)
        select source_id, '${stream}', 't', 'a', 'e', ${more} from ops.sources;
      insert into ops.walks (source_id, stream, kind, status, run_id, opened_at, closed_at)
        select source_id, '${stream}', 'full', 'done', 1, now() - interval '30 hours', now() from ops.sources`);
const later = async (): Promise<void> => {
  await query(`update ops.notifications set next_at = clock_timestamp() where status = 'pending'`);
  await checkHealth(outbound(), ['tracker'], [], signal);
};
/** What the webhook has received so far. */
const sent = () => hook.received.map(({ body }) => JSON.parse(body).type.slice('pipeline.'.length) as string);

describe('notifications', () => {
  test('a lost run gives no message once another has taken its pipeline', async () => {
    const frozen = report('lost', { error: { code: 'fenced', message: 'another process took the lease' } });
    await ended('succeeded');
    await afterRun(outbound(), frozen, signal);
    expect(sent()).toEqual([]);
    await ended('lost');
    expect(sent()).toEqual(['failed']);
  });

  test('only changes are sent: a failure, another kind of failure and the recovery, once each, to every channel', async () => {
    await ended('succeeded');
    await ended('interrupted');
    expect([hook.received, slack.received]).toEqual([[], []]);
    await ended('failed');
    await ended('failed');
    await ended('partly_failed');
    await ended('succeeded');
    await ended('succeeded');
    expect(sent()).toEqual(['failed', 'partly_failed', 'recovered']);
    expect(slack.received).toHaveLength(3);
    const [first] = slack.received;
    expect(JSON.parse(first?.body ?? '').text).toMatch(
      /^\*tracker failed\*\nsince .*\nGET \/myself answered 401\n/,
    );
    expect(first?.body).toContain(`tidemark runs ${runs - 4}`);
  });

  test('a webhook is signed over id, time and body', async () => {
    await ended('failed');
    const [{ headers, body }] = hook.received as [(typeof hook.received)[number]];
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = headers;
    const wanted = crypto.createHmac('sha256', secret).update(`${id}.${at}.${body}`).digest('base64');
    expect(signature).toBe(`v1,${wanted}`);
    expect(Math.abs(Number(at) - Date.now() / 1000)).toBeLessThan(60);
  });

  test('what does not arrive is repeated with the same id; a redirect is not followed', async () => {
    hook.answers.push(500, 'drop', 302);
    await ended('failed');
    for (let i = 0; i < 4; i += 1) await later();
    const ids = hook.received.map(({ headers }) => headers['webhook-id']);
    expect([hook.answers.length, ids.length, new Set(ids).size]).toEqual([0, 4, 1]);
    const ends = `select status, attempts, error from ops.notifications where channel = 'webhook'`;
    expect(await query(ends)).toEqual([{ status: 'sent', attempts: 4, error: null }]);
  });

  test('a message waits for older ones of its pipeline: the last that arrives is the current state', async () => {
    const arrives = async (...events: readonly string[]): Promise<void> => {
      const text = `select event from ops.notifications where channel = 'webhook' and status = 'sent' order by sent_at`;
      expect((await query(text)).map(({ event }) => event)).toEqual(events);
    };
    await ended('failed');
    hook.answers.push(503);
    await ended('succeeded');
    await ended('failed');
    await arrives('failed');
    await later();
    expect(hook.answers).toEqual([]);
    await arrives('failed', 'recovered', 'failed');
    hook.answers.push(503);
    await ended('succeeded');
    await ended('failed', { pipeline: 'ads' });
    await arrives('failed', 'recovered', 'failed', 'failed');
    await later();
    await arrives('failed', 'recovered', 'failed', 'failed', 'recovered');
  });

  test('what cannot be delivered for a day is given up, and no error shows the address', async () => {
    await hook.close();
    await ended('failed');
    await query(`update ops.notifications set created_at = clock_timestamp() - interval '25 hours'`);
    await later();
    const [row] = await query(`select status, error from ops.notifications where channel = 'webhook'`);
    expect(row).toEqual({ status: 'given_up', error: expect.stringMatching(/could not be reached/) });
    expect(row.error).not.toContain('secret');
  });

  test('a webhook is reached through the proxy; where that wants a user, the error says so without the address', async () => {
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, other]);
    const far = await play.misbehaving(() => play.status(204), { key, cert: other });
    const open = await forwardProxy(far.port);
    const closed = await forwardProxy(far.port, 407);
    const url = { reveal: () => 'https://other.example/hook/very-secret-path' };
    const by = (proxy: ForwardProxy): Outbound => {
      const proxies = { https: { reveal: () => proxy.url }, except: [] };
      return { ...outbound(), channels: [{ name: 'webhook', url, proxies }] };
    };
    try {
      await afterRun(by(closed), report('failed'), signal);
      const rows = await query('select status, error from ops.notifications');
      const error = expect.stringMatching(/the proxy 127\.0\.0\.1:\d+ wants a user/);
      expect(rows).toEqual([{ status: 'pending', error }]);
      expect(JSON.stringify(rows)).not.toContain('very-secret');
      await query('update ops.notifications set next_at = now()');
      await checkHealth(by(open), [], [], signal);
      expect(open.asked).toEqual(['CONNECT other.example:443']);
      expect(far.requests).toMatchObject([{ url: '/hook/very-secret-path' }]);
    } finally {
      setDefaultCACertificates(before);
      await Promise.all([open.close(), closed.close(), far.close()]);
    }
  });

  test('two processes that find the same failure send it once', async () => {
    await Promise.all(Array.from({ length: 6 }, () => ended('failed')));
    expect(sent()).toEqual(['failed']);
  });

  test('while the state stays bad, a reminder is sent once a day', async () => {
    await ended('failed');
    await query(`update ops.health set notified_at = clock_timestamp() - interval '25 hours'`);
    await ended('failed');
    await ended('failed');
    expect(sent()).toEqual(['failed', 'reminder']);
  });

  test('a pipeline whose runs stopped is stale, as in status, and sent once; its walks alone count', async () => {
    const freshness = async () => (await streamStates(database.warehouse.db)).map((each) => each.freshness);
    await staleStream('issues');
    for (let times = 0; times < 2; times += 1) await later();
    expect([await freshness(), sent()]).toEqual([['stale'], ['stale']]);
    expect(JSON.parse(hook.received[0]?.body ?? '').data).toMatchObject({
      cause: 'issues was last complete 30 hours ago; no run brought it up to date since',
      next: 'tidemark sync tracker',
    });
    await ended('failed');
    await later();
    await query('update ops.walks set opened_at = now(), closed_at = now()');
    await ended('succeeded');
    // A source without a clock stated the time once, through another proxy.
    await query(`insert into ops.checkpoints (source_id, stream, watermark, run_id, updated_at)
      select source_id, 'issues', now() - interval '60 hours', 1, now() - interval '60 hours' from ops.sources`);
    await later();
    expect([await freshness(), sent()]).toEqual([['fresh'], ['stale', 'failed', 'recovered']]);
  });

  test('a run that succeeds and leaves a stream stale recovers nothing', async () => {
    await staleStream('users', "'forbidden', 'GET /users answered 403'");
    for (const status of ['succeeded', 'succeeded', 'failed', 'succeeded'] as const) {
      await ended(status);
      await later();
    }
    const bad = ['stale', 'failed', 'stale'];
    expect(sent()).toEqual(bad);
    await query('update ops.walks set opened_at = now()');
    await ended('succeeded');
    expect(sent()).toEqual([...bad, 'recovered']);
  });

  test('a successful run of a part neither recovers a pipeline nor is handed over', async () => {
    const some = { streams: ['projects'] };
    await ended('failed', {}, some);
    await ended('succeeded', { kind: 'backfill' });
    for (const kind of ['sync', 'full'] as const) await ended('succeeded', { kind }, some);
    await ended('succeeded', { kind: 'replay' }, { replay: {} });
    const handoffs = () => query('select run_key from ops.handoffs');
    expect([sent(), await handoffs()]).toEqual([['failed'], []]);
    await ended('succeeded');
    expect(sent()).toEqual(['failed', 'recovered']);
    expect(await handoffs()).toEqual([{ run_key: String(runs) }]);
  });

  test('the next command shows the run or the request', async () => {
    const found: readonly [string, RunRef, string][] = [
      ['tracker', { run: '12' }, 'runs 12'],
      ['nightly', { request: 'nightly-sync-20260302T0200' }, 'remote log nightly nightly-sync-20260302T0200'],
      // An id that a caller chose, as the number of a build.
      ['ads', { request: '12' }, 'remote log ads 12'],
    ];
    for (const [pipeline, which, next] of found) {
      await checkHealth(outbound(), [], [{ state: 'failed', cause: 'parked', pipeline, which }], signal);
      expect(JSON.parse(hook.received.at(-1)?.body ?? '').data.next).toBe(`tidemark ${next}`);
    }
  });

  test('a stuck nightly request recovers by success, and the next one that is stuck is sent anew', async () => {
    await query('truncate ops.dag_runs, ops.walks cascade');
    const request = async (id: string, does: string, status?: string): Promise<void> => {
      await query(
        `insert into ops.dag_runs (dag_run_id, pipeline, does, trigger, asked_by, status, started_at)
        values ($1, 'nightly', $2, 'schedule', 'schedule', 'running', clock_timestamp())`,
        [id, does],
      );
      const stuck = { pipeline: 'nightly', state: 'stuck', which: { request: id }, cause: null } as const;
      await checkHealth(outbound(), ['tracker'], [stuck], signal);
      if (status === undefined) return;
      await query(`update ops.dag_runs set status = $2, finished_at = now() where dag_run_id = $1`, [
        id,
        status,
      ]);
      await later();
    };
    await request('n1', 'sync', 'partly_failed');
    await request('n2', 'reconcile', 'succeeded');
    expect(sent()).toEqual(['stuck']);
    await request('n3', 'sync', 'succeeded');
    await later();
    await request('n4', 'sync');
    expect(sent()).toEqual(['stuck', 'recovered', 'stuck']);
  });
});
