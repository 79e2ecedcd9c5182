import crypto from 'node:crypto';
import { BadData } from '../core/errors.ts';
import type { RawRecord } from '../core/raw-record.ts';
import type { Flow, Mapped, Slice } from '../core/stream.ts';
import type { Row, Value } from '../core/table.ts';
import type { Instant } from '../core/time.ts';
import { type BinaryWriter, binaryWriter } from './binary.ts';
import { lackingHash } from './incomplete.ts';
import { bitsOf, childrenOf, type Layout, layoutOf } from './layout.ts';
import type { RawEncoder } from './raw.ts';
import { newSpans, type Spans } from './spans.ts';
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
  /** The row that the record is about (`Flow.keyOf`); absent where it does not say. */
  readonly row?: Readonly<Record<string, string>> | undefined;
}

/** One record of a batch, encoded: where its rows lie in the batch's bytes. */
export interface BatchRecord {
  /** The key columns' values, in the table's key order; of a record that was taken as bytes there are none. */
  readonly key: readonly Value[];
  /** The key's encoded bytes as text: equal exactly when the keys are equal. Empty in a listing that is replaced: the staging table tells. */
  readonly keyText: string;
  readonly order: Value;
  readonly fetchedAt: Instant;
  /** 0 where the table keeps none. */
  readonly hash: bigint;
  /** Bit i is set when the i-th child of the flow was delivered, whole or in part. */
  readonly delivered: number;
  /** True where rows came that do not enter the hash: lists that were fetched apart. */
  readonly tailed: boolean;
  /** Its rows are the batch's spans `[firstSpan, endSpan)`. Its own row lies in two: the content, and the loader's columns. */
  readonly firstSpan: number;
  readonly endSpan: number;
}

/** Records of one flow that will be committed together, already in the wire format: flat in memory, cheap to hash and to send. */
export interface Batch {
  readonly flow: Flow;
  /** Plain rows of which a complete listing replaces those that stand: rows that repeat a key are still in it. */
  readonly isListing: boolean;
  readonly layouts: readonly Layout[];
  readonly records: readonly BatchRecord[];
  readonly rejects: readonly Reject[];
  readonly notes: ReadonlySet<string>;
  /** Records given so far, good or bad. */
  readonly received: number;
  /** Records that repeated a key. */
  readonly deduplicated: number;
  readonly bytes: number;
  /** The content hash a record will have in the warehouse; computed over what was delivered, before tails. */
  digest(mapped: Mapped): bigint;
  /**
   * Takes a record in. `tails` are rows of lists that were fetched apart: they are stored but do not enter the hash. `lacking` are children
   * whose lists could not be had whole: the hash says so, and what is there of them stays.
   * Text that Postgres cannot hold is replaced (`withStorableText`). Throws `BadData` (and stays as it was) where a value does not fit
   * its column.
   */
  add(mapped: Mapped, fetchedAt: Instant, tails?: TailRows, lacking?: readonly string[]): void;
  /** The same for a record that is still bytes, of a listing. False (and it stays as it was) where the record needs the flow's `via`. */
  addRaw(record: RawRecord, encode: RawEncoder, fetchedAt: Instant): boolean;
  reject(reject: Reject): void;
  /** Notes that a record of this name was taken in: rejects of that name may be resolved. Named as rejects are. */
  landed(name: string): void;
  readonly names: readonly string[];
  readonly spans: Spans;
  /** The bytes `[from, to)`; valid until the next record. */
  slice(from: number, to: number): Buffer;
}

/** Records in the order of their keys. */
export const byKey = (records: readonly BatchRecord[]): BatchRecord[] =>
  [...records].sort((a, b) => (a.keyText < b.keyText ? -1 : a.keyText > b.keyText ? 1 : 0));

/** Longest key (bytes, encoded) that a B-tree index entry takes: a third of a page, less overhead. */
const longestKey = 2_600;

/** Plain rows of which a complete listing replaces those that stand. */
export const isListing = ({ absent, table, children }: Flow): boolean =>
  absent === 'replaced' && !table.entity && childrenOf(children).length === 0;

