import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { shippedTables } from '../../src/connectors/index.ts';
import { type Cluster, make, owner, running, start, stop } from '../../src/embedded/cluster.ts';
import { freePort } from '../../src/embedded/embedded.ts';
import { unprivileged, usable } from '../../src/embedded/native.ts';
import { openQueue } from '../../src/scheduler/queue.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { placeOfData } from './memory.ts';
import { type Pristine, pristine } from './pristine.ts';

/** What a test needs to know of the run's Postgres. */
export interface TestCluster {
  /** Connection string of the cluster's owner, to the database `postgres`. */
  readonly url: string;
  /** The migrated database that test databases are copies of. */
  readonly template: string;
  /** What the names of its databases begin with. */
  readonly names: string;
  /** How a copy of the template is seen to be as it again. */
  readonly pristine: Pristine;
  /** Why there is no template, if the migrations fail: the message of tests that need one. */
  readonly broken: string | undefined;
  /** A test that keeps its database says so in this file. */
  readonly keep: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    readonly postgres: TestCluster;
  }
}

/**
 * One Postgres for the entire run: the server that `TIDEMARK_TEST_POSTGRES` names (14 or newer, as a superuser, for tests alone), or one of its own
 * in a temporary directory, its data in memory where there is room, careless of power cuts, which is removed at the end unless a failed test keeps
 * its database.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  sweep();
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), prefix));
  fs.chmodSync(directory, 0o711);
  fs.writeFileSync(path.join(directory, 'run'), String(process.pid));
  const given = process.env.TIDEMARK_TEST_POSTGRES;
  return given === undefined ? ownServer(project, directory) : givenServer(project, directory, given);
}

async function givenServer(
  project: TestProject,
  directory: string,
  server: string,
): Promise<() => Promise<void>> {
  const url = (database: string) => Object.assign(new URL(server), { pathname: `/${database}` }).href;
  const keep = path.join(directory, 'keep');
  const template = `tidemark_template_${process.pid}`;
  const around = { url: url('postgres'), template, names, keep };
  project.provide('postgres', { ...around, ...(await prepare(url, template)) });
  return async () => {
    const admin = await connect(url('postgres'), { max: 1 });
    const kept = fs.existsSync(keep) ? fs.readFileSync(keep, 'utf8') : '';
    try {
      const { rows } = await admin.pool.query<{ name: string }>(
        `select datname as name from pg_database
         where datname = $1 or datname ~ '^spare_' or starts_with(datname, $2) and strpos($3, datname) = 0`,
        [template, names, kept],
      );
      for (const { name } of rows) await admin.pool.query(`drop database if exists ${name} with (force)`);
    } finally {
      await admin.close();
    }
    if (kept !== '') console.error(`Kept for a look:\n${kept}`);
    fs.rmSync(directory, { recursive: true, force: true });
  };
}

async function ownServer(project: TestProject, directory: string): Promise<() => Promise<void>> {
  const cluster = clusterIn(directory);
  const password = 'test';
  await make(cluster, password);
  const { port } = await start(cluster, await freePort(), careless);
  const url = (database: string) => `postgres://${owner}:${password}@127.0.0.1:${port}/${database}`;
  // A test opens connections by the dozen, and each would prove its password four thousand times over.
  const admin = await connect(url('postgres'), { max: 1 });
  await admin.pool.query(`set scram_iterations = 1; alter role ${owner} password '${password}'`);
  await admin.close();
  const keep = path.join(directory, 'keep');
  const template = 'tidemark_template';
  const around = { url: url('postgres'), template, names, keep };
  project.provide('postgres', { ...around, ...(await prepare(url, template)) });
  return async () => {
    await stop(cluster);
    if (fs.existsSync(keep)) {
      const again = `${cluster.native.directory}/bin/postgres -D ${cluster.data} -p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`;
      console.error(
        `Kept for a look:\n${fs.readFileSync(keep, 'utf8')}Serve them again${cluster.as ? ` as user ${cluster.as.uid}` : ''} with\n  ${again}`,
      );
    } else remove(directory);
  };
}

const prefix = 'tidemark-test-';

/** What the names of the run's databases begin with. */
const names = `test_${process.pid}_`;

/** The entry of a run's directory that leads to its server's data, wherever that is. */
const link = 'server';
const dataIn = (directory: string): string => path.join(directory, link, 'data');

/** Away with a run's directory and with its server's data. */
function remove(directory: string): void {
  const server = path.join(directory, link);
  if (fs.existsSync(server))
    fs.rmSync(fs.realpathSync(server), { recursive: true, force: true, ...patience });
  fs.rmSync(directory, { recursive: true, force: true, ...patience });
}

const patience = { maxRetries: 10, retryDelay: 100 };

/** Removes what runs that were killed have left, server included, and what was kept for a look longer than a day ago. */
function sweep(): void {
  for (const name of fs.readdirSync(os.tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    const directory = path.join(os.tmpdir(), name);
    const ours = path.join(directory, 'run');
    if (!fs.existsSync(ours) || fs.statSync(ours).uid !== process.getuid?.()) continue; // just being made, or another user's
    if (isAlive(Number(fs.readFileSync(ours, 'utf8')))) continue;
    if (
      fs.existsSync(path.join(directory, 'keep')) &&
      Date.now() - fs.statSync(directory).mtimeMs < 86_400_000
    )
      continue;
    const server = running(dataIn(directory));
    if (server) process.kill(server.pid, 'SIGQUIT');
    remove(directory);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

const careless = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '100',
  shared_buffers: '128MB',
  max_wal_size: '2GB',
  jit: 'off',
  timezone: 'UTC',
  // A look at each of the databases that lie by, and they are dozens, costs a process.
  autovacuum_naptime: '10min',
  log_min_messages: 'fatal',
};

function clusterIn(directory: string): Cluster {
  const as = process.getuid?.() === 0 ? unprivileged() : undefined;
  const native = usable(directory, as);
  const server = fs.mkdtempSync(path.join(placeOfData(directory), 'tidemark-data-'));
  fs.chmodSync(server, 0o711);
  fs.symlinkSync(server, path.join(directory, link));
  return { native, as, data: path.join(server, 'data'), log: path.join(directory, 'server.log') };
}

/** How a database of an ICU locale is made (Postgres 15 and newer), so that tests run in it: its rules of order and case differ. */
const localeOf = (locale: string | undefined): string =>
  locale === undefined ? '' : `locale_provider icu icu_locale '${locale}' template template0`;

async function prepare(
  url: (database: string) => string,
  template: string,
): Promise<Pick<TestCluster, 'pristine' | 'broken'>> {
  const admin = await connect(url('postgres'), { max: 1 });
  try {
    await admin.pool.query(`create database ${template} ${localeOf(process.env.TIDEMARK_TEST_LOCALE)}`);
    const warehouse = await connect(url(template), { max: 2 });
    try {
      const broken = await migrate(warehouse, shippedTables)
        .then(() => openQueue(warehouse, () => undefined))
        .then((queue) => queue.end())
        .then(
          () => undefined,
          (error) => (error instanceof Error ? (error.stack ?? error.message) : String(error)),
        );
      return { broken, pristine: await pristine(warehouse.pool) };
    } finally {
      await warehouse.close();
    }
  } finally {
    await admin.close();
  }
}
