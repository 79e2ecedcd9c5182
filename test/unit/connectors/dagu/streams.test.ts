import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  startWorkflow,
  type WorkflowOptions,
  type WorkflowSimulator,
} from '../../../../simulators/dagu/server.ts';
import { type Fault, resetBeforeHeaders, status } from '../../../../simulators/shared/faults.ts';
import { openWorkflow } from '../../../../src/connectors/dagu/source.ts';
import type { EngineSettings } from '../../../../src/connectors/dagu/workflow.ts';
import { ExactNumber } from '../../../../src/core/json.ts';
import { openSourceRig, type SourceRig } from '../../../support/source-rig.ts';
import { storedRuns } from '../../../support/workflow-runs.ts';

interface Stage extends SourceRig {
  readonly engine: WorkflowSimulator;
}

const now = new Date('2026-03-01T12:00:00Z');
const minute = 60_000;
const day = 86_400_000;

let database: SourceRig;
/** The engine that runs read, and how. */
let reading: EngineSettings & { readonly dags: readonly string[]; readonly exclude?: readonly string[] };

beforeAll(async () => {
  database = await openSourceRig('workflow', (note) => {
    return openWorkflow(reading, { note, http: { retry: { baseMs: 2, capMs: 10 } } });
  });
});
afterAll(() => database.close());

/** An engine whose clock does not move by itself, and an empty warehouse that reads `dags` of it. */
async function stage(
  options: WorkflowOptions = {},
  dags: readonly string[] = [],
  settings: Omit<EngineSettings, 'baseUrl'> = {},
) {
  const engine = await startWorkflow({ now, ...options });
  onTestFinished(async () => {
    await engine.close();
    expect(engine.errors).toEqual([]);
  });
  reading = { baseUrl: engine.url, dags, ...settings };
  await database.rows(
    'truncate workflow.dags, workflow.dag_runs, workflow.dag_run_steps, ops.sources cascade',
  );
  database.events.splice(0);
  return { ...database, engine };
}

/** Adds these DAGs to the engine, and starts a run of each. */
const startAll = ({ engine: { state } }: Stage, ...names: readonly string[]) =>
  names.map((name) => state.start(state.add(name).fileName));
/** A run of a minute; its id. */
const ran = ({ engine: { state, clock } }: Stage, dag: string, end = 'succeeded', id?: string): string => {
  const run = state.start(dag, { ...(id !== undefined && { id }) });
  clock.advance(minute);
  state.finish(dag, run.id, end);
  return run.id;
};

const namesOf = async (rig: SourceRig, query: string) =>
  (await rig.rows<{ name: string }>(`${query} order by 1`)).map(({ name }) => name);
const dags = (rig: SourceRig) => namesOf(rig, 'select name from workflow.dags');
const dagsOfRuns = (rig: SourceRig) =>
  namesOf(rig, 'select distinct dag_name as name from workflow.dag_runs');

