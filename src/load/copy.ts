import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { Batch, BatchRecord } from './batch.ts';
import type { Session } from './session.ts';

/** Other fields at the end of each row than those that the batch has encoded. */
export interface Tail {
  /** How many fields the row has in all. */
  readonly fields: number;
  /** Bytes at the end of the encoded row that are left out. */
  readonly without: number;
  /** The fields that are appended, encoded. */
  readonly with: (record: BatchRecord) => Buffer;
}

/** Where rows go. */
export interface Destination {
  /** An SQL name. */
  readonly into: string;
  /** In the order of the encoded fields. */
  readonly columns: readonly string[];
  /** A statement to be executed just before, in the same message. */
  readonly first?: string;
}

/**
 * Sends the rows of one table of the batch (0 is the stream's own, i + 1 its i-th child) with one binary COPY. Gives the number of rows.
 * Nothing is sent where there are none.
 */
export async function copyRows(
  session: Session,
  batch: Batch,
  table: number,
  records: readonly BatchRecord[],
  { into, columns, first }: Destination,
  tail?: Tail,
): Promise<number> {
  let rows = 0;
  for (const { firstSpan, endSpan } of records)
    for (let at = firstSpan * 3; at < endSpan * 3; at += 3) if (batch.spans[at] === table) rows += 1;
  if (rows === 0) return 0;
  const list = columns.map((column) => `"${column}"`).join(', ');
  const text = `copy ${into} (${list}) from stdin (format binary)`;
  const copy = session.client.query(copyFrom(first === undefined ? text : `${first}; ${text}`));
  const bytes = chunks(batch, table, records, tail);
  await pipeline(Readable.from(bytes, { objectMode: false, highWaterMark: chunkBytes }), copy);
  if (copy.rowCount !== rows) throw new Error(`COPY into ${into} took ${copy.rowCount} of ${rows} rows`);
  return rows;
}

const chunkBytes = 1 << 17;
const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const trailer = Buffer.from([0xff, 0xff]);

/** The COPY stream in pieces of about `chunkBytes`. */
function* chunks(
  batch: Batch,
  table: number,
  records: readonly BatchRecord[],
  tail: Tail | undefined,
): Generator<Buffer> {
  const { spans } = batch;
  const source = batch.slice(0, batch.bytes);
  let chunk = Buffer.allocUnsafe(chunkBytes);
  let at = header.copy(chunk);
  for (const record of records) {
    const ending = tail?.with(record);
    for (let span = record.firstSpan * 3; span < record.endSpan * 3; span += 3) {
      if (spans[span] !== table) continue;
      const from = spans[span + 1] ?? 0;
      const to = (spans[span + 2] ?? 0) - (tail?.without ?? 0);
      const size = to - from + (ending?.length ?? 0);
      if (at + size > chunk.length) {
        yield chunk.subarray(0, at);
        chunk = Buffer.allocUnsafe(Math.max(chunkBytes, size));
        at = 0;
      }
      const start = at;
      at += source.copy(chunk, at, from, to);
      if (tail === undefined || ending === undefined) continue;
      chunk.writeInt16BE(tail.fields, start);
      at += ending.copy(chunk, at);
    }
  }
  yield chunk.subarray(0, at);
  yield trailer;
}
