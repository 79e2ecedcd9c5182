import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type ExportOptions, exportViews, type Manifest } from '../../../src/bi/export.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'export-'));
let database: TestDatabase;
let duck: DuckDBConnection;

/** Every type of bi, with values at the edges of it, over a year-end, and a row without a day. */
const odd = `
  create view bi.odd_values as
  select 'one'::text as source, d::date as date_day, n,
    (n * 1234567.891011)::numeric(18, 6) as money,
    (case when n % 5 = 0 then null else -99999999999999999.00000001 * n end)::numeric(28, 8) as wide,
    (n / 3.0)::numeric(6, 3) as small, n * 900719925474099::bigint as large,
    n % 2 = 0 as is_even, n / 7.0::double precision as ratio, repeat('naïve ❄ "", ' || n, n % 3) as words,
    d + interval '0.123456 s' as happened_at, '2'::jsonb as anything
  from (
    select n, case when n < 400 then timestamptz '2023-12-01 00:00Z' + n * interval '3 hours' end as d
    from generate_series(1, 400) n
  ) v;
  comment on view bi.odd_values is 'Odd values; one row per number.'`;

beforeAll(async () => {
  database = await testDatabase();
  duck = await (await DuckDBInstance.create()).connect();
  await duck.run(`set timezone = 'UTC'`);
  const { pool } = database.warehouse;
  await pool.query(odd);
  await pool.query(`
    insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://one');
    insert into ops.runs (pipeline, source_id, kind, status, epoch) values ('tracker', 1, 'sync', 'succeeded', 1);
    insert into ops.run_streams (run_id, source_id, stream, status, started_at, expected, read, stored)
      values (1, 1, 'issues', 'ok', now(), 10, 10, 10)`);
});
afterAll(async () => {
  duck.closeSync();
  fs.rmSync(root, { recursive: true });
  await database.drop();
});

const exported = (folder: string, options: Partial<ExportOptions> = {}): Promise<Manifest> =>
  exportViews(database.warehouse.pool, path.join(root, folder), {
    format: 'parquet',
    version: '1.2.3',
    ...options,
  });

/** Values as Postgres and DuckDB both write them. */
const inDuck = async (query: string): Promise<readonly (readonly unknown[])[]> => {
  const reader = await duck.runAndReadAll(query);
  return reader.getRows().map((row) => row.map((value) => (value === null ? null : String(value))));
};
const inPostgres = async (query: string): Promise<readonly (readonly unknown[])[]> => {
  const { rows } = await database.warehouse.pool.query<unknown[]>({ text: query, rowMode: 'array' });
  return rows.map((row) => row.map((value) => (value === null ? null : String(value))));
};
const filesOf = (folder: string, view: string): string => `'${path.join(root, folder, view)}/**/*.parquet'`;

test('every view is read back by DuckDB with the same rows, and the same exact values', async () => {
  const manifest = await exported('all');
  expect(manifest.views.length).toBeGreaterThan(30);
  for (const { name, rows, files } of manifest.views) {
    const counted = await inDuck(`select count(*) from read_parquet(${filesOf('all', name)})`);
    expect([name, counted]).toEqual([name, await inPostgres(`select count(*) from bi.${name}`)]);
    expect([name, files.reduce((sum, file) => sum + file.rows, 0)]).toEqual([name, rows]);
  }
  const values = `n, money::text, wide::text, small::text, large::text, is_even::text, ratio, words, date_day::text,
    epoch_of, anything::text`;
  const query = (epoch: string, from: string) =>
    `select ${values.replace('epoch_of', epoch)} from ${from} order by n`;
  const found = await inDuck(
    query('epoch_us(happened_at)::text', `read_parquet(${filesOf('all', 'odd_values')})`),
  );
  const epoch = '((extract(epoch from happened_at) * 1000000)::bigint)::text';
  expect(found).toEqual(await inPostgres(query(epoch, 'bi.odd_values')));
});

