import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Fenced, LockHeld } from '../../../src/core/errors.ts';
import { type LeaseTimes, takeLease, usualTimes } from '../../../src/engine/state/lease.ts';
import { kyselyOn } from '../../../src/load/session.ts';
import { connect } from '../../../src/warehouse/connect.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ max: 20 });
});
afterAll(() => database.drop());

const quick: LeaseTimes = { ttlMs: 600, heartbeatMs: 100, waitMs: 0 };
const asleep: LeaseTimes = { ttlMs: 400, heartbeatMs: 60_000, waitMs: 0 };
const pool = () => database.warehouse.pool;
const inTrx = <T>(work: (trx: never) => Promise<T>): Promise<T> =>
  database.warehouse.db.transaction().execute((trx) => work(trx as never));

/** The session of the holder. */
const sessionOf = async (pipeline: string): Promise<number | undefined> => {
  const query = 'select backend_pid as pid from ops.leases where pipeline = $1';
  return (await pool().query<{ pid: number }>(query, [pipeline])).rows[0]?.pid;
};
const end = (session: number | undefined) => pool().query('select pg_terminate_backend($1)', [session]);

test('one of ten gets the lease; released it is free at once, and its holder writes no more', async () => {
  const taken = await Promise.allSettled(Array.from({ length: 10 }, () => takeLease(pool(), 'crowd', quick)));
  const [first, ...others] = taken.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const refusals = taken.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  expect(others).toEqual([]);
  for (const reason of refusals) expect(reason).toBeInstanceOf(LockHeld);
  expect(refusals[0]?.message).toMatch(/crowd: a run of .+ process \d+ holds the pipeline since/);
  await first?.release();
  const second = await takeLease(pool(), 'crowd', quick);
  expect(BigInt(second.epoch)).toBe(BigInt(first?.epoch ?? 0) + 1n);
  await expect(inTrx(async (trx) => first?.guard({ trx }))).rejects.toThrow(Fenced);
  await inTrx((trx) => second.guard({ trx }));
  await second.release();
});

test('a holder to whom a commit was confirmed writes nothing more into a warehouse that has forgotten it', async () => {
  const holder = await takeLease(pool(), 'forgotten', quick);
  const write = (): Promise<number> => holder.transaction(async () => 1);
  await Promise.all([write(), write(), write()]);
  // What was never confirmed may be gone.
  await expect(holder.transaction(async ({ trx }) => sql`select 1 / 0`.execute(trx))).rejects.toThrow(
    'division by zero',
  );
  await inTrx(async (trx) => {
    await holder.guard({ trx });
    await sql`rollback and chain`.execute(trx);
  });
  await write();
  // As where a replica took over that had not heard of the last one.
  await pool().query("update ops.leases set commits = commits - 1 where pipeline = 'forgotten'");
  await expect(write()).rejects.toThrow('the warehouse has forgotten what it had confirmed');
  expect(holder.signal.aborted).toBe(true);
  await holder.release();
  const heir = await takeLease(pool(), 'forgotten', quick);
  await heir.transaction(async () => 1);
  await heir.release();
});

test('the lease of a holder whose session is gone is taken over at once, and its run is lost', async () => {
  // Connections of its own: a holder that lives would open another session at once.
  const own = await connect(database.url, { max: 2 });
  const dead = await takeLease(own.pool, 'dead', { ...usualTimes, waitMs: 0 });
  await pool().query(
    `insert into ops.runs (pipeline, source_id, kind, status, epoch) values ('dead', 1, 'sync', 'running', ${dead.epoch})`,
  );
  await expect(takeLease(pool(), 'dead', quick)).rejects.toThrow(LockHeld);
  await own.close();
  await pool().query("select pg_terminate_backend(backend_pid) from ops.leases where pipeline = 'dead'");
  const heir = await takeLease(pool(), 'dead', { ...quick, waitMs: 2_000 });
  await expect(inTrx((trx) => dead.guard({ trx }))).rejects.toThrow(Fenced);
  const { rows } = await pool().query("select status from ops.runs where pipeline = 'dead'");
  expect(rows).toEqual([{ status: 'lost' }]);
  await heir.release();
  await dead.release();
});

