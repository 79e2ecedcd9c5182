import { expect, test } from 'vitest';
import { questions } from '../../../bench/questions.ts';
import { loadVocabulary, reading, readWhole, relations } from './reading.ts';

/**
 * Enough that what grows with their square stands out (each has fourteen rows), with seven changes each; of these three of the status and
 * one of the sprint.
 */
const issues = 2_500;
const sprints = 250;
/** Every other run is a deployment and names an issue, every other one of these failed. */
const runs = 12_000;

const { insert, read, table } = reading(async () => {
  await loadVocabulary(insert);
  await insert('tracker.fields (source_id, id, name, custom, role)', [
    `1, 'customfield_1', 'Sprint', true, 'sprint'`,
  ]);
  const created = `timestamptz '2022-01-01Z' + g * interval '1 hour'`;
  const each = `generate_series(1, ${issues}) g`;
  await read(
    `insert into tracker.projects (source_id, id, key, name) select 1, 100 + g, 'P' || g, 'P' || g from generate_series(0, 11) g`,
  );
  await read(`insert into tracker.sprints (source_id, id, name, state, start_at, end_at, completed_at)
    select 1, g, 'Sprint ' || g, 'closed', at, at + interval '14 days', at + interval '14 days'
    from generate_series(1, ${sprints}) g, lateral (select timestamptz '2022-01-01Z' + g * interval '40 hours' as at) t`);
  await read(`insert into tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, created_at, updated_at, labels,
      custom_fields, description)
    select 1, g, 'P' || g % 12 || '-' || g, 100 + g % 12, 1 + g % 2, 1 + g % 4, ${created}, now(), '{a,b}', '{"a": 1, "b": [1, 2]}',
      repeat('word ', 200) from ${each}`);
  await read(`insert into tracker.issue_changelog (source_id, history_id, item, issue_id, changed_at, field_id, field_name, from_id, to_id)
    select 1, g * 10 + k, 0, g, ${created} + k * interval '30 hours',
      case when k < 3 then 'status' when k = 3 then 'customfield_1' else 'summary' end,
      case when k < 3 then 'status' when k = 3 then 'Sprint' else 'summary' end,
      case when k < 3 then (1 + (g + k) % 4)::text else '' end,
      case when k < 3 then (1 + (g + k + 1) % 4)::text when k = 3 then (1 + g * ${sprints} / ${issues})::text else 'x' end
    from ${each}, generate_series(0, 6) k`);
  await read(
    `insert into tracker.sprint_issues (source_id, sprint_id, issue_id) select 1, 1 + g * ${sprints} / ${issues}, g from ${each}`,
  );
  await read(
    `insert into tracker.issue_labels (source_id, issue_id, label) select 1, g, l from ${each}, unnest('{a,b}'::text[]) l`,
  );
  await read(`insert into tracker.worklogs (source_id, id, issue_id, author_id, started_at, time_spent_seconds)
    select 1, g, g, 'ann', ${created}, 60 from ${each}`);
  await read(`insert into tracker.comments (source_id, id, issue_id, author_id, created_at, updated_at)
    select 1, g, g, 'ann', ${created}, ${created} from ${each}`);
  await read(`insert into tracker.issue_sprints (source_id, issue_id, sprint_id)
    select source_id, issue_id, sprint_id from tracker.sprint_issues`);
  await read(
    'insert into tracker.issue_keys (source_id, key, issue_id) select source_id, key, id from tracker.issues',
  );
  await insert('ops.sources (name, kind, base_url)', [`'engine', 'workflow', 'http://three'`]);
  await insert('ref.dag_roles (dag_pattern, role)', [`'deploy-%', 'deployment'`]);
  await read(`insert into workflow.dag_runs (source_id, dag_name, dag_run_id, state, params, begun_at)
    select 3, case when g % 2 = 0 then 'deploy-' else 'nightly-' end || g % 40, 'run-' || g,
      case when g % 4 = 0 then 'failed' else 'succeeded' end,
      case when g % 2 = 0 then 'ISSUE=' || i.key else 'DAY=2026-01-01' end, now()
    from generate_series(1, ${runs}) g join tracker.issues i on i.id = 1 + g % ${issues}`);
  await read('analyze');
});

test('read whole, no view handles rows by the square of its tables', async () => {
  const [[rows] = []] = await table(
    `select sum(reltuples)::integer from pg_class join pg_namespace n on n.oid = relnamespace where nspname = 'tracker' and relkind = 'r'`,
  );
  for (const name of await relations(read)) {
    for (const query of [`select count(*) from bi.${name}`, readWhole(name)]) {
      const handled = (await nodesOf(query)).reduce((sum, node) => sum + handledBy(node), 0);
      expect([query, handled < 50 * Number(rows)]).toEqual([query, true]);
    }
  }
  const filled = ['issues', 'issue_status_history', 'issue_cycle_times', 'worklogs', 'comments'];
  for (const name of filled) {
    const [[count] = []] = await table(`select count(*)::integer from bi.${name}`);
    expect([name, Number(count) >= issues]).toEqual([name, true]);
  }
});

