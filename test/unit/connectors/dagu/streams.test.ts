import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  startWorkflow,
  type WorkflowOptions,
  type WorkflowSimulator,
} from '../../../../simulators/dagu/server.ts';
import { type Fault, resetBeforeHeaders, status } from '../../../../simulators/shared/faults.ts';
import { openWorkflow } from '../../../../src/connectors/dagu/source.ts';
import { ExactNumber } from '../../../../src/core/json.ts';
import type { RunEvent } from '../../../../src/core/run.ts';
import { openSourceRig, type SourceRig } from '../../../support/source-rig.ts';

interface Stage extends SourceRig {
  readonly engine: WorkflowSimulator;
}

const now = new Date('2026-03-01T12:00:00Z');
const minute = 60_000;
const day = 86_400_000;

let database: SourceRig;
/** The engine that runs read, and how. */
let reading: { readonly url: string; readonly dags: readonly string[]; readonly token: string | undefined };

beforeAll(async () => {
  database = await openSourceRig((observe) => {
    const { url, dags, token } = reading;
    return openWorkflow(
      { baseUrl: url, dags, ...(token !== undefined && { token: { reveal: () => token } }) },
      { observe, http: { retry: { baseMs: 2, capMs: 10 } } },
    );
  });
});
afterAll(() => database.close());

/** An engine whose clock stands, and an empty warehouse that reads `dags` of it. */
async function stage(
  options: WorkflowOptions = {},
  dags: readonly string[] = [],
  token?: string,
): Promise<Stage> {
  const engine = await startWorkflow({ now, ...options });
  onTestFinished(async () => {
    await engine.close();
    expect(engine.errors).toEqual([]);
  });
  reading = { url: engine.url, dags, token };
  await database.rows(
    `truncate workflow.dags, workflow.dag_runs, workflow.dag_run_steps, ops.sources cascade`,
  );
  database.events.splice(0);
  return { ...database, engine };
}

/** Runs with their steps as the warehouse has them, in the shape of the simulator's truth. */
const stored = async (rig: SourceRig): Promise<readonly unknown[]> => {
  const iso = (column: string): string =>
    `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "${column === 'started_at' ? 'startedAt' : 'finishedAt'}"`;
  return rig.rows(`select dag_name as dag, dag_run_id as id, status, ${iso('started_at')}, ${iso('finished_at')}, params,
      coalesce((select json_agg(json_build_object('name', step_name, 'status', status, 'error', error) order by position)
        from workflow.dag_run_steps s where s.dag_name = r.dag_name and s.dag_run_id = r.dag_run_id), '[]') as steps
    from workflow.dag_runs r order by dag_name || dag_run_id collate "C"`);
};

const notesOf = (events: readonly RunEvent[]): string =>
  events.flatMap((event) => (event.type === 'note' ? [event.message] : [])).join('\n');

