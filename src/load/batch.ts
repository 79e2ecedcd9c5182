import crypto from 'node:crypto';
import { BadData } from '../core/errors.ts';
import type { BadPart, Mapped, Slice, Stream } from '../core/stream.ts';
import type { JsonText, Row, Value } from '../core/table.ts';
import type { Instant } from '../core/time.ts';
import { BinaryWriter } from './binary.ts';
import { bitsOf, childrenOf, type Layout, layoutOf } from './layout.ts';
import type { Session } from './session.ts';
import { type NestedRows, withStorableText } from './storable-text.ts';

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
  /** A part of the record alone, for this child: the record itself is loaded, and `key` is its name. */
  readonly part?: { readonly child: string; readonly given: JsonText | null };
}

/** A part whose bytes may be known already. `stage`: where it failed, if not in the transform. */
export type BadBytes = BadPart & { readonly payload?: Buffer; readonly stage?: 'encode' };

/** Makes the reject of a part. */
export type RejectPart = (bad: BadBytes) => Reject;

/** What belongs to a record besides its mapping: see `Batch.add`. */
export interface Besides {
  readonly nested?: NestedRows;
  readonly lacking?: readonly string[];
  /** Parts of the nested lists that cannot become rows. */
  readonly bad?: readonly BadBytes[];
  readonly rejectPart?: RejectPart;
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
  /** The same of children that were delivered whole: of these, absent rows are removed. */
  readonly whole: number;
  /** True where rows came that do not enter the hash: lists that were fetched apart. */
  readonly hasNested: boolean;
  /** Its rows are the batch's spans `[firstSpan, endSpan)`. */
  readonly firstSpan: number;
  readonly endSpan: number;
  /** Its parts that are rejected by themselves. */
  readonly rejects: readonly Reject[] | undefined;
}

/** The rows of a record, as the batch has encoded them, and its parts that could not be encoded. */
type Encoded = Pick<BatchRecord, 'keyText' | 'hash' | 'delivered' | 'hasNested'> &
  Pick<Mapped, 'notes'> & { readonly bad: readonly BadBytes[] };

/**
 * Records in the order of their keys: two transactions with the same keys then wait instead of deadlocking.
 */
export const byKey = (records: readonly BatchRecord[]): BatchRecord[] =>
  [...records].sort((a, b) => (a.keyText < b.keyText ? -1 : a.keyText > b.keyText ? 1 : 0));

/** Longest key (bytes, encoded) that a B-tree index entry takes: a third of a page, less overhead. */
const longestKey = 2_600;
/** Bytes of the encoded hash with its length. */
const hashBytes = 12;

/**
 * True where a complete listing replaces the rows of its scope, which are relations or report rows without
 * children.
 */
export const isListing = ({ absent, table, children }: Stream): boolean =>
  absent === 'delete' && !table.entity && childrenOf(children).length === 0;

/**
 * Records of one stream that are committed together, already in the wire format: flat in memory, cheap to
 * hash and to send.
 */
export class Batch {
  readonly stream: Stream;
  /**
   * True where rows that repeat a key stay in the batch: they are removed in the staging table, over all
   * batches of the listing.
   */
  readonly isListing: boolean;
  readonly layouts: readonly [Layout, ...Layout[]];
  /** The children of the stream; the position is the bit in `delivered`. */
  readonly children: ReturnType<typeof childrenOf>;
  readonly records: BatchRecord[] = [];
  readonly rejects: Reject[] = [];
  readonly notes = new Set<string>();
  /**
   * Names of records that were taken in, as `ops.rejects.record_key` has them, each by itself (the part is '') and with the
   * children that were read whole: rejects of these names and parts may be resolved.
   */
  readonly names: (readonly [name: string, part: string])[] = [];
  /** When its records were fetched. */
  readonly moments = new Set<Instant>();
  /** Records given so far, good or bad. */
  received = 0;
  /** Child rows given so far, and parts of records that could not become any. */
  parts = 0;
  badParts = 0;
  /** Records that repeated a key. */
  deduplicated = 0;
  /**
   * Three numbers a row: its table (0 is the stream's own, i + 1 its i-th child), its first byte and its end.
   */
  readonly spans: number[] = [];
  /** Its bytes are those of the rows. */
  readonly writer: BinaryWriter;
  /** What the records name in passing, each once, by its key. */
  readonly mentions = new Map<string, Record<string, Value>>();
  /** The row that was taken in last, by the same key. */
  readonly #named = new Map<string, Row>();
  readonly #byKey = new Map<string, number>();

  /** An empty batch. `writer` may come from a batch that is loaded: its memory is used again. */
  constructor(stream: Stream, writer: BinaryWriter = new BinaryWriter(1 << 18)) {
    this.stream = stream;
    this.isListing = isListing(stream);
    this.children = childrenOf(stream.children);
    this.layouts = [layoutOf(stream.table), ...this.children.map(([, child]) => layoutOf(child.table))];
    this.writer = writer;
    writer.rewind(0);
  }

  get bytes(): number {
    return this.writer.length;
  }

