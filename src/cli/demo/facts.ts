/** What the demo tells at its end, asked of the warehouse and not of what was meant to happen. */
import type pg from 'pg';
import type { TrueRun } from '../../../simulators/dagu/state.ts';
import type { Tally } from '../../../simulators/jira/oracle.ts';
import { spentByDay, units } from '../../../simulators/spotify-ads/metrics.ts';
import type { AdsState } from '../../../simulators/spotify-ads/state.ts';
import type { Receipt, RunReport } from '../../core/run.ts';
import type { Change } from './changes.ts';
import { type Question, questions } from './questions.ts';

/** Counts, or exact amounts as text. */
export interface Compared {
  readonly what: string;
  readonly source: number | string;
  readonly warehouse: number | string;
}

export interface Facts {
  readonly tables: readonly {
    readonly table: string;
    readonly rows: number;
    readonly deleted: number;
    readonly about: string | null;
  }[];
  readonly receipts: readonly ({ readonly stream: string } & Receipt)[];
  /** The source's own count beside the warehouse's. */
  readonly compared: readonly Compared[];
  readonly changes: readonly { readonly what: string; readonly found: string | null }[];
  readonly answers: readonly (Question & {
    readonly columns: readonly string[];
    readonly rows: readonly (readonly unknown[])[];
  })[];
}

/** What the sources themselves hold. */
export interface Truths {
  readonly tracker: Tally;
  readonly ads: AdsState;
  readonly workflow: readonly TrueRun[];
}

/** Asks everything. `first` are the reports of the first sync: their receipts are of everything. */
export async function askFacts(
  pool: pg.Pool,
  first: readonly RunReport[],
  changes: readonly Change[],
  truths: Truths,
): Promise<Facts> {
  const answers = [];
  for (const question of questions) {
    const { rows, fields } = await pool.query<unknown[]>({ text: question.sql, rowMode: 'array' });
    answers.push({ ...question, columns: fields.map((field) => field.name), rows });
  }
  return {
    tables: await tablesOf(pool),
    receipts: first.flatMap(({ pipeline, streams }) =>
      streams
        .filter(({ status }) => status !== 'unavailable')
        .map(({ stream, receipt }) => ({ stream: `${pipeline}.${stream}`, ...receipt })),
    ),
    compared: [
      ...(await compare(pool, truths.tracker)),
      ...(await compareAds(pool, truths.ads)),
      ...(await compareWorkflow(pool, truths.workflow)),
    ],
    changes: await Promise.all(
      changes.map(async ({ what, found, values }) => {
        const { rows } = await pool.query<[string]>({ text: found, values: [...values], rowMode: 'array' });
        return { what, found: rows[0]?.[0] ?? null };
      }),
    ),
    answers,
  };
}

/** True if the warehouse holds what the source holds and has heard of every change. */
export const isTrue = (facts: Facts): boolean =>
  facts.compared.every((each) => each.source === each.warehouse) &&
  facts.changes.every((each) => each.found !== null);

async function tablesOf(pool: pg.Pool): Promise<Facts['tables']> {
  const { rows: tables } = await pool.query<{
    schema: string;
    name: string;
    about: string | null;
    tombstones: boolean;
  }>(
    `select n.nspname as schema, c.relname as name, obj_description(c.oid) as about, exists (
       select from pg_attribute a where a.attrelid = c.oid and a.attname = '_deleted_at' and not a.attisdropped) as tombstones
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('tracker', 'ads', 'workflow') and c.relkind in ('r', 'p') and not c.relispartition
     order by array_position(array['tracker', 'ads', 'workflow'], n.nspname::text), c.relname`,
  );
  return Promise.all(
    tables.map(async ({ schema, name, about, tombstones }) => {
      const dead = tombstones ? 'count(*) filter (where _deleted_at is not null)' : '0';
      const { rows } = await pool.query<{ rows: number; deleted: number }>(
        `select count(*)::int as rows, (${dead})::int as deleted from ${pgName(schema)}.${pgName(name)}`,
      );
      const found = rows[0] ?? { rows: 0, deleted: 0 };
      return { table: `${schema}.${name}`, rows: found.rows - found.deleted, deleted: found.deleted, about };
    }),
  );
}

