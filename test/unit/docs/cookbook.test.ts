import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cookbookPage } from '../../../docs/bi/cookbook.ts';

test('docs/bi/cookbook.md is what npm run docs writes', () => {
  const page = readFileSync(new URL('../../../docs/bi/cookbook.md', import.meta.url), 'utf8');
  expect(page, 'docs/bi/cookbook.md is stale: run npm run docs').toBe(cookbookPage());
});
