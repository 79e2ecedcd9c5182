import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  AuthFailed,
  RateLimited,
  Refused,
  Transient,
  UnexpectedContent,
  Unreachable,
} from '../../../src/core/errors.ts';
import type { RunKind } from '../../../src/core/run.ts';
import type { Ask, Control, Done, Runner } from '../../../src/scheduler/control.ts';
import { usualTimes } from '../../../src/scheduler/schedule-times.ts';
import { scheduled, tick } from '../../../src/scheduler/ticks.ts';
import type { Warehouse } from '../../../src/warehouse/connect.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { until } from '../../support/processes.ts';
import {
  catalogue,
  conduct,
  controlOf,
  dag,
  emptyRequests,
  queueOf,
  report,
  runnerOf,
  timed,
} from './orchestra.ts';

const known = catalogue(
  dag('nightly', { streams: [], parts: ['tracker', 'ads'], timed: [timed('0 2 * * *')] }),
  dag('tracker', { timed: [timed('0 3 * * *')] }),
  dag('ads'),
);

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

/** Lets the schedule of the pipeline come due, and gives the request that it made or joined. */
async function comeDue(pipeline: string): Promise<string> {
  const schedule = scheduled(known).find((each) => each.pipeline === pipeline);
  if (schedule === undefined) throw new Error(`${pipeline} has no schedule`);
  await tick(warehouse.db, queueOf(warehouse), schedule, 'a test');
  await query(`update ops.schedules set seen_to = clock_timestamp() - interval '1 day' where pipeline = $1`, [
    pipeline,
  ]);
  await query('delete from ops.ticks');
  const made = await tick(warehouse.db, queueOf(warehouse), schedule, 'a test');
  if (made === undefined) throw new Error(`${pipeline} did not come due`);
  return made.dagRunId;
}

/** Runs what is asked until `over`, several processes long. */
async function during<T>(
  run: Runner['run'],
  over: () => Promise<T>,
  times: { readonly againMs: readonly number[] } = { againMs: [50, 50, 50] },
): Promise<T> {
  const conductor = conduct(warehouse, known, runnerOf(['tracker', 'ads'], run), { times });
  try {
    return await over();
  } finally {
    await conductor.service.end();
    expect(conductor.troubles).toEqual([]);
  }
}

const allOver = () =>
  until('every request is over', async () => {
    const [{ open }] = await query(
      'select count(*)::int as open from ops.dag_runs where finished_at is null',
    );
    return open === 0;
  });
const tries = () =>
  query('select dag_run_id as id, retry_of as before, status, asked_by from ops.dag_runs order by seq');
const logOf = async (id: string, pipeline = 'tracker') =>
  (await control.log(pipeline, id, {})).map(({ message }) => message);

test('a scheduled run whose source is away is tried again later in the night, until it succeeds', async () => {
  const id = await comeDue('tracker');
  let runs = 0;
  await during(async (ask) => {
    runs += 1;
    if (runs < 3) throw new Unreachable('cannot connect to the tracker');
    return report(ask);
  }, allOver);
  expect(await tries()).toEqual([
    { id, before: null, status: 'failed', asked_by: 'schedule' },
    { id: `${id}-again-1`, before: id, status: 'failed', asked_by: 'schedule' },
    { id: `${id}-again-2`, before: `${id}-again-1`, status: 'succeeded', asked_by: 'schedule' },
  ]);
  expect((await logOf(id)).at(-1)).toMatch(
    /^this may pass: the same again at \d{4}-\d\d-\d\d \d\d:\d\d UTC \(try 2 of 4\)$/,
  );
});

test('what stays away is left after the last try', async () => {
  const id = await comeDue('tracker');
  await during(
    async () => {
      throw new Transient('it answered 503');
    },
    allOver,
    { againMs: [20, 20] },
  );
  expect((await tries()).map((each) => each.status)).toEqual(['failed', 'failed', 'failed']);
  expect((await logOf(`${id}-again-2`)).some((line) => line.includes('again'))).toBe(false);
});

test.each([
  [
    'is in part away',
    { ...report({ pipeline: 'tracker', does: 'sync' }, 'partly_failed'), passesAfterMs: 0 },
    2,
  ],
  ['answers with pages of another kind', new UnexpectedContent('a page of HTML'), 2],
  ['does not let us in', new AuthFailed('the token is not accepted'), 1],
  ['says no', new Refused('400', 400, []), 1],
  ['needs somebody to look', report({ pipeline: 'tracker', does: 'sync' }, 'needs_attention'), 1],
  [
    'is in part what it never will be again',
    report({ pipeline: 'tracker', does: 'sync' }, 'partly_failed'),
    1,
  ],
])('a source that %s', async (_what, end, expected) => {
  await comeDue('tracker');
  await during(
    async () => {
      if (end instanceof Error) throw end;
      return end;
    },
    allOver,
    { againMs: [20] },
  );
  expect(await tries()).toHaveLength(expected);
});

