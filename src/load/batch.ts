import crypto from 'node:crypto';
import { BadData } from '../core/errors.ts';
import type { Mapped, Slice, Stream } from '../core/stream.ts';
import type { Row, Value } from '../core/table.ts';
import type { Instant } from '../core/time.ts';
import { BinaryWriter } from './binary.ts';
import { lackingHash } from './incomplete.ts';
import { bitsOf, childrenOf, type Layout, layoutOf } from './layout.ts';
import { type TailRows, withStorableText } from './storable-text.ts';

/** A record that cannot become rows, with its exact bytes. */
export interface Reject {
  /** The record's name, as its stream reads it: `ops.rejects.record_key`. */
  readonly key: string;
  readonly payload: Buffer;
  readonly stage: 'transform' | 'encode';
  readonly code: string;
  readonly field: string | undefined;
  readonly message: string;
  readonly slice: Slice;
  /** The row that the record is about (`Stream.keyOf`); absent where the record does not say. */
  readonly row?: Readonly<Record<string, string>> | undefined;
}

/** One record of a batch, encoded: where its rows lie in the batch's bytes. */
export interface BatchRecord {
  /** The key columns' values, in the table's key order. Empty in a listing. */
  readonly key: readonly Value[];
  /** The key's encoded bytes as text: equal exactly when the keys are equal. Empty in a listing. */
  readonly keyText: string;
  readonly order: Value;
  readonly fetchedAt: Instant;
  /** 0 where the table keeps none. */
  readonly hash: bigint;
  /** Bit i is set when the i-th child of the stream was delivered, whole or in part. */
  readonly delivered: number;
  /** True where rows came that do not enter the hash: lists that were fetched apart. */
  readonly tailed: boolean;
  /** Its rows are the batch's spans `[firstSpan, endSpan)`. */
  readonly firstSpan: number;
  readonly endSpan: number;
}

/** Records in the order of their keys. */
export const byKey = (records: readonly BatchRecord[]): BatchRecord[] =>
  [...records].sort((a, b) => (a.keyText < b.keyText ? -1 : a.keyText > b.keyText ? 1 : 0));

/** Longest key (bytes, encoded) that a B-tree index entry takes: a third of a page, less overhead. */
const longestKey = 2_600;

/** Encoded bytes of the loader's own columns: bigint hash, timestamptz and int, each with its length. */
const hashBytes = 12;
const fetchedBytes = 12;
export const deliveredBytes = 8;

/** True where a complete listing replaces the rows of its scope, which are relations or report rows without children. */
export const isListing = ({ absent, table, children }: Stream): boolean =>
  absent === 'delete' && !table.entity && childrenOf(children).length === 0;

/** Records of one stream that are committed together, already in the wire format: flat in memory, cheap to hash and to send. */
export class Batch {
  readonly stream: Stream;
  /** True where rows that repeat a key stay in the batch: the staging table settles them over all batches of the listing. */
  readonly isListing: boolean;
  readonly layouts: readonly Layout[];
  readonly records: BatchRecord[] = [];
  readonly rejects: Reject[] = [];
  readonly notes = new Set<string>();
  /** Names of records that were taken in, as `ops.rejects.record_key` has them: rejects of these names may be resolved. */
  readonly names: string[] = [];
  /** Records given so far, good or bad. */
  received = 0;
  /** Records that repeated a key. */
  deduplicated = 0;
  /** Three numbers a row: its table (0 is the stream's own, i + 1 its i-th child), its first byte and its end. */
  readonly spans: number[] = [];
  readonly #writer: BinaryWriter;
  readonly #children: ReturnType<typeof childrenOf>;
  readonly #childNames: readonly string[];
  readonly #places = new Map<string, number>();

