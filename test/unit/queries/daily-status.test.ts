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

const whole = { streams: null };
const part = { streams: ['issues'] };
const good = ['sync', whole, 'succeeded', 'ok'] as const;
const failed = ['sync', whole, 'partly_failed', 'failed'] as const;
const reconcile = ['reconcile', whole, 'succeeded', 'ok'] as const;
const away = ['reconcile', whole, 'failed', 'failed'] as const;

test.each([
  // A day that failed stays so after a part that went well, and is mended by a run of everything.
  [[failed, ['replay', { replay: {} }, 'succeeded', 'ok'] as const], 'partly_failed', 'failed'],
  // The stream itself was read to its end; the pipeline was not.
  [[failed, ['sync', part, 'succeeded', 'ok'] as const], 'partly_failed', 'ok'],
  [[failed, ['full', whole, 'succeeded', 'ok'] as const], 'succeeded', 'ok'],
  // A part that failed after a good run is seen.
  [[good, ['sync', part, 'failed', 'failed'] as const], 'failed', 'failed'],
  [[good, ['reconcile', whole, 'needs_attention', 'attention'] as const], 'needs_attention', 'attention'],
  // A reconcile that went well says nothing of the lists before it, and mends a reconcile alone.
  [[failed, reconcile], 'partly_failed', 'failed'],
  [[good, away, reconcile], 'succeeded', 'ok'],
  [[failed, away, reconcile, good], 'succeeded', 'ok'],
])('a day of the runs %j is %s, its stream %s', async (runs, status, stream) => {
  expect(await day(...runs)).toEqual([status, stream]);
});