const pgName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Rows of the lists, rows by day, and what was spent: to the micro. */
async function compareAds(pool: pg.Pool, state: AdsState): Promise<Facts['compared']> {
  const { rows } = await pool.query<{
    campaigns: number;
    ad_sets: number;
    ads: number;
    days: number;
    spend: string;
  }>(
    `select (select count(*)::int from ads.campaigns) as campaigns, (select count(*)::int from ads.ad_sets) as ad_sets,
       (select count(*)::int from ads.ads) as ads,
       (select count(*)::int from ads.report_daily where entity_type = 'AD') as days,
       (select sum(spend)::numeric(18,6)::text from ads.report_daily where entity_type = 'AD') as spend`,
  );
  const [found] = rows;
  if (found === undefined) throw new Error('the warehouse has no answer');
  const told = spentByDay(state);
  return [
    { what: 'campaigns', source: state.campaigns.size, warehouse: found.campaigns },
    { what: 'ad sets', source: state.adSets.size, warehouse: found.ad_sets },
    { what: 'ads', source: state.ads.size, warehouse: found.ads },
    { what: 'days of ads', source: told.days, warehouse: found.days },
    { what: 'spend of ads', source: units(told.micros), warehouse: found.spend },
  ];
}

/** Runs by how they ended, their steps, and the seconds they took: of those that ended, to the second. */
async function compareWorkflow(pool: pg.Pool, runs: readonly TrueRun[]): Promise<Facts['compared']> {
  const { rows } = await pool.query<{ runs: number; failed: number; steps: number; seconds: number }>(
    `select count(*)::int as runs, (count(*) filter (where state = 'failed'))::int as failed,
       (select count(*)::int from workflow.dag_run_steps) as steps,
       sum(extract(epoch from finished_at - started_at))::int as seconds
     from workflow.dag_runs`,
  );
  const [found] = rows;
  if (found === undefined) throw new Error('the warehouse has no answer');
  const sum = (of: (run: TrueRun) => number): number => runs.reduce((all, run) => all + of(run), 0);
  return [
    { what: 'runs of jobs', source: runs.length, warehouse: found.runs },
    {
      what: 'runs that failed',
      source: sum((run) => Number(run.status === 'failed')),
      warehouse: found.failed,
    },
    { what: 'steps of runs', source: sum((run) => run.steps.length), warehouse: found.steps },
    { what: 'seconds of runs', source: sum(secondsOf), warehouse: found.seconds },
  ];
}

const secondsOf = ({ startedAt, finishedAt }: TrueRun): number =>
  startedAt === null || finishedAt === null ? 0 : (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000;

/** Of issues that live: what hangs on deleted ones is no longer counted at the source either. */
async function compare(pool: pg.Pool, truth: Tally): Promise<Facts['compared']> {
  const of = (what: string, table: string, source: number, where = '') => ({ what, table, source, where });
  const hanging = [
    of('changes of issues', 'issue_changelog', truth.changeItems),
    of('comments', 'comments', truth.comments, 'and c._deleted_at is null'),
    of('worklogs', 'worklogs', truth.worklogs, 'and c._deleted_at is null'),
    of('labels', 'issue_labels', truth.labels),
    of('links', 'issue_links', truth.links),
  ];
  const count = async (text: string): Promise<number> =>
    (await pool.query<{ n: number }>(text)).rows[0]?.n ?? 0;
  return [
    {
      what: 'issues',
      source: truth.issues,
      warehouse: await count('select count(*)::int as n from tracker.issues where _deleted_at is null'),
    },
    ...(await Promise.all(
      hanging.map(async ({ what, table, source, where }) => ({
        what,
        source,
        warehouse: await count(
          `select count(*)::int as n from tracker.${table} c join tracker.issues i on i.source_id = c.source_id and i.id = c.issue_id
           where i._deleted_at is null ${where}`,
        ),
      })),
    )),
  ];
}