  /** An empty batch. `writer` may come from a batch that is loaded: its memory is used again. */
  constructor(stream: Stream, writer: BinaryWriter = new BinaryWriter(1 << 18)) {
    this.stream = stream;
    this.isListing = isListing(stream);
    this.#children = childrenOf(stream.children);
    this.#childNames = this.#children.map(([name]) => name);
    this.layouts = [layoutOf(stream.table), ...this.#children.map(([, child]) => layoutOf(child.table))];
    this.#writer = writer;
    writer.rewind(0);
  }

  get bytes(): number {
    return this.#writer.length;
  }

  /** The bytes `[from, to)`; valid until the next record. */
  slice(from: number, to: number): Buffer {
    return this.#writer.bytes(from, to);
  }

  /** The content hash that a record will have in the warehouse, of what was delivered with it: without tails. Throws as `add`. */
  digest(mapped: Mapped): bigint {
    const [bytes, spans] = [this.#writer.length, this.spans.length];
    try {
      return this.#storable(mapped, undefined, (rows) => this.#encode(rows).hash);
    } finally {
      this.#undo(bytes, spans);
    }
  }

  /**
   * Takes a record in. `tails` are rows of lists that were fetched apart: they are stored but do not enter the hash. `lacking` are children
   * whose lists could not be read whole: the hash says so, and their stored rows stay. Text that Postgres cannot hold is replaced
   * (`withStorableText`). Throws `BadData`, and stays as it was, where a value does not fit its column.
   */
  add(mapped: Mapped, fetchedAt: Instant, tails?: TailRows, lacking: readonly string[] = []): void {
    const [bytes, spans] = [this.#writer.length, this.spans.length];
    try {
      const { notes = [] } = this.#storable(mapped, tails, (rows, more) => {
        this.#keep(this.#record(rows, fetchedAt, more, lacking));
        return rows;
      });
      for (const note of notes) this.notes.add(note);
    } catch (error) {
      this.#undo(bytes, spans);
      throw error;
    }
    this.received += 1;
  }

  reject(reject: Reject): void {
    this.received += 1;
    this.rejects.push(reject);
  }

  /** Does the work, once more with storable text where some is not. */
  #storable<T>(
    mapped: Mapped,
    tails: TailRows | undefined,
    work: (mapped: Mapped, tails: TailRows | undefined) => T,
  ): T {
    const [bytes, spans] = [this.#writer.length, this.spans.length];
    try {
      return work(mapped, tails);
    } catch (error) {
      if (!(error instanceof BadData) || error.code !== 'bad_text') throw error;
      this.#undo(bytes, spans);
      const storable = withStorableText(this.stream, mapped, tails);
      return work(storable.mapped, storable.tails);
    }
  }

  #undo(bytes: number, spans: number): void {
    this.#writer.rewind(bytes);
    this.spans.length = spans;
  }