/** An answer in JSON, under this status. */
const inJson = (body: object, code = 200): Fault =>
  status(code, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const forever = Number.POSITIVE_INFINITY;
const succeeded = { status: 'succeeded' };
const unchanged = { status: 'succeeded', counts: { inserted: 0, updated: 0 } };

/** From now on the engine's answer to every status is this payload. */
const says = ({ engine }: Stage, data: object | null): void => {
  engine.script.clear();
  const answer = inJson({ status: 'success', data });
  engine.script.at({ endpoint: '/api/v1/dags/{dagName}/status', times: forever }, answer);
};

test.each([
  ['the contract', 'contract', ['load', 'send', 'never']],
  ['Dagu until 1.30', 'dagu-v2', []],
  ['Dagu 2', 'dagu-2.x', []],
] as const)(
  'an engine of %s is read, written once, and read again when a run ends',
  async (_, dialect, dags) => {
    const rig = await stage({ dialect }, dags);
    const hasHistory = dialect !== 'contract';
    const { state, clock } = rig.engine;
    for (const name of ['load', 'send', 'never']) state.add(name);
    const done = state.start('load', { params: 'FROM=a TO=b' });
    clock.advance(minute);
    state.finish('load', done.id, 'succeeded');
    const failed = state.start('send');
    clock.advance(minute);
    state.finish('send', failed.id, 'failed', { stderr: 'trouble\n' });
    const active = state.start('load');

    expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
    const seen = rig.engine.truth().filter(({ id }) => hasHistory || id !== done.id);
    // The contract shows the steps that run or ran; Dagu shows all of them.
    const shown = (step: { readonly status: string }) => hasHistory || step.status !== 'not_started';
    expect(await stored(rig)).toEqual(seen.map((run) => ({ ...run, steps: run.steps.filter(shown) })));
    expect(await rig.rows('select name, status, state from workflow.dags order by name')).toEqual([
      { name: 'load', status: 'running', state: 'active' },
      { name: 'never', status: 'not_started', state: 'idle' },
      { name: 'send', status: 'failed', state: 'failed' },
    ]);

    expect(await rig.sync()).toMatchObject({ ...unchanged, deleted: 0 });

    clock.advance(minute);
    state.finish('load', active.id, 'succeeded');
    const last = await rig.sync();
    expect(last.streams.flatMap((stream) => stream.reason ?? [])).toEqual([]);
    expect(await stored(rig)).toEqual(rig.engine.truth().filter(({ id }) => hasHistory || id !== done.id));
  },
);

describe.each(['contract', 'dagu-v2'] as const)('an engine (%s)', (dialect) => {
  const options: WorkflowOptions = { dialect };

  test('an unknown status, an end before the start and an odd name are kept; an unknown DAG is noted', async () => {
    const name = 'a/b ?ü%2F';
    const rig = await stage(options, ['no such DAG', name]);
    const { state, clock } = rig.engine;
    state.add(name);
    const run = state.start(name);
    clock.advance(-minute);
    state.finish(name, run.id, 'levitating');
    expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
    expect(
      await rig.rows(
        'select dag_name, status, state, finished_at < started_at as backwards from workflow.dag_runs',
      ),
    ).toEqual([{ dag_name: name, status: 'levitating', state: 'unknown', backwards: true }]);
    expect(await rig.rows('select duration_seconds, is_over, is_success from bi.workflow_runs')).toEqual([
      { duration_seconds: null, is_over: false, is_success: null },
    ]);
    expect(await rig.rows('select name from workflow.dags')).toEqual([{ name }]);
    expect(rig.engine.log.some(({ path }) => path.includes('/a%2Fb%20%3F%C3%BC%252F'))).toBe(true);
    expect(notesOf(rig.events)).toMatch(/lists no no such DAG, named in WORKFLOW_DAGS/);
  });

  test('a DAG that always fails keeps no other out of the warehouse', async () => {
    const rig = await stage(options, ['send', 'load']);
    const { state, clock, script } = rig.engine;
    state.add('load');
    state.add('send');
    const broken = script.at({ times: forever, match: ({ path }) => /load/.test(path) }, status(500));
    for (let day = 0; day < 2; day += 1) {
      clock.advance(minute);
      state.finish('load', state.start('load').id, 'succeeded');
      const { id } = state.start('send');
      state.finish('send', id, 'succeeded');
      expect((await rig.sync()).status).toMatch(/failed/);
      expect(
        await rig.rows('select dag_run_id from workflow.dag_runs where dag_run_id = $1', [id]),
      ).toHaveLength(1);
    }
    expect(broken.fired).toBeGreaterThan(0);
    broken.cancel();
    expect(await rig.sync()).toMatchObject(succeeded);
    expect(await rig.rows("select from ops.walks where status = 'open'")).toEqual([]);
  });

  test('a refused token fails the run as auth; the right one goes with every request', async () => {
    const refused = await stage({ ...options, token: 'right' }, ['load'], 'wrong');
    refused.engine.state.add('load');
    await expect(refused.sync()).rejects.toMatchObject({ code: 'auth' });
    const accepted = await stage({ ...options, token: 'right' }, ['load'], 'right');
    accepted.engine.state.add('load');
    expect(await accepted.sync()).toMatchObject(succeeded);
    for (const { headers } of accepted.engine.log) expect(headers.authorization).toBe('Bearer right');
  });

  test('an active run that vanishes is marked gone once, and comes back if it does', async () => {
    const rig = await stage(options, ['load']);
    const { state, clock } = rig.engine;
    state.add('load');
    const run = state.start('load', { params: 'A=1' });
    await rig.sync();
    const content = () =>
      rig.rows(
        `select to_jsonb(r) - '{gone_at,_synced_at,_run_id,_row_hash}'::text[] as row, gone_at is not null as is_gone
        from workflow.dag_runs r`,
      );
    const [before] = await content();
    clock.advance(day);
    state.forget('load', run.id);
    expect(await rig.sync()).toMatchObject(succeeded);
    expect(await content()).toEqual([{ ...before, is_gone: true }]);
    expect(await rig.rows('select count(*)::int as steps from workflow.dag_run_steps')).not.toEqual([
      { steps: 0 },
    ]);
    expect(await rig.sync()).toMatchObject(unchanged);
    state.dag('load').runs.push(run);
    expect(await rig.sync()).toMatchObject(succeeded);
    expect(await rig.rows('select gone_at from workflow.dag_runs')).toEqual([{ gone_at: null }]);
  });

  describe('an id that is used again', () => {
    let rig: Stage;
    /** A run of this id once more, a minute after the engine has forgotten the first. */
    const again = (options: { params?: string; queued?: boolean } = {}) => {
      const { state, clock } = rig.engine;
      state.forget('load', '1');
      clock.advance(minute);
      return state.start('load', { id: '1', ...options });
    };
    const ends = (how: string): void => {
      rig.engine.clock.advance(minute);
      rig.engine.state.finish('load', '1', how);
    };
    const runs = () =>
      rig.rows(`select dag_run_id, status, params, gone_at is not null as is_gone from workflow.dag_runs
        where told_run_id = '1' order by dag_run_id`);
    const first = { dag_run_id: '1', status: 'succeeded', params: 'N=1', is_gone: false };
    const second = { dag_run_id: '1@2026-03-01T12:02:00.000Z', params: 'N=2', is_gone: false };
    beforeEach(async () => {
      rig = await stage(options, ['load']);
      rig.engine.state.add('load');
      rig.engine.state.start('load', { id: '1', params: 'N=1' });
    });

    test('after a restart is another run', async () => {
      ends('succeeded');
      await rig.sync();
      again({ params: 'N=2' });
      ends('failed');
      for (let times = 0; times < 2; times++) await rig.sync();
      expect(await runs()).toEqual([first, { ...second, status: 'failed' }]);
      expect(await rig.rows('select status from workflow.dags')).toEqual([{ status: 'failed' }]);
      expect(await rig.sync()).toMatchObject(unchanged);
    });

    test('while its first run was active leaves that run as gone', async () => {
      await rig.sync();
      again({ params: 'N=2' });
      const gone = { ...first, status: 'running', is_gone: true };
      const other = { ...second, dag_run_id: '1@2026-03-01T12:01:00.000Z' };
      await rig.sync();
      expect(await runs()).toEqual([gone, { ...other, status: 'running' }]);
      ends('succeeded');
      await rig.sync();
      expect(await runs()).toEqual([gone, { ...other, status: 'succeeded' }]);
      expect(await rig.sync()).toMatchObject(unchanged);
    });

    test('by a waiting run leaves the earlier run as it was', async () => {
      ends('succeeded');
      await rig.sync();
      const run = again({ params: 'N=2', queued: true });
      for (let times = 0; times < 2; times++) {
        expect(await rig.sync()).toMatchObject(succeeded);
        expect(await runs()).toEqual([first, { ...second, status: 'queued' }]);
        rig.engine.clock.advance(minute);
      }
      Object.assign(run, { status: 'running', startedAt: rig.engine.clock.now() });
      await rig.sync();
      expect(await runs()).toEqual([first, { ...second, status: 'running' }]);
      ends('failed');
      await rig.sync();
      expect(await runs()).toEqual([first, { ...second, status: 'failed' }]);
    });
  });
});

test.each([
  ['500', status(500)],
  ['400', inJson({ status: 'error', message: 'cannot be read' }, 400)],
  ['200 and an error', inJson({ status: 'error', message: 'DAG has never run' })],
])('a status that is answered with %s fails that DAG alone', async (_, answer) => {
  const rig = await stage({ dialect: 'contract' }, ['bad', 'load', 'send']);
  const { state, script } = rig.engine;
  for (const name of ['bad', 'load', 'send']) state.start(state.add(name).fileName);
  const bad = script.at({ times: forever, match: ({ path }) => /bad/.test(path) }, answer);
  const report = await rig.sync();
  expect(report.status).toBe('failed');
  expect(report.streams.find(({ stream }) => stream === 'dags')?.reason).toMatch(/^dags: bad: /);
  const names = ['load', 'send'].map((name) => ({ name }));
  expect(await rig.rows('select name from workflow.dags order by 1')).toEqual(names);
  expect(await rig.rows('select dag_name as name from workflow.dag_runs order by 1')).toEqual(names);
  expect(bad.fired).toBeGreaterThan(0);
  bad.cancel();
  expect(await rig.sync()).toMatchObject(succeeded);
  expect(await rig.rows('select name from workflow.dags')).toHaveLength(3);
});

test('a list that is refused hinders no named DAG: the contract does not promise it', async () => {
  const rig = await stage({ dialect: 'contract' }, ['no such DAG', 'load']);
  rig.engine.state.add('load');
  const match = ({ path }: { readonly path: string }): boolean => /\/dags(\?|$)/.test(path);
  const list = rig.engine.script.at({ times: forever, match }, resetBeforeHeaders);
  expect(await rig.sync()).toMatchObject(succeeded);
  expect(list.fired).toBeGreaterThan(0);
  expect(await rig.rows('select name from workflow.dags')).toEqual([{ name: 'load' }]);
  expect(notesOf(rig.events)).toMatch(/lists no no such DAG, named in WORKFLOW_DAGS/);
});

describe('an engine without run ids', () => {
  test('keys its runs by their start, and shows each of them while it is current', async () => {
    const rig = await stage({ dialect: 'contract', ids: false }, ['load']);
    const { state, clock } = rig.engine;
    state.add('load');
    for (let times = 0; times < 2; times++) {
      const { id } = state.start('load');
      await rig.sync();
      clock.advance(minute);
      state.finish('load', id, 'succeeded');
      await rig.sync();
    }
    expect(
      await rig.rows('select dag_run_id, told_run_id, status from workflow.dag_runs order by 1'),
    ).toEqual([
      { dag_run_id: 'started:2026-03-01T12:00:00.000Z', told_run_id: null, status: 'succeeded' },
      { dag_run_id: 'started:2026-03-01T12:01:00.000Z', told_run_id: null, status: 'succeeded' },
    ]);
  });

  test('a run without an id and a start is noted, and no active run counts as gone', async () => {
    const rig = await stage({}, ['load']);
    rig.engine.state.add('load');
    says(rig, { status: 'running', runId: 'r1' });
    await rig.sync();
    expect(notesOf(rig.events)).not.toMatch(/^load/m);
    for (const said of [
      { status: 'running' },
      { status: 'running', startedAt: '5 minutes ago' },
      { status: 'failed' },
    ]) {
      rig.events.splice(0);
      says(rig, said);
      expect(await rig.sync()).toMatchObject(succeeded);
      expect(
        rig.notes().filter((note) => note.startsWith(`load: the engine says "${said.status}" without`)),
      ).toHaveLength(1);
      expect(await rig.rows('select dag_run_id, gone_at from workflow.dag_runs')).toEqual([
        { dag_run_id: 'r1', gone_at: null },
      ]);
    }
    // Nothing that runs: then it is gone.
    rig.events.splice(0);
    says(rig, { status: 'not started' });
    await rig.sync();
    expect(await rig.rows('select gone_at is not null as gone from workflow.dag_runs')).toEqual([
      { gone: true },
    ]);
    expect(notesOf(rig.events)).toMatch(/no longer shows the run r1/);
  });

  test.each([
    { list: 'runningSteps', kept: ['extract', 'load'] },
    { list: 'steps', kept: [] },
  ])(
    'keeps the steps that are not in $list any more only where that lists what runs',
    async ({ list, kept }) => {
      const rig = await stage({}, ['load']);
      rig.engine.state.add('load');
      const shows = (status: string, names: readonly string[]) =>
        says(rig, { status, runId: 'r1', [list]: names.map((name) => ({ name, status: 'running' })) });
      const living = 'select step_name from workflow.dag_run_steps where _deleted_at is null order by 1';
      shows('running', ['extract']);
      await rig.sync();
      shows('running', ['load']);
      await rig.sync();
      expect(await rig.rows(living)).toEqual(
        [...new Set([...kept, 'load'])].map((step_name) => ({ step_name })),
      );
      shows('succeeded', []);
      expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: kept.length === 0 ? 1 : 0 });
      expect(await rig.rows(living)).toEqual(kept.map((step_name) => ({ step_name })));
      expect(await rig.rows('select state from workflow.dag_runs')).toEqual([{ state: 'succeeded' }]);
      expect(await rig.sync()).toMatchObject({ ...unchanged, deleted: 0 });
    },
  );

  test('and without WORKFLOW_DAGS says what to configure', async () => {
    const rig = await stage({ dialect: 'contract' });
    await expect(rig.sync()).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('WORKFLOW_DAGS'),
    });
  });
});

