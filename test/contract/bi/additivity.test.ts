import fs from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Column, View } from '../../../docs/bi/contract.ts';
import { committed } from '../../../docs/bi/schema.ts';
import { fillDemoWarehouse } from '../../support/demo-warehouse.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

/** What the numbers of a view are of all in all, counted without the view: one row for each thing that counts. */
interface Whole {
  /** A table or subquery that has the columns of `within` as well. */
  readonly from: string;
  /** The aggregate for a number of the view, by these columns; undefined: it has no whole here. */
  readonly value: (column: string, by: readonly string[]) => string | undefined;
  /** Like `from`, each thing once whatever the columns of `within`; default: `from`. */
  readonly once?: string;
  /** Rows of the view that are compared; default: all. */
  readonly where?: string;
}

const sameName = (column: string): string => `sum(${column})`;
const oneOf =
  (values: Readonly<Record<string, string>>) =>
  (column: string): string | undefined =>
    values[column];
const counts = (conditions: Readonly<Record<string, string>>) =>
  oneOf(
    Object.fromEntries(
      Object.entries(conditions).map(([name, is]) => [name, `count(*) filter (where ${is})`]),
    ),
  );

const accounts: Whole = { from: 'bi.account_performance_daily', value: sameName };
const memberships = (column: string, by: readonly string[]): string | undefined => {
  const [, word, unit] = /^(committed|added|removed|done|carried_over)_(issues|points)$/.exec(column) ?? [];
  const points = `sum(${word}_points) filter (where is_${word}${by.length > 0 ? '' : ` and place_${word} = 1`})`;
  return word && (unit === 'points' ? points : `count(distinct issue_id) filter (where is_${word})`);
};
const places = ['committed', 'added', 'removed', 'done', 'carried_over'].map(
  (word) => `row_number() over (partition by issue_id, is_${word} order by sprint_id) as place_${word}`,
);
const labelled = (kind: string, more: string): string => `(
  select distinct n.${kind}_id::text as ${kind}_id, i.* from tracker.issue_${kind}s n
  join bi.issues i on i.issue_id = n.issue_id::text ${more}) n`;

