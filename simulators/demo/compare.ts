/** The sources' own counts beside the warehouse's. */
import type pg from 'pg';
import type { TrueRun } from '../dagu/state.ts';
import type { Tally } from '../jira/oracle.ts';
import { spentByDay, units } from '../spotify-ads/metrics.ts';
import type { AdsState } from '../spotify-ads/state.ts';

/** One fact as both sides have it: a count, or an exact amount as text. */
export interface Compared {
  readonly what: string;
  readonly source: number | string;
  readonly warehouse: number | string;
}

/** What the sources themselves hold. */
export interface Truths {
  readonly tracker: Tally;
  readonly ads: AdsState;
  readonly workflow: readonly TrueRun[];
}

/** Counts everything on both sides. */
export async function compare(pool: pg.Pool, truths: Truths): Promise<readonly Compared[]> {
  return [
    ...(await compareTracker(pool, truths.tracker)),
    ...(await compareAds(pool, truths.ads)),
    ...(await compareWorkflow(pool, truths.workflow)),
  ];
}

/** Rows of the lists, rows by day, and the spend in each currency, exact to the micro. */
async function compareAds(pool: pg.Pool, state: AdsState): Promise<readonly Compared[]> {
  const { rows } = await pool.query<{
    campaigns: number;
    ad_sets: number;
    ads: number;
    days: number;
    spend: Readonly<Record<string, string>>;
  }>(
    `select (select count(*)::int from ads.campaigns) as campaigns, (select count(*)::int from ads.ad_sets) as ad_sets,
       (select count(*)::int from ads.ads) as ads,
       (select count(*)::int from ads.report_daily where entity_type = 'AD') as days,
       (select jsonb_object_agg(currency, spend) from (
          select a.currency_code as currency, sum(spend)::numeric(18,6)::text as spend
          from ads.report_daily r join ads.ad_accounts a on a.source_id = r.source_id and a.id = r.ad_account_id
          where entity_type = 'AD' group by 1) sums) as spend`,
  );
  const [found] = rows;
  if (found === undefined) throw new Error('the warehouse returned no row of counts');
  const spent = spentByDay(state);
  return [
    { what: 'campaigns', source: state.campaigns.size, warehouse: found.campaigns },
    { what: 'ad sets', source: state.adSets.size, warehouse: found.ad_sets },
    { what: 'ads', source: state.ads.size, warehouse: found.ads },
    { what: 'days of ads', source: spent.days, warehouse: found.days },
    ...[...spent.micros].map(([currency, micros]) => ({
      what: `spend of ads, ${currency}`,
      source: units(micros),
      warehouse: found.spend[currency] ?? 'none',
    })),
  ];
}

/** Runs, failed runs, steps, and the whole seconds that ended runs took. */
async function compareWorkflow(pool: pg.Pool, runs: readonly TrueRun[]): Promise<readonly Compared[]> {
  const { rows } = await pool.query<{ runs: number; failed: number; steps: number; seconds: number }>(
    `select count(*)::int as runs, (count(*) filter (where state = 'failed'))::int as failed,
       (select count(*)::int from workflow.dag_run_steps) as steps,
       sum(extract(epoch from finished_at - started_at))::int as seconds
     from workflow.dag_runs`,
  );
  const [found] = rows;
  if (found === undefined) throw new Error('the warehouse returned no row of counts');
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

/** Counts only what belongs to issues that are not deleted: the source's count does the same. */
async function compareTracker(pool: pg.Pool, truth: Tally): Promise<readonly Compared[]> {
  const of = (what: string, table: string, source: number, where = '') => ({ what, table, source, where });
  const parts = [
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
      parts.map(async ({ what, table, source, where }) => ({
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
