import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { make, running, textOf } from '../../../src/embedded/cluster.ts';
import { freePort, openEmbedded } from '../../../src/embedded/embedded.ts';
import { link, unprivileged } from '../../../src/embedded/native.ts';
import { connect } from '../../../src/warehouse/connect.ts';
import { type Running, type RunOptions, run, until } from '../../support/processes.ts';

const root = process.getuid?.() === 0;
/** An ordinary user, for tests that are run as root. */
const user = { uid: 65534, gid: 65534 };
/** False in a checkout that is closed to others: no ordinary user could run it. */
const open =
  root &&
  spawnSync('/bin/sh', ['-c', 'test -r "$1"', 'sh', process.execPath], { ...user, cwd: '/' }).status === 0;

const made: string[] = [];
const started: Running[] = [];

/** A home of its own in a directory that others may pass through. */
function newHome(mode = 0o755): string {
  const parent = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-home-')));
  fs.chmodSync(parent, mode);
  made.push(parent);
  return path.join(parent, 'home');
}

/** Another process that opens the warehouse of a home and holds it. */
function hold(home: string, options: RunOptions = {}): Running {
  const program = run(new URL('programs/hold.ts', import.meta.url), [home], options);
  started.push(program);
  return program;
}

const opened = async (program: Running): Promise<{ url: string; adopted: boolean; data: string }> =>
  JSON.parse(await program.line());

async function release(program: Running): Promise<void> {
  program.tell('release');
  expect(await program.ended()).toBe(0);
}

