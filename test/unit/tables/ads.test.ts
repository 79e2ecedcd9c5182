import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { csvRows } from '../../../src/connectors/spotify-ads/csv-rows.ts';
import { adSets, campaigns, changeHistory } from '../../../src/connectors/spotify-ads/entities.ts';
import { daily, hourly, insights, lifetime } from '../../../src/connectors/spotify-ads/facts.ts';
import { fieldsOf, metricsOf } from '../../../src/connectors/spotify-ads/metrics.ts';
import { adsTables } from '../../../src/connectors/spotify-ads/tables.ts';
import { type Child, type DeclaredTable, nameOf, type Table } from '../../../src/core/table.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { type Column, columnsOfSchema, commentOn, declaredColumns, primaryKey } from './shape.ts';

let database: TestDatabase;
let columns: readonly Column[];
const columnsOf = (name: string): readonly Column[] => columns.filter((each) => each.table === name);

beforeAll(async () => {
  database = await testDatabase();
  columns = await columnsOfSchema(database, 'ads');
});
afterAll(async () => database?.drop());

/** What the load does not write: set by Postgres, or by a statement afterwards. */
const beside: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  report_daily: { is_final: 'boolean', _first_synced_at: 'timestamp with time zone' },
  report_hourly: { is_final: 'boolean', _first_synced_at: 'timestamp with time zone' },
  report_csv: { _first_synced_at: 'timestamp with time zone' },
};

const money = new Set(['ad_sets.budget', 'ad_sets.bid', 'ad_sets.base_rate', 'spend', 'revenue']);
const isMoney = (table: string, column: string): boolean =>
  money.has(column) || money.has(`${table.replace('_drafts', 's')}.${column}`);

describe.each(adsTables.map((table) => [nameOf(table as Table), table as DeclaredTable] as const))(
  '%s',
  (_, table) => {
    it('has exactly the columns that its Table declares, in their types; amounts to the millionth', () => {
      const declared = Object.fromEntries(
        Object.entries({ ...declaredColumns(table), ...beside[table.name] }).map(([column, type]) => [
          column,
          type === 'numeric' && isMoney(table.name, column) ? 'numeric(18,6)' : type,
        ]),
      );
      expect(Object.fromEntries(columnsOf(table.name).map(({ column, type }) => [column, type]))).toEqual(
        declared,
      );
    });

    it('says by its kind whether it has tombstones', () => {
      const names = columnsOf(table.name).map(({ column }) => column);
      expect(names.includes('_deleted_at')).toBe(table.entity);
      expect(names.includes('_row_hash')).toBe(table.entity);
    });

    it('has source_id and the declared key as primary key, in this order', async () => {
      expect(await primaryKey(database, nameOf(table))).toEqual(['source_id', ...table.key]);
    });

    it('is partitioned exactly if it says so', async () => {
      const { rows } = await sql<{ kind: string }>`
      select relkind as kind from pg_class where oid = ${nameOf(table)}::regclass`.execute(
        database.warehouse.db,
      );
      expect(rows[0]?.kind).toBe(table.partitions ? 'p' : 'r');
    });
  },
);

