import { expect, test } from 'vitest';
import {
  AuthFailed,
  RateLimited,
  Refused,
  Transient,
  UnexpectedContent,
  Unreachable,
} from '../../../src/core/errors.ts';
import type { RunReport } from '../../../src/core/run.ts';
import type { Ask, Runner } from '../../../src/scheduler/control.ts';
import { scheduled, tick } from '../../../src/scheduler/ticks.ts';
import { until } from '../../support/processes.ts';
import { catalogue, conduct, dag, hurryJobs, loseDead, report, runnerOf, take, timed } from './orchestra.ts';
import { openRequests } from './requests.ts';

const known = catalogue(
  dag('nightly', { streams: [], timed: [timed('0 2 * * *')] }),
  dag('tracker', { timed: [timed('0 3 * * *')] }),
  dag('ads'),
);

const lab = openRequests(known);
const { query } = lab;
const by = 'a test';
/** Lets the schedule of the pipeline come due, and gives the request that it made or joined. */
async function comeDue(pipeline: string): Promise<string> {
  const schedule = scheduled(known).find((each) => each.pipeline === pipeline);
  if (schedule === undefined) throw new Error(`${pipeline} has no schedule`);
  await tick(lab.warehouse.db, lab.queue, schedule, 'a test');
  await query(`update ops.schedules set seen_to = seen_to - interval '1 day' where pipeline = $1`, [
    pipeline,
  ]);
  await query('delete from ops.ticks');
  const id = await tick(lab.warehouse.db, lab.queue, schedule, 'a test');
  if (id === undefined) throw new Error(`${pipeline} did not come due`);
  return id;
}

/** Runs what is asked until `over`, several processes long. */
async function during<T>(
  run: Runner['run'],
  over: () => Promise<T>,
  times: { readonly againMs: readonly number[] } = { againMs: [50, 50, 50] },
): Promise<T> {
  const conductor = await conduct(lab.warehouse, known, runnerOf(run), { times });
  try {
    return await over();
  } finally {
    await conductor.service.end();
    expect(conductor.troubles).toEqual([]);
  }
}

/** Until every request is over and none waits for a retry. */
const allOver = () =>
  until('every request is over', async () => {
    await hurryJobs(lab.warehouse);
    const [{ open }] = await query(`select count(*)::int as open from pgboss.job where state < 'completed'`);
    return open === 0;
  });
const stored = () => query('select dag_run_id as id, status from ops.dag_runs order by seq');
const hasEnded = (pipeline: string, id: string) =>
  until('it failed', async () => (await lab.control.run(pipeline, id)).finishedAt !== null);
const logOf = async (id: string, pipeline = 'tracker') =>
  (await lab.control.log(pipeline, id, {})).map(({ message }) => message);
const down: Runner['run'] = async () => {
  throw new Unreachable('cannot connect');
};

test('a scheduled run whose source is down is retried later, until it succeeds', async () => {
  const id = await comeDue('tracker');
  let runs = 0;
  await during(async (ask, how) => {
    runs += 1;
    return runs < 3 ? down(ask, how) : report(ask);
  }, allOver);
  expect(await stored()).toEqual([{ id, status: 'succeeded' }]);
  expect((await logOf(id)).filter((line) => line.startsWith('this may pass'))).toEqual([
    expect.stringMatching(/^this may pass: retry 1 at \d{4}-\d\d-\d\d \d\d:\d\d UTC$/),
    expect.stringContaining('retry 2'),
  ]);
});

const partly = report({ pipeline: 'tracker', does: 'sync' }, 'partly_failed');

test.each<[string, RunReport | Error, string, number]>([
  ['stays down', new Transient('it answered 503'), 'failed', 3],
  ['is down in part', { ...partly, passesAfterMs: 0 }, 'partly_failed', 3],
  ['answers with pages of another kind', new UnexpectedContent('a page of HTML'), 'failed', 3],
  ['refuses the token', new AuthFailed('the token is not accepted'), 'failed', 1],
  ['refuses the request', new Refused('400', 400, []), 'failed', 1],
  ['needs attention', { ...partly, status: 'needs_attention' }, 'needs_attention', 1],
  ['fails in part for good', partly, 'partly_failed', 1],
])('a source that %s', async (_what, end, status, expected) => {
  const id = await comeDue('tracker');
  let runs = 0;
  await during(
    async () => {
      runs += 1;
      if (end instanceof Error) throw end;
      return end;
    },
    allOver,
    { againMs: [20, 20] },
  );
  expect(await stored()).toEqual([{ id, status }]);
  expect(runs).toBe(expected);
});

