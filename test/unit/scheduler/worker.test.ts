import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AuthFailed, Fenced, Interrupted, LockHeld } from '../../../src/core/errors.ts';
import type { RunReport } from '../../../src/core/run.ts';
import { type Lease, takeLease } from '../../../src/engine/state/lease.ts';
import type { Ask, DagRun, Runner } from '../../../src/scheduler/control.ts';
import { afterClockGaps, endDeadRuns } from '../../../src/scheduler/service.ts';
import { connect, type Warehouse } from '../../../src/warehouse/connect.ts';
import { run, until } from '../../support/processes.ts';
import { proxy } from '../../support/proxy.ts';
import {
  type Conductor,
  catalogue,
  close,
  conduct,
  dag,
  hurryJobs,
  loseDead,
  queueOf,
  report,
  runnerOf,
  silenceWorkers,
  take,
} from './orchestra.ts';
import { openRequests } from './requests.ts';

const known = catalogue(dag('nightly', { streams: [] }), dag('tracker'), dag('ads'));

const lab = openRequests(known);
const { query } = lab;
const sync = (pipeline = 'tracker'): Ask => ({ pipeline, does: 'sync' });
const start = (pipeline = 'tracker'): Promise<DagRun> => lab.control.start(sync(pipeline), { by: 'a test' });
const isNow = ({ pipeline, runId }: DagRun, status: DagRun['status']) => {
  const isIt = async () => (await lab.control.run(pipeline, runId)).status === status;
  return until(`${runId} is ${status}`, isIt, 60_000);
};

/** Runs until it is told to stop, as a run does: it ends with the reason. */
const endless: Runner['run'] = (_ask, { signal }) =>
  new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });

/** The same, and the reasons of its ends. */
function recorded(): { readonly reasons: unknown[]; readonly runner: Runner } {
  const reasons: unknown[] = [];
  const run: Runner['run'] = (ask, how) =>
    endless(ask, how).catch((error: unknown) => {
      reasons.push(error);
      throw error;
    });
  return { reasons, runner: runnerOf(run) };
}

/** Works over a wire to the warehouse that can be cut and frozen. */
async function throughWire(
  options: Parameters<typeof connect>[1],
  work: (far: Warehouse, wire: Awaited<ReturnType<typeof proxy>>) => Promise<void>,
): Promise<void> {
  const url = new URL(lab.database.url);
  const wire = await proxy({ host: url.hostname, port: Number(url.port) });
  url.port = String(wire.port);
  const far = await connect(url.href, { max: 10, ...options });
  try {
    await work(far, wire);
  } finally {
    wire.thaw();
    await far.close();
    await wire.close();
  }
}

/** Cuts the wire again and again for so long, ms. */
async function cutFor(wire: Awaited<ReturnType<typeof proxy>>, ms: number): Promise<void> {
  for (const backAt = performance.now() + ms; performance.now() < backAt; await sleep(5)) wire.cut();
}

const messages = async ({ pipeline, runId }: DagRun): Promise<readonly string[]> =>
  (await lab.control.log(pipeline, runId, {})).map(({ message }) => message);

/** Conducts while the work goes on, and ends in any case. */
async function during(
  runner: Runner,
  work: (conductor: Conductor) => Promise<void>,
  how: Parameters<typeof conduct>[3] = {},
): Promise<void> {
  const conductor = await conduct(lab.warehouse, known, runner, how);
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
  const error = { code: 'partial', message: 'issues is not complete' };
  const runner = runnerOf(async (ask, { observe, trigger }) => {
    expect(trigger).toBe('api');
    observe({ type: 'run.started', pipeline: 'tracker', runId: '41', kind: 'sync' });
    observe({ type: 'note', pipeline: 'tracker', level: 'warn', message: 'mind\u0007 this' });
    return { ...report(ask, 'partly_failed'), error };
  });
  await during(runner, async () => {
    const queued = await start();
    await isNow(queued, 'partly_failed');
    const stored = { runs: ['41'], received: 10, changed: 6, rejected: 4, error };
    expect(await lab.control.run('tracker', queued.runId)).toMatchObject(stored);
    const own = ['tracker: run 41 (sync) started', 'tracker: mind\\x07 this'];
    expect(await messages(queued)).toEqual(['taken by here', ...own]);
  });
});