  /**
   * The content hash that a record will have in the warehouse, of what was delivered with it: without nested lists.
   * Throws as `add`.
   */
  digest(mapped: Mapped): bigint {
    const bytes = this.writer.length;
    const spans = this.spans.length;
    const { hash } = this.#encode(mapped, {});
    this.#undo(bytes, spans);
    return hash;
  }

  /**
   * Takes a record in. `nested` are rows of lists that were fetched apart: they are stored but do not enter
   * the hash. `lacking` are children whose lists could not be read whole: their stored rows stay, and the stored hash
   * is another one, so that the record counts as changed when it is read again. Text that Postgres cannot hold is replaced (`withStorableText`). A child row with
   * a value that does not fit its column is a reject by `rejectPart`, and the other rows of its child stay. Throws
   * `BadData`, and stays as it was, where the record's own row has one, or a child row and there is no `rejectPart`.
   */
  add(mapped: Mapped, fetchedAt: Instant, besides: Besides = {}): void {
    const { nested = noRows, lacking = noNames, rejectPart } = besides;
    const { table } = this.stream;
    const bytes = this.writer.length;
    const spans = this.spans.length;
    const firstSpan = spans / 3;
    const encoded = this.#encode(mapped, nested);
    const { keyText, hash: ofContent, delivered, hasNested, notes = [] } = encoded;
    // Nearly always there are none.
    const isSound = mapped.badParts === undefined && besides.bad === undefined && encoded.bad.length === 0;
    const bad = isSound ? none : [...(mapped.badParts ?? none), ...(besides.bad ?? none), ...encoded.bad];
    const first = bad[0];
    if (first !== undefined && rejectPart === undefined) {
      this.#undo(bytes, spans);
      throw first.error;
    }
    const isWhole = first === undefined && lacking.length === 0 && mapped.partial === undefined;
    const unread = isWhole
      ? noNames
      : [...(mapped.partial ?? []), ...lacking, ...bad.map(({ child }) => child)];
    const hash = lacking.length === 0 ? ofContent : ~ofContent;
    if (table.entity) this.writer.setInt8((this.spans[firstSpan * 3 + 2] ?? 0) - hashBytes, 'bigint', hash);
    this.#keep({
      key: this.isListing ? [] : table.key.map((column) => mapped.row[column] ?? null),
      keyText,
      order: table.order === undefined ? null : (mapped.row[table.order] ?? null),
      fetchedAt,
      hash,
      delivered,
      whole: isWhole ? delivered : delivered & ~bitsOf(this.children, unread),
      hasNested,
      firstSpan,
      endSpan: this.spans.length / 3,
      rejects: rejectPart && first && bad.map(rejectPart),
    });
    this.moments.add(fetchedAt);
    for (const note of notes) this.notes.add(note);
    for (const row of mapped.mentions ?? []) this.#mention(row);
    for (const row of nested.mentions ?? []) this.#mention(row);
    this.received += 1;
    this.parts += this.spans.length / 3 - firstSpan - 1 + bad.length;
    this.badParts += bad.length;
  }

  reject(reject: Reject): void {
    this.received += 1;
    this.rejects.push(reject);
  }

  /** Counts in what another batch counted, without its rows. */
  include({ received, deduplicated, rejects, notes, names, moments, mentions }: Batch): void {
    this.received += received;
    this.deduplicated += deduplicated;
    this.rejects.push(...rejects);
    this.names.push(...names);
    for (const note of notes) this.notes.add(note);
    for (const moment of moments) this.moments.add(moment);
    for (const [key, row] of mentions) this.mentions.set(key, row);
  }

  /** Of what is named more than once, the last value that is there counts. */
  #mention(row: Row): void {
    const { key: names = [] } = this.stream.mentions ?? {};
    const key = names.length === 1 ? String(row[names[0] ?? '']) : names.map((name) => row[name]).join(' ');
    // A transform gives one and the same row for as long as what it names stays as it is.
    if (this.#named.get(key) === row) return;
    this.#named.set(key, row);
    const known = this.mentions.get(key);
    if (known === undefined) this.mentions.set(key, { ...row });
    else for (const name in row) if (row[name] !== null) known[name] = row[name] as Value;
  }

  #undo(bytes: number, spans: number): void {
    this.writer.rewind(bytes);
    this.spans.length = spans;
  }

  /** Of a key that repeats, the newer record stays. */
  #keep(record: BatchRecord): void {
    const at = this.isListing ? undefined : this.#byKey.get(record.keyText);
    if (at !== undefined) {
      this.deduplicated += 1;
      if (isNewer(record, this.records[at] as BatchRecord)) this.records[at] = record;
      return;
    }
    if (!this.isListing) this.#byKey.set(record.keyText, this.records.length);
    this.records.push(record);
  }

  /** Encodes all rows of a record, with storable text where some is not; leaves nothing where it throws. */
  #encode(mapped: Mapped, nested: NestedRows, isStorable = false): Encoded {
    const writer = this.writer;
    const { length: spans } = this.spans;
    const start = writer.length;
    const [root] = this.layouts;
    const { entity } = root.table;
    try {
      const endOfKey = encodeRow(writer, root, mapped.row);
      if (entity) writer.field('bigint', 0);
      this.spans.push(0, start, writer.length);
      const bad: BadBytes[] = [];
      const ofRecord = this.#encodeChildren(mapped.children, bad, isStorable);
      const hash = entity ? digestOf(writer.bytes(start, writer.length)) : 0n;
      const ofNested = this.#encodeChildren(nested, bad, isStorable);
      const keyText = this.isListing ? '' : writer.latin1(start + 2, endOfKey);
      const delivered = ofRecord | ofNested;
      return { keyText, hash, delivered, hasNested: ofNested !== 0, notes: mapped.notes ?? [], bad };
    } catch (error) {
      this.#undo(start, spans);
      if (isStorable || !(error instanceof BadData) || error.code !== 'bad_text') throw error;
    }
    const storable = withStorableText(this.stream, mapped, nested);
    return this.#encode(storable.mapped, storable.nested, true);
  }

  /** Gives the bits of the children that were delivered. Rows that cannot be encoded are left out, and added to `bad`. */
  #encodeChildren(rows: NestedRows, bad: BadBytes[], isStorable: boolean): number {
    let delivered = 0;
    for (let i = 0; i < this.children.length; i += 1) {
      const list = rows[this.children[i]?.[0] ?? ''];
      if (list === undefined) continue;
      delivered |= 1 << i;
      const layout = this.layouts[i + 1] as Layout;
      const seen = list.length > 1 ? new Set<string>() : undefined;
      for (const row of list) {
        const from = this.writer.length;
        try {
          this.#encodeChild(layout, row, i + 1, seen);
        } catch (error) {
          // Text that Postgres cannot hold is mended once, for the entire record.
          if (!(error instanceof BadData) || (error.code === 'bad_text' && !isStorable)) throw error;
          this.writer.rewind(from);
          bad.push({ child: this.children[i]?.[0] ?? '', error, stage: 'encode' });
        }
      }
    }
    return delivered;
  }

  /** Of rows that repeat a key the first stays. */
  #encodeChild(layout: Layout, row: Row, table: number, seen: Set<string> | undefined): void {
    const writer = this.writer;
    const from = writer.length;
    const endOfKey = encodeRow(writer, layout, row);
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