test.each(['dagu-v2', 'dagu-2.x'] as const)(
  'a long history is read to its end; an unchanged one costs little; a retried run is read again; a window is read alone (%s)',
  { timeout: 90_000 },
  async (dialect) => {
    const rig = await stage({ dialect, most: 100 });
    const { state, clock, log } = rig.engine;
    state.add('busy.file', { name: 'busy' });
    clock.set(new Date('2026-02-01T00:00:00Z'));
    for (let count = 0; count < 230; count++) {
      clock.advance(count % 3 === 0 ? 1000 : 17 * minute);
      const { id } = state.start('busy.file', { id: `r${String(count).padStart(4, '0')}` });
      state.finish('busy.file', id, count % 10 === 0 ? 'failed' : 'succeeded');
    }
    clock.advance(40 * day);
    const requests = async (work: () => Promise<unknown>) => {
      const from = log.length;
      await work();
      return log.slice(from);
    };
    const isDetail = ({ endpoint }: { readonly endpoint: string }) => endpoint.endsWith('{dagRunId}');

    const all = await requests(async () =>
      expect(await rig.sync()).toMatchObject({ ...succeeded, counts: { rejected: 0 } }),
    );
    expect(await stored(rig), 'the engine cuts its lists').toEqual(rig.engine.truth());
    expect(all.filter(({ endpoint }) => endpoint.endsWith('/dag-runs')).length).toBeGreaterThan(2);

    const idle = await requests(async () => expect(await rig.sync()).toMatchObject(unchanged));
    expect(idle.filter(isDetail)).toEqual([]);
    expect(idle.length, 'requests when nothing has changed').toBeLessThan(40);

    const retried = await requests(async () => {
      state.retry('busy.file', 'r0010');
      await rig.sync();
      expect(await rig.rows(`select status from workflow.dag_runs where dag_run_id = 'r0010'`)).toEqual([
        { status: 'running' },
      ]);
      state.finish('busy.file', 'r0010', 'succeeded');
      await rig.sync();
    });
    expect(await stored(rig)).toEqual(rig.engine.truth());
    const details = retried.filter(isDetail).map(({ path }) => path.split('/').at(-1));
    expect(new Set(details), 'an old run that is retried').toEqual(new Set(['r0010']));

    await rig.rows('truncate workflow.dag_runs, workflow.dag_run_steps');
    const window = { from: new Date('2026-02-02T00:00:00Z'), to: new Date('2026-02-03T00:00:00Z') };
    const inside = state
      .dag('busy.file')
      .runs.filter(({ madeAt }) => madeAt >= window.from && madeAt < window.to)
      .map(({ id }) => ({ dag_run_id: id }));
    expect(inside.length).toBeGreaterThan(50);
    expect(await rig.backfill(window)).toMatchObject(succeeded);
    expect(await rig.rows('select dag_run_id from workflow.dag_runs order by 1')).toEqual(inside);
    await rig.sync();
    expect(await stored(rig)).toEqual(rig.engine.truth());
  },
);

