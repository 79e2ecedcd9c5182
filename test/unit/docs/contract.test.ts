import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { broken } from '../../../docs/bi/checks.ts';
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
      ...{ name, comment: '', grain: '', key: [], nullable: [], relations: [] },
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