const wholes: readonly (readonly [view: string, whole: Whole])[] = [
  ['ad_performance_daily', accounts],
  ['ad_set_performance_daily', accounts],
  ['campaign_performance_daily', accounts],
  [
    'target_performance_daily',
    {
      from: `(select t.dimension, p.* from bi.ad_set_performance_daily p
        join (select distinct source, ad_set_id, dimension from bi.ad_set_targets) t using (source, ad_set_id)) t`,
      once: 'bi.ad_set_performance_daily',
      value: (column) => `sum(${column.replace('allocated_', '')})`,
    },
  ],
  [
    'linked_campaign_spend_daily',
    {
      from: `(select * from bi.campaign_performance_daily where campaign_id in (
        select from_id from bi.cross_links where from_kind = 'campaign' and to_kind = 'issue')) c`,
      value: (column) => `sum(${column.replace('allocated_', '')})`,
    },
  ],
  ['sprints', { from: `(select *, ${places} from bi.sprint_issues) m`, value: memberships }],
  [
    'sprint_issues',
    {
      from: `(select *, ${places} from bi.sprint_issues) m`,
      value: (column, by) => (column.endsWith('_points') ? memberships(column, by) : undefined),
    },
  ],
  [
    'sprint_burndown_daily',
    {
      from: `(select m.*, b.date_day from bi.sprint_issues m join (
          select sprint_id, max(date_day) as date_day from bi.sprint_burndown_daily where sprint_state = 'closed' group by 1
        ) b on b.sprint_id = m.sprint_id) m`,
      value: oneOf({
        scope_issues: 'count(distinct issue_id) filter (where is_done or is_carried_over)',
        remaining_issues: 'count(distinct issue_id) filter (where is_carried_over)',
        done_issues: 'count(distinct issue_id) filter (where is_done)',
      }),
      where: `(sprint_id, date_day) in (
        select sprint_id, max(date_day) from bi.sprint_burndown_daily where sprint_state = 'closed' group by 1)`,
    },
  ],
  [
    'versions',
    {
      from: labelled('version', `where n.kind = 'fix'`),
      value: oneOf({
        issues: 'count(distinct issue_id)',
        open_issues: 'count(distinct issue_id) filter (where is_open)',
        done_issues: 'count(distinct issue_id) filter (where not is_open)',
      }),
    },
  ],
  [
    'components',
    {
      from: labelled('component', ''),
      value: oneOf({
        issues: 'count(distinct issue_id)',
        open_issues: 'count(distinct issue_id) filter (where is_open)',
        done_issues: 'count(distinct issue_id) filter (where not is_open)',
      }),
    },
  ],
  [
    'cumulative_flow_daily',
    {
      from: `(select current_date - n as date_day, h.* from generate_series(1, 9) n join bi.issue_status_history h
        on h.entered_at < current_date - n + 1 and (h.left_at >= current_date - n + 1 or h.left_at is null)) h`,
      once: 'bi.issues',
      value: oneOf({ issues: 'count(*)' }),
      where: 'date_day between current_date - 9 and current_date - 1',
    },
  ],
  [
    'throughput_weekly',
    {
      from: 'bi.issue_status_history',
      value: counts({
        created_issues: 'status_sequence = 0',
        reopened_issues: `transition = 'reopened'`,
        done_issues: `status_category = 'done' and previous_status_category is distinct from 'done'`,
        net_open_change: `is_current and status_category <> 'done'`,
      }),
    },
  ],
  [
    'user_workload',
    {
      from: 'bi.issues',
      value: oneOf({
        open_issues: 'count(*) filter (where is_open)',
        overdue_issues: 'count(*) filter (where is_overdue)',
        in_progress_issues: `count(*) filter (where status_category = 'in_progress')`,
        unestimated_issues: 'count(*) filter (where is_open and story_points is null)',
        open_story_points: 'sum(story_points) filter (where is_open)',
        in_progress_story_points: `sum(story_points) filter (where status_category = 'in_progress')`,
      }),
    },
  ],
  [
    'project_summary',
    {
      from: 'bi.issues',
      value: oneOf({
        issues: 'count(*)',
        open_issues: 'count(*) filter (where is_open)',
        done_issues: 'count(*) filter (where not is_open)',
        overdue_issues: 'count(*) filter (where is_overdue)',
        in_progress_issues: `count(*) filter (where status_category = 'in_progress')`,
        unassigned_issues: 'count(*) filter (where is_open and assignee_id is null)',
        open_story_points: 'sum(story_points) filter (where is_open)',
      }),
    },
  ],
  [
    'workflow_daily',
    {
      from: 'bi.workflow_attempts',
      value: oneOf({
        runs: 'count(*)',
        succeeded: `count(*) filter (where state = 'succeeded')`,
        failed: `count(*) filter (where state = 'failed')`,
        aborted: `count(*) filter (where state = 'aborted')`,
        unfinished: 'count(*) filter (where not is_over)',
        total_duration_seconds: 'sum(duration_seconds)',
        scheduled_runs: 'count(lateness_seconds)',
        late_runs: 'count(*) filter (where is_late)',
        retries: 'count(*) filter (where attempt_number > 1)',
      }),
    },
  ],
  ['dags', { from: 'bi.workflow_runs', value: oneOf({ runs: 'count(*)' }) }],
  [
    'dora_weekly',
    {
      from: 'bi.incidents',
      value: oneOf({ opened_incidents: 'count(*)', resolved_incidents: 'count(resolved_at)' }),
    },
  ],
  [
    'sync_runs',
    {
      from: 'bi.stream_runs',
      value: (column) => (column.startsWith('rows_re') ? `sum(${column})` : undefined),
    },
  ],
];

/** Views of which each row is the thing that counts: their numbers add up because their keys are unique, which `checks` asks. */
const things = [
  'account_performance_daily',
  'ad_level_checks',
  'ad_performance_hourly',
  'ad_set_pacing',
  'assets',
  'audience_insights',
  'audiences',
  'data_freshness',
  'issue_cycle_times',
  'issue_status_history',
  'issues',
  'late_nights',
  'quality_checks',
  'reach_periods',
  'receipts',
  'report_revisions',
  'stream_runs',
  'workflow_attempts',
  'workflow_runs',
  'workflow_steps',
  'worklogs',
];

const { views } = committed();
const isSummed = ({ measure }: Column): boolean =>
  measure !== undefined && measure.additivity !== 'non_additive';

let database: TestDatabase;
const rowsOf = async (query: string): Promise<readonly string[]> => {
  const { rows } = await database.warehouse.pool.query<unknown[]>({ text: query, rowMode: 'array' });
  return rows.map((row) => row.join(' | '));
};

