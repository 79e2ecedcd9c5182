import { expect, test } from 'vitest';
import { AuthFailed, Interrupted, Unreachable } from '../../../src/core/errors.ts';
import type { RunReport } from '../../../src/core/run.ts';
import type { Ask, Runner } from '../../../src/runs/ask.ts';
import { scheduled, tick } from '../../../src/scheduler/ticks.ts';
import { until } from '../../support/processes.ts';
import { catalogue, conduct, dag, hurryJobs, loseDead, report, runnerOf, take, timed } from './orchestra.ts';
import { openRequests } from './requests.ts';

const names = ['tracker', 'ads', 'workflow'];
const known = catalogue(
  dag('nightly', { streams: [], timed: [timed('0 2 * * *')] }),
  ...names.map((name) => dag(name)),
);
const lab = openRequests(known);
const { query } = lab;
const by = 'a test';
const night: Ask = { pipeline: 'nightly', does: 'sync' };

/** A night over these pipelines, after which the reconciles of `due` are due. */
const nights = (run: Runner['run'], due: readonly string[] = []): Runner => ({
  ...runnerOf(run),
  parts: (ask) => (ask.pipeline === 'nightly' ? names.map((pipeline) => ({ ...ask, pipeline })) : undefined),
  next: async ({ pipeline, does }) =>
    does === 'sync' && due.includes(pipeline) ? { pipeline, does: 'reconcile' } : undefined,
});

const parts = async () =>
  (
    await query(`select pipeline || ' ' || does || ' ' || status as part from ops.dag_runs
      where part_of is not null order by 1`)
  ).map(({ part }) => part);

const isNow = (id: string, status: string) =>
  until(`the night is ${status}`, async () => (await lab.control.run('nightly', id)).status === status);

/** Lets the schedule of the night come due; gives its request. */
async function comesDue(): Promise<string> {
  const schedule = scheduled(known)[0];
  if (schedule === undefined) throw new Error('nothing is scheduled');
  await tick(lab.warehouse.db, lab.queue, schedule, by);
  await query(`update ops.schedules set seen_to = seen_to - interval '1 day'`);
  return (await tick(lab.warehouse.db, lab.queue, schedule, by)) ?? '';
}

const areRunning = (count: number) =>
  until(
    `${count} run`,
    async () => (await parts()).filter((part) => part.endsWith('running')).length === count,
  );

/** A run that goes on until it is stopped. */
const untilStopped: (how: Parameters<Runner['run']>[1]) => Promise<never> = ({ signal }) =>
  new Promise((_, reject) => {
    signal.onabort = () => reject(new Interrupted('stopped'));
  });

const waitingJobs = async () =>
  (await query(`select from pgboss.job where name = 'runs' and state < 'completed'`)).length;

/** Runs while a process does. */
async function during<T>(
  runner: Runner,
  work: () => Promise<T>,
  more: Parameters<typeof conduct>[3] = {},
): Promise<T> {
  const { service, troubles } = await conduct(lab.warehouse, known, runner, more);
  try {
    return await work();
  } finally {
    await service.end();
    expect(troubles).toEqual([]);
  }
}

test('a night is one run for each pipeline, with the reconciles that are due after them, and ends with the last', async () => {
  const order: string[] = [];
  const over: string[] = [];
  const runner = nights(
    async (ask) => {
      order.push(`${ask.pipeline} ${ask.does}`);
      return report(ask);
    },
    ['ads'],
  );
  const ended: NonNullable<Parameters<typeof conduct>[3]>['ended'] = async ({ ask, status }) =>
    void over.push(`${ask.pipeline} ${ask.does} ${status}`);
  const { runId } = await lab.control.start(night, { by });
  await during(runner, () => isNow(runId, 'succeeded'), { ended });
  expect(order.indexOf('ads reconcile')).toBeGreaterThan(order.indexOf('ads sync'));
  expect(order).toHaveLength(4);
  expect(over).toHaveLength(5);
  expect(over.at(-1)).toBe('nightly sync succeeded');
  expect(await parts()).toEqual([
    'ads reconcile succeeded',
    'ads sync succeeded',
    'tracker sync succeeded',
    'workflow sync succeeded',
  ]);
  expect(await lab.control.history('nightly', { limit: 5 })).toHaveLength(1);
  expect(await lab.control.history('tracker', { limit: 5 })).toMatchObject([{ status: 'succeeded' }]);
});

