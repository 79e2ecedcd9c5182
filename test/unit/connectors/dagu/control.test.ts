import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  startWorkflow,
  type WorkflowOptions,
  type WorkflowSimulator,
} from '../../../../simulators/dagu/server.ts';
import { resetBeforeHeaders, status } from '../../../../simulators/shared/faults.ts';
import { openEngine } from '../../../../src/connectors/dagu/control.ts';
import type { Engine } from '../../../../src/core/dag-engine.ts';
import { advanceHandoffs } from '../../../../src/outbound/handoff.ts';
import { enqueueHandoff } from '../../../../src/outbound/handoff-queue.ts';
import { type TestDatabase, testDatabase } from '../../../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

let simulator: WorkflowSimulator;
let engine: ReturnType<typeof openEngine>;
const { signal } = new AbortController();
const open = async (options: WorkflowOptions, dag = 'reports'): Promise<void> => {
  simulator = await startWorkflow(options);
  simulator.state.add(dag);
  engine = openEngine({ baseUrl: simulator.url }, [dag], { retry: { baseMs: 2, capMs: 10 } });
};
afterEach(async () => {
  expect(simulator.errors).toEqual([]);
  await engine.close();
  await simulator.close();
});

const startsOf = () => simulator.log.filter(({ path }) => path.endsWith('/start'));
const asked = (how: { runId?: string; params?: string } = {}) => ({
  runId: 'tidemark-nightly-7',
  params: 'RUN_ID=7',
  ...how,
});

describe.each([
  { name: 'the contract', options: { dialect: 'contract' }, ids: false },
  { name: 'the vendor until 1.30', options: { dialect: 'dagu-v2' }, ids: true },
  { name: 'the vendor since 2.0', options: { dialect: 'dagu-2.x' }, ids: true },
] as const)('an engine that speaks $name', ({ options, ids }) => {
  test('is started with its parameters and asked for its state', async () => {
    await open(options, 'the reports');
    expect(await engine.takesRunId(signal)).toBe(ids);
    const { runId } = await engine.start(
      'the reports',
      asked({ params: 'RUN_ID=7 WHO="the board"' }),
      signal,
    );
    expect(runId).toBe(ids ? 'tidemark-nightly-7' : 'run-1');
    expect(await engine.status('the reports', 'tidemark-nightly-7', signal)).toMatchObject({
      ...{ runId, state: 'active', label: 'running', params: 'RUN_ID=7 WHO="the board"' },
      startedAt: expect.any(Date),
    });
    simulator.state.finish('the reports', runId ?? '', 'aborted');
    expect(await engine.status('the reports', 'tidemark-nightly-7', signal)).toMatchObject({
      state: 'failed',
      label: 'aborted',
    });
  });

  test('an unknown DAG is missing', async () => {
    await open(options);
    await expect(engine.start('nothing', asked(), signal)).rejects.toMatchObject({ code: 'missing' });
    expect(simulator.log.filter(({ path }) => path.endsWith('/start')).length).toBeLessThanOrEqual(1);
  });

  test('a start whose answer is lost is repeated only where an id makes that harmless', async () => {
    await open(options);
    await engine.takesRunId(signal);
    const lost = simulator.script.at(
      { match: ({ path }) => path.endsWith('/start') },
      resetBeforeHeaders,
      ({ state }) => {
        state.start('reports', { id: ids ? 'tidemark-nightly-7' : 'run-9' });
      },
    );
    const start = engine.start('reports', asked(), signal);
    if (ids) await expect(start).resolves.toEqual({ runId: 'tidemark-nightly-7' });
    else await expect(start).rejects.toMatchObject({ code: expect.stringMatching(/transient|unreachable/) });
    expect(lost.fired).toBe(1);
    expect(startsOf()).toHaveLength(ids ? 2 : 1);
    expect(simulator.state.dag('reports').runs).toHaveLength(1);
  });

  test('a hand-off is one run there, waited for to its end', async () => {
    await open(options);
    await database.warehouse.pool.query('truncate ops.handoffs');
    const { db } = database.warehouse;
    const as: Engine = engine;
    const driven = async (): Promise<void> => {
      await database.warehouse.pool.query('update ops.handoffs set next_at = clock_timestamp()');
      await advanceHandoffs(db, as, signal);
    };
    await enqueueHandoff(db, { pipeline: 'nightly', runKey: '7' }, { dag: 'reports', wait: true });
    const busy = simulator.script.at({ match: ({ path }) => path.endsWith('/start') }, status(503));
    for (let steps = 0; steps < 3; steps++) {
      await driven();
      // What was cut off is looked for before it is started again.
      await database.warehouse.pool.query(
        "update ops.handoffs set starting_at = starting_at - interval '5 minutes'",
      );
    }
    expect(busy.fired).toBe(1);
    const [run, ...others] = simulator.state.dag('reports').runs;
    expect(others).toEqual([]);
    expect(run?.params).toMatch(/^RUN_ID=7 TO=\S+$/);
    simulator.state.finish('reports', run?.id ?? '', 'succeeded');
    await driven();
    const { rows } = await database.warehouse.pool.query(
      'select status, engine_status, error from ops.handoffs',
    );
    expect(rows).toEqual([{ status: 'succeeded', engine_status: 'succeeded', error: null }]);
  });
});

