/** F5 of the guarantees: what a warehouse can do to us. A Postgres of our own is killed, starved and cut off. */

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { delay, type Fault } from '../../simulators/shared/faults.ts';
import { Fenced, WarehouseFull } from '../../src/core/errors.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';
import { start as command } from '../unit/cli/command.ts';
import { type PrivateCluster, privateCluster } from './private-cluster.ts';
import { type Tap, tap } from './tap.ts';

const issues = { streams: ['issues'] };
const ofIssues = { issuesOnly: true };

let cluster: PrivateCluster;
let rig: Rig;
let wire: Tap;
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
  wire = await tap({ host: '127.0.0.1', port: cluster.port });
  warehouse = await cluster.connect(name, { port: wire.port, statementTimeout: 1_000, silenceMs: 300 });
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
    .poll(async () => (await rig.rows('select 1 from pg_locks where not granted')).length, {
      timeout: 10_000,
      interval: 5,
    })
    .toBeGreaterThan(0);

/** Whether nobody listens there. */
const refuses = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', () => resolve(true));
  });

/** What the client sends at each stage of a batch: of issues that are new to it, or known and changed. */
const stages = [
  ['copy', 'new', /copy "tracker"\."issues"/i],
  ['copy of children', 'new', /copy "tracker"\."comments"/i],
  ['stage', 'changed', /copy .*stage_tracker_issues/i],
  ['merge', 'changed', /insert into "tracker"\."issues"/i],
  ['children', 'changed', /insert into "tracker"\."comments"/i],
  ['checkpoint', 'new', /insert into ops\.checkpoints/i],
  ['lease check', 'new', leaseCheck],
  ['commit', 'new', /\bcommit\b/i],
  ['commit', 'changed', /\bcommit\b/i],
] as const;
const [copying, , staging, , children, , , committing] = stages;

/** Loads every issue, then changes it and the list of its comments, so that the next run writes all of them again. */
const change = async (): Promise<void> => {
  await rig.sync(issues);
  rig.tracker.clock.advance(60_000);
  for (const id of rig.tracker.oracle().issues.keys()) {
    rig.tracker.state.update(id, { summary: `Changed ${id}` });
    rig.tracker.state.addComment(id, `Changed ${id}`);
  }
};

/** Uses up transaction numbers: those that a crashed server has forgotten, above all. */
const useUpNumbers = async (): Promise<void> => {
  for (let i = 0; i < 50; i += 1) await direct.pool.query('select pg_current_xact_id()');
};

/** Does `act` at a stage; the commit that is meant is a batch's, behind its lease check. */
const at = (words: RegExp, act: () => void): { readonly fired: () => number } => {
  if (!words.test('commit')) return wire.on(words, act);
  let inner: { readonly fired: () => number } | undefined;
  wire.on(leaseCheck, () => {
    inner = wire.on(words, act);
  });
  return { fired: () => inner?.fired() ?? 0 };
};

describe('D2: a server that ends at once and starts again', () => {
  test.each(stages)(
    'in %s, issues being %s, costs nothing but time: the run goes on, and nothing is lost or doubled',
    async (_, are, words) => {
      if (are === 'changed') await change();
      let back: Promise<void> | undefined;
      const heard = at(words, () => {
        back = cluster.crash().then(useUpNumbers);
      });
      const report = await rig.sync(issues).catch((error: unknown) => error);
      expect(heard.fired()).toBe(1);
      await back;
      // Whether this run could go on or not: at every moment the checkpoint claims no more than is there.
      const [mark] = await rig.rows<{ n: number }>(
        "select count(*)::int as n from ops.checkpoints where stream = 'issues'",
      );
      if (mark?.n === 1) expect(await differences(rig, ofIssues)).toEqual([]);
      expect(report).toMatchObject({ status: 'succeeded' });
      expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded', counts: { inserted: 0 } });
      expect(await differences(rig, ofIssues)).toEqual([]);
    },
  );

  test.each([
    ['the source is noted', /insert into ops\.sources/i],
    ['the lease is taken', /update ops\.leases l set epoch/i],
    ['the run gets its row', /insert into ops\.runs/i],
    ['the walk is opened', /insert into ops\.walks/i],
    ['the run is closed', /update ops\.runs r set status = \$/i],
  ])('while %s costs nothing but time, and there is one run', async (_, words) => {
    let back: Promise<void> | undefined;
    const heard = wire.on(words, () => {
      back = cluster.crash();
    });
    expect(await rig.sync(issues).catch((error: unknown) => error)).toMatchObject({ status: 'succeeded' });
    expect(heard.fired()).toBe(1);
    await back;
    expect(await rig.rows('select status from ops.runs')).toEqual([{ status: 'succeeded' }]);
    expect(await differences(rig, ofIssues)).toEqual([]);
  });

  test('between two runs is not noticed', async () => {
    await rig.sync(issues);
    await cluster.crash();
    rig.tracker.clock.advance(60_000);
    rig.tracker.state.create('PAY');
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded', counts: { inserted: 1 } });
    expect(await differences(rig, ofIssues)).toEqual([]);
  });
});

