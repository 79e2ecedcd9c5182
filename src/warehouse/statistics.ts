/**
 * Statistics for the planner, where autovacuum comes too late or never: it leaves out partitioned tables and those with fewer than fifty changed
 * rows, and a table that it does not know is taken for hundreds of rows.
 */
import pLimit from 'p-limit';
import type pg from 'pg';
import { codeOf } from '../core/errors.ts';

/**
 * Analyzes the tables without statistics and those of which more than a tenth has changed; gives their names. Waits for nobody: a table that
 * another session holds, and one that this user may not analyze, is left as it is. When `signal` aborts, the rest is, too.
 */
export async function refreshStatistics(pool: pg.Pool, signal?: AbortSignal): Promise<readonly string[]> {
  await reportChanges(pool);
  const { rows } = await pool.query<{ name: string }>(due);
  const refreshed = await pLimit(atOnce).map(rows, async ({ name }) =>
    !signal?.aborted && (await analyze(pool, name)) ? [name] : [],
  );
  return refreshed.flat();
}

/** The largest table takes as long as all others: it goes first, beside them. */
const atOnce = 2;

/** A session may keep for itself what it has changed for ten seconds: every idle one is made to say it. Postgres 14 does by itself. */
async function reportChanges(pool: pg.Pool): Promise<void> {
  const flush = `do $$ begin
    perform pg_stat_force_next_flush();
  exception when undefined_function then null;
  end $$`;
  await Promise.all(Array.from({ length: pool.idleCount }, () => pool.query(flush)));
}

/** Samples of 12,000 rows, not the usual 30,000: a wide table costs a third. (PostgreSQL documentation, "ANALYZE": 300 rows a unit of the target.) */
const sample = 'set local default_statistics_target = 40';

/** SQLSTATEs: lock_not_available, query_canceled, undefined_table. */
const passedOver: ReadonlySet<string> = new Set(['55P03', '57014', '42P01']);

async function analyze(pool: pg.Pool, name: string): Promise<boolean> {
  try {
    await pool.query(`set local lock_timeout = '100ms'; ${sample}; analyze ${name}`);
    return true;
  } catch (error) {
    if (passedOver.has(codeOf(error) ?? '')) return false;
    throw error;
  }
}

/**
 * A partitioned table is analyzed with its parts. It is due with any of them, and where autovacuum has analyzed one since.
 */
const due = `
  select format('%I.%I', r.relnamespace::regnamespace, r.relname) as name
  from (
    select coalesce(pg_partition_root(oid), oid) as root, oid, relpages, reltuples,
      pg_stat_get_mod_since_analyze(oid) as changes,
      pg_stat_get_last_analyze_time(oid) as by_us, pg_stat_get_last_autoanalyze_time(oid) as by_autovacuum
    from pg_class
    where relkind in ('r', 'p') and pg_has_role(relowner, 'usage') and relnamespace::regnamespace::text in (
      select 'ref' union select split_part(name, '.', 1) from ops.definitions where kind in ('table', 'view')
    )
  ) t
  join pg_class r on r.oid = t.root
  group by r.oid
  having bool_or(coalesce(by_us, by_autovacuum) is null or t.changes > t.reltuples / 10)
    or max(by_autovacuum) filter (where t.oid <> root) > max(by_us) filter (where t.oid = root)
  order by sum(t.relpages) desc, name`;
