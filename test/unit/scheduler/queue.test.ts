import { once } from 'node:events';
import { PgBoss } from 'pg-boss';
import { expect, test, vi } from 'vitest';
import { queueSchema, usualTimes } from '../../../src/scheduler/queue.ts';
import { enqueue } from '../../../src/scheduler/requests.ts';
import { connect } from '../../../src/warehouse/connect.ts';
import { until } from '../../support/processes.ts';
import { catalogue, conduct, dag, queueOf, report, runnerOf, timed } from './orchestra.ts';
import { openRequests } from './requests.ts';

const names = Array.from({ length: 12 }, (_, n) => `site_${n}`);
const known = catalogue(...names.map((name) => dag(name)));
const lab = openRequests(known);
const { query } = lab;
const by = 'a test';

const allDone = (count: number) => async () =>
  (await query(`select from ops.dag_runs where status = 'succeeded'`)).length === count;

test('a slow pipeline holds one slot, and no other pipeline', async () => {
  const slow = Promise.withResolvers<void>();
  const runner = runnerOf(async (ask) => {
    if (ask.pipeline === 'site_0') await slow.promise;
    return report(ask);
  });
  const { service, control, troubles } = await conduct(lab.warehouse, known, runner, { jobs: 2 });
  try {
    for (const pipeline of names) await control.start({ pipeline, does: 'sync' }, { by });
    await until('the others are done', allDone(11), 10_000);
    slow.resolve();
    await until('all are done', allDone(12), 10_000);
  } finally {
    slow.resolve();
    await service.end();
  }
  expect(troubles).toEqual([]);
});

test('a process does no more runs at once than it may, and a pipeline no two', async () => {
  const running: string[] = [];
  const seen: number[] = [];
  const runner = runnerOf(async (ask) => {
    expect(running).not.toContain(ask.pipeline);
    running.push(ask.pipeline);
    seen.push(running.length);
    await until('three run, or are over', () => running.length === 3 || seen.length > 9, 10_000);
    running.splice(running.indexOf(ask.pipeline), 1);
    return report(ask);
  });
  const { service } = await conduct(lab.warehouse, known, runner, { jobs: 3 });
  try {
    for (const pipeline of names) await lab.control.start({ pipeline, does: 'sync' }, { by });
    await until('all are done', allDone(12), 20_000);
  } finally {
    await service.end();
  }
  expect(Math.max(...seen)).toBe(3);
});

test('of one site no more pipelines run at once than may, also in two processes, and they keep no other site waiting', async () => {
  const sites = { jobs: 2, of: (name: string) => (name === 'site_11' ? 'another' : 'one') };
  const running = new Set<string>();
  const most: number[] = [];
  const otherIsDone = Promise.withResolvers<void>();
  const twoRun = Promise.withResolvers<void>();
  const runner = runnerOf(async (ask) => {
    if (ask.pipeline === 'site_11') otherIsDone.resolve();
    else {
      most.push(running.add(ask.pipeline).size);
      if (running.size === 2) twoRun.resolve();
      await Promise.all([otherIsDone.promise, twoRun.promise]);
      running.delete(ask.pipeline);
    }
    return report(ask);
  });
  const queue = await queueOf(lab.warehouse, [], sites);
  const conducted = await Promise.all(
    ['one', 'two'].map((name) => conduct(lab.warehouse, known, runner, { jobs: 8, sites, name })),
  );
  try {
    // All at once, the other site last: every slot of both processes looks at the same time.
    await lab.warehouse.db.transaction().execute(async (trx) => {
      for (const pipeline of names) {
        const ask = { pipeline, does: 'sync' } as const;
        await enqueue(trx, queue, { id: pipeline, ask, params: '', trigger: 'schedule', by });
      }
    });
    await until('all are done', allDone(12), 30_000);
  } finally {
    otherIsDone.resolve();
    twoRun.resolve();
    await Promise.all([...conducted.map(({ service }) => service.end()), queue.end()]);
  }
  expect(Math.max(...most)).toBe(2);
  expect(conducted.flatMap(({ troubles }) => troubles)).toEqual([]);
});