test('a part that fails makes the night partly failed, with its reason; a retry runs that part only', async () => {
  const ran: string[] = [];
  let isDown = true;
  const runner = nights(async (ask) => {
    ran.push(ask.pipeline);
    if (ask.pipeline === 'ads' && isDown) throw new AuthFailed('the token is wrong');
    return report(ask);
  });
  const { runId } = await lab.control.start(night, { by });
  await during(runner, async () => {
    await isNow(runId, 'partly_failed');
    const { error } = await lab.control.run('nightly', runId);
    expect(error).toEqual({ code: 'auth', message: 'ads sync failed: the token is wrong' });
    const ended = { parts: { failed: 1, succeeded: 2 }, partOf: null };
    expect(await lab.control.run('nightly', runId)).toMatchObject(ended);
    const [part] = await lab.control.history('ads', { limit: 1 });
    expect(part).toMatchObject({ parts: null, partOf: runId });
    isDown = false;
    ran.length = 0;
    const again = await lab.control.retry('nightly', runId, { by });
    await isNow(again.runId, 'succeeded');
  });
  expect(ran).toEqual(['ads']);
});

test('a part that fails of a passing cause is retried by itself, in the same night', async () => {
  const id = await comesDue();
  const ran: string[] = [];
  const runner = nights(async (ask) => {
    ran.push(ask.pipeline);
    if (ask.pipeline === 'ads' && ran.filter((name) => name === 'ads').length < 2)
      throw new Unreachable('it is away');
    return report(ask);
  });
  await during(
    runner,
    async () => {
      await isNow(id, 'partly_failed');
      expect((await lab.control.run('nightly', id)).againAt).not.toBeNull();
      await hurryJobs(lab.warehouse);
      await isNow(id, 'succeeded');
    },
    { times: { againMs: [60_000] } },
  );
  expect(ran.sort()).toEqual(['ads', 'ads', 'tracker', 'workflow']);
  expect((await lab.control.run('nightly', id)).againAt).toBeNull();
});

test.each<[readonly RunReport['status'][], string, string | null]>([
  [['succeeded', 'succeeded', 'succeeded'], 'succeeded', null],
  [['failed', 'failed', 'failed'], 'failed', 'tracker sync failed; ads sync failed; workflow sync failed'],
  [
    ['succeeded', 'failed', 'needs_attention'],
    'partly_failed',
    'ads sync failed; workflow sync needs attention',
  ],
  [['succeeded', 'needs_attention', 'succeeded'], 'needs_attention', 'ads sync needs attention'],
])('a night of which the parts are %j is %s', async (statuses, status, message) => {
  const runner = nights(async (ask) => report(ask, statuses[names.indexOf(ask.pipeline)]));
  const { runId } = await lab.control.start(night, { by });
  await during(runner, () => isNow(runId, status));
  const { error } = await lab.control.run('nightly', runId);
  expect(error?.message ?? null).toBe(message);
});

test('a stop of one pipeline stops its part, and the others go on', async () => {
  const runner = nights((ask, how) => (ask.pipeline === 'ads' ? untilStopped(how) : slowly(ask)));
  const slow = Promise.withResolvers<void>();
  const slowly = (ask: Ask) => slow.promise.then(() => report(ask));
  const { runId } = await lab.control.start(night, { by });
  await during(runner, async () => {
    await areRunning(3);
    expect((await lab.control.status('ads')).run).toMatchObject({ runId: `${runId}.ads.sync` });
    await lab.control.stop('ads', { by });
    await until('the part is over', async () => (await parts()).includes('ads sync stopped'));
    expect((await lab.control.run('nightly', runId)).status).toBe('running');
    slow.resolve();
    await isNow(runId, 'stopped');
  });
  expect(await parts()).toEqual(['ads sync stopped', 'tracker sync succeeded', 'workflow sync succeeded']);
});

