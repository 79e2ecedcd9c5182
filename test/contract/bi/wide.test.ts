import { expect, onTestFinished, test } from 'vitest';
import { shippedTables } from '../../../src/connectors/index.ts';
import { migrate } from '../../../src/warehouse/migrate.ts';
import { testDatabase } from '../../support/postgres.ts';
import { lints } from './lints.ts';
import { loadVocabulary, reading } from './reading.ts';

type Field = readonly [id: number, name: string, type: string, items?: string, custom?: string];

const fieldRow = ([id, name, type, items = '', custom = '']: Field): string =>
  `1, 'customfield_${id}', '${name}', true, '${type}', nullif('${items}', ''), nullif('${custom}', '')`;
const fieldColumns = 'tracker.fields (source_id, id, name, custom, schema_type, items_type, schema_custom)';
const gh = 'com.pyxis.greenhopper.jira:gh-sprint';

const fields: readonly Field[] = [
  [1, 'Effort', 'number'],
  [2, 'Go-live', 'date'],
  [3, 'Seen at', 'datetime'],
  [4, 'Approver', 'user'],
  [5, 'Reviewers', 'array', 'user'],
  [6, 'Größe', 'option'],
  [7, 'Channels', 'array', 'option'],
  [8, 'Sprint', 'array', 'json', gh],
  [9, 'Notes', 'string'],
  [10, 'Targets', 'array', 'version'],
  // Names that are taken, reserved, empty, of digits, too long, or of ids.
  [11, 'effort', 'string'],
  [12, 'Status', 'option'],
  [13, 'Group', 'string'],
  [14, '日本', 'string'],
  [15, '5 Whys', 'string'],
  [16, 'Customer ID', 'number'],
  [17, 'x'.repeat(80), 'string'],
];

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert(fieldColumns, fields.map(fieldRow));
  await insert('tracker.fields (source_id, id, name, custom)', [`1, 'summary', 'Summary', false`]);
  await insert('tracker.sprints (source_id, id, name, state)', [`1, 7, 'Today''s name', 'active'`]);
  const values = {
    customfield_1: 2.5,
    customfield_2: '2024-02-29',
    customfield_3: '2024-03-01T10:00:00.250+0130',
    customfield_4: 'bob',
    customfield_5: ['ann', 'unknown', { name: 'login', displayName: 'Of a server' }],
    customfield_6: 'XL',
    customfield_7: ['Web', 'Print'],
    customfield_8: [{ id: 7, name: 'As read' }, { id: 8, name: 'Unknown' }, 'com.atlassian…[id=9]'],
    customfield_9: {
      type: 'doc',
      content: [
        {
          type: 'paragraph',
          content: [
            { type: 'text', text: 'un' },
            { type: 'text', text: 'clear' },
          ],
        },
        { type: 'paragraph', content: [{ type: 'mention', attrs: { text: '@Ann' } }] },
        // The same that the plain text of descriptions keeps.
        {
          type: 'paragraph',
          content: [
            {
              type: 'text',
              text: 'the plan',
              marks: [{ type: 'link', attrs: { href: 'https://x.test/1' } }],
            },
            { type: 'text', text: ' of ' },
            { type: 'mention', attrs: { id: 'acc-1' } },
            { type: 'text', text: ' ' },
            { type: 'date', attrs: { timestamp: '1709251200000' } },
            { type: 'text', text: ' ' },
            { type: 'inlineCard', attrs: { data: { url: 'https://x.test/2', name: 'Two' } } },
            { type: 'text', text: ' ' },
            { type: 'status', attrs: { text: 'AT RISK' } },
          ],
        },
        { type: 'blockCard', attrs: { url: 'https://x.test/3' } },
      ],
    },
    customfield_10: [
      { id: '1', name: '1.0' },
      { id: '2', name: '2.0' },
    ],
    customfield_13: ['parent', null],
    customfield_15: true,
  };
  const odd = {
    customfield_1: '5',
    customfield_2: '2024-02-30',
    customfield_3: 'yesterday',
    customfield_4: { key: 'JIRAUSER1', displayName: 'Of a server' },
    customfield_5: [],
    customfield_8: 'one',
    customfield_9: { nothing: 'known' },
    customfield_13: [null],
  };
  const huge = { customfield_1: 'HUGE', customfield_3: '2024-03-01T10:00:00Z', customfield_4: 'unknown' };
  const row = (id: number, json: object, deleted = 'null') =>
    `1, ${id}, 'PROJ-${id}', 10, 1, 1, '2024-01-01Z', '2024-01-01Z', '${JSON.stringify(json)}', ${deleted}`;
  await insert(
    'tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, created_at, updated_at, custom_fields, _deleted_at)',
    [
      row(1, values),
      row(2, odd),
      row(3, huge).replace('"HUGE"', '1e30'),
      row(4, {}),
      row(5, values, 'now()'),
      `2, 1, 'ELSE-1', 10, 1, 4, now(), now(), '{}', null`,
    ],
  );
  await read('grant select on bi.issues to public');
  expect(await make()).toEqual([]);
});

