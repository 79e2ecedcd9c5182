/**
 * What a walk reads by less than what a checkpoint speaks for: one answer may leave fields out of their list. Its records are here as they were read,
 * whatever becomes of the walk, and one that moves no watermark says nothing at its end: so it is noted before the first of them is read.
 */

import { sql } from 'kysely';
import type { StreamContext } from '../batching/stream-context.ts';
import { fenced } from '../state/lease-guard.ts';
import { askedAndOnceAsked } from '../state/walk-state.ts';

/**
 * Takes from the checkpoint the fields that this run does not ask for. Where the run reads a record otherwise than the checkpoint has it, that one
 * speaks for no such reading any more: who reads by all next reads all again.
 */
export async function noteReadByLess({ context, flow, coverage }: StreamContext): Promise<void> {
  const { words, ours, fields = null } = coverage;
  if (words === ours) return;
  await fenced(context, async ({ trx }) => {
    await sql`update ops.checkpoints c set
        fields = case when asked.fields is null then c.fields else ${askedAndOnceAsked('asked.known', 'c.fields')} end,
        scope = case when c.scope <> ${words} and starts_with(c.scope, ${ours}) then ${ours} else c.scope end
      from (select s.source_id, s.stream, a.fields, array(select f from unnest(coalesce(s.fields, a.fields)) f where f = any (a.fields)) as known
        from ops.checkpoints s cross join (select ${fields}::text[] as fields) a) asked
      where asked.source_id = c.source_id and asked.stream = c.stream and c.source_id = ${context.run.sourceId} and c.stream = ${flow.name}`.execute(
      trx,
    );
  });
}