test('no question that joins views handles rows by the square of its tables', async () => {
  const [[rows] = []] = await table(
    `select sum(reltuples)::integer from pg_class join pg_namespace n on n.oid = relnamespace where nspname = 'tracker' and relkind = 'r'`,
  );
  for (const { what, sql } of questions) {
    const handled = (await nodesOf(sql)).reduce((sum, node) => sum + handledBy(node), 0);
    expect([what, handled < 50 * Number(rows)]).toEqual([what, true]);
  }
});

test('the planner counts on as many rows of a view as it has, also with several sources', async () => {
  const filled = [
    'issues',
    'issue_status_history',
    'issue_cycle_times',
    'worklogs',
    'comments',
    'issue_labels',
  ];
  for (const name of [...filled, 'issue_changes']) {
    const [whole] = await nodesOf(`select * from bi.${name}`);
    const ratio = Number(whole?.['Plan Rows']) / Number(whole?.['Actual Rows']);
    expect([name, ratio > 0.7 && ratio < 1.4, ratio]).toEqual([name, true, ratio]);
  }
});

test('links are read without searching texts, and the planner knows about how many there are', async () => {
  const nodes = await nodesOf('select * from bi.cross_links');
  expect(nodes.map((node) => node['Relation Name'])).not.toContain('dag_runs');
  const [whole] = nodes;
  expect(whole?.['Actual Rows']).toBe(runs / 2);
  expect(Number(whole?.['Plan Rows'])).toBeGreaterThan(runs / 10);
});

test('links of one run and of one issue are found by their ids', async () => {
  const handled = async (condition: string) => {
    const nodes = await nodesOf(`select * from bi.cross_links where ${condition}`);
    return nodes.reduce((sum, node) => sum + handledBy(node), 0);
  };
  expect(await handled(`from_kind = 'dag_run' and from_id = 'run-8'`)).toBeLessThan(100);
  expect(await handled(`to_kind = 'issue' and to_id = '9'`)).toBeLessThan(2 * (runs + issues));
});

const byIssue = [
  'issues',
  'issue_status_history',
  'issue_cycle_times',
  'sprint_issues',
  'worklogs',
  'comments',
  'issue_changes',
  'issue_labels',
  'issue_custom_fields',
];

test('filtered by one issue, no view scans a large table', async () => {
  for (const name of byIssue) {
    const plan = await planOf(`select t from (select * from bi.${name} where issue_key = 'P6-18') t`);
    expect([name, plan.match(largeScan)?.[0]]).toEqual([name, undefined]);
    expect([name, ...(await read(`select count(*) from bi.${name} where issue_key = 'P6-18'`))]).not.toEqual([
      name,
      '0',
    ]);
  }
});

test('filtered by the id of one issue, which is text in bi, no view scans a large table', async () => {
  const views =
    await read(`select relname from pg_class c where relnamespace = 'bi'::regnamespace and relkind = 'v'
    and exists (select from pg_attribute where attrelid = c.oid and attname = 'issue_id')`);
  expect(views.length).toBeGreaterThan(10);
  for (const name of views) {
    const plan = await planOf(`select t from (select * from bi.${name} where issue_id = '18') t`);
    expect([name, plan.match(largeScan)?.[0]]).toEqual([name, undefined]);
  }
});

test('filtered by one project, no view sorts or windows the changes of the others', async () => {
  const flow = ['throughput_weekly', 'cumulative_flow_daily', 'sprint_issues'];
  const views = ['issue_status_history', 'issue_cycle_times', ...flow];
  for (const name of views) {
    const ofAll = await mostHandled(`select t from bi.${name} t`);
    const ofOne = await mostHandled(`select t from bi.${name} t where project_key = 'P6'`);
    expect([name, ofAll === 0 || ofOne < ofAll / 2]).toEqual([name, true]);
  }
});

/** A node of a plan that ran, as `explain (analyze, format json)` prints it. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Plan Rows': number;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
}

async function nodesOf(query: string): Promise<readonly PlanNode[]> {
  const [[plan] = []] = await table(`explain (analyze, timing off, format json) ${query}`);
  const nodes: PlanNode[] = [];
  JSON.stringify(plan, (_, node) => {
    if (typeof node?.['Node Type'] === 'string') nodes.push(node);
    return node;
  });
  return nodes;
}

/** Rows that a node returned or filtered out. */
const handledBy = (node: PlanNode): number =>
  node['Actual Loops'] *
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0));

/** The most rows that any sort or window of a query really handled. */
async function mostHandled(query: string): Promise<number> {
  const nodes = await nodesOf(query);
  const sorting = nodes.filter((node) => /^(Sort|Incremental Sort|WindowAgg)$/.test(node['Node Type']));
  return Math.max(0, ...sorting.map((node) => node['Actual Rows'] * node['Actual Loops']));
}

const largeScan =
  /Seq Scan on (issues|issue_changelog|worklogs|comments|issue_labels|sprint_issues|issue_sprints)\b/;

async function planOf(query: string): Promise<string> {
  return (await read(`explain ${query}`)).join('\n');
}
