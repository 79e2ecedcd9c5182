import type pg from 'pg';
import { recipes } from '../docs/bi/cookbook.ts';
import { examples } from '../docs/bi/examples.ts';
import type { Lent } from './ads.ts';
import { bigSizes, fillBigWarehouse } from './big-warehouse.ts';
import { median } from './statistics.ts';

/** How long a question took, and how that compares with reading its largest table once. */
interface Timed {
  readonly what: string;
  readonly seconds: number;
  readonly table: string;
  readonly ratio: number;
}

const rounds = 5;
const goalSeconds = 1;

/** (i): asks every view its example question, and the questions of the cookbook, on the big warehouse. Gives a section of the page. */
export async function measureViews({
  freshDatabase,
  say,
}: Pick<Lent, 'freshDatabase' | 'say'>): Promise<string> {
  const { warehouse } = await freshDatabase('bench_views');
  say(`filling a warehouse with ${bigSizes.issues} issues …`);
  await fillBigWarehouse(warehouse.pool, bigSizes, say);
  const client = await warehouse.pool.connect();
  try {
    const views: Timed[] = [];
    for (const { view, sql } of examples) views.push(await timed(client, `\`${view}\``, sql));
    const questions: Timed[] = [];
    for (const { title, sql } of recipes) questions.push(await timed(client, title, sql));
    return section(views, questions);
  } finally {
    client.release();
    await warehouse.close();
  }
}

async function timed(client: pg.PoolClient, what: string, sql: string): Promise<Timed> {
  const seconds = await medianSeconds(client, sql);
  const table = await largestTable(client, sql);
  return {
    what,
    seconds,
    table,
    ratio: seconds / (await medianSeconds(client, `select count(*) from ${table}`)),
  };
}

/** After one round that warms up. */
async function medianSeconds(client: pg.PoolClient, sql: string): Promise<number> {
  const taken: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const begun = performance.now();
    await client.query(sql);
    taken.push((performance.now() - begun) / 1000);
  }
  return median(taken.slice(1));
}

/** Of the tables that the plan reads, the one with the most rows; partitions count as their table. */
async function largestTable(client: pg.PoolClient, sql: string): Promise<string> {
  const { rows: plan } = await client.query(`explain (verbose, format json) ${sql}`);
  const named = JSON.stringify(plan).matchAll(/"Relation Name":"(\w+)","Schema":"(\w+)"/g);
  const { rows } = await client.query<{ name: string }>(
    `select coalesce(i.inhparent, c.oid)::regclass::text as name from pg_class c
     left join pg_inherits i on i.inhrelid = c.oid
     where c.oid = any($1::regclass[]) group by 1 order by sum(c.reltuples) desc limit 1`,
    [[...named].map(([, table, schema]) => `${schema}.${table}`)],
  );
  if (rows[0] === undefined) throw new Error(`no table is read by: ${sql}`);
  return rows[0].name;
}

/** Where the page goes on with this section. */
export const viewsHead = '## Views';

function section(views: readonly Timed[], questions: readonly Timed[]): string {
  const size = [bigSizes.issues, bigSizes.changes, bigSizes.runs].map((n) => n.toLocaleString('en'));
  return `${viewsHead}

Part (i): ${size[0]} issues with ${size[1]} changes, a million rows of ads by day, ${size[2]} runs of DAGs. Each question is asked ${rounds} times
after a round that warms up; the median counts, and beside it the ratio to \`count(*)\` of the largest table that the question reads. The goal is
at most ${goalSeconds} s. The questions of the views are in \`docs/bi/examples.ts\`, the others in the [cookbook](bi/cookbook.md).

${table('view', views)}

${table('question of the cookbook', questions)}
`;
}

const table = (title: string, rows: readonly Timed[]): string =>
  [
    `| ${title} | seconds | | largest table | ratio to its scan |`,
    '|---|---|---|---|---|',
    ...rows.map(({ what, seconds, table: name, ratio }) => {
      const verdict = seconds <= goalSeconds ? 'met' : 'not met';
      return `| ${what} | ${seconds.toFixed(3)} | ${verdict} | \`${name}\` | ${ratio.toPrecision(2)} |`;
    }),
  ].join('\n');
