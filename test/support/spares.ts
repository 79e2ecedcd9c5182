import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { inject } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { asOwner } from './owner.ts';

/**
 * Databases that a test is done with, emptied for the next: one that was shown to be as the template again is as good as a copy of it.
 * The names tell which are free; a lock lets one process at a time take one.
 */
const free = 'spare';
const locked = (client: pg.Client): Promise<unknown> =>
  client.query(`select pg_advisory_lock(hashtext('${free}'))`);

/** Gives a free database this name; false if there is none. */
export const takeSpare = (name: string): Promise<boolean> =>
  asOwner(async (client) => {
    await locked(client);
    const { rows } = await client.query<{ spare: string }>(
      `select datname as spare from pg_database where datname ~ '^${free}_' limit 1`,
    );
    const [found] = rows;
    if (found) await client.query(`alter database ${found.spare} rename to ${name}`);
    return found !== undefined;
  });

/** Ends what is still going on in a database and empties it; true if it is as the template then. */
export const isEmptied = (name: string): Promise<boolean> =>
  asOwner((client) => isEmptiedBy(client, [client]), name);

/** The same by one of these sessions, which are all that may stay. */
async function isEmptiedBy(client: pg.ClientBase, staying: readonly pg.ClientBase[]): Promise<boolean> {
  const { clean, look, digest } = inject('postgres').pristine;
  await alone(client, staying);
  await client.query(clean);
  const { rows } = await client.query<{ digest: string }>(look);
  return rows[0]?.digest === digest;
}

/** Waits a moment for sessions that are ending by themselves, and ends the others: the server looks only ten times a second whether they have. */
async function alone(client: pg.ClientBase, staying: readonly pg.ClientBase[]): Promise<void> {
  const pids = staying.map((one) => Reflect.get(one, 'processID'));
  const others = 'from pg_stat_activity where datname = current_database() and pid <> all ($1::int[])';
  for (let look = 0; look < 20; look += 1) {
    if ((await client.query(`select ${others}`, [pids])).rows.length === 0) return;
    await sleep(3);
  }
  await client.query(`select pg_terminate_backend(pid, 10000) ${others}`, [pids]);
}

/**
 * Ends what a session keeps beyond a transaction, and reports what it has counted, which would be counted for the next test (Postgres 14 does so by
 * itself).
 */
const tidy = `rollback; unlisten *; discard temp; select pg_advisory_unlock_all(); do $$ begin
  perform pg_stat_force_next_flush();
exception when undefined_function then null;
end $$`;

/** A digest of what a session is set to. */
const settings = `select md5(string_agg(concat_ws(' ', name, setting), ',' order by name)) as digest
  from pg_settings where source = 'session'`;

export const settingsOf = async (client: Pick<pg.Pool, 'query'>): Promise<string | undefined> =>
  (await client.query<{ digest: string }>(settings)).rows[0]?.digest;

/** Empties a warehouse whose sessions stay open; true if it is as the template then. False where a session is in use, or set to anything else. */
export async function isRenewed(
  { pool }: Pick<Warehouse, 'pool'>,
  usual: string | undefined,
): Promise<boolean> {
  if (pool.ending || pool.totalCount === 0 || pool.idleCount < pool.totalCount) return false;
  const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
  let isAsNew = false;
  try {
    await Promise.all(clients.map((client) => client.query(tidy)));
    const found = await Promise.all(clients.map(settingsOf));
    const [first] = clients;
    isAsNew =
      first !== undefined && found.every((one) => one === usual) && (await isEmptiedBy(first, clients));
  } finally {
    for (const client of clients) client.release(!isAsNew);
  }
  return isAsNew;
}

/** Empties a database and lays it by; removes one that something was made, changed or removed in. */
export async function layBy(name: string): Promise<void> {
  if (!(await isEmptied(name))) return removeDatabase(name);
  await asOwner((client) =>
    client.query(`alter database ${name} rename to ${name.replace(/^[a-z]+/, free)}`),
  );
}

export const removeDatabase = async (name: string): Promise<void> => {
  await asOwner((client) => client.query(`drop database if exists ${name} with (force)`));
};
