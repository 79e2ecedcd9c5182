import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEngine, openWorkflow } from '../../../../src/connectors/dagu/source.ts';
import { openSourceRig, type SourceRig } from '../../../support/source-rig.ts';
import { hasEngine, type RealEngine, startEngine, until } from './engine.ts';

if (!hasEngine)
  console.warn(
    '\n*** The real workflow engine is not installed (npm has it for Linux on x64): its tests are SKIPPED ***\n',
  );

const files = {
  good: 'description: goes well\nparams: FROM=a TO=b\ntags: [x, y]\nsteps:\n  - name: one\n    command: echo hello\n  - name: two\n    command: echo bye\n    depends: one\n',
  bad: 'steps:\n  - name: one\n    command: sh -c "echo out; echo trouble >&2; exit 3"\n  - name: two\n    command: echo bye\n    depends: one\nhandlerOn:\n  failure:\n    command: echo sorry\n',
  long: 'steps:\n  - name: wait\n    command: sleep 60\n',
  // One name within another: a list that is asked for one must not show the other.
  good_too: 'steps:\n  - name: one\n    command: echo hello\n',
};

interface Run {
  readonly dagRunId: string;
  readonly name: string;
  readonly status: number;
  readonly statusLabel: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly params?: string;
  readonly nodes: readonly {
    step: { name: string };
    statusLabel: string;
    startedAt: string;
    error?: string;
  }[];
}

describe.skipIf(!hasEngine)('the real engine', () => {
  let engine: RealEngine;
  let rig: SourceRig;
  const runAt = async (dag: string, id: string): Promise<Run> => {
    const { body } = await engine.ask(`/dag-runs/${dag}/${id}`);
    return (body as { dagRunDetails: Run }).dagRunDetails;
  };
  /** A POST that the engine accepts. */
  const post = async (route: string, body: object = {}): Promise<void> =>
    expect(await engine.ask(route, body)).toMatchObject({ status: 200 });
  /** Waits for a run to have this state. A run that failed instead is shown with its steps. */
  const becomes = (dag: string, id: string, label: string): Promise<Run> =>
    until(`${dag} ${id} becoming ${label}`, async () => {
      const run = await runAt(dag, id).catch(() => undefined);
      if (run?.statusLabel === label) return run;
      if (run?.statusLabel === 'failed') throw new Error(`It failed: ${JSON.stringify(run.nodes)}`);
      return undefined;
    });

  beforeAll(async () => {
    engine = await startEngine(files);
    rig = await openSourceRig('workflow', (note) =>
      openWorkflow({ baseUrl: engine.url, dags: [] }, { note }),
    );
    for (const [dag, id] of Object.entries({ good: 'g1', bad: 'b1', long: 'l1', good_too: 't1' }))
      await post(`/dags/${dag}/start`, { dagRunId: id });
    await becomes('good', 'g1', 'succeeded');
    await becomes('bad', 'b1', 'failed');
    await becomes('long', 'l1', 'running');
    await becomes('good_too', 't1', 'succeeded');
  });
  afterAll(async () => {
    await rig?.close();
    await engine?.close();
  });

  /** The warehouse's rows with the engine's names. */
  const stored = () =>
    rig.rows(`select dag_name as name, dag_run_id as "dagRunId", status_code::int as status, r.status as "statusLabel",
        coalesce(to_char(started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '') as "startedAt",
        coalesce(to_char(finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '') as "finishedAt", r.params
      from workflow.dag_runs r order by 1, 2`);

  const inEngine = async (...ids: readonly (readonly [string, string])[]) => {
    const runs = await Promise.all(ids.map(([dag, id]) => runAt(dag, id)));
    return runs
      .map(({ name, dagRunId, status, statusLabel, startedAt, finishedAt: end, params = null }) => {
        const finishedAt = end === '-' ? '' : end;
        return { name, dagRunId, status, statusLabel, startedAt, finishedAt, params };
      })
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  };
  const all = [
    ['bad', 'b1'],
    ['good', 'g1'],
    ['good_too', 't1'],
    ['long', 'l1'],
  ] as const;

  test('its DAGs, runs, and steps are in the warehouse as it gives them', async () => {
    const report = await rig.sync();
    expect(report).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
    expect(await stored()).toEqual(await inEngine(...all));
    const steps = await rig.rows(
      `select dag_name, step_name, kind, status, state, error from workflow.dag_run_steps
       where dag_name in ('bad', 'good') order by dag_name, position`,
    );
    const fine = { kind: 'step', status: 'succeeded', state: 'succeeded', error: null };
    const failed = { status: 'failed', state: 'failed', error: expect.stringContaining('exit status 3') };
    const aborted = { status: 'aborted', state: 'aborted', error: 'upstream failed' };
    expect(steps).toEqual([
      { dag_name: 'bad', step_name: 'one', kind: 'step', ...failed },
      { dag_name: 'bad', step_name: 'two', kind: 'step', ...aborted },
      { dag_name: 'bad', step_name: 'onFailure', ...fine, kind: 'onFailure' },
      { dag_name: 'good', step_name: 'one', ...fine },
      { dag_name: 'good', step_name: 'two', ...fine },
    ]);
    expect(
      await rig.rows(`select file_name, description, tags from workflow.dags where name = 'good'`),
    ).toEqual([{ file_name: 'good', description: 'goes well', tags: ['x', 'y'] }]);
  });

  test('a second run writes nothing, and a run that was stopped since is read again', async () => {
    const unchanged = { status: 'succeeded', counts: { inserted: 0, updated: 0 }, deleted: 0 };
    expect(await rig.sync()).toMatchObject(unchanged);
    await post('/dag-runs/long/l1/stop');
    await becomes('long', 'l1', 'aborted');
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await stored()).toEqual(await inEngine(...all));
    const long = `select state, finished_at is not null as ended from workflow.dag_runs where dag_name = 'long'`;
    expect(await rig.rows(long)).toEqual([{ state: 'aborted', ended: true }]);
  });

  test('a run that is retried under its id stays one row, as it went the last time', async () => {
    await rig.sync();
    const before = await runAt('bad', 'b1');
    // The engine gives whole seconds: within the same one a retry would look like the first try.
    await sleep(Math.max(0, Date.parse(before.startedAt) + 1_000 - Date.now()));
    await post('/dag-runs/bad/b1/retry', { dagRunId: 'b1' });
    await until('the retry', async () => {
      const now = await runAt('bad', 'b1');
      return now.startedAt !== before.startedAt && now.statusLabel === 'failed' ? now : undefined;
    });
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await stored()).toEqual(await inEngine(...all));
    const tries = `select attempt_number as n, is_last, state, started_at from bi.workflow_attempts
      where dag_name = 'bad' order by 1`;
    const after = await runAt('bad', 'b1');
    expect(await rig.rows(tries)).toEqual([
      { n: 1, is_last: false, state: 'failed', started_at: new Date(before.startedAt) },
      { n: 2, is_last: true, state: 'failed', started_at: new Date(after.startedAt) },
    ]);
  });

  test('a run that was started under a name of its own, or from a definition of its own, is read as well', async () => {
    // The engine removes the file of such a definition, and its folder, as soon as the run has begun:
    // a first step that would start in that folder comes too late now and then, and fails.
    const spec = 'workingDir: /\nsteps:\n  - name: one\n    command: echo inline\n';
    await post('/dags/good/start', { dagRunId: 'o1', dagName: 'aside' });
    await post('/dag-runs', { dagRunId: 'i1', name: 'inline', spec });
    await becomes('aside', 'o1', 'succeeded');
    await becomes('inline', 'i1', 'succeeded');
    expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
    expect(await stored()).toEqual(await inEngine(['aside', 'o1'], ...all, ['inline', 'i1']));
  });

  test('it is started by an id once, and asked for its state, as a hand-off does', async () => {
    const control = openEngine({ baseUrl: engine.url }, ['long']);
    const { signal } = new AbortController();
    try {
      const how = { params: 'RUN_ID=7 FROM=2026-01-01T00:00:00.000Z', runId: 'tidemark-nightly-7' };
      expect(await control.takesRunId(signal)).toBe(true);
      for (let times = 0; times < 2; times++)
        expect(await control.start('long', how, signal)).toEqual({ runId: how.runId });
      await becomes('long', how.runId, 'running');
      const running = { ...how, state: 'active', label: 'running' };
      expect(await control.status('long', how.runId, signal)).toMatchObject(running);
      expect(await control.status('long', 'never-started', signal)).toBeUndefined();
      await expect(control.start('nothing', how, signal)).rejects.toMatchObject({ code: 'missing' });
      await post(`/dag-runs/long/${how.runId}/stop`);
      await becomes('long', how.runId, 'aborted');
      // Where nothing runs it does not show another run for an id that it does not know: it fails.
      expect(await control.status('long', 'never-started', signal)).toBeUndefined();
      const aborted = { state: 'failed', label: 'aborted' };
      expect(await control.status('long', how.runId, signal)).toMatchObject(aborted);
    } finally {
      await control.close();
    }
  });
});