test('a process looks into the queue once for all its slots', async () => {
  const queue = await queueOf(lab.warehouse);
  const asked = vi.spyOn(lab.warehouse.pool, 'query');
  const looks = () =>
    asked.mock.calls.filter(([text]) => /skip locked|look_in_turn/i.test(String(text))).length;
  const at = performance.now();
  try {
    await queue.work(8, 500, async () => undefined);
    // Each slot looks at its begin, and when the session listens.
    await until('the process looks four times more', () => looks() >= 2 * 8 + 4);
    expect(performance.now() - at).toBeGreaterThan(1_400);
  } finally {
    asked.mockRestore();
    await queue.end();
  }
});

test('a slot that becomes free takes the next run at once', async () => {
  for (const pipeline of names) await lab.control.start({ pipeline, does: 'sync' }, { by });
  const runner = runnerOf(async (ask) => report(ask));
  const times = { pollMs: 3_600_000 };
  const { service } = await conduct(lab.warehouse, known, runner, { jobs: 1, times });
  await until('all are done', allDone(12), 20_000).finally(() => service.end());
});

test('what waited longest goes first, and what a person starts before that', async () => {
  for (const [index, pipeline] of ['site_1', 'site_2'].entries())
    await query(
      `insert into ops.runs (pipeline, source_id, kind, trigger, status, epoch, started_at, finished_at)
       values ($1, 1, 'sync', 'schedule', 'succeeded', 1, now() - interval '3 days', now() - $2 * interval '1 day')`,
      [pipeline, index + 1],
    );
  const schedules = catalogue(
    ...names.slice(1, 4).map((name) => dag(name, { timed: [timed('* * * * *')] })),
    dag('site_0'),
  );
  await query(`insert into ops.schedules (pipeline, does, cron, time_zone, seen_to)
    select unnest('{site_1,site_2,site_3}'::text[]), 'sync', '* * * * *', 'UTC', now() - interval '1 hour'`);
  const begun: string[] = [];
  const first = Promise.withResolvers<void>();
  const runner = runnerOf(async (ask) => {
    begun.push(ask.pipeline);
    await first.promise;
    return report(ask);
  });
  await lab.control.start({ pipeline: 'site_0', does: 'sync' }, { by });
  const { service } = await conduct(lab.warehouse, schedules, runner, { jobs: 1 });
  try {
    await until('all are queued', async () => (await query('select from ops.dag_runs')).length === 4);
    first.resolve();
    await until('all are done', allDone(4), 20_000);
  } finally {
    await service.end();
  }
  // A new minute makes further ticks.
  expect(begun.slice(0, 4)).toEqual(['site_0', 'site_3', 'site_2', 'site_1']);
});

test('a start is picked up within 200 ms, also by another process', async () => {
  const begun: number[] = [];
  const runner = runnerOf(async (ask) => {
    begun.push(performance.now());
    return report(ask);
  });
  const times = { pollMs: usualTimes.pollMs };
  const { service } = await conduct(lab.warehouse, known, runner, { times });
  try {
    const took: number[] = [];
    for (const pipeline of names.slice(0, 5)) {
      const { runId } = await lab.control.start({ pipeline, does: 'sync' }, { by });
      const at = performance.now();
      await until('it is over', async () => (await lab.control.run(pipeline, runId)).finishedAt !== null);
      took.push((begun.at(-1) ?? Number.POSITIVE_INFINITY) - at);
    }
    expect(took.sort((a, b) => a - b)[2]).toBeLessThan(200);
  } finally {
    await service.end();
  }
});

