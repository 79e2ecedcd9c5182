import fs from 'node:fs';
import { expect, test } from 'vitest';
import { loadVocabulary, reading } from './reading.ts';

const spring = '0a1b2c3d-0000-4000-8000-00000000000a';
const winter = '0a1b2c3d-0000-4000-8000-00000000000b';

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert('ops.sources (name, kind, base_url)', [
    `'platform', 'ads', 'http://three'`,
    `'engine', 'workflow', 'http://four'`,
  ]);
  await insert(
    'tracker.issues (source_id, id, key, summary, description, project_id, security_level, status_id, issue_type_id, created_at, updated_at, _deleted_at)',
    [
      `1, 1, 'PROJ-1', 'Landing page', 'see PROJ-7', 10, null, 1, 1, now(), now(), null`,
      // It was OPS-2 once; another issue has that key today.
      `1, 7, 'PROJ-7', 'Campaign ${winter}, PROJ-1', null, 10, null, 1, 1, now(), now(), null`,
      `1, 8, 'OPS-2', 'x', null, 20, null, 1, 1, now(), now(), null`,
      `1, 9, 'PROJ-9', 'Secret ${winter}', null, 10, 'Board', 1, 1, now(), now(), null`,
      `1, 10, 'PROJ-10', 'Gone ${winter}', null, 10, null, 1, 1, now(), now(), now()`,
      `2, 1, 'PROJ-1', 'Of another tracker', null, 10, null, 1, 1, now(), now(), null`,
    ],
  );
  await insert('tracker.issue_keys (source_id, key, issue_id)', [
    `1, 'PROJ-1', 1`,
    `1, 'PROJ-7', 7`,
    `1, 'OLD-3', 7`,
    `1, 'OPS-2', 7`,
    `1, 'OPS-2', 8`,
    `1, 'PROJ-9', 9`,
    `1, 'PROJ-10', 10`,
    `2, 'PROJ-1', 1`,
  ]);
  await insert('ads.campaigns (source_id, id, ad_account_id, name, purchase_order, _deleted_at)', [
    `3, '${spring}', 'a', 'Spring_OLD-3_launch (OLD-3)', 'OPS-2', null`,
    `3, '${winter}', 'a', 'xPROJ-1 PROJ-1x PROJ-10 PROJ-9 UTF-8 proj-1', null, null`,
    `3, 'gone', 'a', 'PROJ-1', null, now()`,
  ]);
  await insert('workflow.dag_runs (source_id, dag_name, dag_run_id, state, params, _deleted_at)', [
    `4, 'load', 'r1', 'succeeded', 'DATE=2026-03-01 CAMPAIGN_ID=${spring} AGAIN="${spring}"', null`,
    `4, 'load', 'r2', 'succeeded', '{"ISSUE":"PROJ-1","CAMPAIGN_ID":"0a1b2c3d-0000-4000-8000-0000000000ff"}', null`,
    `4, 'load', 'r3', 'succeeded', null, null`,
    `4, 'load', 'r4', 'succeeded', '${spring}', now()`,
  ]);
});

const links = (of: string) =>
  `select source, from_kind, from_name, from_field, mention, to_kind, to_source, to_name from bi.cross_links where ${of}
    order by from_kind, from_name, from_field, mention, to_source`;

test('campaigns, issues and DAG runs are linked by what their texts name, where it exists and is shown', async () => {
  await shows(links('true'), [
    'platform | campaign | Spring_OLD-3_launch (OLD-3) | name | OLD-3 | issue | tracker | PROJ-7',
    'platform | campaign | Spring_OLD-3_launch (OLD-3) | purchase_order | OPS-2 | issue | tracker | OPS-2',
    `engine | dag_run | load | params | ${spring} | campaign | platform | Spring_OLD-3_launch (OLD-3)`,
    'engine | dag_run | load | params | PROJ-1 | issue | elsewhere | PROJ-1',
    'engine | dag_run | load | params | PROJ-1 | issue | tracker | PROJ-1',
    `tracker | issue | PROJ-7 | summary | ${winter} | campaign | platform | xPROJ-1 PROJ-1x PROJ-10 PROJ-9 UTF-8 proj-1`,
  ]);
  await shows(
    `select from_id, to_id from bi.cross_links where from_kind = 'dag_run' and to_kind = 'campaign'`,
    [`r1 | ${spring}`],
  );
});

test('a pattern of the company links at once, by its first group', async () => {
  await insert('ref.link_patterns', [
    `'issue', 'description', 'see ([A-Z]+-[0-9]+)', 'issue', 'key', null`,
    `'issue', 'summary', '[A-Z]+-[0-9]+', 'issue', 'key', null`,
  ]);
  await shows(links(`from_kind = 'issue' and to_kind = 'issue' and to_source = 'tracker'`), [
    'tracker | issue | PROJ-1 | description | PROJ-7 | issue | tracker | PROJ-7',
    'tracker | issue | PROJ-7 | summary | PROJ-1 | issue | tracker | PROJ-1',
  ]);
});

