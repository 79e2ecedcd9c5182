import fs from 'node:fs';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { shippedTables } from '../../../src/connectors/index.ts';
import { migrate } from '../../../src/warehouse/migrate.ts';
import { testDatabase } from '../../support/postgres.ts';

/** The definition of links: all texts are searched when they are read. Schema `model`. */
const model = fs.readFileSync(new URL('links-model.sql', import.meta.url), 'utf8');

const sources = `insert into ops.sources (name, kind, base_url) values
  ('tracker', 'tracker', 'http://one'), ('elsewhere', 'tracker', 'http://two'),
  ('platform', 'ads', 'http://three'), ('other ads', 'ads', 'http://four'), ('engine', 'workflow', 'http://five')`;

async function opened() {
  const database = await testDatabase();
  onTestFinished(() => database.drop());
  const { warehouse } = database;
  const { pool } = warehouse;
  await pool.query(sources);
  await pool.query(model);
  const rows = async (query: string) => (await pool.query(query)).rows;
  return { warehouse, pool, rows };
}

/** Links and mentions that only the warehouse or only the model has. */
const differing = [
  ['bi.cross_links', 'model.cross_links'],
  [
    '(select to_kind, from_kind, from_field, source_id, record_id, record_name, mention from ops.text_mentions) t',
    'model.link_mentions where mention is not null',
  ],
].map(
  ([is, wanted]) => `select 'stored' as has, * from (select * from ${is} except all select * from ${wanted}) s
    union all select 'named', * from (select * from ${wanted} except all select * from ${is}) n`,
);

const of = (...values: readonly (string | number)[]) => fc.constantFrom(...values);
const spring = '0a1b2c3d-0000-4000-8000-00000000000a';
const winter = '0a1b2c3d-0000-4000-8000-00000000000b';
const ids = [spring, winter];
const keys = ['AB-1', 'AB-2', 'CD-1', 'CD-2'];
const tracker = of(1, 2);
const ads = of(3, 4);
const issue = of(1, 2, 3);
const key = of(...keys.map((each) => `'${each}'`));
const campaign = of(...ids.map((each) => `'${each}'`));
const run = of('r1', 'r2', '1');

/** Texts with any number of names, some of them twice or within words. */
const text = fc.oneof(
  { arbitrary: fc.constant('null'), weight: 1 },
  {
    arbitrary: fc
      .array(
        of(...keys, ...ids, ...ids.map((id) => id.toUpperCase()), 'xAB-1', 'AB-12', 'ZZ-9', 'see', '', 'é'),
        {
          maxLength: 4,
        },
      )
      .map((words) => `'${words.join(' ')}'`),
    weight: 6,
  },
);

const patterns = of(
  `'issue', 'summary', '[A-Z]+-[0-9]+', 'issue', 'key'`,
  `'issue', 'description', 'see ([A-Z]+-[0-9]+)', 'issue', 'key'`,
  `'issue', 'description', '[0-9a-f-]{36}', 'campaign', 'id'`,
  `'campaign', 'name', '[0-9a-f-]{36}', 'campaign', 'id'`,
  `'campaign', 'name', '(?i)(zz-9)|ab-1', 'issue', 'key'`,
  `'dag_run', 'params', '.*', 'issue', 'key'`,
  `'dag_run', 'params', '(?i)[0-9a-f-]{36}', 'campaign', 'id'`,
);

const update = (table: string, where: fc.Arbitrary<string>, set: fc.Arbitrary<string>) =>
  fc.tuple(where, set).map(([which, to]) => `update ${table} set ${to} where ${which}`);
const assigned = (column: string, value: fc.Arbitrary<string | number>) =>
  value.map((to) => `${column} = ${to}`);
const oneIssue = fc.tuple(tracker, issue).map(([source, id]) => `(source_id, id) = (${source}, ${id})`);
const oneCampaign = fc.tuple(ads, campaign).map(([source, id]) => `(source_id, id) = (${source}, ${id})`);
const oneRun = run.map((id) => `dag_run_id = '${id}'`);
const gone = of('_deleted_at = now()', '_deleted_at = null').map(String);