describe('one bad answer', () => {
  const nameless: Fault = {
    name: 'another name of the ids',
    answer: (answer) => ({
      ...answer,
      body: Buffer.from(answer.body.toString().replaceAll('"dagRunId"', '"ticket"')),
    }),
  };
  test.each([
    ['a list without ids fails', /\/dag-runs$/, 1, nameless, /a run of the engine has no dagRunId/],
    [
      '404 for a listed run fails',
      /\/dag-runs\/load\//,
      forever,
      status(404),
      /lists the run and answers 404/,
    ],
    ['one 404 for a listed run is confirmed', /\/dag-runs\/load\//, 1, status(404), undefined],
  ] as const)('%s, and the next run reads all', async (_, path, times, fault, reason) => {
    const rig = await stage({ dialect: 'dagu-v2' });
    const { state, script } = rig.engine;
    state.add('load');
    state.add('aside', { unfiled: true });
    for (const name of ['load', 'aside']) state.finish(name, state.start(name).id, 'succeeded');
    const rule = script.at({ match: (call) => path.test(call.path), times }, fault);
    const report = await rig.sync();
    expect(rule.fired).toBeGreaterThan(0);
    expect(report.status).toBe(reason === undefined ? 'succeeded' : 'partly_failed');
    if (reason !== undefined) expect(JSON.stringify(report.streams)).toMatch(reason);
    rule.cancel();
    expect(await rig.sync()).toMatchObject(succeeded);
    expect(await stored(rig)).toEqual(rig.engine.truth());
  });
});

test("a DAG whose file the engine cannot read is not deleted, and the engine's reason is noted", async () => {
  const rig = await stage({ dialect: 'dagu-v2' });
  const { state, script } = rig.engine;
  for (const name of ['load', 'send']) state.add(name);
  expect(await rig.sync()).toMatchObject(succeeded);
  // As 1.30.2 answers while a file is empty (measured).
  const body = {
    dags: [
      {
        dag: { name: 'load' },
        errors: null,
        fileName: 'load',
        latestDAGRun: { dagRunId: '', name: 'load', status: 0, statusLabel: 'not_started' },
        suspended: false,
      },
    ],
    errors: ['reading send failed: no DAGs found in file "/dags/send.yaml"'],
    pagination: { currentPage: 1, nextPage: 1, prevPage: 1, totalPages: 1, totalRecords: 1 },
  };
  const rule = script.at({ endpoint: '/api/v2/dags', times: forever }, inJson(body));
  rig.events.splice(0);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(rule.fired).toBeGreaterThan(0);
  expect(await rig.rows('select name from workflow.dags where _deleted_at is not null')).toEqual([]);
  expect(notesOf(rig.events)).toMatch(
    /cannot read all files of its DAGs.*reading send failed: no DAGs found/,
  );
  rule.cancel();
  state.dags.delete('send');
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 1 });
});