/** An answer in JSON, under this status. */
const inJson = (body: object, code = 200): Fault =>
  status(code, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const times = Number.POSITIVE_INFINITY;
/** All requests with this in their path. */
const to = (part: string) => ({ times, match: ({ path }: { readonly path: string }) => path.includes(part) });
const oneByOne = { deps: { concurrency: 1 } };
const succeeded = { status: 'succeeded' };
const unchanged = { status: 'succeeded', counts: { inserted: 0, updated: 0 }, deleted: 0 };

/** From now on the engine's answer to every status is this payload. */
const says = ({ engine }: Stage, data: object | null): void => {
  engine.script.clear();
  engine.script.at({ endpoint: '/api/v1/dags/{dagName}/status', times }, inJson({ status: 'success', data }));
};

test.each([
  ['the contract', 'contract', ['load', 'send', 'never']],
  ['Dagu until 1.30', 'dagu-v2', []],
  ['Dagu 2', 'dagu-2.x', []],
] as const)(
  'an engine of %s is read, written once, and read again when a run ends',
  async (_, dialect, named) => {
    const rig = await stage({ dialect }, named);
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
    expect(await storedRuns(rig.rows)).toEqual(
      seen.map((run) => ({ ...run, steps: run.steps.filter(shown) })),
    );
    expect(await rig.rows('select name, status, state from workflow.dags order by name')).toEqual([
      { name: 'load', status: 'running', state: 'active' },
      { name: 'never', status: 'not_started', state: 'idle' },
      { name: 'send', status: 'failed', state: 'failed' },
    ]);
    expect(await rig.sync()).toMatchObject(unchanged);

    clock.advance(minute);
    state.finish('load', active.id, 'succeeded');
    expect((await rig.sync()).streams.flatMap((stream) => stream.reason ?? [])).toEqual([]);
    expect(await storedRuns(rig.rows)).toEqual(
      rig.engine.truth().filter(({ id }) => hasHistory || id !== done.id),
    );
  },
);

describe.each(['contract', 'dagu-v2', 'dagu-2.x'] as const)('an engine (%s)', (dialect) => {
  const options: WorkflowOptions = { dialect };

  test('an unknown status, an end before the start and an odd name are kept; an unknown DAG is noted', async () => {
    const name = 'a/b ?ü%2F';
    const rig = await stage(options, ['no such DAG', name]);
    const [run] = startAll(rig, name);
    rig.engine.clock.advance(-minute);
    rig.engine.state.finish(name, run?.id ?? '', 'levitating');
    expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
    expect(
      await rig.rows('select status, state, finished_at < started_at as backwards from workflow.dag_runs'),
    ).toEqual([{ status: 'levitating', state: 'unknown', backwards: true }]);
    expect(await rig.rows('select duration_seconds, is_over, is_success from bi.workflow_runs')).toEqual([
      { duration_seconds: null, is_over: false, is_success: null },
    ]);
    expect([await dags(rig), await dagsOfRuns(rig)]).toEqual([[name], [name]]);
    expect(rig.engine.log.some(({ path }) => path.includes('/a%2Fb%20%3F%C3%BC%252F'))).toBe(true);
    expect(rig.notes().join()).toMatch(/lists no no such DAG, named in WORKFLOW_DAGS/);
  });

  test('a DAG that always fails keeps no other out of the warehouse', async () => {
    const rig = await stage(options, ['send', 'load']);
    for (const name of ['load', 'send']) rig.engine.state.add(name);
    const broken = rig.engine.script.at(to('load'), status(500));
    for (let day = 0; day < 2; day += 1) {
      ran(rig, 'load');
      const id = ran(rig, 'send');
      expect((await rig.sync()).status).toMatch(/failed/);
      const found = await rig.rows('select from workflow.dag_runs where dag_run_id = $1', [id]);
      expect(found).toHaveLength(1);
    }
    expect(broken.fired).toBeGreaterThan(0);
    broken.cancel();
    expect(await rig.sync()).toMatchObject(succeeded);
    expect(await rig.rows("select from ops.walks where status = 'open'")).toEqual([]);
  });

  const hidden = (text: string) => ({ reveal: () => text });
  const user = { username: 'ops', password: 'pass:wörd €' };
  const basic = `Basic ${Buffer.from('ops:pass:wörd €').toString('base64')}`;
  test.each([
    ['token', { token: 'right' }, { token: hidden('right') }, { token: hidden('wrong') }, 'Bearer right'],
    [
      'login',
      { login: user },
      { ...user, password: hidden(user.password) },
      { ...user, password: hidden('pass') },
      basic,
    ],
  ])('a wrong %s fails the run as auth; the right one goes with every request', async (...given) => {
    const [, asked, right, wrong, header] = given;
    const refused = await stage({ ...options, ...asked }, ['load'], wrong);
    refused.engine.state.add('load');
    const message = expect.stringMatching(/asking for (Basic.*WORKFLOW_PASSWORD|Bearer.*WORKFLOW_TOKEN)/);
    await expect(refused.sync()).rejects.toMatchObject({ code: 'auth', message });
    const accepted = await stage({ ...options, ...asked }, ['load'], right);
    accepted.engine.state.add('load');
    expect(await accepted.sync()).toMatchObject(succeeded);
    for (const { headers } of accepted.engine.log) expect(headers.authorization).toBe(header);
  });

  test('a run in an unknown state is read again, however old it is: it is not over', async () => {
    const rig = await stage(options, ['load']);
    const { state, clock } = rig.engine;
    state.add('load');
    const run = state.start('load');
    state.finish('load', run.id, 'levitating');
    await rig.sync();
    clock.advance(4 * day);
    const [step] = run.steps;
    Object.assign(step ?? {}, { status: 'failed' });
    expect(await rig.sync()).toMatchObject(succeeded);
    expect(await storedRuns(rig.rows)).toEqual(rig.engine.truth());
  });

  test.each([
    ['active', 'running'],
    ['unknown', 'levitating'],
  ])('an %s run that vanishes is marked gone once, and comes back if it does', async (_, word) => {
    const rig = await stage(options, ['load']);
    const { state, clock } = rig.engine;
    state.add('load');
    const run = state.start('load', { params: 'A=1' });
    if (word !== 'running') state.finish('load', run.id, word);
    await rig.sync();
    const content = () =>
      rig.rows(
        `select to_jsonb(r) - '{gone_at,_synced_at,_run_id,_row_hash}'::text[] as row, gone_at is not null as is_gone,
          exists (select from workflow.dag_run_steps) as has_steps from workflow.dag_runs r`,
      );
    const [before] = await content();
    clock.advance(day);
    state.forget('load', run.id);
    expect(await rig.sync()).toMatchObject(succeeded);
    expect(await content()).toEqual([{ ...before, is_gone: true, has_steps: true }]);
    expect(await rig.sync()).toMatchObject(unchanged);
    state.dag('load').runs.push(run);
    expect(await rig.sync()).toMatchObject(succeeded);
    expect(await rig.rows('select gone_at from workflow.dag_runs')).toEqual([{ gone_at: null }]);
  });

  describe('an id that is used again', () => {
    let rig: Stage;
    /** A second run of this id, a minute after the engine has forgotten the first. */
    const reuse = (more: { queued?: boolean } = {}) => {
      const { state, clock } = rig.engine;
      state.forget('load', '1');
      clock.advance(minute);
      return state.start('load', { id: '1', params: 'N=2', ...more });
    };
    const ends = (how: string): void => {
      rig.engine.clock.advance(minute);
      rig.engine.state.finish('load', '1', how);
    };
    /** The runs of that id after one more sync. */
    const synced = async () => {
      expect(await rig.sync()).toMatchObject(succeeded);
      return rig.rows(`select dag_run_id, status, params, gone_at is not null as is_gone from workflow.dag_runs
        where told_run_id = '1' order by dag_run_id`);
    };
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
      reuse();
      ends('failed');
      await rig.sync();
      expect(await synced()).toEqual([first, { ...second, status: 'failed' }]);
      expect(await rig.rows('select status from workflow.dags')).toEqual([{ status: 'failed' }]);
      expect(await rig.sync()).toMatchObject(unchanged);
    });

    test('while its first run was active leaves that run as gone', async () => {
      await rig.sync();
      reuse();
      const gone = { ...first, status: 'running', is_gone: true };
      const other = { ...second, dag_run_id: '1@2026-03-01T12:01:00.000Z' };
      expect(await synced()).toEqual([gone, { ...other, status: 'running' }]);
      ends('succeeded');
      expect(await synced()).toEqual([gone, { ...other, status: 'succeeded' }]);
      expect(await rig.sync()).toMatchObject(unchanged);
    });

    test('by a waiting run leaves the earlier run as it was', async () => {
      ends('succeeded');
      await rig.sync();
      const run = reuse({ queued: true });
      for (let count = 0; count < 2; count++) {
        expect(await synced()).toEqual([first, { ...second, status: 'queued' }]);
        rig.engine.clock.advance(minute);
      }
      Object.assign(run, { status: 'running', startedAt: rig.engine.clock.now() });
      expect(await synced()).toEqual([first, { ...second, status: 'running' }]);
      ends('failed');
      expect(await synced()).toEqual([first, { ...second, status: 'failed' }]);
    });
  });
});

