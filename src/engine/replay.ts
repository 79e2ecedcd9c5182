import { sql } from 'kysely';
import { BadData } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { StreamReport } from '../core/run.ts';
import type { Slice, Stream } from '../core/stream.ts';
import { Batch } from '../load/batch.ts';
import { load } from '../load/load.ts';
import { NestedLists } from './batching/nested-lists.ts';
import type { RunDeps } from './context/deps.ts';
import { type Execution, withRun } from './execution.ts';
import { beginStream, countBatch, finishStream } from './state/run-state.ts';

interface Stored {
  readonly reject_id: string;
  readonly stream: string;
  readonly payload: Buffer;
  readonly slice: Slice | null;
  /** When it was met last, µs since 1970. */
  readonly seen: string;
}

/**
 * Runs open rejects through the transform again (it may have learned something since) and loads those that
 * now become rows. The order rule holds: a replayed record never overwrites a newer version. Truncated
 * payloads cannot be replayed and stay as they are.
 */
export async function replayRejects(
  deps: RunDeps,
  options: { readonly stream?: string; readonly id?: string },
): Promise<{ readonly replayed: number; readonly stillRejected: number }> {
  let replayed = 0;
  let stillRejected = 0;
  await withRun(deps, 'replay', { replay: options }, async (execution) => {
    const settled: PromiseSettledResult<StreamReport>[] = [];
    for (const stream of deps.source.streams) {
      const stored = await openRejects(execution, stream, options);
      if (stored.length === 0) continue;
      const report = await replayStream(execution, stream, stored);
      replayed += report.counts.received;
      stillRejected += stored.length - report.counts.received;
      settled.push({ status: 'fulfilled', value: report });
    }
    return settled;
  });
  return { replayed, stillRejected };
}

async function openRejects(
  { context }: Execution,
  stream: Stream,
  options: { readonly stream?: string; readonly id?: string },
): Promise<readonly Stored[]> {
  if (options.stream !== undefined && options.stream !== stream.name) return [];
  const { rows } = await sql<Stored>`select reject_id::text, stream, payload, slice,
      (extract(epoch from last_seen_at) * 1000000)::bigint::text as seen from ops.rejects r
    where source_id = ${context.run.sourceId} and stream = ${stream.name} and status = 'open' and not truncated
      and (${options.id ?? null}::bigint is null or reject_id = ${options.id ?? null}::bigint)
    order by r.reject_id`.execute(context.deps.warehouse.db);
  return rows;
}

async function replayStream(
  execution: Execution,
  stream: Stream,
  stored: readonly Stored[],
): Promise<StreamReport> {
  const { context } = execution;
  const { run } = context;

  const started = performance.now();
  await beginStream(context.deps.warehouse.db, run, stream.name);
  const batch = new Batch(stream);
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
  const loaded = await load(
    context.deps.warehouse.pool,
    batch,
    {
      sourceId: run.sourceId,
      runId: run.runId,
      force: false,
      late: true,
      resolves: false,
      close: async (session, result) => {
        await sql`update ops.rejects set status = 'replayed', resolved_at = now()
          where reject_id = any (${good}::bigint[])`.execute(session.trx);
        await countBatch(session, run, stream.name, result);
      },
      settings: context.lease.settings,
      guard: (session) => context.lease.guard(session),
    },
    context.lease.signal,
  );
  const report: StreamReport = {
    stream: stream.name,
    status: 'ok',
    counts: loaded.counts,
    receipt: { expected: stored.length, fetched: stored.length, landed: batch.records.length },
    deleted: loaded.deleted,
    slices: 0,
    seconds: (performance.now() - started) / 1000,
  };
  await finishStream(context.deps.warehouse.db, run, report, stream.table);
  context.deps.observe({ type: 'stream.finished', pipeline: run.pipeline, report });
  return report;
}