describe('D6: a connection whose packets vanish', () => {
  test.each([copying, staging, children, committing])(
    'in %s, issues being %s, is noticed within the time limits, and the batch is done again or known to be done',
    async (_, are, words) => {
      if (are === 'changed') await change();
      const heard = at(words, () => wire.freeze());
      const before = performance.now();
      const report = await rig.sync(issues);
      expect(heard.fired()).toBe(1);
      expect(report).toMatchObject({ status: 'succeeded' });
      expect(performance.now() - before).toBeLessThan(25_000);
      expect(await differences(rig, ofIssues)).toEqual([]);
    },
  );
});

test('D2: statements that come while the server is down wait for it', async () => {
  const answers: Promise<{ readonly rows: readonly { readonly n: number }[] }>[] = [];
  await cluster.crash(async () => {
    expect(await refuses(cluster.port)).toBe(true);
    for (const n of [1, 2, 3]) answers.push(sql<{ n: number }>`select ${n}::int as n`.execute(direct.db));
  });
  expect((await Promise.all(answers)).map(({ rows }) => rows[0]?.n)).toEqual([1, 2, 3]);
});

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
  // Asked for behind the boards: these were stored since, and that was confirmed.
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
}, 60_000);

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

test('D8: a deadlock with somebody else is survived: the whole transaction is done again', async () => {
  await rig.sync(issues);
  const ids = [...rig.tracker.oracle().issues.keys()].sort((a, b) => Number(a) - Number(b));
  const [first = '', last = ''] = [ids[0], ids.at(-1)];
  rig.tracker.clock.advance(60_000);
  for (const id of ids) rig.tracker.state.update(id, { summary: `Changed ${id}` });
  const human = new pg.Client({ connectionString: cluster.url(name) });
  await human.connect();
  // The human waits longer for a deadlock to be found than the server's default: the run is its victim.
  await human.query("set deadlock_timeout = '20s'");
  await human.query('begin');
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
  await expect.poll(deadlocks, { timeout: 10_000 }).toBeGreaterThan(0);
  expect(await differences(rig, ofIssues)).toEqual([]);
});

test('D9: a table that somebody else has locked is waited for, within bounds', async () => {
  const usual = await cluster.connect(name);
  const human = new pg.Client({ connectionString: cluster.url(name) });
  await human.connect();
  await human.query('begin');
  await human.query('lock table tracker.issues in access exclusive mode');
  const running = rig.sync(issues, { deps: { warehouse: usual } });
  running.catch(() => undefined);
  await lockIsWaitedFor();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  await human.query('rollback');
  await human.end();
  expect(await running).toMatchObject({ status: 'succeeded' });
  await usual.close();
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
  // One connection of the pool stands; more there are not to be had.
  await fill();
  expect(crowd.length).toBeGreaterThan(10);
  const running = rig.sync(issues).catch((error: unknown) => error);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  for (const one of crowd) await one.end();
  const outcome = await running;
  if (outcome instanceof Error) expect(outcome.message).toMatch(/too many|connection/i);
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig, ofIssues)).toEqual([]);
});

test('D18: crashed runs leave no staging tables behind', async () => {
  await rig.sync(issues);
  for (let run = 0; run < 6; run += 1) {
    rig.tracker.clock.advance(60_000);
    for (const id of rig.tracker.oracle().issues.keys())
      rig.tracker.state.update(id, { summary: `Round ${run} ${id}` });
    const heard = wire.on(/copy .*stage_tracker_issues/i, () => {
      void direct.pool.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tidemark' and pid <> pg_backend_pid() and query ilike '%copy%from stdin%'",
      );
    });
    await rig.sync(issues);
    expect(heard.fired()).toBe(1);
  }
  await warehouse.close();
  await expect
    .poll(
      () =>
        rig.rows(
          "select relname from pg_class where relname like 'stage\\_%' or (relpersistence = 't' and relkind = 'r')",
        ),
      { timeout: 10_000 },
    )
    .toEqual([]);
  expect(await differences(rig, ofIssues)).toEqual([]);
});

describe('D1: a warehouse that cannot be used ends the command at once, and says what to do', () => {
  test.each([
    ['a wrong password', (url: string) => url.replace(':test@', ':wrong@'), 4, /password/],
    [
      'a database that is not there',
      (url: string) => url.replace(/\/[^/]*$/, '/nowhere'),
      2,
      /no such database/,
    ],
  ])('%s', async (_, spoil, code, said) => {
    const ended = await command(['sync', 'tracker'], {
      env: {
        DATABASE_URL: spoil(cluster.url(name)),
        TRACKER_BASE_URL: rig.tracker.url,
        TRACKER_EMAIL: rig.tracker.email,
        TRACKER_API_TOKEN: rig.tracker.token,
      },
    }).ended;
    expect(ended.code).toBe(code);
    expect(ended.err).toMatch(said);
    expect(ended.err).not.toContain('test@');
  });
});
