import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { append } from '../../../../src/scheduler/request-log.ts';
import { dag, logLine, run, status } from '../../../../src/server/api/schemas.ts';
import { type TestDatabase, testDatabase } from '../../../support/postgres.ts';
import { until } from '../../../support/processes.ts';
import { close, emptyRequests, take as taken } from '../../scheduler/orchestra.ts';
import { type Api, ask, openApi, operate, post, raw, read } from './api.ts';

let database: TestDatabase;
let api: Api;
let base: string;
beforeAll(async () => {
  database = await testDatabase({ max: 20 });
  api = await openApi(database);
  base = `${api.url}/api/v1`;
});
afterAll(async () => {
  await api.close();
  await database.drop();
});
beforeEach(async () => {
  await emptyRequests(database.warehouse);
  await database.warehouse.pool.query('truncate ops.audit');
});

const query = (text: string, values: readonly unknown[] = []) =>
  database.warehouse.pool.query(text, [...values]).then(({ rows }) => rows);
const take = () => taken(database.warehouse);
const end = async (status: 'succeeded' | 'failed'): Promise<void> => {
  const claimed = await take();
  if (claimed === undefined) throw new Error('no request waits');
  await close(database.warehouse, claimed, { status, error: null });
};

const shapes = { Run: run, Dag: dag, Status: status, LogLine: logLine };
/** The data of an answer have the promised shape, and no more members than it. */
const isShaped = (data: unknown, shape: keyof typeof shapes): void => {
  expect(shapes[shape].strict().parse(data)).toEqual(data);
};

test('a part of a night with a long id is found by its id', async () => {
  const night = 'n'.repeat(100);
  const id = `${night}.tracker.reconcile`;
  await query(
    `insert into ops.dag_runs (dag_run_id, part_of, pipeline, does, params, trigger, asked_by, status)
     values ($1, null, 'nightly', 'sync', '', 'api', 'a test', 'queued'),
       ($2, $1, 'tracker', 'reconcile', 'DOES=reconcile', 'api', 'nightly', 'queued')`,
    [night, id],
  );
  const { code, body } = await ask(`${base}/dags/tracker/runs/${id}`);
  expect(code, body.message).toBe(200);
  isShaped(body.data, 'Run');
  expect(body.data).toMatchObject({ runId: id, partOf: night });
  expect((await ask(`${base}/dags/tracker/runs/${id}/log`)).code).toBe(200);
  expect((await post(`${base}/dags/tracker/start`, { runId: `${night}n` })).code).toBe(400);
});

test.each([undefined, {}, { params: '' }])('the contract: the body %j starts the DAG', async (sent) => {
  const { code, body } = await post(`${base}/dags/tracker/start`, sent);
  expect([code, body.status]).toEqual([202, 'success']);
  expect(body.data).toMatchObject({ pipeline: 'tracker', does: 'sync', status: 'queued', trigger: 'api' });
  isShaped(body.data, 'Run');
  expect(await query('select dag_run_id from ops.dag_runs')).toEqual([{ dag_run_id: body.data.runId }]);
});

const start = (params: string) => post(`${base}/dags/tracker/start`, { params });

test.each([
  ['FROM=2024-01-01 TO=2024-02-01 STREAMS=issues', 'backfill issues 2024-01-01T00 2024-02-01T00'],
  [`  FROM="2024-01-01T08:00:00Z"   TO='2024-02-01' `, 'backfill all 2024-01-01T08 2024-02-01T00'],
  ['FULL=true', 'full all - -'],
  ['FULL=false STREAMS=issues,projects', 'sync issues,projects - -'],
  ['DOES=reconcile', 'reconcile all - -'],
])('the contract: params %j are passed to the run', async (params, expected) => {
  const { code, body } = await start(params);
  expect(code, body.message).toBe(202);
  expect(body.data.params).toBe(params.trim());
  const [row] = await query('select does, streams, window_from as from, window_to as to from ops.dag_runs');
  const [from, to] = [row.from, row.to].map((at?: Date) => at?.toISOString().slice(0, 13) ?? '-');
  expect(`${row.does} ${row.streams?.join() ?? 'all'} ${from} ${to}`).toBe(expected);
});