beforeAll(async () => {
  database = await testDatabase();
  await fillDemoWarehouse(database.warehouse, 400);
  const { pool } = database.warehouse;
  await pool.query(
    fs
      .readFileSync(new URL('cookbook/company.sql', import.meta.url), 'utf8')
      .replace(/-- A day that[\s\S]*/, ''),
  );
  // What belongs to several at once, one issue of a campaign more, and amounts in one currency.
  await pool.query(`
    insert into tracker.issue_versions (source_id, issue_id, kind, version_id, name)
      select source_id, id, 'fix', v, 'Both ' || v from tracker.issues, generate_series(1, 2) v where id % 5 = 0;
    insert into tracker.issue_components (source_id, issue_id, component_id, name)
      select source_id, id, c, 'Both ' || c from tracker.issues, generate_series(1, 2) c where id % 5 = 1;
    update ads.campaigns set purchase_order = (select string_agg(key, ' ') from (select key from tracker.issues where _deleted_at is null
      order by id limit 3) k) where id = (select min(id) from ads.campaigns where _deleted_at is null);
    create or replace function ops.reporting_currency() returns text immutable parallel safe return 'EUR';
    insert into ref.fx_rates select '2000-01-01', c, 'EUR', 2 from unnest('{USD,GBP,SEK,JPY}'::text[]) c`);
}, 120_000);
afterAll(() => database.drop());

test('every number that may be summed has a whole, or its row is the thing that counts', () => {
  const known = [...things, ...wholes.map(([view]) => view)];
  const summed = views.filter(({ columns }) => columns.some(isSummed)).map(({ name }) => name);
  expect(summed.filter((name) => !name.startsWith('bi_pii.')).sort()).toEqual(known.toSorted());
});

/** Sums of the rows of the view, and what they should be, by values of columns. */
const compared = async (
  view: View,
  { from, value, where = 'true' }: Whole,
  column: string,
  by: readonly string[],
) => {
  const groups = by.map((name) => `${name}::text`).join(', ');
  const grouped =
    by.length > 0 ? `group by ${groups} having {} is not null and {} <> 0 order by ${groups}` : '';
  const query = (number: string, source: string, condition: string) =>
    `select ${[groups, `(${number})::numeric(28,4)::float8`].filter(Boolean).join(', ')} from ${source} where ${condition}
      ${grouped.replaceAll('{}', number)}`;
  return {
    parts: await rowsOf(query(`sum(${column})`, `bi.${view.name}`, where)),
    whole: await rowsOf(query(value(column, by) ?? '', from, 'true')),
  };
};

const numbersOf = (lines: readonly string[]): readonly number[] =>
  lines.map((line) => Number(line.split(' | ').at(-1)));

test.each(wholes)('numbers of %s add up as the contract says', async (name, whole) => {
  const view = views.find((each) => each.name === name);
  if (view === undefined) throw new Error(`there is no view ${name}`);
  const tried: string[] = [];
  const wrong: string[] = [];
  for (const { name: column, measure } of view.columns) {
    if (measure === undefined || whole.value(column, []) === undefined) continue;
    const { additivity, within = [], unit } = measure;
    const by = [...within, ...(unit === 'currency' && additivity !== 'non_additive' ? ['currency'] : [])];
    const { parts, whole: expected } = await compared(view, whole, column, by);
    if (numbersOf(expected).every((number) => number === 0)) continue;
    tried.push(column);
    if (additivity === 'lower_bound') {
      const sums = numbersOf(parts);
      expect([column, numbersOf(expected).every((number, n) => (sums[n] ?? 0) <= number)]).toEqual([
        column,
        true,
      ]);
    } else if (additivity === 'non_additive') expect([column, parts]).not.toEqual([column, expected]);
    else expect([column, parts]).toEqual([column, expected]);
    const over = await compared(view, { ...whole, from: whole.once ?? whole.from }, column, []);
    if (within.length > 0 && over.parts[0] !== over.whole[0]) wrong.push(column);
  }
  // Summed over what the contract excludes they are wrong: else these data could not show a wrong declaration.
  expect(wrong.length > 0).toBe(view.columns.some(({ measure }) => measure?.within !== undefined));
  expect(tried).not.toEqual([]);
});

test('sums over ads are less than all where the platform hides some', async () => {
  const [line = ''] =
    await rowsOf(`select (select sum(purchases) from bi.ad_performance_daily) < (select sum(purchases) from bi.account_performance_daily),
    (select bool_or(is_purchases_suppressed) from bi.ad_performance_daily)`);
  expect(line).toBe('true | true');
});