test('a named DAG that is removed while it runs leaves its run as gone, reported once', async () => {
  const rig = await stage({}, ['etl', 'other']);
  const { state } = rig.engine;
  for (const name of ['etl', 'other']) state.add(name);
  state.start('etl');
  expect(await rig.sync()).toMatchObject(succeeded);
  const run = `select state, gone_at is not null as gone from workflow.dag_runs where dag_name = 'etl'`;
  expect(await rig.rows(run)).toEqual([{ state: 'active', gone: false }]);
  state.dags.delete('etl');
  for (const notes of [1, 0]) {
    rig.events.splice(0);
    expect(await rig.sync()).toMatchObject(succeeded);
    expect(await rig.rows(run)).toEqual([{ state: 'active', gone: true }]);
    expect(rig.notes().filter((note) => /^etl: the engine no longer shows the run/.test(note))).toHaveLength(
      notes,
    );
  }
});

test('one 404 for the status of a DAG is confirmed by a second request', async () => {
  const rig = await stage({}, ['load', 'send']);
  for (const name of ['load', 'send']) rig.engine.state.start(rig.engine.state.add(name).fileName);
  const unknown = rig.engine.script.at({ match: ({ path }) => path.includes('/send/') }, status(404));
  expect(await rig.sync()).toMatchObject(succeeded);
  expect(unknown.fired).toBe(1);
  expect(await rig.rows('select from workflow.dag_runs')).toHaveLength(2);
});