test('rows that do not fit into memory are written in groups', async () => {
  const { pool } = database.warehouse;
  await pool.query(
    `create view bi.long_texts as select n, repeat('x', 1000000) as words from generate_series(1, 40) n`,
  );
  onTestFinished(async () => void (await pool.query('drop view bi.long_texts')));
  await exported('groups', { views: ['long_texts'] });
  const files = filesOf('groups', 'long_texts');
  expect(
    await inDuck(
      `select row_group_id, row_group_num_rows from parquet_metadata(${files}) where column_id = 0 order by 1`,
    ),
  ).toEqual([
    ['0', '32'],
    ['1', '8'],
  ]);
  expect(await inDuck(`select count(distinct n), sum(length(words)) from read_parquet(${files})`)).toEqual([
    ['40', '40000000'],
  ]);
});

test('types are those that a warehouse knows', async () => {
  await exported('types', { views: ['odd_values'] });
  const described = await inDuck(
    `select column_name, column_type from (describe select * from read_parquet(${filesOf('types', 'odd_values')}, hive_partitioning = true))`,
  );
  expect(Object.fromEntries(described)).toEqual({
    source: 'VARCHAR',
    date_day: 'DATE',
    n: 'INTEGER',
    money: 'DECIMAL(18,6)',
    wide: 'DECIMAL(28,8)',
    small: 'DECIMAL(6,3)',
    large: 'BIGINT',
    is_even: 'BOOLEAN',
    ratio: 'DOUBLE',
    words: 'VARCHAR',
    happened_at: 'TIMESTAMP WITH TIME ZONE',
    anything: 'VARCHAR',
    month: 'VARCHAR',
  });
});

test('the manifest says what was exported, and of which runs', async () => {
  const manifest = await exported('manifest', { views: ['odd_values', 'issues'] });
  const { views, streams } = JSON.parse(
    fs.readFileSync(path.join(root, 'manifest', 'manifest.json'), 'utf8'),
  );
  expect(manifest).toMatchObject({
    tidemark: '1.2.3',
    format: 'parquet',
    since: null,
    reportingTimeZone: 'UTC',
  });
  expect(streams).toEqual([
    expect.objectContaining({ stream: 'issues', runId: '1', expected: 10, stored: 10 }),
  ]);
  expect(views.map(({ name }: { name: string }) => name)).toEqual(['issues', 'odd_values']);
  const [issues, values] = views;
  expect(issues.files).toEqual([{ path: 'issues/data.parquet', rows: 0, bytes: expect.any(Number) }]);
  expect(values.files.map(({ path }: { path: string }) => path)).toEqual([
    'odd_values/month=2023-12/data.parquet',
    'odd_values/month=2024-01/data.parquet',
    'odd_values/month=__HIVE_DEFAULT_PARTITION__/data.parquet',
  ]);
  const [[money, wide]] = (await inPostgres('select sum(money), sum(wide) from bi.odd_values')) as [
    [string, string],
  ];
  const sums = Object.fromEntries(
    values.columns.map((column: { name: string; sum?: string }) => [column.name, column.sum]),
  );
  expect(sums).toMatchObject({ money, wide });
});

test('since leaves out earlier days, and only of views with days', async () => {
  const manifest = await exported('since', { views: ['calendar', 'odd_values'], since: '2024-01-10' });
  expect(manifest.views.map(({ name, since }) => [name, since])).toEqual([
    ['calendar', null],
    ['odd_values', 'date_day'],
  ]);
  expect(
    await inDuck(`select min(date_day), count(*) from read_parquet(${filesOf('since', 'odd_values')})`),
  ).toEqual(
    await inPostgres(`select min(date_day), count(*) from bi.odd_values where date_day >= '2024-01-10'`),
  );
});

