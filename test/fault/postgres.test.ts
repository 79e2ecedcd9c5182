/** F5 of the guarantees: what a warehouse can do to us. A Postgres of our own is killed, starved and cut off. */

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { delay, type Fault } from '../../simulators/shared/faults.ts';
import { Fenced, WarehouseFull } from '../../src/core/errors.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { withRetry } from '../../src/warehouse/with-retry.ts';
import { differences } from '../support/oracle.ts';
import { type Moment, proxy, type Wire } from '../support/proxy.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';
import { type PrivateCluster, privateCluster } from './private-cluster.ts';

const issues = { streams: ['issues'] };
const ofIssues = { issuesOnly: true };

let cluster: PrivateCluster;
let rig: Rig;
let wire: Wire;
let warehouse: Warehouse;
let direct: Warehouse;
let name = '';
let made = 0;

beforeAll(async () => {
  cluster = await privateCluster();
});
afterAll(() => cluster.remove());
beforeEach(async () => {
  made += 1;
  name = `warehouse_${made}`;
  await cluster.database(name);
  const there = await openRig({ ...smallSite, dialect: 'contract' });
  wire = await proxy({ host: '127.0.0.1', port: cluster.port });
  // With the usual time-out of a statement: on a busy machine one may take seconds, and the server would cancel it.
  warehouse = await cluster.connect(name, { port: wire.port });
  direct = await cluster.connect(name, { max: 2 });
  rig = {
    ...there,
    sync: (what, how = {}) => there.sync(what, { ...how, deps: { warehouse, ...how.deps } }),
    reconcile: (what, how = {}) => there.reconcile(what, { ...how, deps: { warehouse, ...how.deps } }),
    rows: async <R extends object>(query: string, parameters: readonly unknown[] = []) =>
      (await direct.pool.query<R>(query, [...parameters])).rows,
  };
});
afterEach(async () => {
  await direct.close();
  await warehouse.close();
  await wire.close();
  await rig.close();
});

const leaseCheck = /update ops\.leases set heartbeat_at = clock_timestamp\(\),\s+expires_at/i;

/** Another session waits for a lock. */
const lockIsWaitedFor = (): Promise<void> =>
  expect
    .poll(async () => (await rig.rows('select 1 from pg_locks where not granted')).length, { interval: 5 })
    .toBeGreaterThan(0);

/** Another client of the warehouse, in a transaction. */
const otherClient = async (): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: cluster.url(name) });
  await client.connect();
  await client.query('begin');
  return client;
};

/** Moments of a run, by what the client sends. */
const opening: readonly Moment[] = [
  [/insert into ops\.sources/i],
  [/update ops\.leases l set epoch/i],
  [/insert into ops\.runs/i],
  [/insert into ops\.walks/i],
];
const copying: Moment = [/copy "tracker"\."issues"/i];
const committing: Moment = [leaseCheck, /\bcommit\b/i];
/** Of a batch of new issues. */
const loading: readonly Moment[] = [
  copying,
  [/copy "tracker"\."comments"/i],
  [/insert into ops\.checkpoints/i],
  [leaseCheck],
  committing,
];
const closing: Moment = [/update ops\.runs r set status = \$/i];
const staging: Moment = [/copy .*stage_tracker_issues/i];
const replacing: Moment = [/insert into "tracker"\."comments"/i];
/** Of a batch of changed issues. */
const merging: readonly Moment[] = [staging, [/insert into "tracker"\."issues"/i], replacing, committing];

/** Changes every issue and the list of its comments, so that the next run writes all of them again. */
const change = (): void => {
  rig.tracker.clock.advance(60_000);
  for (const id of rig.tracker.oracle().issues.keys()) {
    rig.tracker.state.update(id, { summary: `Changed ${id}` });
    rig.tracker.state.addComment(id, `Changed ${id}`);
  }
};

/** Uses up transaction numbers: those that a crashed server has forgotten, above all. */
const useUpNumbers = async (): Promise<void> => {
  for (let i = 0; i < 50; i += 1) await withRetry(() => sql`select pg_current_xact_id()`.execute(direct.db));
};

