import crypto from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { grantReader } from '../../../src/bi/grant-reader.ts';
import { asOwner, type TestDatabase, testDatabase } from '../../support/postgres.ts';

/** What hides an issue, by its id. Every text of such an issue and every name that it alone has begins with `hid`, whatever the case. */
const hidden: readonly (readonly [id: number, how: string])[] = [
  [900001, `security_level = 'Board'`],
  [900002, 'security_level_id = 7'],
  [900003, '_deleted_at = now()'],
];
const campaign = '0a1b2c3d-0000-4000-8000-00000000000a';

/** A hidden issue with everything that can belong to one, and shown issues that name it in every way that there is. */
const family = ([id, how]: (typeof hidden)[number]): string => {
  const key = `HID-${id}`;
  const former = `HIDFORMER-${id}`;
  const near = (id - 900_000) * 10;
  const dates = `'2024-01-01Z', '2024-03-01Z'`;
  return `
    insert into tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, assignee_id, reporter_id, creator_id, summary,
        description, labels, components, fix_versions, priority, resolution, team, story_points, custom_fields, created_at, updated_at) values
      (1, ${id}, '${key}', 10, 1, 2, 'hid', 'hid', 'hid', 'hid ${campaign}', 'hid text', '{hid}', '{hid}', '{hid}',
        'hid', 'hid', 'hid', 3, '{"customfield_1": "hid"}', ${dates});
    insert into tracker.issue_keys (source_id, key, issue_id) values (1, '${key}', ${id}), (1, '${former}', ${id});
    insert into tracker.comments (source_id, id, issue_id, author_id, body, created_at, updated_at, _deleted_at)
      values (1, ${id}, ${id}, 'hid', 'hid body', ${dates}, null), (1, ${id}0, ${id}, 'hid', 'hid body', ${dates}, now());
    insert into tracker.worklogs (source_id, id, issue_id, author_id, comment, started_at, time_spent_seconds, _deleted_at)
      values (1, ${id}, ${id}, 'hid', 'hid work', '2024-01-02Z', 60, null),
        (1, ${id}0, ${id}, 'hid', 'hid work', '2024-01-02Z', 60, now());
    insert into tracker.issue_labels (source_id, issue_id, label) values (1, ${id}, 'hid label'), (1, ${id}, 'incident');
    insert into tracker.issue_components (source_id, issue_id, component_id, name) values (1, ${id}, ${id}, 'hid component');
    insert into tracker.issue_versions (source_id, issue_id, kind, version_id, name) values (1, ${id}, 'fix', ${id}, 'hid version');
    insert into tracker.issue_sprints (source_id, issue_id, sprint_id, state, name) values (1, ${id}, 1, 'active', 'One');
    insert into tracker.sprint_issues (source_id, issue_id, sprint_id) values (1, ${id}, 1);
    insert into tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, parent_id, epic_id, epic_key, custom_fields,
        created_at, updated_at) values
      (1, ${near}, 'PROJ-${near}', 10, 1, 1, ${id}, null, null, '{"customfield_1": "7", "customfield_2": "${key}"}', ${dates}),
      (1, ${near + 1}, 'PROJ-${near + 1}', 10, 1, 1, null, ${id}, '${key}', '{"customfield_2": {"key": "${former}"}}', ${dates}),
      (1, ${near + 2}, 'PROJ-${near + 2}', 10, 1, 1, ${near}, null, '${former}', '{}', ${dates}),
      (1, ${near + 3}, 'PROJ-${near + 3}', 10, 1, 1, ${near + 1}, null, '${key}', '{}', ${dates});
    insert into tracker.issue_links (source_id, issue_id, link_id, direction, type_name, outward, inward, other_issue_id, other_issue_key) values
      (1, ${near}, ${id + 100}, 'inward', 'Blocks', 'blocks', 'is blocked by', ${id}, '${former}'),
      (1, ${id}, ${id + 100}, 'outward', 'Blocks', 'blocks', 'is blocked by', ${near}, 'PROJ-${near}');
    insert into tracker.issue_changelog
        (source_id, history_id, item, issue_id, changed_at, author_id, field_id, field_name, from_id, from_text, to_id, to_text) values
      (1, ${id}, 0, ${id}, '2024-01-03Z', 'hid', 'status', 'status', '1', 'hid status', '3', 'hid status'),
      (1, ${id}, 1, ${id}, '2024-01-03Z', 'hid', 'assignee', 'assignee', 'hid', 'hid person', 'hid', 'hid person'),
      (1, ${id}, 2, ${id}, '2024-01-03Z', 'hid', 'customfield_1', 'Risk', null, 'hid risk', null, 'hid'),
      (1, ${id}, 3, ${id}, '2024-01-03Z', 'hid', 'summary', 'summary', null, 'hid', null, 'hid'),
      (1, ${id}, 4, ${id}, '2024-01-03Z', 'hid', 'priority', 'priority', 'hid', 'hid', null, 'hid'),
      (1, ${near}, 0, ${near}, '2024-01-03Z', 'ann', 'issuelinks', 'Link', null, null, '${key}', 'is blocked by ${key}'),
      (1, ${near}, 1, ${near}, '2024-01-03Z', 'ann', 'parent', 'IssueParentAssociation', null, null, '${id}', '${key}'),
      (1, ${near}, 2, ${near}, '2024-01-03Z', 'ann', 'customfield_2', 'Epic Link', '${id}', '${former}', null, null);
    update tracker.issues set ${how} where id = ${id};`;
};

