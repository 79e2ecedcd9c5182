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
    const native = binaries.complete ? binaries : copied(binaries, inside);
    assertRuns(native);
    return { directory: inside, native, as: undefined };
  }
  const moved = remembered(inside);
  const directory = moved ?? (fs.existsSync(path.join(inside, 'data')) ? inside : choose(inside, notice));
  if (directory !== inside) claim(directory, inside);
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

/**
 * What root once made belongs to another user; a clear word is better than "permission denied", of the locks or of Postgres. For any moment.
 * Throws `Misconfigured`.
 */
export function refuseForeign(inside: string): void {
  if (process.getuid?.() === 0) return;
  const owner = fs.statSync(path.join(inside, 'data'), { throwIfNoEntry: false })?.uid;
  const moved = remembered(inside);
  if (
    moved !== undefined ||
    (owner !== undefined && process.getuid !== undefined && owner !== process.getuid())
  ) {
    throw new Misconfigured(
      `the warehouse ${moved ?? path.join(inside, 'data')} was made by another user: run as that user (root, if root made it), ` +
        'or set TIDEMARK_HOME to another directory',
    );
  }
}

/** Undefined, too, where a full disk or a power cut left no path there: nothing was made at that place before its name was on the disk. */
function remembered(inside: string): string | undefined {
  const place = line(path.join(inside, 'place'));
  return place !== undefined && path.isAbsolute(place) ? place : undefined;
}

const line = (file: string): string | undefined => {
  try {
    return fs.readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
};

/**
 * Makes sure that the data of a home are there and nobody else's. A copy of a home names the data of the first one: each would work on them behind the other's
 * locks, and what is tried in the copy would be done to the original. A home that is renamed, or seen by another name, keeps its data. Throws `Misconfigured`.
 */
function claim(directory: string, inside: string): void {
  const place = path.join(inside, 'place');
  if (!fs.existsSync(directory)) {
    throw new Misconfigured(
      `the warehouse of ${inside} was kept in ${directory}, and that is gone: bring it back, or remove ${place} and sync again`,
    );
  }
  const other = otherHome(directory, inside);
  if (other !== undefined) {
    throw new Misconfigured(
      `${inside} and ${other} name the same data, in ${directory}: one is a copy of the other. ` +
        `Remove ${place}, and this one begins with a warehouse of its own; remove ${path.join(other, 'place')}, and this one has the data`,
    );
  }
  const file = path.join(directory, 'home');
  if (line(file) !== inside) fs.writeFileSync(file, `${inside}\n`);
}

/** The home, another one than ours, that last had its data in that directory and still says so. */
function otherHome(directory: string, inside: string): string | undefined {
  const owner = line(path.join(directory, 'home'));
  return owner !== undefined && remembered(owner) === directory && !isSame(owner, inside) ? owner : undefined;
}

function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map((name) =>
    fs.statSync(name, { bigint: true, throwIfNoEntry: false }),
  );
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev;
}

function choose(inside: string, notice: (message: string) => void): string {
  if (reaches(unprivileged(), inside)) return inside;
  const directory = outside(inside);
  fs.writeFileSync(path.join(inside, 'place'), `${directory}\n`, { flush: true });
  notice(
    `Postgres does not run as root, and ${inside} is closed to other users: the warehouse is kept in ${directory}`,
  );
  return directory;
}

/** A directory that everybody can pass through and only root can change. */
function outside(inside: string): string {
  const name = `tidemark-${crypto.createHash('sha256').update(inside).digest('hex').slice(0, 12)}`;
  for (const parent of ['/var/lib', '/var/tmp']) {
    let directory = path.join(parent, name);
    // That of a home which was here and is elsewhere now.
    while (otherHome(directory, inside) !== undefined) directory += '-new';
    try {
      fs.mkdirSync(directory, { mode: 0o711 });
      fs.chmodSync(directory, 0o711);
    } catch {
      // It exists, or it cannot exist: the next lines tell.
    }
    // In /var/tmp somebody else could have put a trap under our name.
    const found = fs.lstatSync(directory, { throwIfNoEntry: false });
    if (
      found?.isDirectory() &&
      found.uid === 0 &&
      (found.mode & 0o022) === 0 &&
      reaches(unprivileged(), directory)
    ) {
      return directory;
    }
  }
  throw new Misconfigured(
    `Postgres does not run as root, and its user cannot get to ${inside}, /var/lib or /var/tmp: ` +
      'run as another user, set TIDEMARK_HOME to a directory open to others, or set DATABASE_URL to a Postgres of your own',
  );
}

const reaches = (as: Identity, directory: string): boolean =>
  spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', directory], { ...as, cwd: '/', stdio: 'ignore' })
    .status === 0;

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
