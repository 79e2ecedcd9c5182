import fs from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openapiDocument } from '../../../../docs/openapi.ts';
import { attemptLimit, isSame } from '../../../../src/server/api/tokens.ts';
import { type TestDatabase, testDatabase } from '../../../support/postgres.ts';
import { until } from '../../../support/processes.ts';
import { type Api, ask, openApi, operate, post, raw, read } from './api.ts';

let database: TestDatabase;
let api: Api;
let base: string;
beforeAll(async () => {
  database = await testDatabase({ max: 10 });
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.warehouse.pool.query('truncate ops.dag_runs, ops.audit');
  // A new one each time: it remembers who showed wrong tokens.
  api = await openApi(database);
  base = `${api.url}/api/v1`;
  return () => api.close();
});

const query = (text: string) => database.warehouse.pool.query(text).then(({ rows }) => rows);

const start = '/api/v1/dags/tracker/start';
const refused = { status: 'error', message: 'a valid token is required: Authorization: Bearer TOKEN' };

test('every kind of wrong token gets the same 401, in constant time; the scheme is read in any case', async () => {
  const values = [
    'Bearer',
    'Bearer ',
    'Bearer x',
    `Bearer ${operate}x`,
    `Bearer ${operate.slice(0, -1)}`,
    `Bearer ${'x'.repeat(8000)}`,
    `Basic ${operate}`,
    operate,
    `Bearer ${operate} ${operate}`,
    `Bearer [${operate}]`,
  ].map((value) => [`Authorization: ${value}`]);
  const right = `Authorization: Bearer ${operate}`;
  const others = [[], [right, right], [`Cookie: token=${operate}`], [`X-Api-Key: ${operate}`]];
  for (const lines of [...values, ...others]) {
    const head = ['GET /api/v1/dags HTTP/1.1', 'Host: 127.0.0.1', 'Connection: close', ...lines, '', ''];
    const answer = await raw(api.url, head.join('\r\n'));
    expect(answer, lines.join()).toMatch(/^HTTP\/1.1 401/);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)), lines.join()).toEqual(refused);
  }
  for (const name of ['token', 'access_token', 'api_key'])
    expect((await fetch(`${base}/dags?${name}=${operate}`)).status).toBe(401);
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const headers = { authorization: `${scheme} ${operate}` };
    expect((await ask(`${base}/dags`, { headers })).code).toBe(200);
  }
  expect(isSame('a', 'a'.repeat(100_000))).toBe(false);
});

test('the reading token may look at everything and change nothing', async () => {
  const headers = { authorization: `Bearer ${read}` };
  for (const path of ['/dags', '/dags/tracker', '/dags/tracker/status', '/dags/tracker/history'])
    expect((await ask(`${base}${path}`, { headers })).code).toBe(200);
  for (const path of ['start', 'stop', 'retry', 'runs/x/retry']) {
    const given = path.endsWith('retry') ? { runId: 'x' } : undefined;
    const { code, body } = await post(`${base}/dags/tracker/${path}`, given, headers);
    expect([code, body]).toEqual([403, { status: 'error', message: 'this token may only read' }]);
  }
  // A method in disguise stays what it was sent as.
  for (const name of ['x-http-method-override', 'x-method-override']) {
    const disguised = { headers: { ...headers, [name]: 'POST' } };
    expect((await ask(`${base}/dags/tracker/start`, disguised)).code).toBe(405);
  }
  expect(await query('select from ops.dag_runs')).toEqual([]);
});

test('two thousand wrong tokens are held back, and no token is logged', async () => {
  const codes = new Map<number, number>();
  const look = (token: string) =>
    api.app.inject({ url: '/api/v1/dags', headers: { host: '127.0.0.1', authorization: `Bearer ${token}` } });
  const guessStart = (n: number) => {
    const headers = { host: '127.0.0.1', authorization: `Bearer guess-${n}` };
    return api.app.inject({ method: 'POST', url: start, headers });
  };
  for (let n = 0; n < 2_000; n += 100) {
    const answers = await Promise.all(Array.from({ length: 100 }, (_, m) => guessStart(n + m)));
    for (const { statusCode } of answers) codes.set(statusCode, (codes.get(statusCode) ?? 0) + 1);
  }
  expect([...codes.keys()].sort()).toEqual([401, 429]);
  expect(codes.get(401)).toBeLessThan(60);
  expect(api.troubles.filter((each) => each.includes('wrong token'))).toHaveLength(codes.get(401) ?? 0);
  expect(api.troubles.join()).toContain('held back');
  const lines = await query('select * from ops.audit');
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThan(60);
  expect(`${api.troubles.join()}${JSON.stringify(lines)}`).not.toContain('guess-');
  // Guessing does not pay: right after a wrong one that counted, the right one has to wait, too.
  while ((await look('guess-again')).statusCode !== 401);
  const late = await look(operate);
  expect([late.statusCode, late.json().status]).toEqual([429, 'error']);
  expect(Number(late.headers['retry-after'])).toBeGreaterThan(0);
});

