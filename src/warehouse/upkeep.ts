/**
 * Vacuum and analyze for a server that runs for seconds at a time: its autovacuum never comes to look. Without them tables keep the room of
 * their dead rows, and queries are planned without statistics.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { targetOf } from './routes.ts';
import { prepareSession } from './session.ts';

/**
 * Vacuums and analyzes the tables of a database that are due, the catalogue's among them; gives their names. A table that another session has
 * locked is left out; when `signal` aborts, the rest is, too. For its owner and superuser. Throws what the server answers.
 */
export async function tidyTables(url: string, signal?: AbortSignal): Promise<readonly string[]> {
  const done: string[] = [];
  const { login } = targetOf(url).routes[0];
  const client = new pg.Client({ ...login, application_name: 'tidemark upkeep' });
  // A connection that breaks fails the statement under way.
  client.on('error', () => undefined);
  try {
    if (signal?.aborted) return done;
    await client.connect();
    await prepareSession(client, 0);
    signal?.addEventListener('abort', () => void client.end(), { once: true });
    await othersEnded(client);
    for (const { name } of (await client.query<{ name: string }>(due)).rows) {
      await client.query(`vacuum (skip_locked, analyze) ${name}`);
      done.push(name);
    }
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    await client.end();
  }
  return done;
}

/** A server process reports what it changed when it ends: sessions that were just closed get 200 ms. */
async function othersEnded(client: pg.Client): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const { rows } = await client.query(`select from pg_stat_activity
      where backend_type = 'client backend' and pid <> pg_backend_pid() and application_name like 'tidemark%'`);
    if (rows.length === 0) return;
    await sleep(10);
  }
}

/** By the default limits of autovacuum, see "The Autovacuum Daemon" in the manual of Postgres. Small tables first. */
const due = `
  select format('%I.%I', s.schemaname, s.relname) as name
  from pg_stat_all_tables s join pg_class c on c.oid = s.relid, greatest(c.reltuples, 0) as rows
  where c.relkind in ('r', 'm') and c.relpersistence = 'p' and s.schemaname <> 'pg_toast'
    and (n_dead_tup > 50 + 0.2 * rows or n_ins_since_vacuum > 1000 + 0.2 * rows or n_mod_since_analyze > 50 + 0.1 * rows)
  order by c.relpages, name`;
