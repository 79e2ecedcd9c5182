import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../simulators/jira/server.ts';
import { differences } from '../support/oracle.ts';
import { type TestDatabase, testDatabase } from '../support/postgres.ts';
import { type Running, until } from '../support/processes.ts';
import { environment, tidemark } from '../support/tidemark.ts';
import { dice, seed } from './dice.ts';

const random = dice();

let tracker: TrackerSimulator;
let database: TestDatabase;
beforeAll(async () => {
  // More issues than one window may hold, so that it is split, and more than a batch; the answers take their time.
  tracker = await startTracker({
    seed: 11,
    issues: 7_000,
    projects: 3,
    users: 20,
    years: 1,
    history: 2,
    latencyMs: 25,
    now: new Date('2026-03-10T09:00:00Z'),
  });
});
afterAll(() => tracker.close());
beforeEach(async () => {
  database = await testDatabase();
  return () => database.drop();
});

const start = (words: readonly string[], more: NodeJS.ProcessEnv = {}): Running =>
  tidemark(words, environment(tracker, database.url, more));
const rows = async <R extends object>(query: string): Promise<readonly R[]> =>
  (await database.warehouse.pool.query<R>(query)).rows;
const count = async (what: string): Promise<number> => {
  const [row] = await rows<{ n: string }>(`select count(*) as n from ${what}`);
  return Number(row?.n);
};
const compare = () =>
  differences({
    tracker,
    rows: (query, values = []) => database.warehouse.pool.query(query, [...values]).then((all) => all.rows),
  });
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('a run that was frozen for longer than its lease is fenced: it writes nothing more, and says so', async () => {
  const zombie = start(['sync']);
  await until(
    'the run reads issues',
    async () => (await count("ops.slices where status = 'split'")) > 0,
    60_000,
  );
  zombie.child.kill('SIGSTOP');
  const [first] = await rows<{ run_id: string }>('select max(run_id)::text as run_id from ops.runs');
  const early = start(['sync']);
  expect(await early.ended(), early.said()).toBe(5);
  await until(
    'the lease runs out',
    async () => (await count('ops.leases where expires_at <= clock_timestamp()')) === 1,
    60_000,
  );
  const heir = start(['sync']);
  expect(await heir.ended(), heir.said()).toBe(0);
  const before = await rows('select to_jsonb(r)::text as row from ops.runs r order by run_id');
  const written = await count(`tracker.issues where _run_id = ${first?.run_id}`);
  zombie.child.kill('SIGCONT');
  const code = await zombie.ended();
  expect(code, zombie.said()).toBe(1);
  expect(zombie.said()).toMatch(/took the lease|lease/);
  expect(await rows('select to_jsonb(r)::text as row from ops.runs r order by run_id')).toEqual(before);
  expect(await count(`tracker.issues where _run_id = ${first?.run_id}`)).toBe(written);
  expect(await compare()).toEqual([]);
});

test('SIGTERM at random moments ends a run with 143 in good order, its lease is free at once, and the next run goes on', async () => {
  let rounds = 0;
  for (; rounds < 12; rounds++) {
    const run = start(['sync']);
    const asked = await Promise.race([
      pause(200 + random() * 2_500).then(() => true),
      run.ended().then(() => false),
    ]);
    if (!asked) break;
    const at = performance.now();
    run.child.kill('SIGTERM');
    const code = await run.ended();
    expect(performance.now() - at, `CRASH_SEED=${seed}`).toBeLessThan(20_000);
    // The signal may meet it before it listens, or when it is done.
    if (code === 0) break;
    expect([143, 'SIGTERM'], `CRASH_SEED=${seed}: ${run.said()}`).toContain(code);
    const [lease] = await rows<{ holder: string | null }>('select holder from ops.leases');
    expect(lease?.holder ?? null).toBeNull();
    expect(await count("ops.runs where status not in ('interrupted')")).toBe(0);
  }
  expect(rounds).toBeGreaterThan(1);
  const heir = start(['sync']);
  expect(await heir.ended(), heir.said()).toBe(0);
  expect(await compare()).toEqual([]);
});
