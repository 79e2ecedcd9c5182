import http from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { currentRun, recordOf } from '../../../../src/connectors/dagu/dialects/contract.ts';
import { findDialect } from '../../../../src/connectors/dagu/dialects/find.ts';
import { dag, dagIn, dagRun, runIn } from '../../../../src/connectors/dagu/transform.ts';
import { openHttp } from '../../../../src/connectors/dagu/workflow.ts';

/** A server that answers these paths, and others with 404. */
async function serving(answers: Readonly<Record<string, { status?: number; type?: string; body: unknown }>>) {
  const server = http.createServer((request, response) => {
    const nothing = { status: 404, type: 'text/plain', body: 'nothing' };
    const { status = 200, type, body } = answers[request.url?.split('?')[0] ?? ''] ?? nothing;
    response.writeHead(status, { 'content-type': type ?? 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const out = openHttp({ baseUrl: `http://127.0.0.1:${port}` }, { retry: { baseMs: 1, capMs: 2 } });
  onTestFinished(async () => {
    await out.close();
    server.closeAllConnections();
    server.close();
  });
  return out;
}

const { signal } = new AbortController();
const daguList = { dags: [], errors: null, pagination: { currentPage: 1, totalPages: 1, totalRecords: 0 } };
const page = { type: 'text/html', body: '<!doctype html>' };
const unknown = { status: 404, body: { status: 'error', message: 'DAG not found' } };

describe('the dialect of an engine', () => {
  test.each<[string, Record<string, { body: unknown }>, RegExp]>([
    [
      '/api/v2 beside the legacy API',
      { '/api/v1/dags': { body: { DAGs: [] } }, '/api/v2/dags': { body: daguList } },
      /1\.17 to 1\.30/,
    ],
    ['/api/v1', { '/api/v1/dags': { body: daguList }, '/api/v2/dags': page }, /Dagu 2\b/],
    ['an empty list that is null', { '/api/v2/dags': { body: { ...daguList, dags: null } } }, /1\.30/],
  ])('%s', async (_, answers, name) => {
    const dialect = { about: expect.stringMatching(name) };
    const out = await serving(answers);
    for (const dags of [['load'], []])
      expect(await findDialect(out, dags, signal)).toMatchObject({ dialect });
  });

  test('a status is the contract, also of the second DAG where the first is unknown', async () => {
    const out = await serving({
      '/api/v1/dags/a/status': unknown,
      '/api/v1/dags/b/status': { body: { status: 'success', data: { status: 'running' } } },
    });
    expect(await findDialect(out, ['a', 'b'], signal)).toMatchObject({
      dialect: { about: expect.stringContaining('contract') },
    });
  });

  const broken = { body: { status: 'error', message: 'broken' } };
  test.each<[string, { status?: number; body: unknown }, string, RegExp]>([
    ['unknown DAGs', unknown, 'missing', /none of the DAGs a/],
    ['an error under 200', broken, 'refused', /answered with an error: broken/],
    ['a web page', page, 'unexpected_content', /./],
  ])('%s: no engine', async (_, answer, code, text) => {
    const out = await serving({ '/api/v1/dags/a/status': answer });
    const message = expect.stringMatching(text);
    await expect(findDialect(out, ['a'], signal)).rejects.toMatchObject({ code, message });
  });

  test.each([
    ['a login page', page, /answered 200 with text\/html/],
    ['a redirect', { status: 302, body: '' }, /answered 302, a redirect.*not followed/],
    ['nothing', { status: 404, body: '' }, /answered 404/],
  ])('the error without a list says what answered: %s', async (_, answer, found) => {
    const out = await serving({ '/api/v1/dags': answer, '/api/v2/dags': answer });
    for (const text of [found, /WORKFLOW_BASE_URL/, /WORKFLOW_DAGS/]) {
      const message = expect.stringMatching(text);
      await expect(findDialect(out, [], signal)).rejects.toMatchObject({ code: 'misconfigured', message });
    }
  });

  test('names that would leave their place in the path are refused', async () => {
    const out = await serving({});
    for (const name of ['', '.', '..'])
      await expect(findDialect(out, [name], signal)).rejects.toMatchObject({ code: 'misconfigured' });
  });
});

/** A status of the contract with this data. */
const success = (data: object | null) => ({ status: 'success', data });
const rowOf = (data: object | null) => dagRun(currentRun(recordOf(success(data), 'load')), {});

describe('a status of the contract', () => {
  const startedAt = '2026-01-01T00:00:00Z';
  test.each([
    { status: 'running', details: { runId: 7, startedAt } },
    { status: 'running', runId: '7', startedAt },
    { status: 1, statusText: 'Running', requestId: '7', startedAt, finishedAt: '-' },
  ])('is one row: %j', (data) => {
    const { row, notes } = rowOf(data);
    expect(row).toMatchObject({
      dag_name: 'load',
      dag_run_id: '7',
      told_run_id: '7',
      status: 'running',
      state: 'active',
      finished_at: null,
      _extra: null,
      started_at: 1_767_225_600_000_000n,
    });
    expect(notes).toBeUndefined();
  });

  test.each([
    [1_763_709_865_000, '2025-11-21T07:24:25.000Z'],
    [1_763_709_865.123456, '2025-11-21T07:24:25.123456Z'],
    ['1763709865', '2025-11-21T07:24:25.000Z'],
    ['2025-11-21T07:24:25.123456789Z', '2025-11-21T07:24:25.123456Z'],
  ])('without an id is keyed by its start: %j', (startedAt, start) => {
    const steps = [{ name: 'one', startedAt: 1_763_709_866, finishedAt: 0 }];
    const { row, children } = rowOf({ status: 'running', startedAt, finishedAt: 0, steps });
    expect(row).toMatchObject({ dag_run_id: `started:${start}`, told_run_id: null, finished_at: null });
    expect(children.steps).toMatchObject([{ started_at: 1_763_709_866_000_000n, finished_at: null }]);
  });

  test('has no run where there was no execution, and fails where it has no state', () => {
    const never = currentRun(recordOf(success({ status: 'not_started', details: null }), 'load'));
    expect(never).toMatchObject({ dag_run_id: '' });
    for (const body of [{}, success({}), success(null), [], { status: 'running' }])
      expect(() => recordOf(body, 'load')).toThrow(/no word for its state/);
  });

  test('keeps members without a column, and what is no instant with the reason', () => {
    const data = { status: 'failed', runId: 'a', requestId: 'b', host: { name: 'x' }, toString: 1 };
    const wrong = { startedAt: '2024-02-30T00:00:00Z', finishedAt: 1_700_000 };
    const { row, notes } = rowOf({ ...data, ...wrong });
    expect(row).toMatchObject({ dag_run_id: 'a', started_at: null, finished_at: null });
    expect(JSON.parse(String(row._extra))).toEqual({
      requestId: 'b',
      host: { name: 'x' },
      toString: 1,
      startedAt: { _raw: '2024-02-30T00:00:00Z', _reason: expect.any(String) },
      finishedAt: { _raw: 1_700_000, _reason: expect.any(String) },
    });
    expect(notes).toHaveLength(2);
  });

  test('has a row for each step, also of one name, without a name, or given as a text', () => {
    const steps = [{ name: 'a' }, { name: 'a', status: 2 }, { status: 1 }, 'b'];
    const { children, partial } = rowOf({ runId: 'a', status: 'running', steps });
    expect(children.steps).toMatchObject([
      { step_name: 'a', occurrence: 0, position: 0, state: 'unknown' },
      { step_name: 'a', occurrence: 1, position: 1, state: 'failed' },
      { step_name: 'step 3', occurrence: 0, position: 2, state: 'active' },
      { step_name: 'b', occurrence: 0, position: 3, state: 'unknown' },
    ]);
    expect(partial).toBeUndefined();
  });
});

describe('a record of Dagu', () => {
  test('without a name is no DAG', () => {
    const record = dagIn({ fileName: 'load', dag: { title: 'load' } });
    expect(() => dag(record, {})).toThrow(/has no name/);
  });

  test.each([null, { a: 1 }])('with handlers and no list of steps (%j) does not have all steps', (nodes) => {
    const onExit = { step: { name: 'bye' }, status: 4 };
    const { children, partial } = dagRun(runIn({ name: 'load', dagRunId: 'a', nodes, onExit }), {});
    expect(children.steps).toMatchObject([{ step_name: 'bye', kind: 'onExit' }]);
    expect(partial).toEqual(['steps']);
  });

  test('calls a handler without a name after its kind', () => {
    const nodes = [{ step: { name: 'one', commands: ['x'] } }];
    const record = { name: 'load', dagRunId: 'a', nodes, onAbort: { step: { name: '' }, status: 4 } };
    const { row, children, partial } = dagRun(runIn(record), {});
    expect(children.steps).toMatchObject([
      { step_name: 'one', kind: 'step', _extra: '{"definition":{"commands":["x"]}}' },
      { step_name: 'onCancel', kind: 'onCancel' },
    ]);
    expect([row._extra, partial]).toEqual([null, undefined]);
  });

  test('shows when its run was made in the name of its log', () => {
    const madeAt = (log: unknown) => runIn({ name: 'load', dagRunId: 'a', log }).begun_at;
    expect(madeAt('/x/dag-run_20261121_072425Z_a_b/dag-run_1.log')).toBe('2026-11-21T07:24:25.000Z');
    for (const log of ['', '/x/y.log', '/dag-run_20261399_072425Z_a/', undefined, 7])
      expect(madeAt(log)).toBeUndefined();
  });
});
