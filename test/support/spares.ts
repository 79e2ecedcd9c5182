import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { inject } from 'vitest';
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
export function isEmptied(name: string): Promise<boolean> {
  const { clean, look, digest } = inject('postgres').pristine;
  return asOwner(async (client) => {
    await alone(client);
    await client.query(clean);
    const { rows } = await client.query<{ digest: string }>(look);
    return rows[0]?.digest === digest;
  }, name);
}

const others = 'from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';

/** Waits a moment for sessions that are ending by themselves, and ends the others: the server looks only ten times a second whether they have. */
async function alone(client: pg.Client): Promise<void> {
  for (let look = 0; look < 20; look += 1) {
    if ((await client.query(`select ${others}`)).rows.length === 0) return;
    await sleep(3);
  }
  await client.query(`select pg_terminate_backend(pid, 10000) ${others}`);
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
