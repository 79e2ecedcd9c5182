import { EventEmitter } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, PostgresDialect, type PostgresPool, type RawBuilder, sql } from 'kysely';
import pg from 'pg';
import { Misconfigured } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import { isPassing, refusal, unreachable } from './pg-errors.ts';
import { OtherServer, targetOf, Way } from './routes.ts';
import { prepareSession } from './session.ts';
import { withRetry } from './with-retry.ts';

/** Tables and columns by name, values unknown: the warehouse has no compile-time schema, rows are typed where they are made. */
export type AnyDatabase = Readonly<Record<string, Record<string, unknown>>>;

/** An open warehouse: Postgres 14 or newer, writable, session in UTC. */
export interface Warehouse {
  readonly db: Kysely<AnyDatabase>;
  /** For what Kysely does not do (COPY). Shared with `db`. */
  readonly pool: pg.Pool;
  /** The connection string; hidden when printed. */
  readonly url: Secret;
  /** `host:port/database`, fit for logs. */
  readonly address: string;
  /** How the line is protected, for people. */
  readonly line: string;
  /** Ends every connection; one that is still in use a second later is cut. Calling it again does nothing. */
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** Connections at most; default 8. */
  readonly max?: number;
  /** Shown in `pg_stat_activity`; default `tidemark`. */
  readonly applicationName?: string;
  /** How long to keep trying a server that is down or starting, in milliseconds; default 30 s. */
  readonly retryMs?: number;
  /** A statement may take so long, in milliseconds; default 5 min; 0 is for ever. The server cancels it then. */
  readonly statementTimeout?: number;
  /** A connection that says nothing for so much longer than a statement may take is cut, in milliseconds; default 10 s. */
  readonly silenceMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Connects to a warehouse and makes sure that it can be used.
 * Throws `Unreachable` (after `retryMs`), `AuthFailed` or `Misconfigured` (at once) with what to do; no message holds the password.
 */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Warehouse> {
  const { retryMs = 30_000, signal } = options;
  const target = targetOf(url);
  const way = new Way(target.routes);
  const attempt = async (): Promise<Warehouse> => {
    signal?.throwIfAborted();
    const tried = way.current;
    const warehouse = open(way, url, options);
    try {
      await examine(warehouse);
      return warehouse;
    } catch (error) {
      await warehouse.close();
      if (way.current === tried || way.current === target.routes[0]) throw error;
      return attempt();
    }
  };
  const pauses = { totalMs: retryMs, firstMs: 100, longestMs: 3_000 };
  return withRetry(attempt, pauses, isPassing, signal).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw isPassing(error) ? unreachable(error, target.address) : refusal(error, way.current.address);
  });
}

function open(way: Way, url: string, options: ConnectOptions): Warehouse {
  const { statementTimeout = 300_000, silenceMs = 10_000, max = 8, applicationName = 'tidemark' } = options;
  const sockets = new Set<net.Socket>();
  const stream = (): net.Socket => {
    const socket = new net.Socket();
    sockets.add(socket);
    return socket.once('close', () => sockets.delete(socket));
  };
  const pool = new pg.Pool({
    Client: clientOn(way),
    stream,
    types,
    max,
    fallback_application_name: applicationName,
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: way.current.login.connectionTimeoutMillis,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...(statementTimeout > 0 && { query_timeout: statementTimeout + silenceMs }),
    onConnect: (client) => prepareSession(client, statementTimeout),
  });
  // An idle connection that breaks is replaced at its next use; without a listener it would end the process.
  pool.on('error', () => undefined);
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= Promise.race([pool.end(), sleep(longestEnd, undefined, { ref: false })]).finally(() => {
      // pg forgets the connection of a login that fails half-way; the server would hold it, and it this process, for a minute.
      for (const socket of sockets) socket.destroy();
    });
    return closed;
  };
  const { address, line } = way.current;
  return { db: databaseOver(pool, options), pool, url: new Secret(url), address, line, close };
}

/** How long `close` waits for statements under way, in milliseconds. */
const longestEnd = 1_000;

/**
 * How values come out of Postgres: exactly, or not as numbers at all.
 * bigint and numeric: text · timestamptz: Date (its microseconds cut to milliseconds; read `::text` where they matter) ·
 * date, timestamp, time, interval: text as Postgres writes it, never shifted into a local time zone · json, jsonb: parsed.
 */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    format !== 'binary' && asText.has(oid) ? (value: string) => value : pg.types.getTypeParser(oid, format),
};
const { DATE, TIMESTAMP, TIME, TIMETZ, INTERVAL, INT8, NUMERIC } = pg.types.builtins;
const asText: ReadonlySet<number> = new Set([DATE, TIMESTAMP, TIME, TIMETZ, INTERVAL, INT8, NUMERIC]);

/**
 * A statement waits while the server restarts or has no connection free: until it has a connection nothing was sent, so another try is safe.
 * (Users of `pool` have retries of their own.) When the signal is aborted it throws its reason.
 */
