import http from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openWorkflow } from '../../../../src/connectors/dagu/source.ts';
import { ExactNumber } from '../../../../src/core/json.ts';
import { openSourceRig, type SourceRig } from '../../../support/source-rig.ts';

/** An engine of the contract with a list of DAGs as Tidemark's own API has it. What it does not know is answered with 404. */
interface Engine {
  readonly url: string;
  /** Method and address of each request so far. */
  readonly asked: string[];
  close(): Promise<void>;
}

type Answers = (path: string) => object | undefined;

async function startEngine(answers: Answers): Promise<Engine> {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const url = new URL(request.url ?? '', 'http://engine');
    const body = answers(decodeURIComponent(url.pathname));
    const code =
      body === undefined ? 404 : ('status' in body && typeof body.status === 'number' && body.status) || 200;
    response.writeHead(code, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? { status: 'error', message: 'there is nothing' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

let engine: Engine | undefined;
let rig: SourceRig;
beforeAll(async () => {
  rig = await openSourceRig((observe) =>
    openWorkflow(
      { baseUrl: engine?.url ?? '', dags: [] },
      { observe, http: { retry: { baseMs: 1, capMs: 2 } } },
    ),
  );
});
afterAll(() => rig.close());
afterEach(() => engine?.close());

/** The warehouse is empty and reads an engine that answers so. */
async function stage(answers: Answers): Promise<Engine> {
  await rig.rows('truncate workflow.dags, workflow.dag_runs, workflow.dag_run_steps, ops.sources cascade');
  rig.events.splice(0);
  engine = await startEngine(answers);
  return engine;
}

const status = (runId: string, word = 'succeeded') => ({
  status: 'success',
  data: { runId, status: word, startedAt: '2026-03-01T12:00:00Z' },
});
const living = async () =>
  (
    await rig.rows<{ name: string }>('select name from workflow.dags where _deleted_at is null order by name')
  ).map(({ name }) => name);

const list = (...dags: readonly (string | object)[]) => ({
  status: 'success',
  data: { dags: dags.map((dag) => (typeof dag === 'string' ? { name: dag } : dag)) },
});
const isList = (path: string): boolean => path === '/api/v1/dags';
const dagOf = (path: string): string => path.split('/')[4] ?? '';

test('a listed DAG without a status keeps its row, and its active run is gone', async () => {
  const told: Record<string, object | undefined> = { load: status('r1'), send: status('r2', 'running') };
  const { asked } = await stage((path) =>
    isList(path) ? list('load', { name: 'new', about: 'Never ran.' }, 'send') : told[dagOf(path)],
  );
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await rig.rows('select name, description, status from workflow.dags order by name')).toEqual([
    { name: 'load', description: null, status: 'succeeded' },
    { name: 'new', description: 'Never ran.', status: null },
    { name: 'send', description: null, status: 'running' },
  ]);
  expect(asked.filter((one) => one.includes('/new/')).length).toBeGreaterThan(1);
  delete told.send;
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(await living()).toEqual(['load', 'new', 'send']);
  expect(
    await rig.rows('select dag_run_id, gone_at is not null as gone from workflow.dag_runs order by 1'),
  ).toEqual([
    { dag_run_id: 'r1', gone: false },
    { dag_run_id: 'r2', gone: true },
  ]);
  expect(await rig.sync()).toMatchObject({ counts: { inserted: 0, updated: 0 }, deleted: 0 });
});

test.each<[string, object]>([
  ['of another kind of server', { dags: [{ dag_id: 'load' }], total_entries: 1 }],
  ['that may have pages', { status: 'success', data: { dags: [{ name: 'load' }], total: 130 } }],
  ['without an envelope', [{ name: 'load' }]],
])('a list %s is not read: the DAGs have to be named', async (_, body) => {
  await stage((path) => (isList(path) ? body : status('r1')));
  await expect(rig.sync()).rejects.toMatchObject({
    code: 'misconfigured',
    message: expect.stringMatching(/WORKFLOW_DAGS/),
  });
});

test('a DAG whose status fails is named in the reason', async () => {
  await stage((path) => {
    if (isList(path)) return list('load', 'send');
    return path.includes('send') ? { status: 500, message: 'nil pointer' } : status('r1');
  });
  const report = await rig.sync();
  expect(report.status).toBe('partly_failed');
  expect(report.streams.find(({ stream }) => stream === 'dags')?.reason).toMatch(
    /^dags: send: GET .* answered 500: nil pointer/,
  );
});

test('an id beyond 2^53 is kept digit for digit, and a second run of that id is a row of its own', async () => {
  const runId = new ExactNumber('9007199254740993');
  let startedAt = '2026-03-01T12:00:00Z';
  await stage((path) =>
    isList(path) ? list('load') : { status: 'success', data: { runId, status: 'succeeded', startedAt } },
  );
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  startedAt = '2026-03-02T12:00:00Z';
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  const runs = await rig.rows(
    'select dag_run_id, told_run_id, _extra from workflow.dag_runs order by begun_at',
  );
  const told_run_id = '9007199254740993';
  expect(runs).toEqual([
    { dag_run_id: told_run_id, told_run_id, _extra: null },
    { dag_run_id: `${told_run_id}@2026-03-02T12:00:00.000Z`, told_run_id, _extra: null },
  ]);
});

test('a current run of long ago is read every night without a warning', async () => {
  await stage((path) => (isList(path) ? list('load') : status('r1')));
  for (let night = 0; night < 3; night++) expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(rig.notes().join()).not.toMatch(/outside the window/);
});

test('one 404 for a listed DAG is asked again', async () => {
  let unknown = 1;
  await stage((path) => {
    if (isList(path)) return list('load');
    unknown -= 1;
    return unknown < 0 ? status('r1') : undefined;
  });
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await rig.rows('select name, latest_dag_run_id from workflow.dags')).toEqual([
    { name: 'load', latest_dag_run_id: 'r1' },
  ]);
});

test.each([{}, { status: 'success', data: {} }, { status: 'success', data: null }])(
  'a status without a word for the state (%j) fails, and no run is taken for gone',
  async (nothing) => {
    let answer: object = status('r1', 'running');
    await stage((path) => (isList(path) ? list('load') : answer));
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    answer = nothing;
    const report = await rig.sync();
    expect(report.status).toMatch(/failed/);
    expect(JSON.stringify(report.streams)).toMatch(/the status of load has no word for its state/);
    expect(await rig.rows('select from workflow.dag_runs where gone_at is not null')).toEqual([]);
    expect(await living()).toEqual(['load']);
  },
);

test('DAGs are deleted only where the list is empty twice', async () => {
  let left = 0;
  await stage((path) => {
    if (!isList(path)) return status('r1', 'running');
    left -= 1;
    return left >= 0 ? list() : list('load', 'send');
  });
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  // The dialect is found by the list, in both paths that it may have; the stream reads it again.
  left = 2;
  expect(await rig.sync()).toMatchObject({ deleted: 0 });
  expect(await living()).toEqual(['load', 'send']);
  left = 4;
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 2 });
});

test('a listed DAG without a name fails the stream, and none is deleted', async () => {
  let key = 'name';
  await stage((path) => (isList(path) ? list({ [key]: 'load' }) : status('r1')));
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  key = 'title';
  const report = await rig.sync();
  expect(report.status).toBe('partly_failed');
  expect(JSON.stringify(report.streams)).toMatch(/a DAG in the list of the engine has no name/);
  expect(await living()).toEqual(['load']);
});
