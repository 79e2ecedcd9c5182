import { expect, test } from 'vitest';
import { Misconfigured } from '../../../src/core/errors.ts';
import { takeLease, usualTimes } from '../../../src/engine/state/lease.ts';
import { due } from '../../../src/runs/schedule.ts';
import type { Ask } from '../../../src/scheduler/control.ts';
import { append, openLog } from '../../../src/scheduler/request-log.ts';
import { Conflict, NotFound } from '../../../src/scheduler/run-request.ts';
import { tick } from '../../../src/scheduler/ticks.ts';
import { catalogue, close, dag, take as taken, timed } from './orchestra.ts';
import { openRequests } from './requests.ts';

const known = catalogue(
  dag('nightly', { streams: [], timed: [timed('0 2 * * *')] }),
  dag('tracker', {
    timed: [timed('0 2 * * *', { starts: false }), timed('0 0 * * 0', { does: 'reconcile', starts: false })],
  }),
  dag('ads', { hasReconcile: false }),
  dag('workflow', { configured: false, needs: 'WORKFLOW_BASE_URL' }),
);

const lab = openRequests(known);
const { query } = lab;
const sync = (pipeline = 'tracker'): Ask => ({ pipeline, does: 'sync' });
const by = 'a test';
const take = () => taken(lab.warehouse);
const end = async (status: 'succeeded' | 'failed' | 'stopped' = 'succeeded'): Promise<void> => {
  const claimed = await take();
  if (claimed === undefined) throw new Error('no request waits');
  const error = status === 'failed' ? { code: 'auth', message: 'no' } : null;
  await close(lab.warehouse, claimed, { status, error });
};

test('a start is in the warehouse before it is answered', async () => {
  const run = await lab.control.start(sync(), { by });
  const fresh = { status: 'queued', finishedAt: null, stopping: false, againAt: null };
  expect(run).toMatchObject({ ...sync(), trigger: 'api', params: '', ...fresh });
  expect(await query('select dag_run_id, status, asked_by from ops.dag_runs')).toEqual([
    { dag_run_id: run.runId, status: 'queued', asked_by: by },
  ]);
});

test('five starts at once and a tick are one run, and every answer names it', async () => {
  for (let round = 0; round < 5; round++) {
    await query('truncate ops.dag_runs, ops.ticks, pgboss.job');
    await query(`insert into ops.schedules (pipeline, does, cron, time_zone, seen_to)
      values ('tracker', 'sync', '* * * * *', 'UTC', clock_timestamp() - interval '2 minutes')
      on conflict (pipeline, does) do update set seen_to = excluded.seen_to`);
    const when = { cron: '* * * * *', timeZone: 'UTC' };
    const [made, ...starts] = await Promise.all([
      tick(
        lab.warehouse.db,
        lab.queue,
        { ...timed('* * * * *'), pipeline: 'tracker', due: due(when) },
        'here',
      ),
      ...Array.from({ length: 5 }, () =>
        lab.control.start(sync(), { by }).catch(({ active }: Conflict) => active),
      ),
    ]);
    expect(await query('select from ops.dag_runs')).toHaveLength(1);
    expect(new Set([made, ...starts.map((run) => run?.runId)]).size).toBe(1);
  }
});

