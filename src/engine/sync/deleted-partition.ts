/** An owner that was deleted at the source, of a kind that no reconciliation looks at. */

import { sql } from 'kysely';
import { noCounts } from '../../core/run.ts';
import { layoutOf } from '../../load/layout.ts';
import { removal } from '../../load/merge.ts';
import { inScope } from '../../load/replace.ts';
import type { StreamContext } from '../batching/stream-context.ts';
import { tallyBatch } from '../context/run-context.ts';
import { fenced } from '../state/lease-guard.ts';
import { countBatch } from '../state/run-state.ts';
import type { Gone } from './gone-partition.ts';

/**
 * Marks an owner as deleted whose part is not there, if nothing names it any more, and removes what the stream tells of it, in one fenced
 * transaction: false where it is named, or where the answer only seems to say so. Where the source shows it again both come back.
 */
export async function removeOwner({ context, flow, tally }: StreamContext, { open }: Gone): Promise<boolean> {
  const { partitions: parents, name } = flow;
  const owner = open.slice.partition;
  if (parents?.unreferenced === undefined || owner === undefined) return false;
  const { table, columns, unreferenced } = parents;
  const { run } = context;
  const isOwner = Object.entries(columns).map(
    ([part, column]) => sql`and ${sql.id(column)}::text = ${owner[part]}`,
  );
  const loaded = await fenced(context, async (session) => {
    const marked = await sql`update ${sql.table(table)}
      set _deleted_at = now(), _synced_at = now(), _run_id = ${run.runId}::bigint
      where source_id = ${run.sourceId} and _deleted_at is null and (${sql.raw(unreferenced)}) ${sql.join(isOwner, sql` `)}`.execute(
      session.trx,
    );
    const owners = Number(marked.numAffectedRows ?? 0);
    if (owners === 0) return undefined;
    const part = inScope(layoutOf(flow.table), { equal: owner }, run.sourceId);
    const removed = await removal(flow.table, part, run).execute(session.trx);
    const batch = { counts: noCounts, deleted: owners + Number(removed.numAffectedRows ?? 0), braked: false };
    await countBatch(session, run, name, batch);
    return batch;
  });
  if (loaded !== undefined) tallyBatch(tally, loaded);
  return loaded !== undefined;
}