test('requests of one address are limited, with and without a token, and cannot fill the audit', async () => {
  const narrow = await openApi(database, { limits: { perMinute: 500 } });
  const codes: number[] = [];
  for (let n = 0; n < 600; n++)
    codes.push((await narrow.app.inject({ method: 'POST', url: start })).statusCode);
  expect([codes.indexOf(429), new Set(codes)]).toEqual([500, new Set([401, 429])]);
  const lines = await query('select role, http_status from ops.audit');
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThan(60);
  expect(lines[0]).toEqual({ role: 'none', http_status: 401 });
  expect(narrow.troubles.join()).toContain('turned away too often');
  const late = await ask(`${narrow.url}/api/v1/dags`);
  expect([late.code, late.body.status, Number(late.headers.get('retry-after')) > 0]).toEqual([
    429,
    'error',
    true,
  ]);
  await narrow.close();
});

test('a page of another site cannot fill the audit where no token is configured', async () => {
  const open = await openApi(database, { tokens: {} });
  const headers = { host: '127.0.0.1', origin: 'http://evil.example' };
  for (let n = 0; n < 300; n++)
    expect((await open.app.inject({ method: 'POST', url: start, headers })).statusCode).toBe(403);
  expect((await query('select from ops.audit')).length).toBeLessThan(60);
  const own = await open.app.inject({ method: 'POST', url: start, headers: { host: '127.0.0.1' } });
  expect(own.statusCode).toBe(202);
  expect(await query(`select from ops.audit where role = 'local' and http_status = 202`)).toHaveLength(1);
  await open.close();
});

test('only the address that guessed is held back, and only for a while', () => {
  let now = 0;
  const held = attemptLimit(() => now);
  for (let n = 0; n < 30; n++) held.failed('10.0.0.1');
  expect(held.waitOf('10.0.0.1')).toBeGreaterThan(0);
  expect(held.waitOf('10.0.0.2')).toBe(0);
  now += 1000 * held.waitOf('10.0.0.1');
  expect(held.waitOf('10.0.0.1')).toBe(0);
});

test('without a configured token only names of this machine are answered (DNS rebinding), and no page of another site', async () => {
  const open = await openApi(database, { tokens: {} });
  const { port } = new URL(open.url);
  const withHost = async (host: string, more: readonly string[] = []) => {
    const head = [`POST ${start} HTTP/1.1`, `Host: ${host}`, 'Content-Length: 0', 'Connection: close'];
    return (await raw(open.url, [...head, ...more, '', ''].join('\r\n'))).slice(9, 12);
  };
  try {
    const near = ['127.0.0.1.evil.example', 'localhost.evil.example', '127.0.0.1@evil.example'];
    for (const host of ['evil.example', 'evil.example:8080', ...near, '10.0.0.1', ''])
      expect(await withHost(host), host).toMatch(/4(21|00|03)/);
    const other = `http://127.0.0.1:${Number(port) + 1}`;
    for (const origin of ['http://evil.example', 'null', other, 'https://evil.example'])
      expect(await withHost(`127.0.0.1:${port}`, [`Origin: ${origin}`]), origin).toBe('403');
    expect(await query('select from ops.dag_runs')).toEqual([]);
    expect(await withHost(`127.0.0.1:${port}`, [`Origin: http://127.0.0.1:${port}`])).toBe('202');
    for (const host of ['localhost', 'LOCALHOST:1', 'tidemark.localhost', '[::1]', '127.8.8.8:80'])
      expect(await withHost(host), host).toBe('409');
    const roles = await query('select distinct role from ops.audit order by 1');
    expect(roles).toEqual([{ role: 'local' }, { role: 'none' }]);
  } finally {
    await open.close();
  }
});

