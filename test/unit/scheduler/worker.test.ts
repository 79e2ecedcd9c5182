import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { AuthFailed, Fenced, Interrupted, LockHeld } from '../../../src/core/errors.ts';
import type { RunEvent } from '../../../src/core/run.ts';
import { takeLease } from '../../../src/engine/state/lease.ts';
import { unlessAway } from '../../../src/scheduler/clock-gap.ts';
import type { Ask, Control, DagRun, Runner } from '../../../src/scheduler/control.ts';
import { fenceDead } from '../../../src/scheduler/reap-dead-runs.ts';
import { giveUp, putBack } from '../../../src/scheduler/requests.ts';
import { connect, type Warehouse } from '../../../src/warehouse/connect.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { run, until } from '../../support/processes.ts';
import { proxy } from '../../support/proxy.ts';
import {
  catalogue,
  close,
  conduct,
  controlOf,
  dag,
  emptyRequests,
  hurryRetries,
  loseDead,
  queueOf,
  report,
  runnerOf,
  silenceWorkers,
  take,
} from './orchestra.ts';

const known = catalogue(
  dag('nightly', { streams: [], parts: ['tracker', 'ads'] }),
  dag('tracker'),
  dag('ads'),
);
const names = ['tracker', 'ads'];

let database: TestDatabase;
let warehouse: Warehouse;
let control: Control;
beforeAll(async () => {
  database = await testDatabase({ max: 20 });
  warehouse = database.warehouse;
  control = controlOf(warehouse, known);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await emptyRequests(warehouse);
});

const query = (text: string, values: readonly unknown[] = []) =>
  warehouse.pool.query(text, [...values]).then(({ rows }) => rows);
const sync = (pipeline = 'tracker'): Ask => ({ pipeline, does: 'sync' });
const start = (pipeline = 'tracker'): Promise<DagRun> => control.start(sync(pipeline), { by: 'a test' });
const isNow = (run: DagRun, ...states: readonly DagRun['status'][]) =>
  until(`${run.runId} is ${states.join(' or ')}`, async () =>
    states.includes((await control.run(run.pipeline, run.runId)).status),
  );

/** Runs until it is told to stop, as a run does: it ends with the reason. */
const endless: Runner['run'] = (_ask, { signal }) =>
  new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });

const started = (pipeline: string, runId: string): RunEvent => ({
  type: 'run.started',
  pipeline,
  runId,
  kind: 'sync',
  resumed: false,
});

/** Conducts while the work goes on, and ends in any case. */
async function during(
  runner: Runner,
  work: (conductor: ReturnType<typeof conduct>) => Promise<void>,
  how: Parameters<typeof conduct>[3] = {},
): Promise<void> {
  const conductor = conduct(warehouse, known, runner, how);
  try {
    await work(conductor);
  } finally {
    await conductor.service.end();
  }
  expect(conductor.troubles).toEqual([]);
}

test('what a run ends with is what its request ends with, and its runs and log stay with it', async () => {
  await query(
    `insert into ops.runs (run_id, pipeline, source_id, kind, trigger, status, epoch) overriding system value values (41, 'tracker', 1, 'sync', 'api', 'partly_failed', 1)`,
  );
  await query(
    `insert into ops.run_streams (run_id, source_id, stream, status, received, inserted, updated, deleted, rejected) values (41, 1, 'issues', 'ok', 10, 3, 2, 1, 4)`,
  );
  const runner = runnerOf(names, async (ask, { observe, trigger }) => {
    expect(trigger).toBe('api');
    observe(started('tracker', '41'));
    observe({ type: 'note', pipeline: 'tracker', level: 'warn', message: 'mind\u0007 this' });
    return { ...report(ask, 'partly_failed'), error: { code: 'partial', message: 'issues is not complete' } };
  });
  await during(runner, async () => {
    const queued = await start();
    await isNow(queued, 'partly_failed');
    expect(await control.run('tracker', queued.runId)).toMatchObject({
      runs: ['41'],
      received: 10,
      changed: 6,
      rejected: 4,
      error: { code: 'partial', message: 'issues is not complete' },
    });
    await until(
      'the log is written',
      async () => (await control.log('tracker', queued.runId, {})).length >= 3,
    );
    expect((await control.log('tracker', queued.runId, {})).map(({ message }) => message)).toEqual([
      'taken by here',
      'tracker: run 41 (sync) started',
      'tracker: mind\\x07 this',
    ]);
  });
});