test('a listener that is lost comes back', async () => {
  const runner = runnerOf(async (ask) => report(ask));
  const { service, control } = await conduct(lab.warehouse, known, runner, { times: { pollMs: 3_600_000 } });
  const listeners = `select pid from pg_stat_activity where query like 'listen pgboss%' and datname = current_database()`;
  try {
    await until('a session listens', async () => (await query(listeners)).length > 0);
    const [lost] = await query(listeners);
    await query('select pg_terminate_backend($1)', [lost.pid]);
    const isBack = async () => (await query(listeners)).some(({ pid }) => pid !== lost.pid);
    await until('another session listens', isBack, 20_000);
    await control.start({ pipeline: 'site_1', does: 'sync' }, { by });
    await until('the start is heard', allDone(1), 10_000);
  } finally {
    await service.end();
  }
});

test('a process that stands still while it holds the queue keeps no other from starting', async () => {
  const stuck = await connect(lab.warehouse.url.reveal(), { statementTimeout: 2_000 });
  const client = await stuck.pool.connect();
  const lost = once(client, 'error');
  try {
    await client.query('begin');
    await client.query(`select from pgboss.queue where name = 'runs' for no key update`);
    await lab.control.start({ pipeline: 'site_1', does: 'sync' }, { by });
    await lost;
  } finally {
    client.release(true);
    await stuck.close();
  }
});

// Before there was one queue, 500 pipelines made 1,000 a second. An idle process makes 1.4 to 1.7; beside other tests it may be more.
test('with 500 pipelines an idle process makes few statements a second', async () => {
  const many = catalogue(
    ...Array.from({ length: 500 }, (_, n) => dag(`site_${n}`, { timed: [timed('0 2 * * *')] })),
  );
  const runner = runnerOf(async (ask) => report(ask));
  const { service } = await conduct(lab.warehouse, many, runner, { times: usualTimes });
  const statements = async (): Promise<number> => {
    await query('select pg_stat_force_next_flush()').catch(() => undefined);
    const [row] = await query(
      'select xact_commit::int as count from pg_stat_database where datname = current_database()',
    );
    return row.count;
  };
  try {
    const seen = async () => (await query('select from ops.schedules')).length === 500;
    await until('every schedule is noted', seen, 60_000);
    // Sessions report their statements when they are idle for a second; these two looks are among them.
    let rate = Number.POSITIVE_INFINITY;
    const isQuiet = async () => {
      const before = await statements();
      const at = performance.now();
      await until('ten seconds passed', () => performance.now() - at > 10_000, 20_000);
      rate = ((await statements()) - before - 3) / ((performance.now() - at) / 1000);
      return rate <= 10;
    };
    await until('it is quiet', isQuiet, 60_000);
    expect(rate).toBeLessThanOrEqual(10);
  } finally {
    await service.end();
  }
}, 150_000);

test('what waits in the queues of an earlier version goes on in the one queue', async () => {
  const { runId } = await lab.control.start({ pipeline: 'site_4', does: 'sync' }, { by });
  await query('truncate pgboss.job');
  const executeSql = (text: string, values?: unknown[]) => lab.warehouse.pool.query(text, values);
  const earlier = new PgBoss({ db: { executeSql }, schema: queueSchema, supervise: false, schedule: false });
  await earlier.start();
  await earlier.createQueue('site_4', { policy: 'singleton' });
  // Another program keeps its queues in the same schema, whose name is pg-boss' usual one.
  await earlier.createQueue('mails');
  await earlier.send('mails', { to: 'somebody' });
  await earlier.send('site_4', { requestId: runId, failures: 0 });
  await earlier.stop({ graceful: false, close: false });
  await (await queueOf(lab.warehouse)).end();
  expect(
    await query(`select name, singleton_key, data->>'requestId' as id from pgboss.job order by name`),
  ).toEqual([
    { name: 'mails', singleton_key: null, id: null },
    { name: 'runs', singleton_key: 'site_4', id: runId },
  ]);
  expect(await query(`select name from pgboss.queue where name in ('mails', 'site_4')`)).toEqual([
    { name: 'mails' },
  ]);
  const { service } = await conduct(
    lab.warehouse,
    known,
    runnerOf(async (ask) => report(ask)),
  );
  await until('it is done', allDone(1)).finally(() => service.end());
});
