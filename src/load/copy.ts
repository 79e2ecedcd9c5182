import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { Batch, BatchRecord } from './batch.ts';
import type { Session } from './session.ts';

/** What a row goes through on its way out of the batch: bytes may be left out at the end of its last span, and others come behind. */
export interface Tail {
  /** How many fields the row has in all. */
  readonly fields: number;
  /** Bytes of its last span that stay behind. */
  readonly without: number;
  /** The fields that come behind, encoded. */
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

/** Puts the rows of one table of the batch there with one binary COPY. Gives the number of rows. Nothing is sent where there are none. */
export async function copyRows(
  session: Session,
  batch: Batch,
  index: number,
  records: readonly BatchRecord[],
  { into, columns, first }: Destination,
  tail?: Tail,
): Promise<number> {
  const { numbers } = batch.spans;
  let rows = 0;
  for (const { firstSpan, endSpan } of records)
    for (let at = firstSpan * 3; at < endSpan * 3; at += 3) if (numbers[at] === index) rows += 1;
  // A record's own row lies in two spans: the content, and behind its children the loader's columns.
  if (index === 0) rows /= 2;
  if (rows === 0) return 0;
  const list = columns.map((column) => `"${column}"`).join(', ');
  const text = `copy ${into} (${list}) from stdin (format binary)`;
  const copy = session.client.query(copyFrom(first === undefined ? text : `${first}; ${text}`));
  const bytes = chunks(batch, index, records, tail);
  await pipeline(Readable.from(bytes, { objectMode: false, highWaterMark: chunkBytes }), copy);
  if (copy.rowCount !== rows) throw new Error(`COPY into ${into} took ${copy.rowCount} of ${rows} rows`);
  return rows;
}

const chunkBytes = 1 << 17;
/** A copy of fewer bytes is made in JavaScript: the call costs more. */
const fewBytes = 48;

function* chunks(
  batch: Batch,
  index: number,
  records: readonly BatchRecord[],
  tail: Tail | undefined,
): Generator<Buffer> {
  const { numbers } = batch.spans;
  const source = batch.slice(0, batch.bytes);
  let chunk = Buffer.allocUnsafe(chunkBytes);
  let at = chunk.write('PGCOPY\n\xff\r\n\0', 'latin1');
  chunk.writeInt32BE(0, at);
  chunk.writeInt32BE(0, at + 4);
  at += 8;
  for (const record of records) {
    const { firstSpan, endSpan } = record;
    const ending = tail?.with(record);
    let begun = false;
    for (let span = firstSpan * 3; span < endSpan * 3; span += 3) {
      if (numbers[span] !== index) continue;
      const ends = index !== 0 || begun;
      const from = numbers[span + 1] ?? 0;
      const to = (numbers[span + 2] ?? 0) - (ends && tail !== undefined ? tail.without : 0);
      const most = to - from + (ending?.length ?? 0);
      if (at + most > chunk.length) {
        yield chunk.subarray(0, at);
        chunk = Buffer.allocUnsafe(Math.max(chunkBytes, most));
        at = 0;
      }
      const start = at;
      if (to - from > fewBytes) {
        chunk.set(source.subarray(from, to), at);
        at += to - from;
      } else for (let byte = from; byte < to; byte += 1) chunk[at++] = source[byte] ?? 0;
      if (tail === undefined || ending === undefined) continue;
      if (!begun || index !== 0) chunk.writeInt16BE(tail.fields, start);
      if (ends) for (let byte = 0; byte < ending.length; byte += 1) chunk[at++] = ending[byte] ?? 0;
      begun = true;
    }
  }
  if (at + 2 > chunk.length) {
    yield chunk.subarray(0, at);
    chunk = Buffer.allocUnsafe(2);
    at = 0;
  }
  at = chunk.writeInt16BE(-1, at);
  yield chunk.subarray(0, at);
}