test.each([
  ['500', status(500), /^dags: bad: /],
  ['400', inJson({ status: 'error', message: 'cannot be read' }, 400), /^dags: bad: /],
  ['200 and an error', inJson({ status: 'error', message: 'DAG has never run' }), /^dags: bad: /],
  ['no state', inJson({ status: 'success', data: {} }), /the status of bad has no word for its state/],
])(
  'a status that is answered with %s fails that DAG alone, and none of its runs counts as gone',
  async (_, answer, reason) => {
    const rig = await stage({ dialect: 'contract' }, ['bad', 'load', 'send']);
    startAll(rig, 'bad', 'load', 'send');
    const fails = async (): Promise<void> => {
      const bad = rig.engine.script.at(to('bad'), answer);
      const report = await rig.sync();
      expect(report.status).toBe('failed');
      expect(report.streams.find(({ stream }) => stream === 'dags')?.reason).toMatch(reason);
      expect(bad.fired).toBeGreaterThan(0);
      bad.cancel();
    };
    await fails();
    expect([await dags(rig), await dagsOfRuns(rig)]).toEqual(Array(2).fill(['load', 'send']));
    expect(await rig.sync()).toMatchObject(succeeded);
    expect(await dags(rig)).toHaveLength(3);
    await fails();
    expect(await rig.rows('select from workflow.dag_runs where gone_at is not null')).toEqual([]);
  },
);

test('a list that is refused hinders no named DAG: the contract does not promise it', async () => {
  const rig = await stage({ dialect: 'contract' }, ['no such DAG', 'load']);
  rig.engine.state.add('load');
  const match = ({ path }: { readonly path: string }): boolean => /\/dags(\?|$)/.test(path);
  const list = rig.engine.script.at({ times, match }, resetBeforeHeaders);
  expect(await rig.sync()).toMatchObject(succeeded);
  expect(list.fired).toBeGreaterThan(0);
  expect(await dags(rig)).toEqual(['load']);
  expect(rig.notes().join()).toMatch(/lists no no such DAG, named in WORKFLOW_DAGS/);
});