test.each(['before', 'after'] as const)(
  'a holder without a heartbeat for a lease time is fenced out, with what it has open %s its guard',
  async (where) => {
    const frozen = await takeLease(pool(), 'holding', asleep);
    const zombie = await pool().connect();
    zombie.on('error', () => undefined);
    try {
      await zombie.query(
        `begin; ${frozen.settings}; insert into ops.sources (name, kind, base_url) values ('holding', 'tracker', 'x')`,
      );
      if (where === 'after') await frozen.guard({ trx: kyselyOn(zombie) as never });
      const heir = await takeLease(pool(), 'holding', { ...quick, waitMs: 2_000 });
      await expect(zombie.query('commit')).rejects.toThrow(/terminat|connection error/);
      // Nobody waits for what it held.
      await pool().query(
        "begin; set local lock_timeout = '2s'; insert into ops.sources (name, kind, base_url) values ('holding', 'tracker', 'x'); commit",
      );
      await pool().query("delete from ops.sources where name = 'holding'");
      await inTrx((trx) => heir.guard({ trx }));
      await expect(inTrx((trx) => frozen.guard({ trx }))).rejects.toThrow(Fenced);
      expect(frozen.signal.aborted).toBe(true);
      await heir.release();
    } finally {
      zombie.release(true);
      await frozen.release();
    }
  },
);

test('a heartbeat keeps the lease beyond its time, also over a lost session', async () => {
  const holder = await takeLease(pool(), 'beating', quick);
  const before = await sessionOf('beating');
  await end(before);
  // The holder is in doubt until its next beat opens another session: then it is the holder again.
  await expect.poll(() => sessionOf('beating')).not.toBe(before);
  const start = performance.now();
  while (performance.now() - start < 2 * quick.ttlMs)
    await expect(takeLease(pool(), 'beating', quick)).rejects.toThrow(LockHeld);
  await inTrx((trx) => holder.guard({ trx }));
  await holder.release();
});

test('a holder whose session breaks opens another at once: before its next beat it would pass for dead', async () => {
  const holder = await takeLease(pool(), 'broken', { ...quick, ttlMs: 600_000, heartbeatMs: 300_000 });
  const before = await sessionOf('broken');
  await end(before);
  await expect.poll(() => sessionOf('broken')).not.toBe(before);
  await expect(takeLease(pool(), 'broken', quick)).rejects.toThrow(LockHeld);
  await holder.release();
});

test('a holder that was suspended for longer than its lease keeps what no other process has taken', async () => {
  const holder = await takeLease(pool(), 'asleep', quick);
  const before = await sessionOf('asleep');
  const ended = end(before);
  await new Promise((resolve) => setImmediate(resolve));
  // As where a machine sleeps whose clocks go on: the server ends sessions that do not answer.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * quick.ttlMs);
  await ended;
  await expect.poll(() => sessionOf('asleep')).not.toBe(before);
  expect(holder.signal.aborted).toBe(false);
  await inTrx((trx) => holder.guard({ trx }));
  await holder.release();
});

test('a holder that cannot reach the warehouse for a lease time says so, and not that another has its lease', async () => {
  const warehouse = await connect(database.url, { max: 2 });
  const holder = await takeLease(warehouse.pool, 'cut off', quick);
  await warehouse.close();
  await expect.poll(() => holder.signal.aborted).toBe(true);
  expect(holder.signal.reason).toBeInstanceOf(Fenced);
  expect(String(holder.signal.reason)).toMatch(
    /cut off: no sign of life reached the warehouse for a whole lease time \(0.6 s\): /,
  );
  await holder.release();
});

test('a transaction longer than a heartbeat is done once, and keeps the lease, whatever the database is set to', async () => {
  const set = (what: string) => pool().query(`alter database ${database.name} ${what}`);
  await set(`set default_transaction_isolation = 'serializable'`);
  await set(`set idle_session_timeout = '50ms'`);
  const warehouse = await connect(database.url);
  try {
    const lease = await takeLease(warehouse.pool, 'set', quick);
    const before = await sessionOf('set');
    let times = 0;
    await lease.transaction(async ({ trx }) => {
      times += 1;
      if (times > 1) throw new Error('it was rolled back, and begun again');
      await sql`select pg_sleep(0.6)`.execute(trx);
    });
    expect(times).toBe(1);
    expect(lease.signal.aborted).toBe(false);
    expect(await sessionOf('set'), 'or the lease would be taken over').toBe(before);
    await lease.release();
  } finally {
    await warehouse.close();
    await set('reset default_transaction_isolation');
    await set('reset idle_session_timeout');
  }
});

test('a warehouse that takes no lease, whatever the reason, is not asked for ever', async () => {
  await pool().query(`insert into ops.leases (pipeline) values ('stubborn');
    create function ops.refuse() returns trigger language plpgsql as 'begin return null; end';
    create trigger refuse before update on ops.leases for each row when (old.pipeline = 'stubborn')
      execute function ops.refuse()`);
  await expect(takeLease(pool(), 'stubborn', quick)).rejects.toThrow(LockHeld);
});