  /** Of a key that repeats, the newer record stays. */
  #keep(record: BatchRecord): void {
    const place = this.isListing ? undefined : this.#places.get(record.keyText);
    if (place === undefined) {
      if (!this.isListing) this.#places.set(record.keyText, this.records.length);
      this.records.push(record);
    } else {
      this.deduplicated += 1;
      if (isNewer(record, this.records[place] as BatchRecord)) this.records[place] = record;
    }
  }

  #record(mapped: Mapped, fetchedAt: Instant, tails: TailRows = {}, lacking: readonly string[]): BatchRecord {
    const { stream } = this;
    const firstSpan = this.spans.length / 3;
    const { keyText, hash: ofContent, delivered: ofRecord, extras } = this.#encode(mapped);
    const hash = lackingHash(stream, ofContent, lacking);
    const ofTails = this.#encodeChildren(tails);
    // The encoded bits say from which children absent rows may be removed: not from those that came in part.
    const inPart = bitsOf(this.#children, [...(mapped.partial ?? []), ...lacking]);
    const delivered = ofRecord | ofTails;
    const fetchedField = extras + (stream.table.entity ? hashBytes : 0);
    if (stream.table.entity) this.#writer.setInt8(extras, 'bigint', hash);
    this.#writer.setInt8(fetchedField, 'timestamptz', fetchedAt);
    this.#writer.setInt4(fetchedField + fetchedBytes, delivered & ~inPart);
    return {
      key: this.isListing ? [] : stream.table.key.map((column) => mapped.row[column] ?? null),
      keyText,
      order: stream.table.order === undefined ? null : (mapped.row[stream.table.order] ?? null),
      fetchedAt,
      hash,
      delivered,
      tailed: ofTails !== 0,
      firstSpan,
      endSpan: this.spans.length / 3,
    };
  }

  /** Encodes the record's row, with zeros for the loader's columns from `extras` on, and its children. */
  #encode(mapped: Mapped): { keyText: string; hash: bigint; delivered: number; extras: number } {
    const { table } = this.stream;
    const writer = this.#writer;
    const start = writer.length;
    const root = this.layouts[0] as Layout;
    encodeRow(writer, root, mapped.row, table.entity ? 3 : 2);
    const extras = writer.length;
    if (table.entity) writer.field('bigint', 0);
    writer.field('timestamptz', 0n);
    writer.field('int', 0);
    const endOfKey = checkKey(writer, root, start);
    this.spans.push(0, start, writer.length);
    const delivered = this.#encodeChildren(mapped.children);
    return {
      keyText: this.isListing ? '' : writer.latin1(start + 2, endOfKey),
      hash: table.entity ? digestOf(writer.bytes(start, writer.length)) : 0n,
      delivered,
      extras,
    };
  }

  /** Gives the bits of the children that were delivered. */
  #encodeChildren(rows: TailRows): number {
    let delivered = 0;
    // Counted, not iterated: this runs for every record.
    for (let i = 0; i < this.#childNames.length; i += 1) {
      const list = rows[this.#childNames[i] ?? ''];
      if (list === undefined) continue;
      delivered |= 1 << i;
      const layout = this.layouts[i + 1] as Layout;
      const seen = list.length > 1 ? new Set<string>() : undefined;
      for (const row of list) this.#encodeChild(layout, row, i + 1, seen);
    }
    return delivered;
  }

  #encodeChild(layout: Layout, row: Row, table: number, seen: Set<string> | undefined): void {
    const writer = this.#writer;
    const from = writer.length;
    encodeRow(writer, layout, row, layout.table.entity ? 1 : 0);
    const endOfKey = checkKey(writer, layout, from);
    if (seen !== undefined) {
      const key = writer.latin1(from + 2, endOfKey);
      if (seen.has(key)) {
        writer.rewind(from);
        return;
      }
      seen.add(key);
    }
    if (layout.table.entity) writer.field('bigint', digestOf(writer.bytes(from, writer.length)));
    this.spans.push(table, from, writer.length);
  }
}

/** Larger order wins; equal or unordered, the later fetch (guarantee G1). */
function isNewer(a: BatchRecord, b: BatchRecord): boolean {
  if (a.order !== null && b.order !== null && a.order !== b.order) return a.order > b.order;
  return a.fetchedAt >= b.fetchedAt;
}

function encodeRow(writer: BinaryWriter, layout: Layout, row: Row, extras: number): void {
  writer.fields(layout.content.length + extras);
  for (const [name, type] of layout.content) {
    const value = row[name];
    if (value === undefined) throw new Error(`a row of ${layout.table.name} lacks ${name}`);
    try {
      writer.field(type, value);
    } catch (error) {
      if (!(error instanceof BadData)) throw error;
      const message = `${layout.table.name}.${name}: ${error.message}`;
      throw new BadData(error.code, message, { field: name, cause: error });
    }
  }
}

/** The end of the encoded key columns of the row that begins at `from`. Throws `BadData` for a key that no index takes. */
function checkKey(writer: BinaryWriter, { table, key }: Layout, from: number): number {
  let at = from + 2;
  for (const field of key) {
    const length = writer.int32(at);
    if (length < 0)
      throw new BadData('no_key', `${table.name}.${field} is part of the key and missing`, { field });
    at += 4 + length;
  }
  if (at - from > longestKey)
    throw new BadData('key_too_long', `the key of a row of ${table.name} has ${at - from} bytes`);
  return at;
}

const eight = new DataView(new ArrayBuffer(8));

/** The first 64 bits of the SHA-256. As text, because that costs a quarter less than a Buffer. */
function digestOf(bytes: Buffer): bigint {
  const text = crypto.hash('sha256', bytes, 'binary');
  for (let i = 0; i < 8; i += 1) eight.setUint8(i, text.charCodeAt(i));
  return eight.getBigInt64(0);
}