describe('an engine without run ids', () => {
  test('keys its runs by their start, and shows each of them while it is current', async () => {
    const rig = await stage({ dialect: 'contract', ids: false }, ['load']);
    const { state, clock } = rig.engine;
    state.add('load');
    for (let count = 0; count < 2; count++) {
      const { id } = state.start('load');
      await rig.sync();
      clock.advance(minute);
      state.finish('load', id, 'succeeded');
      await rig.sync();
    }
    const runs = 'select dag_run_id, told_run_id, status from workflow.dag_runs order by 1';
    expect(await rig.rows(runs)).toEqual(
      ['12:00', '12:01'].map((at) => ({
        dag_run_id: `started:2026-03-01T${at}:00.000Z`,
        told_run_id: null,
        status: 'succeeded',
      })),
    );
  });

  test('a run without an id and a start is noted, and no active run counts as gone', async () => {
    const rig = await stage({}, ['load']);
    rig.engine.state.add('load');
    const notes = async (data: { readonly status: string; readonly [more: string]: string }) => {
      rig.events.splice(0);
      says(rig, data);
      expect(await rig.sync()).toMatchObject(succeeded);
      return rig.notes().filter((note) => note.startsWith('load: '));
    };
    const runs = () => rig.rows('select dag_run_id, gone_at is not null as gone from workflow.dag_runs');
    expect(await notes({ status: 'running', runId: 'r1' })).toEqual([]);
    const started = { status: 'running', startedAt: '5 minutes ago' };
    for (const data of [{ status: 'running' }, started, { status: 'failed' }]) {
      const found = await notes(data);
      expect(found).toEqual([expect.stringContaining(`the engine says "${data.status}" without`)]);
      expect(await runs()).toEqual([{ dag_run_id: 'r1', gone: false }]);
    }
    // Nothing that runs: then it is gone.
    expect((await notes({ status: 'not started' })).join()).toMatch(/no longer shows the run r1/);
    expect(await runs()).toEqual([{ dag_run_id: 'r1', gone: true }]);
  });

  test.each([
    { list: 'runningSteps', kept: ['extract', 'load'] },
    { list: 'steps', kept: [] },
  ])(
    'keeps the steps that are not in $list any more only where that lists what runs',
    async ({ list, kept }) => {
      const rig = await stage({}, ['load']);
      rig.engine.state.add('load');
      const shows = (status: string, names: readonly string[]) => {
        says(rig, { status, runId: 'r1', [list]: names.map((name) => ({ name, status: 'running' })) });
        return rig.sync();
      };
      const steps = () =>
        namesOf(rig, 'select step_name as name from workflow.dag_run_steps where _deleted_at is null');
      await shows('running', ['extract']);
      await shows('running', ['load']);
      expect(await steps()).toEqual([...new Set([...kept, 'load'])]);
      const deleted = kept.length === 0 ? 1 : 0;
      expect(await shows('succeeded', [])).toMatchObject({ status: 'succeeded', deleted });
      expect(await steps()).toEqual(kept);
      expect(await rig.rows('select state from workflow.dag_runs')).toEqual([{ state: 'succeeded' }]);
      expect(await rig.sync()).toMatchObject(unchanged);
    },
  );

  test('and without WORKFLOW_DAGS says what to configure', async () => {
    const rig = await stage({ dialect: 'contract' });
    const message = expect.stringContaining('WORKFLOW_DAGS');
    await expect(rig.sync()).rejects.toMatchObject({ code: 'misconfigured', message });
  });
});

