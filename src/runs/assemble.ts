/** The parts that runs are made of: the configuration, the embedded server, the warehouse. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../config/config.ts';
import type { Connector } from '../connectors/connector.ts';
import { memoizeAsync } from '../core/memoize-async.ts';
import type { Embedded } from '../embedded/embedded.ts';
import { connectionsFor } from '../engine/context/deps.ts';
import type { ConnectOptions, Warehouse } from '../warehouse/connect.ts';

/** The configuration, with the pipelines. */
export type ProgramSettings = Config<Connector>;

/** The parts that a command or a program may need. Each is built at its first use and stopped by `close` in reverse order. */
export interface Parts {
  /** The checked environment. Throws Misconfigured. */
  config(): Promise<ProgramSettings>;
  /**
   * The warehouse of `DATABASE_URL`, else the embedded one, which this starts. Its schema may be missing or old.
   * `retryMs`: how long to try a server that does not answer; default 30 s.
   */
  warehouse(retryMs?: number): Promise<Warehouse>;
  /** The embedded server of the home directory; undefined with `DATABASE_URL`. */
  embedded(): Promise<Embedded | undefined>;
  /** An embedded server in another home directory. */
  embeddedIn(home: string): Promise<Embedded>;
  /** A warehouse by its connection string. */
  connected(url: string, options: ConnectOptions): Promise<Warehouse>;
  /** Registers something to be stopped before the parts that were built earlier. */
  keep<T>(part: T, stop: (part: T) => Promise<unknown>): T;
}

interface Talk {
  /** Silent with `--quiet`. */
  readonly talk: (text: string) => void;
  /** Silent with `--quiet` and `--json`. */
  readonly say: (text: string) => void;
  /** Never silent. */
  readonly notice: (text: string) => void;
}

/** The parts, each made at its first use; `close` stops them in reverse order and throws the first error after trying all. */
export function assemble(
  load: () => Promise<ProgramSettings>,
  signal: AbortSignal,
  { talk, say, notice }: Talk,
) {
  const stops: (() => Promise<unknown>)[] = [];
  const homes = new Set<string>();
  const keep = <T>(part: T, stop: (part: T) => Promise<unknown>): T => {
    stops.push(() => stop(part));
    return part;
  };
  const config = memoizeAsync(async () => {
    const read = await load();
    for (const warning of read.warnings) talk(`warning: ${warning}`);
    return read;
  });
  const embeddedIn = async (home: string) => {
    const { openEmbedded } = await import('../embedded/embedded.ts');
    homes.add(home);
    return keep(await openEmbedded(home, { notice, signal }), (part) => part.release());
  };
  const embedded = memoizeAsync(async () => {
    const { databaseUrl, home } = await config();
    if (databaseUrl !== undefined) return undefined;
    const isNew = !existsSync(path.join(home, 'postgres'));
    const opened = await embeddedIn(home);
    if (isNew) say(`made a new warehouse in ${home}`);
    return opened;
  });
  const connected = async (url: string, options: ConnectOptions) => {
    const { connect } = await import('../warehouse/connect.ts');
    return keep(await connect(url, { ...options, signal }), (part) => part.close());
  };
  const warehouse = memoizeAsync(async (retryMs?: number) => {
    const { databaseUrl, pipelines } = await config();
    const max = connectionsOf(pipelines);
    const url = databaseUrl?.reveal() ?? (await embedded())?.own;
    if (url === undefined) throw new Error('neither DATABASE_URL nor an embedded warehouse');
    return connected(url, { max, ...(retryMs !== undefined && { retryMs }) });
  });
  const close = async (): Promise<void> => {
    const failures: unknown[] = [];
    for (const stop of stops.reverse()) await stop().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  return { parts: { config, embedded, embeddedIn, connected, warehouse, keep }, close, homes };
}

/** Connections for one run, of whichever of the pipelines. */
const connectionsOf = (pipelines: ProgramSettings['pipelines']): number =>
  connectionsFor(Math.max(4, ...pipelines.map(({ values }) => Number(values?.concurrency ?? 0))));

/** Connections of a `serve` for the queue (one of them listens for new jobs), the API and the pages. Runs have their own. */
export const ownConnections = 9;

/** What to do where the runs of a `serve` may need more connections than the server has for it, for people; undefined: they fit. */
export async function lackOfConnections({ pool }: Pick<Warehouse, 'pool'>, config: ProgramSettings) {
  const { rows } = await pool.query<{ most: number }>(`
    select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true)::int, 0) as most`);
  const most = rows[0]?.most ?? 0;
  const each = connectionsOf(config.pipelines);
  const jobs = Math.min(config.server.jobs, config.pipelines.filter(({ values }) => values).length);
  const needed = jobs * each + ownConnections;
  const fitting = Math.max(1, Math.floor((most - ownConnections) / each));
  if (needed <= most) return undefined;
  return `serve may need ${needed} connections (${each} for each of ${jobs} runs at once, ${ownConnections} besides), and Postgres allows ${most}: lower TIDEMARK_JOBS to ${fitting}, or raise max_connections`;
}

/** Does work with connections that nothing else uses meanwhile. */
export type Lend = <T>(work: (warehouse: Warehouse) => Promise<T>) => Promise<T>;

/** Lends connections to runs, and keeps them for the runs after these: no more are open than runs at once need. */
export function lender(
  { connected }: Pick<Parts, 'connected'>,
  { pipelines }: ProgramSettings,
  { url }: Warehouse,
): Lend {
  const free: Warehouse[] = [];
  return async (work) => {
    const warehouse = free.pop() ?? (await connected(url.reveal(), { max: connectionsOf(pipelines) }));
    return work(warehouse).finally(() => free.push(warehouse));
  };
}

export const ownVersion = (): string =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