test('what somebody asked for, or told to stop, is not asked for again by itself', async () => {
  const away: Runner['run'] = async () => {
    throw new Unreachable('cannot connect');
  };
  await control.start({ pipeline: 'ads', does: 'sync' }, { by: 'a test' });
  const id = await comeDue('tracker');
  await during(
    async (ask, how) => {
      if (ask.pipeline === 'tracker')
        await query('update ops.dag_runs set stop_asked_at = clock_timestamp() where dag_run_id = $1', [id]);
      return away(ask, how);
    },
    allOver,
    { againMs: [20] },
  );
  expect(await tries()).toHaveLength(2);
});

test('a source that wants to be left alone for longer than a run waits is left alone', async () => {
  const id = await comeDue('tracker');
  const hour = 3_600_000;
  await during(
    async () => {
      throw new RateLimited('429', { retryAfterMs: hour });
    },
    () => until('it failed', async () => (await control.run('tracker', id)).finishedAt !== null),
  );
  const { againAt } = await control.run('tracker', id);
  expect((againAt?.getTime() ?? 0) - Date.now()).toBeGreaterThan(hour - 60_000);
});

/** A night's request that failed and waits to be tried again in an hour. */
async function failed(pipeline = 'tracker'): Promise<string> {
  const id = await comeDue(pipeline);
  await during(
    async () => {
      throw new Unreachable('cannot connect');
    },
    () => until('it failed', async () => (await control.run(pipeline, id)).finishedAt !== null),
    { againMs: [3_600_000] },
  );
  expect((await tries()).map((each) => each.status)).toEqual(['failed', 'queued']);
  return id;
}

test('until its time has come it is not there for anybody: the failed one is the last, and says when', async () => {
  const id = await failed();
  const { dag: shown, run } = await control.status('tracker');
  expect(shown.last).toMatchObject({ runId: id, status: 'failed', error: { code: 'unreachable' } });
  expect(run?.runId).toBe(id);
  expect(run?.againAt?.getTime()).toBeGreaterThan(Date.now());
  expect((await control.history('tracker', { limit: 10 })).map((each) => each.runId)).toEqual([id]);
});

test('a start is not held up by it, and takes its place if it does the same', async () => {
  const id = await failed();
  const some = await control.start(
    { pipeline: 'tracker', does: 'sync', streams: ['issues'] },
    { by: 'a test' },
  );
  expect((await control.run('tracker', id)).againAt).not.toBeNull();
  await control.stop('tracker', { by: 'a test' });
  expect((await control.run('tracker', some.runId)).status).toBe('stopped');
  const full = await control.start({ pipeline: 'tracker', does: 'full' }, { by: 'a test' });
  expect((await control.run('tracker', id)).againAt).toBeNull();
  expect((await logOf(id)).at(-1)).toBe(`not again by itself: ${full.runId} does it`);
  await during(async (ask) => report(ask), allOver);
  expect((await tries()).map((each) => each.status)).toEqual(['failed', 'stopped', 'succeeded']);
});

test('the next night takes its place, and does all of it', async () => {
  const id = await failed('nightly');
  const next = await comeDue('nightly');
  expect(next).not.toBe(id);
  expect((await tries()).map((each) => each.id)).toEqual([id, next]);
  expect((await logOf(id, 'nightly')).at(-1)).toBe(`not again by itself: ${next} does it`);
});

test('a stop where nothing runs gives it up', async () => {
  const id = await failed();
  expect((await control.stop('tracker', { by: 'a test' })).runId).toBe(id);
  expect((await control.run('tracker', id)).againAt).toBeNull();
  expect((await logOf(id)).at(-1)).toBe('not again by itself: stop asked for by a test');
  expect(await tries()).toHaveLength(1);
});

test('of several pipelines those are run again that failed', async () => {
  const id = await comeDue('nightly');
  const told: (readonly Done[])[] = [];
  const run = async (ask: Ask, how: Parameters<Runner['run']>[1]) => {
    told.push(how.done ?? []);
    // As the runner does: each part is a run, and what failed is told for all of them.
    const [{ run_id: runId }] = await query(
      `insert into ops.runs (pipeline, source_id, kind, trigger, status, epoch) values ('tracker', 1, 'sync', 'schedule', $1, 1) returning run_id::text`,
      [told.length === 1 ? 'succeeded' : 'failed'],
    );
    const kind: RunKind = 'sync';
    how.observe({ type: 'run.started', pipeline: 'tracker', runId, kind, resumed: false });
    return told.length < 3 ? { ...report(ask, 'partly_failed'), passesAfterMs: 0 } : report(ask);
  };
  await during(run, allOver);
  const done = { pipeline: 'tracker', kind: 'sync' };
  expect(told).toEqual([[], [done], [done]]);
  // A person who retries it means all of it.
  await control.retry('nightly', id, { by: 'a test' });
  await during(run, allOver);
  expect(told.at(-1)).toEqual([]);
});

test('the pauses fit into a night', () => {
  const total = usualTimes.againMs.reduce((sum, each) => sum + each, 0);
  expect(total).toBeLessThan(5 * 3_600_000);
});
