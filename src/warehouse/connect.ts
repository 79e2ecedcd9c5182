import { EventEmitter } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely';
import pg from 'pg';
import { Misconfigured } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import { address, connectionString, withoutTls } from './address.ts';
import { isPassing, refusal, unreachable } from './pg-errors.ts';
import { types } from './types.ts';
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
  readonly signal?: AbortSignal;
}

/**
 * Connects to a warehouse and makes sure that it can be used.
 * Throws `Unreachable` (after `retryMs`), `AuthFailed` or `Misconfigured` (at once) with what to do; no message holds the password.
 */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Warehouse> {
  let target = connectionString(url);
  const attempt = async (): Promise<Warehouse> => {
    options.signal?.throwIfAborted();
    const warehouse = open(target, url, options);
    try {
      await examine(warehouse);
      return warehouse;
    } catch (error) {
      await warehouse.close();
      const plain = withoutTls(target, error);
      if (plain === undefined) throw error;
      target = plain;
      return attempt();
    }
  };
  const { retryMs = 30_000, signal } = options;
  return withRetry(attempt, { totalMs: retryMs, firstMs: 100, longestMs: 3_000 }, isPassing, signal).catch(
    (error: unknown) => {
      signal?.throwIfAborted();
      throw isPassing(error) ? unreachable(error, address(target)) : refusal(error, address(target));
    },
  );
}

function open(target: string, url: string, options: ConnectOptions): Warehouse {
  const statementTimeout = options.statementTimeout ?? 300_000;
  const sockets = new Set<net.Socket>();
  const pool = new pg.Pool({
    connectionString: target,
    Client: CutOnSilence,
    stream: () => remembered(new net.Socket(), sockets),
    types,
    max: options.max ?? 8,
    application_name: options.applicationName ?? 'tidemark',
    connectionTimeoutMillis: 15_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...(statementTimeout > 0 ? { query_timeout: statementTimeout + (options.silenceMs ?? 10_000) } : {}),
    onConnect: (client) => prepare(client, statementTimeout),
  });
  // An idle connection that breaks is replaced at its next use; without a listener it would end the process.
  pool.on('error', () => undefined);
  const db = new Kysely<AnyDatabase>({ dialect: new PostgresDialect({ pool: waitingPool(pool, options) }) });
  let closed: Promise<void> | undefined;
  return {
    db,
    pool,
    url: new Secret(url),
    address: address(target),
    close: () => {
      closed ??= Promise.race([pool.end(), sleep(longestEnd, undefined, { ref: false })]).finally(() => {
        // pg forgets the connection of a login that fails half-way; the server would hold it, and it this process, for a minute.
        for (const socket of sockets) socket.destroy();
      });
      return closed;
    },
  };
}

/**
 * A statement of `db` waits while the server restarts or has no connection free: until it has a connection nothing was sent, so trying again is
 * safe. (Users of `pool` have retries of their own.) When the signal is aborted it throws its reason.
 */
function waitingPool(pool: pg.Pool, { retryMs = 30_000, signal }: ConnectOptions): PostgresPool {
  const pauses = { totalMs: retryMs, firstMs: 50, longestMs: 2_000 };
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: () => withRetry(() => pool.connect(), pauses, isPassing, signal),
  };
}

/** Whether the server, which did when it was connected to, still takes writes: a primary can become a replica. */
export async function takesWrites({ db }: Pick<Warehouse, 'db'>): Promise<boolean> {
  const { rows } = await sql<{
    readonly: string;
  }>`select current_setting('transaction_read_only') as readonly`.execute(db);
  return rows[0]?.readonly === 'off';
}

/** A `db` over the same connections whose statements fail after `retryMs` ms without a connection, for callers that a person waits for. */
export const withConnectLimit = ({ pool }: Warehouse, retryMs: number): Kysely<AnyDatabase> =>
  new Kysely<AnyDatabase>({ dialect: new PostgresDialect({ pool: waitingPool(pool, { retryMs }) }) });

/** How long `close` waits for statements under way, in milliseconds. */
const longestEnd = 1_000;

function remembered(socket: net.Socket, sockets: Set<net.Socket>): net.Socket {
  sockets.add(socket);
  return socket.once('close', () => sockets.delete(socket));
}

/**
 * Settings of the session, not of its start: poolers refuse those. `read committed`: under another isolation, which a database or role may have
 * as default, a transaction that lasts longer than a heartbeat of its lease fails at its end. `jit` off: before Postgres 18 compiling took
 * 0.1 s for statements of 1 ms (measured on 15). `synchronous_commit`: a run relies on what an answered commit stored.
 */
async function prepare(client: pg.ClientBase, statementTimeout: number): Promise<void> {
  await client.query(`
    select set_config(name, value, false) from (values
      ('timezone', 'UTC'), ('datestyle', 'ISO, YMD'), ('intervalstyle', 'iso_8601'), ('client_min_messages', 'warning'),
      ('statement_timeout', '${statementTimeout}'), ('lock_timeout', '60s'), ('idle_in_transaction_session_timeout', '5min'),
      ('idle_session_timeout', '0'), ('default_transaction_isolation', 'read committed'), ('jit', 'off'),
      ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3')
    ) as settings (name, value);
    select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off';
    do $$ begin
      -- A statement whose client was killed must not go on holding its locks. Not every server's platform can tell.
      perform set_config('client_connection_check_interval', '3s', false);
    exception when invalid_parameter_value then null;
    end $$`);
}

/** What makes a server unfit, as an SQL condition, and what the user can do; the first that holds counts. */
const demands: readonly (readonly [unfit: string, what: string])[] = [
  [
    `current_setting('server_version_num')::int < 140000`,
    'it is older than Postgres 14: Tidemark needs 14 or newer',
  ],
  ['pg_is_in_recovery()', 'it is a read-only replica: set DATABASE_URL to its primary server'],
  [
    `current_setting('transaction_read_only') = 'on'`,
    'it is read-only for this user: set default_transaction_read_only to off, or take another user in DATABASE_URL',
  ],
  // SQL_ASCII takes each byte as it comes.
  [
    `current_setting('server_encoding') not in ('UTF8', 'SQL_ASCII')`,
    'its encoding does not hold every text of a source: give the warehouse a database in UTF8 (createdb --encoding=UTF8 --template=template0) and name that in DATABASE_URL',
  ],
  [
    `not has_database_privilege(current_database(), 'temporary')`,
    'this user may not make temporary tables, and every load needs them: let the owner run: grant temporary on database DATABASE to USER',
  ],
];

async function examine({ pool, address }: Warehouse): Promise<void> {
  const { rows } = await pool.query<{
    unfit: readonly boolean[];
    user: string;
    database: string;
    server: string;
  }>(
    `select array[${demands.map(([unfit]) => unfit).join(', ')}] as unfit, quote_ident(current_user) as user,
      quote_ident(current_database()) as database,
      concat('Postgres ', current_setting('server_version'), ', ', current_setting('server_encoding')) as server`,
  );
  const { unfit = [], user = '', database = '', server = '' } = rows[0] ?? {};
  const [, what] = demands[unfit.indexOf(true)] ?? [];
  if (what !== undefined)
    throw new Misconfigured(
      `${address} (${server}): ${what.replace('DATABASE to USER', `${database} to ${user}`)}`,
    );
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