test('what a person started or stopped is not retried by itself', async () => {
  const started = await lab.control.start({ pipeline: 'ads', does: 'sync' }, { by });
  const id = await comeDue('tracker');
  let runs = 0;
  await during(async (ask, how) => {
    runs += 1;
    if (ask.pipeline === 'tracker')
      await query('update ops.dag_runs set stop_asked_at = clock_timestamp() where dag_run_id = $1', [id]);
    return down(ask, how);
  }, allOver);
  expect((await lab.control.run('ads', started.runId)).againAt).toBeNull();
  expect(runs).toBe(2);
});

test('a source that asks to be left alone for longer than the pause is left alone', async () => {
  const id = await comeDue('tracker');
  const hour = 3_600_000;
  await during(
    async () => {
      throw new RateLimited('429', { retryAfterMs: hour });
    },
    () => hasEnded('tracker', id),
  );
  const { againAt, finishedAt } = await lab.control.run('tracker', id);
  expect((againAt?.getTime() ?? 0) - (finishedAt?.getTime() ?? 0)).toBeGreaterThanOrEqual(hour - 1000);
});

/** A scheduled request that failed and waits to be retried in an hour. */
async function failed(pipeline = 'tracker'): Promise<string> {
  const id = await comeDue(pipeline);
  await during(down, () => hasEnded(pipeline, id), { againMs: [3_600_000] });
  const { run } = await lab.control.status(pipeline);
  expect(run).toMatchObject({ runId: id, status: 'failed', error: { code: 'unreachable' } });
  expect(run?.againAt?.getTime()).toBeGreaterThan(Date.now());
  return id;
}

test('a waiting retry is in the way of no start, and one that does the same cancels it', async () => {
  const id = await failed();
  const part: Ask = { pipeline: 'tracker', does: 'sync', streams: ['issues'] };
  const some = await lab.control.start(part, { by });
  expect((await lab.control.run('tracker', id)).againAt).not.toBeNull();
  await lab.control.stop('tracker', { by });
  expect((await lab.control.run('tracker', some.runId)).status).toBe('stopped');
  const full = await lab.control.start({ pipeline: 'tracker', does: 'full' }, { by });
  expect((await lab.control.run('tracker', id)).againAt).toBeNull();
  expect((await logOf(id)).at(-1)).toBe(`no retry: ${full.runId} does it`);
  await during(async (ask) => report(ask), allOver);
  expect((await stored()).map((each) => each.status)).toEqual(['failed', 'stopped', 'succeeded']);
});

test('the next tick cancels the retry, and does all of it', async () => {
  const id = await failed('nightly');
  const next = await comeDue('nightly');
  expect((await stored()).map((each) => each.id)).toEqual([id, next]);
  expect((await logOf(id, 'nightly')).at(-1)).toBe(`no retry: ${next} does it`);
});

test('a stop while nothing runs cancels the retry', async () => {
  const id = await failed();
  expect((await lab.control.stop('tracker', { by })).runId).toBe(id);
  expect((await lab.control.run('tracker', id)).againAt).toBeNull();
  expect((await logOf(id)).at(-1)).toBe('no retry: stop requested by a test');
  await during(down, allOver);
  expect(await stored()).toMatchObject([{ id, status: 'failed' }]);
});

test('a retry that loses its worker is taken up again', async () => {
  const id = await failed();
  await hurryJobs(lab.warehouse);
  await query('update ops.dag_runs set not_before = clock_timestamp()');
  expect(await take(lab.warehouse)).toMatchObject({ id });
  expect(await loseDead(lab.warehouse)).toMatchObject([{ id, status: 'lost' }]);
  await during(async (ask) => report(ask), allOver);
  expect(await stored()).toMatchObject([{ id, status: 'succeeded' }]);
});
