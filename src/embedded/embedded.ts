import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { Misconfigured, saidBy } from '../core/errors.ts';
import { days, minutes, seconds } from '../core/time.ts';
import { warehouseSettings } from '../warehouse/settings.ts';
import { tidyTables } from '../warehouse/upkeep.ts';
import { type Cluster, lastWords, lend, logsIn, make, owner, running, start, stop } from './cluster.ts';
import { exclusive, type Held, tryExclusive, tryShared } from './locks.ts';
import { type Identity, unprivileged, usable } from './native.ts';

/** The embedded warehouse in use by this process. */
export interface Embedded {
  /** Connection string with its password, for psql and BI tools on this machine. */
  readonly url: string;
  /** The same for `connect`: PGOPTIONS of the environment, made for other servers, does not hold for this one. */
  readonly own: string;
  readonly port: number;
  /** The data directory. */
  readonly data: string;
  /** Directory of the server's log. */
  readonly log: string;
  /** True if the server already ran: another command uses it, or was killed while it did. */
  readonly adopted: boolean;
  /** Ends this use: tables that are due are vacuumed and analyzed, and the last one to end stops the server. Calling it again does nothing. */
  release(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Gets what the user should know (where the data are kept, a new port); default: standard error. */
  readonly notice?: (message: string) => void;
  readonly signal?: AbortSignal;
}

type Options = EmbeddedOptions & Required<Pick<EmbeddedOptions, 'notice'>>;

/** Where a warehouse is kept, and the user its server runs as (undefined: this one). */
interface DataHome {
  readonly directory: string;
  readonly as: Identity | undefined;
}

/** Longer than a start may take. */
const lockMs = minutes(12);

const lockOf = ({ directory }: DataHome): string => path.join(directory, 'lock');
const useOf = ({ directory }: DataHome): string => path.join(directory, 'in-use');

/**
 * Opens the warehouse of a home directory: makes it at first, starts its server if it does not run, shares it if it does.
 *
 * Two locks of the kernel order everything, so nothing stale is left by a `kill -9`: `lock` is held alone while a server is made, started or
 * stopped; `in-use` is shared by every user for as long as it lasts, and a process that can have it alone was the last one. A server that dies under
 * its users is started again by one of them. The server never keeps this process alive. If this process ends without `release`, the server goes on;
 * the next user adopts and stops it.
 *
 * @param home TIDEMARK_HOME; made if absent
 * Throws `Misconfigured` where an embedded Postgres cannot run here, `Unreachable` where it does not start.
 */
export async function openEmbedded(home: string, options: EmbeddedOptions = {}): Promise<Embedded> {
  const notice = options.notice ?? ((message) => process.stderr.write(`tidemark: ${message}\n`));
  const inside = enter(home);
  const dataHome = dataHomeOf(inside, notice);
  const lock = await exclusive(lockOf(dataHome), lockMs, options.signal, () =>
    notice(`waiting for another command that starts or stops the warehouse in ${dataHome.directory}`),
  );
  try {
    const cluster = clusterIn(dataHome);
    const alone = tryExclusive(useOf(dataHome));
    alone?.release();
    const use = tryShared(useOf(dataHome));
    if (!use) throw new Misconfigured(`${useOf(dataHome)} is locked by a program that is not Tidemark`);
    try {
      // Processes of another container are not seen here, locks are: two servers on one data directory would destroy it.
      if (alone === undefined && running(cluster.data) === undefined)
        throw new Misconfigured(
          `the warehouse in ${cluster.data} is in use, and its server does not run in this container: ` +
            'run this command where it runs, or set DATABASE_URL to a Postgres that both can reach; ' +
            'if the server has just died, try again in a moment',
        );
      return await open(inside, dataHome, cluster, use, { ...options, notice });
    } catch (error) {
      use.release();
      // A start that was aborted leaves a server that has no user. One that runs after another error may be served by other means.
      if (options.signal?.aborted)
        await stopIfLast(dataHome, cluster).catch((second: unknown) => notice(saidBy(second)));
      throw error;
    }
  } finally {
    lock.release();
  }
}

/** Makes the home if need be; under root such that the server's user can pass through it. */
function enter(home: string): string {
  const inside = path.join(path.resolve(home), 'postgres');
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
  try {
    for (const directory of [path.dirname(inside), inside]) {
      if (fs.existsSync(directory)) continue;
      fs.mkdirSync(directory, { recursive: true });
      fs.chmodSync(directory, mode); // mkdir's mode is cut by the umask
    }
    return fs.realpathSync(inside);
  } catch (cause) {
    throw new Misconfigured(
      `cannot make ${inside} (${saidBy(cause)}): ` +
        'set TIDEMARK_HOME to a directory this user may write, or DATABASE_URL to a Postgres of your own',
      { cause },
    );
  }
}

/**
 * Under root the server's user must be able to reach the data. Where it cannot (a checkout in a closed home directory), everything but the password is
 * kept in /var/lib or /var/tmp, and `<home>/postgres/place` says where. Data that belong to another user keep that user under root; any other user is
 * refused.
 */
function dataHomeOf(inside: string, notice: (message: string) => void): DataHome {
  const pointer = path.join(inside, 'place');
  const kept = fs.existsSync(pointer) ? fs.readFileSync(pointer, 'utf8').trim() : '';
  const directory = kept === '' ? inside : kept;
  const made = fs.statSync(path.join(directory, 'data'), { throwIfNoEntry: false });
  if (process.getuid?.() !== 0) {
    if (kept === '' && (made === undefined || made.uid === (process.getuid?.() ?? made.uid)))
      return { directory, as: undefined };
    throw new Misconfigured(
      `the warehouse ${path.join(directory, 'data')} was made by another user: ` +
        'run as that user (root, if root made it), or set TIDEMARK_HOME to another directory',
    );
  }
  if (kept !== '') claim(kept, inside, pointer);
  if (made !== undefined && made.uid !== 0) return { directory, as: { uid: made.uid, gid: made.gid } };
  const as = unprivileged();
  if (kept !== '' || reaches(as, inside)) return { directory, as };
  const outside = outsideOf(inside, as);
  fs.writeFileSync(path.join(outside, 'home'), `${inside}\n`);
  fs.writeFileSync(pointer, `${outside}\n`, { flush: true });
  notice(
    `Postgres does not run as root, and ${inside} is closed to other users: the warehouse is kept in ${outside}`,
  );
  return { directory: outside, as };
}

/** Throws `Misconfigured` unless the data kept elsewhere are there, and of this home: a copied or renamed home names the data of another path. */
function claim(kept: string, inside: string, pointer: string): void {
  const file = path.join(kept, 'home');
  const home = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : undefined;
  if (home === inside) return;
  throw new Misconfigured(
    home === undefined
      ? `the warehouse of ${inside} was kept in ${kept}, and that is gone: ` +
          `bring it back, or remove ${pointer} and sync again`
      : `${kept} holds the warehouse of ${home}, and ${inside} is a copy or a new name of that home: ` +
          `remove ${pointer} to begin with an empty warehouse, or write ${inside} into ${file} to use the data here`,
  );
}

/** A directory that the server's user can pass through and only root can change. */
function outsideOf(inside: string, as: Identity): string {
  const name = `tidemark-${crypto.createHash('sha256').update(inside).digest('hex').slice(0, 12)}`;
  for (const parent of ['/var/lib', '/var/tmp']) {
    const directory = path.join(parent, name);
    if (!fs.existsSync(directory)) spawnSync('mkdir', ['-m', '711', directory]);
    // In /var/tmp another user could have made it.
    const { uid, mode } = fs.lstatSync(directory, { throwIfNoEntry: false }) ?? { uid: -1, mode: 0 };
    if (uid === 0 && (mode & 0o022) === 0 && reaches(as, directory)) return directory;
  }
  throw new Misconfigured(
    `Postgres does not run as root, and its user cannot get to ${inside}, /var/lib or /var/tmp: ` +
      'run as another user, set TIDEMARK_HOME to a directory open to others, ' +
      'or set DATABASE_URL to a Postgres of your own',
  );
}

const reaches = (as: Identity, directory: string): boolean =>
  spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { ...as, cwd: '/', stdio: 'ignore' }).status === 0;

