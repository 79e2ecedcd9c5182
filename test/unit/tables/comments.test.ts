import { afterAll, beforeAll, expect, test } from 'vitest';
import { workflowTables } from '../../../src/connectors/dagu/tables.ts';
import { trackerTables } from '../../../src/connectors/jira/tables.ts';
import { adsTables } from '../../../src/connectors/spotify-ads/tables.ts';
import { type DeclaredTable, nameOf } from '../../../src/core/table.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { columnsOfSchema, commentOn } from './shape.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

test.each([
  ['tracker', trackerTables],
  ['ads', adsTables],
  ['workflow', workflowTables],
] as const)(
  'tables and columns of %s are described as they are declared, null where they may be',
  async (schema, tables) => {
    const columns = await columnsOfSchema(database, schema);
    for (const table of tables as readonly DeclaredTable[]) {
      expect(await commentOn(database, nameOf(table))).toBe(table.about);
      for (const [name, { about, isNullable, isKey }] of Object.entries(table.declared)) {
        const found = columns.find((each) => each.table === table.name && each.column === name);
        expect([nameOf(table), name, found?.about, found?.required]).toEqual([
          nameOf(table),
          name,
          about,
          isKey === true || isNullable !== true,
        ]);
      }
    }
  },
);
