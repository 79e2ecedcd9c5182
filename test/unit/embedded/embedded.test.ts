import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { running, start, stop } from '../../../src/embedded/cluster.ts';
import { openEmbedded } from '../../../src/embedded/embedded.ts';
import { tryExclusive } from '../../../src/embedded/locks.ts';
import { installed, link, program, unprivileged } from '../../../src/embedded/native.ts';
import { connect } from '../../../src/warehouse/connect.ts';
import { warehouseSettings } from '../../../src/warehouse/settings.ts';
import { type Running, type RunOptions, run, until } from '../../support/processes.ts';
import { open, root, user } from '../../support/users.ts';

const made: string[] = [];
const started: Running[] = [];

/** A home of its own in a directory that others may pass through. */
function newHome(mode = 0o755): string {
  const parent = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-home-')));
  fs.chmodSync(parent, mode);
  made.push(parent);
  return path.join(parent, 'home');
}

interface Told {
  readonly url: string;
  readonly adopted: boolean;
  readonly data: string;
}

function hold(home: string, options: RunOptions = {}): Running {
  const program = run(new URL('programs/hold.ts', import.meta.url), [home], options);
  started.push(program);
  return program;
}

const told = async (program: Running): Promise<Told> => JSON.parse(await program.line());

async function release(program: Running): Promise<void> {
  program.tell('release');
  expect(await program.ended()).toBe(0);
}

async function query<T extends pg.QueryResultRow>(url: string, text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(text)).rows;
  } finally {
    await client.end();
  }
}

const serverOf = (data: string): number => running(data)?.pid ?? 0;

/** One home that is made once; every test leaves its server stopped. */
const shared = newHome();

afterAll(async () => {
  for (const program of started) if (program.child.exitCode === null) await program.kill();
  for (const parent of made) {
    const pointer = path.join(parent, 'home', 'postgres', 'place');
    for (const place of [
      path.join(parent, 'home', 'postgres'),
      ...(fs.existsSync(pointer) ? [fs.readFileSync(pointer, 'utf8').trim()] : []),
    ]) {
      const server = running(path.join(place, 'data'));
      if (server) process.kill(server.pid, 'SIGQUIT');
      fs.rmSync(place, { recursive: true, force: true, maxRetries: 5 });
    }
    fs.rmSync(parent, { recursive: true, force: true, maxRetries: 5 });
  }
});

test.each([
  ['PGSSLMODE', 'require'],
  ['PGOPTIONS', '-c default_transaction_read_only=on'],
  ['PGOPTIONS', '-c role=analyst'],
])(
  'what the environment says to other servers keeps nobody from the warehouse: %s=%s',
  async (name, value) => {
    const holder = hold(shared);
    const { url } = await told(holder);
    process.env[name] = value;
    try {
      const warehouse = await connect(url);
      await warehouse.close();
    } finally {
      delete process.env[name];
      await release(holder);
    }
  },
);