function clusterIn({ directory, as }: DataHome): Cluster {
  const log = path.join(directory, 'log');
  if (!fs.existsSync(log)) fs.mkdirSync(log, { mode: 0o700 });
  lend(log, as); // each time: the process that made it may have been killed before this line
  const [data, startLog] = ['data', 'start.log'].map((name) => path.join(directory, name)) as [
    string,
    string,
  ];
  return { native: usable(directory, as), as, data, log, startLog };
}

async function open(
  inside: string,
  dataHome: DataHome,
  cluster: Cluster,
  use: Held,
  options: Options,
): Promise<Embedded> {
  const { notice, signal } = options;
  const password = secret(path.join(inside, 'password'), cluster);
  await make(cluster, password);
  const adopted = running(cluster.data) !== undefined;
  const port = await serve(cluster, path.join(dataHome.directory, 'port'), options);
  // Stated, or else PGSSLMODE of the environment, made for other servers, would hold for this one, which has no TLS.
  const url = `postgres://${owner}:${password}@127.0.0.1:${port}/${owner}?sslmode=disable`;
  // Options that are not empty replace all that the environment says: roles, paths, and that nothing may be written.
  const own = `${url}&options=${encodeURIComponent('-c default_transaction_read_only=off')}`;
  const watching = watch(dataHome, cluster, port, options);
  const leave = async (): Promise<void> => {
    await watching.end();
    await tidyTables(own, signal).catch((error: unknown) =>
      notice(`the warehouse's tables were not tidied: ${saidBy(error)}`),
    );
    use.release();
    const lock = await exclusive(lockOf(dataHome), lockMs);
    await stopIfLast(dataHome, cluster).finally(() => lock.release());
  };
  let left: Promise<void> | undefined;
  const release = (): Promise<void> => {
    left ??= leave();
    return left;
  };
  return { url, own, port, data: cluster.data, log: cluster.log, adopted, release };
}

