import pg from 'pg';
import { inject } from 'vitest';

/** Connection string of a database of the run's cluster, as its owner. */
export function databaseUrl(name: string): string {
  const url = new URL(inject('postgres').url);
  url.pathname = `/${name}`;
  return url.href;
}

/** Runs statements as the cluster's owner (a superuser). */
export async function asOwner<T>(work: (client: pg.Client) => Promise<T>, database = 'postgres'): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl(database) });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