/** What a sync, a reconciliation or a person may write. */
const step = fc.oneof(
  {
    arbitrary: fc.tuple(tracker, issue, key, text, text).map(
      ([source, id, named, summary, description]) => `insert into tracker.issues
        (source_id, id, key, project_id, status_id, summary, description, created_at, updated_at)
        values (${source}, ${id}, ${named}, 10, 1, ${summary}, ${description}, now(), now())
        on conflict (source_id, id) do update set key = excluded.key, summary = excluded.summary,
          description = excluded.description, _deleted_at = null;
      insert into tracker.issue_keys (source_id, key, issue_id) values (${source}, ${named}, ${id}) on conflict do nothing`,
    ),
    weight: 5,
  },
  update(
    'tracker.issues',
    oneIssue,
    fc.oneof(
      gone,
      of(
        `security_level = 'Board'`,
        'security_level = null, security_level_id = null',
        'security_level_id = 7',
      ).map(String),
      assigned('key', key),
      assigned('summary', text),
      assigned('description', text),
      fc.constant('updated_at = now()'),
    ),
  ),
  update(
    'tracker.issues',
    tracker.map((id) => `source_id = ${id}`),
    assigned('summary', text),
  ),
  oneIssue.map((which) => `delete from tracker.issues where ${which}`),
  fc
    .tuple(tracker, key, issue)
    .map(
      ([source, named, id]) =>
        `insert into tracker.issue_keys (source_id, key, issue_id) values (${source}, ${named}, ${id}) on conflict do nothing`,
    ),
  key.map((named) => `delete from tracker.issue_keys where key = ${named}`),
  {
    arbitrary: fc.tuple(ads, campaign, text, text).map(
      ([
        source,
        id,
        name,
        order,
      ]) => `insert into ads.campaigns (source_id, id, ad_account_id, name, purchase_order)
        values (${source}, ${id}, 'a', ${name}, ${order})
        on conflict (source_id, id) do update set name = excluded.name, purchase_order = excluded.purchase_order`,
    ),
    weight: 4,
  },
  update('ads.campaigns', oneCampaign, fc.oneof(gone, assigned('purchase_order', text))),
  // An id may become that of another record.
  update(
    'ads.campaigns',
    fc.constant('true'),
    fc.constant(`source_id = case source_id when 3 then 4 else 5 end`),
  ),
  oneCampaign.map((which) => `delete from ads.campaigns where ${which}`),
  {
    arbitrary: fc.tuple(of('load', 'AB-1'), run, text).map(
      ([dag, id, params]) => `insert into workflow.dag_runs (source_id, dag_name, dag_run_id, state, params)
        values (5, '${dag}', '${id}', 'succeeded', ${params})
        on conflict (source_id, dag_name, dag_run_id) do update set params = excluded.params`,
    ),
    weight: 4,
  },
  update(
    'workflow.dag_runs',
    oneRun,
    fc.oneof(gone, assigned('params', text), fc.constant(`state = 'failed'`)),
  ),
  oneRun.map((which) => `delete from workflow.dag_runs where ${which}`),
  of('tracker.issues', 'ads.campaigns', 'workflow.dag_runs').map((name) => `truncate ${name} cascade`),
  {
    arbitrary: patterns.map((row) => `insert into ref.link_patterns values (${row}) on conflict do nothing`),
    weight: 2,
  },
  of('issue', 'campaign', 'dag_run').map(
    (kind) => `delete from ref.link_patterns where from_kind = '${kind}'`,
  ),
  fc.constant(
    `update ref.link_patterns set pattern = pattern || '|(QQ)' where from_field = 'params' and length(pattern) < 60`,
  ),
  of('true', 'false').map(
    (
      shown,
    ) => `create or replace function ops.shows_restricted_issues() returns boolean immutable parallel safe return ${shown};
      select tracker.derive_all()`,
  ),
);

