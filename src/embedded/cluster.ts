import { execFile, spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Misconfigured, Unreachable } from '../core/errors.ts';
import { minutes, seconds } from '../core/time.ts';
import { asArguments, type Settings } from '../warehouse/settings.ts';
import { type Identity, type Native, program } from './native.ts';

/** One data directory and its server: made, started, stopped. The caller holds a lock, so that only one process does so at a time. */
export interface Cluster {
  readonly native: Native;
  readonly as: Identity | undefined;
  /** The data directory. */
  readonly data: string;
  /** What the server says before its log is open. */
  readonly startLog: string;
  /** Directory of its log, as in its settings. */
  readonly log: string;
}

/** The server process of a data directory. */
export interface Server {
  readonly pid: number;
  readonly port: number;
  /** As Postgres writes it: `starting`, `ready`, `stopping` or `standby`; '' before it wrote any. */
  readonly status: string;
}

/** The only role and the database that a new cluster has. */
export const owner = 'tidemark';

/** After a crash a server first replays up to `max_wal_size`. */
const startMs = minutes(10);

/** Nothing of ours goes to the server: no credentials, no PG* variables, no locale. Windows programs need their system variables. */
const environment: { readonly env?: NodeJS.ProcessEnv } =
  process.platform === 'win32' ? {} : { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };

/**
 * The server that runs on this data directory, whichever process started it; undefined if none does. A stale pid file, a zombie and a pid that another
 * process has by now are none. Lines of postmaster.pid: pid, data directory, start time, port, socket directory, address, shared memory key, status.
 */
export function running(data: string): Server | undefined {
  const file = path.join(data, 'postmaster.pid');
  const lines = textOf(file).split('\n');
  const pid = Number.parseInt(lines[0] ?? '', 10);
  if (!(pid > 0) || !serves(pid, data)) return undefined;
  return { pid, port: Number(lines[3]), status: (lines[7] ?? '').trim() };
}

