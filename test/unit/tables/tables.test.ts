import fs from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workflowTables } from '../../../src/connectors/dagu/tables.ts';
import { trackerTables } from '../../../src/connectors/jira/connector.ts';
import { issueChildren } from '../../../src/connectors/jira/issue-tables.ts';
import { csvRows } from '../../../src/connectors/spotify-ads/csv-rows.ts';
import { adSets, campaigns, changeHistory } from '../../../src/connectors/spotify-ads/entities.ts';
import { daily, hourly, insights, lifetime } from '../../../src/connectors/spotify-ads/facts.ts';
import { fieldsOf } from '../../../src/connectors/spotify-ads/metrics.ts';
import { adsTables } from '../../../src/connectors/spotify-ads/tables.ts';
import {
  type Child,
  type Column,
  type ColumnType,
  type DeclaredTable,
  nameOf,
  type Table,
} from '../../../src/core/table.ts';
import { rowCount } from '../../../src/queries/stream-history.ts';
import { factTables } from '../../support/facts.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

/** A column as Postgres has it. */
interface Stored {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly required: boolean;
  readonly about: string | null;
}

let database: TestDatabase;
let columns: readonly Stored[];
const rowsOf = async <R extends object>(query: string, parameters: readonly unknown[] = []) =>
  (await database.warehouse.pool.query<R>(query, [...parameters])).rows;
const columnsOf = (table: string): readonly Stored[] => columns.filter((column) => column.table === table);

beforeAll(async () => {
  database = await testDatabase();
  columns = await rowsOf<Stored>(
    `select n.nspname || '.' || c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
       a.attnotnull as required, col_description(c.oid, a.attnum) as about
     from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('tracker', 'ads', 'workflow') and c.relkind in ('r', 'p', 'v') and not c.relispartition
       and a.attnum > 0 and not a.attisdropped order by c.relname, a.attnum`,
  );
});
afterAll(() => database?.drop());

const instant = 'timestamp with time zone';
const typeNames: Readonly<Partial<Record<ColumnType, string>>> = {
  int: 'integer',
  bool: 'boolean',
  timestamptz: instant,
  float8: 'double precision',
};
const typeOf = ({ type, digits }: Column): string =>
  digits === undefined ? (typeNames[type] ?? type) : `${type}(${digits.join(',')})`;
/** What a table must have: type by column. */
const declaredColumns = ({ declared, afterLoad, entity, firstSynced }: DeclaredTable) => ({
  source_id: 'smallint',
  ...Object.fromEntries(
    Object.entries({ ...declared, ...afterLoad }).map(([name, column]) => [name, typeOf(column)]),
  ),
  _synced_at: instant,
  _run_id: 'bigint',
  ...(entity && { _deleted_at: instant, _row_hash: 'bigint', _extra: 'jsonb' }),
  ...(firstSynced !== undefined && { _first_synced_at: instant }),
});

const all: readonly DeclaredTable[] = [...trackerTables, ...adsTables, ...workflowTables] as never;
const amount = /^(budget|bid|base_rate|spend|revenue)$/;

test.each(all.map((table) => [nameOf(table as Table), table] as const))(
  '%s is as declared, and says the zone of instants and the units of amounts',
  async (name, table) => {
    const own = columnsOf(name);
    expect(Object.fromEntries(own.map(({ column, type }) => [column, type]))).toEqual(declaredColumns(table));
    const [made] = await rowsOf(
      `select c.relkind as kind, obj_description(c.oid, 'pg_class') as about, array(
         select a.attname::text from unnest(i.indkey::int[]) with ordinality k(attnum, place)
         join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum order by k.place) as key
       from pg_class c join pg_index i on i.indrelid = c.oid and i.indisprimary where c.oid = $1::regclass`,
      [name],
    );
    const key = ['source_id', ...table.key];
    expect(made).toEqual({ kind: table.partitions ? 'p' : 'r', about: table.about, key });
    expect(table.about).toMatch(/.{20}/);
    for (const [column, { about, isNullable, isKey }] of Object.entries(table.declared))
      expect(own).toContainEqual(
        expect.objectContaining({ column, about, required: isKey === true || isNullable !== true }),
      );
    if (table.order !== undefined)
      expect(own).toContainEqual(
        expect.objectContaining({ column: table.order, type: instant, required: true }),
      );
    const vague = own.filter(
      ({ column, type, about }) =>
        (about ?? '').length < 6 ||
        (/^[^_]/.test(column) && /^(timestamp|date)/.test(type) && !/UTC|zone|Day|date/.test(about ?? '')) ||
        (column.endsWith('_seconds') && !/seconds/.test(about ?? '')) ||
        (table.schema === 'ads' &&
          amount.test(column) &&
          (type !== 'numeric(18,6)' || !/currency/.test(about ?? ''))),
    );
    expect(vague).toEqual([]);
  },
);

