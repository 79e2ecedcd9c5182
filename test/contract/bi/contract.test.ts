import crypto from 'node:crypto';
import fs from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { shippedTables } from '../../../src/connectors/index.ts';
import { connect } from '../../../src/warehouse/connect.ts';
import { migrate } from '../../../src/warehouse/migrate.ts';
import { viewsIn } from '../../../src/warehouse/tables.ts';
import { asOwner, databaseUrl } from '../../support/postgres.ts';
import { lints } from './lints.ts';
import { changeColumns, issueColumns, loadVocabulary, reading, readWhole, relations } from './reading.ts';

const page = fs.readFileSync(new URL('../../../docs/warehouse.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, text]) => text ?? '');
const [grants = '', ...questions] = blocks;

const folder = new URL('../../../migrations/views/', import.meta.url);
const files = fs.readdirSync(folder);
const views = files.filter((file) => file.endsWith('.sql'));
const promised = views.flatMap((file) => /^bi\.(\w+)\.sql$/.exec(file)?.[1] ?? []).sort();

const { insert, read, shows } = reading(() => loadVocabulary(insert));

/** Names of the first versions that no rule would give today; columns are never renamed. */
const older = `column_name like '%\\_suppressed' or column_name in ('valid_from', 'valid_to', 'spend_to_date', 'budget_to_date')`;

test('the reading schema holds what the page for analysts names', async () => {
  expect(await relations(read)).toEqual(promised);
  for (const name of promised) expect(page).toContain(`\`${name}\``);
});

test('a meaning that several views share is written once', async () => {
  const columns = `select n.nspname || '.' || c.relname as view_name, a.attname as column_name, col_description(c.oid, a.attnum) as meaning
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relkind = 'v' and n.nspname in ('ads', 'bi', 'bi_pii', 'ops', 'tracker') and c.relname not like 'shown\\_%'`;
  const unused = `select m.column_name, m.meaning from ops.meanings m cross join unnest(string_to_array(m.views, ' ')) v
    where not exists (select from (${columns}) c where c.column_name = m.column_name and c.meaning = m.meaning
      and v in (c.view_name, '*'))`;
  const shared = `select from ops.meanings m
    where m.column_name = c.column_name and (m.views = '*' or c.view_name = any (string_to_array(m.views, ' ')))`;
  const repeated = `select column_name, meaning from (${columns}) c where not exists (${shared})
    group by 1, 2 having count(*) > 1`;
  await shows(unused, []);
  await shows(repeated, []);
  const explained = await read(
    `select view_name || '.' || column_name from (${columns}) c where exists (${shared})`,
  );
  const saidByViews = viewsIn(folder).flatMap(({ text }) =>
    [...text.matchAll(/comment on column ([\w.]+) is/g)].filter(([, name]) => explained.includes(name ?? '')),
  );
  expect(saidByViews).toEqual([]);
});

test.each<readonly [says: string, offending: string]>([
  ...lints,
  [
    'the name of a column tells its type',
    `select table_name, column_name, data_type from information_schema.columns where table_schema = 'bi' and not (${older})
      and (data_type = 'boolean') <> (column_name like 'is\\_%')
      or table_schema = 'bi' and not (${older}) and (data_type = 'timestamp with time zone') <> (column_name like '%\\_at')
      or table_schema = 'bi' and not (${older}) and (data_type = 'date') <> (column_name ~ '(_date|_start)$|^date_day$')`,
  ],
  [
    'no duration is without its unit',
    `select table_name, column_name from information_schema.columns
      where table_schema = 'bi' and data_type !~ '^(text|date|timestamp|boolean)' and column_name ~ '(_time|duration|_age|^age)$'`,
  ],
  [
    'the source leads, where rows are of one',
    `select table_name from information_schema.columns where table_schema = 'bi' and column_name = 'source' and ordinal_position > 1
      and table_name not in ('stream_runs', 'sync_runs')`,
  ],
  [
    'amounts stand beside their currency',
    `select table_name, column_name from information_schema.columns a where table_schema = 'bi'
      and column_name ~ '^(spend|revenue|budget|bid|cpc|cpm)(_|$)' and data_type = 'numeric' and column_name !~ '_ratio$|_in_reporting_currency$'
      and not exists (select from information_schema.columns c
        where (c.table_schema, c.table_name, c.column_name) = ('bi', a.table_name, 'currency'))`,
  ],
  [
    'what counts different people says that it is not to be summed',
    `select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      where c.relnamespace = 'bi'::regnamespace and a.attname ~ '(^|_)(reach|listeners)(_|$)' and a.attname !~ '_ratio$|_per_'
        and format_type(a.atttypid, a.atttypmod) ~ 'int|numeric' and col_description(c.oid, a.attnum) !~* 'sum|add'`,
  ],
])('%s', async (_, offending) => {
  await shows(offending, []);
});

test('no value of a source makes a view fail', async () => {
  await insert(issueColumns, [
    `1, 1, 'PROJ-1', 10, 1, 4, 'ann', 1e400, '0001-01-01Z', '9999-12-31 23:59:59Z', null`,
    `1, 2, 'PROJ-2', 10, 1, 999, 'ann', -1e-400, '9999-12-31Z', '9999-12-31Z', null`,
  ]);
  await read(`update tracker.issues set time_spent_seconds = 9223372036854775807, original_estimate_seconds = -9223372036854775808,
    custom_fields = '{"a": 1e400, "b": 1e-400, "c": null, "d": [[1], {"x": null}], "e": "1e5", "f": true}' where source_id = 1`);
  await insert('tracker.fields (source_id, id, name, custom, role)', [
    `1, 'customfield_1', 'Sprint', true, 'sprint'`,
  ]);
  await insert('tracker.sprints (source_id, id, name, state, start_at, end_at)', [
    `1, 1, 'One', 'closed', '0001-01-01Z', '9999-12-31Z'`,
    `1, 2, 'Two', 'odd', null, null`,
  ]);
  await insert(changeColumns, [
    `1, 1, 0, 1, '0001-01-02Z', null, 'status', 'status', null, null, null, null`,
    `1, 2, 0, 1, '9999-12-31Z', null, 'status', 'status', 'no number', '', '99999999999999999999', ''`,
    `1, 3, 0, 1, '2024-01-01Z', null, 'customfield_1', 'Sprint', '1,2, ,x', null, '99999999999999999999, 1,-2', null`,
  ]);
  await insert('tracker.worklogs (source_id, id, issue_id, author_id, started_at, time_spent_seconds)', [
    `1, 1, 1, 'cid', '0001-01-01Z', 9223372036854775807`,
    `1, 2, 1, 'ann', '9999-12-31 23:59Z', -9223372036854775808`,
  ]);
  for (const name of promised) {
    expect([name, ...(await read(readWhole(name)))]).toEqual([name, expect.stringMatching(/^\d+$/)]);
  }
  await shows(
    `select field_id, value_text, value_number from bi.issue_custom_fields where issue_key = 'PROJ-1' and field_id in ('a', 'd', 'e') order by field_id, value_number_in_field`,
    [`a | 1${'0'.repeat(400)} | -`, 'd | [1] | -', 'd | {"x": null} | -', 'e | 1e5 | -'],
  );
  // Both lists have the first, and the issue has neither.
  await shows(`select sprint_id, issue_key, removed_at::text from bi.sprint_issues order by sprint_id`, [
    '1 | PROJ-1 | 9999-12-31 23:59:59+00',
    '2 | PROJ-1 | 2024-01-01',
  ]);
});

test('the example queries of the page run', async () => {
  expect(questions).toHaveLength(3);
  for (const question of questions) await read(question);
  const weeks = await read(questions[1] ?? '');
  expect(weeks).toHaveLength(12);
});

describe('a warehouse whose owner is no superuser', () => {
  const tag = crypto.randomBytes(6).toString('hex');
  const names = {
    owner: `owner_${tag}`,
    reader: `reader_${tag}`,
    login: `login_${tag}`,
    database: `test_${tag}`,
  };
  const as = (user: string, password: string): string => {
    const url = new URL(databaseUrl(names.database));
    url.username = user;
    url.password = password;
    return url.href;
  };
  const named = grants.replaceAll('bi_reader', names.reader).replaceAll('metabase', names.login);

  beforeAll(async () => {
    await asOwner(async (client) => {
      await client.query(`create role ${names.owner} login nosuperuser createrole password 'owner'`);
      await client.query(`create database ${names.database} owner ${names.owner}`);
    });
    const warehouse = await connect(as(names.owner, 'owner'), { max: 1 });
    try {
      await migrate(warehouse, shippedTables);
      await warehouse.pool.query(named);
      // Every kind of column, so that a reader is seen to be let in to what they call.
      await warehouse.pool.query(`
        insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://one');
        insert into tracker.fields (source_id, id, name, custom, schema_type, schema_custom)
          select 1, 'customfield_' || k, k, true, k, null from unnest('{number,date,datetime,user,option}'::text[]) k
          union all select 1, 'customfield_sprint', 'sprint', true, 'array', 'com.pyxis.greenhopper.jira:gh-sprint';
        insert into tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, created_at, updated_at, custom_fields)
          select 1, 1, 'A-1', 1, 1, 1, now(), now(), jsonb_object_agg(id, '["x", {"name": "y"}]'::jsonb) from tracker.fields;
        select ops.make_issues_wide(1::smallint)`);
      await warehouse.pool.query(`create view bi.of_a_later_version as select 1 as one`);
    } finally {
      await warehouse.close();
    }
  });
  afterAll(() =>
    asOwner(async (client) => {
      await client.query(`drop database if exists ${names.database}`);
      for (const role of [names.login, names.reader, names.owner])
        await client.query(`drop role if exists ${role}`);
    }),
  );

  test('a reader made by the statements on the page reads all of bi, and nothing else', async () => {
    // A connection as a BI tool makes it: with no settings of ours.
    const pool = new pg.Pool({ connectionString: as(names.login, 'choose-your-own'), max: 1 });
    onTestFinished(() => pool.end());
    const { rows } = await pool.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'bi'::regnamespace and relkind in ('r', 'v') order by 1`,
    );
    expect(rows.map(({ name }) => name)).toEqual(
      [...promised, 'issues_wide_tracker', 'of_a_later_version'].sort(),
    );
    for (const { name } of rows) await pool.query(readWhole(name));
    for (const hidden of ['tracker.issues', 'tracker.users', 'ops.runs', 'ops.rejects'])
      await expect(pool.query(`select from ${hidden}`)).rejects.toThrow(/permission denied for schema/);
    const insertion = pool.query('create table bi.mine ()');
    await expect(insertion).rejects.toThrow(/read-only/);
    const settings = await pool.query(`select current_setting('default_transaction_read_only') as readonly,
      current_setting('statement_timeout') as timeout, current_setting('timezone') as zone, current_setting('search_path') as path`);
    expect(settings.rows).toEqual([{ readonly: 'on', timeout: '1min', zone: 'UTC', path: 'bi' }]);
  });
});