test('the same run id with the same ask is the same run, at once and when it is over; with another it is refused', async () => {
  const ask: Ask = { pipeline: 'tracker', does: 'sync', streams: ['projects', 'issues'] };
  const turned: Ask = { ...ask, streams: ['issues', 'projects'] };
  const runId = 'deploy-7';
  const first = await Promise.all([ask, turned, ask].map((each) => lab.control.start(each, { by, runId })));
  expect(new Set(first.map((run) => run.runId))).toEqual(new Set([runId]));
  await end();
  expect(await lab.control.start(ask, { by, runId })).toMatchObject({ runId, status: 'succeeded' });
  for (const other of [sync(), { ...ask, does: 'full' } as const, sync('ads')])
    await expect(lab.control.start(other, { by, runId })).rejects.toThrow(Conflict);
  expect(await query('select from ops.dag_runs')).toHaveLength(1);
  const both = await Promise.allSettled(
    ['tracker', 'ads'].map((name) => lab.control.start({ pipeline: name, does: 'full' }, { by, runId: 'y' })),
  );
  expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

test.each(['manual-1', '', 'a b', '../x', 'ä', 'x'.repeat(101), "x';drop"])(
  'the run id %j is refused',
  async (runId) => {
    await expect(lab.control.start(sync(), { by, runId })).rejects.toThrow(Misconfigured);
  },
);

const backfill = (from: string, to: string): Ask => ({
  pipeline: 'tracker',
  does: 'backfill',
  window: { from: new Date(from), to: new Date(to) },
});

test.each<[string, Ask, string]>([
  ['an unknown stream', { ...sync(), streams: ['isues'] }, 'isues'],
  ['a stream of nightly', { ...sync('nightly'), streams: ['issues'] }, 'takes no STREAMS'],
  ['a backfill without a window', { pipeline: 'tracker', does: 'backfill' }, 'FROM and TO'],
  ['a window turned round', backfill('2024-02-01', '2024-01-01'), 'half open'],
  ['an empty window', backfill('2024-02-01', '2024-02-01'), 'half open'],
  ['a window in the future', backfill('2999-01-01', '2999-02-01'), 'future'],
  ['a window for a sync', { ...backfill('2024-01-01', '2024-02-01'), does: 'sync' }, 'backfill'],
  ['a reconciliation where there is none', { pipeline: 'ads', does: 'reconcile' }, 'no reconciliation'],
  ['a pipeline that is not configured', sync('workflow'), 'WORKFLOW_BASE_URL'],
])('%s is refused, and nothing is queued', async (_, ask, message) => {
  const refused = lab.control.start(ask, { by });
  await expect(refused).rejects.toThrow(Misconfigured);
  await expect(refused).rejects.toThrow(message);
  expect(await query('select from ops.dag_runs')).toEqual([]);
});

test('an unknown DAG or run is not found by any question', async () => {
  const { runId } = await lab.control.start(sync('ads'), { by });
  const asks = [
    lab.control.status('nope'),
    lab.control.start(sync('nope'), { by }),
    lab.control.stop('nope', { by }),
    lab.control.history('nope', { limit: 1 }),
    lab.control.run('tracker', 'nope'),
    lab.control.run('tracker', runId),
    lab.control.retry('tracker', 'nope', { by }),
    lab.control.log('tracker', 'nope', {}),
    lab.control.history('tracker', { limit: 1, before: 'nope' }),
  ];
  for (const each of await Promise.allSettled(asks))
    expect(each).toMatchObject({ status: 'rejected', reason: expect.any(NotFound) });
});

test('a request that waits is stopped at once; stopping again answers with its state', async () => {
  await expect(lab.control.stop('tracker', { by })).rejects.toThrow(Conflict);
  const { runId } = await lab.control.start(sync(), { by });
  const stopped = { runId, status: 'stopped', stopping: false };
  for (const each of [1, 2])
    expect(await lab.control.stop('tracker', { by }), `${each}`).toMatchObject(stopped);
  expect(await take()).toBeUndefined();
});

test('a request that runs is asked to stop once, and a start meanwhile is refused with it', async () => {
  const { runId } = await lab.control.start(sync(), { by });
  await take();
  const first = await lab.control.stop('tracker', { by });
  expect(first).toMatchObject({ runId, status: 'running', stopping: true });
  expect(await lab.control.stop('tracker', { by: 'another' })).toEqual(first);
  expect(await query('select stop_asked_by from ops.dag_runs')).toEqual([{ stop_asked_by: by }]);
  const active = { runId, stopping: true };
  await expect(lab.control.start(sync(), { by })).rejects.toMatchObject({ code: 'conflict', active });
});

test('only what did not end well is retried, with the same ask', async () => {
  const ask: Ask = { ...backfill('2024-01-01', '2024-02-01'), streams: ['issues'] };
  const { runId } = await lab.control.start(ask, {
    by,
    params: 'FROM=2024-01-01 TO=2024-02-01 STREAMS=issues',
  });
  await expect(lab.control.retry('tracker', runId, { by })).rejects.toThrow(Conflict);
  await end('failed');
  const both = await Promise.allSettled([
    lab.control.retry('tracker', runId, { by }),
    lab.control.retry('tracker', runId, { by }),
  ]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect((await take())?.ask).toEqual(ask);
  expect(await query('select from ops.dag_runs where retry_of = $1', [runId])).toHaveLength(1);
  await query(`update ops.dag_runs set status = 'succeeded', finished_at = now() where retry_of is not null`);
  const [newest] = await lab.control.history('tracker', { limit: 1 });
  await expect(lab.control.retry('tracker', newest?.runId ?? '', { by })).rejects.toThrow(Conflict);
});

test('history is paged without a gap or a repetition, though many were queued in one moment', async () => {
  await query(`insert into ops.dag_runs (dag_run_id, pipeline, does, trigger, asked_by, status, queued_at, finished_at)
    select 'run' || n, 'tracker', 'sync', 'api', 'x', 'succeeded', timestamptz '2026-01-01' + (n / 7) * interval '300 microseconds', clock_timestamp()
    from generate_series(1, 50) n`);
  const seen: string[] = [];
  for (let before: string | undefined; ; ) {
    const page = await lab.control.history('tracker', {
      limit: 7,
      ...(before === undefined ? {} : { before }),
    });
    seen.push(...page.map(({ runId }) => runId));
    before = page.at(-1)?.runId;
    if (page.length < 7) break;
  }
  expect(seen).toHaveLength(50);
  expect(new Set(seen).size).toBe(50);
});

test('a run of the command line counts as active while its process lives, is in the history, and can be retried when it is lost', async () => {
  const lease = await takeLease(lab.warehouse.pool, 'tracker', usualTimes);
  await query(
    `insert into ops.runs (pipeline, source_id, kind, status, params, epoch)
     values ('tracker', 1, 'backfill', 'running', '{"streams": ["issues"], "from": "2024-01-01T00:00:00.000Z", "to": "2024-02-01T00:00:00.000Z"}', $1)`,
    [lease.epoch],
  );
  const [{ run_id: number }] = await query('select run_id::text from ops.runs');
  const params = 'FROM=2024-01-01 TO=2024-02-01 STREAMS=issues';
  const expected = { runId: `manual-${number}`, trigger: 'manual', status: 'running', params };
  await expect(lab.control.start(sync(), { by })).rejects.toMatchObject({ active: expected });
  expect((await lab.control.status('tracker')).run).toMatchObject(expected);
  await expect(lab.control.stop('tracker', { by })).rejects.toThrow('command line');
  await lease.release();
  expect(await lab.control.history('tracker', { limit: 5 })).toMatchObject([{ ...expected, status: 'lost' }]);
  const retried = await lab.control.retry('tracker', expected.runId, { by });
  expect(retried).toMatchObject({ does: 'backfill', params, status: 'queued' });
});

test('lines of a log become visible in the order of their numbers, whoever writes them', async () => {
  const { runId } = await lab.control.start(sync(), { by });
  let last = 0;
  let read = 0;
  let writing = true;
  const reading = (async () => {
    while (writing || read < 200) {
      const lines = await lab.control.log('tracker', runId, { after: last });
      for (const { seq } of lines) {
        expect(seq).toBeGreaterThan(last);
        last = seq;
        read += 1;
      }
    }
  })();
  await Promise.all(
    Array.from({ length: 20 }, (_, writer) => {
      const log = openLog(lab.warehouse.db, runId);
      for (let n = 0; n < 10; n++) log.add('info', `${writer} ${n}`);
      return log.flush();
    }),
  );
  writing = false;
  await reading;
  expect(read).toBe(200);
  const tail = await lab.control.log('tracker', runId, { tail: 3 });
  expect(tail.map(({ seq }) => last - seq)).toEqual([2, 1, 0]);
});

test('a log holds nothing that moves a terminal, and no password', async () => {
  const { runId } = await lab.control.start(sync(), { by });
  await append(lab.warehouse.db, runId, 'warn', '\u001b[2J\u0000\r\npostgres://me:hunter2@db/x');
  const [line] = await lab.control.log('tracker', runId, {});
  expect(line?.message).toBe('\\x1b[2J\\x00\\r\\npostgres://***@db/x');
});

test('the list tells what is configured, when it is due next, and what ran last', async () => {
  const { runId } = await lab.control.start(sync('ads'), { by });
  const all = await lab.control.list();
  const names = all.map(({ name, configured }) => `${name} ${configured}`);
  expect(names).toEqual(['nightly true', 'tracker true', 'ads true', 'workflow false']);
  expect(all[0]?.nextAt?.toISOString()).toMatch(/T02:00:00/);
  expect(all[1]?.schedule).toHaveLength(2);
  expect(all[2]?.last).toMatchObject({ runId });
  expect(all[3]).toMatchObject({ nextAt: null, last: null });
});