function databaseOver(pool: pg.Pool, { retryMs = 30_000, signal }: ConnectOptions): Kysely<AnyDatabase> {
  const pauses = { totalMs: retryMs, firstMs: 50, longestMs: 2_000 };
  const waiting: PostgresPool = {
    options: pool.options,
    end: () => pool.end(),
    connect: () => withRetry(() => pool.connect(), pauses, isPassing, signal),
  };
  return new Kysely({ dialect: new PostgresDialect({ pool: waiting }) });
}

/** A `db` over the same connections whose statements fail after `retryMs` ms without a connection, for callers that a person waits for. */
export const withConnectLimit = ({ pool }: Warehouse, retryMs: number): Kysely<AnyDatabase> =>
  databaseOver(pool, { retryMs });

/** Whether the server, which did when it was connected to, still takes writes: a primary can become a replica. */
export const takesWrites = ({ db }: Pick<Warehouse, 'db'>): Promise<boolean> =>
  hasRows(db, sql`select where current_setting('transaction_read_only') = 'off'`);

/** Whether a query finds anything. */
export const hasRows = async (db: Kysely<AnyDatabase>, query: RawBuilder<unknown>): Promise<boolean> =>
  (await query.execute(db)).rows.length > 0;

/** Whether something between us and the server gives two clients one session, or one client several: transaction pooling. */
export async function sharesSessions({ pool }: Pick<Warehouse, 'pool'>): Promise<boolean> {
  const clients = [await pool.connect()];
  try {
    clients.push(await pool.connect());
    const seen: unknown[] = [];
    // Back and forth: of a pooler that lends its sessions in turn, one client would get the same again and again.
    for (const client of [...clients, ...clients.toReversed()])
      seen.push((await client.query('select pg_catalog.pg_backend_pid() as pid')).rows[0].pid);
    return seen[0] === seen[1] || seen[0] !== seen[3] || seen[1] !== seen[2];
  } finally {
    for (const client of clients) client.release();
  }
}

/** What makes a server unfit, as an SQL condition, and what the user can do; the first that holds counts. */
const demands: readonly (readonly [unfit: string, what: string])[] = [
  [`current_setting('server_version_num')::int < 140000`, 'Tidemark needs Postgres 14 or newer'],
  [
    'pg_is_in_recovery()',
    'it is a read-only replica: name its primary in DATABASE_URL, or all hosts and target_session_attrs=read-write',
  ],
  [
    `current_setting('transaction_read_only') = 'on'`,
    'it is read-only for this user: set default_transaction_read_only to off, or take another user in DATABASE_URL',
  ],
  [
    // SQL_ASCII takes each byte as it comes.
    `current_setting('server_encoding') not in ('UTF8', 'SQL_ASCII')`,
    'it cannot hold every text: name a database in UTF8 in DATABASE_URL (createdb --encoding=UTF8 --template=template0)',
  ],
  [
    `not has_database_privilege(current_database(), 'temporary')`,
    'every load needs temporary tables: let the owner run grant temporary on database … to this user',
  ],
];

async function examine({ pool, address }: Warehouse): Promise<void> {
  const { rows } = await pool.query<{ unfit: readonly boolean[]; server: string }>(
    `select array[${demands.map(([unfit]) => unfit).join(', ')}] as unfit, concat('Postgres ',
      current_setting('server_version'), ', ', current_setting('server_encoding'), ', user ', current_user) as server`,
  );
  const { unfit = [], server } = rows[0] ?? {};
  const [, what] = demands[unfit.indexOf(true)] ?? [];
  if (what !== undefined) throw new Misconfigured(`${address} (${server}): ${what}`);
}

/**
 * At `query_timeout` pg gives the query up but keeps the connection with the query still running; the next query would wait for it.
 * This client ends such a connection instead.
 */
class CutOnSilence extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // A connection in use that breaks between two statements says so by an event that would end the process; its next statement says it again.
    this.on('error', () => undefined);
    const cut = (error: unknown): void => {
      if (error instanceof Error && error.message === 'Query read timeout') void this.end();
    };
    this.query = new Proxy(this.query, {
      apply: (query, self, args) => {
        const going: unknown = Reflect.apply(query, self, args);
        if (going instanceof Promise) going.catch(cut);
        else if (going instanceof EventEmitter) going.on('error', cut);
        return going;
      },
    });
  }
}

/** A client that takes the current route to the warehouse. */
const clientOn = (way: Way) =>
  class extends CutOnSilence {
    readonly #route = way.current;

    constructor(config?: pg.ClientConfig) {
      super({ ...config, ...way.current.login });
    }

    override connect(): Promise<this>;
    override connect(callback: (error: Error | null, client?: this) => void): void;
    override connect(callback?: (error: Error | null, client?: this) => void): unknown {
      const connected = this.#connect();
      return callback ? void connected.then((client) => callback(null, client), callback) : connected;
    }

    async #connect(): Promise<this> {
      const { demand, address } = this.#route;
      try {
        await super.connect();
        if (demand === 'true') return this;
        const { rows } = await this.query(`select where ${demand}`);
        if (rows.length > 0) return this;
        void this.end();
        throw new OtherServer(`${address} is not a server that target_session_attrs asks for`);
      } catch (error) {
        throw way.after(this.#route, error);
      }
    }
  };