test('a stop of the night cancels the retry of a part that failed before', async () => {
  const id = await comesDue();
  const runner = nights((ask, how) =>
    ask.pipeline === 'ads' ? Promise.reject(new Unreachable('it is away')) : untilStopped(how),
  );
  await during(runner, async () => {
    await until('one has failed, the others run', async () => {
      const now = await parts();
      return now.includes('ads sync failed') && now.filter((part) => part.endsWith('running')).length === 2;
    });
    await lab.control.stop('nightly', { by });
    await isNow(id, 'stopped');
  });
  expect((await lab.control.run('nightly', id)).againAt).toBeNull();
  await hurryJobs(lab.warehouse);
  await during(
    nights(async (ask) => report(ask)),
    async () => {
      await until('no job is left', async () => (await waitingJobs()) === 0);
    },
  );
  expect(await parts()).toEqual(['ads sync failed', 'tracker sync stopped', 'workflow sync stopped']);
});

test('a stop of the night stops what runs and what waits', async () => {
  const { runId } = await lab.control.start(night, { by });
  const runner = nights((_, how) => untilStopped(how), ['ads']);
  await during(
    runner,
    async () => {
      await areRunning(2);
      await lab.control.stop('nightly', { by });
      await isNow(runId, 'stopped');
    },
    { jobs: 2 },
  );
  expect(await parts()).toEqual(names.map((name) => `${name} sync stopped`).sort());
});

test('a part whose process died goes on in another one, and each part runs once', async () => {
  const { runId } = await lab.control.start(night, { by });
  const ran: string[] = [];
  const runner = nights(async (ask) => {
    ran.push(ask.pipeline);
    return report(ask);
  });
  await lab.control.start({ pipeline: 'workflow', does: 'full' }, { by });
  // One process splits the night, and another one dies with a part of it.
  await during(
    nights(async (ask) => report(ask, 'interrupted')),
    async () => {
      await until('it is split', async () => (await parts()).length === 3);
    },
  );
  await hurryJobs(lab.warehouse);
  const dead = await take(lab.warehouse, 'dead');
  expect(dead).toBeDefined();
  expect(await loseDead(lab.warehouse)).toMatchObject([{ status: 'lost' }]);
  await hurryJobs(lab.warehouse);
  await during(runner, async () => {
    await until('all is over', async () => {
      await hurryJobs(lab.warehouse);
      return (await query('select from ops.dag_runs where finished_at is null')).length === 0;
    });
  });
  expect(await lab.control.run('nightly', runId)).toMatchObject({ status: 'succeeded' });
  expect(ran.sort()).toEqual(['ads', 'tracker', 'workflow', 'workflow']);
});

test('two processes share a night', async () => {
  const at: string[] = [];
  const bothRun = Promise.withResolvers<void>();
  const runner = (process: string): Runner =>
    nights(async (ask) => {
      at.push(process);
      if (new Set(at).size === 2) bothRun.resolve();
      await bothRun.promise;
      return report(ask);
    });
  const { runId } = await lab.control.start(night, { by });
  await during(
    runner('one'),
    () => during(runner('two'), () => isNow(runId, 'succeeded'), { name: 'two', jobs: 1 }),
    { name: 'one', jobs: 1 },
  );
  expect(at).toHaveLength(3);
});

test('a start of a pipeline whose part runs is refused, and the log of the night has the lines of all parts', async () => {
  const slow = Promise.withResolvers<void>();
  const runner = nights(async (ask, { observe }) => {
    observe({ type: 'note', pipeline: ask.pipeline, level: 'warn', message: `${ask.pipeline} says so` });
    await slow.promise;
    return report(ask);
  });
  const { runId } = await lab.control.start(night, { by });
  await during(runner, async () => {
    await areRunning(3);
    await expect(lab.control.start({ pipeline: 'ads', does: 'sync' }, { by })).rejects.toThrow(
      'active already',
    );
    slow.resolve();
    await isNow(runId, 'succeeded');
  });
  const lines = (await lab.control.log('nightly', runId, {})).map(({ message }) => message);
  expect(lines.filter((line) => line.endsWith('says so'))).toHaveLength(3);
  expect(lines).toEqual(expect.arrayContaining(names.map((name) => `${name}: taken by here`)));
  expect(lines.filter((line) => !names.some((name) => line.startsWith(`${name}: `)))).toEqual([]);
});
