import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Misconfigured } from '../core/errors.ts';
import { assertRuns, copied, type Identity, installed, type Native, runsAs } from './native.ts';

/** Where the embedded warehouse lives and whom it runs as. Postgres refuses to run as root, so root lends it to a user without rights. */
export interface Place {
  /** Holds `data/`, `log/`, the locks and the port. */
  readonly directory: string;
  readonly native: Native;
  /** Undefined: ourselves. */
  readonly as: Identity | undefined;
}

/**
 * Finds or makes the place of a home directory. Under root the server's user must be able to get there; where it cannot (a checkout in a
 * closed home directory), everything but the password moves to /var/lib or /var/tmp, and `<home>/postgres/place` remembers where.
 * Call it while holding the home's lock.
 * @param home real path of TIDEMARK_HOME
 * @param notice is told, once in the life of a home, that the data moved
 */
export function settle(home: string, notice: (message: string) => void): Place {
  const inside = path.join(home, 'postgres');
  const binaries = installed();
  if (process.getuid?.() !== 0) {
    refuseForeign(inside);
    const native = binaries.complete ? binaries : copied(binaries, inside);
    assertRuns(native);
    return { directory: inside, native, as: undefined };
  }
  const directory = remembered(inside) ?? (fs.existsSync(path.join(inside, 'data')) ? inside : choose(inside, notice));
  const as = ownerOf(path.join(directory, 'data')) ?? unprivileged();
  if (binaries.complete) assertRuns(binaries);
  if (binaries.complete && runsAs(binaries, as)) return { directory, native: binaries, as };
  const native = copied(binaries, directory);
  assertRuns(native);
  if (!runsAs(native, as)) {
    throw new Misconfigured(
      `the embedded Postgres cannot be executed by user ${as.uid} in ${native.directory} (is it mounted noexec?): ` +
        'run as another user than root, or set DATABASE_URL to a Postgres of your own',
    );
  }
  return { directory, native, as };
}

/** What root once made belongs to another user; a clear word is better than Postgres's "permission denied". */
function refuseForeign(inside: string): void {
  const owner = fs.statSync(path.join(inside, 'data'), { throwIfNoEntry: false })?.uid;
  const moved = remembered(inside);
  if (moved !== undefined || (owner !== undefined && process.getuid !== undefined && owner !== process.getuid())) {
    throw new Misconfigured(
      `the warehouse ${moved ?? path.join(inside, 'data')} was made by another user: run as that user (root, if root made it), ` +
        'or set TIDEMARK_HOME to another directory',
    );
  }
}

function remembered(inside: string): string | undefined {
  try {
    return fs.readFileSync(path.join(inside, 'place'), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

function choose(inside: string, notice: (message: string) => void): string {
  if (reaches(unprivileged(), inside)) return inside;
  const directory = outside(inside);
  fs.writeFileSync(path.join(inside, 'place'), `${directory}\n`);
  notice(
    `Postgres does not run as root, and ${inside} is closed to other users: the warehouse is kept in ${directory}`,
  );
  return directory;
}

/** A directory that everybody can pass through and only root can change. */
function outside(inside: string): string {
  const name = `tidemark-${crypto.createHash('sha256').update(inside).digest('hex').slice(0, 12)}`;
  for (const parent of ['/var/lib', '/var/tmp']) {
    const directory = path.join(parent, name);
    try {
      fs.mkdirSync(directory, { mode: 0o711 });
      fs.chmodSync(directory, 0o711);
    } catch {
      // It exists, or it cannot exist: the next lines tell.
    }
    // In /var/tmp somebody else could have put a trap under our name.
    const found = fs.lstatSync(directory, { throwIfNoEntry: false });
    if (found?.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0 && reaches(unprivileged(), directory)) {
      return directory;
    }
  }
  throw new Misconfigured(
    `Postgres does not run as root, and its user cannot get to ${inside}, /var/lib or /var/tmp: ` +
      'run as another user, set TIDEMARK_HOME to a directory open to others, or set DATABASE_URL to a Postgres of your own',
  );
}

const reaches = (as: Identity, directory: string): boolean =>
  spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', directory], { ...as, cwd: '/', stdio: 'ignore' }).status === 0;

/** A cluster that an ordinary user made keeps its user, also when root comes along. */
function ownerOf(data: string): Identity | undefined {
  const found = fs.statSync(data, { throwIfNoEntry: false });
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : undefined;
}

/** The user that root lends the server to: `postgres` where there is one, else `nobody`. */
export function unprivileged(): Identity {
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => {
      const asked = spawnSync('id', [flag, name], { encoding: 'utf8' });
      return asked.status === 0 ? Number(asked.stdout) : 0;
    });
    if (!uid || !gid) continue;
    const tried = spawnSync('/bin/sh', ['-c', 'true'], { uid, gid, cwd: '/' });
    if (tried.status === 0) return { uid, gid };
  }
  throw new Misconfigured(
    'Postgres does not run as root, and root cannot become the user postgres or nobody here: ' +
      'run as another user, or set DATABASE_URL to a Postgres of your own',
  );
}
