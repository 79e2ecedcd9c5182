/** One data directory and its server: made, started, stopped. The caller holds a lock, so that only one process does so at a time. */
import { type ChildProcess, execFile, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { codeOf, Misconfigured, Unreachable } from '../core/errors.ts';
import { minutes, seconds } from '../core/time.ts';
import { type Identity, type Native, type Program, program } from './native.ts';

export interface Cluster {
  readonly native: Native;
  /** The user its server runs as; undefined: this one. */
  readonly as: Identity | undefined;
  /** The data directory. */
  readonly data: string;
  /** The file of its log; the one of the server before is kept as `<log>.1`. */
  readonly log: string;
}

/** The only role and the database that a new cluster has. */
export const owner = 'tidemark';

/** After a crash a server first replays up to `max_wal_size`. */
const startMs = minutes(10);

/** Nothing of ours goes to the server: no credentials, no PG* variables, no locale. Windows programs need their system variables. */
const environment: { readonly env?: NodeJS.ProcessEnv } =
  process.platform === 'win32' ? {} : { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };

/**
 * The server that runs on this data directory, whichever process started it; undefined if none does. A stale pid file, a zombie, and a pid that
 * another process has by now do not count. Lines of postmaster.pid: pid, data directory, start time, port, socket directory, address, shared
 * memory key, status.
 */
export function running(data: string) {
  const lines = textOf(path.join(data, 'postmaster.pid')).split('\n');
  const pid = Number.parseInt(lines[0] ?? '', 10);
  if (!(pid > 0) || !serves(pid, data)) return undefined;
  // As Postgres writes it: `starting`, `ready`, `stopping` or `standby`; '' before it wrote any.
  const status = (lines[7] ?? '').trim();
  return { pid, port: Number(lines[3]), status };
}

/** The text of a file, trimmed; empty where there is none. A server that ends removes its file at any moment. */
export function textOf(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
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
 * Atomic: it appears whole or not at all; halves that a killed process left are removed. When `signal` aborts it throws its reason.
 */
export async function make(cluster: Cluster, password: string, signal?: AbortSignal): Promise<void> {
  const { data, native, as } = cluster;
  const halves = fs.readdirSync(path.dirname(data)).filter((name) => name.startsWith('data.half-'));
  // The initdb of a killed command may go on writing for a moment.
  const options = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 };
  for (const name of halves) fs.rmSync(path.join(path.dirname(data), name), options);
  if (!fs.existsSync(data)) {
    const half = `${data}.half-${crypto.randomUUID()}`;
    fs.mkdirSync(half, { mode: 0o700 });
    fs.writeFileSync(`${half}.pw`, `${password}\n`, { mode: 0o600, flag: 'wx' });
    for (const file of [half, `${half}.pw`]) lend(file, as);
    const locale = ['--encoding=UTF8', '--locale=C.UTF-8', '--locale-provider=builtin'];
    const login = [`--username=${owner}`, '--auth=scram-sha-256', `--pwfile=${half}.pw`];
    const initdb = [`--pgdata=${half}`, ...login, ...locale, '--builtin-locale=C.UTF-8'];
    await run(cluster, 'initdb', initdb, { signal });
    const input = `CREATE DATABASE ${owner}\n`;
    await run(cluster, 'postgres', ['--single', '-D', half, 'postgres'], { input, signal });
    fs.rmSync(`${half}.pw`);
    fs.renameSync(half, data);
  }
  const version = textOf(path.join(data, 'PG_VERSION'));
  if (version === native.version.split('.')[0]) return;
  throw new Misconfigured(
    `${data} is a data directory of Postgres “${version}” (PG_VERSION), and this is Postgres ${native.version}: ` +
      'move it away and sync again, or serve it with a Postgres of its version and set DATABASE_URL',
  );
}

/**
 * Starts the server, or adopts the one that already runs on this data directory; returns when it takes connections. It outlives this process and does
 * not keep it alive. A start that is aborted once the server is launched leaves a server that `running` finds.
 * @param port the TCP port of 127.0.0.1; an adopted server keeps its own
 */
export async function start(cluster: Cluster, port: number, settings: ServerSettings, signal?: AbortSignal) {
  const { data, log } = cluster;
  let launched: ChildProcess | undefined;
  for (const begun = performance.now(); performance.now() - begun < startMs; await sleep(10)) {
    const found = running(data);
    if (found?.status === 'ready') return found;
    // Before its pid file exists, a launched server could not be stopped.
    if (found !== undefined || launched === undefined) signal?.throwIfAborted();
    if (found !== undefined) continue; // starting, recovering or stopping: each of these ends
    const end = launched && (launched.signalCode ?? launched.exitCode);
    if (end === null) continue;
    if (end !== undefined) {
      // Backends of a killed server end a moment after it; then try another time.
      if (!/is still in use|lock file .* already exists/s.test(textOf(log)))
        throw failed(cluster, `ended with ${end}`);
      await sleep(100);
    }
    // Postgres takes a zombie, and a process that has the same pid by now, for a server, and does not start over an empty file. It finds living
    // backends of a dead server by the data directory, not by this file.
    fs.rmSync(path.join(data, 'postmaster.pid'), { force: true });
    launched = launch(cluster, port, settings);
  }
  throw failed(cluster, 'did not become ready in ten minutes');
}

function launch({ native, as, data, log }: Cluster, port: number, settings: ServerSettings): ChildProcess {
  if (fs.existsSync(log)) fs.renameSync(log, `${log}.1`);
  const out = fs.openSync(log, 'w', 0o600);
  // Without a socket directory: its path would be too long in many checkouts.
  const own = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const args = Object.entries({ ...settings, ...own }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const options: SpawnOptions = { ...environment, stdio: ['ignore', out, out], detached: true };
  const child = spawn(program(native, 'postgres'), ['-D', data, ...args], {
    ...as,
    ...options,
    cwd: path.dirname(data),
  });
  fs.closeSync(out);
  child.on('error', () => undefined); // its exit code says it, too
  child.unref();
  return child;
}

/** Stops the server of this data directory, if one runs: open connections are cut, everything committed is kept. */
export async function stop(cluster: Cluster): Promise<void> {
  const { data } = cluster;
  const server = running(data);
  if (server === undefined) return;
  if (process.platform === 'win32') return run(cluster, 'pg_ctl', ['stop', '-D', data, '-m', 'fast', '-w']);
  // SIGQUIT is as a power cut: the server recovers at the next start.
  const signals = { SIGINT: minutes(1), SIGQUIT: seconds(10) };
  for (const [name, waitMs] of Object.entries(signals)) {
    if (serves(server.pid, data)) process.kill(server.pid, name);
    for (const begun = performance.now(); performance.now() - begun < waitMs; await sleep(10))
      if (!serves(server.pid, data)) return;
  }
  throw new Unreachable(`the embedded Postgres (process ${server.pid}, data in ${data}) does not stop`);
}

/** What a program reads, and what ends it. */
type Around = { readonly input?: string; readonly signal?: AbortSignal | undefined };

/**
 * Runs a program to its end, which takes seconds; one that hangs is ended after five minutes. Throws `Unreachable` with what it wrote to
 * stderr, and the reason of the signal.
 */
async function run(cluster: Cluster, name: Program, args: readonly string[], around: Around = {}) {
  const { native, as, data } = cluster;
  const { input = '', signal } = around;
  const options = { ...as, ...environment, cwd: path.dirname(data), timeout: minutes(5) };
  const going = promisify(execFile)(program(native, name), args, { ...options, ...(signal && { signal }) });
  // One that ends early does not read it; its exit code says why.
  going.child.stdin?.on('error', () => undefined).end(input);
  await going.catch((cause) => {
    signal?.throwIfAborted();
    const said = cause.stderr?.trim().slice(-800) || cause.message;
    throw new Unreachable(`${name} of the embedded Postgres failed in ${data}: ${said}`, { cause });
  });
}

const failed = ({ data, log }: Cluster, what: string): Unreachable =>
  new Unreachable(`the embedded Postgres in ${data} ${what}: ${textOf(log).slice(-1200) || `see ${log}`}`);

/** Gives a file or directory that we made to the user the server runs as. */
export function lend(file: string, as: Identity | undefined): void {
  if (as) fs.chownSync(file, as.uid, as.gid);
}

/** Settings of a Postgres server, by name; given to it as `-c name=value`. */
type ServerSettings = Readonly<Record<string, string>>;

/** A warehouse on a laptop: large loads, few connections, safe against power loss. Nothing here gives durability up for speed. */
export const warehouseSettings = (): ServerSettings => ({
  shared_buffers: '192MB',
  effective_cache_size: '1GB',
  work_mem: '32MB',
  maintenance_work_mem: '128MB',
  max_connections: '100',
  // No replicas here: the least WAL that still recovers from a crash.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  wal_compression: 'pglz',
  min_wal_size: '256MB',
  max_wal_size: '3GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] %a ',
  log_checkpoints: 'off',
  ...(hasSharedMemory() ? {} : { dynamic_shared_memory_type: 'mmap' }),
});

/** Containers often give /dev/shm 64 MB, too little for a parallel hash join; then parallel workers share memory through files. */
function hasSharedMemory(): boolean {
  if (process.platform !== 'linux') return true;
  if (!fs.existsSync('/dev/shm')) return false;
  const { bsize, blocks } = fs.statfsSync('/dev/shm');
  return bsize * blocks >= 512 * 1024 ** 2;
}
