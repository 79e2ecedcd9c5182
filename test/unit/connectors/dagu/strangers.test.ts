import http from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openWorkflow } from '../../../../src/connectors/dagu/source.ts';
import { ExactNumber } from '../../../../src/core/json.ts';
import { openSourceRig, type SourceRig } from '../../../support/source-rig.ts';

/** An engine of the contract as a stranger may have built it: what it does not know is in an envelope, with 404. */
interface Stranger {
  readonly url: string;
  /** Method and address of each request so far. */
  readonly asked: string[];
  close(): Promise<void>;
}

type Answers = (path: string, page: number) => object | undefined;

async function stranger(answers: Answers): Promise<Stranger> {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const url = new URL(request.url ?? '', 'http://stranger');
    const body = answers(decodeURIComponent(url.pathname), Number(url.searchParams.get('page') ?? 1));
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

let engine: Stranger | undefined;
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
async function stage(answers: Answers): Promise<Stranger> {
  await rig.rows('truncate workflow.dags, workflow.dag_runs, workflow.dag_run_steps, ops.sources cascade');
  rig.events.splice(0);
  engine = await stranger(answers);
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

test('a DAG that the engine lists and knows no status of has its row and lives on; what was active of it is gone', async () => {
  const told: Record<string, object | undefined> = { load: status('r1'), send: status('r2', 'running') };
  const { asked } = await stage((path) => {
    if (path === '/api/v1/dags')
      return [{ name: 'load' }, { name: 'new', description: 'Never ran.' }, { name: 'send' }];
    return told[path.split('/')[4] ?? ''];
  });
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await rig.rows('select name, description, status from workflow.dags order by name')).toEqual([
    { name: 'load', description: null, status: 'succeeded' },
    { name: 'new', description: 'Never ran.', status: null },
    { name: 'send', description: null, status: 'running' },
  ]);
  expect(asked.filter((one) => one.includes('/new/'))).toHaveLength(2);
  delete told.send;
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(await living()).toEqual(['load', 'new', 'send']);
  expect(
    await rig.rows('select dag_run_id, gone_at is not null as gone from workflow.dag_runs order by 1'),
  ).toEqual([
    { dag_run_id: 'r1', gone: false },
    { dag_run_id: 'r2', gone: true },
  ]);
  expect(rig.notes().join()).toMatch(/lists DAGs of which it knows no status: new, send/);
  expect(await rig.sync()).toMatchObject({
    status: 'succeeded',
    counts: { inserted: 0, updated: 0 },
    deleted: 0,
  });
});

test('an engine none of whose DAGs ever ran is read well, with their rows, and so is one that was started anew', async () => {
  const told: Record<string, object | undefined> = {};
  await stage((path) =>
    path === '/api/v1/dags' ? [{ name: 'load' }, { name: 'send' }] : told[path.split('/')[4] ?? ''],
  );
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await living()).toEqual(['load', 'send']);
  expect(rig.notes().join()).toMatch(/lists DAGs of which it knows no status: load, send/);
  told.load = status('r1', 'running');
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  delete told.load;
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(await rig.rows('select dag_run_id, gone_at is not null as gone from workflow.dag_runs')).toEqual([
    { dag_run_id: 'r1', gone: true },
  ]);
});

test('a server of another kind, which lists DAGs and has no statuses of them, is no engine whose DAGs never ran', async () => {
  await stage((path) =>
    path === '/api/v1/dags'
      ? { dags: [{ dag_id: 'load' }, { dag_id: 'send' }], total_entries: 2 }
      : { status: 404, title: 'Not Found', type: 'about:blank' },
  );
  const report = await rig.sync();
  expect(report.status).toMatch(/failed/);
  expect(JSON.stringify(report.streams)).toMatch(/knows none of the DAGs that are wanted: load, send/);
});

test('a DAG whose status fails for good is named in the reason', async () => {
  await stage((path) =>
    path === '/api/v1/dags'
      ? [{ name: 'load' }, { name: 'send' }]
      : path.includes('send')
        ? { status: 500, message: 'nil pointer' }
        : status('r1'),
  );
  const report = await rig.sync();
  expect(report.status).toBe('partly_failed');
  expect(report.streams.find(({ stream }) => stream === 'dags')?.reason).toMatch(
    /^dags: send: GET .* answered 500: nil pointer/,
  );
});

