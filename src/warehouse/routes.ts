/**
 * The ways to the warehouse that a connection string names: each of its hosts, with TLS and without it as `sslmode` says; and which of them new
 * connections take: the one that worked last, and after a failure the next one.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import type pg from 'pg';
import { AuthFailed, saidBy } from '../core/errors.ts';
import { type Conninfo, conninfoOf, encode, wrong } from './conninfo.ts';
import { isOfLine, isPassing } from './pg-errors.ts';

type Env = NodeJS.ProcessEnv;

/** One way to a server. */
export interface Route {
  /** `host:port/database`, fit for logs. */
  readonly address: string;
  /** How the line is protected, for people. */
  readonly line: string;
  /** What `pg` needs to connect; it holds the password. */
  readonly login: pg.ClientConfig;
  /** What a session there must be, as SQL. */
  readonly demand: string;
}

/** What a connection string says, with the variables PG… and the files that libpq reads. */
export interface Target {
  /** In the order in which libpq tries them. */
  readonly routes: readonly [Route, ...Route[]];
  readonly places: ReturnType<typeof placesOf>;
  /** `host:port/database`, several hosts separated by commas; fit for logs. */
  readonly address: string;
  readonly info: Conninfo;
}

/** Values of `sslmode`, with the lines that they try in turn: with TLS or without. */
const modes: Readonly<Record<string, readonly boolean[]>> = {
  disable: [false],
  allow: [false, true],
  prefer: [true, false],
  require: [true],
  'verify-ca': [true],
  'verify-full': [true],
};

const isWritable = `current_setting('transaction_read_only') = 'off'`;

/** Values of `target_session_attrs`, with what a session must be in each round over all hosts. */
const demands: Readonly<Record<string, readonly string[]>> = {
  any: ['true'],
  'read-write': [isWritable],
  'read-only': [`not (${isWritable})`],
  primary: ['not pg_is_in_recovery()'],
  standby: ['pg_is_in_recovery()'],
  'prefer-standby': ['pg_is_in_recovery()', 'true'],
};

/** Reads a connection string. Throws `Misconfigured`, which names the part that is wrong and quotes no value. */
export function targetOf(text: string, env: Env = process.env): Target {
  const given = conninfoOf(text, env);
  const { user = os.userInfo().username, dbname: database = user, target_session_attrs = 'any' } = given;
  const { sslmode = given.sslrootcert === 'system' ? 'verify-full' : 'prefer', application_name } = given;
  const mode = modes[sslmode];
  const rounds = demands[target_session_attrs];
  if (!mode) throw wrong(`sslmode is one of ${Object.keys(modes).join(', ')}`);
  if (!rounds) throw wrong(`target_session_attrs is one of ${Object.keys(demands).join(', ')}`);
  // As in libpq at least 2; 0 and what is no number wait for as long as usual.
  const connectionTimeoutMillis = Math.max(2, Number(given.connect_timeout) || 15) * 1000;
  const login = { user, database, options: given.options, application_name, connectionTimeoutMillis };
  const overNetwork = mode.map((isEncrypted) => (isEncrypted ? encrypted(given, sslmode, env) : plain));
  const places = placesOf(given);
  const routes = rounds.flatMap((demand) =>
    places.flatMap(({ host, port }) =>
      (host.startsWith('/') ? [socket] : overNetwork).map(({ line, ssl }): Route => {
        const words = [host === sockets[0] ? 'localhost' : host, String(port), database, user];
        // Looked up when the server asks for it.
        const password =
          given.password ?? (() => passwordIn(given.passfile ?? inHome(env, '.pgpass'), words));
        const address = `${host}:${port}/${database}`;
        return { address, line, login: { ...login, host, port, ssl, password }, demand };
      }),
    ),
  );
  const [first, ...others] = routes;
  if (first === undefined) throw wrong('it names no host');
  const address = `${places.map(({ host, port }) => `${host}:${port}`).join(',')}/${database}`;
  return { routes: [first, ...others], places, address, info: { ...given, dbname: database } };
}

/** Where packaged servers of Linux have their sockets, and where Postgres itself has them. */
const sockets = ['/var/run/postgresql', '/tmp'] as const;

/** Each server's name or address, or the directory of its socket, with its port. */
function placesOf({ host: hosts = '', port: ports = '' }: Conninfo) {
  const names = hosts.split(',');
  const numbers = ports.split(',');
  if (numbers.length !== 1 && numbers.length !== names.length)
    throw wrong(`it names ${names.length} hosts and ${numbers.length} ports`);
  return names.map((name, at) => {
    const text = numbers[numbers.length === 1 ? 0 : at] || '5432';
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (port < 1 || port > 65_535) throw wrong(`a port is no number from 1 to 65535: ${encode}`);
    const hasSocket = (directory: string) => fs.existsSync(`${directory}/.s.PGSQL.${port}`);
    return { host: name || (sockets.find(hasSocket) ?? sockets[0]), port };
  });
}