/** An empty batch for a flow. A `writer` may be handed on from a batch that is loaded: its memory is used again. */
export function newBatch(flow: Flow, writer: BinaryWriter = binaryWriter(1 << 18)): Batch {
  const children = childrenOf(flow.children);
  const layouts = [layoutOf(flow.table), ...children.map(([, child]) => layoutOf(child.table))];
  const listed = isListing(flow);
  writer.rewind(0);
  const records: BatchRecord[] = [];
  const places = new Map<string, number>();
  const rejects: Reject[] = [];
  const notes = new Set<string>();
  const names: string[] = [];
  let received = 0;
  let deduplicated = 0;

  const spans = newSpans();
  const root = layouts[0] as Layout;

  const undo = (bytes: number, rows: number): void => {
    writer.rewind(bytes);
    spans.rewind(rows);
  };

  /** Encodes the loader's own columns of a record's row (`hash`: of an entity's) behind everything else of it. */
  const addExtras = (fetchedAt: Instant, delivered: number, hash = 0n): void => {
    const from = writer.length;
    if (flow.table.entity) writer.field('bigint', hash);
    writer.field('timestamptz', fetchedAt);
    writer.field('int', delivered);
    spans.add(0, from, writer.length);
  };

  /** Encodes the delivered rows of a record at the end of the buffer. */
  const encode = (mapped: Mapped): { keyText: string; hash: bigint; delivered: number } => {
    const start = writer.length;
    encodeRow(writer, root, mapped.row, flow.table.entity ? 3 : 2);
    const endKey = endOfKey(writer, root, start);
    const keyText = listed ? '' : writer.latin1(start + 2, endKey);
    spans.add(0, start, writer.length);
    let delivered = 0;
    for (let i = 0; i < children.length; i += 1) {
      const rows = mapped.children[(children[i] as (typeof children)[number])[0]];
      if (rows === undefined) continue;
      delivered |= 1 << i;
      encodeChildren(writer, layouts[i + 1] as Layout, rows, i + 1, spans);
    }
    return {
      keyText,
      hash: flow.table.entity ? digestOf(writer.bytes(start, writer.length)) : 0n,
      delivered,
    };
  };

  const take = (
    mapped: Mapped,
    fetchedAt: Instant,
    tails: TailRows | undefined,
    lacking: readonly string[] = [],
  ): void => {
    const bytes = writer.length;
    const firstSpan = spans.length;
    try {
      const { keyText, hash: digest, delivered: whole } = encode(mapped);
      const hash = lacking.length === 0 ? digest : lackingHash(flow, digest, lacking);
      let delivered = whole;
      let tailed = false;
      for (let i = 0; i < children.length; i += 1) {
        const [name] = children[i] as (typeof children)[number];
        const rows = tails?.[name];
        if (rows === undefined) continue;
        tailed = true;
        delivered |= 1 << i;
        encodeChildren(writer, layouts[i + 1] as Layout, rows, i + 1, spans);
      }
      // Of what came only in part nothing may be taken away.
      addExtras(fetchedAt, delivered & ~bitsOf(children, [...(mapped.partial ?? []), ...lacking]), hash);
      const record: BatchRecord = {
        key: flow.table.key.map((column) => mapped.row[column] ?? null),
        keyText,
        order: flow.table.order === undefined ? null : (mapped.row[flow.table.order] ?? null),
        fetchedAt,
        hash,
        delivered,
        tailed,
        firstSpan,
        endSpan: spans.length,
      };
      // Of a listing all rows are kept: which repeat a key is settled in the staging table, over all of its batches.
      const place = listed ? undefined : places.get(keyText);
      if (place === undefined) {
        if (!listed) places.set(keyText, records.length);
        records.push(record);
      } else {
        deduplicated += 1;
        if (isNewer(record, records[place] as BatchRecord)) records[place] = record;
      }
    } catch (error) {
      undo(bytes, firstSpan);
      throw error;
    }
    received += 1;
    for (const note of mapped.notes ?? []) notes.add(note);
  };

  return {
    flow,
    isListing: listed,
    layouts,
    records,
    rejects,
    notes,
    get received() {
      return received;
    },
    get deduplicated() {
      return deduplicated;
    },
    get bytes() {
      return writer.length;
    },
    digest(mapped) {
      const [bytes, rows] = [writer.length, spans.length];
      try {
        return encode(mapped).hash;
      } catch (error) {
        if (!isBadText(error)) throw error;
        undo(bytes, rows);
        return encode(withStorableText(flow, mapped).mapped).hash;
      } finally {
        undo(bytes, rows);
      }
    },
    add(mapped, fetchedAt, tails, lacking) {
      try {
        take(mapped, fetchedAt, tails, lacking);
      } catch (error) {
        if (!isBadText(error)) throw error;
        const storable = withStorableText(flow, mapped, tails);
        take(storable.mapped, fetchedAt, storable.tails, lacking);
      }
    },
    addRaw(record, encode, fetchedAt) {
      if (!listed) throw new Error(`${flow.stream.name}: only rows of a listing are taken as bytes`);
      const from = writer.length;
      const firstSpan = spans.length;
      writer.fields(root.content.length + 2);
      if (!encode(writer, record) || !isKeyed(writer, root, from)) {
        undo(from, firstSpan);
        return false;
      }
      spans.add(0, from, writer.length);
      addExtras(fetchedAt, 0);
      records.push({
        key: [],
        keyText: '',
        order: null,
        fetchedAt,
        hash: 0n,
        delivered: 0,
        tailed: false,
        firstSpan,
        endSpan: spans.length,
      });
      received += 1;
      return true;
    },
    reject(reject) {
      received += 1;
      rejects.push(reject);
    },
    landed: (name) => void names.push(name),
    names,
    spans,
    slice: (from, to) => writer.bytes(from, to),
  };
}