test('an id that is a number beyond 2^53 is kept digit for digit, and a second run of that id is a row of its own', async () => {
  const runId = new ExactNumber('9007199254740993');
  let startedAt = '2026-03-01T12:00:00Z';
  await stage((path) => {
    if (path === '/api/v1/dags') return [{ name: 'load' }];
    if (path === '/api/v1/dags/load/status')
      return { status: 'success', data: { runId, status: 'succeeded', startedAt } };
    return undefined;
  });
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  startedAt = '2026-03-02T12:00:00Z';
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  const runs = await rig.rows(
    'select dag_run_id, told_run_id, _extra from workflow.dag_runs order by begun_at',
  );
  expect(runs).toEqual([
    { dag_run_id: '9007199254740993', told_run_id: '9007199254740993', _extra: null },
    {
      dag_run_id: '9007199254740993@2026-03-02T12:00:00.000Z',
      told_run_id: '9007199254740993',
      _extra: null,
    },
  ]);
});

test('a DAG whose current run is of long ago is read night after night without a word', async () => {
  await stage((path) => (path === '/api/v1/dags' ? [{ name: 'load' }] : status('r1')));
  for (let night = 0; night < 3; night++) expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(rig.notes().join()).not.toMatch(/outside the window/);
});

test('a DAG that the engine lists and does not know for a moment is asked for again', async () => {
  let unknown = 1;
  await stage((path) =>
    path === '/api/v1/dags' ? [{ name: 'load' }] : --unknown < 0 ? status('r1') : undefined,
  );
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await rig.rows('select name, latest_dag_run_id from workflow.dags')).toEqual([
    { name: 'load', latest_dag_run_id: 'r1' },
  ]);
  expect(await rig.rows('select dag_run_id, status from workflow.dag_runs')).toEqual([
    { dag_run_id: 'r1', status: 'succeeded' },
  ]);
});

test.each([{}, { status: 'success', data: {} }, { status: 'success', data: null }])(
  'a run that is active is not gone because its status says nothing once (%j)',
  async (nothing) => {
    let left = 0;
    await stage((path) => {
      if (path === '/api/v1/dags') return [{ name: 'load' }];
      left -= 1;
      return left >= 0 ? nothing : status('r1', 'running');
    });
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    left = 1;
    expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { updated: 0 } });
    left = 2;
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await rig.rows('select from workflow.dag_runs where gone_at is not null')).toHaveLength(1);
  },
);

test('no DAG passes for gone because the list is empty once, but where it is so when it is asked again', async () => {
  let left = 0;
  await stage((path) => {
    if (path !== '/api/v1/dags') return status('r1', 'running');
    left -= 1;
    return left >= 0 ? [] : { dags: [{ name: 'load' }, { name: 'send' }] };
  });
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  left = 1;
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(await living()).toEqual(['load', 'send']);
  expect(await rig.rows('select from workflow.dag_runs where gone_at is not null')).toEqual([]);
  left = 2;
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 2 });
});

