import { execFile, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Misconfigured, Unreachable } from '../core/errors.ts';
import { asArguments, type Settings } from '../warehouse/settings.ts';
import { type Identity, type Native, program } from './native.ts';
import { isStranger, isZombie, namesNobody, type Postmaster, running, serves } from './pid-file.ts';

/** One data directory and its server: made, started, stopped. Who may do so at the same time is the caller's business (a lock). */
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

/** The only role and the database that a new cluster has. */
export const owner = 'tidemark';

/**
 * Makes the data directory if there is none: UTF-8, byte order collation (the same on every system), passwords as SCRAM.
 * Atomic: it appears whole or not at all; halves that a killed process left are removed.
 */
export async function make(cluster: Cluster, password: string): Promise<void> {
  const { data, native, as } = cluster;
  await removeHalves(data);
  // An empty one may stand where another disk is to be mounted, or be left of one that was moved away: it is replaced.
  if (fs.existsSync(data) && fs.readdirSync(data).length > 0) return assertVersion(cluster);
  const half = `${data}.half-${crypto.randomUUID()}`;
  const secret = `${half}.pw`;
  fs.mkdirSync(half, { mode: 0o700 });
  fs.writeFileSync(secret, `${password}\n`, { mode: 0o600, flag: 'wx' });
  lend(half, as);
  lend(secret, as);
  try {
    await run(cluster, 'initdb', [
      `--pgdata=${half}`,
      `--username=${owner}`,
      '--auth=scram-sha-256',
      `--pwfile=${secret}`,
      '--encoding=UTF8',
      '--locale=C.UTF-8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
    ]);
    await run(cluster, 'postgres', ['--single', '-D', half, 'postgres'], `CREATE DATABASE ${owner}\n`);
  } finally {
    fs.rmSync(secret, { force: true });
  }
  if (native.version.split('.')[0] !== fs.readFileSync(path.join(half, 'PG_VERSION'), 'utf8').trim()) {
    throw new Misconfigured(
      `the package of Postgres ${native.version} made a cluster of another version in ${half}`,
    );
  }
  fs.renameSync(half, data);
}

/**
 * The initdb of a command that was killed may still be writing and deleting there for a moment; `rmSync` gives up quietly when a file vanishes
 * under its hands. A half that cannot be removed is only untidy.
 */
async function removeHalves(data: string): Promise<void> {
  const parent = path.dirname(data);
  const halves = (): readonly string[] =>
    fs.readdirSync(parent).filter((name) => name.startsWith(`${path.basename(data)}.half-`));
  for (let attempt = 0; attempt < 100 && halves().length > 0; attempt++) {
    if (attempt > 0) await sleep(50);
    for (const name of halves()) {
      try {
        fs.rmSync(path.join(parent, name), { recursive: true, force: true });
      } catch {
        // Not empty again: its writer is still at it.
      }
    }
  }
}

function assertVersion({ data, native }: Cluster): void {
  const file = path.join(data, 'PG_VERSION');
  const made = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : '';
  if (made === native.version.split('.')[0]) return;
  if (!/^\d+$/.test(made)) {
    throw new Misconfigured(
      `what is in ${data} is not, or no longer, the whole data directory of a Postgres (PG_VERSION is missing or broken): ` +
        'bring it back from a copy, or move it away and sync again',
    );
  }
  throw new Misconfigured(
    `the warehouse in ${data} was made by Postgres ${made}, and this is Postgres ${native.version}: ` +
      `move ${data} away and sync again, or serve it with Postgres ${made} and set DATABASE_URL`,
  );
}

/** How long a server may take to come up (after a crash it first replays up to `max_wal_size`), to go down, and to have its pid file in order. */
const patience = { start: 600_000, stop: 60_000, pidFile: 3_000 };

/**
 * Starts the server, or adopts the one that already runs on this data directory; returns when it takes connections.
 * It belongs to nobody: it outlives this process and does not keep it alive. Given up (`signal`) once it is launched, it can be found and stopped.
 * @param port the TCP port of 127.0.0.1; an adopted server keeps its own
 */
export async function start(
  cluster: Cluster,
  port: number,
  settings: Settings,
  signal?: AbortSignal,
): Promise<Postmaster> {
  const { data } = cluster;
  const deadline = performance.now() + patience.start;
  for (;;) {
    signal?.throwIfAborted();
    const found = running(data);
    if (found?.status === 'ready') return found;
    if (performance.now() > deadline) throw failed(cluster, 'did not become ready in ten minutes');
    if (found) {
      await sleep(20); // starting, recovering or stopping: whichever it is, it ends
      continue;
    }
    await clearPidFile(data);
    const ended = launch(cluster, port, settings);
    for (;;) {
      const now = running(data);
      if (now?.status === 'ready') return now;
      // Nobody could stop it before it can be found.
      if (now !== undefined) signal?.throwIfAborted();
      const how = ended();
      // Backends of a killed server leave a moment after it, and a server of another process may have won: look again.
      if (how && (running(data) || /is still in use|lock file .* already exists/s.test(lastWords(cluster))))
        break;
      if (how) throw failed(cluster, `ended with ${how}`);
      if (performance.now() > deadline) throw failed(cluster, 'did not become ready in ten minutes');
      await sleep(10);
    }
    await sleep(100);
  }
}

