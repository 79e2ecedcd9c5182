import net from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { inspect } from 'node:util';
import { sql } from 'kysely';
import { from as copyFrom } from 'pg-copy-streams';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  AuthFailed,
  Interrupted,
  Misconfigured,
  Unreachable,
  WarehouseFull,
} from '../../../src/core/errors.ts';
import { freePort } from '../../../src/embedded/embedded.ts';
import { connectionString } from '../../../src/warehouse/address.ts';
import { connect } from '../../../src/warehouse/connect.ts';
import { asOwner, emptyDatabase, type TestDatabase } from '../../support/postgres.ts';
import { until } from '../../support/processes.ts';
import { proxy } from '../../support/proxy.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await emptyDatabase();
});
afterAll(() => database.drop());

/** The test database under another user, password, host, port, name or query. */
function variant(change: (url: URL) => void): string {
  const url = new URL(database.url);
  change(url);
  return url.href;
}

const failure = async (url: string, retryMs = 500): Promise<Error> => {
  const began = performance.now();
  const error: unknown = await connect(url, { retryMs }).then(
    (warehouse) => warehouse.close().then(() => new Error('it connected')),
    (e: unknown) => e,
  );
  if (!(error instanceof Error)) throw new Error(`not an error: ${inspect(error)}`);
  return Object.assign(error, { took: performance.now() - began });
};

test('values come out exactly: big numbers and days as text, instants as Date, the session in UTC', async () => {
  const { rows } = await sql`
    select 9223372036854775807::bigint as big, 12345678901234567890.123456789::numeric as exact, date '2024-03-31' as day,
      timestamptz '2024-03-31 02:30:00+02' as instant, timestamp '2024-03-31 02:30:00' as local, array[1,2]::bigint[] as bigs,
      '{"a":[1]}'::jsonb as json, current_setting('timezone') as zone`.execute(database.warehouse.db);
  expect(rows).toEqual([
    {
      big: '9223372036854775807',
      exact: '12345678901234567890.123456789',
      day: '2024-03-31',
      instant: new Date('2024-03-31T00:30:00Z'),
      local: '2024-03-31 02:30:00',
      bigs: ['1', '2'],
      json: { a: [1] },
      zone: 'UTC',
    },
  ]);
});

test('no statement is compiled first, whatever the server does by itself: a load’s take a millisecond each', async () => {
  const warehouse = await connect(database.url);
  try {
    const { rows } = await warehouse.pool.query<{ jit: string }>('show jit');
    expect(rows).toEqual([{ jit: 'off' }]);
  } finally {
    await warehouse.close();
  }
});

test.each([
  ['off', 'on'],
  ['remote_apply', 'remote_apply'],
])(
  'a commit that is answered is on the disk: where the server waits for it as %s, we do as %s',
  async (theirs, ours) => {
    const warehouse = await connect(
      variant((url) => url.searchParams.set('options', `-c synchronous_commit=${theirs}`)),
    );
    try {
      expect((await warehouse.pool.query('show synchronous_commit')).rows).toEqual([
        { synchronous_commit: ours },
      ]);
    } finally {
      await warehouse.close();
    }
  },
);

test('a wrong password and an unknown user fail at once as credentials', async () => {
  for (const url of [
    variant((u) => {
      u.password = 'wr0ng-secret';
    }),
    variant((u) => {
      u.username = 'nobody_here';
    }),
    variant((u) => {
      u.password = '';
    }),
  ]) {
    const error = await failure(url, 60_000);
    expect(error).toBeInstanceOf(AuthFailed);
    expect(error).toHaveProperty(
      'took',
      expect.toSatisfy((ms: number) => ms < 5_000),
    );
    expect(`${error.message}${inspect(error.cause)}`).not.toContain('wr0ng-secret');
  }
});

test('a login that fails leaves no socket behind that would keep the process', async () => {
  const sockets = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const before = sockets();
  await failure(
    variant((u) => {
      u.password = '';
    }),
  );
  await until('the socket is gone', () => sockets() <= before, 3_000);
});

test('a missing database fails at once, with what to do', async () => {
  const error = await failure(
    variant((u) => {
      u.pathname = '/not_there';
    }),
    60_000,
  );
  expect(error).toBeInstanceOf(Misconfigured);
  expect(error.message).toMatch(/not_there.*createdb/);
});

test('a server that is down is tried again until the deadline, then it is unreachable', async () => {
  const port = await freePort();
  const error = await failure(`postgres://u:s3cret@127.0.0.1:${port}/d`, 700);
  expect(error).toBeInstanceOf(Unreachable);
  expect(error.message).toContain(`127.0.0.1:${port}/d`);
  expect(error.message).not.toContain('s3cret');
  expect(error).toHaveProperty(
    'took',
    expect.toSatisfy((ms: number) => ms > 200 && ms < 5_000),
  );
});