test.each([
  ['no regular expression', `'issue', 'summary', '(', 'issue', 'key', null`, /invalid regular expression/],
  ['an unknown field', `'issue', 'title', 'x', 'issue', 'key', null`, /check constraint/],
  ['an unknown target', `'issue', 'summary', 'x', 'issue', 'id', null`, /check constraint/],
])('a pattern with %s is refused', async (_, pattern, message) => {
  await expect(insert('ref.link_patterns', [pattern])).rejects.toThrow(message);
});

test('a text that no pattern asks for is not searched', async () => {
  await read(`delete from ref.link_patterns where from_kind = 'issue'`);
  await read(`update tracker.issues set summary = 'Campaign ${spring}' where id = 1`);
  await shows(`select distinct from_kind from ops.text_mentions order by 1`, ['campaign', 'dag_run']);
});

test('every table whose records can vanish is in the list of deletions', async () => {
  const tables = await read(`select table_schema || '.' || table_name from information_schema.columns
    where column_name = '_deleted_at' and table_schema in ('tracker', 'ads', 'workflow')
      and table_name in (select tablename from pg_tables)
      -- No list says that a name of a target or a total is gone: they keep what was told.
      and table_name not in ('target_names', 'report_totals')`);
  const [definition = ''] = await read(`select pg_get_viewdef('bi.deletions')`);
  const named = new Set([...definition.matchAll(/FROM (\w+\.\w+)/g)].map(([, table]) => table ?? ''));
  expect([...named].filter((table) => table !== 'ops.sources').toSorted()).toEqual(tables.toSorted());
});

test('what vanished is listed with when and by which run; restricted issues are left out', async () => {
  await read(`update tracker.issues set _deleted_at = '2026-03-01 23:00Z', _run_id = 5 where id in (9, 10)`);
  await shows(`select source, table_name, record_id, record_name, run_id from bi.deletions order by 2, 3`, [
    'platform | ads.campaigns | gone | PROJ-1 | -',
    'tracker | tracker.issues | 10 | PROJ-10 | 5',
    'tracker | tracker.statuses | 5 | Parked | -',
    'engine | workflow.dag_runs | load/r4 | load | -',
  ]);
  await shows(
    `select distinct deleted_at::text, deleted_date from bi.deletions where table_name = 'tracker.issues'`,
    ['2026-03-01 23:00:00+00 | 2026-03-01'],
  );
});

test('a receipt matches when nothing is missing between expected, read and stored', async () => {
  await insert('ops.walks (source_id, stream, kind, run_id)', [`1, 'issues', 'full', 1`]);
  await insert('ops.slices (walk_id, partition, status, expected, read, stored, run_id)', [
    `1, null, 'done', 10, 10, 10, 1`,
    `1, '{"board_id": "7"}', 'done', null, 3, 3, 1`,
    `1, null, 'done', 10, 9, 9, 1`,
    `1, null, 'done', 10, 10, 9, 1`,
    `1, null, 'partial', 10, 10, 10, 2`,
    `1, null, 'pending', null, null, null, null`,
    `1, null, 'failed', null, null, null, 2`,
    `1, null, 'split', null, null, null, 2`,
  ]);
  await shows(
    `select slice_id, source, stream, run_id, owner, status, records_expected, records_read, records_stored, is_matching
      from bi.receipts order by slice_id`,
    [
      '1 | tracker | issues | 1 | - | done | 10 | 10 | 10 | true',
      '2 | tracker | issues | 1 | {"board_id": "7"} | done | - | 3 | 3 | true',
      '3 | tracker | issues | 1 | - | done | 10 | 9 | 9 | false',
      '4 | tracker | issues | 1 | - | done | 10 | 10 | 9 | false',
      '5 | tracker | issues | 2 | - | partial | 10 | 10 | 10 | false',
      '6 | tracker | issues | - | - | pending | - | - | - | -',
      '7 | tracker | issues | 2 | - | failed | - | - | - | -',
    ],
  );
});

test('the lists of the page can be filled as it says', async () => {
  const page = fs.readFileSync(new URL('../../../docs/warehouse.md', import.meta.url), 'utf8');
  const statements = page.match(/^insert into ref\..*;$/gm) ?? [];
  const lists = await read(`select tablename from pg_tables where schemaname = 'ref' order by 1`);
  expect(statements.map((one) => /ref\.(\w+)/.exec(one)?.[1]).sort()).toEqual(lists);
  for (const statement of statements) await read(statement);
});