test('a status without a word for the state fails, and no run counts as gone', async () => {
  const rig = await stage({}, ['load', 'send']);
  for (const name of ['load', 'send']) rig.engine.state.start(rig.engine.state.add(name).fileName);
  expect(await rig.sync()).toMatchObject(succeeded);
  const nothing = inJson({ status: 'success', data: {} });
  rig.engine.script.at({ times: forever, match: ({ path }) => path.includes('/send/') }, nothing);
  const report = await rig.sync();
  expect(report.status).toMatch(/failed/);
  expect(JSON.stringify(report.streams)).toMatch(/the status of send has no word for its state/);
  expect(await rig.rows('select from workflow.dag_runs where gone_at is not null')).toEqual([]);
});

test('an id beyond 2^53 is kept digit for digit, and a second run of that id is a row of its own', async () => {
  const rig = await stage({}, ['load']);
  rig.engine.state.add('load');
  const told_run_id = '9007199254740993';
  for (const startedAt of ['2026-03-01T12:00:00Z', '2026-03-02T12:00:00Z']) {
    says(rig, { runId: new ExactNumber(told_run_id), status: 'succeeded', startedAt });
    expect(await rig.sync()).toMatchObject(succeeded);
  }
  const runs = 'select dag_run_id, told_run_id, _extra from workflow.dag_runs order by begun_at';
  expect(await rig.rows(runs)).toEqual([
    { dag_run_id: told_run_id, told_run_id, _extra: null },
    { dag_run_id: `${told_run_id}@2026-03-02T12:00:00.000Z`, told_run_id, _extra: null },
  ]);
});