test('a request is over when its log is written: who follows that takes what is there then for all of it', async () => {
  const runner = runnerOf(names, async (ask, { observe }) => {
    observe({ type: 'note', pipeline: 'tracker', level: 'warn', message: 'the last word' });
    return report(ask);
  });
  const others = await warehouse.pool.connect();
  try {
    await during(
      runner,
      async () => {
        await others.query('begin; lock table ops.run_log in share mode');
        const queued = await start();
        await until('its log waits to be written', async () => {
          const [{ waiting }] = await query(`select exists (select from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like 'insert into ops.run_log%') as waiting`);
          return waiting;
        });
        expect((await control.run('tracker', queued.runId)).finishedAt).toBeNull();
        await others.query('commit');
        await isNow(queued, 'succeeded');
        expect((await control.log('tracker', queued.runId, {})).at(-1)?.message).toBe(
          'tracker: the last word',
        );
      },
      { times: { logMs: 60_000 } },
    );
  } finally {
    others.release(true);
  }
});

test('a broken pipeline ends its own request, and the others go on beside it', async () => {
  const runner = runnerOf(names, async (ask, how) => {
    if (ask.pipeline === 'tracker') throw new AuthFailed('the token is not accepted');
    return ask.pipeline === 'nightly' ? endless(ask, how) : report(ask);
  });
  await during(runner, async () => {
    const [hanging, bad, good] = [await start('nightly'), await start('tracker'), await start('ads')];
    await isNow(bad, 'failed');
    await isNow(good, 'succeeded');
    await isNow(hanging, 'running', 'stuck');
    expect((await control.run('tracker', bad.runId)).error).toEqual({
      code: 'auth',
      message: 'the token is not accepted',
    });
    await control.stop('nightly', { by: 'a test' });
    await isNow(hanging, 'stopped');
  });
});

test('a stop is heard by the worker, also between taking up and the first page, and start meanwhile is refused', async () => {
  const reasons: unknown[] = [];
  const runner = runnerOf(names, (ask, how) =>
    endless(ask, how).catch((error: unknown) => {
      reasons.push(error);
      throw error;
    }),
  );
  await during(runner, async () => {
    for (const pause of [0, 10, 100]) {
      const queued = await start();
      await isNow(queued, 'running');
      await sleep(pause);
      // It may be quicker than the answer.
      const answer = await control.stop('tracker', { by: 'a test' });
      expect([answer.runId, answer.stopping || answer.status === 'stopped']).toEqual([queued.runId, true]);
      await isNow(queued, 'stopped');
      expect(await control.stop('tracker', { by: 'a test' })).toMatchObject({
        status: 'stopped',
        stopping: false,
      });
    }
  });
  expect(reasons).toHaveLength(3);
  for (const reason of reasons) expect(reason).toBeInstanceOf(Interrupted);
});

test('a service that ends interrupts what it runs; another takes that up at once, and it counts as no loss', async () => {
  const queued = await start();
  const first = conduct(warehouse, known, runnerOf(names, endless), { name: 'first' });
  await isNow(queued, 'running');
  expect(await first.service.end()).toBe(true);
  expect(await control.run('tracker', queued.runId)).toMatchObject({
    status: 'interrupted',
    finishedAt: null,
  });
  await during(
    runnerOf(names, async (ask) => report(ask)),
    () => isNow(queued, 'succeeded'),
    { name: 'second' },
  );
  expect(await query('select losses, claim from ops.dag_runs')).toEqual([{ losses: 0, claim: 2 }]);
  expect((await control.log('tracker', queued.runId, {})).map(({ message }) => message)).toContain(
    'taken by second (attempt 2)',
  );
});