test('the schemas hold the declared tables, their versions and revisions, stored facts and views alone', () => {
  const names = all.flatMap((table) =>
    [nameOf(table as Table), table.versions?.into, table.revisions?.into].filter(
      (name) => name !== undefined,
    ),
  );
  const files = fs.readdirSync(new URL('../../../migrations/views/', import.meta.url));
  const views = files.flatMap((file) => /^((?:ads|tracker|workflow)\.\w+)\.sql$/.exec(file)?.[1] ?? []);
  const facts = factTables.map((name) => `tracker.${name}`);
  expect([...new Set(columns.map(({ table }) => table))].sort()).toEqual(
    [...names, ...views, ...facts].sort(),
  );
});

test('no foreign key is enforced, there are no unique indexes besides primary keys, and checks on our own values alone', async () => {
  const schemas = `('tracker'::regnamespace, 'ads'::regnamespace)`;
  const constraints = await rowsOf<{ text: string }>(
    `select concat_ws(' ', contype, conrelid::regclass, (regexp_match(pg_get_constraintdef(oid), '\\((\\w+)'))[1]) as text
     from pg_constraint where connamespace in ${schemas} and contype in ('f', 'u', 'c')
       and pg_get_constraintdef(oid) not like '% NOT ENFORCED' order by 1`,
  );
  expect(constraints.map(({ text }) => text)).toEqual([
    'c ads.insight_states state',
    'c tracker.issue_links direction',
    'c tracker.issue_versions kind',
    'c tracker.issues status_category',
    'c tracker.statuses category',
  ]);
  const unique = `select indexrelid::regclass::text from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relnamespace in ${schemas} and indisunique and not indisprimary`;
  expect(await rowsOf(unique)).toEqual([]);
});

test('every table with tombstones finds them by an index', async () => {
  const rows = await rowsOf<{ name: string; found: boolean }>(
    `select c.oid::regclass::text as name, exists (
       select from pg_index i where i.indrelid = c.oid and pg_get_expr(i.indpred, i.indrelid) = '(_deleted_at IS NOT NULL)') as found
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = '_deleted_at' and not a.attisdropped
     where c.relkind in ('r', 'p') and not c.relispartition`,
  );
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.filter(({ found }) => !found)).toEqual([]);
});

test('rows of a pipeline are counted live and deleted, of tables with and without tombstones', async () => {
  await rowsOf(`insert into ops.sources (source_id, name, kind, base_url) overriding system value
    values (1, 'web', 'tracker', 'x'), (2, 'erp', 'tracker', 'x')`);
  await rowsOf(`insert into ops.streams (source_id, stream, target, about, endpoint)
    select source_id, 'priorities', 'tracker.priorities', '', '' from ops.sources`);
  await rowsOf(`insert into tracker.priorities (source_id, id, name, _deleted_at)
    values (1, 1, 'a', null), (1, 2, 'b', now()), (2, 1, 'c', null)`);
  await rowsOf(
    `insert into tracker.issue_labels (source_id, issue_id, label) values (1, 1, 'x'), (1, 1, 'y')`,
  );
  const count = (name: string, pipeline = 'web') =>
    rowCount(database.warehouse.db, { schema: 'tracker', name }, pipeline);
  expect(await count('priorities')).toEqual({ live: 1, deleted: 1, exact: true });
  expect(await count('priorities', 'erp')).toEqual({ live: 1, deleted: 0, exact: true });
  expect(await count('issue_labels')).toEqual({ live: 2, deleted: 0, exact: true });
  expect(await count('nothing')).toBeUndefined();
});