describe('schema ads', () => {
  const written = ['campaign_versions', 'ad_set_versions', 'report_revisions', 'report_hourly_revisions'];
  it('holds no table that is not declared', () => {
    const declared: readonly string[] = adsTables.map(({ name }) => name);
    expect([...new Set(columns.map(({ table }) => table))].sort()).toEqual(
      [...declared, ...written, 'report_csv_revisions', 'report_levels'].sort(),
    );
  });

  it('explains every relation, partition and column in a comment, with the zone of instants and the unit of amounts', async () => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class where relnamespace = 'ads'::regnamespace and relkind in ('r', 'p', 'v')
        and length(coalesce(obj_description(oid, 'pg_class'), '')) < 20`.execute(database.warehouse.db);
    expect(rows).toEqual([]);
    expect(columns.filter(({ about }) => (about ?? '').length < 6)).toEqual([]);
    expect(
      columns.filter(
        ({ table, column, type, about }) =>
          (type.startsWith('timestamp') && !column.startsWith('_') && !/UTC/.test(about ?? '')) ||
          (type === 'date' && !/UTC/.test(about ?? '')) ||
          (isMoney(table, column) && !/currency/.test(about ?? '')),
      ),
    ).toEqual([]);
    expect(await commentOn(database, 'ads.report_daily')).toMatch(/restated/);
  });

  it('has no foreign keys, no unique index besides primary keys, and checks only on words of ours', async () => {
    const { rows: constraints } = await sql<{ kind: string; on: string; definition: string }>`
      select contype as kind, conrelid::regclass::text as on, pg_get_constraintdef(oid) as definition
      from pg_constraint where connamespace = 'ads'::regnamespace and contype in ('f', 'u', 'c')`.execute(
      database.warehouse.db,
    );
    expect(
      constraints.map(({ kind, on, definition }) => `${kind} ${on} ${/\((\w+)/.exec(definition)?.[1]}`),
    ).toEqual(['c ads.insight_states state']);
    const { rows: unique } = await sql<{ name: string }>`
      select indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
      where c.relnamespace = 'ads'::regnamespace and indisunique and not indisprimary`.execute(
      database.warehouse.db,
    );
    expect(unique).toEqual([]);
  });

  it.each([
    ['report_daily', 'day', ['2019-12-31', '2020-01-01', '2030-12-31', '2031-01-01'], 12],
    [
      'report_hourly',
      'hour_start',
      ['2025-12-31T23:00Z', '2026-01-01T00:00Z', '2027-12-31T23:00Z', '2028-01-01T00:00Z'],
      25,
    ],
  ])(
    '%s has a partition for every day there can be, without gaps',
    async (table, column, moments, partitions) => {
      const name = sql.table(`ads.${table}`);
      for (const moment of moments)
        await sql`insert into ${name} (source_id, entity_type, entity_id, ad_account_id, ${sql.id(column)})
        values (9, 'AD', 'a', 'x', ${moment})`.execute(database.warehouse.db);
      const { rows } = await sql<{ part: string }>`
      select tableoid::regclass::text as part from ${name} where source_id = 9 order by ${sql.id(column)}`.execute(
        database.warehouse.db,
      );
      const ends = table === 'report_daily' ? ['_2020', '_2030'] : ['_2026_01', '_2027_12'];
      expect(rows.map(({ part }) => part.replace(`ads.${table}`, ''))).toEqual([
        '_default',
        ...ends,
        '_default',
      ]);
      const { rows: parts } = await sql<{ n: number }>`
      select count(*)::int as n from pg_inherits where inhparent = ${`ads.${table}`}::regclass`.execute(
        database.warehouse.db,
      );
      expect(parts[0]?.n).toBe(partitions);
    },
  );

  it('asks for reports of live accounts at four levels', async () => {
    await sql`insert into ads.ad_accounts (source_id, id, _deleted_at) values (9, 'live', null), (9, 'gone', now())`.execute(
      database.warehouse.db,
    );
    const { rows } = await sql`select ad_account_id, entity_type from ads.report_levels order by 2`.execute(
      database.warehouse.db,
    );
    expect(rows).toEqual(
      ['AD', 'AD_ACCOUNT', 'AD_SET', 'CAMPAIGN'].map((entity_type) => ({
        ad_account_id: 'live',
        entity_type,
      })),
    );
  });
});

describe('versions and revisions', () => {
  it.each(
    [campaigns.table, adSets.table].map((table) => [nameOf(table as Table), table as DeclaredTable] as const),
  )('%s keeps its versions in a table with these columns', (_, { versions, key }) => {
    const names = columnsOf(versions?.into.replace('ads.', '') ?? '').map(({ column }) => column);
    expect(names).toEqual([
      'source_id',
      ...key,
      ...(versions?.columns ?? ['?']),
      'valid_from',
      'valid_to',
      '_run_id',
    ]);
  });

  it.each([daily.table, hourly.table, csvRows.table].map((table) => [nameOf(table), table] as const))(
    '%s keeps what it said before, number by number',
    (_, { revisions, key, columns: own }) => {
      const names = columnsOf(revisions?.into.replace('ads.', '') ?? '').map(({ column }) => column);
      expect(names).toEqual(['source_id', ...key, 'metric', 'old_value', 'new_value', 'seen_at', '_run_id']);
      const numeric = Object.entries(own).filter(
        ([column, type]) => ['bigint', 'numeric'].includes(type) && !key.some((name) => name === column),
      );
      expect(revisions?.columns).toEqual(numeric.map(([column]) => column));
    },
  );

  it('a lifetime snapshot is never restated', () => {
    expect(lifetime.table.revisions).toBeUndefined();
  });
});

describe('metrics', () => {
  it('every metric of a report has a column of its kind, and a flag where the platform may hide it', () => {
    for (const [report, table] of [
      ['aggregate', daily.table],
      ['csv', csvRows.table],
    ] as const)
      for (const { column, kind, flag } of metricsOf(report)) {
        const found = columnsOf(table.name).find((each) => each.column === column);
        expect([column, found?.type]).toEqual([
          column,
          { count: 'bigint', money: 'numeric(18,6)', rate: 'numeric' }[kind],
        ]);
        const flags = columnsOf(table.name).filter((each) => each.column === `${column}_suppressed`);
        expect(flags.map((each) => each.column)).toEqual(flag === undefined ? [] : [flag]);
      }
  });

  it('a name at the source fills one column', () => {
    for (const report of ['aggregate', 'csv'] as const) {
      const names = fieldsOf(report);
      expect(new Set(names).size).toBe(names.length);
    }
  });
});

describe('children', () => {
  it.each(Object.entries<Child>({ ...adSets.children, ...changeHistory.children, ...insights.children }))(
    '%s hang on columns that their table has',
    (_, child) => {
      for (const column of child.parent) expect(Object.keys(child.table.columns)).toContain(column);
    },
  );
});