/** The text of a file; empty where there is none. A server that ends removes its file at any moment. */
function textOf(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

/** Whether that process is alive and works in that directory, as a server does. */
function serves(pid: number, data: string): boolean {
  try {
    if (process.platform === 'linux') return fs.readlinkSync(`/proc/${pid}/cwd`) === fs.realpathSync(data);
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform === 'win32') return true; // no cheap way to ask more; Postgres itself checks again
  const { stdout } = spawnSync('ps', ['-p', String(pid), '-o', 'command='], { encoding: 'utf8' });
  return ` ${stdout.trim()} `.includes(` ${data} `);
}

/**
 * Makes the data directory if there is none: UTF-8, byte order collation (the same on every system), passwords as SCRAM.
 * Atomic: it appears whole or not at all; halves that a killed process left are removed.
 */
export async function make(cluster: Cluster, password: string): Promise<void> {
  const { data, native, as } = cluster;
  // The initdb of a killed command may be writing there for a moment.
  await removeHalves(path.dirname(data));
  if (fs.existsSync(data)) return assertVersion(cluster);
  const half = `${data}.half-${crypto.randomUUID()}`;
  const secret = `${half}.pw`;
  fs.mkdirSync(half, { mode: 0o700 });
  fs.writeFileSync(secret, `${password}\n`, { mode: 0o600, flag: 'wx' });
  for (const file of [half, secret]) lend(file, as);
  const locale = [
    '--encoding=UTF8',
    '--locale=C.UTF-8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ];
  const login = [`--username=${owner}`, '--auth=scram-sha-256', `--pwfile=${secret}`];
  try {
    await run(cluster, 'initdb', [`--pgdata=${half}`, ...login, ...locale]);
    await run(cluster, 'postgres', ['--single', '-D', half, 'postgres'], `CREATE DATABASE ${owner}\n`);
  } finally {
    fs.rmSync(secret, { force: true });
  }
  assertVersion({ native, data: half });
  fs.renameSync(half, data);
}

/** The initdb of a killed command may go on writing for a moment. A half that cannot be removed is only untidy. */
async function removeHalves(parent: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const halves = fs.readdirSync(parent).filter((name) => name.startsWith('data.half-'));
    if (halves.length === 0) return;
    try {
      for (const name of halves) fs.rmSync(path.join(parent, name), { recursive: true, force: true });
    } catch {
      await sleep(50);
    }
  }
}

function assertVersion({ data, native }: Pick<Cluster, 'data' | 'native'>): void {
  const file = path.join(data, 'PG_VERSION');
  const made = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : '';
  if (made === native.version.split('.')[0]) return;
  const what = /^\d+$/.test(made) ? `of Postgres ${made}` : 'whose PG_VERSION is missing or broken';
  throw new Misconfigured(
    `${data} is a data directory ${what}, and this is Postgres ${native.version}: move it away and sync again, ` +
      'or serve it with a Postgres of its version and set DATABASE_URL',
  );
}

/**
 * Starts the server, or adopts the one that already runs on this data directory; returns when it takes connections. It outlives this process and does
 * not keep it alive. A start that is aborted once the server is launched leaves a server that `running` finds.
 * @param port the TCP port of 127.0.0.1; an adopted server keeps its own
 */
export async function start(
  cluster: Cluster,
  port: number,
  settings: Settings,
  signal?: AbortSignal,
): Promise<Server> {
  const { data } = cluster;
  let ended: (() => string | undefined) | undefined;
  for (const begun = performance.now(); performance.now() - begun < startMs; await sleep(10)) {
    const found = running(data);
    if (found?.status === 'ready') return found;
    // Before its pid file is there, a launched server could not be stopped.
    if (found !== undefined || ended === undefined) signal?.throwIfAborted();
    if (found !== undefined) continue; // starting, recovering or stopping: whichever it is, it ends
    const how = ended?.();
    // Backends of a killed server end a moment after it.
    if (how !== undefined && !/is still in use|lock file .* already exists/s.test(lastWords(cluster)))
      throw failed(cluster, `ended with ${how}`);
    if (ended !== undefined && how === undefined) continue;
    if (how !== undefined) await sleep(100);
    // Postgres takes a zombie, and a process that has the same pid by now, for a server, and does not start over an empty file. It finds living
    // backends of a dead server by the data directory, not by this file.
    fs.rmSync(path.join(data, 'postmaster.pid'), { force: true });
    ended = launch(cluster, port, settings);
  }
  throw failed(cluster, 'did not become ready in ten minutes');
}

/** Gives a function that says how the server ended; undefined while it has not. */
function launch(
  { native, as, data, startLog }: Cluster,
  port: number,
  settings: Settings,
): () => string | undefined {
  const out = fs.openSync(startLog, 'w', 0o600);
  lend(startLog, as);
  // Without a socket directory: its path would be too long in many checkouts.
  const own = { port: String(port), listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const child = spawn(program(native, 'postgres'), ['-D', data, ...asArguments({ ...settings, ...own })], {
    ...{ ...as, cwd: path.dirname(data), ...environment, stdio: ['ignore', out, out], detached: true },
  });
  fs.closeSync(out);
  let how: string | undefined;
  child.once('error', (error) => {
    how = error.message;
  });
  child.once('exit', (code, signal) => {
    how = signal ?? `code ${code}`;
  });
  child.unref();
  return () => how;
}

/** Stops the server of this data directory, if one runs: open connections are cut, everything committed is kept. */
export async function stop(cluster: Cluster): Promise<void> {
  const { data } = cluster;
  const server = running(data);
  if (server === undefined) return;
  if (process.platform === 'win32') return run(cluster, 'pg_ctl', ['stop', '-D', data, '-m', 'fast', '-w']);
  // SIGQUIT is as a power cut: the server recovers at the next start.
  for (const [name, patienceMs] of [
    ['SIGINT', minutes(1)],
    ['SIGQUIT', seconds(10)],
  ] as const) {
    const begun = performance.now();
    if (serves(server.pid, data)) process.kill(server.pid, name);
    while (performance.now() - begun < patienceMs) {
      if (!serves(server.pid, data)) return;
      await sleep(10);
    }
  }
  throw new Unreachable(`the embedded Postgres (process ${server.pid}, data in ${data}) does not stop`);
}

async function run(
  { native, as, data }: Cluster,
  name: 'initdb' | 'postgres' | 'pg_ctl',
  args: readonly string[],
  input?: string,
): Promise<void> {
  const options = { ...as, cwd: path.dirname(data), ...environment };
  const going = promisify(execFile)(program(native, name), args, options);
  going.child.stdin?.on('error', () => undefined); // it ended before reading; its exit code tells more
  going.child.stdin?.end(input);
  try {
    await going;
  } catch (cause) {
    const said = String(Reflect.get(Object(cause), 'stderr') ?? cause).trim();
    throw new Unreachable(`${name} of the embedded Postgres failed in ${data}: ${said.slice(-800)}`, {
      cause,
    });
  }
}

const failed = (cluster: Cluster, what: string): Unreachable =>
  new Unreachable(
    `the embedded Postgres in ${cluster.data} ${what}: ${lastWords(cluster) || `see ${cluster.log}`}`,
  );

/** The end of what the server wrote most recently, to its log or before that was open. */
export function lastWords({ startLog, log }: Cluster): string {
  return [...(fs.existsSync(startLog) ? [startLog] : []), ...logsIn(log)]
    .sort((a, b) => fs.statSync(a).mtimeMs - fs.statSync(b).mtimeMs)
    .slice(-2)
    .map((file) => fs.readFileSync(file, 'utf8').slice(-600))
    .join('\n')
    .trim();
}

/** The files of the server's log. */
export const logsIn = (log: string): readonly string[] =>
  fs
    .readdirSync(log, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => path.join(log, name));

/** Gives a file or directory that we made to the user the server runs as. */
export function lend(file: string, as: Identity | undefined): void {
  if (as) fs.chownSync(file, as.uid, as.gid);
}
