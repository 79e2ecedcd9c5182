import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Interrupted, TimedOut } from '../../../src/core/errors.ts';
import { budgetsOf } from '../../../src/warehouse/budgets.ts';
import { connect, type Warehouse } from '../../../src/warehouse/connect.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
let elsewhere: Warehouse;
beforeAll(async () => {
  database = await testDatabase();
  elsewhere = await connect(database.url);
});
afterAll(async () => {
  await elsewhere.close();
  await database.drop();
});
beforeEach(() => database.warehouse.pool.query('truncate ops.budgets'));

/** The budgets as two processes see them. */
const both = () => [budgetsOf(database.warehouse.db), budgetsOf(Promise.resolve(elsewhere.db))] as const;
const minute = 60_000;
/** So slow that the time a test takes does not count. */
const hourly = { perSecond: 1 / 3600, burst: 1 };
const hour = 60 * minute;
/** Hours to wait, to the nearest. */
const hours = (ms: number): number => Math.round(ms / hour) + 0;

test('two processes take turns: the burst at once, then one place after the other', async () => {
  const [one, other] = both();
  const waits: number[] = [];
  for (const budget of [one, other, one, other, one])
    waits.push(hours(await budget.take('all x', 1, { ...hourly, burst: 3 })));
  expect(waits).toEqual([-2, -1, 0, 1, 2]);
  // Places that were taken together follow one another; the next is behind them.
  expect(hours(await other.take('all x', 10, { ...hourly, burst: 3 }))).toBe(3);
  expect(hours(await one.take('all x', 1, { ...hourly, burst: 3 }))).toBe(13);
  expect(hours(await one.take('reports x', 1, hourly))).toBe(0);
});

test('whoever takes at the same moment, no place is given twice', async () => {
  const takes = Array.from({ length: 40 }, (_, n) => both()[n % 2]?.take('all x', 1, hourly));
  const places = (await Promise.all(takes)).map((wait = Number.NaN) => hours(wait));
  expect(places.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n));
});

test('what nobody took is kept up to the burst', async () => {
  const [one, other] = both();
  const rate = { ...hourly, burst: 2 };
  for (let n = 0; n < 5; n++) await one.take('all x', 1, rate);
  await database.warehouse.pool.query(`update ops.budgets set free_at = now() - interval '1 year'`);
  const waits = [await other.take('all x', 1, rate), await one.take('all x', 2, rate)].map(hours);
  expect(waits).toEqual([-1, 0]);
});

test('a pause is seen by all, also one of an endpoint, and a longer one is kept', async () => {
  const [one, other] = both();
  await one.pause('http://x', 60 * minute);
  await other.pause('http://x', 1 * minute);
  await one.pause('http://x GET /slow', 120 * minute);
  await one.pause('http://x/other', 60 * minute);
  await one.pause('http://x GET /over', 0);
  await one.take('all http://x', 5, hourly);
  const left = [...(await other.pauses('http://x'))].map(([key, ms]) => [key, hours(ms)]);
  expect(left.sort(([, a = 0], [, b = 0]) => Number(a) - Number(b))).toEqual([
    ['http://x', 1],
    ['http://x GET /slow', 2],
  ]);
  // A paused key gives nothing away until the pause is over.
  expect(hours(await other.take('http://x', 1, hourly))).toBe(1);
});

test('a warehouse that does not answer in two seconds is not waited for, and a stop at once ends the wait', async () => {
  await expect(budgetsOf(new Promise(() => {})).pauses('x')).rejects.toThrow(TimedOut);
  const client = await database.warehouse.pool.connect();
  try {
    await client.query('begin; lock table ops.budgets');
    await expect(budgetsOf(elsewhere.db).take('all x', 1, hourly)).rejects.toThrow(
      /did not answer within 2 s/,
    );
    const stop = new AbortController();
    const taken = budgetsOf(elsewhere.db).take('all x', 1, hourly, stop.signal);
    stop.abort();
    await expect(taken).rejects.toThrow(Interrupted);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test('what Postgres answers is thrown', async () => {
  const { pool, db } = database.warehouse;
  await pool.query('alter table ops.budgets rename to away');
  await expect(budgetsOf(db).take('all x', 1, hourly)).rejects.toThrow(/ops.budgets.* does not exist/);
  await pool.query('alter table ops.away rename to budgets');
});