const make = () => read('select ops.make_issues_wide(1::smallint)');
const columns = () =>
  read(`select column_name, data_type from information_schema.columns where table_name = 'issues_wide_tracker'
    and column_name not in (select column_name from information_schema.columns where table_name = 'issues') order by ordinal_position`);

test('custom fields are columns of their own, by name and type', async () => {
  expect(await columns()).toEqual([
    'effort | numeric',
    'go_live | date',
    'seen_at | timestamp with time zone',
    'approver | text',
    'reviewers | text',
    'grosse | text',
    'channels | text',
    'sprint | text',
    'notes | text',
    'targets | text',
    'effort_11 | text',
    'status_12 | text',
    'group_13 | text',
    'field_14 | text',
    'field_5_whys | text',
    'customer_id_16 | numeric',
    `${'x'.repeat(63)} | text`,
  ]);
  expect(
    await read(`select col_description('bi.issues_wide_tracker'::regclass, attnum) from pg_attribute
    where attrelid = 'bi.issues_wide_tracker'::regclass and attname in ('grosse', 'summary') order by attname`),
  ).toEqual(['Größe (customfield_6), as text; several values joined by a comma.', 'Title line.']);
});

test('people, options and sprints are there by name; what cannot be read as its type is null', async () => {
  await shows(
    `select issue_key, effort, go_live::text, seen_at::text, approver, reviewers, grosse, channels, sprint, notes, targets, group_13,
      field_5_whys from bi.issues_wide_tracker order by issue_key`,
    [
      "PROJ-1 | 2.5000000000 | 2024-02-29 | 2024-03-01 08:30:00.25+00 | Bob | Ann, unknown, Of a server | XL | Web, Print | Today's name, Unknown, com.atlassian…[id=9] | unclear\n@Ann\nthe plan (https://x.test/1) of @acc-1 2024-03-01 Two https://x.test/2 AT RISK\nhttps://x.test/3 | 1.0, 2.0 | parent | true",
      'PROJ-2 | - | - | - | Of a server | - | - | - | one | {"nothing": "known"} | - | - | -',
      'PROJ-3 | - | - | 2024-03-01 10:00:00+00 | unknown | - | - | - | - | - | - | - | -',
      'PROJ-4 | - | - | - | - | - | - | - | - | - | - | - | -',
    ],
  );
});

test.each(lints)('also of the view of a site: %s', async (_, offending) => {
  await shows(offending, []);
});

test('people go by pseudonyms where names are not shown', async () => {
  const names = (shown: boolean) =>
    read(
      `create or replace function ops.shows_names() returns boolean immutable parallel safe return ${shown}`,
    );
  onTestFinished(async () => void (await names(true)));
  await names(false);
  const [people = ''] = await read(
    `select approver || ', ' || reviewers from bi.issues_wide_tracker where issue_key = 'PROJ-1'`,
  );
  expect(people).toMatch(/^Person [0-9a-f]{12}(, Person [0-9a-f]{12}){3}$/);
});