test.each([
  ['FOO=1', 'FOO'],
  ['from=2024-01-01 TO=2024-02-01', 'from'],
  ['FROM=2024-01-01', 'TO'],
  ['FROM=2024-02-30 TO=2024-03-01', '2024-02-30'],
  ['FROM=2024-03-01 TO=2024-02-01', 'half open'],
  ['FROM=2999-01-01 TO=2999-02-01', 'future'],
  ['FULL=yes', 'FULL'],
  ['FULL=true FULL=true', 'twice'],
  ['FULL', 'NAME=value'],
  ['FULL="true"x', 'NAME=value'],
  ['STREAMS=nope', 'nope'],
  [`STREAMS=x';drop`, 'STREAMS'],
  ['DOES=delete', 'DOES'],
  ['FULL=true FROM=2024-01-01 TO=2024-02-01', 'FULL'],
  ['__proto__=1', '__proto__'],
])('params %j are refused with 400, and the answer names what is wrong', async (params, word) => {
  const { code, body } = await start(params);
  expect([code, body.status]).toEqual([400, 'error']);
  expect(body.message).toContain(word);
  expect(await query('select from ops.dag_runs')).toEqual([]);
});

test('the contract: status tells the current status, the running steps and the execution', async () => {
  const none = { name: 'tracker', status: 'never_run', runId: null, run: null, steps: [] };
  expect((await ask(`${base}/dags/tracker/status`)).body.data).toMatchObject(none);
  const { body: started } = await post(`${base}/dags/tracker/start`);
  await take();
  await query(
    `insert into ops.runs (run_id, pipeline, source_id, kind, trigger, status, epoch) overriding system value values (7, 'tracker', 1, 'sync', 'api', 'running', 1)`,
  );
  await query(`insert into ops.dag_run_runs values ($1, 7)`, [started.data.runId]);
  await query(`insert into ops.run_streams (run_id, source_id, stream, status, received, inserted, finished_at, expected, read, stored)
    values (7, 1, 'projects', 'ok', 3, 3, now(), 3, 3, 3), (7, 1, 'issues', 'running', 40, 40, null, null, 0, 0)`);
  const { code, body } = await ask(`${base}/dags/tracker/status`);
  expect(code).toBe(200);
  isShaped(body.data, 'Status');
  const run = { received: 43, changed: 43, runs: ['7'] };
  const receipts = [{ pipeline: 'tracker', stream: 'projects', expected: 3, read: 3, stored: 3 }];
  const now = { status: 'running', runId: started.data.runId, trigger: 'api', run, receipts };
  expect(body.data).toMatchObject(now);
  const issues = { pipeline: 'tracker', name: 'issues', status: 'running', received: 40 };
  expect(body.data.steps).toMatchObject([issues, { name: 'projects', status: 'ok', expected: 3 }]);
});

test('the contract: stop stops the running execution, and a second stop is no error', async () => {
  const never = await post(`${base}/dags/tracker/stop`);
  expect([never.code, never.body.status]).toEqual([409, 'error']);
  const { body: started } = await post(`${base}/dags/tracker/start`);
  await take();
  for (let again = 0; again < 2; again++) {
    const { code, body } = await post(`${base}/dags/tracker/stop`);
    expect([code, body.data.runId, body.data.stopping]).toEqual([202, started.data.runId, true]);
  }
  const { code, body } = await post(`${base}/dags/tracker/start`);
  expect([code, body.status, body.active.runId]).toEqual([409, 'error', started.data.runId]);
  expect(await query('select stop_asked_by from ops.dag_runs')).toEqual([{ stop_asked_by: 'api 127.0.0.1' }]);
});

