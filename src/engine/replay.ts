import { sql } from 'kysely';
import { BadData } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { StreamReport } from '../core/run.ts';
import type { Slice, Stream } from '../core/stream.ts';
import { Batch } from '../load/batch.ts';
import { type Load, load } from '../load/load.ts';
import { NestedLists } from './batching/nested-lists.ts';
import type { RunDeps } from './context/deps.ts';
import { type RunContext, tallyBatch } from './context/run-context.ts';
import { enterStream } from './context/stream-in-run.ts';
import { withRun } from './execution.ts';
import { countBatch } from './state/run-state.ts';

interface Stored {
  readonly reject_id: string;
  readonly payload: Buffer;
  readonly slice: Slice | null;
  /** When it was met last, µs since 1970. */
  readonly seen: string;
}

/** Which rejects are replayed; absent: all. */
interface Wanted {
  readonly stream?: string;
  readonly id?: string;
}

/**
 * Runs open rejects through the transform again (it may have learned something since) and loads those that
 * now become rows. The order rule holds: a replayed record never overwrites a newer version. Truncated
 * payloads cannot be replayed and stay as they are.
 */
export async function replayRejects(
  deps: RunDeps,
  wanted: Wanted,
): Promise<{ readonly replayed: number; readonly stillRejected: number }> {
  let replayed = 0;
  let stillRejected = 0;
  await withRun(deps, 'replay', { replay: wanted }, async (context) => {
    for (const stream of deps.source.streams) {
      if (wanted.stream !== undefined && wanted.stream !== stream.name) continue;
      const stored = await openRejects(context, stream, wanted);
      if (stored.length === 0) continue;
      const report = await replayStream(context, stream, stored);
      replayed += report.counts.received;
      stillRejected += stored.length - report.counts.received;
    }
  });
  return { replayed, stillRejected };
}

async function openRejects(
  { deps, run }: RunContext,
  stream: Stream,
  { id = null }: { readonly id?: string | null },
): Promise<readonly Stored[]> {
  const { rows } = await sql<Stored>`select reject_id::text, payload, slice,
      (extract(epoch from last_seen_at) * 1000000)::bigint::text as seen from ops.rejects r
    where source_id = ${run.sourceId} and stream = ${stream.name} and status = 'open' and not truncated
      and (${id}::bigint is null or reject_id = ${id}::bigint)
    order by r.reject_id`.execute(deps.warehouse.db);
  return rows;
}

async function replayStream(
  context: RunContext,
  stream: Stream,
  stored: readonly Stored[],
): Promise<StreamReport> {
  const { deps, run, lease } = context;
  const { tally, report, end } = await enterStream(context, stream);
  const batch = new Batch(stream);
  const good = await takeStored(context, stream, stored, batch);
  const how = {
    ...{ sourceId: run.sourceId, runId: run.runId, settings: lease.settings },
    ...{ force: false, late: true, resolves: false },
    close: async (session, result) => {
      await sql`update ops.rejects set status = 'replayed', resolved_at = now()
        where reject_id = any (${good}::bigint[])`.execute(session.trx);
      await countBatch(session, run, stream.name, result);
    },
    guard: (session) => lease.guard(session),
  } satisfies Load;
  tallyBatch(tally, await load(deps.warehouse.pool, batch, how, lease.signal));
  Object.assign(tally, { expected: stored.length, fetched: stored.length, landed: batch.records.length });
  return end(report('ok'));
}

/** Puts the records that now become rows into the batch; gives the ids of their rejects. */
async function takeStored(
  context: RunContext,
  stream: Stream,
  stored: readonly Stored[],
  batch: Batch,
): Promise<readonly string[]> {
  const lists = new NestedLists(context, stream);
  const good: string[] = [];
  for (const { reject_id, payload, slice, seen } of stored) {
    try {
      const mapped = stream.transform(parseJson(payload), slice ?? {});
      const fetched = await lists.fetch(mapped, mapped.nestedLists ?? [], []);
      // Where single lists are refused it stays a reject: it may be replayed when that has changed.
      if ((await lists.judge(fetched.refusals)) !== undefined) continue;
      batch.add(mapped, BigInt(seen), fetched.rows, fetched.lacking);
      good.push(reject_id);
    } catch (error) {
      if (!(error instanceof BadData)) throw error;
    }
  }
  return good;
}
