import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { due } from '../../../src/scheduler/cron.ts';
import { type Scheduled, scheduled, tick } from '../../../src/scheduler/ticks.ts';
import type { Warehouse } from '../../../src/warehouse/connect.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { run } from '../../support/processes.ts';
import { catalogue, conduct, dag, emptyRequests, queueOf, report, runnerOf, timed } from './orchestra.ts';

let database: TestDatabase;
let warehouse: Warehouse;
beforeAll(async () => {
  database = await testDatabase({ max: 20 });
  warehouse = database.warehouse;
});
afterAll(() => database.drop());
beforeEach(async () => {
  await emptyRequests(warehouse);
});

const rows = async <R extends object>(
  query: string,
  values: readonly unknown[] = [],
): Promise<readonly R[]> => (await warehouse.pool.query<R>(query, [...values])).rows;

/** Due once a day, and the last time two minutes ago: no test can meet its next instant. */
const recently = (() => {
  const at = new Date(Date.now() - 120_000);
  return `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
})();

const schedule = (pipeline: string, cron: string, timeZone = 'UTC'): Scheduled => ({
  ...timed(cron, { timeZone }),
  pipeline,
  due: due({ cron, timeZone }),
});

/** Nobody was there for so long. */
const away = (interval: string): Promise<unknown> =>
  warehouse.pool.query('update ops.schedules set seen_to = clock_timestamp() - $1::interval', [interval]);

const ticks = () =>
  rows<{ pipeline: string; covers: number; dag_run_id: string; joined: boolean; first_missed: Date | null }>(
    'select pipeline, covers, dag_run_id, joined, first_missed from ops.ticks order by made_at',
  );

test('a schedule that nobody knew before begins now: what was due earlier is not made up for', async () => {
  expect(await tick(warehouse.db, queueOf(warehouse), schedule('tracker', recently), 'a')).toBeUndefined();
  expect(await ticks()).toEqual([]);
});

test('three days of nobody there become one run, which says how many times it stands for', async () => {
  const nightly = schedule('nightly', '0 2 * * *');
  await tick(warehouse.db, queueOf(warehouse), nightly, 'a');
  await away('3 days');
  const made = await tick(warehouse.db, queueOf(warehouse), nightly, 'a');
  expect(made).toMatchObject({ pipeline: 'nightly', covers: 3, joined: false });
  expect(await tick(warehouse.db, queueOf(warehouse), nightly, 'a')).toBeUndefined();
  const [only, ...others] = await ticks();
  expect(others).toEqual([]);
  expect(only?.first_missed?.getTime()).toBe((made?.scheduledFor.getTime() ?? 0) - 2 * 86_400_000);
  expect(await rows('select pipeline, does, trigger, status from ops.dag_runs')).toEqual([
    { pipeline: 'nightly', does: 'sync', trigger: 'schedule', status: 'queued' },
  ]);
});

test('ten schedulers that see one instant at once make one tick and one run', async () => {
  const daily = schedule('tracker', recently);
  await tick(warehouse.db, queueOf(warehouse), daily, 'a');
  for (let round = 0; round < 5; round++) {
    await warehouse.pool.query('truncate ops.ticks, ops.dag_runs, pgboss.job');
    await away('5 minutes');
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        tick(warehouse.db, queueOf(warehouse), daily, `process ${index}`),
      ),
    );
    expect(made.filter((each) => each !== undefined)).toHaveLength(1);
    expect(await rows('select from ops.dag_runs')).toHaveLength(1);
  }
});

test("the process's own clock does not matter: neither an hour fast or slow, nor 1970, nor 2038", async () => {
  const daily = schedule('tracker', recently);
  await tick(warehouse.db, queueOf(warehouse), daily, 'a');
  await away('5 minutes');
  const clocks = [Date.now() + 3_600_000, Date.now() - 3_600_000, 0, Date.UTC(2038, 0, 19, 4)];
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const made = [];
    for (const at of clocks) {
      vi.setSystemTime(at);
      made.push(await tick(warehouse.db, queueOf(warehouse), daily, `at ${at}`));
    }
    expect(made.map((each) => each !== undefined)).toEqual([true, false, false, false]);
  } finally {
    vi.useRealTimers();
  }
  expect(await ticks()).toHaveLength(1);
});

test('a database clock that is set back makes nothing run twice, and nothing wait for ever', async () => {
  const daily = schedule('tracker', recently);
  await tick(warehouse.db, queueOf(warehouse), daily, 'a');
  await away('5 minutes');
  expect(await tick(warehouse.db, queueOf(warehouse), daily, 'a')).toBeDefined();
  // As if it had been in 2038 and came back.
  await warehouse.pool.query(`update ops.schedules set seen_to = '2038-01-19'`);
  expect(await tick(warehouse.db, queueOf(warehouse), daily, 'a')).toBeUndefined();
  const [seen] = await rows<{ back: boolean }>(
    'select seen_to <= clock_timestamp() as back from ops.schedules',
  );
  expect(seen?.back).toBe(true);
  expect(await ticks()).toHaveLength(1);
});

test('a run longer than its interval is not stacked: one waits behind it, and later ticks join that one', async () => {
  const daily = schedule('tracker', recently);
  await tick(warehouse.db, queueOf(warehouse), daily, 'a');
  await warehouse.pool.query(`insert into ops.dag_runs (dag_run_id, pipeline, does, trigger, asked_by, status, started_at)
    values ('long', 'tracker', 'sync', 'schedule', 'schedule', 'running', clock_timestamp() - interval '1 hour')`);
  for (let later = 0; later < 4; later++) {
    await warehouse.pool.query('update ops.ticks set scheduled_for = scheduled_for - interval $$1 day$$');
    await away('5 minutes');
    expect(await tick(warehouse.db, queueOf(warehouse), daily, 'a')).toBeDefined();
  }
  const made = await ticks();
  expect(made.map(({ joined }) => joined)).toEqual([false, true, true, true]);
  expect(new Set(made.map((each) => each.dag_run_id)).size).toBe(1);
  expect(await rows(`select from ops.dag_runs where status = 'queued'`)).toHaveLength(1);
});

test('a tick joins a run of everything that began after its instant, not one of a few streams', async () => {
  const daily = schedule('tracker', recently);
  await tick(warehouse.db, queueOf(warehouse), daily, 'a');
  await warehouse.pool.query(`insert into ops.dag_runs (dag_run_id, pipeline, does, trigger, asked_by, status, started_at)
    values ('whole', 'tracker', 'full', 'api', 'api', 'running', clock_timestamp())`);
  await away('5 minutes');
  expect(await tick(warehouse.db, queueOf(warehouse), daily, 'a')).toMatchObject({
    dagRunId: 'whole',
    joined: true,
  });
  await warehouse.pool.query(`truncate ops.ticks; update ops.dag_runs set streams = '{issues}'`);
  await away('5 minutes');
  expect(await tick(warehouse.db, queueOf(warehouse), daily, 'a')).toMatchObject({ joined: false });
});

test('a schedule that was changed is first seen to as it was, and then goes by its new times', async () => {
  await tick(warehouse.db, queueOf(warehouse), schedule('tracker', '0 2 * * *'), 'a');
  await away('25 hours');
  const made = await tick(
    warehouse.db,
    queueOf(warehouse),
    schedule('tracker', '30 5 1 1 *', 'Europe/Berlin'),
    'b',
  );
  expect(made?.scheduledFor.toISOString()).toMatch(/T02:00:00/);
  expect(
    await rows(
      'select cron, time_zone, seen_to > clock_timestamp() - interval $$1 minute$$ as now from ops.schedules',
    ),
  ).toEqual([{ cron: '30 5 1 1 *', time_zone: 'Europe/Berlin', now: true }]);
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
  const daily = schedule('tracker', recently);
  await tick(warehouse.db, queueOf(warehouse), daily, 'a');
  await away('5 minutes');
  await warehouse.pool.query('alter table ops.dag_runs rename to dag_runs_gone');
  try {
    await expect(tick(warehouse.db, queueOf(warehouse), daily, 'a')).rejects.toThrow('dag_runs');
  } finally {
    await warehouse.pool.query('alter table ops.dag_runs_gone rename to dag_runs');
  }
  expect(await ticks()).toEqual([]);
  expect(await tick(warehouse.db, queueOf(warehouse), daily, 'a')).toBeDefined();
});

test('two processes share twenty ticks: each is one run, done once', async () => {
  const program = new URL('./programs/schedule.ts', import.meta.url);
  await warehouse.pool.query('create table if not exists public.done (pipeline text, worker text)');
  const names = Array.from({ length: 20 }, (_, index) => `dag${index}`);
  for (const name of names) await tick(warehouse.db, queueOf(warehouse), schedule(name, recently), 'before');
  await away('5 minutes');
  const both = ['one', 'two'].map((name) => run(program, [database.url, name, recently, ...names]));
  try {
    await Promise.all(both.map((each) => each.line()));
    for (const each of both) each.tell('go');
    await vi.waitFor(
      async () => expect(await rows(`select from ops.dag_runs where status = 'succeeded'`)).toHaveLength(20),
      { timeout: 20_000, interval: 50 },
    );
    for (const each of both) each.child.kill('SIGTERM');
    expect(
      await Promise.all(both.map((each) => each.ended())),
      both.map((each) => each.said()).join(),
    ).toEqual([0, 0]);
  } finally {
    for (const each of both) each.child.kill('SIGKILL');
  }
  expect(await ticks()).toHaveLength(20);
  expect(await rows('select pipeline from public.done group by 1 having count(*) > 1')).toEqual([]);
  expect(await rows('select from public.done')).toHaveLength(20);
  // Otherwise nothing was shared.
  expect(await rows('select distinct worker from public.done')).toHaveLength(2);
});

test('the service makes ticks by itself and runs them', async () => {
  const asked: string[] = [];
  await tick(warehouse.db, queueOf(warehouse), schedule('tracker', recently), 'before');
  await away('5 minutes');
  const { service, troubles } = conduct(
    warehouse,
    catalogue(dag('tracker', { timed: [timed(recently)] })),
    runnerOf(['tracker'], async (ask) => {
      asked.push(ask.does);
      return report(ask);
    }),
  );
  try {
    await vi.waitFor(() => expect(asked).toEqual(['sync']), { timeout: 5000 });
  } finally {
    await service.end();
  }
  expect(troubles).toEqual([]);
});
