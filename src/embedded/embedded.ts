/** The embedded warehouse: a Postgres in TIDEMARK_HOME, started by the first command that needs it and stopped by the last one. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Misconfigured, saidBy } from '../core/errors.ts';
import { makeDirectory } from '../core/make-directory.ts';
import { minutes, seconds } from '../core/time.ts';
import { tidyTables } from '../warehouse/upkeep.ts';
import type { Cluster } from './cluster.ts';
import { lend, make, owner, running, start, stop, textOf, warehouseSettings } from './cluster.ts';
import { exclusive, type Held, tryExclusive, tryShared } from './locks.ts';
import { reaches, unprivileged, usable } from './native.ts';

/** The embedded warehouse in use by this process. */
export interface Embedded {
  /** Connection string with its password, for psql and BI tools on this machine. */
  readonly url: string;
  /** The same for `connect`: what the environment says (PGOPTIONS, PGSERVICE), made for other servers, does not hold for this one. */
  readonly own: string;
  readonly port: number;
  /** The data directory. */
  readonly data: string;
  /** The file of the server's log. */
  readonly log: string;
  /** True if the server already ran: another command uses it, or was killed while it did. */
  readonly adopted: boolean;
  /** Ends this use: tables that are due are vacuumed and analyzed, and the last one to end stops the server. Calling it again does nothing. */
  release(): Promise<void>;
}

interface EmbeddedOptions {
  /** Gets what the user should know (where the data are kept, a new port); default: standard error. */
  readonly notice?: (message: string) => void;
  readonly signal?: AbortSignal;
}

type CompleteOptions = Required<Pick<EmbeddedOptions, 'notice'>> & EmbeddedOptions;

/** Longer than a start may take. */
const lockMs = minutes(12);

/** What else to do where the embedded Postgres cannot run. */
const instead = 'set TIDEMARK_HOME to another directory, or DATABASE_URL to a Postgres of your own';

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
  const { notice = (message) => process.stderr.write(`tidemark: ${message}\n`), signal } = options;
  const inside = enter(home);
  const { directory, as } = locate(inside, notice);
  const at = (name: string): string => path.join(directory, name);
  using _lock = await exclusive(at('lock'), lockMs, signal);
  const cluster = { native: usable(directory, as), as, data: at('data'), log: at('server.log') };
  const alone = tryExclusive(at('in-use'));
  alone?.release();
  // Processes of another container are not seen here, locks are: two servers on one data directory would destroy it.
  if (alone === undefined && running(cluster.data) === undefined)
    throw new Misconfigured(
      `the warehouse in ${cluster.data} is in use, and its server does not run in this container: run this command where it ` +
        'runs, or set DATABASE_URL to a Postgres that both can reach; if the server has just died, try again in a moment',
    );
  const use = tryShared(at('in-use'));
  if (use === undefined) throw new Misconfigured(`another program than Tidemark has locked ${at('in-use')}`);
  try {
    return await open(inside, cluster, use, { ...options, notice });
  } catch (error) {
    use.release();
    // A start that was aborted leaves a server that has no user. One that runs after another error may be served by other means.
    if (signal?.aborted) await stopIfLast(cluster).catch((second: unknown) => notice(saidBy(second)));
    throw error;
  }
}

/** A file beside the data directory. */
const beside = ({ data }: Cluster, name: string): string => path.join(path.dirname(data), name);

/** Stops the server if it has no user. The caller holds the lock. */
async function stopIfLast(cluster: Cluster): Promise<void> {
  using last = tryExclusive(beside(cluster, 'in-use'));
  if (last !== undefined) await stop(cluster);
}

/** Makes and starts what is missing. The result ends `use`. */
async function open(inside: string, cluster: Cluster, use: Held, options: CompleteOptions) {
  const { data, log } = cluster;
  const password = passwordIn(path.join(inside, 'password'), data);
  await make(cluster, password, options.signal);
  const adopted = running(data) !== undefined;
  const port = await serve(cluster, options);
  // sslmode is stated, or else PGSSLMODE of the environment, made for other servers, would hold for this one, which has no TLS.
  const url = `postgres://${owner}:${password}@127.0.0.1:${port}/${owner}?sslmode=disable`;
  // An empty service keeps the environment out. Options must not be empty: else pg takes those of PGOPTIONS.
  const own = `${url}&service=&options=${encodeURIComponent('-c default_transaction_read_only=off')}`;
  const over = new AbortController();
  const watched = watch(cluster, port, options, over.signal);
  const leave = async (): Promise<void> => {
    over.abort();
    await watched;
    await tidyTables(own, options.signal).catch((error: unknown) =>
      options.notice(`the warehouse's tables were not tidied: ${saidBy(error)}`),
    );
    use.release();
    using _lock = await exclusive(beside(cluster, 'lock'), lockMs);
    await stopIfLast(cluster);
  };
  let left: Promise<void> | undefined;
  const release = (): Promise<void> => {
    left ??= leave();
    return left;
  };
  return { url, own, port, data, log, adopted, release };
}

