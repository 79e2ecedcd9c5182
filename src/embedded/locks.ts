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
  /** False if it was given back before. */
  release(): boolean;
}

// A garbage-collected connection would give its lock back.
const alive = new Set<DatabaseSync>();

/** Takes the lock for us alone, or answers undefined at once if anybody has it. Throws `Misconfigured` where files cannot be locked. */
export const tryExclusive = (file: string): Held | undefined => take(file, 'BEGIN EXCLUSIVE');

/** Takes the lock together with others who share it, or answers undefined at once if somebody has it alone. Throws as `tryExclusive`. */
export const tryShared = (file: string): Held | undefined => take(file, 'BEGIN; SELECT 1 FROM sqlite_master');

/** So long nobody wonders why nothing happens, ms. */
const unnoticed = 5_000;

/**
 * Waits for the lock.
 * @param patience how long, in milliseconds; then `Unreachable`
 * @param waits is called once, where it takes a while
 */
export async function exclusive(
  file: string,
  patience: number,
  signal?: AbortSignal,
  waits?: () => void,
): Promise<Held> {
  const begun = performance.now();
  let isTold = false;
  for (;;) {
    signal?.throwIfAborted();
    const held = tryExclusive(file);
    if (held) return held;
    const waited = performance.now() - begun;
    if (waited > unnoticed && !isTold) {
      isTold = true;
      waits?.();
    }
    if (waited > patience) {
      throw new Unreachable(
        `another process has held ${file} for ${Math.round(patience / 1000)} s; is it hanging? Stop it and try again`,
      );
    }
    await sleep(5 + Math.random() * 20);
  }
}

function take(file: string, statements: string): Held | undefined {
  const database = open(file);
  try {
    database.exec(`PRAGMA journal_mode = MEMORY; ${statements}`);
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw unlockable(file, error);
  }
  alive.add(database);
  return {
    release: () => {
      const held = alive.delete(database);
      if (held) database.close();
      return held;
    },
  };
}

function open(file: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file);
    // What may only be read SQLite shares with everybody, and says that we have it alone.
    fs.accessSync(file, fs.constants.W_OK);
    return database;
  } catch (error) {
    database?.close();
    throw unlockable(file, error);
  }
}

const unlockable = (file: string, cause: unknown): Misconfigured =>
  new Misconfigured(
    `cannot lock ${file} (${saidBy(cause)}): may this user write there, and does the file system know locks? ` +
      'Set TIDEMARK_HOME to a directory on a local disk, or DATABASE_URL to a Postgres of your own',
    { cause },
  );

const sqliteBusy = 5; // https://www.sqlite.org/rescode.html#busy; extended codes keep it in the low byte
const isBusy = (error: unknown): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  typeof error.errcode === 'number' &&
  (error.errcode & 0xff) === sqliteBusy;