test('a request is over only when its log is written', async () => {
  const isLocked = Promise.withResolvers<void>();
  const runner = runnerOf(async (ask, { observe }) => {
    await isLocked.promise;
    observe({ type: 'note', pipeline: 'tracker', level: 'warn', message: 'the last line' });
    return report(ask);
  });
  const work = async (): Promise<void> => {
    const queued = await start();
    await others.query('begin; lock table ops.run_log in share mode');
    isLocked.resolve();
    await until('its log waits to be written', async () => {
      const [{ waiting }] = await query(`select exists (select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into ops.run_log%' and pid <> pg_backend_pid()) as waiting`);
      return waiting;
    });
    expect((await lab.control.run('tracker', queued.runId)).finishedAt).toBeNull();
    await others.query('commit');
    await isNow(queued, 'succeeded');
    expect((await messages(queued)).at(-1)).toBe('tracker: the last line');
  };
  const others = await lab.warehouse.pool.connect();
  await during(runner, work, { times: { heartbeatMs: 60_000 } }).finally(() => others.release(true));
});

test('a broken pipeline ends its own request, and the others go on beside it', async () => {
  const runner = runnerOf(async (ask, how) => {
    if (ask.pipeline === 'tracker') throw new AuthFailed('the token is not accepted');
    return ask.pipeline === 'nightly' ? endless(ask, how) : report(ask);
  });
  await during(runner, async () => {
    const hanging = await start('nightly');
    const bad = await start('tracker');
    const good = await start('ads');
    await isNow(bad, 'failed');
    await isNow(good, 'succeeded');
    await isNow(hanging, 'running');
    expect((await lab.control.run('tracker', bad.runId)).error).toEqual({
      code: 'auth',
      message: 'the token is not accepted',
    });
    await lab.control.stop('nightly', { by: 'a test' });
    await isNow(hanging, 'stopped');
  });
});

test('a stop reaches the worker at any time, and a second stop answers with the state', async () => {
  const { reasons, runner } = recorded();
  await during(runner, async () => {
    for (const pause of [0, 100]) {
      const queued = await start();
      await isNow(queued, 'running');
      await sleep(pause);
      // The worker may be quicker than the answer.
      const answer = await lab.control.stop('tracker', { by: 'a test' });
      expect([answer.runId, answer.stopping || answer.status === 'stopped']).toEqual([queued.runId, true]);
      await isNow(queued, 'stopped');
      const second = await lab.control.stop('tracker', { by: 'a test' });
      expect(second).toMatchObject({ status: 'stopped', stopping: false });
    }
  });
  expect(reasons).toEqual([expect.any(Interrupted), expect.any(Interrupted)]);
});

test('a service that ends interrupts what it runs; another takes that up at once, and it counts as no death', async () => {
  const queued = await start();
  const first = await conduct(lab.warehouse, known, runnerOf(endless), { name: 'first' });
  await isNow(queued, 'running');
  expect(await first.service.end()).toBe(true);
  await isNow(queued, 'interrupted');
  const runner = runnerOf(async (ask) => report(ask));
  await during(runner, () => isNow(queued, 'succeeded'), { name: 'second' });
  expect(await messages(queued)).toContain('taken by second');
});

test('a pipeline that is held by a run of the command line keeps its request waiting, and lets it run afterwards', async () => {
  let held = 1;
  const runner = runnerOf(async (ask) => {
    if (held-- > 0) throw new LockHeld('tracker: run 5 holds the pipeline');
    return report(ask);
  });
  await during(runner, async () => {
    const queued = await start();
    await isNow(queued, 'succeeded');
    const held = (await messages(queued)).filter((message) => message.includes('holds the pipeline'));
    expect(held).toHaveLength(1);
  });
});