/** Makes the home if need be; under root such that the server's user can pass through it. */
function enter(home: string): string {
  const inside = path.join(path.resolve(home), 'postgres');
  try {
    makeDirectory(inside, process.getuid?.() === 0 ? 0o711 : 0o700);
    return fs.realpathSync(inside);
  } catch (cause) {
    throw new Misconfigured(`cannot make ${inside} (${saidBy(cause)}): ${instead}`, { cause });
  }
}

/**
 * Where the data are, and the user the server runs as (undefined: this one). Root's server runs as the owner of the data, or as an unprivileged
 * user. Where that user cannot enter the home (a checkout in a closed directory), everything but the password is kept in /var/lib, and the file
 * `<home>/postgres/location` says where.
 */
function locate(inside: string, notice: (message: string) => void) {
  const pointer = path.join(inside, 'location');
  const kept = textOf(pointer);
  const directory = kept || inside;
  const made = fs.statSync(path.join(directory, 'data'), { throwIfNoEntry: false });
  const user = process.getuid?.();
  if (user !== 0) {
    if (kept === '' && (made === undefined || user === undefined || made.uid === user))
      return { directory, as: undefined };
    throw new Misconfigured(
      `the warehouse ${path.join(directory, 'data')} was made by another user: ` +
        'run as that user (root, if root made it), or set TIDEMARK_HOME to another directory',
    );
  }
  const hash = crypto.createHash('sha256').update(inside).digest('hex').slice(0, 12);
  const outside = `/var/lib/tidemark-${hash}`;
  if (kept !== '' && (kept !== outside || !fs.existsSync(outside)))
    throw new Misconfigured(
      `${pointer} says that the warehouse is kept in ${kept}, but that is gone or belongs to another home ` +
        `(is ${inside} a copy or renamed?): bring it back, or remove ${pointer} to begin with an empty warehouse`,
    );
  if (made !== undefined && made.uid !== 0) return { directory, as: { uid: made.uid, gid: made.gid } };
  const as = unprivileged();
  if (kept !== '' || reaches(as, inside)) return { directory, as };
  makeDirectory(outside);
  fs.chmodSync(outside, 0o711);
  fs.writeFileSync(pointer, `${outside}\n`, { flush: true });
  notice(
    `Postgres does not run as root, and ${inside} is closed to other users: the warehouse is kept in ${outside}`,
  );
  return { directory: outside, as };
}

/** The password of the warehouse, made with it. Throws `Misconfigured` where it is lost. */
function passwordIn(file: string, data: string): string {
  const kept = textOf(file);
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
async function serve(cluster: Cluster, { notice, signal }: CompleteOptions): Promise<number> {
  const portFile = beside(cluster, 'port');
  const kept = textOf(portFile);
  let port = Number(kept);
  if (running(cluster.data) === undefined && !(await isFree(port))) {
    port = await freePort();
    if (fs.existsSync(portFile))
      notice(`port ${kept.slice(0, 5)} is not free: the warehouse now listens on ${port}`);
    fs.writeFileSync(portFile, `${port}\n`);
    lend(portFile, cluster.as);
  }
  return (await start(cluster, port, warehouseSettings(), signal)).port;
}

/**
 * Until `over`, starts the server again when it has died (out of memory, perhaps): else a command that runs for months would wait for ever. A
 * failed try is said once, and made again a minute later, because each may replay the whole log.
 */
async function watch(cluster: Cluster, port: number, { notice, signal }: CompleteOptions, over: AbortSignal) {
  const ending = signal ? AbortSignal.any([over, signal]) : over;
  for (let pauseMs = seconds(1); !ending.aborted; ) {
    await sleep(pauseMs, undefined, { signal: ending, ref: false }).catch(() => undefined);
    if (ending.aborted || running(cluster.data) !== undefined) continue;
    try {
      using _lock = await exclusive(beside(cluster, 'lock'), lockMs, ending);
      await start(cluster, port, warehouseSettings(), ending);
      notice('the server of the warehouse had died; it was started again');
      pauseMs = seconds(1);
    } catch (error) {
      if (pauseMs === seconds(1) && !ending.aborted)
        notice(`the server of the warehouse has died: ${saidBy(error)}`);
      pauseMs = minutes(1);
    }
  }
}

/** True if no program listens on that port of 127.0.0.1. False also for what is no port: a power cut may leave a broken file. */
const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) return resolve(false);
    const probe = net.createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });

/** A free port below those that systems hand out by themselves: a passing connection would take one of those now and then. Throws `Misconfigured` where there is none. */
export async function freePort(tries = 100): Promise<number> {
  const port = crypto.randomInt(15_433, 25_432);
  if (await isFree(port)) return port;
  if (tries === 0) throw new Misconfigured(`no port of 127.0.0.1 can be listened on: ${instead}`);
  return freePort(tries - 1);
}