test('wide rows of the tracker are not compressed twice', async () => {
  const wide = `select relname as name from pg_class where relnamespace = 'tracker'::regnamespace
    and reloptions @> array['toast_tuple_target=8160'] order by 1`;
  expect(await rowsOf(wide)).toEqual([{ name: 'comments' }, { name: 'issues' }]);
});

test.each(
  Object.entries<Child>({
    ...issueChildren,
    ...adSets.children,
    ...changeHistory.children,
    ...insights.children,
  }),
)('%s refer to their parents by columns that they have', (_, child) => {
  expect(Object.keys(child.table.columns)).toEqual(expect.arrayContaining([...child.parent]));
});

describe('tables of ads', () => {
  test.each([
    ['report_daily', 'day', ['2019-12-31', '2020-01-01', '2030-12-31', '2031-01-01'], 12, ['_2020', '_2030']],
    [
      'report_hourly',
      'hour_start',
      ['2025-12-31T23:00Z', '2026-01-01T00:00Z', '2027-12-31T23:00Z', '2028-01-01T00:00Z'],
      25,
      ['_2026_01', '_2027_12'],
    ],
  ] as const)(
    '%s has a partition for every day, without gaps',
    async (table, column, moments, count, ends) => {
      await rowsOf(
        `insert into ads.${table} (source_id, entity_type, entity_id, ad_account_id, ${column})
       select 9, 'AD', 'a', 'x', unnest($1::timestamptz[])`,
        [moments.map((moment) => moment.replace(/^[\d-]+$/, '$&T00:00Z'))],
      );
      const parts = await rowsOf<{ part: string }>(
        `select tableoid::regclass::text as part from ads.${table} where source_id = 9 order by ${column}`,
      );
      expect(parts.map(({ part }) => part.replace(`ads.${table}`, ''))).toEqual([
        '_default',
        ...ends,
        '_default',
      ]);
      const inherited = 'select count(*)::int as n from pg_inherits where inhparent = $1::regclass';
      expect(await rowsOf(inherited, [`ads.${table}`])).toEqual([{ n: count }]);
    },
  );

  test('reports are requested of live accounts at four levels', async () => {
    await rowsOf(
      `insert into ads.ad_accounts (source_id, id, _deleted_at) values (9, 'live', null), (9, 'gone', now())`,
    );
    expect(
      await rowsOf('select ad_account_id as id, entity_type as level from ads.report_levels order by 2'),
    ).toEqual(['AD', 'AD_ACCOUNT', 'AD_SET', 'CAMPAIGN'].map((level) => ({ id: 'live', level })));
  });

  const namesOf = (table = '') => columnsOf(table).map(({ column }) => column);

  test('campaigns and ad sets keep their versions', () => {
    for (const { versions, key } of [campaigns.table, adSets.table]) {
      const own = [...key, ...(versions?.columns ?? ['?'])];
      expect(namesOf(versions?.into)).toEqual(['source_id', ...own, 'valid_from', 'valid_to', '_run_id']);
    }
  });

  test('reports keep each number before it is restated; a lifetime snapshot never is', () => {
    for (const { revisions, key, columns: own } of [daily.table, hourly.table, csvRows.table]) {
      const change = ['metric', 'old_value', 'new_value', 'seen_at', '_run_id'];
      expect(namesOf(revisions?.into)).toEqual(['source_id', ...key, ...change]);
      const numbers = Object.entries(own).flatMap(([column, type]) =>
        ['bigint', 'numeric'].includes(type) && !key.some((name) => name === column) ? [column] : [],
      );
      expect(revisions?.columns).toEqual(numbers);
    }
    expect(lifetime.table.revisions).toBeUndefined();
  });

  test('no metric is requested twice', () => {
    for (const names of [fieldsOf('aggregate'), fieldsOf('csv')])
      expect(new Set(names).size).toBe(names.length);
  });
});
