import { expect, test, vi } from 'vitest';
import { due } from '../../../src/runs/schedule.ts';
import { lookout, type Scheduled, scheduled, tick } from '../../../src/scheduler/ticks.ts';
import { catalogue, dag, dailySinceJustNow, timed } from './orchestra.ts';
import { openRequests } from './requests.ts';

const lab = openRequests(catalogue(dag('tracker'), dag('nightly')));
const { query } = lab;

const schedule = (pipeline: string, cron: string, timeZone = 'UTC'): Scheduled => ({
  ...timed(cron, { timeZone }),
  pipeline,
  due: due({ cron, timeZone }),
});

const daily = schedule('tracker', dailySinceJustNow());
const look = (at: Scheduled = daily, by = 'a'): Promise<string | undefined> =>
  tick(lab.warehouse.db, lab.queue, at, by);

/** No process looked at the schedules for so long. */
const away = (interval: string): Promise<unknown> =>
  query('update ops.schedules set seen_to = clock_timestamp() - $1::interval', [interval]);

const ticks = () =>
  query(
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
  expect(only.scheduled_for - only.first_missed).toBe(2 * 86_400_000);
  expect(await query('select pipeline, does, trigger, status from ops.dag_runs')).toEqual([
    { pipeline: 'nightly', does: 'sync', trigger: 'schedule', status: 'queued' },
  ]);
});

test('ten schedulers that see one instant at once make one tick and one run', async () => {
  await look();
  for (let round = 0; round < 3; round++) {
    await query('truncate ops.ticks, ops.dag_runs, pgboss.job');
    await away('5 minutes');
    const made = await Promise.all(Array.from({ length: 10 }, (_, index) => look(daily, `process ${index}`)));
    expect(made.filter((each) => each !== undefined)).toHaveLength(1);
    expect(await query('select from ops.dag_runs')).toHaveLength(1);
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
  await query(`update ops.schedules set seen_to = '2038-01-19'`);
  expect(await look()).toBeUndefined();
  expect(await query('select from ops.schedules where seen_to <= clock_timestamp()')).toHaveLength(1);
  expect(await ticks()).toHaveLength(1);
});

test('while a run takes longer than its interval one more waits, and later ticks join that one', async () => {
  await look();
  await query(`insert into ops.dag_runs (dag_run_id, pipeline, does, trigger, asked_by, status, started_at)
    values ('long', 'tracker', 'sync', 'schedule', 'schedule', 'running', clock_timestamp() - interval '1 hour')`);
  for (let later = 0; later < 4; later++) {
    await query('update ops.ticks set scheduled_for = scheduled_for - interval $$1 day$$');
    await away('5 minutes');
    expect(await look()).toBeDefined();
  }
  const made = await ticks();
  expect(made.map(({ joined }) => joined)).toEqual([false, true, true, true]);
  expect(new Set(made.map(({ id }) => id)).size).toBe(1);
  expect(await query(`select from ops.dag_runs where status = 'queued'`)).toHaveLength(1);
});

test('a tick joins a run of everything that began after its instant, not one of a few streams', async () => {
  await look();
  await query(`insert into ops.dag_runs (dag_run_id, pipeline, does, trigger, asked_by, status, started_at)
    values ('whole', 'tracker', 'full', 'api', 'api', 'running', clock_timestamp())`);
  await away('5 minutes');
  expect(await look()).toBe('whole');
  expect(await ticks()).toMatchObject([{ joined: true }]);
  await query(`truncate ops.ticks; update ops.dag_runs set streams = '{issues}'`);
  await away('5 minutes');
  expect(await look()).not.toBe('whole');
});

test('a changed schedule goes by its new times at once', async () => {
  await look(schedule('tracker', '0 2 * * *'));
  await away('25 hours');
  expect(await look(schedule('tracker', '30 5 1 1 *', 'Europe/Berlin'))).toBeUndefined();
  expect(await query('select cron, time_zone, changed_at > seen_to as changed from ops.schedules')).toEqual([
    { cron: '30 5 1 1 *', time_zone: 'Europe/Berlin', changed: true },
  ]);
});

test('a look finds what is new, what another process changed, and what came due meanwhile', async () => {
  const yearly = schedule('nightly', '30 5 1 1 *');
  /** Due a quarter of a second after it was last seen. */
  const soon: Scheduled = {
    ...daily,
    *due(after) {
      for (let at = after.getTime() + 250; ; at += 250) yield new Date(at);
    },
  };
  const looks = lookout([yearly, soon]);
  const found = async () => (await looks(lab.warehouse.db)).map(({ pipeline }) => pipeline);
  expect(await found()).toEqual(['nightly', 'tracker']);
  await look(yearly);
  await look(soon);
  await query(`update ops.schedules set seen_to = clock_timestamp() where pipeline = 'tracker'`);
  expect(await found()).toEqual([]);
  await expect.poll(found).toEqual(['tracker']);
  await query(`update ops.schedules set seen_to = clock_timestamp() + interval '1 minute'
    where pipeline = 'tracker'`);
  expect(await found()).toEqual(['tracker']);
  await query(`update ops.schedules set seen_to = clock_timestamp() - interval '2 years', cron = cron || ' '
    where pipeline = 'nightly'`);
  expect(await found()).toContain('nightly');
});

test('a look at schedules that stay as they are reads one row', async () => {
  const all = [schedule('nightly', '30 5 1 1 *'), schedule('tracker', '30 5 1 1 *')];
  for (const each of all) await look(each);
  const read: number[] = [];
  const counted = lab.warehouse.db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      read.push(result.rows.length);
      return result;
    },
  });
  const looks = lookout(all);
  for (let n = 0; n < 3; n++) expect(await looks(counted)).toEqual([]);
  expect(read).toEqual([1, 2, 1, 1]);
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
  await query('alter table ops.dag_runs rename to dag_runs_gone');
  try {
    await expect(look()).rejects.toThrow('dag_runs');
  } finally {
    await query('alter table ops.dag_runs_gone rename to dag_runs');
  }
  expect(await ticks()).toEqual([]);
  expect(await look()).toBeDefined();
});