test('a start by an id that exists is success and starts nothing; an unknown id has no run; a long one is not sent', async () => {
  await open({ dialect: 'dagu-v2' });
  simulator.state.start('reports');
  expect(await engine.status('reports', 'tidemark-nightly-7', signal)).toBeUndefined();
  await engine.start('reports', asked(), signal);
  simulator.state.finish('reports', 'tidemark-nightly-7', 'succeeded');
  expect(await engine.start('reports', asked(), signal)).toEqual({ runId: 'tidemark-nightly-7' });
  expect(simulator.state.dag('reports').runs).toHaveLength(2);
  const before = startsOf().length;
  const start = engine.start('reports', asked({ runId: 'a'.repeat(65) }), signal);
  await expect(start).rejects.toMatchObject({ code: 'misconfigured' });
  expect(startsOf()).toHaveLength(before);
});

test('a start that ends as an error of a gateway may have arrived, however long it asks to wait', async () => {
  await open({ dialect: 'contract' });
  const { db, pool } = database.warehouse;
  await pool.query('truncate ops.handoffs');
  await engine.takesRunId(signal);
  const cut = simulator.script.at(
    { match: ({ path }) => path.endsWith('/start') },
    status(504, { headers: { 'retry-after': '3600' } }),
    ({ state }) => {
      state.start('reports', { id: 'run-9' });
    },
  );
  await enqueueHandoff(db, { pipeline: 'nightly', runKey: '9' }, { dag: 'reports' });
  await advanceHandoffs(db, engine, signal);
  expect(cut.fired).toBe(1);
  expect((await pool.query('select status from ops.handoffs')).rows).toEqual([{ status: 'starting' }]);
});

const succeeded = { status: 'succeeded', error: null };
test.each([
  ['is handed over to', 'reports', 0, 1, succeeded],
  ['is handed over to again where the first start never arrived', 'reports', 1, 2, succeeded],
  [
    'answers the start of an unknown DAG with 404',
    'others',
    0,
    1,
    { status: 'failed', error: expect.stringMatching(/POST .*start answered 404/) },
  ],
] as const)(
  'an engine of the contract without a list, and without the status of a DAG that never ran, %s',
  async (_, has, lost, steps, expected) => {
    await open({ dialect: 'contract' }, has);
    const { db, pool } = database.warehouse;
    await pool.query('truncate ops.handoffs');
    const times = Number.POSITIVE_INFINITY;
    simulator.script.at({ times, match: ({ method }) => method === 'GET' }, status(404));
    simulator.script.at({ times: lost, match: ({ path }) => path.endsWith('/start') }, status(503));
    await enqueueHandoff(db, { pipeline: 'nightly', runKey: '7' }, { dag: 'reports' });
    for (let step = 0; step < steps; step++) {
      await pool.query(
        "update ops.handoffs set next_at = clock_timestamp(), starting_at = starting_at - interval '5 minutes'",
      );
      await advanceHandoffs(db, engine, signal);
    }
    expect((await pool.query('select status, error from ops.handoffs')).rows).toEqual([expected]);
    expect(simulator.state.dag(has).runs).toHaveLength(has === 'reports' ? 1 : 0);
  },
);

const message = (text: string) => JSON.stringify({ status: 'error', message: text });
test.each([
  ['409: the DAG runs', undefined, 'transient'],
  ['400: DAG is already running', status(400, { body: message('DAG is already running') }), 'transient'],
  [
    '200: reports is already running',
    status(200, { body: message('reports is already running') }),
    'transient',
  ],
  ['400: params are not allowed', status(400, { body: message('params are not allowed') }), 'refused'],
])('a busy DAG is tried again later, any other refusal is for good: %s', async (_, answer, code) => {
  await open({ dialect: 'contract' });
  if (answer === undefined) simulator.state.start('reports');
  else simulator.script.at({ match: ({ path }) => path.endsWith('/start') }, answer);
  await expect(engine.start('reports', asked(), signal)).rejects.toMatchObject({
    code,
    ...(code === 'transient' && { cause: { code: 'refused' } }),
  });
});

test.each([
  ['RUN_ID=7 FROM=a', 'RUN_ID=7 FROM=a'],
  ['', undefined],
  [[{ name: 'RUN_ID', value: '7' }], undefined],
  [[], undefined],
])('parameters are those of the engine: %j', async (params, text) => {
  await open({ dialect: 'contract' });
  const data = { runId: 'r', status: 'running', startedAt: '2026-03-01T12:00:00Z', params };
  const answer = status(200, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ status: 'success', data }),
  });
  simulator.script.at(
    { match: ({ path }) => path.endsWith('/status'), times: Number.POSITIVE_INFINITY },
    answer,
  );
  expect(await engine.status('reports', '', signal)).toMatchObject({ runId: 'r', params: text });
});

test('a body goes to the vendor always, to the contract only with parameters', async () => {
  await open({ dialect: 'dagu-v2' });
  await engine.start('reports', asked({ params: '' }), signal);
  expect(startsOf().map(({ body }) => body)).toEqual(['{"dagRunId":"tidemark-nightly-7"}']);
  await engine.close();
  await simulator.close();
  await open({ dialect: 'contract' });
  await engine.start('reports', asked({ params: '' }), signal);
  expect(startsOf().map(({ body, headers }) => [body, headers['content-type']])).toEqual([
    [undefined, undefined],
  ]);
});
