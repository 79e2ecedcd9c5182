import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEngine } from '../../../../src/connectors/dagu/control.ts';
import { openWorkflow } from '../../../../src/connectors/dagu/source.ts';
import { buildApp } from '../../../../src/server/api/app.ts';
import { type TestDatabase, testDatabase } from '../../../support/postgres.ts';
import { openSourceRig, type SourceRig } from '../../../support/source-rig.ts';
import { type Conductor, catalogue, conduct, dag, report, runnerOf } from '../../scheduler/orchestra.ts';
import { until } from './engine.ts';

/** Our own control API is a workflow engine of the contract: another Tidemark may read and start it. */
let own: TestDatabase;
let conductor: Conductor;
let app: Awaited<ReturnType<typeof buildApp>>;
let url: string;
let rig: SourceRig;
let dags: readonly string[];
let finish: () => void = () => undefined;
const token = 'o'.repeat(40);

beforeAll(async () => {
  own = await testDatabase();
  const known = catalogue(dag('tracker'), dag('ads'));
  const runner = runnerOf(['tracker', 'ads'], async (ask) => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return report(ask);
  });
  // A run stays as it is for as long as a busy machine takes to read it.
  conductor = conduct(own.warehouse, known, runner, { times: { leaseMs: 60_000, stuckMs: 60_000 } });
  app = await buildApp({
    ...{ control: conductor.control, db: own.warehouse.db, version: 'test' },
    tokens: { operate: token, read: undefined },
    unready: async () => [],
    signal: new AbortController().signal,
    trouble: () => undefined,
  });
  url = await app.listen({ host: '127.0.0.1', port: 0 });
  rig = await openSourceRig((observe) =>
    openWorkflow({ baseUrl: url, dags, token: { reveal: () => token } }, { observe }),
  );
});
afterAll(async () => {
  finish();
  await rig?.close();
  await conductor?.service.end();
  await app?.close();
  await own?.drop();
});

const runs = () =>
  rig.rows(
    'select dag_name, dag_run_id, status, state, trigger_type, params, queued_at is not null as queued from workflow.dag_runs',
  );

test('its DAGs and runs are read by name and by its list, while they run and when they are over', async () => {
  dags = [];
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
  expect(await rig.rows('select name, description, status, state from workflow.dags order by name')).toEqual([
    { name: 'ads', description: 'About ads.', status: 'never_run', state: 'idle' },
    { name: 'tracker', description: 'About tracker.', status: 'never_run', state: 'idle' },
  ]);
  expect(await runs()).toEqual([]);

  const engine = openEngine({ baseUrl: url, token: { reveal: () => token } }, ['tracker']);
  const { signal } = new AbortController();
  try {
    const params = 'STREAMS=issues';
    const { runId } = await engine.start('tracker', { params, runId: 'unused' }, signal);
    await expect(engine.start('tracker', { params: '', runId: 'unused' }, signal)).rejects.toMatchObject({
      code: 'transient',
    });
    const is = (label: string) =>
      until(`the run being ${label}`, async () => {
        const now = await engine.status('tracker', runId ?? '', signal);
        return now?.label === label ? now : undefined;
      });
    expect(await is('running')).toMatchObject({ runId, state: 'active', params });
    dags = ['tracker', 'nothing'];
    expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
    const row = { dag_name: 'tracker', dag_run_id: runId, trigger_type: 'api', params, queued: true };
    expect(await runs()).toEqual([{ ...row, status: 'running', state: 'active' }]);
    finish();
    expect(await is('succeeded')).toMatchObject({ state: 'succeeded' });
    expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
    expect(await runs()).toEqual([{ ...row, status: 'succeeded', state: 'succeeded' }]);
    expect(await rig.sync()).toMatchObject({ counts: { inserted: 0, updated: 0 } });
  } finally {
    await engine.close();
  }
});