describe('D2: a server that ends at once and starts again', () => {
  const crashAt = (...moments: readonly Moment[]) =>
    wire.at(moments, () => cluster.crash().then(useUpNumbers));

  test('costs a run nothing but time, whatever it was about to write', async () => {
    const moments = [...opening, ...loading, closing];
    const first = crashAt(...moments);
    expect(await rig.sync(issues).catch((error: unknown) => error)).toMatchObject({ status: 'succeeded' });
    expect(first.fired()).toBe(moments.length);
    await first.over();
    expect(await rig.rows('select status from ops.runs')).toEqual([{ status: 'succeeded' }]);
    expect(await differences(rig, ofIssues)).toEqual([]);
    change();
    const second = crashAt(...merging);
    expect(await rig.sync(issues).catch((error: unknown) => error)).toMatchObject({ status: 'succeeded' });
    expect(second.fired()).toBe(merging.length);
    await second.over();
    expect(await differences(rig, ofIssues)).toEqual([]);
    await cluster.crash();
    expect(await rig.sync(issues), 'a crash between two runs').toMatchObject({
      status: 'succeeded',
      counts: { inserted: 0 },
    });
    expect(await differences(rig, ofIssues)).toEqual([]);
  });

  test('is waited for by statements that come meanwhile', async () => {
    const answers: Promise<{ readonly rows: readonly { readonly n: number }[] }>[] = [];
    await cluster.crash(async () => {
      // Until it has seen that they broke, a pool would send on its old connections.
      await expect.poll(() => direct.pool.totalCount, { interval: 5 }).toBe(0);
      for (const n of [1, 2, 3]) answers.push(sql<{ n: number }>`select ${n}::int as n`.execute(direct.db));
    });
    expect((await Promise.all(answers)).map(({ rows }) => rows[0]?.n)).toEqual([1, 2, 3]);
  });
});

test.each([
  ['new', [copying, committing]],
  ['changed', [staging, replacing]],
] as const)(
  'D6: a connection whose packets vanish is noticed within the time limits; %s issues are stored once',
  async (are, moments) => {
    const impatient = await cluster.connect(name, {
      port: wire.port,
      statementTimeout: 5_000,
      silenceMs: 1_000,
    });
    onTestFinished(() => impatient.close());
    if (are === 'changed') {
      await rig.sync(issues);
      change();
    }
    const heard = wire.at(moments, () => {
      wire.freeze();
      wire.thaw();
    });
    const before = performance.now();
    expect(await rig.sync(issues, { deps: { warehouse: impatient } })).toMatchObject({ status: 'succeeded' });
    expect(heard.fired()).toBe(moments.length);
    expect(performance.now() - before).toBeLessThan(50_000);
    expect(await differences(rig, ofIssues)).toEqual([]);
  },
  120_000,
);

/** Answers when the work is done. */
const meanwhile = (work: () => Promise<void>): Fault => ({
  name: 'meanwhile',
  send: async (answer, scene) => {
    await work();
    await delay(0).send?.(answer, scene);
  },
});

test('a replica that takes over without the last commits ends the run, and the next one reads what they held', async () => {
  const { script } = rig.tracker;
  let comeBack: (() => Promise<void>) | undefined;
  const first = script.at(
    { endpoint: '/rest/agile/1.0/board' },
    meanwhile(async () => {
      comeBack = await cluster.keep();
    }),
  );
  // Sprints are read after the boards, which are stored and confirmed by now.
  const later = script.at(
    { endpoint: '/rest/agile/1.0/board/{boardId}/sprint' },
    meanwhile(async () => comeBack?.()),
  );
  const report = await rig.sync().catch((error: unknown) => error);
  expect([first.fired, later.fired]).toEqual([1, 1]);
  expect(report).toBeInstanceOf(Fenced);
  expect(String(report)).toMatch('the warehouse has forgotten what it had confirmed');
  expect(await rig.rows('select status, error_code from ops.runs')).toEqual([
    { status: 'lost', error_code: 'fenced' },
  ]);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig)).toEqual([]);
});

test('D7: a disk that is full fails the run, the server stays up, and with space the next run finishes', async ({
  skip,
}) => {
  const place = path.join(cluster.directory, `small-${made}`);
  fs.mkdirSync(place);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'none', place], { stdio: 'pipe' });
  } catch {
    skip('this machine lets us mount no small file system: a full disk was not tested');
  }
  try {
    cluster.lend(place);
    await direct.pool.query(`create tablespace small_${made} location '${place}'`);
    for (const table of ['issues', 'issue_changelog'])
      await direct.pool.query(`alter table tracker.${table} set tablespace small_${made}`);
    const filler = path.join(place, 'filler');
    const room = fs.statfsSync(place);
    fs.writeFileSync(filler, Buffer.alloc(room.bavail * room.bsize - 64 * 1024));
    const report = await rig.sync(issues).catch((error: unknown) => error);
    expect(report).toBeInstanceOf(WarehouseFull);
    expect(String(report)).toMatch(/the disk of the warehouse is full \(could not extend .*make room there/);
    expect(await rig.rows('select 1 as up')).toEqual([{ up: 1 }]);
    expect(await rig.rows('select 1 from ops.checkpoints')).toEqual([]);
    expect(await rig.rows(`select distinct status, error_code from ops.runs`)).toEqual([
      { status: 'failed', error_code: 'warehouse_full' },
    ]);
    fs.rmSync(filler);
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
    expect(await differences(rig, ofIssues)).toEqual([]);
    for (const table of ['issues', 'issue_changelog'])
      await direct.pool.query(`alter table tracker.${table} set tablespace pg_default`);
    await direct.pool.query(`drop tablespace small_${made}`);
  } finally {
    execFileSync('umount', [place]);
  }
});

