import fs from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);

/** What folds case by the locale of the database where no collation is named: there the lower case of I need not be i. */
const folding = /\bilike\b|~\*|\b(?:lower|upper|initcap)\((?!held_in\)|span\))/gi;

const sqlLines = (): readonly string[] =>
  ['migrations', 'src'].flatMap((folder) =>
    fs
      .readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
      .filter((file) => (folder === 'src' ? file.endsWith('.ts') : file.endsWith('.sql')))
      .flatMap((file) =>
        fs
          .readFileSync(new URL(`${folder}/${file}`, root), 'utf8')
          .split('\n')
          .filter((line) => !/^\s*(--|\/\/|\*|\/\*)/.test(line) && !/^comment on/.test(line))
          .map((line) => `${folder}/${file}: ${line.trim()}`),
      ),
  );

const uncollated = (lines: readonly string[]): readonly string[] =>
  lines.filter((line) => (line.match(folding)?.length ?? 0) > (line.match(/\bcollate\b/gi)?.length ?? 0));

test('the lint of case finds what the locale of a database would decide', () => {
  const right = ['lower(a collate "C")', 'a ilike b collate ops.any_case', 'upper(held_in)'];
  expect(uncollated([...right, 'lower(a)', 'a ~* b', 'a ilike b'])).toEqual([
    'lower(a)',
    'a ~* b',
    'a ilike b',
  ]);
});

test('no SQL folds case by the locale of the database', () => {
  // One expression of two lines: its collation stands at the end of the second.
  const across = /^migrations\/0032_issues_wide\.sql: select trim\('_' from regexp_replace\(lower\(/;
  expect(uncollated(sqlLines()).filter((line) => !across.test(line))).toEqual([]);
});