test('commands that start in the same instant share one server, and the last one to end stops it', async () => {
  const programs = [1, 2, 3, 4].map(() => hold(shared));
  const all = await Promise.all(programs.map(told));
  const [first] = all;
  if (!first) throw new Error('no answer');
  expect(new Set(all.map(({ url }) => url)).size).toBe(1);
  expect(all.filter(({ adopted }) => !adopted)).toHaveLength(1);
  const server = serverOf(first.data);
  expect(server).toBeGreaterThan(0);

  for (const program of programs.slice(1)) {
    await release(program);
    expect(serverOf(first.data)).toBe(server);
  }
  expect(await query(first.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  const [last] = programs;
  if (last) await release(last);
  expect(running(first.data)).toBeUndefined();
  expect(fs.existsSync(path.join(first.data, 'postmaster.pid'))).toBe(false);
});

test('it listens on the loopback address only, asks for a password, and keeps that where only its user can read it', async () => {
  const embedded = await openEmbedded(shared);
  try {
    expect(await query(embedded.url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    expect(await query(embedded.url, 'show fsync')).toEqual([{ fsync: 'on' }]);
    expect(fs.statSync(path.join(shared, 'postgres', 'password')).mode & 0o777).toBe(0o600);
    const wrong = new URL(embedded.url);
    wrong.password = 'guess';
    await expect(query(wrong.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    expect(embedded.url).not.toContain('guess');
  } finally {
    await embedded.release();
  }
  expect(running(embedded.data)).toBeUndefined();
});

test('two uses in one process are two users', async () => {
  const first = await openEmbedded(shared);
  const second = await openEmbedded(shared);
  expect(second.adopted).toBe(true);
  await first.release();
  await first.release();
  expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  await second.release();
  expect(running(second.data)).toBeUndefined();
});

test('a server whose only user was killed is adopted by the next command, which stops it', async () => {
  const killed = hold(shared);
  const { url, data } = await told(killed);
  const server = serverOf(data);
  await query(url, 'create table if not exists kept (n int)');
  await killed.kill();
  expect(serverOf(data)).toBe(server);

  const next = hold(shared);
  expect(await told(next)).toMatchObject({ url, adopted: true });
  expect(serverOf(data)).toBe(server);
  await release(next);
  expect(running(data)).toBeUndefined();
});

test('a killed user does not keep the server running when the others are gone', async () => {
  const [killed, other] = [hold(shared), hold(shared)];
  const { data } = await told(other);
  await told(killed);
  await killed.kill();
  await release(other);
  expect(running(data)).toBeUndefined();
});

test('after kill -9 of the server its user brings back everything committed, at the same port, and says so', async () => {
  const said: string[] = [];
  const { url, data, release: end } = await openEmbedded(shared, { notice: (message) => said.push(message) });
  await query(url, 'create table if not exists kept (n int)');
  await query(url, 'truncate kept');
  await query(url, 'insert into kept select generate_series(1, 1000)');
  const killed = serverOf(data);
  process.kill(killed, 'SIGKILL');
  await until('the server is dead', () => running(data) === undefined);
  expect(fs.existsSync(path.join(data, 'postmaster.pid'))).toBe(true);

  await until('another one runs', () => running(data)?.status === 'ready');
  expect(serverOf(data)).not.toBe(killed);
  expect(await query(url, 'select count(*)::int as n from kept')).toEqual([{ n: 1000 }]);
  expect(said).toEqual(['the server of the warehouse had died; it was started again']);
  await end();
  expect(running(data)).toBeUndefined();
});

test('a server whose start is given up behind its launch is not left behind, however slowly it comes', async () => {
  const { data, log, port, release: end } = await openEmbedded(shared);
  await end();
  const real = installed();
  const slow = path.join(path.dirname(newHome()), 'bin');
  fs.mkdirSync(slow);
  fs.writeFileSync(
    path.join(slow, 'postgres'),
    `#!/bin/sh\nsleep 0.2\nexec '${program(real, 'postgres')}' "$@"\n`,
    {
      mode: 0o755,
    },
  );
  const { uid, gid } = fs.statSync(data);
  const cluster = {
    native: { ...real, directory: path.dirname(slow) },
    as: root ? { uid, gid } : undefined,
    data,
    log,
    startLog: path.join(path.dirname(data), 'start.log'),
  };
  await expect(start(cluster, port, warehouseSettings(log), AbortSignal.timeout(50))).rejects.toThrow();
  await stop(cluster);
  // Had it been left, it would be there by now.
  await sleep(500);
  expect(running(data)).toBeUndefined();
});

test('a command that is told to end while it starts the server leaves none behind', async () => {
  const { data, release: end } = await openEmbedded(shared);
  await end();
  const startLog = path.join(path.dirname(data), 'start.log');
  let given: unknown;
  // A server that was ready before anybody could say so is used, and released.
  for (let attempt = 0; attempt < 5 && given === undefined; attempt += 1) {
    fs.rmSync(startLog);
    const stopping = new AbortController();
    const look = setInterval(() => fs.existsSync(startLog) && stopping.abort(new Error('told to end')), 1);
    await openEmbedded(shared, { signal: stopping.signal })
      .then((opened) => opened.release())
      .catch((error: unknown) => {
        given = error;
      });
    clearInterval(look);
  }
  expect(given).toMatchObject({ message: 'told to end' });
  expect(running(data)).toBeUndefined();
});

test('a command says that it waits while another one starts or stops the server', async () => {
  await (await openEmbedded(shared)).release();
  const lock = tryExclusive(path.join(shared, 'postgres', 'lock'));
  const notices: string[] = [];
  const opening = openEmbedded(shared, { notice: (message) => notices.push(message) });
  await until('it is said', () => notices.length > 0, 30_000);
  lock?.release();
  await (await opening).release();
  expect(notices).toEqual([
    expect.stringContaining('waiting for another command that starts or stops the warehouse'),
  ]);
}, 60_000);

test('after kill -9 of a command and its server at once the next command starts', async () => {
  const killed = hold(shared);
  const { data } = await told(killed);
  process.kill(serverOf(data), 'SIGKILL');
  await killed.kill();
  const next = hold(shared);
  expect(await told(next)).toMatchObject({ adopted: false });
  await release(next);
});

const apart = ['--pid', '--ipc', '--fork', '--mount-proc', '--kill-child'];
test.runIf(spawnSync('unshare', [...apart, 'true']).status === 0)(
  'a server that runs in another container is not started a second time on the same data',
  async () => {
    const program = new URL('programs/hold.ts', import.meta.url).pathname;
    const away = (home: string): Running => {
      const [first = '', ...more] = apart;
      const other = run(first, [...more, process.execPath, program, home], { node: 'unshare' });
      started.push(other);
      return other;
    };
    const home = newHome();
    const there = away(home);
    const { url, data } = await told(there);
    const here = hold(home);
    const came = await here.line().then(
      () => 'two servers on one data directory',
      () => 'refused',
    );
    expect(came).toBe('refused');
    expect(await here.ended()).toBe(1);
    expect(here.said()).toContain('does not run in this container');
    expect(running(data)).toBeUndefined();
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    // Killed outright, its server with it.
    await there.kill();
    const later = hold(home);
    await told(later);
    const elsewhere = away(home);
    expect(await elsewhere.ended()).toBe(1);
    await release(later);
  },
  60_000,
);

test.runIf(!root || open)(
  'a stale pid file that names a living stranger is not taken for a server, neither by us nor by Postgres',
  async () => {
    const home = newHome();
    if (root) fs.chownSync(path.dirname(home), user.uid, user.gid);
    const as = root ? user : {};
    const first = hold(home, as);
    const { data } = await told(first);
    await release(first);
    // Of the same user, as in a container that begins again: Postgres passes over those of others.
    const stranger = run('-e', ['setInterval(() => {}, 1000)'], as);
    started.push(stranger);
    fs.writeFileSync(
      path.join(data, 'postmaster.pid'),
      `${stranger.pid}\n${data}\n1700000000\n5432\n\n127.0.0.1\n  1 1\nready   \n`,
    );
    expect(running(data)).toBeUndefined();
    const next = hold(home, as);
    await until('the server runs', () => running(data)?.status === 'ready', 60_000);
    await told(next);
    await release(next);
    expect(stranger.child.exitCode).toBeNull();
  },
  90_000,
);

test.each(['', '\0\0\0\0\0'])('a pid file that a power cut left as %j keeps nobody out', async (left) => {
  const { data, release: end } = await openEmbedded(shared);
  await end();
  const { uid, gid } = fs.statSync(data);
  const file = path.join(data, 'postmaster.pid');
  fs.writeFileSync(file, left);
  fs.chownSync(file, uid, gid);
  const embedded = await openEmbedded(shared);
  try {
    expect(embedded.adopted).toBe(false);
    expect(await query(embedded.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  } finally {
    await embedded.release();
  }
  expect(fs.existsSync(file)).toBe(false);
});

test('a port that another program has taken is given up for a free one, and the new one is remembered', async () => {
  const file = path.join(shared, 'postgres', 'port');
  const before = Number(fs.readFileSync(file, 'utf8'));
  const squatter = net.createServer().listen(before, '127.0.0.1');
  const notices: string[] = [];
  const embedded = await openEmbedded(shared, { notice: (message) => notices.push(message) });
  try {
    expect(embedded.port).not.toBe(before);
    expect(Number(fs.readFileSync(file, 'utf8'))).toBe(embedded.port);
    expect(notices.join()).toContain(String(before));
    expect(await query(embedded.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  } finally {
    await embedded.release();
    squatter.close();
  }
});

test.each(['', '\0\0\0\0\0', '99999'])(
  'a port that a full disk or a power cut left as %j is replaced by a new one, which is said',
  async (left) => {
    const file = path.join(shared, 'postgres', 'port');
    fs.writeFileSync(file, left);
    const notices: string[] = [];
    const embedded = await openEmbedded(shared, { notice: (message) => notices.push(message) });
    try {
      expect(Number(fs.readFileSync(file, 'utf8'))).toBe(embedded.port);
      expect(notices.join()).toContain(String(embedded.port));
      expect(await query(embedded.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    } finally {
      await embedded.release();
    }
  },
);

test('a log file that is large or old is removed when the server is started, not while it runs', async () => {
  const first = await openEmbedded(shared);
  const [name = ''] = fs.readdirSync(first.log);
  const file = path.join(first.log, name);
  fs.truncateSync(file, 11 * 1024 * 1024);
  await (await openEmbedded(shared)).release();
  expect(fs.statSync(file).size).toBeGreaterThan(10 * 1024 * 1024);
  await first.release();
  await (await openEmbedded(shared)).release();
  expect(fs.existsSync(file) ? fs.statSync(file).size : 0).toBeLessThan(10 * 1024 * 1024);
});

test('a command that never gives the warehouse back still ends by itself, with its own exit code', async () => {
  const program = hold(shared);
  const { data } = await told(program);
  program.tell('abandon');
  expect(await program.ended()).toBe(3);
  expect(running(data)).toBeDefined();
  const next = hold(shared);
  await told(next);
  await release(next);
  expect(running(data)).toBeUndefined();
});

test('a first start that is killed at any moment leaves nothing that hurts the next', async () => {
  const home = newHome();
  const inside = path.join(home, 'postgres');
  const half = (): boolean =>
    fs.existsSync(inside) && fs.readdirSync(inside).some((name) => name.includes('.half-'));
  const whole = (): boolean => fs.existsSync(path.join(inside, 'data'));
  let halves = 0;
  for (const delay of [0, 30, 100, 200, 400, 800]) {
    const program = hold(home);
    await until('it has begun to make the cluster', () => half() || whole());
    await new Promise((resolve) => setTimeout(resolve, delay));
    await program.kill();
    if (half() && !whole()) halves++;
  }
  expect(halves, 'no kill hit the making of the cluster').toBeGreaterThan(0);
  const program = hold(home);
  const { url, data } = await told(program);
  expect(await query(url, 'select current_database() as name')).toEqual([{ name: 'tidemark' }]);
  expect(fs.readdirSync(path.dirname(data)).filter((name) => name.includes('.half'))).toEqual([]);
  await release(program);
});

test('a data directory without a version is refused and left as it is', async () => {
  const { data, release: end } = await openEmbedded(shared);
  await end();
  const version = path.join(data, 'PG_VERSION');
  const made = fs.readFileSync(version, 'utf8');
  fs.writeFileSync(version, '');
  try {
    await expect(openEmbedded(shared)).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringMatching(/PG_VERSION is missing or broken.* move it away and sync again/),
    });
  } finally {
    fs.writeFileSync(version, made);
  }
});

test('a lost or empty password is an error that says so', async () => {
  const file = path.join(shared, 'postgres', 'password');
  const before = fs.readFileSync(file, 'utf8');
  for (const spoil of [() => fs.writeFileSync(file, ''), () => fs.rmSync(file)]) {
    spoil();
    const refused = { code: 'misconfigured', message: expect.stringContaining(file) };
    await expect(openEmbedded(shared)).rejects.toMatchObject(refused);
  }
  fs.writeFileSync(file, before, { mode: 0o600 });
});

test.runIf(root)(
  'as root in a directory closed to others the data goes where the server can reach it, which is said once',
  async () => {
    const home = newHome(0o700);
    const first = hold(home);
    const { url, data } = await told(first);
    expect(data.startsWith(home)).toBe(false);
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(fs.statSync(data).uid).toBe(unprivileged().uid);
    expect(fs.statSync(path.join(home, 'postgres', 'password')).mode & 0o777).toBe(0o600);
    await release(first);
    expect(first.said()).toContain(path.dirname(data));

    const second = hold(home);
    expect(await told(second)).toMatchObject({ url, data });
    await release(second);
    expect(second.said()).toBe('');
  },
);

test.runIf(root)(
  'a copied or renamed home whose data are elsewhere is refused, and so is one whose data are gone',
  async () => {
    const home = newHome(0o700);
    const { data, release: end } = await openEmbedded(home, { notice: () => undefined });
    await end();
    const copy = newHome(0o700);
    spawnSync('cp', ['-a', home, copy]);
    const pointer = path.join(copy, 'postgres', 'place');
    await expect(openEmbedded(copy)).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining(`remove ${pointer} to begin with an empty warehouse`),
    });
    fs.rmSync(pointer);
    const own = await openEmbedded(copy, { notice: () => undefined });
    expect(own.data).not.toBe(data);
    await own.release();
    fs.rmSync(path.dirname(own.data), { recursive: true });
    await expect(openEmbedded(copy)).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('that is gone'),
    });
    // The tests' own cleaning finds the data by the pointer.
    expect(fs.readFileSync(path.join(home, 'postgres', 'place'), 'utf8').trim()).toBe(path.dirname(data));
  },
);

test.runIf(open)(
  'an ordinary user has it under its home, as itself; root that comes later serves it as that user',
  async () => {
    const home = newHome();
    fs.chownSync(path.dirname(home), user.uid, user.gid);
    const program = hold(home, user);
    const { url, data } = await told(program);
    expect(data).toBe(path.join(home, 'postgres', 'data'));
    expect(fs.statSync(data).uid).toBe(user.uid);
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await release(program);

    // As after a first start that was killed before its launch: root makes what is not there.
    for (const name of ['start.log', 'port', 'log'])
      fs.rmSync(path.join(home, 'postgres', name), { recursive: true });
    const later = await openEmbedded(home);
    expect(fs.statSync(`/proc/${serverOf(data)}`).uid).toBe(user.uid);
    await later.release();
    const again = hold(home, user);
    await told(again);
    await release(again);
  },
);

test.runIf(open)(
  'a warehouse that root made is refused to an ordinary user, who is told whose it is',
  async () => {
    await (await openEmbedded(shared)).release();
    const other = hold(shared, user);
    expect(await other.ended()).toBe(1);
    expect(other.said()).toContain('was made by another user: run as that user (root, if root made it)');
  },
);

test('binaries whose symbolic links were never made get them', () => {
  const package_ = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-links-'));
  made.push(package_);
  fs.mkdirSync(path.join(package_, 'native', 'lib'), { recursive: true });
  fs.writeFileSync(path.join(package_, 'native', 'lib', 'libx.so.1.2'), 'x');
  const wanted = [{ source: 'native/lib/libx.so.1.2', target: 'native/lib/libx.so' }];
  fs.writeFileSync(path.join(package_, 'native', 'pg-symlinks.json'), JSON.stringify(wanted));
  link(package_);
  expect(fs.readlinkSync(path.join(package_, 'native', 'lib', 'libx.so'))).toBe('libx.so.1.2');
  link(package_);
});

test('a server that does not come up again is an error that is said once', async () => {
  const said: string[] = [];
  const { data, release: end } = await openEmbedded(shared, { notice: (message) => said.push(message) });
  const settings = path.join(data, 'postgresql.conf');
  const before = fs.readFileSync(settings, 'utf8');
  fs.appendFileSync(settings, '\nno_such_setting = 1\n');
  process.kill(serverOf(data), 'SIGKILL');
  try {
    await until('it is said', () => said.length > 0);
    expect(said).toEqual([expect.stringMatching(/the server of the warehouse has died: .*no_such_setting/s)]);
  } finally {
    fs.writeFileSync(settings, before);
    await end().catch(() => undefined);
  }
});
