import http from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { findDialect } from '../../../../src/connectors/dagu/dialect.ts';
import { openHttp } from '../../../../src/connectors/dagu/http.ts';
import {
  dagInList,
  dagInStatus,
  madeAt,
  payloadOf,
  runIn,
  wordOfUnkeyed,
} from '../../../../src/connectors/dagu/normalize.ts';
import { dag, dagRun } from '../../../../src/connectors/dagu/transform.ts';

let close: (() => Promise<void>) | undefined;
afterEach(() => close?.());

/** A server that answers these paths, and others with 404. */
async function serving(answers: Readonly<Record<string, { status?: number; type?: string; body: unknown }>>) {
  const server = http.createServer((request, response) => {
    const answer = answers[request.url?.split('?')[0] ?? ''] ?? {
      status: 404,
      type: 'text/plain',
      body: 'nothing',
    };
    response.writeHead(answer.status ?? 200, { 'content-type': answer.type ?? 'application/json' });
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const out = openHttp({ baseUrl: `http://127.0.0.1:${port}` }, { retry: { baseMs: 1, capMs: 2 } });
  close = async () => {
    await out.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return out;
}

const { signal } = new AbortController();
const vendorList = { dags: [], errors: null, pagination: { currentPage: 1, totalPages: 1, totalRecords: 0 } };
const page = { type: 'text/html', body: '<!doctype html>' };

describe('which tongue an engine speaks', () => {
  test.each([
    [
      '/api/v2 beside the first API',
      { '/api/v1/dags': { body: { DAGs: [] } }, '/api/v2/dags': { body: vendorList } },
      '/api/v2',
    ],
    [
      '/api/v1 with a page for every other path',
      { '/api/v1/dags': { body: vendorList }, '/api/v2/dags': page },
      '/api/v1',
    ],
    ['an empty list that is null', { '/api/v2/dags': { body: { ...vendorList, dags: null } } }, '/api/v2'],
  ] as const)('%s', async (_, answers, prefix) => {
    const out = await serving(answers);
    expect((await findDialect(out, ['load'], signal)).dialect).toMatchObject({ kind: 'history', prefix });
    expect((await findDialect(out, [], signal)).dialect).toMatchObject({ kind: 'history', prefix });
  });

  test('a status is the contract, also of the second name where the first is unknown', async () => {
    const unknown = { status: 404, body: { status: 'error', message: 'DAG a not found' } };
    const out = await serving({
      '/api/v1/dags/a/status': unknown,
      '/api/v1/dags/b/status': { body: { status: 'success', data: {} } },
    });
    expect(await findDialect(out, ['a', 'b'], signal)).toMatchObject({
      dialect: { kind: 'status' },
      dag: 'b',
    });
  });

  test('an error in an envelope under 200 is no status', async () => {
    const out = await serving({
      '/api/v1/dags/a/status': { body: { status: 'error', message: 'DAG a not found' } },
    });
    await expect(findDialect(out, ['a'], signal)).rejects.toMatchObject({
      code: 'missing',
      message: /none of the DAGs a/,
    });
  });

  test('a list in an envelope names the DAGs of an engine of the contract', async () => {
    const out = await serving({
      '/api/v1/dags': { body: { status: 'success', data: { dags: [{ name: 'load' }] } } },
    });
    expect(await findDialect(out, [], signal)).toMatchObject({ dialect: { kind: 'status' } });
  });

  test('a page of somebody else is no engine', async () => {
    const out = await serving({ '/api/v1/dags/a/status': page });
    await expect(findDialect(out, ['a'], signal)).rejects.toMatchObject({ code: 'unexpected_content' });
  });

  test.each([
    ['a login page', { '/api/v1/dags': page, '/api/v2/dags': page }, /answered 200 with text\/html/],
    [
      'a redirect',
      { '/api/v1/dags': { status: 302, body: '' }, '/api/v2/dags': { status: 302, body: '' } },
      /answered 302, a redirect.*not followed/,
    ],
    ['nothing', {}, /answered 404/],
  ])('where there is no list, %s is told as it was met', async (_, answers, met) => {
    const out = await serving(answers);
    const failure = await findDialect(out, [], signal).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'misconfigured',
      message: expect.stringMatching(met),
      cause: expect.any(Error),
    });
    expect(failure).toMatchObject({ message: expect.stringContaining('WORKFLOW_BASE_URL') });
    expect(failure).toMatchObject({ message: expect.stringContaining('WORKFLOW_DAGS') });
  });

  test('names that would leave their place in the path are refused', async () => {
    const out = await serving({});
    for (const name of ['', '.', '..'])
      await expect(findDialect(out, [name], signal)).rejects.toMatchObject({ code: 'misconfigured' });
  });
});

describe('what a status tells', () => {
  const spellings = [
    {
      status: 'success',
      data: {
        status: 'running',
        run: { runId: 7, status: 'running', startedAt: '2026-01-01T01:00:00+01:00' },
      },
    },
    {
      Status: {
        RequestId: '7',
        Status: 1,
        StatusText: 'Running',
        StartedAt: '2026-01-01T00:00:00Z',
        FinishedAt: '-',
      },
    },
    {
      status: 'success',
      data: {
        Status: { RequestId: '7', Status: 1, StatusText: 'running', StartedAt: '2026-01-01T00:00:00Z' },
      },
    },
    { dag_run_id: '7', current_status: 'RUNNING', start_time: '2026-01-01T00:00:00Z', end_time: '' },
    { name: 'load', status: 1, dagRunId: '7', startedAt: '2026-01-01T00:00:00Z' },
    {
      dag: { name: 'load', last: null },
      run: { runId: '7', status: 'running', startedAt: '2026-01-01T00:00:00.000Z' },
      steps: [],
    },
  ];

  test.each(spellings)('is one row, however it is written: %j', (body) => {
    const told = runIn(payloadOf(body) ?? {}, 'load', 'start');
    const { row } = dagRun(told, {});
    expect(row).toMatchObject({
      ...{
        dag_name: 'load',
        dag_run_id: '7',
        told_run_id: '7',
        status: 'running',
        state: 'active',
        finished_at: null,
      },
      started_at: 1_767_225_600_000_000n,
    });
  });

  test.each(['latestRun', 'current_execution', 'dagRunStatus'])(
    'is read under a name that nobody knows: %s',
    (holder) => {
      const run = { id: 'r1', status: 'running', startedAt: '2026-01-02T03:04:05Z', steps: [{ name: 'a' }] };
      const payload = { id: 'etl', name: 'etl', schedule: { cron: '0 2 * * *', next: null }, [holder]: run };
      expect(runIn(payload, 'etl', 'start')).toMatchObject({
        id: 'r1',
        run: { status: 'running' },
        steps: [{ name: 'a' }],
      });
      expect(dagInStatus('etl', payload)).toMatchObject({ latest: { status: 'running', dagRunId: 'r1' } });
    },
  );

  test.each([
    { runs: [{ id: 'r1', status: 'running', startedAt: '2026-01-02T03:04:05Z' }] },
    { newestRun: { id: 'r2', status: 'running' }, formerRun: { id: 'r1', status: 'succeeded' } },
  ])('is not passed over in silence where it cannot be told which one it is: %j', (payload) => {
    expect(runIn(payload, 'etl', 'start')).toBeUndefined();
    expect(wordOfUnkeyed(payload)).toBe('running');
  });

  test('nothing, where there was no execution', () => {
    for (const body of [
      { dag: { name: 'load' }, run: null, steps: [] },
      { Status: { RequestId: '', Status: 0, StartedAt: '-' } },
      {},
    ])
      expect(runIn(body, 'load', 'start')).toBeUndefined();
    expect(dagInStatus('load', { Status: { Status: 0, StatusText: 'not started' } })).toMatchObject({
      name: 'load',
      latest: { status: 0 },
    });
  });

  test('what has no column is kept, and so is a second key of one meaning', () => {
    const told = runIn(
      { runId: 'a', request_id: 'b', startedAt: '2026-01-01T00:00:00Z', host: { name: 'x' }, toString: 1 },
      'load',
      'start',
    );
    const { row } = dagRun(told, {});
    expect(JSON.parse(String(row._extra))).toEqual({ request_id: 'b', host: { name: 'x' }, toString: 1 });
  });

  test('an instant that is none is kept with the reason, and the run stays', () => {
    const { row, notes } = dagRun(
      runIn({ id: 'a', startedAt: '2024-02-30T00:00:00Z', finishedAt: 1_700_000 }, 'load', 'start'),
      {},
    );
    expect(row).toMatchObject({ started_at: null, finished_at: null });
    expect(JSON.parse(String(row._extra))).toMatchObject({
      startedAt: { _raw: '2024-02-30T00:00:00Z' },
      finishedAt: { _raw: 1_700_000 },
    });
    expect(notes).toHaveLength(2);
  });

  test('steps of one name are told apart, and a step without a name stays with its run', () => {
    const steps = [{ name: 'a' }, { name: 'a', status: 2 }, { status: 1 }, 'b'];
    const { row, children } = dagRun(runIn({ id: 'a', steps }, 'load', 'start'), {});
    expect(
      children.steps?.map(({ step_name, occurrence, position, state }) => [
        step_name,
        occurrence,
        position,
        state,
      ]),
    ).toEqual([
      ['a', 0, 0, 'unknown'],
      ['a', 1, 1, 'failed'],
      ['b', 0, 3, 'unknown'],
    ]);
    expect(JSON.parse(String(row._extra))).toEqual({ 'steps[2]': { status: 1 } });
  });

  test.each(['running', 4, ['running'], true])(
    'a newest execution that is none (%j) is kept with the reason',
    (odd) => {
      const { row, notes } = dag(dagInList({ dag: { name: 'load' }, latestDAGRun: odd }), {});
      expect(row).toMatchObject({ name: 'load', status: null, state: null, latest_dag_run_id: null });
      expect(JSON.parse(String(row._extra))).toMatchObject({ latest: { _raw: odd } });
      expect(notes).toEqual([expect.stringMatching(/^latest: expected an object, got /)]);
    },
  );

  test.each([null, { a: 1 }, 'all'])(
    'handlers beside a list of steps that is none (%j) are some of the steps, not all',
    (nodes) => {
      const told = runIn({ id: 'a', nodes, onExit: { step: { name: 'bye' }, status: 4 } }, 'load', 'making');
      const { children, partial } = dagRun(told, {});
      expect(children.steps?.map(({ step_name, kind }) => [step_name, kind])).toEqual([['bye', 'onExit']]);
      expect(partial).toEqual(['steps']);
    },
  );

  test.each([{ step: { name: '' } }, { step: {} }, { step: null }, { name: '' }, {}])(
    'a handler without a name (%j) is called after when it runs',
    (untold) => {
      const told = runIn(
        { id: 'a', nodes: [{ step: { name: 'one' } }], onExit: { ...untold, status: 4 } },
        'load',
        'making',
      );
      const { row, children, partial } = dagRun(told, {});
      expect(children.steps?.map(({ step_name, kind }) => [step_name, kind])).toEqual([
        ['one', 'step'],
        ['onExit', 'onExit'],
      ]);
      expect([row._extra, partial]).toEqual([null, undefined]);
    },
  );

  test('when a run was made stands in the name of its log', () => {
    expect(madeAt('/x/dag-run_20261121_072425Z_a_b/dag-run_1.log')).toBe('2026-11-21T07:24:25.000Z');
    for (const log of ['', '/x/y.log', '/dag-run_20261399_072425Z_a/', undefined, 7])
      expect(madeAt(log)).toBeUndefined();
  });
});
