import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Misconfigured, saidBy } from '../core/errors.ts';
import { makeDirectory } from '../core/make-directory.ts';
import { warehouseSettings } from '../warehouse/settings.ts';
import { tidyTables } from '../warehouse/upkeep.ts';
import { type Cluster, lastWords, lend, logsIn, make, owner, start, stop } from './cluster.ts';
import { type Place, refuseForeign, settle } from './data-directory.ts';
import { exclusive, type Held, tryExclusive, tryShared } from './locks.ts';
import { processNamespace, running } from './pid-file.ts';
import { freePort, isFree } from './ports.ts';
import { keepUp, lockIn, startPatience } from './supervisor.ts';

/** The embedded warehouse in use by this process. */
export interface Embedded {
  /** Connection string with its password, for psql and BI tools on this machine. */
  readonly url: string;
  /** The same for `connect`: what PGOPTIONS of the environment says to other servers does not hold for this one. */
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
  /** Is told what the user should know (where the data went, a new port); default: standard error. */
  readonly notice?: (message: string) => void;
  readonly signal?: AbortSignal;
}

type Options = EmbeddedOptions & Required<Pick<EmbeddedOptions, 'notice'>>;

/**
 * Opens the warehouse of a home directory: makes it at first, starts its server if it does not run, shares it if it does.
 *
 * Two locks of the kernel order everything, so nothing stale is left by a `kill -9`: `lock` is held alone while a server is made, started or
 * stopped; `in-use` is shared by every user for as long as it lasts, and who can have it alone knows that it was the last.
 * A server that dies under its users is started again by one of them.
 * The server never keeps this process alive. If this process ends without `release`, the server goes on; the next user adopts and stops it.
 *
 * @param home TIDEMARK_HOME; made if absent
 * Throws `Misconfigured` where an embedded Postgres cannot run here, `Unreachable` where it does not start.
 */
export async function openEmbedded(home: string, options: EmbeddedOptions = {}): Promise<Embedded> {
  const notice = options.notice ?? ((message) => process.stderr.write(`tidemark: ${message}\n`));
  const inside = enter(home);
  refuseForeign(inside);
  const lock = await exclusive(lockIn(inside), startPatience, options.signal, () =>
    notice(`waiting for another command that starts or stops the warehouse in ${inside}`),
  );
  try {
    const place = settle(path.dirname(inside), notice);
    const others = isHeld(path.join(inside, 'in-use'));
    const use = tryShared(path.join(inside, 'in-use'));
    if (!use)
      throw new Misconfigured(`${path.join(inside, 'in-use')} is locked by a program that is not Tidemark`);
    try {
      assertInSight(place, others);
      return await open(inside, place, use, { ...options, notice });
    } catch (error) {
      use.release();
      // Whoever is told to end behind the launch has a server that comes up for nobody. Any other that runs here is not known for ours: somebody
      // serves the data by a Postgres of its own version perhaps, or a recovery goes on that is longer than was waited for.
      if (options.signal?.aborted)
        await stopIfLast(inside, clusterIn(place)).catch((second: unknown) => notice(saidBy(second)));
      throw error;
    }
  } finally {
    lock.release();
  }
}