async function query(url: string, text: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function expectAnswer(url: string): Promise<void> {
  expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
}

const serverOf = (data: string): number => running(data)?.pid ?? 0;

/** One home that is made once; every test leaves its server stopped. */
const shared = newHome();
const file = (name: string): string => path.join(shared, 'postgres', name);
/** The warehouse of that home, released at the end of the test; `said`: its notices. */
async function openShared() {
  const said: string[] = [];
  const embedded = await openEmbedded(shared, { notice: (message) => said.push(message) });
  onTestFinished(() => embedded.release().catch(() => undefined));
  return { ...embedded, said };
}
/** Opens and releases it; gives its data directory. */
async function used(): Promise<string> {
  const embedded = await openShared();
  await embedded.release();
  return embedded.data;
}
/** Writes into a file of it until the end of the test. */
function overwrite(name: string, text: string): void {
  const before = fs.readFileSync(name, 'utf8');
  fs.writeFileSync(name, text);
  onTestFinished(() => fs.writeFileSync(name, before));
}

afterAll(async () => {
  for (const program of started) if (program.child.exitCode === null) await program.kill();
  const remove = { recursive: true, force: true, maxRetries: 5 };
  for (const parent of made) {
    const inside = path.join(parent, 'home', 'postgres');
    const pointer = path.join(inside, 'location');
    const outside = fs.existsSync(pointer) ? [fs.readFileSync(pointer, 'utf8').trim()] : [];
    for (const directory of [inside, ...outside]) {
      const server = running(path.join(directory, 'data'));
      if (server) process.kill(server.pid, 'SIGQUIT');
      fs.rmSync(directory, remove);
    }
    fs.rmSync(parent, remove);
  }
});

test('it asks for a password that only its user can read, listens on this machine only, and is shared within a process', async () => {
  const { url, own, data, release: end } = await openShared();
  expect(await query(url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
  expect(await query(url, 'show fsync')).toEqual([{ fsync: 'on' }]);
  expect(fs.statSync(file('password')).mode & 0o777).toBe(0o600);
  const wrong = Object.assign(new URL(url), { password: 'guess' });
  await expect(query(wrong.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  // Settings of the environment for other servers do not apply to it.
  for (const [name, value] of [
    ['PGSSLMODE', 'require'],
    ['PGOPTIONS', '-c default_transaction_read_only=on'],
    ['PGOPTIONS', '-c role=analyst'],
  ] as const) {
    vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    await (await connect(own)).close();
    vi.unstubAllEnvs();
  }
  const second = await openShared();
  expect(second.adopted).toBe(true);
  await end();
  await end();
  await expectAnswer(url);
  await second.release();
  expect(running(data)).toBeUndefined();
});

test('commands that start together share one server; the last one to end stops it, also if another was killed', async () => {
  const programs = [1, 2, 3].map(() => hold(shared));
  const all = await Promise.all(programs.map(opened));
  const { url = '', data = '' } = all[0] ?? {};
  expect(new Set(all.map((each) => each.url)).size).toBe(1);
  expect(all.filter(({ adopted }) => !adopted)).toHaveLength(1);
  const server = serverOf(data);
  expect(server).toBeGreaterThan(0);
  const [killed, ...others] = programs;
  await killed?.kill();
  for (const program of others) {
    expect(serverOf(data)).toBe(server);
    await expectAnswer(url);
    await release(program);
  }
  expect(running(data)).toBeUndefined();
  expect(fs.existsSync(path.join(data, 'postmaster.pid'))).toBe(false);
});

test('after kill -9 of the only command the next one adopts its server; after that of both it starts another', async () => {
  const killed = hold(shared);
  const { url, data } = await opened(killed);
  const server = serverOf(data);
  await killed.kill();
  const next = hold(shared);
  expect(await opened(next)).toMatchObject({ url, adopted: true });
  expect(serverOf(data)).toBe(server);
  process.kill(server, 'SIGKILL');
  await next.kill();
  // A busy machine may take a while to end it.
  await until('the end of the killed server', () => running(data) === undefined);
  const last = await openShared();
  expect(last.adopted).toBe(false);
  await last.release();
  expect(running(data)).toBeUndefined();
});

test('a server that is killed is started again by its user, with everything committed; where it cannot be, that is one error', async () => {
  const { url, data, said } = await openShared();
  await query(url, 'create table if not exists kept (n int)');
  await query(url, 'truncate kept');
  await query(url, 'insert into kept select generate_series(1, 1000)');
  const killed = serverOf(data);
  process.kill(killed, 'SIGKILL');
  await until('the server is dead', () => serverOf(data) !== killed);
  await until('another one runs', () => running(data)?.status === 'ready');
  expect(await query(url, 'select count(*)::int as n from kept')).toEqual([{ n: 1000 }]);
  await until('it is said', () => said.length > 0);
  const settings = path.join(data, 'postgresql.conf');
  overwrite(settings, `${fs.readFileSync(settings, 'utf8')}\nno_such_setting = 1\n`);
  process.kill(serverOf(data), 'SIGKILL');
  await until('the other is said', () => said.length > 1);
  expect(said).toEqual([
    'the server of the warehouse had died; it was started again',
    expect.stringMatching(/the server of the warehouse has died: .*no_such_setting/s),
  ]);
});

test('a command that is stopped while it starts the server leaves none', async () => {
  const data = await used();
  const log = file('server.log');
  let thrown: unknown;
  // A server that was ready before the signal came is used, and released.
  for (let attempt = 0; attempt < 5 && thrown === undefined; attempt += 1) {
    fs.rmSync(log);
    const stopping = new AbortController();
    const look = setInterval(() => fs.existsSync(log) && stopping.abort(new Error('asked to end')), 1);
    await openEmbedded(shared, { signal: stopping.signal })
      .then((embedded) => embedded.release())
      .catch((error: unknown) => {
        thrown = error;
      });
    clearInterval(look);
  }
  expect(thrown).toMatchObject({ message: 'asked to end' });
  expect(running(data)).toBeUndefined();
});

test('a program of Postgres that hangs ends with the command that is stopped', async () => {
  const directory = path.dirname(newHome());
  const began = path.join(directory, 'pid');
  fs.mkdirSync(path.join(directory, 'bin'));
  const script = `#!/bin/sh\necho $$ > ${began}\nexec sleep 600\n`;
  fs.writeFileSync(path.join(directory, 'bin', 'initdb'), script, { mode: 0o755 });
  const native = { directory, version: '18.0' };
  const data = path.join(directory, 'data');
  const stopping = new AbortController();
  const making = make({ native, as: undefined, data, log: '' }, 'secret', stopping.signal);
  await until('initdb runs', () => textOf(began) !== '');
  stopping.abort(new Error('asked to end'));
  await expect(making).rejects.toThrow('asked to end');
  await until('initdb is over', () => !fs.existsSync(`/proc/${textOf(began)}`));
  expect(fs.existsSync(data)).toBe(false);
});

test('where no port can be listened on, that is said', async () => {
  const { createServer } = net;
  const spy = vi.spyOn(net, 'createServer').mockImplementation(() => {
    const server = createServer();
    const listen = server.listen.bind(server);
    // No machine has this address: RFC 5737 keeps it for documentation.
    return Object.assign(server, { listen: (at: net.ListenOptions) => listen({ ...at, host: '192.0.2.1' }) });
  });
  onTestFinished(() => spy.mockRestore());
  await expect(freePort()).rejects.toThrow('no port of 127.0.0.1 can be listened on: set TIDEMARK_HOME');
  expect(spy.mock.calls.length).toBeGreaterThan(10);
});

const apart = ['--pid', '--ipc', '--fork', '--mount-proc', '--kill-child'];
test.runIf(spawnSync('unshare', [...apart, 'true']).status === 0)(
  'a server in another container is not started a second time on the same data',
  async () => {
    const [first = '', ...more] = apart;
    const program = new URL('programs/hold.ts', import.meta.url).pathname;
    const there = run(first, [...more, process.execPath, program, shared], { node: 'unshare' });
    started.push(there);
    const { url, data } = await opened(there);
    await expect(openEmbedded(shared)).rejects.toThrow('does not run in this container');
    expect(running(data)).toBeUndefined();
    await expectAnswer(url);
    // Killed outright, its server with it.
    await there.kill();
    expect(await used()).toBe(data);
  },
  60_000,
);

test('a pid file that a power cut left empty or full of NULs blocks no command', async () => {
  const data = await used();
  const { uid, gid } = fs.statSync(data);
  const pidFile = path.join(data, 'postmaster.pid');
  for (const left of ['', '\0\0\0\0\0']) {
    fs.writeFileSync(pidFile, left);
    fs.chownSync(pidFile, uid, gid);
    const { adopted, url, release: end } = await openShared();
    expect(adopted).toBe(false);
    await expectAnswer(url);
    await end();
    expect(fs.existsSync(pidFile)).toBe(false);
  }
});

test.each([
  ['taken by another program', undefined],
  ['lost by a full disk', ''],
  ['broken by a power cut', '\0\0\0\0\0'],
])('a port that was %s is replaced by a free one, which is said and remembered', async (_, left) => {
  const before = Number(fs.readFileSync(file('port'), 'utf8'));
  if (left === undefined) {
    const other = net.createServer().listen(before, '127.0.0.1');
    onTestFinished(() => void other.close());
  } else fs.writeFileSync(file('port'), left);
  const { port, url, said } = await openShared();
  expect(port).not.toBe(before);
  expect(Number(fs.readFileSync(file('port'), 'utf8'))).toBe(port);
  expect(said).toEqual([expect.stringContaining(`the warehouse now listens on ${port}`)]);
  await expectAnswer(url);
});

test('a command that never releases the warehouse ends with its own exit code', async () => {
  const program = hold(shared);
  const { data } = await opened(program);
  program.tell('abandon');
  expect(await program.ended()).toBe(3);
  expect(running(data)).toBeDefined();
  expect(await used()).toBe(data);
  expect(running(data)).toBeUndefined();
});

/** The command lines of all processes; none where the system does not show them in /proc. */
const commands = (): readonly string[] => {
  const pids = fs.existsSync('/proc') ? fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  return pids.map((pid) => textOf(`/proc/${pid}/cmdline`));
};

test('a first start that is killed at any moment does not break the next', async () => {
  const home = newHome();
  const inside = path.join(home, 'postgres');
  const half = (): boolean =>
    fs.existsSync(inside) && fs.readdirSync(inside).some((name) => name.includes('.half-'));
  const whole = (): boolean => fs.existsSync(path.join(inside, 'data'));
  let halves = 0;
  for (const delay of [0, 200, 800]) {
    const program = hold(home);
    await until('it has begun to make the cluster', () => half() || whole());
    await new Promise((resolve) => setTimeout(resolve, delay));
    await program.kill();
    if (half() && !whole()) halves++;
  }
  expect(halves, 'no kill hit the making of the cluster').toBeGreaterThan(0);
  // The initdb of a killed command makes its folder again where that is removed under it.
  await until(
    'no initdb of a killed command writes',
    () => !commands().some((one) => one.includes(`${inside}/data.half-`)),
  );
  const program = hold(home);
  const { url, data } = await opened(program);
  expect(await query(url, 'select current_database() as name')).toEqual([{ name: 'tidemark' }]);
  expect(fs.readdirSync(path.dirname(data)).filter((name) => name.includes('.half'))).toEqual([]);
  await release(program);
});

test('a warehouse without its version or its password is refused and left as it is', async () => {
  await used();
  for (const [name, message] of [
    ['data/PG_VERSION', /\(PG_VERSION\), and this is Postgres .* move it away and sync again/],
    ['password', /password is gone or empty, and the warehouse in .* opens to its password only/],
  ] as const) {
    const before = fs.readFileSync(file(name), 'utf8');
    fs.writeFileSync(file(name), '');
    const refused = { code: 'misconfigured', message: expect.stringMatching(message) };
    await expect(openEmbedded(shared)).rejects.toMatchObject(refused);
    fs.writeFileSync(file(name), before);
  }
});

test.runIf(root)(
  'as root in a directory closed to others the data go where the server can read them, said once',
  async () => {
    const home = newHome(0o700);
    const said: string[] = [];
    const use = async () => {
      const embedded = await openEmbedded(home, { notice: (message) => said.push(message) });
      await expectAnswer(embedded.url);
      await embedded.release();
      return embedded;
    };
    const { url, data } = await use();
    expect(data.startsWith(home)).toBe(false);
    expect(fs.statSync(data).uid).toBe(unprivileged().uid);
    expect(fs.statSync(path.join(home, 'postgres', 'password')).mode & 0o777).toBe(0o600);
    expect(await use()).toMatchObject({ url, data });
    expect(said).toEqual([expect.stringContaining(path.dirname(data))]);

    // A copied or renamed home, and one whose data are gone.
    const copy = newHome(0o700);
    spawnSync('cp', ['-a', home, copy]);
    const refused = { code: 'misconfigured', message: expect.stringContaining('gone or belongs to another') };
    await expect(openEmbedded(copy)).rejects.toMatchObject(refused);
    fs.rmSync(copy, { recursive: true });
    fs.rmSync(path.dirname(data), { recursive: true });
    await expect(openEmbedded(home)).rejects.toMatchObject(refused);
  },
);

/** Home of an ordinary user, made at first use. */
const ofUser = newHome();
if (root) fs.chownSync(path.dirname(ofUser), user.uid, user.gid);
const asUser = root ? user : {};

test.runIf(!root || open)(
  'a stale pid file with the pid of another program is no server',
  async () => {
    const first = hold(ofUser, asUser);
    const { url, data } = await opened(first);
    expect(data).toBe(path.join(ofUser, 'postgres', 'data'));
    if (root) expect(fs.statSync(data).uid).toBe(user.uid);
    await expectAnswer(url);
    await release(first);
    // Of the same user, as in a container that begins again: Postgres passes over those of others.
    const stranger = run('-e', ['setInterval(() => {}, 1000)'], asUser);
    started.push(stranger);
    const pidFile = `${stranger.child.pid}\n${data}\n1700000000\n5432\n\n127.0.0.1\n  1 1\nready   \n`;
    fs.writeFileSync(path.join(data, 'postmaster.pid'), pidFile);
    expect(running(data)).toBeUndefined();
    const next = hold(ofUser, asUser);
    await opened(next);
    await release(next);
    expect(stranger.child.exitCode).toBeNull();
  },
  90_000,
);

test.runIf(open)('root serves the warehouse of an ordinary user as that user', async () => {
  const data = path.join(ofUser, 'postgres', 'data');
  // As after a first start that was killed before its launch: root makes what is missing.
  for (const name of ['server.log', 'port']) fs.rmSync(path.join(ofUser, 'postgres', name));
  const later = await openEmbedded(ofUser);
  expect(fs.statSync(`/proc/${serverOf(data)}`).uid).toBe(user.uid);
  await later.release();
  const last = hold(ofUser, user);
  await opened(last);
  await release(last);
});

test.runIf(open)('a warehouse that root made is refused to an ordinary user, with the reason', async () => {
  await used();
  const other = hold(shared, user);
  expect(await other.ended()).toBe(1);
  expect(other.said()).toContain('was made by another user: run as that user (root, if root made it)');
});

test('binaries without their symbolic links get them', () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-links-'));
  made.push(directory);
  fs.mkdirSync(path.join(directory, 'native', 'lib'), { recursive: true });
  fs.writeFileSync(path.join(directory, 'native', 'lib', 'libx.so.1.2'), 'x');
  const wanted = [{ source: 'native/lib/libx.so.1.2', target: 'native/lib/libx.so' }];
  fs.writeFileSync(path.join(directory, 'native', 'pg-symlinks.json'), JSON.stringify(wanted));
  link(directory);
  expect(fs.readlinkSync(path.join(directory, 'native', 'lib', 'libx.so'))).toBe('libx.so.1.2');
  link(directory);
});

const refused = /^cannot lock .*\/lock \(EACCES.* may this user write there.*Set TIDEMARK_HOME/;
test.runIf(!root || open).each([
  ['is held by one process of a user alone', 0o666, 'held', 'busy'],
  ['that may only be read is refused, with what to do', 0o444, expect.stringMatching(refused), undefined],
])('a lock file %s', async (_, mode, first, second = first) => {
  const directory = path.dirname(newHome(0o777));
  const lock = path.join(directory, 'lock');
  fs.writeFileSync(lock, '');
  fs.chmodSync(lock, mode);
  const program = new URL('programs/lock.ts', import.meta.url);
  const answers = JSON.parse(await run(program, [lock], root ? user : {}).line());
  expect(answers).toEqual([first, second]);
});

test.each(['/proc/x', '/proc/self/fdinfo/x/y', '/dev/null/x'])(
  'a home in %s, where nothing can be made, ends with a sentence',
  async (place) => {
    // A process of its own: what never ends would hold this one, too.
    const program = run(new URL('programs/hold.ts', import.meta.url), [place], {});
    started.push(program);
    const late = setTimeout(() => program.child.kill('SIGKILL'), 60_000);
    expect(await program.ended()).toBe(1);
    clearTimeout(late);
    expect(program.said()).toContain(`cannot make ${place}`);
  },
);
