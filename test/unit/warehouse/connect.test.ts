import net from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { inspect } from 'node:util';
import { sql } from 'kysely';
import { from as copyFrom } from 'pg-copy-streams';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import {
  AuthFailed,
  Interrupted,
  Misconfigured,
  Unreachable,
  WarehouseFull,
} from '../../../src/core/errors.ts';
import { freePort } from '../../../src/embedded/embedded.ts';
import { connect } from '../../../src/warehouse/connect.ts';
import { asOwner, emptyDatabase, type TestDatabase } from '../../support/postgres.ts';
import { until } from '../../support/processes.ts';
import { proxy } from '../../support/proxy.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await emptyDatabase();
});
afterAll(() => database.drop());

/** The test database under another username, password, port, pathname or search. */
const variant = (
  parts: Partial<Record<'username' | 'password' | 'port' | 'pathname' | 'search', string>>,
): string => Object.assign(new URL(database.url), parts).href;

const failure = async (url: string, retryMs = 60_000): Promise<Error> => {
  const error: unknown = await connect(url, { retryMs }).then(
    (warehouse) => warehouse.close().then(() => new Error('it connected')),
    (e: unknown) => e,
  );
  if (!(error instanceof Error)) throw new Error(`not an error: ${inspect(error)}`);
  return error;
};

const expectMisconfigured = async (url: string, message: RegExp): Promise<void> => {
  const error = await failure(url);
  expect(error).toBeInstanceOf(Misconfigured);
  expect(error.message).toMatch(message);
};

/** A warehouse behind a wire that can be frozen, with short time-outs. */
const behindWire = async () => {
  const wire = await proxy({ host: '127.0.0.1', port: Number(new URL(database.url).port) });
  const limits = { statementTimeout: 300, silenceMs: 200, max: 1 };
  const warehouse = await connect(variant({ port: String(wire.port) }), limits);
  onTestFinished(async () => {
    await warehouse.close();
    await wire.close();
  });
  return { wire, warehouse };
};

/** Runs statements as the owner of the cluster. */
const asAdmin = async (...statements: readonly string[]): Promise<void> => {
  await asOwner(async (client) => {
    for (const text of statements) await client.query(text);
  }, database.name);
};

/** A new role of the test, dropped at its end. */
async function newRole(suffix: string, setUp: (role: string) => readonly string[]): Promise<string> {
  const role = `${database.name}_${suffix}`;
  onTestFinished(() => asAdmin(`drop owned by ${role}`, `drop role ${role}`));
  await asAdmin(`create role ${role} login password 'r'`, ...setUp(role));
  return role;
}

test('values come out exactly: big numbers and days as text, instants as Date, the session in UTC', async () => {
  const { rows } = await sql`
    select 9223372036854775807::bigint as big, 12345678901234567890.123456789::numeric as exact, date '2024-03-31' as day,
      timestamptz '2024-03-31 02:30:00+02' as instant, timestamp '2024-03-31 02:30:00' as local, array[1,2]::bigint[] as bigs,
      '{"a":[1]}'::jsonb as json, current_setting('timezone') as zone`.execute(database.warehouse.db);
  const texts = { big: '9223372036854775807', exact: '12345678901234567890.123456789', day: '2024-03-31' };
  const others = { local: '2024-03-31 02:30:00', bigs: ['1', '2'], json: { a: [1] }, zone: 'UTC' };
  expect(rows).toEqual([{ ...texts, ...others, instant: new Date('2024-03-31T00:30:00Z') }]);
});

test.each([
  ['off', 'on'],
  ['remote_apply', 'remote_apply'],
])('synchronous_commit %s becomes %s: an answered commit is on disk; jit is off', async (theirs, ours) => {
  const warehouse = await connect(variant({ search: `?options=-c%20synchronous_commit%3D${theirs}` }));
  const settings = `select current_setting('synchronous_commit') as commit, current_setting('jit') as jit`;
  const { rows } = await warehouse.pool.query(settings);
  await warehouse.close();
  expect(rows).toEqual([{ commit: ours, jit: 'off' }]);
});

