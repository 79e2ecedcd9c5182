import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  startWorkflow,
  type WorkflowOptions,
  type WorkflowSimulator,
} from '../../../../simulators/dagu/server.ts';
import { resetBeforeHeaders, status } from '../../../../simulators/shared/faults.ts';
import { openEngine } from '../../../../src/connectors/dagu/source.ts';
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

const isStart = ({ path }: { readonly path: string }): boolean => path.endsWith('/start');
const times = Number.POSITIVE_INFINITY;
const inJson = { headers: { 'content-type': 'application/json' } };
const startsOf = () => simulator.log.filter(isStart);
const runId = 'tidemark-nightly-7';
/** Starts a DAG as a hand-off does. */
const start = (dag = 'reports', how: { runId?: string; params?: string } = {}) =>
  engine.start(dag, { runId, params: 'RUN_ID=7', ...how }, signal);
const stateOf = (dag: string) => engine.status(dag, runId, signal);

/** Hands one run over to the DAG. */
const handOver = async (wait = false): Promise<void> => {
  await database.warehouse.pool.query('truncate ops.handoffs');
  await enqueueHandoff(database.warehouse.db, { pipeline: 'nightly', runKey: '7' }, { dag: 'reports', wait });
};
/** Steps of the hand-off. A start that was cut off is looked for some minutes before it is sent again. */
const driven = async (steps = 1): Promise<unknown> => {
  const { db, pool } = database.warehouse;
  for (let step = 0; step < steps; step++) {
    await pool.query(
      "update ops.handoffs set next_at = now(), starting_at = starting_at - interval '5 minutes'",
    );
    await advanceHandoffs(db, engine, signal);
  }
  return (await pool.query('select status, engine_status, error from ops.handoffs')).rows;
};
const aDayPasses = () =>
  database.warehouse.pool.query("update ops.handoffs set starting_at = starting_at - interval '1 day'");

describe.each([
  { name: 'the contract', options: { dialect: 'contract' }, ids: false },
  { name: 'the vendor until 1.30', options: { dialect: 'dagu-v2' }, ids: true },
  { name: 'the vendor since 2.0', options: { dialect: 'dagu-2.x' }, ids: true },
] as const)('an engine that speaks $name', ({ options, ids }) => {
  test('is started with its parameters and asked for its state', async () => {
    await open(options, 'the reports');
    expect(await engine.takesRunId(signal)).toBe(ids);
    const params = 'RUN_ID=7 WHO="the board"';
    const id = ids ? runId : 'run-1';
    expect(await start('the reports', { params })).toEqual({ runId: id });
    const running = { runId: id, state: 'active', label: 'running', params, startedAt: expect.any(Date) };
    expect(await stateOf('the reports')).toMatchObject(running);
    simulator.state.finish('the reports', id, 'aborted');
    expect(await stateOf('the reports')).toMatchObject({ state: 'failed', label: 'aborted' });
  });

  test('an unknown DAG is missing', async () => {
    await open(options);
    await expect(start('nothing')).rejects.toMatchObject({ code: 'missing' });
    expect(startsOf().length).toBeLessThanOrEqual(1);
  });

  test('a start whose answer is lost is repeated only where an id makes that harmless', async () => {
    await open(options);
    await engine.takesRunId(signal);
    const lost = simulator.script.at({ match: isStart }, resetBeforeHeaders, ({ state }) => {
      state.start('reports', { id: ids ? runId : 'run-9' });
    });
    const code = expect.stringMatching(/transient|unreachable/);
    if (ids) expect(await start()).toEqual({ runId });
    else await expect(start()).rejects.toMatchObject({ code });
    expect(lost.fired).toBe(1);
    expect(startsOf()).toHaveLength(ids ? 2 : 1);
    expect(simulator.state.dag('reports').runs).toHaveLength(1);
  });

  test('a hand-off is one run there, waited for to its end', async () => {
    await open(options);
    await handOver(true);
    const busy = simulator.script.at({ match: isStart }, status(503));
    await driven(3);
    expect(busy.fired).toBe(1);
    const [run, ...others] = simulator.state.dag('reports').runs;
    expect(others).toEqual([]);
    expect(run?.params).toMatch(/^RUN_ID=7 TO=\S+$/);
    simulator.state.finish('reports', run?.id ?? '', 'succeeded');
    expect(await driven()).toEqual([{ status: 'succeeded', engine_status: 'succeeded', error: null }]);
  });

  test.each([
    ['levitating', 'started', null],
    ['not_started', 'started', null],
    [
      'levitating',
      'unknown',
      expect.stringContaining('says "levitating" of the run, which is no known state'),
    ],
  ])('a hand-off whose run ends as %s is %s, never a success', async (word, status, error) => {
    await open(options);
    await handOver(true);
    await driven(2);
    const [run] = simulator.state.dag('reports').runs;
    simulator.state.finish('reports', run?.id ?? '', word);
    if (status === 'unknown') await aDayPasses();
    expect(await driven()).toEqual([
      { status, engine_status: status === 'started' ? word : 'running', error },
    ]);
  });
});

