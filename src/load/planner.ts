import type { Session } from './session.ts';

/**
 * A staging table has no statistics, and a young target has old ones: left alone, the planner hashes the entire target once a batch, or
 * scans it once a staged row. All joins here are look-ups by key.
 */
export const settings = `set local enable_hashjoin = off; set local enable_mergejoin = off; set local enable_seqscan = off;
  set local enable_material = off; set local lock_timeout = '30s'`;

/** Joins by hash, for statements whose both sides may be large and are not looked up by key. */
export async function withHashJoin<T>(session: Session, work: () => Promise<T>): Promise<T> {
  await session.client.query('set local enable_hashjoin = on; set local enable_nestloop = off');
  const result = await work();
  await session.client.query('set local enable_hashjoin = off; set local enable_nestloop = on');
  return result;
}