const reader = `reader_${crypto.randomBytes(6).toString('hex')}`;
let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await testDatabase();
  const { pool } = database.warehouse;
  await pool.query(`
    insert into ops.sources (name, kind, base_url) values
      ('tracker', 'tracker', 'http://one'), ('platform', 'ads', 'http://two');
    insert into tracker.projects (source_id, id, key, name) values (1, 10, 'PROJ', 'Product');
    insert into tracker.users (source_id, id, display_name) values (1, 'ann', 'Ann');
    insert into tracker.statuses (source_id, id, name, category) values
      (1, 1, 'To Do', 'todo'), (1, 2, 'Doing', 'in_progress'), (1, 3, 'Done', 'done');
    insert into tracker.issue_types (source_id, id, name) values (1, 1, 'Bug');
    insert into tracker.sprints (source_id, id, name, state, start_at) values (1, 1, 'One', 'active', '2024-01-01Z');
    insert into tracker.fields (source_id, id, name, custom, schema_type, schema_custom, role) values
      (1, 'customfield_1', 'Risk', true, 'string', 'x:text', null),
      (1, 'customfield_2', 'Epic Link', true, 'any', 'com.pyxis.greenhopper.jira:gh-epic-link', 'epic_link');
    insert into ref.history_fields values ('tracker', 'customfield_1', 'risk'), ('tracker', 'customfield_2', 'epic');
    insert into ads.campaigns (source_id, id, ad_account_id, name, purchase_order) values
      (2, '${campaign}', 'a', 'Launch', 'HID-900001 HIDFORMER-900002');
    insert into tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, summary, created_at, updated_at)
      values (1, 1, 'PROJ-1', 10, 1, 1, 'Shown', '2024-01-01Z', '2024-03-01Z');
    ${hidden.map(family).join('')}
    select ops.make_issues_wide(1::smallint);
    analyze`);
  const { url } = await grantReader(database.warehouse, reader, { pii: true });
  client = new pg.Client({ connectionString: url });
  await client.connect();
}, 60_000);

afterAll(async () => {
  await client.end();
  await asOwner(async (owner) => {
    await owner.query(`drop owned by ${reader}; drop role ${reader}`);
  }, database.name);
  await database.drop();
});

/** Conditions that fail for what they look for, shown or only tested. */
const probes: readonly (readonly [name: string, condition: (column: string, pattern: string) => string])[] = [
  [
    'a cast',
    (column, pattern) => `case when ${column} ~* '${pattern}' then ('x' || ${column})::int else 1 end = 0`,
  ],
  ['a division', (column, pattern) => `1 / (case when ${column} ~* '${pattern}' then 0 else 1 end) = 0`],
];

/** Plans that test a condition as soon as its column is read. Logins of readers have no merge joins of their own. */
const temptations = [
  '',
  'set enable_nestloop = off',
  'set enable_hashjoin = off',
  'set enable_mergejoin = on; set enable_indexscan = off; set enable_bitmapscan = off; set enable_nestloop = off; set enable_hashjoin = off',
];

/** The calendar has no issues, and is slow by the plans above. */
const textColumns = `
  select n.nspname || '.' || c.relname as view, a.attname as column
  from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
  where n.nspname in ('bi', 'bi_pii') and c.relkind in ('v', 'r') and a.atttypid = 'text'::regtype and c.relname <> 'calendar'
  order by 1, 2`;

