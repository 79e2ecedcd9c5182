import { sql } from 'kysely';
import { BadData, Transient } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import { unlessBad } from '../core/record.ts';
import type { Json, Slice, Stream } from '../core/stream.ts';
import { Batch } from '../load/batch.ts';
import type { Session } from '../load/session.ts';
import { loadCounted } from './batching/commit.ts';
import { NestedLists, nestedOf } from './batching/nested-lists.ts';
import type { RunDeps } from './context/deps.ts';
import { inRun, type Run, type StreamRun } from './context/run-context.ts';
import { withRun } from './execution.ts';

interface Stored {
  readonly id: string;
  readonly payload: Buffer;
  readonly slice: Slice | null;
  /** The child of a part that was rejected by itself; empty for a whole record. */
  readonly part: string;
  readonly given: Json;
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
  const { streams, error } = await withRun(deps, 'replay', { replay: wanted }, async (run) => {
    for (const stream of deps.source.streams)
      if (name === undefined || name === stream.name) await replayStream(run, stream, id);
  });
  if (error !== undefined) throw new Transient(error.message);
  const sum = (of: 'read' | 'stored'): number => streams.reduce((all, { receipt }) => all + receipt[of], 0);
  return { replayed: sum('stored'), stillRejected: sum('read') - sum('stored') };
}

async function replayStream(run: Run, stream: Stream, id: string | null = null): Promise<void> {
  const { rows } = await sql<Stored>`select reject_id::text as id, payload, slice, part, given,
      (extract(epoch from last_seen_at) * 1000000)::bigint::text as seen from ops.rejects r
    where source_id = ${run.sourceId} and stream = ${stream.name} and status = 'open'
      and not truncated and (${id}::bigint is null or reject_id = ${id}::bigint)
    order by r.reject_id`.execute(run.db);
  if (rows.length === 0) return;
  await inRun(run, stream, async (of) => {
    let stored = 0;
    for (const [part, some] of Map.groupBy(rows, (one) => one.part))
      stored += await replayPart(of, part, some);
    of.tally.receipt = { expected: rows.length, read: rows.length, stored };
    return undefined;
  });
}

/** Replays whole records, or the parts of one child: into its table, as if they were its records. Gives how many are stored. */
async function replayPart(of: StreamRun, part: string, stored: readonly Stored[]): Promise<number> {
  const { stream } = of;
  const table = part === '' ? stream.table : stream.children?.[part]?.table;
  if (table === undefined) return 0;
  const batch = new Batch(part === '' ? stream : { ...stream, table, children: {}, absent: 'keep' });
  const lists = new NestedLists(of);
  const good: string[] = [];
  for (const one of stored) {
    const isGood = part === '' ? await isTaken(one, batch, lists) : isPartTaken(stream, one, batch);
    if (isGood) good.push(one.id);
  }
  const close = async ({ trx }: Session): Promise<void> => {
    await sql`update ops.rejects set status = 'replayed', resolved_at = now()
      where reject_id = any (${good}::bigint[])`.execute(trx);
  };
  await loadCounted(of, batch, { force: false, late: true, resolves: false, close });
  return good.length;
}

/** Puts the rows of a part into the batch of its table, if it now becomes some. */
function isPartTaken({ partRows }: Stream, { part, payload, given, seen }: Stored, batch: Batch): boolean {
  if (partRows === undefined) return false;
  const add = (): void => {
    for (const row of partRows(part, parseJson(payload), given))
      batch.add({ row, children: {} }, BigInt(seen));
  };
  return !(unlessBad(add) instanceof BadData);
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
  const add = () => batch.add(mapped, BigInt(seen), nestedOf(reads));
  return !(unlessBad(add) instanceof BadData);
}
