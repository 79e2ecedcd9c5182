import fs from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Misconfigured, saidBy, Unreachable } from '../core/errors.ts';

/**
 * Locks between processes, held by the kernel: they end with the process that holds them, however it ends, so there is no stale lock to judge.
 * Node offers no flock of its own; SQLite's file locking is one, on every platform, and it is part of Node. Nothing is ever written to the file.
 *
 * Do not open a lock file by other means in this process: POSIX drops all of a process's locks on a file when any descriptor of it is closed.
 */

/** A lock that is held until it is given back or the process ends. */
export interface Held {
  release(): void;
}

// A garbage-collected connection would give its lock back.
const alive = new Set<DatabaseSync>();

/** A waiting process says so after this time, ms. */
const unnoticedMs = 5_000;

/** Takes the lock for us alone, or gives undefined at once if another process has it. Throws `Misconfigured` where files cannot be locked. */
export const tryExclusive = (file: string): Held | undefined => take(file, 'BEGIN EXCLUSIVE');

/** Takes the lock together with others who share it, or gives undefined at once if a process has it alone. Throws as `tryExclusive`. */
export const tryShared = (file: string): Held | undefined => take(file, 'BEGIN; SELECT 1 FROM sqlite_master');

/** Waits for the lock for `patienceMs`, then throws `Unreachable`. `waits` is called once, where it takes a while. */
export async function exclusive(
  file: string,
  patienceMs: number,
  signal?: AbortSignal,
  waits: () => void = () => undefined,
): Promise<Held> {
  const begun = performance.now();
  for (let isSaid = false; ; ) {
    signal?.throwIfAborted();
    const held = tryExclusive(file);
    if (held) return held;
    const waited = performance.now() - begun;
    if (waited > unnoticedMs && !isSaid) waits();
    isSaid = waited > unnoticedMs;
    if (waited > patienceMs)
      throw new Unreachable(
        `another process has held ${file} for ${Math.round(patienceMs / 1000)} s; is it hanging? Stop it and try again`,
      );
    await sleep(5 + Math.random() * 20);
  }
}

function take(file: string, statements: string): Held | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file);
    // SQLite shares a read-only file with everybody, and says that we have it alone.
    fs.accessSync(file, fs.constants.W_OK);
    database.exec(`PRAGMA journal_mode = MEMORY; ${statements}`);
  } catch (cause) {
    database?.close();
    if (isBusy(cause)) return undefined;
    throw new Misconfigured(
      `cannot lock ${file} (${saidBy(cause)}): may this user write there, and does the file system know locks? ` +
        'Set TIDEMARK_HOME to a directory on a local disk, or DATABASE_URL to a Postgres of your own',
      { cause },
    );
  }
  const held = database;
  alive.add(held);
  return {
    release: () => {
      if (alive.delete(held)) held.close();
    },
  };
}

/** https://www.sqlite.org/rescode.html#busy; extended codes keep it in the low byte. */
const isBusy = (error: unknown): boolean =>
  error instanceof Error && (Number(Reflect.get(error, 'errcode')) & 0xff) === 5;