test('a server that comes up while it is being tried is connected to', async () => {
  const target = new URL(database.url);
  const port = await freePort();
  const connecting = connect(
    variant((u) => {
      u.port = String(port);
    }),
    { retryMs: 15_000 },
  );
  let refused = 0;
  const probe = net.createServer((socket) => {
    refused++;
    socket.destroy();
  });
  // First nobody listens, then somebody who hangs up, then the server.
  await new Promise((resolve) => setTimeout(resolve, 150));
  probe.listen(port, '127.0.0.1');
  await until('a connection was hung up on', () => refused > 0);
  await new Promise((resolve) => probe.close(resolve));
  const server = net.createServer((socket) => {
    const upstream = net.connect(Number(target.port), '127.0.0.1');
    socket.pipe(upstream).pipe(socket);
    socket.on('error', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
  });
  server.listen(port, '127.0.0.1');
  const warehouse = await connecting;
  expect(await sql`select 1 as one`.execute(warehouse.db)).toMatchObject({ rows: [{ one: 1 }] });
  await warehouse.close();
  server.close();
});

test('a warehouse that may not be written to is refused', async () => {
  const role = `${database.name}_reader`;
  await asOwner(async (client) => {
    await client.query(`create role ${role} login password 'r'`);
    await client.query(`alter role ${role} set default_transaction_read_only = on`);
  });
  try {
    const error = await failure(
      variant((u) => {
        u.username = role;
        u.password = 'r';
      }),
      60_000,
    );
    expect(error).toBeInstanceOf(Misconfigured);
    expect(error.message).toContain('read-only');
  } finally {
    await asOwner((client) => client.query(`drop role ${role}`));
  }
});

test('a database that does not hold every text is refused, with what to do', async () => {
  const name = `${database.name}_latin`;
  await asOwner(async (client) => {
    const { rows } = await client.query<{ version: number }>(
      `select current_setting('server_version_num')::int as version`,
    );
    // Before 15 there was no other provider.
    const provider = (rows[0]?.version ?? 0) < 150_000 ? '' : 'locale_provider libc';
    await client.query(
      `create database ${name} template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' ${provider}`,
    );
  });
  try {
    const error = await failure(
      variant((u) => {
        u.pathname = `/${name}`;
      }),
      60_000,
    );
    expect(error).toBeInstanceOf(Misconfigured);
    expect(error.message).toMatch(/LATIN1.*createdb --encoding=UTF8/);
  } finally {
    await asOwner((client) => client.query(`drop database ${name}`));
  }
});

test('a user who may not make temporary tables is refused, with what to do', async () => {
  const role = `${database.name}_staged`;
  await asOwner(async (client) => {
    await client.query(`create role ${role} login password 'r'`);
    await client.query(`revoke temporary on database ${database.name} from public`);
    await client.query(`grant create on database ${database.name} to ${role}`);
  });
  const url = variant((u) => {
    u.username = role;
    u.password = 'r';
  });
  try {
    const error = await failure(url, 60_000);
    expect(error).toBeInstanceOf(Misconfigured);
    const [grant = ''] = /grant temporary on .*$/.exec(error.message) ?? [];
    await asOwner((client) => client.query(grant));
    expect(await failure(url, 60_000)).toMatchObject({ message: 'it connected' });
  } finally {
    await asOwner(async (client) => {
      await client.query(`grant temporary on database ${database.name} to public`);
      await client.query(`revoke all on database ${database.name} from ${role}`);
      await client.query(`drop role ${role}`);
    });
  }
});

test('no printed form of a warehouse shows the password', async () => {
  const warehouse = await connect(
    variant((u) => {
      u.searchParams.set('application_name', 'x');
    }),
  );
  const { password } = new URL(database.url);
  const hidden = { url: warehouse.url, address: warehouse.address };
  expect(`${inspect(hidden)} ${JSON.stringify(hidden)} ${warehouse.url}`).not.toMatch(
    new RegExp(`:${password}@`),
  );
  expect(warehouse.address).toBe(`127.0.0.1:${new URL(database.url).port}/${database.name}`);
  expect(warehouse.url.reveal()).toContain(`:${password}@`);
  await warehouse.close();
  await warehouse.close();
});

test('a server that has no room even for a login has a full disk: nobody configured anything wrongly', async () => {
  const words = Buffer.from('SFATAL\0C53100\0Mcould not write init file: No space left on device\0\0');
  const head = Buffer.from('E____');
  head.writeInt32BE(words.length + 4, 1);
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([head, words])));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? String(address?.port) : '';
  const error = await failure(
    variant((url) => {
      url.port = port;
      url.searchParams.set('sslmode', 'disable');
    }),
  );
  server.close();
  expect(error).toBeInstanceOf(WarehouseFull);
  expect(error.message).toMatch(
    /the disk of the warehouse is full \(could not write init file.*make room there/,
  );
});

