/**
 * What autovacuum does for a server that runs all the time, done for one that runs for seconds at a time: it never comes to look at it.
 * Without it tables keep the room of their dead rows for ever, and queries are planned without knowing anything of the tables.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** A connection's server process tells what it changed when it ends. So long, in ms, those that were just closed are waited for. */
const lastWordsMs = 200;
const aLittleMs = 10;

/** So long a server may take to let us in, ms: whoever ends waits for it, and one that hangs would never let them go. */
const loginMs = 10_000;

interface Due {
  readonly name: string;
  readonly vacuum: boolean;
}

/**
 * Vacuums and analyzes the tables of a database that are due by the server's own settings for autovacuum, the catalogue's among them; gives
 * their names. A table that somebody else is at is left out; when `signal` aborts, the rest is, too. For its owner and superuser.
 * Throws what the server answers.
 */
export async function tidyTables(url: string, signal?: AbortSignal): Promise<readonly string[]> {
  const done: string[] = [];
  const isStopped = (): boolean => signal?.aborted === true;
  if (isStopped()) return done;
  const client = new pg.Client({
    connectionString: url,
    application_name: 'tidemark upkeep',
    connectionTimeoutMillis: loginMs,
  });
  // A break shows itself in the statement under way.
  client.on('error', () => undefined);
  const cut = (): void => void client.end();
  try {
    await client.connect();
    signal?.addEventListener('abort', cut);
    await othersEnded(client);
    for (const { name, vacuum } of (await client.query<Due>(due)).rows) {
      await client.query(vacuum ? `vacuum (skip_locked, analyze) ${name}` : `analyze (skip_locked) ${name}`);
      done.push(name);
    }
  } catch (error) {
    if (!isStopped()) throw error;
  } finally {
    signal?.removeEventListener('abort', cut);
    await client.end();
  }
  return done;
}

async function othersEnded(client: pg.Client): Promise<void> {
  const deadline = performance.now() + lastWordsMs;
  while (performance.now() < deadline) {
    const { rows } = await client.query(
      `select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() and application_name like 'tidemark%'`,
    );
    if (rows.length === 0) return;
    await sleep(aLittleMs);
  }
}

/** The rules of autovacuum, see "The Autovacuum Daemon" in the manual of Postgres. Small tables first. */
const due = `
  with limits as (
    select name, setting::float8 as value from pg_settings where name like 'autovacuum%threshold' or name like 'autovacuum%scale_factor'
  ), counted as (
    select format('%I.%I', s.schemaname, s.relname) as name, c.relpages, s.n_mod_since_analyze, s.n_dead_tup, s.n_ins_since_vacuum,
      greatest(c.reltuples, 0) as rows
    from pg_stat_all_tables s join pg_class c on c.oid = s.relid
    where c.relkind in ('r', 'm') and c.relpersistence = 'p' and s.schemaname <> 'pg_toast'
  ), judged as (
    select name, relpages,
      n_dead_tup > ${limit('vacuum')} or n_ins_since_vacuum > ${limit('vacuum_insert')} as to_vacuum,
      n_mod_since_analyze > ${limit('analyze')} as to_analyze
    from counted
  )
  select name, to_vacuum as vacuum from judged where to_vacuum or to_analyze order by relpages, name`;

function limit(kind: string): string {
  const value = (suffix: string): string =>
    `(select value from limits where name = 'autovacuum_${kind}_${suffix}')`;
  return `${value('threshold')} + ${value('scale_factor')} * rows`;
}