/** Dagu's own Basic authentication, which public guides to it set up first; its answer to a wrong login is 401 without a body. */
describe.skipIf(!hasEngine)('the real engine with Basic authentication, below a path', () => {
  // RFC 7617: only the first colon divides, and the text is UTF-8.
  const login = { username: 'reader', password: 'pass:wörd €:' };
  let engine: RealEngine;
  beforeAll(async () => {
    engine = await startEngine({ good: files.good }, { login, basePath: '/dagu' });
  });
  afterAll(() => engine?.close());
  const secret = (text: string) => ({ reveal: () => text });
  const { signal } = new AbortController();
  const settings = () => ({ baseUrl: engine.url, username: login.username });

  test('is read, and started by a hand-off', async () => {
    const whole = { ...settings(), password: secret(login.password) };
    const rig = await openSourceRig('workflow', (note) => openWorkflow({ ...whole, dags: [] }, { note }));
    const control = openEngine(whole, ['good']);
    try {
      await control.start('good', { params: '', runId: 'h1' }, signal);
      await until('the end of the run', async () =>
        (await control.status('good', 'h1', signal))?.state === 'succeeded' ? true : undefined,
      );
      expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
      expect(await rig.rows('select dag_run_id, state from workflow.dag_runs')).toEqual([
        { dag_run_id: 'h1', state: 'succeeded' },
      ]);
    } finally {
      await control.close();
      await rig.close();
    }
  });

  test.each([
    ['no login', () => ({ baseUrl: engine.url })],
    ['a wrong password', () => ({ ...settings(), password: secret('passwörd') })],
    ['a token', () => ({ baseUrl: engine.url, token: secret('dagu_0123') })],
  ])('says what to set: %s', async (_, given) => {
    const source = openWorkflow({ ...given(), dags: [] });
    const control = openEngine(given(), ['good']);
    const message = expect.stringMatching(
      /401, asking for Basic.*WORKFLOW_USERNAME and WORKFLOW_PASSWORD.*WORKFLOW_TOKEN/,
    );
    try {
      await expect(source.check(signal)).rejects.toMatchObject({ code: 'auth', message });
      const started = control.start('good', { params: '', runId: 'h2' }, signal);
      await expect(started).rejects.toMatchObject({ code: 'auth', message });
    } finally {
      await source.http.close();
      await control.close();
    }
  });
});