test('a request that kills its worker every time waits longer each time and is parked after the third, while others run', async () => {
  const waits: number[] = [];
  const queued = await start();
  const other = await start('ads');
  for (const death of [1, 2]) {
    // A worker that takes it and is never heard of again.
    expect((await take(lab.warehouse, `victim ${death}`))?.id).toBe(queued.runId);
    expect(await loseDead(lab.warehouse)).toMatchObject([{ id: queued.runId, status: 'lost' }]);
    const [{ wait }] = await query(
      `select extract(epoch from start_after - now())::float8 as wait from pgboss.job where state = 'retry'`,
    );
    waits.push(wait);
    await hurryJobs(lab.warehouse);
  }
  expect(waits[0]).toBeLessThanOrEqual(10);
  expect(waits[1]).toBeGreaterThan(waits[0] ?? 0);
  await take(lab.warehouse, 'victim 3');
  await silenceWorkers(lab.warehouse);
  await during(
    runnerOf(async (ask) => report(ask)),
    async ({ findings }) => {
      await isNow(queued, 'failed');
      await isNow(other, 'succeeded');
      await until('a message is sent', () => findings.length > 0);
      const which = { request: queued.runId };
      expect(findings[0]).toMatchObject({ pipeline: 'tracker', state: 'failed', which });
    },
  );
  const error = { code: 'worker_lost', message: expect.stringContaining('parked after 3 times') };
  expect(await lab.control.run('tracker', queued.runId)).toMatchObject({ error });
});

test('a request whose run loses its lease every time is parked, and a message is sent', async () => {
  const queued = await start();
  const fenced = runnerOf(() => Promise.reject(new Fenced('tracker: another process took the lease')));
  await during(fenced, async ({ findings }) => {
    await until('a message is sent', async () => {
      await hurryJobs(lab.warehouse);
      return findings.length > 0;
    });
    expect(findings[0]).toMatchObject({ state: 'failed', which: { request: queued.runId } });
    await isNow(queued, 'failed');
  });
});

test('a worker lives on through an absence of the warehouse that is shorter than its lease', () =>
  throughWire({ retryMs: 50 }, async (far, wire) => {
    const { service } = await conduct(far, known, runnerOf(endless), { times: { heartbeatMs: 100 } });
    try {
      const queued = await start();
      await isNow(queued, 'running');
      await cutFor(wire, 1_500);
      const [{ at }] = await query('select clock_timestamp() as at');
      await until('it shows that it lives', async () => {
        const [row] = await query('select heartbeat_on > $1 as alive from pgboss.job', [at]);
        return row.alive;
      });
      expect(await query('select status from ops.dag_runs')).toEqual([{ status: 'running' }]);
    } finally {
      await service.end();
    }
  }));

test('a request that ends while its worker ends and the warehouse is away is recorded', () => {
  const ending = new AbortController();
  return throughWire({ signal: ending.signal }, async (far, wire) => {
    const done = Promise.withResolvers<RunReport>();
    const started = Promise.withResolvers<void>();
    const runner = runnerOf(() => {
      started.resolve();
      return done.promise;
    });
    const { service } = await conduct(far, known, runner);
    await start();
    await started.promise;
    ending.abort(new Interrupted('told to end'));
    const ended = service.end();
    done.resolve(report(sync()));
    await cutFor(wire, 500);
    expect(await ended).toBe(true);
    expect(await query('select status from ops.dag_runs')).toEqual([{ status: 'succeeded' }]);
  });
});

