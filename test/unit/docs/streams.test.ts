import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { streamsPage } from '../../../docs/generate.ts';
import { trackerTables } from '../../../src/connectors/jira/connector.ts';

test('docs/streams.md is what npm run docs writes', async () => {
  const page = readFileSync(new URL('../../../docs/streams.md', import.meta.url), 'utf8');
  expect(page, 'docs/streams.md is stale: run npm run docs').toBe(await streamsPage());
});

test('docs/streams.md describes every table and column of the tracker', async () => {
  const page = await streamsPage();
  const missing = trackerTables.flatMap((table) => {
    const name = `${table.schema}.${table.name}`;
    const from = page.indexOf(`\`${name}\`, key (`);
    if (from < 0) return [name];
    const part = page.slice(from, page.indexOf('\n##', from));
    return Object.keys(table.columns).flatMap((column) =>
      part.includes(`\`${column}\``) ? [] : [`${name}.${column}`],
    );
  });
  expect(missing).toEqual([]);
});