test('runs under a name that no file has are read, all or those in WORKFLOW_DAGS; the DAGs are those of the list', async () => {
  const options = { dialect: 'dagu-v2' } as const;
  const rig = await stage(options);
  const make = ({ state }: WorkflowSimulator): void => {
    state.add('load');
    for (const name of ['aside', 'other']) state.add(name, { unfiled: true });
    for (const name of ['load', 'aside', 'aside', 'other'])
      state.finish(name, state.start(name).id, 'failed');
  };
  make(rig.engine);
  for (const inserted of [5, 0]) {
    expect(await rig.sync()).toMatchObject({ ...succeeded, counts: { inserted, rejected: 0 } });
    expect(await stored(rig)).toEqual(rig.engine.truth());
  }
  expect(await rig.rows('select name, file_name from workflow.dags')).toEqual([
    { name: 'load', file_name: 'load' },
  ]);
  const named = await stage(options, ['load', 'aside', 'nothing']);
  make(named.engine);
  expect(await named.sync()).toMatchObject(succeeded);
  expect(await named.rows('select distinct dag_name from workflow.dag_runs order by 1')).toEqual([
    { dag_name: 'aside' },
    { dag_name: 'load' },
  ]);
  expect(notesOf(named.events)).toMatch(/lists no aside, nothing, named in WORKFLOW_DAGS/);
});

test('a DAG that moves onto a page already read is not deleted', async () => {
  const rig = await stage({ dialect: 'dagu-v2' });
  const { state, script } = rig.engine;
  for (let count = 1; count <= 201; count++) state.add(`d${String(count).padStart(3, '0')}`);
  expect(await rig.sync()).toMatchObject(succeeded);
  const rule = script.at(
    { match: ({ path, query }) => path === '/api/v2/dags' && query.page === '2' },
    () => {
      state.dags.delete('d001');
    },
  );
  const gone = 'select name from workflow.dags where _deleted_at is not null';
  // The one that was removed had been shown before.
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(rule.fired).toBe(1);
  expect(await rig.rows(gone)).toEqual([]);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 1 });
  expect(await rig.rows(gone)).toEqual([{ name: 'd001' }]);
});