test('CSV has nothing for null and "" for an empty text', async () => {
  const manifest = await exported('csv', { format: 'csv', views: ['odd_values'] });
  expect(manifest.views[0]).toMatchObject({ rows: 400, files: [{ path: 'odd_values/data.csv', rows: 400 }] });
  const lines = fs.readFileSync(path.join(root, 'csv', 'odd_values', 'data.csv'), 'utf8').split('\n');
  expect(lines[0]).toMatch(/^source,date_day,n,money,/);
  expect(lines.find((line) => line.startsWith('one,2024-01-07,300,'))).toBe(
    'one,2024-01-07,300,370370367.303300,,100.000,270215977642229700,t,42.857142857142854,"",2024-01-07 12:00:00.123456+00,2',
  );
});

test.each(['parquet', 'csv'] as const)(
  'an export (%s) is one snapshot, also while a sync commits',
  async (format) => {
    const { pool } = database.warehouse;
    // A view that is read only once the lock is free.
    await pool.query(`create view bi.just_one as select 1 as n from (select pg_advisory_xact_lock_shared(9)) locked;
      create table public.numbers as select 1 as n;
      create view bi.aa_numbers as select * from public.numbers; create view bi.zz_numbers as select * from public.numbers`);
    onTestFinished(async () => {
      await pool.query(`drop view bi.just_one, bi.aa_numbers, bi.zz_numbers; drop table public.numbers;
        delete from ops.run_streams where stream = 'boards'`);
    });
    const sync = await pool.connect();
    try {
      await sync.query('select pg_advisory_lock(9)');
      const views = ['aa_numbers', 'just_one', 'stream_runs', 'zz_numbers'];
      const exporting = exported(`snapshot-${format}`, { format, views });
      const isWaiting = "select from pg_locks where locktype = 'advisory' and not granted";
      await expect.poll(async () => (await pool.query(isWaiting)).rowCount, { interval: 5 }).toBe(1);
      await sync.query(`begin; insert into public.numbers values (2);
        insert into ops.run_streams (run_id, source_id, stream, status, started_at, expected, read, stored)
          values (1, 1, 'boards', 'ok', now(), 7, 7, 7); commit; select pg_advisory_unlock(9)`);
      const manifest = await exporting;
      const before = { aa_numbers: 1, just_one: 1, stream_runs: 1, zz_numbers: 1 };
      expect(Object.fromEntries(manifest.views.map(({ name, rows }) => [name, rows]))).toEqual(before);
      expect(manifest.streams).toMatchObject([{ stream: 'issues' }]);
      const after = await exported(`after-${format}`, { format, views });
      const more = { ...before, aa_numbers: 2, stream_runs: 2, zz_numbers: 2 };
      expect(Object.fromEntries(after.views.map(({ name, rows }) => [name, rows]))).toEqual(more);
      expect(after.streams).toHaveLength(2);
    } finally {
      sync.release(true);
    }
  },
);

test('an export is replaced as a whole, or not at all', async () => {
  await exported('again', { views: ['calendar', 'issues'] });
  const folder = path.join(root, 'again');
  await exported('again', { views: ['odd_values'] });
  expect(fs.readdirSync(folder).sort()).toEqual(['manifest.json', 'odd_values']);
  const { pool } = database.warehouse;
  await pool.query(
    'create view bi.zero_division as select 1 / (n - 400) as n from generate_series(1, 400) n',
  );
  onTestFinished(async () => void (await pool.query('drop view bi.zero_division')));
  await expect(exported('again', { views: ['issues', 'zero_division'] })).rejects.toThrow(/division by zero/);
  await expect(exported('again', { views: ['nothing'] })).rejects.toThrow(/there is no view “nothing” in bi/);
  expect(fs.readdirSync(folder).sort()).toEqual(['manifest.json', 'odd_values']);
  await expect(exported('new', { signal: AbortSignal.abort(new Error('stop')) })).rejects.toThrow('stop');
  fs.writeFileSync(path.join(folder, 'notes.txt'), 'mine');
  await expect(exported('again')).rejects.toThrow(/holds notes.txt, which is of no export/);
  expect(fs.existsSync(path.join(root, 'new'))).toBe(false);
  expect(fs.readdirSync(root).filter((name) => /\.(part|old)-/.test(name))).toEqual([]);
});
