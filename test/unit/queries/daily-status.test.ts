import { afterAll, beforeAll, expect, test } from 'vitest';
import { dailyStatus } from '../../../src/queries/daily-status.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

/** Days begin at noon. */
const since = new Date('2026-02-28T12:00:00Z');

/** What a day says whose runs were these, one after the other. */
const day = async (...runs: readonly (readonly [kind: string, params: object, status: string])[]) => {
  const { db, pool } = database.warehouse;
  await pool.query('truncate ops.runs');
  for (const [kind, params, status] of runs)
    await pool.query(
      `insert into ops.runs (pipeline, source_id, kind, status, params, epoch, started_at, inserted)
        values ('tracker', 1, $1, $2, $3, 1, '2026-03-02 02:00Z', 5)`,
      [kind, status, params],
    );
  const [found] = await dailyStatus(db, since);
  expect(found).toMatchObject({ day: new Date('2026-03-01T12:00:00Z'), inserted: 5 * runs.length });
  return found?.status;
};

const whole = { streams: null };
const part = { streams: ['issues'] };
const good = ['sync', whole, 'succeeded'] as const;
const failed = ['sync', whole, 'partly_failed'] as const;
const reconcile = ['reconcile', whole, 'succeeded'] as const;
const away = ['reconcile', whole, 'failed'] as const;

test.each([
  // A day that failed stays so after a part that went well, and is mended by a run of everything.
  [[failed, ['replay', { replay: {} }, 'succeeded'] as const], 'partly_failed'],
  [[failed, ['sync', part, 'succeeded'] as const], 'partly_failed'],
  [[failed, ['full', whole, 'succeeded'] as const], 'succeeded'],
  // A part that failed after a good run is seen.
  [[good, ['sync', part, 'failed'] as const], 'failed'],
  [[good, ['reconcile', whole, 'needs_attention'] as const], 'needs_attention'],
  // A reconcile that went well says nothing of the lists before it, and mends a reconcile alone.
  [[failed, reconcile], 'partly_failed'],
  [[good, away, reconcile], 'succeeded'],
  [[failed, away, reconcile, good], 'succeeded'],
])('a day of the runs %j is %s', async (runs, status) => {
  expect(await day(...runs)).toBe(status);
});
