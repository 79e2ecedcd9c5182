/** Rows of a batch go into staging tables, or straight into their own, with one binary COPY each. */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { codeOf } from '../core/errors.ts';
import type { Batch, BatchRecord, LoadTask, Merge } from './batch.ts';
import { BinaryWriter } from './binary.ts';
import { type Layout, stageText } from './layout.ts';

/** Name and type. */
type AppendedColumn = readonly [string, string];

/**
 * Columns that the loader appends to a row, with their types: when and with which children its record came,
 * and which run writes it. Most child rows have the transaction's time.
 */
function appendedTo({ children }: Batch, index: number, isStage: boolean): readonly AppendedColumn[] {
  const moves = children[index - 1]?.[1].moves === true;
  const synced: readonly AppendedColumn[] = index === 0 || moves ? [['_synced_at', 'timestamptz']] : [];
  if (!isStage) return [...synced, ['source_id', 'smallint'], ['_run_id', 'bigint']];
  return index === 0 ? [...synced, ['_delivered', 'int']] : synced;
}

/**
 * The statement that makes a staging table unless this session has it. Wide rows stay out of TOAST: they
 * would be compressed twice.
 */
function creation({ table, content }: Layout, appended: readonly AppendedColumn[]): string {
  const hash: readonly AppendedColumn[] = table.entity ? [['_row_hash', 'bigint']] : [];
  const columns = [...content, ...hash, ...appended].map(([column, type]) => `"${column}" ${type}`);
  return `create temp table if not exists ${stageText(table)} (${columns.join(', ')})
    with (toast_tuple_target = 8160) on commit delete rows`;
}

const uniqueViolation = '23505';

/**
 * Copies the rows of the records, of which there is one at least, into their tables: no staging, no look-ups,
 * no conflicts. False, and nothing written, where one of their keys exists: a child row that another parent
 * left, or a row that another writer inserted just now. Then they must be merged.
 */
export async function insertOnly(task: LoadTask, records: readonly BatchRecord[]): Promise<boolean> {
  const { client } = task.session;
  try {
    for (const index of task.batch.layouts.keys()) await copyRows(task, index, records, task.merge);
  } catch (error) {
    if (codeOf(error) !== uniqueViolation) throw error;
    // Released, too: rows written next must have the `xmin` of the transaction itself, which is compared
    // later.
    await client.query('rollback to savepoint insert_only; release savepoint insert_only');
    return false;
  }
  await client.query('release savepoint insert_only');
  return true;
}

/**
 * Copies the rows of one table of the batch (0 is the stream's own, i + 1 its i-th child): those to insert,
 * with `merge`, into the table itself, else into its staging table, which a child without rows may lack.
 * Gives the number of rows.
 */
export async function copyRows(
  { session: { client }, batch }: LoadTask,
  index: number,
  records: readonly BatchRecord[],
  merge?: Merge,
): Promise<number> {
  const layout = batch.layouts[index] as Layout;
  const { table, key, rest } = layout;
  const appended = appendedTo(batch, index, merge === undefined);
  // In one message with the rows, which saves a round trip.
  const savepoint = index === 0 ? 'savepoint insert_only;' : '';
  const first = merge === undefined ? `${creation(layout, appended)};` : savepoint;
  let rows = 0;
  for (const { firstSpan, endSpan } of records)
    for (let at = firstSpan * 3; at < endSpan * 3; at += 3) if (batch.spans[at] === index) rows += 1;
  if (rows === 0 && index === 0) await client.query(first);
  if (rows === 0) return 0;
  const into = merge === undefined ? stageText(table) : `"${table.schema}"."${table.name}"`;
  const columns = [...key, ...rest, ...appended.map(([name]) => name)];
  const list = columns.map((column) => `"${column}"`).join(', ');
  const copy = client.query(copyFrom(`${first} copy ${into} (${list}) from stdin (format binary)`));
  const bytes = chunks(batch, index, records, columns, merge);
  await pipeline(Readable.from(bytes, { objectMode: false, highWaterMark: chunkBytes }), copy);
  if (copy.rowCount !== rows) throw new Error(`COPY into ${into} took ${copy.rowCount} of ${rows} rows`);
  return rows;
}

const chunkBytes = 1 << 17;
const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const trailer = Buffer.from([0xff, 0xff]);
/** An encoded `_synced_at`: length and value. */
const syncedBytes = 12;

/** The COPY stream in pieces of about `chunkBytes`. */
function* chunks(
  batch: Batch,
  index: number,
  records: readonly BatchRecord[],
  columns: readonly string[],
  merge: Merge | undefined,
): Generator<Buffer> {
  const isDated = columns.includes('_synced_at');
  const isMarked = columns.includes('_delivered');
  const tail = new BinaryWriter(64);
  if (isDated) tail.field('timestamptz', 0n);
  if (isMarked) tail.field('int', 0);
  if (merge !== undefined) tail.field('smallint', merge.sourceId);
  if (merge !== undefined) tail.field('bigint', BigInt(merge.runId));
  // The same memory for every record: only the values that differ are written anew.
  const ending = tail.bytes(0, tail.length);
  const { spans } = batch;
  const source = batch.writer.bytes(0, batch.bytes);
  let chunk = Buffer.allocUnsafe(chunkBytes);
  let at = header.copy(chunk);
  for (const record of records) {
    if (isDated) tail.setInt8(0, 'timestamptz', record.fetchedAt);
    if (isMarked) tail.setInt4(syncedBytes, record.whole);
    for (let span = record.firstSpan * 3; span < record.endSpan * 3; span += 3) {
      if (spans[span] !== index) continue;
      const from = spans[span + 1] ?? 0;
      const to = spans[span + 2] ?? 0;
      const size = to - from + ending.length;
      if (at + size > chunk.length) {
        yield chunk.subarray(0, at);
        chunk = Buffer.allocUnsafe(Math.max(chunkBytes, size));
        at = 0;
      }
      const start = at;
      at += source.copy(chunk, at, from, to);
      chunk.writeInt16BE(columns.length, start);
      at += ending.copy(chunk, at);
    }
  }
  yield chunk.subarray(0, at);
  yield trailer;
}