test.each(['dagu-v2', 'dagu-2.x'] as const)(
  'a long history is read to its end; an unchanged one costs little; a retried run is read again; a window is read alone (%s)',
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
    /** The requests of one sync. */
    const requestsOf = async (report: object) => {
      const from = log.length;
      expect(await rig.sync()).toMatchObject(report);
      return log.slice(from);
    };
    const isDetail = ({ endpoint }: { readonly endpoint: string }) => endpoint.endsWith('{dagRunId}');

    const all = await requestsOf({ ...succeeded, counts: { rejected: 0 } });
    expect(await storedRuns(rig.rows), 'the engine cuts its lists').toEqual(rig.engine.truth());
    expect(all.filter(({ endpoint }) => endpoint.endsWith('/dag-runs')).length).toBeGreaterThan(2);

    const idle = await requestsOf(unchanged);
    expect(idle.filter(isDetail)).toEqual([]);
    expect(idle.length, 'requests when nothing has changed').toBeLessThan(40);

    state.retry('busy.file', 'r0010');
    const retried = await requestsOf(succeeded);
    const row = await rig.rows(`select status from workflow.dag_runs where dag_run_id = 'r0010'`);
    expect(row).toEqual([{ status: 'running' }]);
    state.finish('busy.file', 'r0010', 'succeeded');
    retried.push(...(await requestsOf(succeeded)));
    expect(await storedRuns(rig.rows)).toEqual(rig.engine.truth());
    const details = retried.filter(isDetail).map(({ path }) => path.split('/').at(-1));
    expect(new Set(details), 'an old run that is retried').toEqual(new Set(['r0010']));

    await rig.rows('truncate workflow.dag_runs, workflow.dag_run_steps cascade');
    const window = { from: new Date('2026-02-02T00:00:00Z'), to: new Date('2026-02-03T00:00:00Z') };
    const inside = state
      .dag('busy.file')
      .runs.filter(({ madeAt }) => madeAt >= window.from && madeAt < window.to)
      .map(({ id }) => id);
    expect(inside.length).toBeGreaterThan(50);
    expect(await rig.backfill(window)).toMatchObject(succeeded);
    expect(await namesOf(rig, 'select dag_run_id as name from workflow.dag_runs')).toEqual(inside);
    await rig.sync();
    expect(await storedRuns(rig.rows)).toEqual(rig.engine.truth());
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
  const ofAside: Fault = {
    name: 'the run of aside',
    call: (call) => ({ ...call, path: call.path.replace('/dag-runs/load', '/dag-runs/aside') }),
  };
  const run = /\/dag-runs\/load\//;
  const [v2, contract] = ['dagu-v2', 'contract'] as const;
  test.each([
    ['a list without ids fails', v2, /\/dag-runs$/, 1, nameless, /a run of the engine has no dagRunId/],
    ['404 for a listed run fails', v2, run, times, status(404), /lists the run and answers 404/],
    ['a run of another DAG than requested fails', v2, run, times, ofAside, /of load.* of aside/],
    ['one 404 for a listed run is confirmed', v2, run, 1, status(404), undefined],
    ['one 404 for a status is confirmed', contract, /\/load\/status/, 1, status(404), undefined],
  ] as const)('%s, and the next run reads all', async (_, dialect, path, count, fault, reason) => {
    const rig = await stage({ dialect }, dialect === 'contract' ? ['load', 'aside'] : []);
    const { state, script } = rig.engine;
    state.add('load');
    state.add('aside', { unfiled: true });
    for (const name of ['load', 'aside']) ran(rig, name, 'succeeded', 'nightly');
    const rule = script.at({ match: (call) => path.test(call.path), times: count }, fault);
    const report = await rig.sync({}, oneByOne);
    expect(rule.fired).toBeGreaterThan(0);
    rule.cancel();
    if (reason === undefined) expect(report).toMatchObject(succeeded);
    else {
      expect(report.status).toBe('partly_failed');
      expect(JSON.stringify(report.streams)).toMatch(reason);
      expect(await dagsOfRuns(rig)).not.toContain('load');
      expect(await rig.sync()).toMatchObject(succeeded);
    }
    expect(await storedRuns(rig.rows)).toEqual(rig.engine.truth());
  });
});

// A gateway, or a role of Dagu 2, may close single DAGs (its OpenAPI: ErrorCode auth.forbidden).
test.each([401, 403])('a DAG whose runs answer %i costs itself alone, and can be left out', async (code) => {
  const rig = await stage({ dialect: 'dagu-2.x' });
  startAll(rig, 'etl', 'payroll');
  expect(await rig.sync()).toMatchObject(succeeded);
  const before = await storedRuns(rig.rows);
  ran(rig, 'etl');
  ran(rig, 'payroll');
  const closed = { code: 'auth.forbidden', message: 'Permission denied' };
  rig.engine.script.at(to('/dag-runs/payroll/'), inJson(closed, code));
  const report = await rig.sync();
  expect(report.status).toBe('partly_failed');
  expect(report.error?.message).toMatch(
    /payroll.*role of this API key.*add dags:payroll to WORKFLOW_EXCLUDE/,
  );
  expect(report.passesAfterMs).toBeUndefined();
  expect((await storedRuns(rig.rows)).length).toBe(before.length + 1);

  reading = { ...reading, exclude: ['dags:payroll'] };
  const asked = rig.engine.log.length;
  expect(await rig.sync()).toMatchObject(succeeded);
  expect(rig.engine.log.slice(asked).filter(({ path }) => path.includes('payroll'))).toEqual([]);
  expect(await rig.rows('select from workflow.dag_runs where gone_at is not null')).toEqual([]);
  expect(await dags(rig)).toEqual(['etl', 'payroll']);
  rig.engine.script.clear();
  reading = { ...reading, exclude: [] };
  expect(await rig.sync()).toMatchObject(succeeded);
  expect((await storedRuns(rig.rows)).length).toBe(before.length + 2);
});

test.each([
  ['Basic realm="restricted"', /WORKFLOW_USERNAME and WORKFLOW_PASSWORD/],
  ['Bearer realm="Restricted"', /WORKFLOW_TOKEN to an API key.*builtin/],
])('an engine that refuses everything with %s says what it takes', async (challenge, advice) => {
  const rig = await stage({ dialect: 'dagu-2.x' });
  rig.engine.script.at(to('/'), status(401, { headers: { 'www-authenticate': challenge } }));
  await expect(rig.sync()).rejects.toThrow(advice);
  await expect(rig.sync()).rejects.toMatchObject({ code: 'auth' });
});

test('a token that is revoked in the middle of a run ends it', async () => {
  const rig = await stage({ dialect: 'dagu-2.x' });
  startAll(rig, 'etl');
  let isOver = false;
  const match = ({ path }: { readonly path: string }) => (isOver ||= path.includes('/dag-runs/etl/'));
  rig.engine.script.at({ times, match }, status(401));
  await expect(rig.sync()).rejects.toMatchObject({ code: 'auth' });
});