const inHome = (env: Env, name: string): string => path.join(env.HOME || os.homedir(), name);

const plain = { line: 'not encrypted', ssl: false };
const socket = { line: 'a socket of this machine', ssl: false };

/** A certificate is verified where there are roots for it, its name with `verify-full` alone. */
function encrypted(info: Conninfo, sslmode: string, env: Env) {
  const read = (name: string, usual: string): Buffer | undefined => {
    const file = info[name] ?? inHome(env, `.postgresql/${usual}`);
    if (info[name] === undefined && !fs.existsSync(file)) return undefined;
    try {
      return fs.readFileSync(file);
    } catch (error) {
      throw wrong(`${name}: ${saidBy(error)}`);
    }
  };
  const isSystem = info.sslrootcert === 'system';
  const roots = isSystem ? undefined : read('sslrootcert', 'root.crt');
  const isFull = sslmode === 'verify-full';
  if (!isFull && (isSystem || (sslmode === 'verify-ca' && !roots)))
    throw wrong('verify-ca needs a file in sslrootcert, and sslrootcert=system needs sslmode=verify-full');
  const isVerified = isFull || roots !== undefined;
  const ssl: tls.ConnectionOptions = {
    cert: read('sslcert', 'postgresql.crt'),
    key: read('sslkey', 'postgresql.key'),
    // Without a file psql refuses verify-full.
    ca: roots ?? (isFull ? [...tls.getCACertificates('system'), ...tls.getCACertificates('default')] : []),
    rejectUnauthorized: isVerified,
    ...(info.sslpassword && { passphrase: info.sslpassword }),
    ...(!isFull && { checkServerIdentity: () => undefined }),
  };
  return { line: `encrypted, certificate ${isVerified ? '' : 'not '}verified`, ssl };
}

/** The password in the first line of the file for these: host, port, database and user. Throws `AuthFailed` where there is none. */
function passwordIn(file: string, words: readonly string[]): string {
  const { mode = 0 } = fs.statSync(file, { throwIfNoEntry: false }) ?? {};
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw new AuthFailed(`the password file ${file} is not used, because others can read it: chmod 600 it`);
  for (const line of mode === 0 ? [] : fs.readFileSync(file, 'utf8').split(/\r?\n/)) {
    const fields = [...line.matchAll(/(?:^|:)((?:\\.|[^:\\])*)/g)].map(([, field = '']) => field);
    const [password, ...more] = [fields[4], ...fields.slice(0, 4)].map((each) =>
      each?.replace(/\\(.)/g, '$1'),
    );
    if (password && words.every((word, at) => more[at] === '*' || more[at] === word)) return password;
  }
  throw new AuthFailed(
    `the server asks for a password: DATABASE_URL, PGPASSWORD and ${file} have none for it`,
  );
}

/** The connection string of another user; without a password where that is empty. */
export function urlFor({ places, info }: Target, user: string, password: string): string {
  const written = (host: string) => (host.includes(':') ? `[${host}]` : encodeURIComponent(host));
  const hosts = places.map(({ host, port }) => `${written(host)}:${port}`).join(',');
  const login = encodeURIComponent(user) + (password && `:${encodeURIComponent(password)}`);
  const url = new URL(`postgres://${login}@host/${encodeURIComponent(info.dbname ?? '')}`);
  for (const name of ['sslmode', 'sslrootcert', 'target_session_attrs'])
    if (info[name] !== undefined) url.searchParams.set(name, info[name]);
  return url.href.replace('@host/', `@${hosts}/`);
}

/** A server whose session is not what `target_session_attrs` asks for. */
export class OtherServer extends Error {}

/** A route failed, and another one is taken from now on: trying again helps. */
class OtherRoute extends Error {
  /** sqlclient_unable_to_establish_sqlconnection, which passes. */
  readonly code = '08001';
}

export class Way {
  readonly #routes: readonly [Route, ...Route[]];
  current: Route;

  constructor(routes: readonly [Route, ...Route[]]) {
    this.#routes = routes;
    this.current = routes[0];
  }

  /** The error to throw where a route failed so. If another one may do, it is taken from now on; after the last comes the first. */
  after(failed: Route, error: unknown): unknown {
    const next = this.#next(failed, error) ?? failed;
    if (next === failed) return error;
    if (this.current === failed) this.current = next;
    return new OtherRoute(saidBy(error), { cause: error });
  }

  /** With or without TLS it may work on the same host; a host that is away, or is another server than wanted, leaves the others. */
  #next(failed: Route, error: unknown): Route | undefined {
    const rest = this.#routes.slice(this.#routes.indexOf(failed) + 1);
    const isSame = ({ address, demand }: Route) => address === failed.address && demand === failed.demand;
    if (isOfLine(error)) return rest.find(isSame);
    const isOfHost = isPassing(error) || error instanceof OtherServer;
    return isOfHost ? (rest.find((route) => !isSame(route)) ?? this.#routes[0]) : undefined;
  }
}