test('D8: after a deadlock with another client the whole transaction is done again', async () => {
  await rig.sync(issues);
  const ids = [...rig.tracker.oracle().issues.keys()].sort((a, b) => Number(a) - Number(b));
  const first = ids[0] ?? '';
  const last = ids.at(-1) ?? '';
  rig.tracker.clock.advance(60_000);
  for (const id of ids) rig.tracker.state.update(id, { summary: `Changed ${id}` });
  const human = await otherClient();
  // They wait longer for a deadlock to be found than the server's default: the run is its victim.
  await human.query("set deadlock_timeout = '20s'");
  await human.query('update tracker.issues set summary = summary where id = $1', [last]);
  const running = rig.sync(issues);
  await lockIsWaitedFor();
  await human.query('update tracker.issues set summary = summary where id = $1', [first]);
  await human.query('rollback');
  await human.end();
  expect(await running).toMatchObject({ status: 'succeeded' });
  const deadlocks = async (): Promise<number | undefined> =>
    (
      await rig.rows<{ n: number }>(
        'select deadlocks::int as n from pg_stat_database where datname = current_database()',
      )
    )[0]?.n;
  await expect.poll(deadlocks).toBeGreaterThan(0);
  expect(await differences(rig, ofIssues)).toEqual([]);
});

test('D9: a table that another client has locked is waited for', async () => {
  const human = await otherClient();
  await human.query('lock table tracker.issues in access exclusive mode');
  const running = rig.sync(issues);
  await lockIsWaitedFor();
  await human.query('rollback');
  await human.end();
  expect(await running).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig, ofIssues)).toEqual([]);
});

test('D10: a server without a free connection is waited for', async () => {
  const crowd: pg.Client[] = [];
  const fill = async (): Promise<void> => {
    for (;;) {
      const one = new pg.Client({ connectionString: cluster.url('postgres') });
      one.on('error', () => undefined);
      try {
        await one.connect();
        crowd.push(one);
      } catch (error) {
        expect(error).toMatchObject({ code: '53300' });
        return;
      }
    }
  };
  await rig.sync(issues);
  rig.tracker.clock.advance(60_000);
  for (const id of [...rig.tracker.oracle().issues.keys()].slice(0, 20))
    rig.tracker.state.update(id, { summary: `Crowded ${id}` });
  // One connection of the pool stays; more are not to be had.
  await fill();
  expect(crowd.length).toBeGreaterThan(10);
  const before = wire.connections;
  const running = rig.sync(issues).catch((error: unknown) => error);
  await expect.poll(() => wire.connections - before, { interval: 10 }).toBeGreaterThan(0);
  for (const one of crowd) await one.end();
  const outcome = await running;
  if (outcome instanceof Error) expect(outcome.message).toMatch(/too many|connection/i);
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig, ofIssues)).toEqual([]);
});

test('D18: crashed runs leave no staging tables', async () => {
  await rig.sync(issues);
  for (let run = 0; run < 2; run += 1) {
    rig.tracker.clock.advance(60_000);
    for (const id of rig.tracker.oracle().issues.keys())
      rig.tracker.state.update(id, { summary: `Round ${run} ${id}` });
    const heard = wire.at([staging], () => {
      void direct.pool.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tidemark' and pid <> pg_backend_pid() and query ilike '%copy%from stdin%'",
      );
    });
    await rig.sync(issues);
    expect(heard.fired()).toBe(1);
  }
  await warehouse.close();
  await expect
    .poll(() =>
      rig.rows(
        "select relname from pg_class where relname like 'stage\\_%' or (relpersistence = 't' and relkind = 'r')",
      ),
    )
    .toEqual([]);
  expect(await differences(rig, ofIssues)).toEqual([]);
});
