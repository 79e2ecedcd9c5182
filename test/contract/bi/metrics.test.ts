import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { dashboards, queriesOf } from '../../../docs/bi/grafana.ts';
import { metricQuery, metrics } from '../../../docs/bi/metrics.ts';
import {
  changeColumns as changes,
  doing,
  done,
  issueColumns,
  loadVocabulary,
  reading,
  statusChange,
  toDo,
} from './reading.ts';

/** Two issues done after 2 and 4 days of work, one reopened; one ad with clicks in two currencies. */
const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert(issueColumns, [
    `1, 1, 'PROJ-1', 10, 1, 4, 'ann', 3, '2024-03-01Z', '2024-03-10Z', null`,
    `1, 2, 'PROJ-2', 10, 1, 4, 'ann', 5, '2024-03-01Z', '2024-03-10Z', null`,
    `1, 3, 'PROJ-3', 10, 1, 2, 'bob', null, '2024-03-01Z', '2024-03-10Z', null`,
  ]);
  await insert(changes, [
    statusChange([1, 0], 1, '2024-03-04Z', toDo, doing),
    statusChange([2, 0], 1, '2024-03-06Z', doing, done),
    statusChange([3, 0], 2, '2024-03-04Z', toDo, doing),
    statusChange([4, 0], 2, '2024-03-05Z', doing, done),
    statusChange([5, 0], 2, '2024-03-06Z', done, doing),
    statusChange([6, 0], 2, '2024-03-08Z', doing, done),
    statusChange([7, 0], 3, '2024-03-09Z', toDo, doing),
  ]);
  await insert('ads.ad_accounts (source_id, id, name, currency_code)', [
    `1, 'e', 'Euro', 'EUR'`,
    `1, 'u', 'Dollar', 'USD'`,
  ]);
  await insert(
    'ads.report_daily (source_id, entity_type, entity_id, day, ad_account_id, spend, impressions, clicks)',
    [
      `1, 'AD', 'a', '2024-03-01', 'e', 10, 1000, 10`,
      `1, 'AD', 'b', '2024-03-01', 'e', 20, 3000, 20`,
      `1, 'AD', 'c', '2024-03-01', 'u', 7, 100, 0`,
    ],
  );
});

test.each([
  ['cycle_time', ['tracker | PROJ | 3']],
  ['reopen_rate', ['tracker | PROJ | 0.50000000000000000000']],
  ['open_issues', ['tracker | PROJ | 1']],
  ['ctr', ['2024-03-01 | EUR | 0.00750000000000000000', '2024-03-01 | USD | 0.00000000000000000000']],
  ['cpc', ['2024-03-01 | EUR | 1.00000000000000000000', '2024-03-01 | USD | -']],
])('the metric %s is what its definition says', async (name, lines) => {
  const [metric] = metrics.filter((each) => each.name === name);
  if (metric === undefined) throw new Error(`there is no metric ${name}`);
  const [first = '', ...others] = metric.by;
  const columns = [first === 'date_day' ? `${first}::text` : first, ...others, name];
  await shows(
    `select ${columns.join(', ')} from (${metricQuery(metric)}) m order by ${others.join(', ')}`,
    lines,
  );
});

test('every metric runs, and the Cube model computes the same', async () => {
  const model = readFileSync(new URL('../../../docs/bi/cube.yml', import.meta.url), 'utf8');
  const inCube = new Map(
    [...model.matchAll(/- name: metric_(\w+)\n +sql: (".*\(.*")/g)].map(([, name, sql = '']) => [
      name,
      String(JSON.parse(sql)),
    ]),
  );
  expect([...inCube.keys()].sort()).toEqual(metrics.map(({ name }) => name).sort());
  for (const metric of metrics) {
    await read(metricQuery(metric));
    const whole = `select ${metric.value} from bi.${metric.view} where ${metric.where ?? true}`;
    const cube = `select ${inCube.get(metric.name)?.replaceAll('{CUBE}', 't')} from bi.${metric.view} t`;
    expect([metric.name, ...(await read(cube))]).toEqual([metric.name, ...(await read(whole))]);
  }
});

/** As Grafana writes its macros and variables into a query, for the month of the rows above. */
const filledIn = (query: string): string =>
  query
    .replaceAll(/\$__timeFilter\((.*?)\)/g, `$1 BETWEEN '2024-03-01T00:00:00Z' AND '2024-03-31T23:59:59Z'`)
    .replaceAll(`\${project:sqlstring}`, `'PROJ','OPS'`)
    .replaceAll(`\${currency:sqlstring}`, `'EUR'`);

test.each(dashboards)('every query of the dashboard $title runs', async (dashboard) => {
  for (const query of queriesOf(dashboard)) await read(filledIn(query));
});

test('panels filter by project, currency and time', async () => {
  const answers = async (title: string) => {
    const [panel] = dashboards.flatMap(({ panels }) => panels).filter((each) => each.title === title);
    return read(filledIn(panel?.sql ?? ''));
  };
  expect(await answers('Cycle time, median')).toEqual(['3']);
  expect(await answers('Where work waits')).toEqual([
    'To Do | todo | 3 | 3.0 | 0',
    'Doing | in_progress | 3 | 2.0 | 1',
  ]);
  expect(await answers('Spend')).toEqual([expect.stringMatching(/ \| Euro \| 30.000000$/)]);
});

test.each(['dbt', 'duckdb', 'grafana', 'metabase', 'power-bi', 'superset', 'tableau'])(
  'the question on the page for %s runs',
  async (name) => {
    const page = readFileSync(new URL(`../../../docs/bi/${name}.md`, import.meta.url), 'utf8');
    const questions = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, question = '']) => question);
    expect(questions).toHaveLength(1);
    for (const question of questions) await read(question);
  },
);
