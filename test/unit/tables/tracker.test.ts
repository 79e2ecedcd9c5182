import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueChildren, trackerTables } from '../../../src/connectors/jira/tables.ts';
import { type DeclaredTable, nameOf, type Table } from '../../../src/core/table.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { type Column, columnsOfSchema, commentOn, declaredColumns, primaryKey } from './shape.ts';

let database: TestDatabase;
let columns: readonly Column[];
const columnsOf = (table: Table): readonly Column[] => columns.filter((each) => each.table === table.name);

beforeAll(async () => {
  database = await testDatabase();
  columns = await columnsOfSchema(database, 'tracker');
});
afterAll(async () => database?.drop());

describe.each(trackerTables.map((table) => [nameOf(table as Table), table as DeclaredTable] as const))(
  '%s',
  (_, table) => {
    it('has exactly the columns that its Table declares, in their types', () => {
      expect(Object.fromEntries(columnsOf(table).map(({ column, type }) => [column, type]))).toEqual(
        declaredColumns(table),
      );
    });

    it('says by its kind whether it has tombstones', () => {
      const names = columnsOf(table).map(({ column }) => column);
      expect(names.includes('_deleted_at')).toBe(table.entity);
      expect(names.includes('_row_hash')).toBe(table.entity);
    });

    it('has source_id and the declared key as primary key, in this order', async () => {
      expect(await primaryKey(database, nameOf(table))).toEqual(['source_id', ...table.key]);
    });

    it('orders versions by an instant that is never null', () => {
      if (table.order === undefined) return;
      const order = columnsOf(table).find(({ column }) => column === table.order);
      expect(order).toMatchObject({ type: 'timestamp with time zone', required: true });
    });

    it('explains itself and every column in a comment', async () => {
      expect((await commentOn(database, nameOf(table))) ?? '').toMatch(/.{20}/);
      expect(columnsOf(table).filter(({ about }) => (about ?? '').length < 12)).toEqual([]);
    });

    it('says the zone of its instants and the unit of its durations', () => {
      const vague = columnsOf(table).filter(
        ({ column, type, about }) =>
          (type === 'timestamp with time zone' && !column.startsWith('_') && !/UTC/.test(about ?? '')) ||
          (column.endsWith('_seconds') && !/seconds/.test(about ?? '')),
      );
      expect(vague).toEqual([]);
    });
  },
);

describe('schema tracker', () => {
  it('holds no table that is not declared', () => {
    expect([...new Set(columns.map(({ table }) => table))].sort()).toEqual(
      // Two views that several views of bi read.
      [...trackerTables.map(({ name }) => name), 'sprint_members', 'status_stays'].sort(),
    );
  });

  it('has no foreign keys, no unique index besides primary keys, and checks only on words of ours', async () => {
    const { rows: constraints } = await sql<{ kind: string; on: string; definition: string }>`
      select contype as kind, conrelid::regclass::text as on, pg_get_constraintdef(oid) as definition
      from pg_constraint where connamespace = 'tracker'::regnamespace and contype in ('f', 'u', 'c')`.execute(
      database.warehouse.db,
    );
    expect(constraints.filter(({ kind }) => kind !== 'c')).toEqual([]);
    expect(
      constraints.map(({ on, definition }) => `${on} ${/\((\w+)/.exec(definition)?.[1]}`).sort(),
    ).toEqual([
      'tracker.issue_links direction',
      'tracker.issue_versions kind',
      'tracker.issues status_category',
      'tracker.statuses category',
    ]);
    const { rows: unique } = await sql<{ name: string }>`
      select indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
      where c.relnamespace = 'tracker'::regnamespace and indisunique and not indisprimary`.execute(
      database.warehouse.db,
    );
    expect(unique).toEqual([]);
  });

  it('keeps wide rows from being compressed twice', async () => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class
      where relnamespace = 'tracker'::regnamespace and reloptions @> array['toast_tuple_target=8160'] order by 1`.execute(
      database.warehouse.db,
    );
    expect(rows.map(({ name }) => name)).toEqual(['comments', 'issues']);
  });

  it('lets two issues swap their keys within one transaction', async () => {
    const insert = (id: number, key: string) => sql`
      insert into tracker.issues (source_id, id, key, project_id, status_id, created_at, updated_at)
      values (1, ${id}, ${key}, 1, 1, now(), now())
      on conflict (source_id, id) do update set key = excluded.key`;
    await insert(1, 'A-1').execute(database.warehouse.db);
    await insert(2, 'A-2').execute(database.warehouse.db);
    await database.warehouse.db.transaction().execute(async (trx) => {
      await insert(1, 'A-2').execute(trx);
      await insert(2, 'A-1').execute(trx);
    });
    const { rows } = await sql<{ key: string }>`select key from tracker.issues order by id`.execute(
      database.warehouse.db,
    );
    expect(rows.map(({ key }) => key)).toEqual(['A-2', 'A-1']);
  });
});

describe('children', () => {
  it.each(Object.entries(issueChildren))('%s hang on columns that their table has', (_, child) => {
    for (const column of child.parent) expect(Object.keys(child.table.columns)).toContain(column);
  });
});
