import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

/** The server process of a data directory, as its `postmaster.pid` and the process table tell together. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** As Postgres writes it: `starting`, `ready`, `stopping` or `standby`; '' before it wrote any. */
  readonly status: string;
}

/** alive · dead · zombie (ended, but its parent has not asked yet: it still answers signals) · stranger (the pid is somebody else's now) */
type Life = 'alive' | 'dead' | 'zombie' | 'stranger';

/** The server that runs on this data directory, whoever started it; undefined if none does. A stale pid file, a zombie and a reused pid are none. */
export function running(data: string): Postmaster | undefined {
  const file = read(data);
  return file && life(file.pid, data) === 'alive' ? file : undefined;
}

/** True while the pid file names a process that has ended but still answers signals: Postgres would take it for a living server. */
export function isZombie(data: string): boolean {
  const file = read(data);
  return file !== undefined && life(file.pid, data) === 'zombie';
}

/** True while the pid file of a server that was killed names a living process of somebody else: Postgres would take that for a server, too. */
export function isStranger(data: string): boolean {
  const file = read(data);
  return file !== undefined && life(file.pid, data) === 'stranger';
}

/**
 * True while there is a pid file that names no process: one that a power cut left empty, or that a server is just making. Postgres would not
 * start over it, and would leave it to whoever knows that nobody is at it.
 */
export function namesNobody(data: string): boolean {
  const text = pidFile(data);
  return text !== undefined && !Number.parseInt(text, 10);
}

/** In which processes have the numbers that we know them by; undefined where there is only one such space, or no telling. */
export function processNamespace(): string | undefined {
  try {
    return fs.readlinkSync('/proc/self/ns/pid');
  } catch {
    return undefined;
  }
}

/** True while that process serves that data directory. */
export const serves = (pid: number, data: string): boolean => life(pid, data) === 'alive';

/** Lines of postmaster.pid: pid, data directory, start time, port, socket directory, address, shared memory key, status. */
function read(data: string): Postmaster | undefined {
  const lines = pidFile(data)?.split('\n');
  if (lines === undefined) return undefined;
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3] ?? 0), status: (lines[7] ?? '').trim() };
}

/** Undefined where there is none: cleanly stopped or never started. */
function pidFile(data: string): string | undefined {
  try {
    return fs.readFileSync(path.join(data, 'postmaster.pid'), 'utf8');
  } catch {
    return undefined;
  }
}

function life(pid: number, data: string): Life {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return 'dead';
  }
  if (process.platform === 'win32') return 'alive'; // no cheap way to ask more; Postgres itself checks again
  const command = commandLine(pid);
  if (command === undefined) return 'dead';
  if (command === '') return 'zombie';
  return isOurs(pid, command, data) ? 'alive' : 'stranger';
}

/**
 * Whether a living process is the server of that directory, by where it works: a home may be renamed while it is used, or copied, and what a server was
 * told when it was started then names another place. Where that cannot be asked, by what it was told.
 */
function isOurs(pid: number, command: string, data: string): boolean {
  const words = command.replaceAll('\0', ' ');
  if (!/(?:^|[ /])postgres(?:[ :]|$)/.test(words)) return false;
  const works = process.platform === 'linux' ? folder(`/proc/${pid}/cwd`) : undefined;
  const ours = folder(data);
  if (works !== undefined && ours !== undefined) return works.ino === ours.ino && works.dev === ours.dev;
  return ` ${words} `.includes(` ${data} `);
}

const folder = (name: string): fs.BigIntStats | undefined => {
  try {
    return fs.statSync(name, { bigint: true });
  } catch {
    return undefined; // gone, or not ours to ask
  }
};

/** The command line of a process; '' for a zombie, undefined if it is gone. */
function commandLine(pid: number): string | undefined {
  if (process.platform === 'linux') {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      return undefined;
    }
  }
  const listed = spawnSync('ps', ['-p', String(pid), '-o', 'stat=', '-o', 'command='], { encoding: 'utf8' });
  if (listed.status !== 0) return undefined;
  const line = listed.stdout.trim();
  return line.startsWith('Z') ? '' : line;
}