test("a DAG whose file the engine cannot read is not deleted, and the engine's reason is noted", async () => {
  const rig = await stage({ dialect: 'dagu-v2' });
  const { state, script } = rig.engine;
  for (const name of ['load', 'send']) state.add(name);
  expect(await rig.sync()).toMatchObject(succeeded);
  // As 1.30.2 answers while a file is empty (measured).
  const latestDAGRun = { dagRunId: '', name: 'load', status: 0, statusLabel: 'not_started' };
  const body = {
    dags: [{ dag: { name: 'load' }, errors: null, fileName: 'load', latestDAGRun, suspended: false }],
    errors: ['reading send failed: no DAGs found in file "/dags/send.yaml"'],
    pagination: { currentPage: 1, nextPage: 1, prevPage: 1, totalPages: 1, totalRecords: 1 },
  };
  const rule = script.at({ endpoint: '/api/v2/dags', times }, inJson(body));
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(rule.fired).toBeGreaterThan(0);
  expect(await rig.rows('select from workflow.dags where _deleted_at is not null')).toEqual([]);
  expect(rig.notes().join()).toMatch(/cannot read all files of its DAGs.*reading send failed: no DAGs found/);
  rule.cancel();
  state.dags.delete('send');
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 1 });
});

test('a named DAG that is removed while it runs leaves its run as gone, reported once', async () => {
  const rig = await stage({}, ['etl', 'other']);
  rig.engine.state.add('other');
  startAll(rig, 'etl');
  const goneAfterSync = async () => {
    rig.events.splice(0);
    expect(await rig.sync()).toMatchObject(succeeded);
    const notes = rig.notes().filter((note) => /^etl: the engine no longer shows the run/.test(note));
    const [row] = await rig.rows('select state, gone_at is not null as gone from workflow.dag_runs');
    return { ...row, notes: notes.length };
  };
  expect(await goneAfterSync()).toEqual({ state: 'active', gone: false, notes: 0 });
  rig.engine.state.dags.delete('etl');
  for (const notes of [1, 0]) expect(await goneAfterSync()).toEqual({ state: 'active', gone: true, notes });
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
  const open = async (named: readonly string[]): Promise<Stage> => {
    const rig = await stage({ dialect: 'dagu-v2' }, named);
    rig.engine.state.add('load');
    for (const name of ['aside', 'other']) rig.engine.state.add(name, { unfiled: true });
    for (const name of ['load', 'aside', 'aside', 'other']) ran(rig, name, 'failed');
    return rig;
  };
  const rig = await open([]);
  for (const inserted of [5, 0]) {
    expect(await rig.sync()).toMatchObject({ ...succeeded, counts: { inserted, rejected: 0 } });
    expect(await storedRuns(rig.rows)).toEqual(rig.engine.truth());
  }
  expect(await dags(rig)).toEqual(['load']);
  const named = await open(['load', 'aside', 'nothing']);
  expect(await named.sync()).toMatchObject(succeeded);
  expect(await dagsOfRuns(named)).toEqual(['aside', 'load']);
  expect(named.notes().join()).toMatch(/lists no aside, nothing, named in WORKFLOW_DAGS/);
});

test('a DAG that moves onto a page already read is not deleted', async () => {
  const rig = await stage({ dialect: 'dagu-v2' });
  const { state, script } = rig.engine;
  for (let count = 1; count <= 201; count++) state.add(`d${String(count).padStart(3, '0')}`);
  expect(await rig.sync()).toMatchObject(succeeded);
  const rule = script.at(
    { match: ({ path, query }) => path === '/api/v2/dags' && query.page === '2' },
    () => void state.dags.delete('d001'),
  );
  // The one that is removed was on the first page, which had been read.
  for (const deleted of [[], ['d001']]) {
    expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: deleted.length });
    expect(rule.fired).toBe(1);
    expect(await namesOf(rig, 'select name from workflow.dags where _deleted_at is not null')).toEqual(
      deleted,
    );
  }
});

test('the reading schema says how reliable a DAG is', async () => {
  const rig = await stage({ dialect: 'dagu-v2' });
  const { state, clock } = rig.engine;
  state.add('load');
  for (const end of ['succeeded', 'succeeded', 'failed', 'aborted']) {
    clock.advance(9 * minute);
    ran(rig, 'load', end);
  }
  state.start('load');
  await rig.sync();
  const daily = { dag_name: 'load', date_day: '2026-03-01', runs: 5, succeeded: 2, failed: 1, aborted: 1 };
  const times = { p50_duration_seconds: '60.000', total_duration_seconds: '240.000' };
  expect(
    await rig.rows(`select dag_name, date_day::text, runs::int, succeeded::int, failed::int, aborted::int, unfinished::int,
      success_ratio, p50_duration_seconds, total_duration_seconds from bi.workflow_daily`),
  ).toEqual([{ ...daily, unfinished: 1, success_ratio: '0.5000', ...times }]);
  const failed = `select first_failed_step as first, failed_steps::int as steps, error from bi.workflow_runs
    where status = 'failed'`;
  expect(await rig.rows(failed)).toEqual([{ first: 'one', steps: 1, error: 'one: failed' }]);
});

