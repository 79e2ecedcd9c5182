import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { broken, checks } from '../../../docs/bi/checks.ts';
import type { Contract } from '../../../docs/bi/contract.ts';
import { version } from '../../../docs/bi/declared.ts';
import { contractFiles } from '../../../docs/bi/files.ts';
import { testDatabase } from '../../support/postgres.ts';

test('the contract of bi is declared completely, and its files are what npm run docs writes', async () => {
  const { warehouse, drop } = await testDatabase();
  const { rows } = await warehouse.pool.query('select bi_version from bi.contract');
  const files = await contractFiles(warehouse.pool).finally(drop);
  expect(rows).toEqual([{ bi_version: version }]);
  for (const [name, text] of files) {
    const stored = readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8');
    expect(stored === text, `${name} is stale: run npm run docs`).toBe(true);
  }
});

const contractOf = (columns: readonly string[], name = 'issues'): Contract => ({
  version: '1.0',
  views: [
    {
      name,
      comment: '',
      grain: '',
      key: [],
      nullable: [],
      relations: [],
      columns: columns.map((column) => {
        const [is = '', type = 'text'] = column.split(' ');
        return { name: is, type, comment: '' };
      }),
    },
  ],
});

test.each([
  ['added at the end', contractOf(['a', 'b integer', 'c']), []],
  ['removed', contractOf(['a']), ['bi.issues: column 2 was b and is gone']],
  ['renamed', contractOf(['a', 'x integer']), ['bi.issues: column 2 was b and is x']],
  ['added between', contractOf(['a', 'c', 'b integer']), ['bi.issues: column 2 was b and is c']],
  ['of another type', contractOf(['a', 'b bigint']), ['bi.issues.b was integer and is bigint']],
  ['gone with its view', contractOf(['a', 'b integer'], 'other'), ['bi.issues is gone']],
])('a column that is %s is found', (_, after, faults) => {
  expect(broken(contractOf(['a', 'b integer']), after)).toEqual(faults);
});

test.each([
  ['a key that repeats', `('s', '1'), ('s', '1')`, `('s', '1')`, ['bi.one has one row per source, id']],
  ['a key without a value', `('s', '1'), ('s', null)`, `('s', '1')`, ['bi.one has one row per source, id']],
  [
    'a row that leads nowhere',
    `('s', '1')`,
    `('s', '2'), ('s', null)`,
    ['every source, id of bi.two is in bi.one'],
  ],
  ['nothing', `('s', '1'), ('t', '1')`, `('t', '1'), ('s', null)`, []],
])('the checks of the contract find %s', async (_, one, two, found) => {
  const { warehouse, drop } = await testDatabase();
  const key = ['source', 'id'];
  const view = { comment: '', grain: '', key, nullable: [], columns: [] };
  const leads = { columns: key, to: 'one', key, multiplies: true, complete: true };
  const views = [
    { ...view, name: 'one', relations: [] },
    { ...view, name: 'two', nullable: ['id'], relations: [leads] },
  ];
  await warehouse.pool.query(`create view bi.one as select * from (values ${one}) v (source, id);
    create view bi.two as select * from (values ${two}) v (source, id)`);
  const failed: string[] = [];
  for (const { says, query } of checks({ version: '1.0', views }))
    if ((await warehouse.pool.query(query)).rows.length > 0) failed.push(says);
  await drop();
  expect(failed).toEqual(found);
});
