import { sql } from 'kysely';
import { BadData, Transient } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { Slice, Stream } from '../core/stream.ts';
import { Batch } from '../load/batch.ts';
import type { Session } from '../load/session.ts';
import { loadCounted } from './batching/commit.ts';
import { lackingIn, NestedLists, nestedOf, unlessBad } from './batching/nested-lists.ts';
import type { RunDeps } from './context/deps.ts';
import type { RunContext } from './context/run-context.ts';
import { inRun } from './context/stream-in-run.ts';
import { withRun } from './execution.ts';

interface Stored {
  readonly id: string;
  readonly payload: Buffer;
  readonly slice: Slice | null;
  /** When it was met last, µs since 1970. */
  readonly seen: string;
}

/**
 * Runs open rejects through the transform again (it may have learned something since) and loads those that
 * now become rows: all, those of a stream, or the one with the id. The order rule holds: a replayed record
 * never overwrites a newer version. Truncated payloads cannot be replayed and stay as they are.
 */
export async function replayRejects(
  deps: RunDeps,
  wanted: { readonly stream?: string; readonly id?: string },
): Promise<{ readonly replayed: number; readonly stillRejected: number }> {
  const { stream: name, id } = wanted;
  const { counts, streams, error } = await withRun(deps, 'replay', { replay: wanted }, async (context) => {
    for (const stream of deps.source.streams)
      if (name === undefined || name === stream.name) await replayStream(context, stream, id);
  });
  if (error !== undefined) throw new Transient(error.message);
  const all = streams.reduce((sum, { receipt }) => sum + receipt.fetched, 0);
  return { replayed: counts.received, stillRejected: all - counts.received };
}

async function replayStream(context: RunContext, stream: Stream, id: string | null = null): Promise<void> {
  const { rows } = await sql<Stored>`select reject_id::text as id, payload, slice,
      (extract(epoch from last_seen_at) * 1000000)::bigint::text as seen from ops.rejects r
    where source_id = ${context.run.sourceId} and stream = ${stream.name} and status = 'open'
      and not truncated and (${id}::bigint is null or reject_id = ${id}::bigint)
    order by r.reject_id`.execute(context.deps.warehouse.db);
  if (rows.length === 0) return;
  await inRun(context, stream, async (of) => {
    const batch = new Batch(stream);
    const lists = new NestedLists(of);
    const good: string[] = [];
    for (const one of rows) if (await isTaken(one, batch, lists)) good.push(one.id);
    const close = async ({ trx }: Session): Promise<void> => {
      await sql`update ops.rejects set status = 'replayed', resolved_at = now()
        where reject_id = any (${good}::bigint[])`.execute(trx);
    };
    await loadCounted(of, batch, { force: false, late: true, resolves: false, close });
    of.tally.receipt = { expected: rows.length, fetched: rows.length, landed: batch.records.length };
    return undefined;
  });
}

/**
 * Puts a record into the batch if it now becomes rows. It stays a reject where single lists of it are
 * refused: it may be replayed when that has changed.
 */
async function isTaken({ payload, slice, seen }: Stored, batch: Batch, lists: NestedLists): Promise<boolean> {
  const mapped = unlessBad(() => batch.stream.transform(parseJson(payload), slice ?? {}));
  if (mapped instanceof BadData) return false;
  const reads = await lists.fetch(mapped);
  if ((await lists.judge(reads)) !== undefined) return false;
  const add = () => batch.add(mapped, BigInt(seen), nestedOf(reads), lackingIn(reads));
  return !(unlessBad(add) instanceof BadData);
}