test('a pipeline that is held by a run of the command line keeps its request waiting, and lets it run afterwards', async () => {
  let held = 3;
  const runner = runnerOf(names, async (ask) => {
    if (held-- > 0) throw new LockHeld('tracker: run 5 holds the pipeline');
    return report(ask);
  });
  await during(runner, async () => {
    const queued = await start();
    await isNow(queued, 'succeeded');
    const log = await control.log('tracker', queued.runId, {});
    expect(log.filter(({ message }) => message.includes('holds the pipeline'))).toHaveLength(3);
  });
  expect(await query('select losses from ops.dag_runs')).toEqual([{ losses: 0 }]);
});

test('a request that kills its worker every time is parked after the third, with the cause, while others run', async () => {
  const deadly = new URL('./programs/deadly.ts', import.meta.url);
  const queued = await start();
  const other = await start('ads');
  for (let death = 1; death <= 3; death++) {
    const victim = run(deadly, [database.url, `victim ${death}`]);
    expect(await victim.ended(), victim.said()).toBe(137);
    await isNow(queued, 'running');
    if (death === 3) break;
    expect(await loseDead(warehouse, names)).toMatchObject([{ id: queued.runId, status: 'lost' }]);
    await hurryRetries(warehouse);
  }
  await silenceWorkers(warehouse);
  const findings: unknown[] = [];
  const survivor = runnerOf(names, async (ask) => report(ask));
  await during(survivor, () => isNow(queued, 'failed'), {
    told: { look: async (found) => void findings.push(...found) },
  });
  expect(await control.run('tracker', queued.runId)).toMatchObject({
    error: { code: 'worker_lost', message: expect.stringContaining('died 3 times') },
  });
  expect(await control.run('ads', other.runId)).toMatchObject({ status: 'succeeded' });
  expect(findings).toContainEqual(
    expect.objectContaining({ pipeline: 'tracker', state: 'failed', which: { request: queued.runId } }),
  );
}, 60_000);

test('a request whose run loses its lease every time is parked, and people hear of it', async () => {
  const findings: unknown[] = [];
  const fenced = runnerOf(names, async () => {
    throw new Fenced('tracker: another process took the lease');
  });
  const queued = await start();
  await during(
    fenced,
    async () => {
      await until('it is parked', async () => {
        await hurryRetries(warehouse);
        return (await control.run('tracker', queued.runId)).status === 'failed';
      });
      await until('people hear of it', () => findings.length > 0);
    },
    { told: { look: async (found) => void findings.push(...found) } },
  );
  expect(findings).toContainEqual(
    expect.objectContaining({ pipeline: 'tracker', state: 'failed', which: { request: queued.runId } }),
  );
});

test('a worker lives on through an absence of the warehouse that is shorter than its lease', async () => {
  const { hostname: host, port } = new URL(database.url);
  const wire = await proxy({ host, port: Number(port) });
  const url = new URL(database.url);
  url.port = String(wire.port);
  const far = await connect(url.href, { max: 10, patience: 50 });
  const times = { leaseMs: 4_000, heartbeatMs: 100, reapMs: 50 };
  const { service } = conduct(far, known, runnerOf(names, endless), { times });
  try {
    const queued = await start();
    await isNow(queued, 'running');
    const backAt = performance.now() + 1_500;
    while (performance.now() < backAt) {
      wire.cut();
      await sleep(5);
    }
    const [{ at }] = await query('select clock_timestamp() as at');
    await until('it reports progress', async () => {
      const [row] = await query('select heartbeat_on > $1 as alive from pgboss.job', [at]);
      return row.alive;
    });
    await sleep(4 * times.heartbeatMs);
    expect(await query('select status, losses, claim from ops.dag_runs')).toEqual([
      { status: 'running', losses: 0, claim: 1 },
    ]);
  } finally {
    await service.end();
    await far.close();
    await wire.close();
  }
});

