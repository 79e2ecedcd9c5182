import { afterEach, describe, expect, test } from 'vitest';
import {
  startWorkflow,
  type WorkflowOptions,
  type WorkflowSimulator,
} from '../../../../simulators/dagu/server.ts';

let engine: WorkflowSimulator;
const start = async (options: WorkflowOptions = {}): Promise<void> => {
  engine = await startWorkflow({ now: new Date('2026-03-01T12:00:00Z'), ...options });
  engine.state.add('load');
};
afterEach(async () => {
  expect(engine.errors).toEqual([]);
  await engine.close();
});

const ask = async (route: string, method = 'GET', body?: string) => {
  const sent = body !== undefined && { body, headers: { 'content-type': 'application/json' } };
  const answer = await fetch(`${engine.url}${route}`, { method, ...sent });
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.includes('json') === true;
  return { status: answer.status, body: isJson ? JSON.parse(text) : text };
};

describe('the contract', () => {
  test('every answer is the envelope: data on success, a message on error', async () => {
    await start();
    for (const [route, method, code] of [
      ['/api/v1/dags/load/start', 'POST', 200],
      ['/api/v1/dags/load/status', 'GET', 200],
      ['/api/v1/dags/load/stop', 'POST', 200],
      ['/api/v1/dags/load/stop', 'POST', 400],
      ['/api/v1/dags/none/status', 'GET', 404],
      ['/api/v1/dags/none/start', 'POST', 404],
    ] as const) {
      const answer = await ask(route, method);
      const good = { status: 'success', data: expect.any(Object) };
      const body = code === 200 ? good : { status: 'error', message: expect.any(String) };
      expect(answer).toMatchObject({ status: code, body });
      expect(Object.keys(answer.body)).toHaveLength(2);
    }
  });
});

describe('the vendor until 1.30', () => {
  test('answers as was measured: null for empty lists, 500 for a start without a body, 409 for an id that is there', async () => {
    await start({ dialect: 'dagu-v2' });
    expect(await ask('/api/v2/dag-runs/load')).toEqual({ status: 200, body: { dagRuns: null } });
    expect(await ask('/api/v2/dags/load/start', 'POST')).toMatchObject({ status: 500, body: '' });
    const startA = () => ask('/api/v2/dags/load/start', 'POST', '{"dagRunId":"a"}');
    expect(await startA()).toEqual({ status: 200, body: { dagRunId: 'a' } });
    expect(await startA()).toMatchObject({ status: 409, body: { code: 'already_exists' } });
    expect(await ask('/api/v2/dag-runs/load/b')).toMatchObject({ status: 404, body: { code: 'not_found' } });
    const stopA = () => ask('/api/v2/dag-runs/load/a/stop', 'POST');
    expect(await stopA()).toEqual({ status: 200, body: '' });
    expect(await stopA()).toMatchObject({ status: 400, body: { code: 'not_running' } });
  });

  test('lists are bounded by when a run was made, half open, and cut silently', async () => {
    await start({ dialect: 'dagu-v2', most: 2 });
    for (let count = 0; count < 3; count++) {
      engine.state.start('load', { id: `${count}` });
      engine.clock.advance(1000);
    }
    const first = Date.parse('2026-03-01T12:00:00Z') / 1000;
    const ids = async (query: string) =>
      (await ask(`/api/v2/dag-runs/load?${query}`)).body.dagRuns?.map(
        ({ dagRunId }: { dagRunId: string }) => dagRunId,
      );
    expect(await ids(`fromDate=${first}&toDate=${first + 1}`)).toEqual(['0']);
    expect(await ids('fromDate=1')).toEqual(['2', '1']);
  });
});

test('the vendor since 2.0 gives pages by cursor under /api/v1', async () => {
  await start({ dialect: 'dagu-2.x', most: 2 });
  for (let count = 0; count < 3; count++) engine.state.start('load', { id: `${count}` });
  const first = await ask('/api/v1/dag-runs/load?limit=500');
  expect(first.body.dagRuns).toHaveLength(2);
  const second = await ask(`/api/v1/dag-runs/load?limit=500&cursor=${first.body.nextCursor}`);
  expect(second.body.dagRuns).toHaveLength(1);
  expect(second.body.nextCursor).toBeUndefined();
});