test('list, one DAG, history in pages, one run, and a retry in both its forms', async () => {
  const { body: list } = await ask(`${base}/dags`);
  for (const each of list.data.dags) isShaped(each, 'Dag');
  const names = list.data.dags.map(({ name }: { name: string }) => name);
  expect(names).toEqual(['nightly', 'tracker', 'ads', 'workflow']);
  isShaped((await ask(`${base}/dags/nightly`)).body.data, 'Dag');
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) {
    ids.unshift((await post(`${base}/dags/tracker/start`, { runId: `run-${n}` })).body.data.runId);
    await end('failed');
  }
  const seen: string[] = [];
  for (let next: string | null = ''; next !== null; ) {
    const path = `${seen.length === 0 ? 'history' : 'runs'}?limit=2${next === '' ? '' : `&before=${next}`}`;
    const { body } = await ask(`${base}/dags/tracker/${path}`);
    seen.push(...body.data.runs.map(({ runId }: { runId: string }) => runId));
    next = body.data.next;
  }
  expect(seen).toEqual(ids);
  await query(`insert into ops.handoffs (pipeline, run_key, dag, params, remote_run_id, wait, status)
    values ('tracker', 'run-3', 'reports', 'RUN_ID=run-3', 'tidemark-tracker-run-3', true, 'started')`);
  const { body: one } = await ask(`${base}/dags/tracker/runs/run-3`);
  isShaped(one.data, 'Run');
  const handoff = { dag: 'reports', dagRunId: 'tidemark-tracker-run-3', status: 'started', error: null };
  expect(one.data).toMatchObject({ runId: 'run-3', status: 'failed', handoffs: [handoff] });
  const retried = await post(`${base}/dags/tracker/runs/run-3/retry`);
  expect([retried.code, retried.body.data.status]).toEqual([202, 'queued']);
  await end('succeeded');
  expect((await post(`${base}/dags/tracker/retry`, { runId: 'run-2' })).code).toBe(202);
  expect((await post(`${base}/dags/tracker/runs/run-2/retry`)).code).toBe(409);
  expect((await post(`${base}/dags/tracker/runs/nope/retry`)).code).toBe(404);
  expect((await ask(`${base}/dags/ads/runs/run-2`)).code).toBe(404);
});

test('an answer has at most 1000 lines of a log, however many are asked for', async () => {
  await post(`${base}/dags/tracker/start`, { runId: 'long' });
  await query(`insert into ops.run_log (dag_run_id, at, level, message)
    select 'long', now(), 'info', n::text from generate_series(1, 1001) n`);
  await end('succeeded');
  const { body } = await ask(`${base}/dags/tracker/runs/long/log?tail=5000`);
  expect(body.data.lines.map(({ message }: { message: string }) => message)[0]).toBe('2');
  expect(body.data.lines).toHaveLength(1000);
});

test('the log is read by its tail, and streamed as events or lines until the run is over', async () => {
  await post(`${base}/dags/tracker/start`, { runId: 'logged' });
  const { db } = database.warehouse;
  const line = (message: string) => append(db, 'logged', 'info', message);
  await line('one');
  await line('two');
  const tail = await ask(`${base}/dags/tracker/runs/logged/log?tail=1`);
  expect(tail.body.data.lines).toMatchObject([{ message: 'two', level: 'info' }]);
  isShaped(tail.body.data.lines[0], 'LogLine');
  const after = Number(tail.body.data.lines[0].seq) - 1;
  const stream = (query: string, headers: Record<string, string>) =>
    ask(`${base}/dags/tracker/runs/logged/log/stream${query}`, { headers });
  const events = stream('', { 'last-event-id': String(after - 1) });
  const lines = stream(`?after=${after}`, { accept: 'application/x-ndjson' });
  await line('three');
  await end('succeeded');
  const printed = (await lines).text.split('\n').filter((each) => each.trim() !== '');
  expect(printed.map((each) => JSON.parse(each).message)).toEqual(['two', 'three']);
  const { headers, text } = await events;
  expect(headers.get('content-type')).toContain('text/event-stream');
  const named = [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name);
  expect(named).toEqual(['line', 'line', 'line', 'end']);
  expect(text).toContain('"status":"succeeded"');
});