test('a worker that was frozen is fenced out: what it writes of its request afterwards has no effect', async () => {
  const queued = await start();
  const frozen = await take(lab.warehouse, 'frozen');
  if (frozen === undefined) throw new Error('no request waits');
  expect(await loseDead(lab.warehouse)).toHaveLength(1);
  await hurryJobs(lab.warehouse);
  const heir = await take(lab.warehouse, 'heir');
  expect(heir?.id).toBe(queued.runId);
  const state = () => query('select d.*, j.state from ops.dag_runs d, pgboss.job j');
  const before = await state();
  const never = async () => Promise.reject(new Error('must not be done'));
  const error = { code: 'late', message: 'late' };
  await close(lab.warehouse, frozen, { status: 'failed', error }, ['99'], never);
  await close(lab.warehouse, frozen, { status: 'interrupted', error, pauseMs: 0 }, ['99'], never);
  expect(await state()).toEqual(before);
  expect(await query('select from ops.dag_run_runs')).toEqual([]);
});

/** What the warehouse holds once another worker has taken the next attempt of the running job: its own name, and signs of life for an hour. */
const takeOver = () =>
  query(`with j as (update pgboss.job set retry_count = retry_count + 1, heartbeat_on = now() + interval '1 hour'
      where state = 'active' returning id)
    update ops.dag_runs set worker = 'another'`);

test('a worker whose request was taken over stops, and touches neither the record nor the job of the new one', async () => {
  const { reasons, runner } = recorded();
  const queued = await start();
  await during(runner, async () => {
    await isNow(queued, 'running');
    await takeOver();
    await until('the run is stopped', () => reasons.length === 1);
  });
  expect(reasons).toEqual([expect.any(Fenced)]);
  const after = await query('select status, worker, state, retry_count from ops.dag_runs, pgboss.job');
  expect(after).toEqual([{ status: 'running', worker: 'another', state: 'active', retry_count: 1 }]);
});

test('a worker that is cut off from the warehouse stops its run with the lease, and recovers by itself', () =>
  throughWire({ retryMs: 1_000, statementTimeout: 1_000, silenceMs: 500 }, async (far, wire) => {
    const lease = Promise.withResolvers<Lease>();
    let calls = 0;
    const runner = runnerOf(async (ask, how) => {
      calls += 1;
      if (calls > 1) return report(ask);
      const taken = await takeLease(far.pool, 'tracker', { ttlMs: 3_000, heartbeatMs: 1_000, waitMs: 0 });
      lease.resolve(taken);
      return endless(ask, { ...how, signal: taken.signal });
    });
    const cut = await conduct(far, known, runner, { name: 'cut off' });
    try {
      const queued = await start();
      const { signal } = await lease.promise;
      wire.freeze();
      await until('the run is stopped', () => signal.aborted);
      expect(await lab.control.run('tracker', queued.runId)).toMatchObject({ status: 'running' });
      await silenceWorkers(lab.warehouse);
      wire.thaw();
      wire.cut();
      await until('it recovers', async () => {
        await hurryJobs(lab.warehouse);
        return (await lab.control.run('tracker', queued.runId)).status === 'succeeded';
      });
      expect(cut.troubles.length).toBeGreaterThan(0);
    } finally {
      wire.thaw();
      await cut.service.end();
    }
  }));

test('a run without progress is stuck, a message is sent, and with progress it is running again', async () => {
  let isGettingAhead = false;
  const runner = runnerOf((ask, how) => {
    let received = 5;
    const counts = { expected: 10, retries: 0 };
    const telling = setInterval(() => {
      // The same number as before is no progress.
      if (isGettingAhead) received += 1;
      how.observe({ type: 'stream.progress', pipeline: 'tracker', stream: 'issues', received, ...counts });
    }, 20);
    return endless(ask, how).finally(() => clearInterval(telling));
  });
  const work = async ({ findings }: Conductor): Promise<void> => {
    const queued = await start();
    await isNow(queued, 'stuck');
    await until('a message is sent', () => findings.length > 0);
    const which = { request: queued.runId };
    expect(findings[0]).toMatchObject({ pipeline: 'tracker', state: 'stuck', which });
    isGettingAhead = true;
    await isNow(queued, 'running');
  };
  await during(runner, work, { times: { stuckMs: 400 } });
});