test('a request that is done when its worker is told to end, and the warehouse is away, is none of a dead worker', async () => {
  const { hostname: host, port } = new URL(database.url);
  const wire = await proxy({ host, port: Number(port) });
  const url = new URL(database.url);
  url.port = String(wire.port);
  const ending = new AbortController();
  const far = await connect(url.href, { max: 10, signal: ending.signal });
  let finish: (() => void) | undefined;
  const runner = runnerOf(names, async (ask) => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return report(ask);
  });
  const { service } = conduct(far, known, runner, { times: { leaseMs: 5_000 } });
  try {
    await start();
    await until('it is at work', () => finish !== undefined);
    ending.abort(new Interrupted('told to end'));
    const backAt = performance.now() + 500;
    const ended = service.end();
    finish?.();
    while (performance.now() < backAt) {
      wire.cut();
      await sleep(5);
    }
    expect(await ended).toBe(true);
    expect(await query('select status, losses from ops.dag_runs')).toEqual([
      { status: 'succeeded', losses: 0 },
    ]);
  } finally {
    await service.end();
    await far.close();
    await wire.close();
  }
});

test('between the deaths of its workers a request waits longer each time', async () => {
  await start();
  const waits: number[] = [];
  for (let death = 0; death < 2; death++) {
    expect(await take(warehouse, names)).toBeDefined();
    expect(await loseDead(warehouse, names)).toHaveLength(1);
    const [row] = await query(
      `select extract(epoch from start_after - clock_timestamp()) as seconds from pgboss.job where state = 'retry'`,
    );
    waits.push(Number(row.seconds));
    await hurryRetries(warehouse);
  }
  expect(waits[0]).toBeLessThanOrEqual(10);
  expect(waits[1]).toBeGreaterThan(waits[0] ?? 0);
});

test('a worker that was frozen is fenced out: what it writes of its request afterwards has no effect', async () => {
  const queued = await start();
  const frozen = await take(warehouse, names, 'frozen');
  if (frozen === undefined) throw new Error('no request waits');
  expect(await loseDead(warehouse, names)).toHaveLength(1);
  await hurryRetries(warehouse);
  const heir = await take(warehouse, names, 'heir');
  expect(heir?.id).toBe(queued.runId);
  const state = () => query('select d.*, j.state from ops.dag_runs d, pgboss.job j');
  const before = await state();
  const late = { status: 'failed', error: { code: 'late', message: 'late' } } as const;
  const never = async () => Promise.reject(new Error('must not be done'));
  expect(await close(warehouse, frozen, late, ['99'], never)).toBe(false);
  const back = { as: 'queued', pauseMs: 0 } as const;
  expect(await putBack(warehouse.db, queueOf(warehouse), frozen, ['99'], back)).toBe(false);
  expect(await giveUp(warehouse.db, queueOf(warehouse), frozen)).toEqual([]);
  expect(await state()).toEqual(before);
  expect(await query('select from ops.dag_run_runs')).toEqual([]);
});

/** What the warehouse holds once another worker has taken the next attempt of the running job: a new claim, and signs of life for an hour. */
const takeOver = () =>
  query(`with j as (update pgboss.job set retry_count = retry_count + 1, heartbeat_on = now() + interval '1 hour'
      where state = 'active' returning id)
    update ops.dag_runs set claim = claim + 1, worker = 'another'`);

test('a worker whose request was taken over stops, and touches neither the record nor the job of the new one', async () => {
  const reasons: unknown[] = [];
  const runner = runnerOf(names, (ask, how) =>
    endless(ask, how).catch((error: unknown) => {
      reasons.push(error);
      throw error;
    }),
  );
  const queued = await start();
  await during(runner, async () => {
    await isNow(queued, 'running');
    await takeOver();
    await until('the run is told', () => reasons.length === 1);
  });
  expect(reasons[0]).toBeInstanceOf(Fenced);
  expect(await query('select status, worker, losses from ops.dag_runs')).toEqual([
    { status: 'running', worker: 'another', losses: 0 },
  ]);
  expect(await query('select state, retry_count from pgboss.job')).toEqual([
    { state: 'active', retry_count: 1 },
  ]);
});