test('log streams are limited in number, and end when the service does', async () => {
  const ending = new AbortController();
  const small = await openApi(database, { limits: { streams: 1 }, signal: ending.signal });
  await post(`${base}/dags/tracker/start`, { runId: 'endless' });
  const address = `${small.url}/api/v1/dags/tracker/runs/endless/log/stream`;
  const first = fetch(address, { headers: { authorization: `Bearer ${operate}` } });
  expect((await first).status).toBe(200);
  expect((await ask(address)).code).toBe(503);
  ending.abort();
  expect(await (await first).text()).not.toContain('event: end');
  await until('its place is free', async () => (await ask(address)).code === 200);
  await small.close();
});

test.each([
  ['GET /dags/nope/status', 404],
  ['POST /dags/nope/start', 404],
  ['POST /dags/workflow/start', 400],
  ['GET /dags/tracker/runs/nope', 404],
  ['GET /dags/tracker/status/', 404],
  ['GET /dags/tracker/history?limit=0', 400],
  ['GET /dags/tracker/history?limit=1&limit=2', 400],
  ['GET /dags/tracker/history?foo=1', 400],
  ['GET /dags/tracker/history?before=%20', 400],
  ['GET /dags/tracker/history?before=nope', 404],
  ['GET /dags/tracker/start', 405],
  ['PUT /dags/tracker/start', 405],
  ['OPTIONS /dags', 405],
  ['POST /dags', 405],
])('%s is answered with %d in the envelope', async (request, expected) => {
  const [method = '', path] = request.split(' ');
  const { code, body, headers } = await ask(`${base}${path}`, { method });
  expect(code).toBe(expected);
  expect(body).toEqual({ status: 'error', message: expect.any(String) });
  expect(body.message, 'says what is wrong in words').not.toContain('pattern');
  if (code === 405) expect(headers.get('allow')).toMatch(/GET|POST/);
});

test('a DAG whose name is an attack is refused, and the name is not repeated', async () => {
  const names = [
    '..%2F..%2Fx',
    `x';drop%20table%20ops.runs`,
    'x'.repeat(10_000),
    'x%00',
    '%F0%9F%92%A3',
    // CRLF, half an escape, bytes that are no text.
    'x%0d%0aset-cookie:%20a=b',
    '%zz',
    '%ff%fe',
  ];
  for (const name of names)
    for (const request of ['POST start', 'GET status', 'POST stop', 'GET runs/x/log']) {
      const [method = '', path] = request.split(' ');
      const { code, body, text, headers } = await ask(`${base}/dags/${name}/${path}`, { method });
      expect([400, 404], `${name} ${request}`).toContain(code);
      expect(body.status).toBe('error');
      expect(text).not.toMatch(/drop|xxxx|💣|set-cookie/);
      expect(headers.get('set-cookie')).toBeNull();
    }
  expect(api.troubles).toEqual([]);
});

test.each<[string, RequestInit, number]>([
  ['of 1 MB', { body: JSON.stringify({ params: 'x'.repeat(1 << 20) }) }, 413],
  ['100 000 deep', { body: `${'['.repeat(30_000)}${']'.repeat(30_000)}` }, 400],
  ['that is an array', { body: '[]' }, 400],
  ['whose params are a number', { body: '{"params": 1}' }, 400],
  ['with an unknown field', { body: '{"dag": "x"}' }, 400],
  ['with __proto__', { body: '{"__proto__": {"params": "FULL=true"}}' }, 400],
  ['with constructor', { body: '{"constructor": {"prototype": {}}}' }, 400],
  ['with a field twice', { body: '{"params": "", "params": "FULL=true"}' }, 400],
  ['with a field twice, written differently', { body: '{"params": "", "par\\u0061ms": "FULL=true"}' }, 400],
  ['that is not UTF-8', { body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]) }, 400],
  ['that is half a document', { body: '{"params": ' }, 400],
  ['with something behind it', { body: '{} {}' }, 400],
  ['of another type', { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 415],
])('a body %s is refused in the envelope, and nothing is queued', async (_, init, expected) => {
  const { code, body } = await ask(`${base}/dags/tracker/start`, {
    method: 'POST',
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
  });
  expect([code, body.status]).toEqual([expected, 'error']);
  expect(await query('select from ops.dag_runs')).toEqual([]);
  expect(Object.hasOwn(Object.prototype, 'params')).toBe(false);
});