test('a killed run of the command line becomes lost although its pipeline does not run again', async () => {
  const killed = run(new URL('./programs/holder.ts', import.meta.url), [lab.database.url]);
  await killed.line();
  await endDeadRuns(lab.warehouse, new Date());
  await killed.kill();
  expect(await query('select status from ops.runs')).toEqual([{ status: 'running' }]);
  await query(`update ops.leases set expires_at = clock_timestamp()`);
  await during(runnerOf(endless), () =>
    until('it is lost', async () => (await query(`select from ops.runs where status = 'lost'`)).length === 1),
  );
  expect(await query('select holder, epoch::text from ops.leases')).toEqual([{ holder: null, epoch: '2' }]);
});

/** A look for the dead by a clock that `ahead` sets, with a grace period of half a second. Gives at which times was judged, epoch ms. */
async function looking(graceMs = 500) {
  const clock = { ahead: 0 };
  const judged: number[] = [];
  const { signal } = new AbortController();
  const skewed = lab.warehouse.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => ({
      ...result,
      rows: result.rows.map((row) => ({ ...row, at: new Date(Number(row.at) + clock.ahead) })),
    }),
  });
  const look = afterClockGaps(skewed, { longestMs: 500, graceMs }, async (at) => {
    judged.push(at.getTime());
  });
  await look(signal);
  return { clock, judged, look: () => look(signal) };
}

test.each([1, -1])(
  'after the clock of the warehouse jumped, or the machine slept, no worker is judged before the grace period is over',
  async (sign) => {
    // Also where the grace period is longer than a gap.
    const { clock, judged, look } = await looking(700);
    clock.ahead = sign * 3_600_000;
    const [{ ms }] = await query('select extract(epoch from clock_timestamp()) * 1000 as ms');
    await look();
    expect(judged).toHaveLength(2);
    expect((judged[1] ?? 0) - Number(ms) - clock.ahead).toBeGreaterThanOrEqual(600);
  },
);

test.each(['between two looks', 'within a look'])(
  'a process that stood still %s judges no worker before the grace period is over',
  async (when) => {
    const { judged, look } = await looking();
    const second = when === 'within a look' ? look() : undefined;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 800);
    const thawedAt = Date.now();
    await (second ?? look());
    expect(judged).toHaveLength(2);
    expect((judged[1] ?? 0) - thawedAt).toBeGreaterThanOrEqual(400);
  },
);

test('a heartbeat keeps a long run from being taken over, and each request is run once', async () => {
  let runs = 0;
  let isOver = false;
  const runner = runnerOf(async (ask) => {
    runs += 1;
    await until('the test lets it end', () => isOver, 60_000);
    return report(ask);
  });
  await during(runner, async () => {
    const second = await conduct(lab.warehouse, known, runner, { name: 'second' });
    try {
      const queued = await start();
      await isNow(queued, 'running');
      const [{ at }] = await query('select clock_timestamp() as at');
      await until('its heart beats', async () => {
        const [job] = await query('select heartbeat_on > $1 as later from pgboss.job', [at]);
        return job.later;
      });
      isOver = true;
      await isNow(queued, 'succeeded');
    } finally {
      isOver = true;
      await second.service.end();
    }
  });
  expect(runs).toBe(1);
});

test('a poll that fails is reported with the words of its error', async () => {
  const troubles: string[] = [];
  const far = await connect(lab.database.url, { max: 2 });
  const queue = await queueOf(far, troubles);
  await queue.work(1, 500, async () => undefined);
  await far.close();
  await until('trouble', () => troubles.length > 0);
  await queue.end().catch(() => undefined);
  expect(troubles[0]).toMatch(/^queue: Error: .*(pool|connect)/);
});