const uniqueViolation = '23505';

/** Steps of one transaction; some are rolled back. */
const transaction = fc.tuple(
  fc.array(step, { minLength: 1, maxLength: 6 }),
  of('commit', 'commit', 'commit', 'rollback'),
);

test('in whatever order records and patterns come, links are what the texts of now name', {
  timeout: 180_000,
}, async () => {
  const { rows } = await opened();
  let links = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(transaction, { minLength: 1, maxLength: 12 }), async (transactions) => {
      for (const [steps, end] of transactions) {
        await rows(['begin', ...steps, end].join(';\n')).catch(async (error) => {
          // Two steps may want the same key.
          if (error.code !== uniqueViolation) throw error;
          await rows('rollback');
        });
        for (const difference of differing) expect(await rows(difference)).toEqual([]);
      }
      const [{ n }] = await rows('select count(*)::int as n from bi.cross_links');
      links += n;
      // The next history goes on from here.
    }),
    { numRuns: 30, ...(process.env.MODEL_SEED && { seed: Number(process.env.MODEL_SEED) }) },
  );
  expect(links).toBeGreaterThan(0);
});

test('a pattern and a text that are written at the same time find each other', async () => {
  const { pool, rows } = await opened();
  await rows(`delete from ref.link_patterns;
    insert into tracker.issues (source_id, id, key, project_id, status_id, created_at, updated_at)
      values (1, 1, 'AB-1', 10, 1, now(), now());
    insert into tracker.issue_keys (source_id, key, issue_id) values (1, 'AB-1', 1)`);
  const text = (id: string) =>
    `insert into ads.campaigns (source_id, id, ad_account_id, name) values (3, '${id}', 'a', 'AB-1')`;
  const pattern = (words: string) =>
    `insert into ref.link_patterns values ('campaign', 'name', '${words}', 'issue', 'key')`;
  for (const [first, second] of [
    [text('one'), pattern('[A-Z]+-1')],
    [pattern('[A-Z]{2}-1'), text('two')],
  ]) {
    const client = await pool.connect();
    await client.query(`begin; ${first}`);
    const other = pool.query(`${second}`);
    await expect
      .poll(() => rows(`select from pg_locks where not granted and relation = 'ops.text_mentions'::regclass`))
      .toHaveLength(1);
    await client.query('commit');
    client.release();
    await other;
  }
  expect(await rows('select from_id, to_name from bi.cross_links order by 1')).toEqual([
    { from_id: 'one', to_name: 'AB-1' },
    { from_id: 'two', to_name: 'AB-1' },
  ]);
});

test('a mention longer than an index holds stops no load', async () => {
  const { rows } = await opened();
  await rows(`insert into ref.link_patterns values ('campaign', 'name', '.+', 'issue', 'key')`);
  await rows(`insert into ads.campaigns (source_id, id, ad_account_id, name)
    select 3, 'long', 'a', string_agg(md5(n::text), '') from generate_series(1, 1000) n`);
  expect(await rows('select length(mention) from ops.text_mentions')).toEqual([{ length: 32_000 }]);
});

test('migrating finds what the texts of an existing warehouse name', async () => {
  const { warehouse, rows } = await opened();
  // As an earlier version made it.
  await rows(`drop schema model cascade;
    drop table ops.text_mentions cascade;
    drop function ops.keep_mentions cascade;
    delete from ops.definitions where name in ('5_mentions', 'bi.cross_links', 'bi.linked_campaign_spend_daily')`);
  await rows(`insert into ads.campaigns (source_id, id, ad_account_id, name) values (3, '${spring}', 'a', 'Spring');
    insert into workflow.dag_runs (source_id, dag_name, dag_run_id, state, params)
      values (5, 'load', 'r1', 'succeeded', 'CAMPAIGN=${spring}')`);
  await migrate(warehouse, shippedTables);
  expect(await rows('select from_id, to_name from bi.cross_links')).toEqual([
    { from_id: 'r1', to_name: 'Spring' },
  ]);
});
