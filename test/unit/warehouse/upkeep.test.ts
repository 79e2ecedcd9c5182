import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openEmbedded } from '../../../src/embedded/embedded.ts';
import { tidyTables } from '../../../src/warehouse/upkeep.ts';

let folder: string;
let home: string;
let data: string | undefined;

beforeAll(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-upkeep-'));
  fs.chmodSync(folder, 0o755);
  home = path.join(folder, 'home');
});

afterAll(() => {
  if (data !== undefined) fs.rmSync(path.dirname(data), { recursive: true, force: true, maxRetries: 5 });
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Opens the embedded server for the work, and ends it. */
async function used(
  work: (client: pg.Client, url: string) => Promise<void>,
  how: { readonly signal?: AbortSignal } = {},
): Promise<void> {
  const embedded = await openEmbedded(home, how);
  data = embedded.data;
  const client = new pg.Client({ connectionString: embedded.url, application_name: 'tidemark' });
  await client.connect();
  try {
    await work(client, embedded.url);
  } finally {
    await client.end();
    await embedded.release();
  }
}

const facts = async (client: pg.Client, table: string) => {
  const { rows } = await client.query(
    `select c.reltuples::int as rows, c.relallvisible > 0 as visible, s.n_dead_tup::int as dead
     from pg_class c join pg_stat_all_tables s on s.relid = c.oid where c.oid = $1::regclass`,
    [table],
  );
  return rows[0];
};

test('a server that runs for seconds vacuums and analyzes the tables that are due', async () => {
  const stopping = new AbortController();
  const fill = async (client: pg.Client): Promise<void> => {
    await client.query('create table large (n int primary key, words text)');
    await client.query('create table small (n int)');
    await client.query(`insert into large select n, repeat('words ', 60) from generate_series(1, 5000) n`);
    await client.query('insert into small select n from generate_series(1, 10) n');
    // A process that was asked to end does not wait for it.
    stopping.abort();
  };
  await used(fill, { signal: stopping.signal });
  await used(async (client) => {
    expect(await facts(client, 'large')).toMatchObject({ rows: -1, visible: false });
  });
  await used(async (client) => {
    expect(await facts(client, 'large')).toEqual({ rows: 5000, visible: true, dead: 0 });
    expect(await facts(client, 'small')).toMatchObject({ rows: -1 });
    const { rows } = await client.query('explain (costs off) select count(*) from large');
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('Index Only Scan');
    await client.query('delete from large where n > 3000');
  });
  await used(async (client) => {
    expect(await facts(client, 'large')).toEqual({ rows: 3000, visible: true, dead: 0 });
  });
});

test('a locked table is left out, and so is one that was tidied', () =>
  used(async (client, url) => {
    await client.query('create table busy as select n from generate_series(1, 5000) n');
    await client.query('select pg_stat_force_next_flush()');
    await client.query('begin; lock table busy in access exclusive mode');
    expect(await tidyTables(url)).toContain('public.busy');
    await client.query('commit');
    expect(await facts(client, 'busy')).toMatchObject({ rows: -1 });
    expect(await tidyTables(url)).toContain('public.busy');
    expect(await facts(client, 'busy')).toMatchObject({ rows: 5000, dead: 0 });
    expect(await tidyTables(url)).not.toContain('public.busy');
  }));

test('a server that hangs does not hold up a process that ends', async () => {
  const hanging = net.createServer();
  await once(hanging.listen(0, '127.0.0.1'), 'listening');
  const { port } = hanging.address() as net.AddressInfo;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const tidied = tidyTables(`postgres://nobody:secret@127.0.0.1:${port}/none`);
    const refused = expect(tidied).rejects.toThrow(/timeout/);
    const [socket] = await once(hanging, 'connection');
    await vi.advanceTimersByTimeAsync(60_000);
    await refused;
    socket.destroy();
  } finally {
    vi.useRealTimers();
    hanging.close();
  }
});