describe('the list of an engine of the contract', () => {
  const names = Array.from({ length: 130 }, (_, i) => `dag${String(i).padStart(3, '0')}`);
  /** A page of so many, and how many pages there are. */
  const shown = (page: number, size: number) => ({
    dags: names.slice((page - 1) * size, page * size).map((name) => ({ name })),
    pages: Math.ceil(names.length / size),
  });
  const serve = (list: (page: number) => object | undefined) =>
    stage((path, page) => (path === '/api/v1/dags' ? list(page) : status('r1')));
  const inside = (data: object) => ({ status: 'success', data });

  test.each<[string, (page: number) => object | undefined]>([
    ['a total', (page) => inside({ items: shown(page, 50).dags, total: names.length })],
    [
      'a number of pages',
      (page) => inside({ ...shown(page, 40), pages: undefined, pagination: { total_pages: 4 } }),
    ],
    ['that there is more', (page) => ({ dags: shown(page, 60).dags, meta: { hasMore: page < 3 } })],
    ['a next page', (page) => ({ dags: shown(page, 70).dags, nextPage: page < 2 ? page + 1 : null })],
    ['nothing', (page) => shown(page, 100).dags],
    ['nothing, in pages of 25', (page) => shown(page, 25).dags],
    ['a count, in pages of 7', (page) => ({ dags: shown(page, 7).dags, count: names.length })],
    ['links', (page) => ({ dags: shown(page, 21).dags, _links: page < 7 ? { next: { href: '/x' } } : {} })],
    ['nothing, and answers 404 behind its end', (page) => (page > 13 ? undefined : shown(page, 10).dags)],
  ])('is read to its end where it states %s', async (_, list) => {
    await serve(list);
    expect(await rig.sync({ streams: ['dags'] })).toMatchObject({ status: 'succeeded' });
    expect(await living()).toEqual(names);
  });

  test.each<[string, object]>([
    ['how many runs there are', { count: 250 }],
    ['so beside its answer', { meta: { count: 250 } }],
    ['the page that it shows', { cursor: 'ZmlsZTpjYXRhbG9ndWU' }],
    ['the page that it shows by number', { cursor: '1', pagination: { nextPage: '1' } }],
    ['when it is made anew', { next: '2026-03-02T01:00:00Z' }],
    ['so as a number', { next: 1_790_000_000 }],
    ['what is due next', { next: 'dag003' }],
  ])('is whole where it states %s', async (_, about) => {
    await serve(() => inside({ dags: shown(1, 7).dags, ...about }));
    expect(await rig.sync({ streams: ['dags'] })).toMatchObject({ status: 'succeeded' });
    expect(await living()).toEqual(names.slice(0, 7));
  });

  test('is whole where two of its DAGs have one name and its total counts both', async () => {
    const dags = [...shown(1, 7).dags, { name: 'dag001' }];
    await serve(() => inside({ dags, total: dags.length }));
    expect(await rig.sync({ streams: ['dags'] })).toMatchObject({ status: 'succeeded' });
    expect(await living()).toEqual(names.slice(0, 7));
  });

  test.each<[string, object]>([
    ['a count', { count: 130 }],
    ['a cursor', { cursor: 'ZGFnMDUw' }],
    ['a cursor of the next page', { nextCursor: 'ZGFnMDUw' }],
    ['a link', { links: { next: { href: '/api/v1/dags?offset=50' } } }],
    ['an address', { next: 'http://engine/api/v1/dags?offset=50' }],
  ])('is not taken for whole where its next page cannot be had, of which it states %s', async (_, about) => {
    await serve(() => inside({ dags: shown(1, 50).dags, ...about }));
    expect(await rig.sync({ streams: ['dags'] })).toMatchObject({ status: 'failed' });
  });

  test('is whole where it knows of no pages', async () => {
    const { asked } = await serve(() => shown(1, 100).dags);
    expect(await rig.sync({ streams: ['dags'] })).toMatchObject({ status: 'succeeded' });
    expect(await living()).toEqual(names.slice(0, 100));
    expect(asked.filter((one) => one.includes('/dags?'))).toHaveLength(2);
  });

  test('is whole where the server breaks down over a page behind it, and says so', async () => {
    await serve((page) => (page > 1 ? { status: 500 } : shown(1, 5).dags));
    for (let night = 0; night < 2; night++)
      expect(await rig.sync({ streams: ['dags'] })).toMatchObject({ status: 'succeeded' });
    expect(await living()).toEqual(names.slice(0, 5));
    expect(rig.notes().join()).toMatch(/shows 5 DAGs, and whether there are more cannot be asked: .*500/);
  });

  test('is not, where a page breaks down behind which DAGs were read before', async () => {
    let broken = 0;
    await serve((page) => (page === broken ? { status: 500 } : shown(page, 50).dags));
    expect(await rig.sync({ streams: ['dags'] })).toMatchObject({ status: 'succeeded' });
    for (broken of [2, 3]) expect(await rig.sync({ streams: ['dags'] })).toMatchObject({ status: 'failed' });
    expect(await living()).toEqual(names);
  });

  test('is not, where it shows as many as it was asked for and breaks down over the next page, nobody knowing any DAG yet', async () => {
    await serve((page) => (page > 1 ? { status: 500 } : shown(1, 100).dags));
    expect(await rig.sync({ streams: ['dags'] })).toMatchObject({ status: 'failed' });
    expect(await living()).toEqual([]);
  });

  test('is not, where it says that there is more and the answer to that is no list', async () => {
    await serve((page) =>
      inside(page > 1 ? { note: 'later' } : { dags: shown(1, 60).dags, total: names.length }),
    );
    expect(await rig.sync({ streams: ['dags'] })).toMatchObject({ status: 'failed' });
    expect(await living()).toEqual([]);
  });

  test('makes no DAG pass for gone where it says that there is more and shows it under no page', async () => {
    let size = 130;
    await serve(() => inside({ dags: shown(1, size).dags, total: names.length }));
    expect(await rig.sync({ streams: ['dags'] })).toMatchObject({ status: 'succeeded' });
    size = 100;
    const report = await rig.sync({ streams: ['dags'] });
    expect(report.status).toBe('failed');
    expect(JSON.stringify(report.streams)).toMatch(
      /more DAGs than the 100 that it shows: name those to read in WORKFLOW_DAGS/,
    );
    expect(await living()).toEqual(names);
  });

  test.each(['name', 'dagName', 'dag_id', 'id'])('names its DAGs by %s', async (key) => {
    await serve(() => [{ [key]: 'load' }, { [key]: 'send' }]);
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await living()).toEqual(['load', 'send']);
  });

  test('with a DAG whose name is under no known key ends no run well, and none passes for gone', async () => {
    let key = 'name';
    await serve(() => [{ [key]: 'load' }]);
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    key = 'titel';
    const report = await rig.sync();
    expect(report.status).toBe('partly_failed');
    expect(JSON.stringify(report.streams)).toMatch(/a DAG in the list has no name/);
    expect(await living()).toEqual(['load']);
  });
});