test('a worker that is cut off from the warehouse stops its runs within a lease time, and recovers by itself', async () => {
  const { hostname: host, port } = new URL(database.url);
  const wire = await proxy({ host, port: Number(port) });
  const url = new URL(database.url);
  url.port = String(wire.port);
  const far = await connect(url.href, { max: 10, patience: 200, statementTimeout: 200, silence: 100 });
  let isLost = false;
  let calls = 0;
  const runner = runnerOf(names, (ask, how) => {
    calls += 1;
    if (calls > 1) return Promise.resolve(report(ask));
    return endless(ask, how).catch((error: unknown) => {
      expect(error).toBeInstanceOf(Fenced);
      isLost = true;
      throw error;
    });
  });
  const cut = conduct(far, known, runner, { name: 'cut off', times: { leaseMs: 600 } });
  try {
    const queued = await start();
    await until('the run is on its way', () => calls === 1);
    wire.freeze();
    await until('the run is told', () => isLost);
    expect(await control.run('tracker', queued.runId)).toMatchObject({ status: 'running' });
    wire.thaw();
    wire.cut();
    await isNow(queued, 'succeeded');
    expect(cut.troubles.length).toBeGreaterThan(0);
  } finally {
    wire.thaw();
    await cut.service.end();
    await far.close();
    await wire.close();
  }
}, 40_000);

test('a request that still waits for what the warehouse knows of it is stopped at once', async () => {
  let calls = 0;
  const runner = runnerOf(names, (ask) => {
    calls += 1;
    return Promise.resolve(report(ask));
  });
  const queued = await start();
  const state = async (status: string): Promise<boolean> =>
    (await query('select from ops.dag_runs where status = $1', [status])).length === 1;
  const keeper = await warehouse.pool.connect();
  try {
    // What was done of it before cannot be read while this is held.
    await keeper.query('begin');
    await keeper.query('lock table ops.dag_run_runs in access exclusive mode');
    await during(runner, async () => {
      await until('it is taken up', () => state('running'));
      await query('update ops.dag_runs set stop_asked_at = clock_timestamp()');
      await until('it is stopped', () => state('stopped'));
      expect(calls).toBe(0);
      await keeper.query('rollback');
      expect(await control.run('tracker', queued.runId)).toMatchObject({ status: 'stopped' });
    });
  } finally {
    keeper.release(true);
  }
});

test('a run that does not get ahead is stuck and told, and no longer when it does', async () => {
  const news: { tell?: () => void } = {};
  const runner = runnerOf(names, (ask, how) => {
    let received = 5;
    const tell = (): void =>
      how.observe({
        type: 'stream.progress',
        pipeline: 'tracker',
        stream: 'issues',
        received,
        expected: 10,
        retries: 0,
      });
    // The same number again is waiting, not getting ahead.
    const waiting = setInterval(tell, 20);
    news.tell = () => {
      received += 1;
      tell();
    };
    return endless(ask, how).finally(() => clearInterval(waiting));
  });
  const going = () => setInterval(() => news.tell?.(), 20);
  await during(
    runner,
    async ({ looks }) => {
      const queued = await start();
      await isNow(queued, 'stuck');
      await until('somebody is told', () => looks.length > 0);
      expect(looks[0]).toMatchObject({
        ...{ pipeline: 'tracker', state: 'stuck', which: { request: queued.runId } },
      });
      const progress = going();
      await isNow(queued, 'running').finally(() => clearInterval(progress));
    },
    { times: { stuckMs: 400 } },
  );
});

test('a run of the command line that was killed becomes lost although nobody runs its pipeline again', async () => {
  const killed = run(new URL('./programs/holder.ts', import.meta.url), [database.url]);
  await killed.line();
  expect(await fenceDead(warehouse)).toEqual([]);
  await killed.kill();
  expect(await query('select status from ops.runs')).toEqual([{ status: 'running' }]);
  await query(`update ops.leases set expires_at = clock_timestamp()`);
  await during(runnerOf(names, endless), () =>
    until('it is lost', async () => (await query(`select from ops.runs where status = 'lost'`)).length === 1),
  );
  expect(await query('select holder, epoch::text from ops.leases')).toEqual([{ holder: null, epoch: '2' }]);
});