/**
 * Postgres asks only whether the pid of an old pid file answers signals. The zombie of a killed server does until it is reaped, and so does
 * whoever has got its pid since: as a rule where a container begins again, whose pids are the same each time. Neither holds anything, and Postgres
 * checks the shared memory for living backends itself, which it finds by the data directory. An empty file it does not start over at all.
 */
async function clearPidFile(data: string): Promise<void> {
  const remove = (): void => fs.rmSync(path.join(data, 'postmaster.pid'), { force: true });
  const deadline = performance.now() + patience.pidFile;
  while (isZombie(data) || namesNobody(data)) {
    // Some containers never reap; and who makes such a file, by other means than ours, has written it at once.
    if (performance.now() > deadline) remove();
    await sleep(20);
  }
  if (isStranger(data)) remove();
}

/** @returns asks how the server ended; undefined while it has not */
function launch(cluster: Cluster, port: number, settings: Settings): () => string | undefined {
  const { native, as, data, startLog } = cluster;
  const out = fs.openSync(startLog, 'w', 0o600);
  lend(startLog, as);
  const child = spawn(
    program(native, 'postgres'),
    [
      '-D',
      data,
      ...asArguments({
        ...settings,
        port: String(port),
        listen_addresses: '127.0.0.1',
        unix_socket_directories: '', // its path would be too long in many checkouts
      }),
    ],
    { ...as, cwd: path.dirname(data), ...environment, stdio: ['ignore', out, out], detached: true },
  );
  fs.closeSync(out);
  let how: string | undefined;
  child.once('error', (error) => {
    how = error.message;
  });
  child.once('exit', (code, signal) => {
    how = `${signal ?? `code ${code}`}`;
  });
  child.unref();
  return () => how;
}

/** Stops the server of this data directory, if one runs: open connections are cut, everything committed is kept. */
export async function stop(cluster: Cluster): Promise<void> {
  const { data } = cluster;
  const server = running(data);
  if (!server) return;
  if (process.platform === 'win32') {
    await run(cluster, 'pg_ctl', ['stop', '-D', data, '-m', 'fast', '-w']);
    return;
  }
  send(server.pid, 'SIGINT');
  if (await gone(server.pid, data, patience.stop)) return;
  send(server.pid, 'SIGQUIT'); // as after a power cut; it recovers at the next start
  if (await gone(server.pid, data, 10_000)) return;
  throw new Unreachable(`the embedded Postgres (process ${server.pid}, data in ${data}) does not stop`);
}

function send(pid: number, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

async function gone(pid: number, data: string, within: number): Promise<boolean> {
  const deadline = performance.now() + within;
  while (serves(pid, data)) {
    if (performance.now() > deadline) return false;
    await sleep(10);
  }
  return true;
}

const execute = promisify(execFile);

async function run(
  { native, as, data }: Cluster,
  name: 'initdb' | 'postgres' | 'pg_ctl',
  args: readonly string[],
  input?: string,
): Promise<void> {
  const going = execute(program(native, name), args, { ...as, cwd: path.dirname(data), ...environment });
  going.child.stdin?.on('error', () => undefined); // it ended before reading; its exit code tells more
  going.child.stdin?.end(input);
  try {
    await going;
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause);
    throw new Unreachable(`${name} of the embedded Postgres failed in ${data}: ${said.slice(-800)}`, {
      cause,
    });
  }
}

/** Nothing of ours goes to the server: no credentials, no PG* variables, no locale. Windows programs need their system variables. */
const environment: { readonly env?: NodeJS.ProcessEnv } =
  process.platform === 'win32' ? {} : { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };

const failed = (cluster: Cluster, what: string): Unreachable =>
  new Unreachable(
    `the embedded Postgres in ${cluster.data} ${what}: ${lastWords(cluster) || `see ${cluster.log}`}`,
  );

/** The end of what the server wrote most recently, to its log or before that was open. */
export function lastWords({ startLog, log }: Cluster): string {
  return [...writtenTo(startLog), ...logsIn(log)]
    .sort((a, b) => a.writtenMs - b.writtenMs)
    .slice(-2)
    .map(({ file }) => fs.readFileSync(file, 'utf8').slice(-600))
    .join('\n')
    .trim();
}

interface Log {
  readonly file: string;
  readonly bytes: number;
  readonly writtenMs: number;
}

/** The files of the server's log; what else somebody keeps there is none. */
export const logsIn = (log: string): readonly Log[] =>
  fs.existsSync(log) ? fs.readdirSync(log).flatMap((name) => writtenTo(path.join(log, name))) : [];

function writtenTo(file: string): readonly Log[] {
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  return found?.isFile() ? [{ file, bytes: found.size, writtenMs: found.mtimeMs }] : [];
}

/** Gives a file or directory that we made to the user the server runs as. */
export function lend(file: string, as: Identity | undefined): void {
  if (as) fs.chownSync(file, as.uid, as.gid);
}
