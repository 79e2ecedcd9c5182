import { afterAll, beforeAll, expect, test } from 'vitest';
import { dailyStatus, dailyStreamStatus } from '../../../src/queries/daily-status.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const since = new Date('2026-03-01T00:00:00Z');

/** What a day says whose runs were these, one after the other; each had the stream `issues`. */
const day = async (
  ...runs: readonly (readonly [kind: string, params: object, status: string, stream: string])[]
) => {
  const { db, pool } = database.warehouse;
  await pool.query(`truncate ops.runs, ops.run_streams;
    insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://x') on conflict do nothing`);
  for (const [kind, params, status, stream] of runs)
    await pool.query(
      `with run as (
        insert into ops.runs (pipeline, source_id, kind, status, params, epoch, started_at)
          select 'tracker', source_id, $1, $2, $3, 1, '2026-03-02 02:00Z' from ops.sources returning run_id, source_id)
      insert into ops.run_streams (run_id, source_id, stream, status, started_at)
        select run_id, source_id, 'issues', $4, '2026-03-02 02:00Z' from run`,
      [kind, status, params, stream],
    );
  return [(await dailyStatus(db, since))[0]?.status, (await dailyStreamStatus(db, since))[0]?.status];
};

test('a night that failed stays so behind a part that went well, and is mended by a run of everything', async () => {
  const failed = ['sync', { streams: null }, 'partly_failed', 'failed'] as const;
  expect(await day(failed, ['replay', { replay: {} }, 'succeeded', 'ok'])).toEqual([
    'partly_failed',
    'failed',
  ]);
  // The stream itself was read to its end; the pipeline was not.
  expect(await day(failed, ['sync', { streams: ['issues'] }, 'succeeded', 'ok'])).toEqual([
    'partly_failed',
    'ok',
  ]);
  expect(await day(failed, ['full', { streams: null }, 'succeeded', 'ok'])).toEqual(['succeeded', 'ok']);
});

test('a part that failed behind a good night is seen', async () => {
  const good = ['sync', { streams: null }, 'succeeded', 'ok'] as const;
  expect(await day(good, ['sync', { streams: ['issues'] }, 'failed', 'failed'])).toEqual([
    'failed',
    'failed',
  ]);
  expect(await day(good, ['reconcile', { streams: null }, 'needs_attention', 'attention'])).toEqual([
    'needs_attention',
    'attention',
  ]);
});

test('a reconciliation that went well says nothing of the lists that failed before it, and mends a reconciliation alone', async () => {
  const good = ['sync', { streams: null }, 'succeeded', 'ok'] as const;
  const failed = ['sync', { streams: null }, 'partly_failed', 'partial'] as const;
  const reconcile = ['reconcile', { streams: null }, 'succeeded', 'ok'] as const;
  const away = ['reconcile', { streams: null }, 'failed', 'failed'] as const;
  expect(await day(failed, reconcile)).toEqual(['partly_failed', 'partial']);
  expect(await day(good, away, reconcile)).toEqual(['succeeded', 'ok']);
  expect(await day(failed, away, reconcile, good)).toEqual(['succeeded', 'ok']);
});
