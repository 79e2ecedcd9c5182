/**
 * Locks between processes, held by the kernel: they end with the process that holds them, however it ends, so no lock is ever stale.
 * Node has no flock; SQLite's file locking is one, on every platform, and it is part of Node. Nothing is ever written to the file.
 *
 * Do not open a lock file by other means in this process: POSIX drops all of a process's locks on a file when any descriptor of it is closed.
 */
import fs from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Misconfigured, saidBy, Unreachable } from '../core/errors.ts';

/** A lock that is held until it is released, its scope ends (`using`) or the process ends. */
export interface Held extends Disposable {
  release(): void;
}

// A garbage-collected connection would give its lock back.
const alive = new Set<DatabaseSync>();

/** Takes the lock for this process alone; undefined if another process has it. Throws `Misconfigured` where files cannot be locked. */
export const tryExclusive = (file: string): Held | undefined => take(file, 'BEGIN EXCLUSIVE');

/** Takes the lock together with others that share it; undefined if a process has it alone. Throws as `tryExclusive`. */
export const tryShared = (file: string): Held | undefined => take(file, 'BEGIN; SELECT 1 FROM sqlite_master');

/** Waits for the lock for `waitMs`, then throws `Unreachable`. */
export async function exclusive(file: string, waitMs: number, signal?: AbortSignal): Promise<Held> {
  for (const begun = performance.now(); performance.now() - begun <= waitMs; ) {
    signal?.throwIfAborted();
    const held = tryExclusive(file);
    if (held) return held;
    await sleep(5 + Math.random() * 20);
  }
  const waited = Math.round(waitMs / 1000);
  throw new Unreachable(
    `another process has held ${file} for ${waited} s: stop it if it hangs, and try again`,
  );
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
  const release = (): void => void (alive.delete(held) && held.close());
  return { release, [Symbol.dispose]: release };
}

/** https://www.sqlite.org/rescode.html#busy; extended codes keep it in the low byte. */
const isBusy = (error: unknown): boolean =>
  error instanceof Error && (Number(Reflect.get(error, 'errcode')) & 0xff) === 5;
