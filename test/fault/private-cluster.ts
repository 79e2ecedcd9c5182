import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { shippedTables } from '../../src/connectors/index.ts';
import { type Cluster, lend, make, owner, running, start, stop } from '../../src/embedded/cluster.ts';
import { freePort } from '../../src/embedded/embedded.ts';
import { unprivileged, usable } from '../../src/embedded/native.ts';
import { type ConnectOptions, connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { until } from '../support/processes.ts';

/** A Postgres of a test's own: it may be killed, filled and starved. Its machine keeps its power, so it need not wait for disks. */
export interface PrivateCluster {
  readonly port: number;
  readonly directory: string;
  /** Connection string to a database of it, by way of another port if given. */
  url(database?: string, port?: number): string;
  /** A migrated database. */
  database(name: string): Promise<string>;
  connect(database: string, options?: ConnectOptions & { readonly port?: number }): Promise<Warehouse>;
  /** As after a power cut: every process of the server ends at once, and after `whileDown` it starts again. */
  crash(whileDown?: () => Promise<void>): Promise<void>;
  /** Ends it in good order, which cuts its connections, and starts it after `whileDown`. */
  restart(whileDown?: () => Promise<void>): Promise<void>;
  /** Restarts it, and remembers how it is; with what this gives it is so again, as where a replica takes over that has not heard of what came since. */
  keep(): Promise<() => Promise<void>>;
  /** Restarts it as a replica, which takes no writes; what this gives makes it a primary again. */
  demote(): Promise<() => Promise<void>>;
  /** The server's user may write here. */
  lend(directory: string): void;
  remove(): Promise<void>;
}

const usual = {
  fsync: 'off',
  max_connections: '30',
  shared_buffers: '32MB',
  jit: 'off',
  timezone: 'UTC',
  deadlock_timeout: '200ms',
  log_min_messages: 'fatal',
};

/** `more`: settings of the server besides the usual ones. */
export async function privateCluster(more: Readonly<Record<string, string>> = {}): Promise<PrivateCluster> {
  const settings = { ...usual, ...more };
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-test-own-'));
  fs.chmodSync(directory, 0o711);
  const as = process.getuid?.() === 0 ? unprivileged() : undefined;
  const native = usable(directory, as);
  const cluster: Cluster = {
    native,
    as,
    data: path.join(directory, 'data'),
    log: path.join(directory, 'server.log'),
  };
  await make(cluster, 'test');
  const port = await freePort();
  await start(cluster, port, settings);
  const url = (database = 'postgres', by = port): string =>
    `postgres://${owner}:test@127.0.0.1:${by}/${database}`;
  const template = owner;
  const migrated = await connect(url(template), { max: 1 });
  await migrate(migrated, shippedTables);
  await migrated.close();
  const killed = async (): Promise<void> => {
    const server = running(cluster.data);
    if (server === undefined) throw new Error('there is no server to crash');
    process.kill(server.pid, 'SIGQUIT');
    await until('the server is gone', () => running(cluster.data) === undefined);
  };
  return {
    port,
    directory,
    url,
    async database(name) {
      const admin = await connect(url(), { max: 1 });
      await admin.pool.query(`create database ${name} template ${template}`);
      await admin.close();
      return url(name);
    },
    connect: (database, { port: by, ...options } = {}) => connect(url(database, by), options),
    async crash(whileDown) {
      await killed();
      await whileDown?.();
      await start(cluster, port, settings);
    },
    async restart(whileDown) {
      await stop(cluster);
      await whileDown?.();
      await start(cluster, port, settings);
    },
    async keep() {
      const kept = path.join(directory, 'kept');
      await stop(cluster);
      fs.rmSync(kept, { recursive: true, force: true });
      // With its owner.
      execFileSync('cp', ['-a', cluster.data, kept]);
      await start(cluster, port, settings);
      return async () => {
        await killed();
        fs.rmSync(cluster.data, { recursive: true });
        fs.renameSync(kept, cluster.data);
        await start(cluster, port, settings);
      };
    },
    async demote() {
      const signal = path.join(cluster.data, 'standby.signal');
      const restart = async (): Promise<void> => {
        await stop(cluster);
        if (fs.existsSync(signal)) fs.rmSync(signal);
        else fs.writeFileSync(signal, '');
        await start(cluster, port, settings);
      };
      await restart();
      return restart;
    },
    lend: (place) => lend(place, as),
    async remove() {
      await stop(cluster);
      fs.rmSync(directory, { recursive: true, force: true });
    },
  };
}
