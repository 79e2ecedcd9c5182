/** Which pipeline goes first: the one that waited longest for a success. */
import { type Db, query } from '../queries/db.ts';

/** When the pipeline last succeeded, seconds since 1970; 0: never. */
export async function lastSuccess(db: Db, pipeline: string): Promise<number> {
  const [last] = await query(db)<{ seconds: number }>`
    select coalesce(extract(epoch from max(finished_at)), 0)::int as seconds
    from ops.runs where pipeline = ${pipeline} and status = 'succeeded'`;
  return last?.seconds ?? 0;
}

/** The longest waiting first; those that never succeeded stay in their order. */
export async function longestFirst<T extends { readonly pipeline: string }>(db: Db, all: readonly T[]) {
  const waiting = all.map(async (each) => ({ each, since: await lastSuccess(db, each.pipeline) }));
  return (await Promise.all(waiting)).toSorted((a, b) => a.since - b.since).map(({ each }) => each);
}
