import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { due } from '../../../src/runs/schedule.ts';
import { tick } from '../../../src/scheduler/ticks.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { type Cut, postgresProxy } from '../../support/postgres-proxy.ts';
import { type Running, run, until } from '../../support/processes.ts';
import {
  catalogue,
  conduct,
  dag,
  dailySinceJustNow,
  emptyRequests,
  hurryJobs,
  queueOf,
  report,
  runnerOf,
  silenceWorkers,
  timed,
} from './orchestra.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ max: 20 });
  await query('create table public.done (pipeline text, worker text)');
});
afterAll(() => database.drop());

const query = (text: string) => database.warehouse.pool.query(text).then(({ rows }) => rows);
const hasSucceeded = async (): Promise<boolean> =>
  (await query(`select from ops.dag_runs where status = 'succeeded'`)).length === 1;
const program = new URL('./programs/schedule.ts', import.meta.url);

const recently = dailySinceJustNow();
const tracker = catalogue(dag('tracker', { timed: [timed(recently)] }));

/** One tick is due, and no process has made it. */
beforeEach(begin);
async function begin(): Promise<void> {
  await emptyRequests(database.warehouse);
  await query('truncate public.done');
  const schedule = { ...timed(recently), pipeline: 'tracker', due: due(timed(recently)) };
  const queue = await queueOf(database.warehouse);
  await tick(database.warehouse.db, queue, schedule, 'before');
  await queue.end();
  await query(`update ops.schedules set seen_to = clock_timestamp() - interval '5 minutes'`);
}

/** A process that makes the tick and runs it, through a wire that is cut with it at a message. Gives how many messages it took. */
async function victim(cut?: Cut): Promise<{ readonly messages: number; readonly struck: boolean }> {
  let process: Running | undefined;
  const wire = await postgresProxy(database.url, cut, () => process?.child.kill('SIGKILL'));
  process = run(program, [wire.url, 'victim', recently, 'tracker']);
  try {
    let isOver = false;
    process.ended().then(() => {
      isOver = true;
    });
    try {
      await process.line();
    } catch (error) {
      // The first messages are those by which it comes in: it may die before it is ready.
      if (wire.cut) return { messages: wire.heard.length, struck: true };
      throw error;
    }
    process.tell('go');
    await until('it is done or dead', async () => isOver || (await hasSucceeded()), 60_000);
    return { messages: wire.heard.length, struck: wire.cut };
  } finally {
    await process.kill();
    await wire.close();
  }
}

test('killed before or after any message to the warehouse, a scheduler leaves a whole tick or none, and its heir makes it one run', async () => {
  const whole = await victim();
  expect(whole.messages).toBeGreaterThan(10);
  const seed = Math.floor(Math.random() * 2 ** 31);
  // The first one in any case: a process that dies while it comes in.
  const share = (index: number) => Math.floor((index * whole.messages) / 3);
  const points = [1, ...[0, 1, 2].map((index) => 1 + ((seed + share(index)) % whole.messages))];
  let struck = 0;
  for (const [index, n] of points.entries()) {
    const cut: Cut = { n, side: index % 2 === 0 ? 'before' : 'after' };
    const at = `${cut.side} message ${n} of ${whole.messages}`;
    await begin();
    struck += (await victim(cut)).struck ? 1 : 0;
    // At once: a tick without its run, or a run without its tick, would be one that is lost, or one that nobody asked for.
    const half = `select from ops.ticks t full join ops.dag_runs d using (dag_run_id)
      where t.dag_run_id is null or d.dag_run_id is null`;
    expect(await query(half), at).toEqual([]);
    // It died long ago.
    await silenceWorkers(database.warehouse);
    const runner = runnerOf(async (ask) => report(ask));
    const heir = await conduct(database.warehouse, tracker, runner, { name: 'heir' });
    try {
      const hasConverged = async () => {
        await hurryJobs(database.warehouse);
        return hasSucceeded();
      };
      await until(`it converges: ${at}`, hasConverged, 60_000);
    } finally {
      await heir.service.end();
    }
    expect(await query('select from ops.ticks'), at).toHaveLength(1);
    expect(await query('select from ops.dag_runs'), at).toHaveLength(1);
  }
  expect(struck).toBeGreaterThan(2);
});

test('forty requests in one process leave no connection, timer or handle behind', async () => {
  let wished = 0;
  const runner = runnerOf(async (ask) => {
    wished += 1;
    if (wished % 5 === 0) throw new Error('a defect');
    return report(ask);
  });
  const { service, control } = await conduct(database.warehouse, catalogue(dag('tracker')), runner);
  const some = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const { runId } = await control.start({ pipeline: 'tracker', does: 'sync' }, { by: 'a test' });
      await until(`${runId} is over`, async () => (await control.run('tracker', runId)).finishedAt !== null);
    }
  };
  const handles = (): number => process.getActiveResourcesInfo().length;
  await query('truncate ops.schedules, ops.dag_runs');
  try {
    await some(15);
    const before = [handles(), database.warehouse.pool.totalCount] as const;
    await some(25);
    expect(wished).toBe(40);
    expect(handles()).toBeLessThanOrEqual(before[0] + 5);
    expect(database.warehouse.pool.totalCount).toBeLessThanOrEqual(before[1] + 3);
  } finally {
    await service.end();
  }
});