test.each([
  ['a wrong password', { password: 'wr0ng-secret' }, AuthFailed, /password is wrong.*SQLSTATE 28P01/],
  ['an unknown user', { username: 'nobody_here' }, AuthFailed, /password is wrong/],
  ['no password', { password: '' }, AuthFailed, /asks for a password/],
  ['a missing database', { pathname: '/not_there' }, Misconfigured, /not_there.*createdb/],
  ['a server without TLS that must have it', { search: '?sslmode=require' }, Misconfigured, /sslmode/],
])('%s fails at once, with what to do', async (_, parts, kind, message) => {
  const error = await failure(variant(parts), 600_000);
  expect(error).toBeInstanceOf(kind);
  expect(error.message).toMatch(message);
  expect(`${error.message}${inspect(error.cause)}`).not.toContain('wr0ng-secret');
});

test.each(['prefer', 'allow', 'disable'])('sslmode=%s connects without TLS, as psql does', async (mode) => {
  await (await connect(variant({ search: `?sslmode=${mode}` }))).close();
});

test('a failed login leaves no socket that keeps the process alive', async () => {
  const sockets = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const before = sockets();
  await failure(variant({ password: '' }));
  await until('the socket is gone', () => sockets() <= before, 3_000);
});

test('a server that is down is tried until the deadline, then it is unreachable', async () => {
  const port = await freePort();
  const error = await failure(`postgres://u:s3cret@127.0.0.1:${port}/d`, 700);
  expect(error).toBeInstanceOf(Unreachable);
  expect(error.message).toContain(`127.0.0.1:${port}/d`);
  expect(error.message).not.toContain('s3cret');
});

test('a server that hangs up at first is tried until it answers', async () => {
  const port = await freePort();
  let connections = 0;
  const server = net.createServer((socket) => {
    connections += 1;
    if (connections === 1) return void socket.destroy();
    const upstream = net.connect(Number(new URL(database.url).port), '127.0.0.1');
    socket.pipe(upstream).pipe(socket);
    socket.on('error', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
  });
  server.listen(port, '127.0.0.1');
  const warehouse = await connect(variant({ port: String(port) }), { retryMs: 15_000 });
  expect(await sql`select 1 as one`.execute(warehouse.db)).toMatchObject({ rows: [{ one: 1 }] });
  expect(connections).toBeGreaterThan(1);
  await warehouse.close();
  server.close();
});

test('a setting of the role that it may not reset is refused, with what to do: its triggers would keep no facts', async () => {
  const username = await newRole('silenced', (role) => [
    `alter role ${role} set session_replication_role = replica`,
  ]);
  const url = variant({ username, password: 'r' });
  await expectMisconfigured(url, /alter role … reset.*session_replication_role.*SQLSTATE 42501/);
});

test('a database that does not hold every text is refused, with what to do', async () => {
  const name = `${database.name}_latin`;
  const encoding = `template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'`;
  await asOwner(async (client) => {
    const { rows } = await client.query(
      `select from pg_settings where name = 'server_version_num' and setting < '150000'`,
    );
    // Before 15 there was no other provider.
    await client.query(
      `create database ${name} ${encoding} ${rows.length > 0 ? '' : 'locale_provider libc'}`,
    );
  });
  onTestFinished(() => asAdmin(`drop database ${name}`));
  await expectMisconfigured(variant({ pathname: `/${name}` }), /LATIN1.*createdb --encoding=UTF8/);
});

test('a user who may not make temporary tables is refused, with what to do', async () => {
  const { name } = database;
  const username = await newRole('staged', (role) => [
    `revoke temporary on database ${name} from public`,
    `grant create on database ${name} to ${role}`,
  ]);
  onTestFinished(() => asAdmin(`grant temporary on database ${name} to public`));
  const url = variant({ username, password: 'r' });
  await expectMisconfigured(url, /let the owner run grant temporary on database/);
  await asAdmin(`grant temporary on database ${name} to ${username}`);
  expect(await failure(url)).toMatchObject({ message: 'it connected' });
});

test('no printed form of a warehouse shows the password', async () => {
  const warehouse = await connect(variant({ search: '?application_name=x' }));
  const { password } = new URL(database.url);
  const hidden = { url: warehouse.url, address: warehouse.address };
  expect(`${inspect(hidden)} ${JSON.stringify(hidden)} ${warehouse.url}`).not.toContain(`:${password}@`);
  expect(warehouse.address).toBe(`127.0.0.1:${new URL(database.url).port}/${database.name}`);
  expect(warehouse.url.reveal()).toContain(`:${password}@`);
  await warehouse.close();
  await warehouse.close();
});

test('a server that has no room even for a login has a full disk', async () => {
  const message = Buffer.from('SFATAL\0C53100\0Mcould not write init file: No space left on device\0\0');
  const head = Buffer.from('E____');
  head.writeInt32BE(message.length + 4, 1);
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([head, message])));
  });
  const port = String(await freePort());
  server.listen(Number(port), '127.0.0.1');
  const error = await failure(variant({ port, search: '?sslmode=disable' }));
  server.close();
  expect(error).toBeInstanceOf(WarehouseFull);
  expect(error.message).toMatch(/disk of the warehouse is full \(could not write init file.*make room there/);
});