/** The password of the warehouse, made with it. Throws `Misconfigured` where it is lost. */
function secret(file: string, { data }: Cluster): string {
  const kept = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : '';
  if (kept !== '') return kept;
  if (fs.existsSync(data))
    throw new Misconfigured(
      `${file} is gone or empty, and the warehouse in ${data} opens to its password only: ` +
        `put it back, or move ${data} away and sync again`,
    );
  const password = crypto.randomBytes(24).toString('base64url');
  // On the disk before its name is: after a power cut data without their password could not be opened.
  fs.writeFileSync(`${file}.half`, `${password}\n`, { mode: 0o600, flush: true });
  fs.renameSync(`${file}.half`, file);
  return password;
}

/** Starts or adopts the server at the remembered port, or at a new one if another program has taken that. Gives the port. */
async function serve(cluster: Cluster, portFile: string, { notice, signal }: Options): Promise<number> {
  // A server that is started for minutes at a time never comes to rotate its log by itself.
  const isOld = ({ size, mtimeMs }: fs.Stats): boolean =>
    size > 10 * 1024 ** 2 || Date.now() - mtimeMs > days(7);
  if (running(cluster.data) === undefined)
    for (const file of logsIn(cluster.log)) if (isOld(fs.statSync(file))) fs.rmSync(file, { force: true });
  let port = fs.existsSync(portFile) ? Number(fs.readFileSync(portFile, 'utf8')) : undefined;
  for (let attempt = 1; ; attempt++) {
    if (running(cluster.data) === undefined && (port === undefined || !(await isFree(port)))) {
      const next = await freePort();
      if (port !== undefined) notice(`port ${port} is not free: the warehouse now listens on ${next}`);
      port = next;
      fs.writeFileSync(portFile, `${port}\n`);
      lend(portFile, cluster.as);
    }
    try {
      return (await start(cluster, port ?? 0, warehouseSettings(cluster.log), signal)).port;
    } catch (error) {
      // Another program took the port between our look and the server's.
      if (attempt >= 3 || !/could not bind|could not create any TCP/.test(lastWords(cluster))) throw error;
    }
  }
}

/**
 * Until `end`, starts the server again when it has died, killed for want of memory perhaps: a command that stays for months would wait for ever. After
 * a failed try, which is said once, the next one comes a minute later: each may replay the whole log.
 */
function watch(
  dataHome: DataHome,
  cluster: Cluster,
  port: number,
  { notice, signal }: Options,
): { end(): Promise<void> } {
  const over = new AbortController();
  const ending = AbortSignal.any([over.signal, ...(signal ? [signal] : [])]);
  const hasDied = (): boolean => !ending.aborted && running(cluster.data) === undefined;
  const revive = async (): Promise<void> => {
    const lock = await exclusive(lockOf(dataHome), lockMs, ending);
    try {
      if (!hasDied()) return;
      await start(cluster, port, warehouseSettings(cluster.log), ending);
      notice('the server of the warehouse had died; it was started again');
    } finally {
      lock.release();
    }
  };
  let [notBefore, hasFailed] = [0, false];
  let reviving: Promise<void> | undefined;
  const timer = setInterval(() => {
    if (reviving !== undefined || performance.now() < notBefore || !hasDied()) return;
    reviving = revive()
      .then(() => {
        hasFailed = false;
      })
      .catch((error: unknown) => {
        notBefore = performance.now() + minutes(1);
        if (!hasFailed && !ending.aborted) notice(`the server of the warehouse has died: ${saidBy(error)}`);
        hasFailed = true;
      })
      .finally(() => {
        reviving = undefined;
      });
  }, seconds(1)).unref();
  return {
    async end() {
      clearInterval(timer);
      over.abort();
      await reviving;
    },
  };
}

/** Stops the server if it has no user. The caller holds the lock. */
async function stopIfLast(dataHome: DataHome, cluster: Cluster): Promise<void> {
  const last = tryExclusive(useOf(dataHome));
  await (last && stop(cluster).finally(() => last.release()));
}

/** True if no program listens on that port of 127.0.0.1. False also for what is no port: a power cut may leave a broken file. */
const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) return resolve(false);
    const probe = net.createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });

/** A free port below those that systems hand out by themselves: they would be taken now and then by a passing connection. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = crypto.randomInt(15_433, 25_432);
    if (await isFree(port)) return port;
  }
  throw new Misconfigured('no free port on 127.0.0.1 between 15433 and 25432');
}