const isBadText = (error: unknown): boolean => error instanceof BadData && error.code === 'bad_text';

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
      throw new BadData(error.code, `${layout.table.name}.${name}: ${error.message}`, {
        field: name,
        cause: error,
      });
    }
  }
}

function encodeChildren(
  writer: BinaryWriter,
  layout: Layout,
  rows: readonly Row[],
  table: number,
  spans: Spans,
): void {
  const seen = rows.length > 1 ? new Set<string>() : undefined;
  for (const row of rows) {
    const from = writer.length;
    encodeRow(writer, layout, row, layout.table.entity ? 1 : 0);
    const endKey = endOfKey(writer, layout, from);
    if (seen !== undefined) {
      const key = writer.latin1(from + 2, endKey);
      if (seen.has(key)) {
        writer.rewind(from);
        continue;
      }
      seen.add(key);
    }
    if (layout.table.entity) writer.field('bigint', digestOf(writer.bytes(from, writer.length)));
    spans.add(table, from, writer.length);
  }
}

/** Whether the row that begins at `from` has a key that a table takes. */
function isKeyed(writer: BinaryWriter, layout: Layout, from: number): boolean {
  try {
    endOfKey(writer, layout, from);
    return true;
  } catch (error) {
    if (error instanceof BadData) return false;
    throw error;
  }
}

/** The place behind the encoded key columns of the row that begins at `from`. */
function endOfKey(writer: BinaryWriter, layout: Layout, from: number): number {
  let at = from + 2;
  for (let i = 0; i < layout.keys; i += 1) {
    const length = writer.int32(at);
    if (length < 0) {
      const column = layout.content[i]?.[0];
      throw new BadData('no_key', `${layout.table.name}.${column} is part of the key and missing`, {
        ...(column === undefined ? {} : { field: column }),
      });
    }
    at += 4 + length;
  }
  if (at - from > longestKey)
    throw new BadData('key_too_long', `the key of a row of ${layout.table.name} has ${at - from} bytes`);
  return at;
}

const eight = new DataView(new ArrayBuffer(8));

/** The first 64 bits of the SHA-256. As text, because that costs a quarter less than a Buffer. */
const digestOf = (bytes: Buffer): bigint => {
  const text = crypto.hash('sha256', bytes, 'binary');
  for (let i = 0; i < 8; i += 1) eight.setUint8(i, text.charCodeAt(i));
  return eight.getBigInt64(0);
};