test('columns survive renames, and what reads them goes on; a new type gets a new column', async () => {
  const before = await columns();
  await read(`create view bi.mine as select issue_key, effort, grosse from bi.issues_wide_tracker`);
  await read(`update tracker.fields set name = 'Renamed' where id = 'customfield_6'`);
  await read(`update tracker.fields set schema_type = 'string' where id = 'customfield_1'`);
  await read(`update tracker.fields set _deleted_at = now() where id = 'customfield_7'`);
  await insert(fieldColumns, [fieldRow([20, 'New', 'number'])]);
  await make();
  expect(await columns()).toEqual([...before, 'effort_1 | text', 'new | numeric']);
  await shows(
    `select w.issue_key, m.effort, w.effort_1, m.grosse, w.channels from bi.issues_wide_tracker w join bi.mine m using (issue_key)
      where issue_key = 'PROJ-1'`,
    ['PROJ-1 | - | 2.5 | XL | -'],
  );
  await shows(
    `select col_description('bi.issues_wide_tracker'::regclass, attnum) from pg_attribute
      where attrelid = 'bi.issues_wide_tracker'::regclass and attname in ('channels', 'grosse') order by attname`,
    [
      'Always null: the field customfield_7 is gone, or has another type now.',
      'Renamed (customfield_6), as text; several values joined by a comma.',
    ],
  );
  await shows(`select has_table_privilege('public', 'bi.issues_wide_tracker', 'select')`, ['true']);
  await read(`update tracker.fields set schema_type = 'number' where id = 'customfield_1'`);
  await make();
  await shows(
    `select effort, effort_1 from bi.mine join bi.issues_wide_tracker using (issue_key, effort) where effort > 0`,
    ['2.5000000000 | -'],
  );
});

test('nothing is made anew where nothing changed', async () => {
  await make();
  const written = () =>
    read(`select xmin, oid from pg_rewrite where ev_class = 'bi.issues_wide_tracker'::regclass`);
  const before = await written();
  expect(await make()).toEqual([]);
  expect(await written()).toEqual(before);
});

test('more fields than a view can hold are said', async () => {
  await read(`insert into tracker.fields (source_id, id, name, custom, schema_type)
    select 1, 'customfield_1' || g, 'Field ' || g, true, 'number' from generate_series(1000, 2499) g`);
  expect(await make()).toEqual([
    expect.stringMatching(/^\d+ custom fields have no column in bi.issues_wide_tracker, which is full/),
  ]);
  await read(`select count(t) from (select * from bi.issues_wide_tracker offset 0) t`);
});

/** Another warehouse, with the view of a site. */
const mySite = async () => {
  const database = await testDatabase();
  onTestFinished(() => database.drop());
  const { pool } = database.warehouse;
  await pool.query(`
    insert into ops.sources (name, kind, base_url) values ('My site', 'tracker', 'http://one');
    insert into tracker.fields (source_id, id, name, custom, schema_type) values (1, 'customfield_1', 'Size', true, 'number');
    select ops.make_issues_wide(1::smallint);
    grant select on bi.issues_wide_my_site to public`);
  return database.warehouse;
};

test('a view that somebody reads is left as it is, and the run says so', async () => {
  const { pool } = await mySite();
  const makeAgain = async () =>
    (await pool.query<{ says: string }>('select ops.make_issues_wide(1::smallint) as says')).rows;
  await pool.query(`alter function ops.make_issues_wide(smallint) set lock_timeout = '10ms';
    update tracker.fields set name = 'Width'`);
  const reader = await pool.connect();
  try {
    await reader.query('begin; select from bi.issues_wide_my_site');
    expect(await makeAgain()).toMatchObject([{ says: expect.stringMatching(/^somebody reads/) }]);
  } finally {
    await reader.query('rollback');
    reader.release();
  }
  expect(await makeAgain()).toEqual([]);
  const { rows } =
    await pool.query(`select col_description('bi.issues_wide_my_site'::regclass, attnum) as about
    from pg_attribute where attrelid = 'bi.issues_wide_my_site'::regclass and attname = 'size'`);
  expect(rows).toMatchObject([{ about: expect.stringMatching(/^Width/) }]);
});

test('a migration that makes all views anew makes this one, too, with its grants', async () => {
  const warehouse = await mySite();
  await warehouse.pool.query(`
    drop view bi.boards;
    create view bi.boards as select 1 as other;
    update ops.definitions set hash = 'of an older version' where name = 'bi.boards'`);
  await migrate(warehouse, shippedTables);
  const { rows } = await warehouse.pool.query(`select count(size)::integer as sizes,
    has_table_privilege('public', 'bi.issues_wide_my_site', 'select') as granted from bi.issues_wide_my_site`);
  expect(rows).toEqual([{ sizes: 0, granted: true }]);
});