/** Makes the home if need be; under root such that the server's user can pass through what we make. */
function enter(home: string): string {
  const inside = path.join(path.resolve(home), 'postgres');
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
  try {
    for (const directory of [path.dirname(inside), inside]) {
      if (fs.existsSync(directory)) continue;
      makeDirectory(directory);
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

const isHeld = (file: string): boolean => tryExclusive(file)?.release() !== true;

/**
 * Makes sure that a server which does not run is not merely out of sight, and remembers from where the next one can be seen. Processes are told by
 * their numbers, and these mean nothing in another container: two servers on one data directory would destroy it, and Postgres itself would
 * not notice. Locks are seen from everywhere. Throws `Misconfigured`.
 */
function assertInSight({ directory, as }: Place, others: boolean): void {
  const data = path.join(directory, 'data');
  const here = processNamespace();
  if (here === undefined || running(data) !== undefined) return;
  const file = path.join(directory, 'namespace');
  const there = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : here;
  if (others && there !== here)
    throw new Misconfigured(
      `the warehouse in ${data} is in use in another container, or another namespace of processes, than this one: run this command there, ` +
        'or set DATABASE_URL to a Postgres that both can reach',
    );
  if (there === here && fs.existsSync(file)) return;
  fs.writeFileSync(file, `${here}\n`);
  lend(file, as);
}

async function open(inside: string, place: Place, use: Held, options: Options): Promise<Embedded> {
  const cluster = clusterIn(place);
  const password = secret(path.join(inside, 'password'), cluster);
  await make(cluster, password);
  const adopted = running(cluster.data) !== undefined;
  const port = await serve(cluster, path.join(place.directory, 'port'), options);
  // Said, or else PGSSLMODE of the environment, made for other servers, would hold for this one, which has no TLS.
  const url = `postgres://${owner}:${password}@127.0.0.1:${port}/${owner}?sslmode=disable`;
  const own = `${url}&options=${encodeURIComponent(ownOptions)}`;
  const keeping = keepUp(inside, cluster, port, options);
  let left: Promise<void> | undefined;
  return {
    url,
    own,
    port,
    data: cluster.data,
    log: cluster.log,
    adopted,
    release() {
      left ??= keeping
        .end()
        .then(() => tidy(own, options))
        .then(() => leave(inside, cluster, use));
      return left;
    },
  };
}

/** Options that are not empty take the place of all that the environment says: roles, paths, and that nothing may be written. */
const ownOptions = '-c default_transaction_read_only=off';

function clusterIn({ directory, native, as }: Place): Cluster {
  const log = path.join(directory, 'log');
  if (!fs.existsSync(log)) fs.mkdirSync(log, { mode: 0o700 });
  lend(log, as); // each time: who made it may have been killed before this line
  return { native, as, data: path.join(directory, 'data'), log, startLog: path.join(directory, 'start.log') };
}

function secret(file: string, { data }: Cluster): string {
  const kept = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : '';
  if (kept !== '') return kept;
  if (fs.existsSync(data)) {
    throw new Misconfigured(
      `${file} is gone or empty, and the warehouse in ${data} opens to its password only: put it back, or move ${data} away and sync again`,
    );
  }
  const password = crypto.randomBytes(24).toString('base64url');
  const half = `${file}.half`;
  // On the disk before its name is: initdb sees to its own files, and after a power cut data without their password would open to nobody.
  fs.writeFileSync(half, `${password}\n`, { mode: 0o600, flush: true });
  fs.renameSync(half, file);
  return password;
}

/** Starts or adopts the server at the remembered port, or at a new one if another program has taken that. */
async function serve(cluster: Cluster, portFile: string, { notice, signal }: Options): Promise<number> {
  // One that runs would write on into a file that nobody sees.
  if (running(cluster.data) === undefined) trimLogs(cluster.log);
  const remembered = fs.existsSync(portFile);
  let port = remembered ? portIn(fs.readFileSync(portFile, 'utf8')) : undefined;
  for (let attempt = 1; ; attempt++) {
    if (running(cluster.data) === undefined && (port === undefined || !(await isFree(port)))) {
      const next = await freePort();
      if (port !== undefined)
        notice(`port ${port} is taken by another program: the warehouse now listens on ${next}`);
      else if (remembered) notice(`${portFile} holds no port: the warehouse now listens on ${next}`);
      port = next;
      fs.writeFileSync(portFile, `${port}\n`);
      lend(portFile, cluster.as);
    }
    try {
      const server = await start(cluster, port ?? 0, warehouseSettings(cluster.log), signal);
      return server.port;
    } catch (error) {
      // Somebody took the port between our look and the server's.
      if (attempt < 3 && /could not bind|could not create any TCP/.test(lastWords(cluster))) continue;
      throw error;
    }
  }
}

/** Undefined where it is none: a full disk or a power cut leaves an empty file. */
function portIn(text: string): number | undefined {
  const port = Number(text);
  return Number.isInteger(port) && port > 0 && port <= 65_535 ? port : undefined;
}

/** A server that is started for minutes at a time never comes to rotate its log by itself. */
function trimLogs(log: string): void {
  for (const { file, bytes, writtenMs } of logsIn(log)) {
    if (bytes > 10 * 1024 * 1024 || Date.now() - writtenMs > 7 * 86_400_000) fs.rmSync(file, { force: true });
  }
}

/** While the server is still everybody's: nobody who wants to begin waits for it. */
async function tidy(url: string, { notice, signal }: Options): Promise<void> {
  await tidyTables(url, signal).catch((error: unknown) => {
    notice(`the warehouse's tables were not tidied: ${saidBy(error)}`);
  });
}

async function leave(inside: string, cluster: Cluster, use: Held): Promise<void> {
  use.release();
  const lock = await exclusive(lockIn(inside), startPatience);
  try {
    await stopIfLast(inside, cluster);
  } finally {
    lock.release();
  }
}

/** Stops the server if nobody uses it. For who holds the lock. */
async function stopIfLast(inside: string, cluster: Cluster): Promise<void> {
  const last = tryExclusive(path.join(inside, 'in-use'));
  if (!last) return;
  try {
    await stop(cluster);
  } finally {
    last.release();
  }
}