test('a start by an id that exists is success and starts nothing; an unknown id has no run; a long one is not sent', async () => {
  await open({ dialect: 'dagu-v2' });
  simulator.state.start('reports');
  expect(await stateOf('reports')).toBeUndefined();
  await start();
  simulator.state.finish('reports', runId, 'succeeded');
  expect(await start()).toEqual({ runId });
  expect(simulator.state.dag('reports').runs).toHaveLength(2);
  const before = startsOf().length;
  const long = start('reports', { runId: 'a'.repeat(65) });
  await expect(long).rejects.toMatchObject({ code: 'misconfigured' });
  expect(startsOf()).toHaveLength(before);
});

test('a start that ends as an error of a gateway may have arrived, however long it asks to wait', async () => {
  await open({ dialect: 'contract' });
  await engine.takesRunId(signal);
  const gateway = status(504, { headers: { 'retry-after': '3600' } });
  const cut = simulator.script.at({ match: isStart }, gateway, ({ state }) => {
    state.start('reports', { id: 'run-9' });
  });
  await handOver();
  expect(await driven()).toMatchObject([{ status: 'starting' }]);
  expect(cut.fired).toBe(1);
});

const succeeded = { status: 'succeeded', error: null };
const failed = { status: 'failed', error: expect.stringMatching(/POST .*start answered 404/) };
test.each([
  ['is handed over to', 'reports', 0, 1, succeeded],
  ['is handed over to again where the first start never arrived', 'reports', 1, 2, succeeded],
  ['answers the start of an unknown DAG with 404', 'others', 0, 1, failed],
] as const)(
  'an engine of the contract without a list, and without the status of a DAG that never ran, %s',
  async (_, has, lost, steps, expected) => {
    await open({ dialect: 'contract' }, has);
    simulator.script.at({ times, match: ({ method }) => method === 'GET' }, status(404));
    simulator.script.at({ times: lost, match: isStart }, status(503));
    await handOver();
    expect(await driven(steps)).toMatchObject([expected]);
    expect(simulator.state.dag(has).runs).toHaveLength(has === 'reports' ? 1 : 0);
  },
);

const says = (code: number, message: string) =>
  status(code, { body: JSON.stringify({ status: 'error', message }) });
test.each([
  ['409: the DAG runs', undefined, 'transient'],
  ['400: DAG is already running', says(400, 'DAG is already running'), 'transient'],
  ['200: reports is already running', says(200, 'reports is already running'), 'transient'],
  ['400: params are not allowed', says(400, 'params are not allowed'), 'refused'],
])('a busy DAG is tried again later, any other refusal is for good: %s', async (_, answer, code) => {
  await open({ dialect: 'contract' });
  if (answer === undefined) simulator.state.start('reports');
  else simulator.script.at({ match: isStart }, answer);
  await expect(start()).rejects.toMatchObject({
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
  const answer = status(200, { ...inJson, body: JSON.stringify({ status: 'success', data }) });
  simulator.script.at({ match: ({ path }) => path.endsWith('/status'), times }, answer);
  expect(await engine.status('reports', '', signal)).toMatchObject({ runId: 'r', params: text });
});

test('a body goes to the vendor always, to the contract only with parameters', async () => {
  await open({ dialect: 'dagu-v2' });
  await start('reports', { params: '' });
  expect(startsOf().map(({ body }) => body)).toEqual(['{"dagRunId":"tidemark-nightly-7"}']);
  await engine.close();
  await simulator.close();
  await open({ dialect: 'contract' });
  await start('reports', { params: '' });
  expect(startsOf().map(({ body, headers }) => [body, headers['content-type']])).toEqual([
    [undefined, undefined],
  ]);
});