test('the reading schema says how reliable a DAG is', async () => {
  const rig = await stage({ dialect: 'dagu-v2' });
  const { state, clock } = rig.engine;
  state.add('load');
  for (const end of ['succeeded', 'succeeded', 'failed', 'aborted']) {
    const { id } = state.start('load');
    clock.advance(10 * minute);
    state.finish('load', id, end);
  }
  state.start('load');
  await rig.sync();
  expect(
    await rig.rows(`select dag_name, date_day::text, runs::int, succeeded::int, failed::int, aborted::int, unfinished::int,
      success_ratio, p50_duration_seconds, total_duration_seconds from bi.workflow_daily`),
  ).toEqual([
    {
      ...{
        dag_name: 'load',
        date_day: '2026-03-01',
        runs: 5,
        succeeded: 2,
        failed: 1,
        aborted: 1,
        unfinished: 1,
      },
      ...{ success_ratio: '0.5000', p50_duration_seconds: '600.000', total_duration_seconds: '2400.000' },
    },
  ]);
  expect(
    await rig.rows(
      `select first_failed_step, failed_steps::int, error from bi.workflow_runs where status = 'failed'`,
    ),
  ).toEqual([{ first_failed_step: 'one', failed_steps: 1, error: 'one: failed' }]);
});

test('a run that cannot become a row stays rejected when a run of another DAG has the same id', async () => {
  const rig = await stage({ dialect: 'dagu-v2' });
  const { state, clock } = rig.engine;
  // A key of that length does not fit into an index.
  state.add('load', { steps: ['x'.repeat(3000)] });
  state.add('send');
  const id = '2026-03-01';
  const bad = state.start('load', { id });
  state.start('send', { id });
  const one = { deps: { concurrency: 1 } };
  const rejects = 'select status from ops.rejects order by reject_id';
  const open = [{ status: 'open' }];
  expect(await rig.sync({}, one)).toMatchObject({ status: 'succeeded', counts: { rejected: 1 } });
  expect(await rig.rows(rejects)).toEqual(open);
  clock.advance(minute);
  state.finish('send', id, 'succeeded');
  expect(await rig.sync({}, one)).toMatchObject({ status: 'succeeded', counts: { rejected: 1 } });
  expect(await rig.rows('select dag_name from workflow.dag_runs')).toEqual([{ dag_name: 'send' }]);
  expect(await rig.rows(rejects)).toEqual(open);
  Object.assign(bad.steps[0] ?? {}, { name: 'one' });
  expect(await rig.sync({}, one)).toMatchObject({
    status: 'succeeded',
    counts: { inserted: 1, rejected: 0 },
  });
  expect(await rig.rows(rejects)).toEqual([{ status: 'resolved' }]);
});

test('a DAG whose name Postgres cannot hold is rejected alone, with its run', async () => {
  const rig = await stage({ dialect: 'dagu-v2' });
  const { state } = rig.engine;
  state.add('bad', { name: 'bad \0' });
  state.start('bad');
  state.add('load');
  state.start('load');
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { rejected: 2 } });
  expect(await rig.rows('select name from workflow.dags')).toEqual([{ name: 'load' }]);
  expect(await rig.rows('select dag_name from workflow.dag_runs')).toEqual([{ dag_name: 'load' }]);
});

test('a run of another DAG than requested is refused', async () => {
  const rig = await stage({ dialect: 'dagu-v2' });
  const { state, clock, script } = rig.engine;
  for (const name of ['load', 'send']) {
    state.add(name);
    const { id } = state.start(name, { id: 'nightly' });
    clock.advance(minute);
    state.finish(name, id, name === 'load' ? 'succeeded' : 'failed');
  }
  const ofSend: Fault = {
    name: 'the run of send',
    call: (call) => ({ ...call, path: call.path.replace('/dag-runs/load', '/dag-runs/send') }),
  };
  const endpoint = '/api/v2/dag-runs/{name}/{dagRunId}';
  const mixed = script.at({ endpoint, times: forever, match: ({ path }) => /load/.test(path) }, ofSend);
  const report = await rig.sync({}, { deps: { concurrency: 1 } });
  expect(mixed.fired).toBeGreaterThan(0);
  expect(report.status).toBe('partly_failed');
  expect(JSON.stringify(report.streams)).toMatch(/of load.* of send/);
  expect(await rig.rows('select dag_name, status from workflow.dag_runs')).toEqual([
    { dag_name: 'send', status: 'failed' },
  ]);
  script.clear();
  expect(await rig.sync()).toMatchObject(succeeded);
  expect(await stored(rig)).toEqual(rig.engine.truth());
});
