import os from 'node:os';
import pg from 'pg';
import { recipes } from '../docs/bi/cookbook.ts';
import { examples } from '../docs/bi/examples.ts';
import { grantReader } from '../src/bi/grant-reader.ts';
import type { Warehouse } from '../src/warehouse/connect.ts';
import type { Lent } from './ads.ts';
import { asNightsLeaveIt, bigSizes, fillBigWarehouse } from './big-warehouse.ts';
import { questions } from './questions.ts';
import { median } from './statistics.ts';

/** How long a question took, and how that compares with reading its largest table once. */
interface Timed {
  readonly what: string;
  readonly seconds: number;
  /** Undefined for what reads no table. */
  readonly table: string | undefined;
  readonly ratio: number | undefined;
}

const rounds = 5;
const goalSeconds = 1;

/** (i): fills the big warehouse and times questions to it. Gives a section of the page. */
export async function measureViews({
  freshDatabase,
  say,
}: Pick<Lent, 'freshDatabase' | 'say'>): Promise<string> {
  const { warehouse } = await freshDatabase('bench_views');
  try {
    say(`filling a warehouse with ${bigSizes.issues} issues …`);
    await fillBigWarehouse(warehouse.pool, bigSizes, say);
    const facts = await timeFacts(warehouse.pool, say);
    return `${await timeQuestions(warehouse, say)}\n${facts}`;
  } finally {
    await warehouse.close();
  }
}

/** How long it takes to derive the facts of a night, and all of them. A paragraph of the page. */
export async function timeFacts(pool: pg.Pool, say: Lent['say']): Promise<string> {
  const seconds = async (sql: string): Promise<string> => {
    const begun = performance.now();
    await pool.query(sql);
    return ((performance.now() - begun) / 1000).toFixed(2);
  };
  const night = await seconds(`update tracker.issues set updated_at = now() where source_id = 1 and id in (
    select id from tracker.issues where source_id = 1 and _deleted_at is null order by hashint8(id) limit 2000)`);
  const all = await seconds('select tracker.derive_all()');
  await asNightsLeaveIt(pool);
  say(`facts: ${night} s for 2,000 issues, ${all} s for all`);
  return `Stored facts: a write that touches 2,000 of these issues took ${night} s with its facts (goal: at most 3 s), \`derive --all\` ${all} s (goal: at
most 60 s).
`;
}

/** Asks every view its example question, and the questions of the cookbook, as a login of `tidemark grant-reader` does. */
export async function timeQuestions(warehouse: Warehouse, say: Lent['say']): Promise<string> {
  const { url } = await grantReader(warehouse, 'bench_reader');
  const reader = new pg.Client(url);
  await reader.connect();
  const all = async (list: readonly { readonly what: string; readonly sql: string }[]) => {
    const times: Timed[] = [];
    for (const { what, sql } of list) {
      const one = await timed({ reader, pool: warehouse.pool }, what, sql);
      say(`${what}: ${one.seconds.toFixed(3)} s`);
      times.push(one);
    }
    return times;
  };
  try {
    const views = await all(examples.map(({ view, sql }) => ({ what: `\`${view}\``, sql })));
    return section(
      views,
      await all(recipes.map(({ title, sql }) => ({ what: title, sql }))),
      await all(questions),
    );
  } finally {
    await reader.end();
  }
}

/** The reader asks the questions; the owner, by `pool`, looks at the tables that they read. */
interface Askers {
  readonly reader: pg.Client;
  readonly pool: pg.Pool;
}

async function timed({ reader, pool }: Askers, what: string, sql: string): Promise<Timed> {
  const seconds = await medianSeconds(reader, sql);
  const table = await largestTable(pool, sql);
  const scan = table === undefined ? undefined : await medianSeconds(pool, `select count(*) from ${table}`);
  return { what, seconds, table, ratio: scan === undefined ? undefined : seconds / scan };
}

/** After one round that warms up. */
async function medianSeconds(client: Pick<pg.Pool, 'query'> | pg.Client, sql: string): Promise<number> {
  const taken: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const begun = performance.now();
    await client.query(sql);
    taken.push((performance.now() - begun) / 1000);
  }
  return median(taken.slice(1));
}

/** Of the tables that the plan reads, the one with the most rows; partitions count as their table. */
async function largestTable(client: pg.Pool, sql: string): Promise<string | undefined> {
  const { rows: plan } = await client.query(`explain (verbose, format json) ${sql}`);
  const named = JSON.stringify(plan).matchAll(/"Relation Name":"(\w+)","Schema":"(\w+)"/g);
  const { rows } = await client.query<{ name: string }>(
    `select coalesce(i.inhparent, c.oid)::regclass::text as name from pg_class c
     left join pg_inherits i on i.inhrelid = c.oid
     where c.oid = any($1::regclass[]) group by 1 order by sum(c.reltuples) desc limit 1`,
    [[...named].map(([, table, schema]) => `${schema}.${table}`)],
  );
  return rows[0]?.name;
}

/** Where the page goes on with this section. */
export const viewsHead = '## Views';

function section(views: readonly Timed[], recipes: readonly Timed[], others: readonly Timed[]): string {
  const size = [bigSizes.issues, bigSizes.changes, bigSizes.runs].map((n) => n.toLocaleString('en'));
  return `${viewsHead}

Part (i): ${size[0]} issues with ${size[1]} changes, a million rows of ads by day, ${size[2]} runs of DAGs. Each question is asked ${rounds} times
after a round that warms up; the median counts, and beside it the ratio to \`count(*)\` of the largest table that the question reads. The goal is
at most ${goalSeconds} s on an idle machine; the load average was ${os.loadavg()[0]?.toFixed(1)} at the end. The questions of the views are in \`docs/bi/examples.ts\`, others in the [cookbook](bi/cookbook.md)
and in \`bench/questions.ts\`. They are asked by a login of \`tidemark grant-reader\`, with the statistics that a sync and autovacuum leave.

${table('view', views)}

${table('question of the cookbook', recipes)}

${table('question of an analyst in a hurry', others)}
`;
}

const table = (title: string, rows: readonly Timed[]): string =>
  [
    `| ${title} | seconds | | largest table | ratio to its scan |`,
    '|---|---|---|---|---|',
    ...rows.map(({ what, seconds, table: name, ratio }) => {
      const verdict = seconds <= goalSeconds ? 'met' : 'not met';
      return `| ${what} | ${seconds.toFixed(3)} | ${verdict} | ${name ?? '–'} | ${ratio === undefined ? '–' : ratio.toFixed(ratio < 10 ? 1 : 0)} |`;
    }),
  ].join('\n');
