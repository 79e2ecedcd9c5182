import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { silence, status, tooManyRequests } from '../../../../simulators/shared/faults.ts';
import { openScene, type Scene } from './scene.ts';
import { textOf, type Visitor, visitor } from './visitor.ts';

let scene: Scene;
let person: Visitor;
const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`;

/** One of each: a good first sync that was throttled, rejects with hostile text, a sync that failed, a backfill. */
beforeAll(async () => {
  scene = await openScene();
  const { rig, control, idle } = scene;
  const [first = '', second = ''] = [...rig.tracker.oracle().issues.keys()];
  rig.tracker.state.setRaw(first, 'created', JSON.stringify(hostile));
  rig.tracker.state.setRaw(second, 'issue.key', '"half \\ud800 a pair \\u202e and \\u001b[31m"');
  const at = (part: string, more: object) => ({
    match: ({ endpoint }: { endpoint: string }) => endpoint.includes(part),
    ...more,
  });
  // A quota is of all requests, a burst of one endpoint.
  const quota = tooManyRequests(1, { 'ratelimit-reason': 'jira-quota-global-based' });
  const throttle = rig.tracker.script.at(at('sprint', { nth: 2 }), quota);
  await control.start({ pipeline: 'tracker', does: 'sync' }, { by: 'test' });
  await idle();
  expect(throttle.fired).toBe(1);
  const failing = rig.tracker.script.at(at('search/jql', { times: 200 }), status(500, { body: hostile }));
  await control.start({ pipeline: 'tracker', does: 'sync' }, { by: 'test' });
  await idle();
  expect(failing.fired).toBeGreaterThan(0);
  rig.tracker.script.clear();
  const window = { from: new Date('2026-01-01T00:00:00Z'), to: new Date('2026-03-01T00:00:00Z') };
  const params = 'FROM=2026-01-01 TO=2026-03-01';
  await control.start({ pipeline: 'tracker', does: 'backfill', window }, { by: 'test', params });
  await idle();
  const note = `insert into ops.schema_changes (source_id, stream, note, run_id) values (1, 'issues', $1, 1)`;
  await rig.rows(note, [hostile]);
  person = visitor(scene.app);
});
afterAll(() => scene.close());

const idsOf = async (table: string, id: string): Promise<readonly string[]> => {
  const rows = await scene.rig.rows<{ id: string }>(`select ${id}::text as id from ${table} order by ${id}`);
  return rows.map((row) => row.id);
};

const paths = async (): Promise<readonly string[]> => [
  '/',
  '/streams',
  '/streams/tracker/issues',
  '/streams/tracker/boards',
  '/plan',
  '/plan?hours=2',
  '/backfill',
  '/rejects',
  '/runs',
  '/runs?status=failed&kind=sync&pipeline=tracker',
  '/rejects?all=1&stream=issues',
  '/backfill?plan=1&pipeline=tracker&from=2026-01-01&to=2026-02-01',
  ...(await idsOf('ops.runs', 'run_id')).map((id) => `/runs/${id}`),
  ...(await scene.control.history('tracker', { limit: 10 })).map(({ runId }) => `/requests/tracker/${runId}`),
  ...(await idsOf('ops.rejects', 'reject_id')).map((id) => `/rejects/${id}`),
];

describe('every page', () => {
  test('is answered, whole, and holds nothing a browser would run or fetch elsewhere', async () => {
    for (const path of await paths()) {
      const { status: code, body } = await person.get(path);
      expect([path, code]).toEqual([path, 200]);
      expect(body).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
      expect(body.match(/<h1/g)).toHaveLength(1);
      // Neither script nor style but ours, by address.
      for (const [tag] of body.matchAll(/<script[^>]*>/g)) expect(tag).toMatch(/src="\/assets\//);
      expect(body).not.toMatch(/<style|\sstyle="|\son[a-z]+="|javascript:|<script>|<img/i);
      for (const [, address] of body.matchAll(/(?:href|src|action)="([^"]*)"/g))
        expect(address).toMatch(/^[/#]/);
      expect(textOf(body)).not.toMatch(/undefined|NaN|\[object|Invalid Date/);
      // Every id once, every label-less field named.
      const ids = [...body.matchAll(/\sid="([^"]+)"/g)].map((found) => found[1]);
      expect([path, ids.length]).toEqual([path, new Set(ids).size]);
    }
  });

  test('says the text of the source as text, with what would reorder it written out', async () => {
    const list = (await person.get('/rejects')).body;
    expect(list).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    const [id] = await idsOf(`ops.rejects where code = 'bad_text'`, 'reject_id');
    const record = (await person.get(`/rejects/${id}`)).body;
    expect(record).toContain('&quot;key&quot;: &quot;half \\ud800 a pair');
    expect((await person.get('/streams')).body).toContain('&lt;img src=x onerror=alert(1)&gt;');
    for (const run of await idsOf(`ops.runs where status like '%failed'`, 'run_id'))
      expect((await person.get(`/runs/${run}`)).body).not.toContain('<script>alert');
  });
});

test('the overview begins with last night, names what is broken, and what helps', async () => {
  const text = textOf((await person.get('/')).body);
  expect(text).toMatch(
    /▲ Last night is incomplete: tracker ended partly failed\. 0 of 1 pipeline, \d+ rows so far\./,
  );
  expect(text).toMatch(
    /Run 2 of tracker ended partly failed: .* answered 500 .*; not read to the end: issues\./,
  );
  expect(text).toContain('2 records of tracker could not become rows.');
  expect(text).toMatch(/Pipelines all 1 ▲ 1 to look at/);
  expect(textOf((await person.get('/?state=good')).body)).toContain('No pipeline is in this state.');
});

test('a run is drawn stream by stream, shaded where the source limited the rate', async () => {
  const { body } = await person.get('/runs/1');
  expect(body.match(/<rect class="going"/g)?.length).toBeGreaterThan(10);
  expect(body).toContain('<rect class="quiet"');
  expect(textOf(body)).toMatch(/rate-limited by the source \(\d\.\d s in all\)/);
  expect(textOf(body)).toMatch(/Requests \d+, 1 throttled/);
});

test('a receipt that does not match is said in words', async () => {
  const text = async () => textOf((await person.get('/runs/1')).body);
  expect(await text()).not.toMatch(/fewer|more than/);
  const set = (stored: string) =>
    scene.rig.rows(`update ops.run_streams set stored = ${stored} where run_id = 1 and stream = 'issues'`);
  await set('stored - 3');
  expect(await text()).toMatch(/issues : 3 records fewer stored than read/);
  const { body } = await person.get('/streams/tracker/issues');
  expect(textOf(body)).toContain('3 records fewer stored than read');
  await set('stored + 3');
});

test('a stream shows its freshness, its columns with their comments, what failed, and a query that runs', async () => {
  const { body } = await person.get('/streams/tracker/issues');
  const text = textOf(body);
  expect(text).toContain('at most 1 d 2 h old');
  expect(text).toContain('Issue id; stable, unlike the key.');
  expect(text).toMatch(/2 sync ✕ failed .* answered 500/);
  const query = /<code>(select [^<]*)<\/code>/.exec(body)?.[1] ?? '';
  expect(query).toMatch(/^select source, issue_id, issue_key, summary, .*\nfrom bi\.issues\nlimit 5;$/);
  for (const row of await scene.rig.rows<{ issue_key: string }>(query))
    expect(text).toContain(` ${row.issue_key} `);
  for (const name of ['tracker.comments', 'tracker.worklogs', 'bi.issue_status_history'])
    expect(text).toContain(name);
});

test('runs are filtered and paged by the address', async () => {
  const text = async (query: string) => textOf((await person.get(`/runs?${query}`)).body);
  expect(await text('kind=backfill')).toMatch(/tracker backfill/);
  expect(await text('kind=reconcile')).toContain('No run matches.');
  expect(await text(`status=${encodeURIComponent("' or 1=1 --")}`)).toContain('No run matches.');
  const older = (await person.get('/runs?before=2')).body;
  const ids = [...older.matchAll(/<td class="" data-label="Run"><a href="\/runs\/(\d+)">/g)].map(
    (found) => found[1],
  );
  expect(new Set(ids)).toEqual(new Set(['1']));
});

test('a night is one line of the runs and of the overview, and its page has its state and the runs of its parts', async () => {
  const { rows } = scene.rig;
  await rows(`insert into ops.dag_runs (dag_run_id, pipeline, does, trigger, asked_by, status, finished_at, part_of, queued_at)
    values ('night', 'nightly', 'sync', 'schedule', 'schedule', 'running', null, null, now() + interval '1 hour'),
      ('part', 'tracker', 'sync', 'schedule', 'nightly', 'succeeded', now(), 'night', now() - interval '1 day'),
      ('next', 'tracker', 'reconcile', 'schedule', 'nightly', 'queued', null, 'night', now() + interval '1 hour')`);
  await rows(`update ops.dag_run_runs set dag_run_id = 'part' where run_id = 1`);
  // Without a job a queued request counts as lost.
  await rows(`insert into pgboss.job (name, data, singleton_key, start_after)
    values ('runs', '{"requestId": "next"}', 'tracker', now() + interval '1 hour')`);
  onTestFinished(async () => {
    await rows(`delete from pgboss.job where data->>'requestId' = 'next'`);
    await rows(`update ops.dag_run_runs set dag_run_id = (select dag_run_id from ops.dag_runs where part_of is null order by seq limit 1)
      where run_id = 1`);
    await rows(`delete from ops.dag_runs where dag_run_id = 'night' or part_of = 'night'`);
  });
  const listed = (body: string) =>
    body
      .match(/<td class="" data-label="Run"><a href="[^"]*"/g)
      ?.map((each) => each.slice('<td class="" data-label="Run"><a href="'.length, -1));
  expect(listed((await person.get('/runs')).body)).toEqual(['/requests/nightly/night', '/runs/3', '/runs/2']);
  expect(listed((await person.get('/runs?pipeline=tracker')).body)).toEqual([
    '/runs/3',
    '/runs/2',
    '/runs/1',
  ]);
  const overview = (await person.get('/')).body;
  expect(overview).toContain('href="/requests/nightly/night"');
  expect(overview.slice(0, overview.indexOf('<h2>Pipelines'))).not.toContain('/requests/tracker/next');
  const { body } = await person.get('/requests/nightly/night');
  for (const shown of [/nightly sync/, /1 \S queued/, /1 \S succeeded/]) expect(textOf(body)).toMatch(shown);
  expect(listed(body)).toEqual(['/runs/1']);
});

test('an unknown address is answered with 404, without internals', async () => {
  for (const path of [
    '/runs/999999',
    '/runs/999999999999999999',
    '/runs/x',
    '/runs/1%27',
    '/streams/tracker/none',
    '/rejects/999999',
    '/rejects/x',
    '/requests/none/x',
    '/requests/tracker/none',
    // The warehouse does not take NUL as text.
    '/runs?pipeline=%00',
    '/requests/tracker/%00',
  ]) {
    const { status: code, body } = await person.get(path);
    expect([path, code]).toEqual([path, 404]);
    expect(body).not.toMatch(/select |\.ts:|node_modules/);
  }
});

test('a wrong address and /api answer in the frame of the dashboard, and programs as before', async () => {
  for (const [path, code, shown] of [
    ['/nothing-here', 404, 'There is nothing of that name here.'],
    ['/api', 200, 'POST /api/v1/dags/{dagName}/start'],
  ] as const) {
    const { status: got, body } = await person.get(path);
    expect([path, got]).toEqual([path, code]);
    expect(textOf(body)).toContain(shown);
    expect(body).toContain('<a href="/streams">Streams</a>');
    const program = await person.get(path, { accept: '*/*' });
    expect([path, program.status]).toEqual([path, code]);
    expect(program.headers['content-type']).not.toContain('html');
  }
});

describe('the backfill form', () => {
  test('says what is wrong next to what was typed', async () => {
    const plan = async (query: string) =>
      textOf((await person.get(`/backfill?plan=1&pipeline=tracker&${query}`)).body);
    expect(await plan('from=2026-02-30&to=2026-03-01')).toContain('From: 2026-02-30 is not a day');
    expect(await plan('from=2026-02-01&to=')).toContain('To: enter the day after the last');
    expect(await plan('from=2026-02-02&to=2026-02-02')).toContain('From must be before To');
    expect(await plan('from=2026-02-01&to=2026-02-02&streams=none')).toContain('none');
  });

  test('plans first, starts on a second click, and shows the slices', async () => {
    const query = 'plan=1&pipeline=tracker&from=2026-01-01&to=2026-02-01&streams=issues';
    const page = (await person.get(`/backfill?${query}`)).body;
    expect(textOf(page)).toMatch(/1 stream, about \d+ records, about \d+ requests?/);
    const before = (await scene.asked()).length;
    const fields = { pipeline: 'tracker', from: '2026-01-01', to: '2026-02-01', streams: 'issues' };
    const started = await person.send(`/backfill?plan=1&${new URLSearchParams(fields)}`, '/backfill', fields);
    expect((await scene.asked()).slice(before)).toEqual(['tracker backfill by dashboard']);
    const where = started.headers.location ?? '';
    expect(where).toMatch(/^\/requests\/tracker\/tracker-backfill-[0-9a-f-]+$/);
    await scene.idle();
    const text = textOf((await person.get(where)).body);
    expect(text).toContain('1 of 1 slice done');
    expect(text).toContain('FROM=2026-01-01 TO=2026-02-01 STREAMS=issues');
    const [run] = await scene.rig.rows('select params from ops.runs order by run_id desc limit 1');
    const from = '2026-01-01T00:00:00.000Z';
    const to = '2026-02-01T00:00:00.000Z';
    expect(run).toEqual({ params: { from, to, streams: ['issues'] } });
  });
});

test('an active run is stopped from its page, and only that one', async () => {
  const { rig, control, idle } = scene;
  const held = rig.tracker.script.at(
    { match: ({ endpoint }) => endpoint.includes('search/jql'), times: Number.POSITIVE_INFINITY },
    silence,
  );
  const started = await person.send('/', '/pipelines/tracker/start');
  const where = started.headers.location ?? '';
  await expect.poll(() => held.fired).toBeGreaterThan(0);
  const going = (await person.get(where)).body;
  expect(going).toContain(`formaction="${where}/stop"`);
  const runId = where.split('/').at(-1) ?? '';
  // Asked for again while it goes on: the same run is shown, no second one is queued.
  expect((await person.send('/', '/pipelines/tracker/start')).headers.location).toBe(where);
  expect((await person.send(where, '/requests/tracker/another/stop')).status).toBe(409);
  expect((await control.run('tracker', runId)).stopping).toBe(false);
  expect((await person.send(where, `${where}/stop`)).status).toBe(303);
  rig.tracker.script.clear();
  await idle();
  expect(textOf((await person.get(where)).body)).toMatch(/State ▲ stopped/);
  expect((await control.run('tracker', runId)).status).toBe('stopped');
  const retried = await person.send(where, `${where}/retry`);
  expect(retried.status).toBe(303);
  await idle();
  expect(textOf((await person.get(retried.headers.location ?? '')).body)).toMatch(/State .{0,4}succeeded/);
});

test('every action is in the audit with its outcome, refused ones too', async () => {
  const lines = await scene.rig.rows(
    'select role, address, action, pipeline, http_status, dag_run_id is not null as named from ops.audit order by audit_id',
  );
  expect(lines).toContainEqual({
    role: 'local',
    address: '127.0.0.1',
    action: 'POST /backfill of the dashboard',
    pipeline: 'tracker',
    http_status: 303,
    named: true,
  });
  const actions = lines.map(({ action, http_status }) => `${action} ${http_status}`);
  expect(actions).toContain('POST /pipelines/:pipeline/start of the dashboard 303');
  for (const code of [409, 303])
    expect(actions).toContain(`POST /requests/:pipeline/:run/stop of the dashboard ${code}`);
  expect(lines.filter(({ http_status }) => http_status === null)).toEqual([]);
  await person.post('/pipelines/tracker/start', {});
  const last = 'select role, http_status from ops.audit order by audit_id desc limit 1';
  const [refused] = await scene.rig.rows(last);
  expect(refused).toEqual({ role: 'local', http_status: 403 });
});

test('the token of changes is the same until something happens, and says when the warehouse is away', async () => {
  const token = async () => (await person.get('/changes')).body;
  const before = await token();
  expect(await token()).toBe(before);
  await scene.rig.sync({ streams: ['projects'] });
  await expect.poll(token).not.toBe(before);
});

test('an internal error is reported to the operator and not to the reader', async () => {
  const { pool } = scene.rig.database.warehouse;
  await pool.query('alter view ops.stream_states rename to states_away');
  try {
    const { status: code, body } = await person.get('/streams');
    expect(code).toBe(500);
    expect(body).toContain('Something went wrong here');
    expect(body).not.toMatch(/ops\./);
    expect(scene.troubles.at(-1)).toMatch(/^GET \/streams of the dashboard failed: .*ops\.stream_states/);
  } finally {
    await pool.query('alter view ops.states_away rename to stream_states');
  }
});
