import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { recipes } from '../../../docs/bi/cookbook.ts';
import { examples } from '../../../docs/bi/examples.ts';
import { dashboards, queriesOf } from '../../../docs/bi/grafana.ts';
import { metricQuery, metrics } from '../../../docs/bi/metrics.ts';
import { committed } from '../../../docs/bi/schema.ts';
import { questions } from '../../../simulators/demo/questions.ts';

const root = new URL('../../../', import.meta.url).pathname;
const textOf = (file: string): string => readFileSync(`${root}${file}`, 'utf8');
const blocks = (page: string): readonly string[] =>
  [...textOf(page).matchAll(/```sql\n([\s\S]*?)```/g)].map(([, block = '']) => block);

const queries: readonly string[] = [
  ...recipes.map(({ sql }) => sql),
  ...examples.map(({ sql }) => sql),
  ...metrics.map(metricQuery),
  ...dashboards.flatMap(queriesOf),
  ...questions.map(({ sql }) => sql),
  ...globSync(['README.md', 'docs/**/*.md', 'dbt/**/*.md'], { cwd: root }).flatMap(blocks),
  ...globSync('dbt/models/**/*.sql', { cwd: root }).map(textOf),
];

/** Entities of which two may have one name. DAGs and steps have no id but their names. */
const entity =
  'ad_account|ad_set|ad|asset|assignee|audience|author|board|campaign|changed_by|component|entity|sprint|version';

/** Names by which a query groups, and not by the id as well. */
function nameless(query: string): readonly string[] {
  const [, list = ''] = /select\s+([\s\S]*?)\sfrom\s/.exec(query) ?? [];
  const outputs = list.split(/,(?![^(]*\))/);
  return [...query.matchAll(/group by ([\w., ]+?)(?= order| limit| having|[^\w., ]|$)/g)].flatMap(
    ([, by = '']) => {
      const columns = by.split(',').map((each) => outputs[Number(each.trim()) - 1] ?? each);
      const named = columns.flatMap((column) => new RegExp(`\\b(${entity})_name\\b`).exec(column)?.[1] ?? []);
      return named.filter((name) => !columns.some((column) => column.includes(`${name}_id`)));
    },
  );
}

test('a query that groups by a name groups by the id as well, so that equal names stay apart', () => {
  expect(nameless('select x, campaign_name, sum(y) from bi.z group by 1, 2')).toEqual(['campaign']);
  expect(nameless('select campaign_name from bi.z group by campaign_id, campaign_name')).toEqual([]);
  expect(queries.length).toBeGreaterThan(150);
  expect(queries.filter((query) => nameless(query).length > 0)).toEqual([]);
});

/** Columns that hold an amount in the currency of their row, or may hold one: what their metric is, their row says. */
const amounts = new Set(
  committed().views.flatMap(({ columns }) =>
    columns
      .filter(({ measure }) => /^(currency|unit of the metric)$/.test(measure?.unit ?? ''))
      .map(({ name }) => name),
  ),
);

/** An account has one currency, and so has everything below it. */
const ofOneCurrency = /\b(currency|(ad_account|campaign|ad_set|ad|entity)_id)\b/;

/** Amounts that a query computes from several rows, where these may be in several currencies. */
function mixed(query: string): readonly string[] {
  const aggregates = [...query.matchAll(/\b(?:sum|avg|min|max|order by)\b\s*\(?([^()]*)\)/g)];
  const words = aggregates
    .flatMap(([, of = '']) => of.match(/\w+/g) ?? [])
    .filter((word) => amounts.has(word));
  if (words.length === 0 || /\bcurrency = ['$]/.test(query)) return [];
  const [, list = ''] = /select\s+([\s\S]*?)\sfrom\s/.exec(query) ?? [];
  const outputs = list.split(/,(?![^(]*\))/);
  const by = /group by ([\w., ]+?)(?= order| limit| having|[^\w., ]|$)/.exec(query)?.[1] ?? '';
  const columns =
    by === 'all' ? outputs : by.split(',').map((each) => outputs[Number(each.trim()) - 1] ?? each);
  return columns.some((column) => ofOneCurrency.test(column)) ? [] : words;
}

test('a query that sums amounts groups by their currency, or by what has only one', () => {
  expect(mixed('select sum(spend) from bi.z')).toEqual(['spend']);
  expect(mixed('select d, currency, avg(z.budget) from bi.z group by 1')).toEqual(['budget']);
  expect(mixed('select d, sum(revenue) / sum(spend) from bi.z group by d')).toEqual(['revenue', 'spend']);
  expect(mixed('select measure, sum(difference) from bi.z group by 1')).toEqual(['difference']);
  expect(mixed('select d, currency, sum(spend) from bi.z group by 1, 2')).toEqual([]);
  expect(mixed("select sum(spend) from bi.z where currency = 'EUR'")).toEqual([]);
  expect([...amounts]).toEqual(
    expect.arrayContaining(['spend', 'allocated_spend', 'revenue', 'budget', 'cpc']),
  );
  expect(queries.filter((query) => mixed(query).length > 0)).toEqual([]);
});