test('a connection that goes silent, also in a COPY, is noticed within the time-out and replaced', async () => {
  await sql`create table public.copied (n int)`.execute(database.warehouse.db);
  const { wire, warehouse } = await behindWire();
  wire.freeze();
  const began = performance.now();
  await expect(sql`select 1`.execute(warehouse.db)).rejects.toThrow(/timeout/);
  expect(performance.now() - began).toBeLessThan(10_000);
  wire.thaw();
  const client = await warehouse.pool.connect();
  wire.freeze();
  const copying = pipeline(
    Readable.from(['1\n', '2\n']),
    client.query(copyFrom('copy public.copied from stdin')),
  );
  await expect(copying).rejects.toThrow(/timeout|terminated/);
  client.release(true);
  wire.thaw();
  expect(await sql`select 2 as two`.execute(warehouse.db)).toMatchObject({ rows: [{ two: 2 }] });
});

test('a connection that the server ends while idle does not end the process, and is replaced', async () => {
  const warehouse = await connect(database.url, { max: 1, applicationName: 'to be cut' });
  await database.warehouse.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'to be cut'`,
  );
  await until('the pool noticed', () => warehouse.pool.totalCount === 0);
  expect(await sql`select 1 as one`.execute(warehouse.db)).toMatchObject({ rows: [{ one: 1 }] });
  await warehouse.close();
});

test('a process that ends while the server is away ends with its reason, within a moment', async () => {
  const wire = await proxy({ host: '127.0.0.1', port: Number(new URL(database.url).port) });
  const through = variant({ port: String(wire.port) });
  const ending = new AbortController();
  const warehouse = await connect(through, { signal: ending.signal, retryMs: 600_000 });
  await wire.close();
  await until('the pool noticed', () => warehouse.pool.totalCount === 0);
  const waiting = sql`select 1`.execute(warehouse.db).catch((cause: unknown) => cause);
  const connecting = connect(through, { signal: ending.signal }).catch((cause: unknown) => cause);
  const reason = new Interrupted('asked to end');
  setTimeout(() => ending.abort(reason), 200);
  expect(await waiting).toBe(reason);
  expect(await connecting).toBe(reason);
  await expect(sql`select 1`.execute(warehouse.db)).rejects.toBe(reason);
  await warehouse.close();
});

test('a server that goes away for good is replaced by the next host, which takes every later connection', async () => {
  const to = { host: '127.0.0.1', port: Number(new URL(database.url).port) };
  const first = await proxy(to);
  const second = await proxy(to);
  const hosts = `127.0.0.1:${first.port},127.0.0.1:${second.port}`;
  const warehouse = await connect(database.url.replace(`127.0.0.1:${to.port}`, hosts), { max: 2 });
  onTestFinished(() => warehouse.close());
  expect([first.connections > 0, second.connections]).toEqual([true, 0]);
  await first.close();
  await until('the pool noticed', () => warehouse.pool.totalCount === 0);
  expect(await sql`select 1 as one`.execute(warehouse.db)).toMatchObject({ rows: [{ one: 1 }] });
  const moved = second.connections;
  expect(moved).toBeGreaterThan(0);
  second.cut();
  await until('the pool noticed', () => warehouse.pool.totalCount === 0);
  expect(await sql`select 1 as one`.execute(warehouse.db)).toMatchObject({ rows: [{ one: 1 }] });
  expect(second.connections).toBeGreaterThan(moved);
  await second.close();
});