test('nobody passes for dead because the clock of the warehouse was set forward, or the machine slept', async () => {
  await query('create schema skew');
  await query('create table skew.ahead (by interval)');
  await query(`insert into skew.ahead values ('0')`);
  await query(`create function skew.clock_timestamp() returns timestamptz language sql volatile
    as 'select pg_catalog.clock_timestamp() + by from skew.ahead'`);
  const url = new URL(database.url);
  url.searchParams.set('options', '-c search_path=skew,pg_catalog,public');
  const skewed = await connect(url.href, { max: 10 });
  const holder = await takeLease(skewed.pool, 'ads');
  await query(
    `insert into ops.runs (pipeline, source_id, kind, trigger, status, epoch) values ('ads', 1, 'sync', 'manual', 'running', $1)`,
    [holder.epoch],
  );
  // Who looks for the dead comes before any sign of life.
  const here = conduct(skewed, known, runnerOf(names, endless), { times: { heartbeatMs: 200, reapMs: 10 } });
  try {
    const queued = await start();
    await isNow(queued, 'running');
    for (let jump = 0; jump < 3; jump++) {
      await sleep(250);
      await query(`update skew.ahead set by = by + interval '1 hour'`);
      await sleep(250);
    }
    expect(await query('select status, losses from ops.dag_runs')).toEqual([
      { status: 'running', losses: 0 },
    ]);
    expect(await query('select status from ops.runs')).toEqual([{ status: 'running' }]);
  } finally {
    await here.service.end();
    await holder.release();
    await skewed.close();
    await query('drop schema skew cascade');
  }
});

test('behind a gap the dead are looked for also where the living are given as long as a gap is', async () => {
  let looks = 0;
  const look = unlessAway(warehouse.db, { longestMs: 50, graceMs: 50 }, async () => {
    looks += 1;
  });
  const { signal } = new AbortController();
  await look(signal);
  await sleep(100);
  look(signal).catch(() => undefined);
  await until('they are looked for again', () => looks === 2);
});

test('a process that stood still for longer than a lease goes on with what nobody has taken from it', async () => {
  const { service } = conduct(warehouse, known, runnerOf(names, endless));
  try {
    const queued = await start();
    await isNow(queued, 'running');
    // As where a machine sleeps, or is moved, whose clocks go on.
    await silenceWorkers(warehouse);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 7_000);
    await until('it shows that it lives', async () => {
      const [row] = await query(
        `select heartbeat_on > now() - interval '3 seconds' as alive from pgboss.job`,
      );
      return row.alive;
    });
    expect(await query('select status, losses from ops.dag_runs')).toEqual([
      { status: 'running', losses: 0 },
    ]);
  } finally {
    await service.end();
  }
}, 60_000);

test('a heartbeat keeps a long run from being taken over, and each request is run once', async () => {
  let going = 0;
  let most = 0;
  let runs = 0;
  let isOver = false;
  const runner = runnerOf(names, async (ask) => {
    going += 1;
    runs += 1;
    most = Math.max(most, going);
    await until('the test lets it end', () => isOver, 60_000);
    going -= 1;
    return report(ask);
  });
  await during(runner, async () => {
    const second = conduct(warehouse, known, runner, { name: 'second' });
    try {
      const queued = await start();
      await isNow(queued, 'running');
      for (let beat = 0; beat < 2; beat++) {
        const [{ at }] = await query('select clock_timestamp() as at');
        await until('its heart beats', async () => {
          const [job] = await query('select heartbeat_on > $1 as later from pgboss.job', [at]);
          return job.later;
        });
      }
      isOver = true;
      await isNow(queued, 'succeeded');
    } finally {
      isOver = true;
      await second.service.end();
    }
  });
  expect([runs, most]).toEqual([1, 1]);
});
