import { describe, expect, onTestFinished, test } from 'vitest';
import { type Company, inhabit } from '../../../../simulators/dagu/company.ts';
import {
  startWorkflow,
  type WorkflowOptions,
  type WorkflowSimulator,
} from '../../../../simulators/dagu/server.ts';

const now = new Date('2026-03-01T12:00:00Z');
const minute = 60_000;
const day = 86_400_000;

type Inhabited = WorkflowSimulator & { readonly jobs: Company };

const company = async (seed = 7, options: WorkflowOptions = {}): Promise<Inhabited> => {
  const engine = await startWorkflow({ now, ...options });
  onTestFinished(async () => {
    await engine.close();
    expect(engine.errors).toEqual([]);
  });
  return { ...engine, jobs: inhabit(engine, { seed }) };
};

const ask = async (engine: WorkflowSimulator, route: string, method = 'GET') => {
  const answer = await fetch(`${engine.url}/api/v1/dags/${route}`, { method });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
};

describe('four weeks of runs', () => {
  test('start at the ticks of their schedule, and what is switched off never does', async () => {
    const { state } = await company();
    const starts = (name: string) =>
      state.dag(name).runs.map(({ madeAt }) => madeAt.toISOString().slice(0, 16));
    expect(starts('train_recommendations')).toEqual([
      '2026-02-01T20:00',
      '2026-02-08T20:00',
      '2026-02-15T20:00',
      '2026-02-22T20:00',
    ]);
    expect(starts('nightly_etl')).toHaveLength(28);
    expect(starts('nightly_etl').at(-1)).toBe('2026-03-01T02:10');
    // 2026-02-28 is a Saturday.
    expect(starts('sales_report').slice(-2)).toEqual(['2026-02-26T06:00', '2026-02-27T06:00']);
    expect(starts('sync_stock').slice(-2)).toEqual(['2026-03-01T01:15', '2026-03-01T07:15']);
    expect(starts('archive_logs')).toEqual([]);
    expect(state.dag('archive_logs').suspended).toBe(true);
    expect(state.dag('sales_report').schedule).toBe('0 6 * * 1-5');
  });
});

describe('time goes on', () => {
  test('a look every ten minutes shows the same as one after two days', async () => {
    const patient = await company();
    const restless = await company();
    const states = new Set<string>();
    for (let at = 0; at < 2 * day; at += 10 * minute) {
      restless.clock.advance(10 * minute);
      restless.jobs.live();
      for (const { status } of restless.truth()) states.add(status);
    }
    patient.clock.advance(2 * day);
    patient.jobs.live();
    expect(restless.truth()).toEqual(patient.truth());
    expect([...states]).toContain('running');
    const made = patient
      .truth()
      .filter(({ startedAt }) => startedAt !== null && startedAt > now.toISOString());
    // Two nights, eight times the stock, one Monday and one Tuesday, the Sunday's model, and Monday's deployment.
    expect(made).toHaveLength(2 * 3 + 8 + 2 + 1 + 1);
  });

  test('every request sees the engine as it is now; a run that is started over the API takes its time and ends', async () => {
    const engine = await company();
    expect(await ask(engine, 'sales_report/start', 'POST')).toMatchObject({ status: 200 });
    expect(await ask(engine, 'sales_report/status')).toMatchObject({ body: { data: { status: 'running' } } });
    expect(await ask(engine, 'sales_report/start', 'POST')).toMatchObject({ status: 409 });
    engine.clock.advance(60 * minute);
    const { body } = await ask(engine, 'sales_report/status');
    expect(body.data.status).toMatch(/^(succeeded|failed)$/);
    expect(body.data.details.finishedAt).toMatch(/^2026-03-01T12:\d\d/);
  });
});