const headOf = (length: number) =>
  `POST /api/v1/dags/tracker/start HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${operate}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n{`;

test('a body of 100 MB is refused before it is read, one that arrives too slowly with 408', async () => {
  const large = await raw(api.url, headOf(100 << 20));
  expect(large).toMatch(/^HTTP\/1.1 413/);
  expect(large).toContain('{"status":"error"');
  const impatient = await openApi(database, { limits: { requestMs: 300 } });
  const at = performance.now();
  const answer = await raw(impatient.url, headOf(100), 5000);
  expect(answer).toMatch(/^HTTP\/1.1 408/);
  expect(answer).toContain('{"status":"error","message":"the request took too long to arrive"}');
  expect(performance.now() - at).toBeLessThan(4000);
  await impatient.close();
});

test('bytes that are not HTTP are answered in the envelope, and the server goes on', async () => {
  for (const bytes of [
    '\u0000\u0001\u0002\r\n\r\n',
    'BREW /api/v1/dags HTTP/1.1\r\n\r\n',
    `GET /api/v1/dags HTTP/1.1\r\nHost: a\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`,
  ]) {
    const answer = await raw(api.url, bytes);
    expect(answer).toMatch(/^HTTP\/1.1 4\d\d/);
    expect(answer).toContain('{"status":"error"');
  }
  expect((await ask(`${base}/dags`)).code).toBe(200);
});

test('an internal error is reported to the operator and not to the caller; without an audit nothing is done', async () => {
  const without = async (kind: string, name: string, check: () => Promise<void>) => {
    await query(`alter ${kind} ops.${name} rename to hidden`);
    await check().finally(() => query(`alter ${kind} ops.hidden rename to ${name}`));
  };
  await without('view', 'dag_run_list', async () => {
    const { code, text, body } = await ask(`${base}/dags/tracker/status`);
    expect([code, body.status]).toEqual([500, 'error']);
    expect(text).not.toMatch(/dag_run|select|relation|\/src\/|node_modules|postgres|at \w+/i);
    expect(api.troubles.at(-1)).toContain('dag_run_list');
  });
  await without('table', 'audit', async () => expect((await start('')).code).toBe(500));
  expect(await query('select from ops.dag_runs')).toEqual([]);
});

test('each attempt to change something has a row in the audit, refused ones too, and none holds a token', async () => {
  const { body } = await start('FULL=true');
  await start('');
  await post(`${base}/dags/nope/stop`);
  await start('FOO=1');
  for (const headers of [{ authorization: `Bearer ${read}` }, { authorization: 'Bearer wrong-secret' }])
    await ask(`${base}/dags/tracker/start`, { method: 'POST', headers });
  const text = { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } };
  await ask(`${base}/dags/tracker/start`, text);
  await ask(`${base}/dags/tracker/status`);
  const lines = await query(
    'select role, action, pipeline, dag_run_id, params, http_status, message from ops.audit order by audit_id',
  );
  const first = { pipeline: 'tracker', dag_run_id: body.data.runId, params: 'FULL=true' };
  expect(lines).toMatchObject([
    { role: 'operate', action: 'POST /api/v1/dags/:dagName/start', http_status: 202, ...first },
    { role: 'operate', pipeline: 'tracker', http_status: 409, message: expect.stringContaining('already') },
    { role: 'operate', action: 'POST /api/v1/dags/:dagName/stop', pipeline: 'nope', http_status: 404 },
    { role: 'operate', params: 'FOO=1', http_status: 400, message: expect.stringContaining('FOO') },
    { role: 'read', http_status: 403 },
    { role: 'none', http_status: 401 },
    { role: 'operate', http_status: 415 },
  ]);
  expect(lines).toHaveLength(7);
  expect(JSON.stringify(lines)).not.toMatch(/token-0123|wrong-secret/);
});
