/** What the source said last: that a list is not there, said for the first time, may be one bad answer. */

import { type Kysely, sql } from 'kysely';
import { Forbidden, HasNone, Missing } from '../../core/errors.ts';
import type { Slice } from '../../core/stream.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';
import { patiently } from '../../warehouse/with-retry.ts';
import type { StreamContext } from '../batching/stream-context.ts';

export interface LastWord {
  /** Why the owner had no list, an empty one being none; undefined where it had one. */
  readonly code: string | undefined;
  /** Whether the moment in which that was said is over. */
  readonly isOld: boolean;
}

/** For so long a server may be ill at a stretch, whatever runs fall into that. */
const moment = '1 hour';

/** The last word about an owner, or about a list that has none, in this walk or one before it; undefined where there was none. */
export async function lastWord(
  { context, flow }: StreamContext,
  { partition }: Slice,
): Promise<LastWord | undefined> {
  const owner = partition === undefined ? sql`is null` : sql`= ${JSON.stringify(partition)}::jsonb`;
  const { rows } = await patiently(() =>
    sql<{ code: string | null; old: boolean }>`select
        coalesce(s.error_code, case when s.fetched = 0 then ${new HasNone('').code} end) as code,
        s.error_code is null or w.opened_at < now() - ${moment}::interval as old
      from ops.slices s join ops.walks w using (walk_id)
      where w.source_id = ${context.run.sourceId} and w.stream = ${flow.name} and s.status <> 'pending'
        and s.partition ${owner}
      order by s.slice_id desc limit 1`.execute(context.deps.warehouse.db),
  );
  const [row] = rows;
  return row && { code: row.code ?? undefined, isOld: row.old };
}

/** Whether the last word about an owner was that it has none, and not a moment ago. */
export const saidNone = (last: LastWord | undefined): boolean =>
  last?.code === new HasNone('').code && last.isOld;

/** Whether it is news that an owner's list is not there or closed to us. */
export async function isNewsOfOwner(stream: StreamContext, slice: Slice, error: unknown): Promise<boolean> {
  const { context, flow } = stream;
  if (flow.partitions === undefined || !(error instanceof Missing || error instanceof Forbidden))
    return false;
  if ((await lastWord(stream, slice))?.code === error.code) return false;
  return isNews(context.deps.warehouse.db, context.run.sourceId, flow.name, error);
}

/** How `ops.streams` calls what the error says of a stream. */
export const stateBy = (error: Missing | Forbidden): 'unavailable' | 'forbidden' =>
  error instanceof Missing ? 'unavailable' : 'forbidden';

/** Whether it is news of a stream that it is not there or closed to us. */
export async function isNews(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  stream: string,
  error: Missing | Forbidden,
): Promise<boolean> {
  const { rows } = await patiently(() =>
    sql<{ state: string | null }>`select state from ops.streams
      where source_id = ${sourceId} and stream = ${stream}`.execute(db),
  );
  return rows[0]?.state !== stateBy(error);
}