const none: readonly BadBytes[] = [];
const noNames: readonly string[] = [];
const noRows: NestedRows = {};

/** Larger order wins; equal or unordered, the later fetch (guarantee G1). */
function isNewer(a: BatchRecord, b: BatchRecord): boolean {
  if (a.order !== null && b.order !== null && a.order !== b.order) return a.order > b.order;
  return a.fetchedAt >= b.fetchedAt;
}

/**
 * Encodes the content of a row; the loader's columns follow it. Gives the end of its key. Throws `BadData`
 * for a value that its column cannot hold, and for a key that no index takes.
 */
function encodeRow(writer: BinaryWriter, { table, content, key }: Layout, row: Row): number {
  const from = writer.length;
  let end = from;
  let name = '';
  // The count of content alone: `copyRows` writes the count of the columns that it sends.
  writer.fields(content.length);
  try {
    for (let i = 0; i < content.length; i += 1) {
      const column = content[i] as Layout['content'][number];
      name = column[0];
      const check = column[3];
      const value = row[name];
      if (value === undefined) throw new Error(`a row of ${table.name} lacks ${name}`);
      if (value === null && i < key.length) throw new BadData('no_key', 'it is part of the key and missing');
      if (value === null && !column[2]) throw new BadData('missing_field', 'it is required and missing');
      if (check !== undefined && typeof value === 'string') check(value);
      writer.field(column[1], value);
      if (i === key.length - 1) end = writer.length;
    }
  } catch (error) {
    if (!(error instanceof BadData)) throw error;
    const message = `${table.name}.${name}: ${error.message}`;
    throw new BadData(error.code, message, { field: name, cause: error });
  }
  if (end - from > longestKey)
    throw new BadData('key_too_long', `the key of a row of ${table.name} has ${end - from} bytes`);
  return end;
}

const eight = new DataView(new ArrayBuffer(8));

/** The first 64 bits of the SHA-256. As text, because that costs a quarter less than a Buffer. */
function digestOf(bytes: Buffer): bigint {
  const text = crypto.hash('sha256', bytes, 'binary');
  for (let i = 0; i < 8; i += 1) eight.setUint8(i, text.charCodeAt(i));
  return eight.getBigInt64(0);
}

/** Which run writes, and which of two versions of a row wins. */
export interface Merge {
  readonly sourceId: number;
  readonly runId: string;
  /** A forced resync: what is fetched now wins whatever the warehouse holds (guarantee G1). */
  readonly force: boolean;
  /**
   * Records that were fetched long ago (replay): they win over no row that was written since, by whatever
   * run, and revive none.
   */
  readonly late?: boolean;
}

/** A batch on its way into the warehouse. */
export interface LoadTask {
  readonly session: Session;
  readonly batch: Batch;
  readonly merge: Merge;
}