test('a connection that has gone silent is noticed within the time-out, and the next query gets a fresh one', async () => {
  const wire = await proxy({ host: '127.0.0.1', port: Number(new URL(database.url).port) });
  const warehouse = await connect(
    variant((u) => {
      u.port = String(wire.port);
    }),
    { statementTimeout: 300, silenceMs: 200, max: 1 },
  );
  const before = wire.connections;
  wire.freeze();
  const began = performance.now();
  await expect(sql`select 1`.execute(warehouse.db)).rejects.toThrow(/timeout/);
  expect(performance.now() - began).toBeLessThan(10_000);
  wire.thaw();
  expect(await sql`select 2 as two`.execute(warehouse.db)).toMatchObject({ rows: [{ two: 2 }] });
  expect(wire.connections).toBeGreaterThan(before);
  await warehouse.close();
  await wire.close();
});

test('a connection that goes silent in a COPY is noticed too', async () => {
  await sql`create table copied (n int)`.execute(database.warehouse.db);
  const wire = await proxy({ host: '127.0.0.1', port: Number(new URL(database.url).port) });
  const warehouse = await connect(
    variant((u) => {
      u.port = String(wire.port);
    }),
    { statementTimeout: 300, silenceMs: 200, max: 1 },
  );
  const client = await warehouse.pool.connect();
  wire.freeze();
  const copying = pipeline(Readable.from(['1\n', '2\n']), client.query(copyFrom('copy copied from stdin')));
  await expect(copying).rejects.toThrow(/timeout|terminated/);
  client.release(true);
  await warehouse.close();
  await wire.close();
});

test('a connection that the server ends while idle does not end the process, and is replaced', async () => {
  const warehouse = await connect(database.url, { max: 1, applicationName: 'to be cut' });
  const cut = await sql`
    select count(pg_terminate_backend(pid))::int as n from pg_stat_activity where application_name = 'to be cut'`.execute(
    database.warehouse.db,
  );
  expect(cut.rows).toEqual([{ n: 1 }]);
  await until('the pool noticed', () => warehouse.pool.totalCount === 0);
  expect(await sql`select 1 as one`.execute(warehouse.db)).toMatchObject({ rows: [{ one: 1 }] });
  await warehouse.close();
});

test('who is told to end while the server is away ends with what it was told, within a moment', async () => {
  const wire = await proxy({
    host: new URL(database.url).hostname,
    port: Number(new URL(database.url).port),
  });
  const through = new URL(database.url);
  through.port = String(wire.port);
  const ending = new AbortController();
  const warehouse = await connect(through.href, { signal: ending.signal });
  await wire.close();
  await until('the pool noticed', () => warehouse.pool.totalCount === 0);
  const told = new Interrupted('told to end');
  const ended = async (
    work: Promise<unknown>,
  ): Promise<{ readonly error: unknown; readonly inTime: boolean }> => {
    const began = performance.now();
    const error = await work.catch((cause: unknown) => cause);
    return { error, inTime: performance.now() - began < 10_000 };
  };
  const waiting = ended(sql`select 1`.execute(warehouse.db));
  const connecting = ended(connect(through.href, { signal: ending.signal }));
  setTimeout(() => ending.abort(told), 200);
  expect(await waiting).toEqual({ error: told, inTime: true });
  expect(await connecting).toEqual({ error: told, inTime: true });
  expect(await ended(sql`select 1`.execute(warehouse.db))).toEqual({ error: told, inTime: true });
  await warehouse.close();
});

test('sslmode means what it means to psql', async () => {
  const demanding = await failure(
    variant((u) => {
      u.searchParams.set('sslmode', 'require');
    }),
    60_000,
  );
  expect(demanding).toBeInstanceOf(Misconfigured);
  expect(demanding.message).toContain('sslmode');
  for (const mode of ['prefer', 'allow', 'disable']) {
    const warehouse = await connect(
      variant((u) => {
        u.searchParams.set('sslmode', mode);
      }),
    );
    await warehouse.close();
  }
});

test.each([
  ['mysql://u:hunter2@h/d', /Postgres URL/],
  ['host=localhost password=hunter2', /Postgres URL/],
  ['postgres://u:hunter2@h/d?sslmode=maybe', /sslmode=maybe/],
  ['postgres://u:hunter2@h/d?sslmode=verify-ca', /sslrootcert/],
])('%s is refused without quoting its password', (url, why) => {
  expect(() => connectionString(url)).toThrow(Misconfigured);
  expect(() => connectionString(url)).toThrow(why);
  expect(() => connectionString(url)).not.toThrow(/hunter2/);
});
