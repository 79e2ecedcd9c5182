import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Queue } from '../../../src/scheduler/queue.ts';
import { due } from '../../../src/scheduler/schedule.ts';
import { type Scheduled, scheduled, tick } from '../../../src/scheduler/ticks.ts';
import type { Warehouse } from '../../../src/warehouse/connect.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { run } from '../../support/processes.ts';
import { catalogue, dag, dailySinceJustNow, emptyRequests, queueOf, timed } from './orchestra.ts';

let database: TestDatabase;
let warehouse: Warehouse;
let queue: Queue;
const ten = Array.from({ length: 10 }, (_, index) => `dag${index}`);
beforeAll(async () => {
  database = await testDatabase({ max: 20 });
  warehouse = database.warehouse;
  queue = await queueOf(warehouse, catalogue(...['tracker', 'nightly', ...ten].map((name) => dag(name))));
});
afterAll(() => database.drop());
beforeEach(async () => {
  await emptyRequests(warehouse);
});

const rows = async <R extends object>(
  query: string,
  values: readonly unknown[] = [],
): Promise<readonly R[]> => (await warehouse.pool.query<R>(query, [...values])).rows;

const schedule = (pipeline: string, cron: string, timeZone = 'UTC'): Scheduled => ({
  ...timed(cron, { timeZone }),
  pipeline,
  due: due({ cron, timeZone }),
});

const recently = dailySinceJustNow();
const daily = schedule('tracker', recently);
const look = (at: Scheduled = daily, by = 'a'): Promise<string | undefined> =>
  tick(warehouse.db, queue, at, by);

/** No process looked at the schedules for so long. */
const away = (interval: string): Promise<unknown> =>
  warehouse.pool.query('update ops.schedules set seen_to = clock_timestamp() - $1::interval', [interval]);

const ticks = () =>
  rows<{ scheduled_for: Date; covers: number; id: string; joined: boolean; first_missed: Date | null }>(
    'select scheduled_for, covers, dag_run_id as id, joined, first_missed from ops.ticks order by made_at',
  );

test('a new schedule begins now; after three days without a process one run covers them and says how many', async () => {
  const nightly = schedule('nightly', '0 2 * * *');
  expect(await look(nightly)).toBeUndefined();
  expect(await ticks()).toEqual([]);
  await away('3 days');
  const id = await look(nightly);
  expect(await look(nightly)).toBeUndefined();
  const [only, ...others] = await ticks();
  expect(others).toEqual([]);
  expect(only).toMatchObject({ id, covers: 3, joined: false });
  expect(only?.first_missed?.getTime()).toBe((only?.scheduled_for.getTime() ?? 0) - 2 * 86_400_000);
  expect(await rows('select pipeline, does, trigger, status from ops.dag_runs')).toEqual([
    { pipeline: 'nightly', does: 'sync', trigger: 'schedule', status: 'queued' },
  ]);
});

test('ten schedulers that see one instant at once make one tick and one run', async () => {
  await look();
  for (let round = 0; round < 3; round++) {
    await warehouse.pool.query('truncate ops.ticks, ops.dag_runs, pgboss.job');
    await away('5 minutes');
    const made = await Promise.all(Array.from({ length: 10 }, (_, index) => look(daily, `process ${index}`)));
    expect(made.filter((each) => each !== undefined)).toHaveLength(1);
    expect(await rows('select from ops.dag_runs')).toHaveLength(1);
  }
});

test("the process's own clock does not matter: neither an hour fast or slow, nor 1970, nor 2038", async () => {
  await look();
  await away('5 minutes');
  const clocks = [Date.now() + 3_600_000, Date.now() - 3_600_000, 0, Date.UTC(2038, 0, 19, 4)];
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const made = [];
    for (const at of clocks) {
      vi.setSystemTime(at);
      made.push(await look(daily, `at ${at}`));
    }
    expect(made.map((each) => each !== undefined)).toEqual([true, false, false, false]);
  } finally {
    vi.useRealTimers();
  }
  expect(await ticks()).toHaveLength(1);
});

test('a database clock that is set back makes nothing run twice, and nothing wait for ever', async () => {
  await look();
  await away('5 minutes');
  expect(await look()).toBeDefined();
  // As if it had been in 2038 and came back.
  await warehouse.pool.query(`update ops.schedules set seen_to = '2038-01-19'`);
  expect(await look()).toBeUndefined();
  const [seen] = await rows<{ back: boolean }>(
    'select seen_to <= clock_timestamp() as back from ops.schedules',
  );
  expect(seen?.back).toBe(true);
  expect(await ticks()).toHaveLength(1);
});