test('healthz and readyz need no token; readyz says what the warehouse says', async () => {
  let why: readonly string[] = ['the warehouse does not answer'];
  const sick = await openApi(database, { unready: async () => why });
  try {
    expect((await fetch(`${sick.url}/healthz`)).status).toBe(200);
    const unready = await fetch(`${sick.url}/readyz`);
    expect([unready.status, await unready.text()]).toEqual([503, 'the warehouse does not answer\n']);
    why = [];
    await until('it is ready', async () => (await fetch(`${sick.url}/readyz`)).status === 200);
  } finally {
    await sick.close();
  }
});

test('metrics need a token, come from the warehouse at every scrape, and have the text format of Prometheus', async () => {
  await query(`truncate ops.runs; insert into ops.runs (pipeline, source_id, kind, status, epoch, requests, started_at, finished_at)
    select 'tracker', 1, 'sync', s, 1, 10, now() - interval '50 s', now() from unnest(array['succeeded', 'succeeded', 'failed']) s`);
  expect((await fetch(`${api.url}/metrics`)).status).toBe(401);
  const scrape = () => ask(`${api.url}/metrics`, { headers: { authorization: `Bearer ${read}` } });
  const { code, text } = await scrape();
  expect(code).toBe(200);
  const duration = 'tidemark_run_duration_seconds';
  for (const line of [
    'tidemark_runs_total{source="tracker",trigger="manual",kind="sync",status="succeeded"} 2',
    'tidemark_http_requests_total{source="tracker"} 30',
    `${duration}_bucket{source="tracker",status="succeeded",le="30"} 0`,
    `${duration}_bucket{source="tracker",status="succeeded",le="60"} 2`,
    `${duration}_count{source="tracker",status="succeeded"} 2`,
  ])
    expect(text).toContain(line);
  expect(text).toMatch(/tidemark_process_resident_memory_bytes \d+/);
  // A run of a part says nothing of the whole.
  const at = Date.parse('2026-03-01T00:00:01Z') / 1000;
  await query(`truncate ops.runs; insert into ops.runs (pipeline, source_id, kind, status, params, epoch, finished_at)
    select 'tracker', 1, kind, status, params::jsonb, 1, '2026-03-01Z'::timestamptz + n * interval '1 s' from (values
      (1, 'sync', 'succeeded', '{"streams": null}'), (2, 'sync', 'partly_failed', '{"streams": null}'),
      (3, 'sync', 'succeeded', '{"streams": ["projects"]}'), (4, 'replay', 'succeeded', '{"replay": {}}')) v (n, kind, status, params)`);
  const { text: later } = await scrape();
  expect(later).toContain(`tidemark_run_last_success_timestamp_seconds{source="tracker"} ${at}\n`);
  const seriesOf = (page: string) => page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const series = seriesOf(text);
  const more: string[] = [];
  await until('a scrape follows so soon that nothing is measured since the last', async () => {
    const scrapes = await Promise.all([scrape(), scrape(), scrape()]);
    more.push(...scrapes.flatMap((one) => seriesOf(one.text)));
    return more.some((line) => line.endsWith(' NaN'));
  });
  for (const line of [...series, ...more])
    expect(line).toMatch(/^tidemark_[a-z0-9_]+(\{([a-z_]+="([^"\\]|\\.)*",?)*\})? (-?[\d.e+-]+|NaN|\+Inf)$/);
  expect(new Set(series.map((line) => line.slice(0, line.lastIndexOf(' ')))).size).toBe(series.length);
});

test('docs/openapi.json is what the server serves; every route is in it, and a body is required only where it is', async () => {
  const written = fs.readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8');
  expect(written, 'stale: run npm run docs').toBe(openapiDocument());
  const { paths } = JSON.parse(await (await fetch(`${api.url}/openapi.json`)).text());
  expect(Object.keys(paths)).toEqual(Object.keys(JSON.parse(written).paths));
  for (const path of ['start', 'stop', 'status', 'history', 'retry', 'runs'])
    expect(Object.keys(paths)).toContain(`/api/v1/dags/{dagName}/${path}`);
  const required = (path: string) => paths[`/api/v1/dags/{dagName}/${path}`].post.requestBody?.required;
  expect(['start', 'retry', 'stop'].map(required)).toEqual([false, true, undefined]);
  const { responses } = paths['/api/v1/dags/{dagName}/runs/{runId}/log/stream'].get;
  expect(Object.keys(responses)).toEqual(['200', '4XX', '5XX']);
  expect(Object.keys(responses[200].content)).toEqual(['text/event-stream', 'application/x-ndjson']);
  expect(await (await fetch(`${api.url}/api`)).text()).toContain('POST /api/v1/dags/{dagName}/start');
});