/** The errors of a condition on each text column of every view. */
async function errorsOf(condition: (column: string, view: string) => string): Promise<readonly string[]> {
  const { rows } = await client.query<{ view: string; column: string }>(textColumns);
  expect(rows.length).toBeGreaterThan(400);
  const errors: string[] = [];
  for (const { view, column } of rows)
    await client
      .query(`select count(*) from ${view} where ${condition(column, view)}`)
      .catch(({ message }: Error) => errors.push(`${view}.${column}: ${message}`));
  return errors;
}

/** A deleted issue that had no level keeps its key and id in the list of deletions. */
const secret = (view: string): string =>
  view === 'bi.deletions' ? '^(hid.*)?90000[12]0?$' : '^hid([^d]|$)|^90000[123]$';

test.each(probes)('%s finds what is shown', async (_, condition) => {
  const errors = await errorsOf((column) => condition(column, '^PROJ-1$'));
  expect(errors).toEqual(
    expect.arrayContaining([expect.stringMatching(/^bi\.issue_field_history\.issue_key: /)]),
  );
});

test.each(temptations)(
  'no condition is tested on a hidden issue: %s',
  { timeout: 30_000 },
  async (settings) => {
    await client.query(`reset all; ${settings}`);
    for (const [, condition] of settings === '' ? probes : probes.slice(0, 1))
      expect(await errorsOf((column, view) => condition(column, secret(view)))).toEqual([]);
  },
);

/** Errors as a run writes them, each with what a reader may see of it. */
const messages: readonly (readonly [message: string, shown: string])[] = [
  ['GET /issue/HID-900001/comment answered 500', 'GET /issue/…/comment answered 500'],
  ['/rest/api/3/issue/71/worklog: 2 could be read', '/rest/api/3/issue/…/worklog: 2 could be read'],
  ['issue 71: comment 72 has no created', 'issue …: comment … has no created'],
  ['issue HIDFORMER-900002 has a bad fields.due: hid is not a day', 'issue … has a bad fields.due: …'],
  ['component "hid text" of 900003 has no id', 'component … of … has no id'],
];

test.each(messages)('an error names no issue: %s', async (message, shown) => {
  const { pool } = database.warehouse;
  const { rows } = await pool.query<{ id: string }>(
    `insert into ops.runs (pipeline, source_id, kind, status, epoch, error_message)
      values ('tracker', 1, 'sync', 'failed', 1, $1) returning run_id as id`,
    [message],
  );
  const run = rows[0]?.id;
  await pool.query(`insert into ops.streams (source_id, stream, target, endpoint, about, freshness_seconds)
    values (1, 'issues', 'tracker.issues', 'GET /issues', 'Issues.', 1) on conflict do nothing`);
  await pool.query(
    `insert into ops.run_streams (run_id, source_id, stream, status, reason) values ($1, 1, 'issues', 'failed', $2)`,
    [run, message],
  );
  await pool.query(
    `with walk as (insert into ops.walks (source_id, stream, kind, run_id) values (1, 'issues', 'full', $1)
        returning walk_id)
      insert into ops.slices (walk_id, status, run_id, error_message) select walk_id, 'failed', $1, $2 from walk`,
    [run, message],
  );
  await client.query('reset all');
  const seen = await client.query<{ message: string }>(
    `select error_message as message from bi.sync_runs where run_id = $1
      union all select error_message from bi.receipts where run_id = $1
      union all select reason from bi.stream_runs where run_id = $1
      union all select reason from bi.data_freshness where last_run_id = $1`,
    [run],
  );
  expect(seen.rows.map((row) => row.message)).toEqual([shown, shown, shown, shown]);
});

test('one view says which issues are shown, and no other repeats its condition', async () => {
  const { rows } = await database.warehouse.pool.query<{ view: string }>(`
    select c.oid::regclass::text as view from pg_class c where c.relkind = 'v'
      and pg_get_viewdef(c.oid) ~* 'shows_restricted_issues|security_level(_id)?\\)? *(is|=|<>) '
      and c.oid not in ('bi.contract'::regclass)`);
  expect(rows).toEqual([]);
  const readers = await database.warehouse.pool.query<{ view: string }>(`
    select distinct r.ev_class::regclass::text as view from pg_depend d join pg_rewrite r on r.oid = d.objid
    where d.classid = 'pg_rewrite'::regclass and d.refobjid = 'tracker.issues'::regclass order by 1`);
  // They ask whether an issue is there at all, or list what is not shown.
  expect(readers.rows.map(({ view }) => view)).toEqual([
    'bi.cross_links',
    'bi.deletions',
    'bi.issue_links',
    'bi.issues',
    'bi.issues_wide_tracker',
    'bi.quality_checks',
    'tracker.hidden_keys',
    'tracker.shown_issues',
  ]);
});