test('while a run takes longer than its interval one more waits, and later ticks join that one', async () => {
  await look();
  await warehouse.pool.query(`insert into ops.dag_runs (dag_run_id, pipeline, does, trigger, asked_by, status, started_at)
    values ('long', 'tracker', 'sync', 'schedule', 'schedule', 'running', clock_timestamp() - interval '1 hour')`);
  for (let later = 0; later < 4; later++) {
    await warehouse.pool.query('update ops.ticks set scheduled_for = scheduled_for - interval $$1 day$$');
    await away('5 minutes');
    expect(await look()).toBeDefined();
  }
  const made = await ticks();
  expect(made.map(({ joined }) => joined)).toEqual([false, true, true, true]);
  expect(new Set(made.map(({ id }) => id)).size).toBe(1);
  expect(await rows(`select from ops.dag_runs where status = 'queued'`)).toHaveLength(1);
});

test('a tick joins a run of everything that began after its instant, not one of a few streams', async () => {
  await look();
  await warehouse.pool.query(`insert into ops.dag_runs (dag_run_id, pipeline, does, trigger, asked_by, status, started_at)
    values ('whole', 'tracker', 'full', 'api', 'api', 'running', clock_timestamp())`);
  await away('5 minutes');
  expect(await look()).toBe('whole');
  expect(await ticks()).toMatchObject([{ joined: true }]);
  await warehouse.pool.query(`truncate ops.ticks; update ops.dag_runs set streams = '{issues}'`);
  await away('5 minutes');
  expect(await look()).not.toBe('whole');
});

test('a changed schedule goes by its new times at once', async () => {
  await look(schedule('tracker', '0 2 * * *'));
  await away('25 hours');
  expect(await look(schedule('tracker', '30 5 1 1 *', 'Europe/Berlin'))).toBeUndefined();
  expect(await rows('select cron, time_zone, changed_at > seen_to as changed from ops.schedules')).toEqual([
    { cron: '30 5 1 1 *', time_zone: 'Europe/Berlin', changed: true },
  ]);
});

test('only what is configured and starts by itself is scheduled', () => {
  const known = catalogue(
    dag('nightly', { timed: [timed('0 2 * * *')] }),
    dag('tracker', { timed: [timed('0 2 * * *', { starts: false })] }),
    dag('ads', { configured: false, timed: [timed('0 2 * * *')] }),
  );
  expect(scheduled(known).map(({ pipeline }) => pipeline)).toEqual(['nightly']);
  expect(() => scheduled(catalogue(dag('x', { timed: [timed('61 * * * *')] })))).toThrow('61');
});

test('a tick that cannot be completed leaves nothing behind, and is made by the next look', async () => {
  await look();
  await away('5 minutes');
  await warehouse.pool.query('alter table ops.dag_runs rename to dag_runs_gone');
  try {
    await expect(look()).rejects.toThrow('dag_runs');
  } finally {
    await warehouse.pool.query('alter table ops.dag_runs_gone rename to dag_runs');
  }
  expect(await ticks()).toEqual([]);
  expect(await look()).toBeDefined();
});

test('two processes that see ten ticks make each one run, done once', async () => {
  const program = new URL('./programs/schedule.ts', import.meta.url);
  await warehouse.pool.query('create table if not exists public.done (pipeline text, worker text)');
  for (const name of ten) await look(schedule(name, recently));
  await away('5 minutes');
  const both = ['one', 'two'].map((name) => run(program, [database.url, name, recently, ...ten]));
  try {
    await Promise.all(both.map((each) => each.line()));
    for (const each of both) each.tell('go');
    await vi.waitFor(
      async () => expect(await rows(`select from ops.dag_runs where status = 'succeeded'`)).toHaveLength(10),
      { timeout: 60_000, interval: 50 },
    );
    for (const each of both) each.child.kill('SIGTERM');
    expect(
      await Promise.all(both.map((each) => each.ended())),
      both.map((each) => each.said()).join(),
    ).toEqual([0, 0]);
  } finally {
    for (const each of both) each.child.kill('SIGKILL');
  }
  expect(await ticks()).toHaveLength(10);
  expect(await rows('select pipeline from public.done group by 1 having count(*) > 1')).toEqual([]);
  expect(await rows('select from public.done')).toHaveLength(10);
});
