import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workflowTables } from '../../../src/connectors/dagu/tables.ts';
import { type DeclaredTable, nameOf, type Table } from '../../../src/core/table.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { type Column, columnsOfSchema, commentOn, declaredColumns, primaryKey } from './shape.ts';

let database: TestDatabase;
let columns: readonly Column[];
beforeAll(async () => {
  database = await testDatabase();
  columns = await columnsOfSchema(database, 'workflow');
});
afterAll(() => database?.drop());

describe.each(workflowTables.map((table) => [nameOf(table as Table), table as DeclaredTable] as const))(
  '%s',
  (name, table) => {
    it('has exactly the columns that its Table declares, in their types', () => {
      const found = columns.filter((column) => column.table === table.name);
      expect(Object.fromEntries(found.map(({ column, type }) => [column, type]))).toEqual(
        declaredColumns(table),
      );
    });

    it('has source_id and the declared key as primary key, in this order', async () => {
      expect(await primaryKey(database, name)).toEqual(['source_id', ...table.key]);
    });

    it('is explained, and so is each of its columns', async () => {
      expect(await commentOn(database, name)).toMatch(/\.$/);
      for (const { table: of, column, about } of columns)
        if (of === table.name)
          expect({ column, about }).toEqual({ column, about: expect.stringMatching(/\.$/) });
    });
  },
);

it('holds these tables and no other', () => {
  const names = new Set(columns.map(({ table }) => table));
  expect([...names].sort()).toEqual(workflowTables.map(({ name }) => name).sort());
});