test('a step that cannot become a row costs itself, and stays rejected when a run of another DAG has the same id', async () => {
  const rig = await stage({ dialect: 'dagu-v2' });
  const { state, clock } = rig.engine;
  // A key of that length does not fit into an index.
  state.add('load', { steps: ['x'.repeat(3000)] });
  state.add('send');
  const id = '2026-03-01';
  const bad = state.start('load', { id });
  state.start('send', { id });
  const becomes = async (reject: string, counts: object): Promise<void> => {
    expect(await rig.sync({}, oneByOne)).toMatchObject({ status: 'succeeded', counts });
    expect(await rig.rows('select status from ops.rejects')).toEqual([{ status: reject }]);
  };
  await becomes('open', { rejected: 1 });
  clock.advance(minute);
  state.finish('send', id, 'succeeded');
  await becomes('open', { rejected: 1 });
  expect(await dagsOfRuns(rig)).toEqual(['load', 'send']);
  Object.assign(bad.steps[0] ?? {}, { name: 'one' });
  await becomes('resolved', { updated: 1, rejected: 0 });
});

test('a DAG whose name Postgres cannot hold is rejected alone, with its run', async () => {
  const rig = await stage({ dialect: 'dagu-v2' });
  rig.engine.state.add('bad', { name: 'bad \0' });
  rig.engine.state.start('bad');
  startAll(rig, 'load');
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { rejected: 2 } });
  expect([await dags(rig), await dagsOfRuns(rig)]).toEqual([['load'], ['load']]);
});

/** Dagu 2 asks for a token where its users are its own (`auth.mode: builtin`, its default). */
test('an engine with users of its own says that it wants a token', async () => {
  const rig = await stage({ dialect: 'dagu-2.x', token: 'dagu_key' });
  const message = expect.stringMatching(/asking for Bearer.*WORKFLOW_TOKEN to an API key/);
  await expect(rig.sync()).rejects.toMatchObject({ code: 'auth', message });
});

test.each(['dagu-v2', 'dagu-2.x'] as const)(
  'an engine behind a remote node is read (%s)',
  async (dialect) => {
    const other = await startWorkflow({ dialect, now });
    onTestFinished(() => other.close());
    const rig = await stage({ dialect, remoteNodes: { east: other } }, [], { remoteNode: 'east' });
    rig.engine.state.add('here');
    const run = other.state.start(other.state.add('there').fileName);
    expect(await rig.sync()).toMatchObject(succeeded);
    expect(await rig.rows('select dag_name, dag_run_id from workflow.dag_runs')).toEqual([
      { dag_name: 'there', dag_run_id: run.id },
    ]);
    const unknown = await stage({ dialect }, [], { remoteNode: 'west' });
    const message = expect.stringContaining('remote node west not found');
    await expect(unknown.sync()).rejects.toMatchObject({ code: 'misconfigured', message });
  },
);

/** Dagu retries a run under its id and then shows the last try alone (measured on 1.30.2): the day of the failure would be lost. */
describe.each(['dagu-v2', 'dagu-2.x'] as const)('a run that is retried (%s)', (dialect) => {
  const tries = (rig: Stage) =>
    rig.rows(`select attempt_number as attempt, is_last, state, started_at::text as start, finished_at::text as "end"
      from bi.workflow_attempts order by dag_name desc, attempt_number`);

  test('keeps the days on which it failed, over two midnights', async () => {
    const rig = await stage({ dialect });
    const { state, clock } = rig.engine;
    state.add('deploy');
    const id = ran(rig, 'deploy', 'failed');
    await rig.sync();
    for (const end of ['failed', 'succeeded']) {
      clock.advance(day);
      state.retry('deploy', id, { triggerActor: 'ann' });
      clock.advance(minute);
      state.finish('deploy', id, end);
      expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
    }
    expect(await storedRuns(rig.rows)).toEqual(rig.engine.truth());
    expect(await tries(rig)).toEqual([
      {
        attempt: 1,
        is_last: false,
        state: 'failed',
        start: '2026-03-01 12:00:00+00',
        end: '2026-03-01 12:01:00+00',
      },
      {
        attempt: 2,
        is_last: false,
        state: 'failed',
        start: '2026-03-02 12:01:00+00',
        end: '2026-03-02 12:02:00+00',
      },
      {
        attempt: 3,
        is_last: true,
        state: 'succeeded',
        start: '2026-03-03 12:02:00+00',
        end: '2026-03-03 12:03:00+00',
      },
    ]);
    const actors = 'select trigger_actor from bi.workflow_attempts where not is_last order by attempt_number';
    const second = dialect === 'dagu-2.x' ? 'ann' : null;
    expect(await rig.rows(actors)).toEqual([{ trigger_actor: null }, { trigger_actor: second }]);
    expect(
      await rig.rows(
        'select date_day::text, runs::int, retries::int, failed::int from bi.workflow_daily order by 1',
      ),
    ).toEqual([
      { date_day: '2026-03-01', runs: 1, retries: 0, failed: 1 },
      { date_day: '2026-03-02', runs: 1, retries: 1, failed: 1 },
      { date_day: '2026-03-03', runs: 1, retries: 1, failed: 0 },
    ]);
    expect(
      await rig.rows(
        'select state, attempts, first_failed_at::text, finished_at::text from bi.workflow_runs',
      ),
    ).toEqual([
      {
        state: 'succeeded',
        attempts: 3,
        first_failed_at: '2026-03-01 12:01:00+00',
        finished_at: '2026-03-03 12:03:00+00',
      },
    ]);
    // Nothing of it depends on how often it is read.
    expect(await rig.sync()).toMatchObject(unchanged);
    expect(await rig.sync({ full: true })).toMatchObject(succeeded);
    expect((await tries(rig)).length).toBe(3);
  });

  test('is another try while it waits in a queue, and once', async () => {
    const rig = await stage({ dialect });
    const { state, clock } = rig.engine;
    state.add('deploy');
    const id = ran(rig, 'deploy', 'failed');
    await rig.sync();
    clock.advance(minute);
    const run = state.retry('deploy', id, { queued: true });
    await rig.sync();
    clock.advance(minute);
    Object.assign(run, { status: 'running', startedAt: clock.now() });
    await rig.sync();
    clock.advance(minute);
    state.finish('deploy', id, 'failed');
    await rig.sync();
    expect((await tries(rig)).map(({ attempt, state }) => [attempt, state])).toEqual([
      [1, 'failed'],
      [2, 'failed'],
    ]);
  });

  test('is no other try where the engine corrects how it ended, or it waits for a person', async () => {
    const rig = await stage({ dialect });
    const { state, clock } = rig.engine;
    for (const name of ['zombie', 'asking']) state.add(name);
    const zombie = ran(rig, 'zombie', 'failed');
    const asking = ran(rig, 'asking', 'waiting');
    await rig.sync();
    clock.advance(minute);
    Object.assign(state.run('zombie', zombie), { status: 'succeeded', finishedAt: clock.now() });
    state.retry('asking', asking);
    clock.advance(minute);
    state.finish('asking', asking, 'rejected');
    await rig.sync();
    expect((await tries(rig)).map(({ attempt, state }) => [attempt, state])).toEqual([
      [1, 'succeeded'],
      [1, 'failed'],
    ]);
  });
});

test('what 2.15 says of people, workspaces and retries has columns, and the rest is kept', async () => {
  const rig = await stage({ dialect: 'dagu-2.x' });
  const { state } = rig.engine;
  const more = { dag: { workspace: 'shop' }, file: { nextRun: '2026-03-02T02:00:00Z' } };
  state.add('refund', { more });
  const run = state.start('refund', { triggerType: 'webhook', triggerActor: 'apikey:shop' });
  state.finish('refund', run.id, 'waiting');
  const conditions = [{ type: 'Queued', status: 'False', reason: 'started', message: '', checkedAt: '' }];
  const onWait = {
    step: { name: 'tell' },
    status: 4,
    statusLabel: 'succeeded',
    startedAt: '',
    finishedAt: '',
  };
  run.more = { workspace: 'shop', profileName: 'prod', autoRetryLimit: 3, conditions, onWait };
  const [one, two] = run.steps;
  if (one) one.more = { humanTaskCompletedBy: 'Ann', humanTaskCompletedById: 'u1' };
  if (two) two.more = { rejectedBy: 'Bo', rejectedAt: '2026-03-01T12:05:00Z', rejectionReason: 'too much' };
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
  expect(
    await rig.rows(`select status, state, trigger_type, trigger_actor, workspace, profile_name, auto_retry_limit,
      _extra -> 'conditions' as conditions from workflow.dag_runs`),
  ).toEqual([
    {
      status: 'waiting',
      state: 'active',
      trigger_type: 'webhook',
      trigger_actor: 'apikey:shop',
      workspace: 'shop',
      profile_name: 'prod',
      auto_retry_limit: '3',
      conditions,
    },
  ]);
  expect(await rig.rows('select workspace, next_run_at::text from bi.dags')).toEqual([
    { workspace: 'shop', next_run_at: '2026-03-02 02:00:00+00' },
  ]);
  expect(
    await rig.rows(`select step_name, kind, answered_by, answered_at::text, rejection_reason
      from workflow.dag_run_steps order by position`),
  ).toEqual([
    { step_name: 'one', kind: 'step', answered_by: 'Ann', answered_at: null, rejection_reason: null },
    {
      step_name: 'two',
      kind: 'step',
      answered_by: 'Bo',
      answered_at: '2026-03-01 12:05:00+00',
      rejection_reason: 'too much',
    },
    { step_name: 'tell', kind: 'onWait', answered_by: null, answered_at: null, rejection_reason: null },
  ]);
});
