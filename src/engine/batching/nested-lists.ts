/**
 * Lists that came only in part with their records (changelog, comments, worklogs), fetched for one walk: of
 * many records at once where the source has that, else record by record. A list that the source gives for no
 * record (the contract does not promise these endpoints) is a warning, and fails nothing.
 */

import { sql } from 'kysely';
import pLimit, { type LimitFunction } from 'p-limit';
import { BadData, Forbidden, Missing, Transient } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import { pathOf, storableJson, toJson, valueSlice } from '../../core/json.ts';
import { unlessBad } from '../../core/record.ts';
import type { BadPart, Mapped, PageWalk, Slice } from '../../core/stream.ts';
import type { Row } from '../../core/table.ts';
import type { BadBytes, Batch, Besides, Reject } from '../../load/batch.ts';
import { target, typeOf } from '../../load/layout.ts';
import { readingOf } from '../../reading/pages.ts';
import { ask, type StreamRun, tell } from '../context/run-context.ts';
import { confirmed, ShownLess } from '../verify.ts';
import { BulkReader, type Element, type Wanted } from './bulk-lists.ts';

/** A list that this many records were refused, twice each, and none was given, is not requested again in this walk. */
const recordsUntilClosed = 2;

/** What is known of the endpoint of a list. */
interface Endpoint {
  /** The first child that is made of it. */
  readonly child: string;
  answered: boolean;
  /** Why it is not requested any more. */
  closedBy?: Error;
  /** Keys of records that were refused it. */
  readonly refused: Set<string>;
  /** One record at a time until it has answered: a whole page must not ask a closed endpoint. */
  readonly limit: LimitFunction;
}

const newEndpoint = (child: string): Endpoint => {
  return { child, answered: false, refused: new Set(), limit: pLimit(1) };
};

/** A list of one record, as far as it was given. */
export interface ListRead extends Wanted {
  readonly endpoint: Endpoint;
  readonly walk: PageWalk;
  /** What could be read of it, as rows. */
  readonly made?: MadeRows | BadData;
  /** Why it was not given, or not whole. */
  readonly error?: Error;
}

/** Rows by child, and the parts that cannot become any, with their bytes. */
type MadeRows = Required<Pick<Besides, 'nested' | 'bad'>>;

/**
 * What a batch takes besides the record: rows of complete lists with their `mentions`, and what could be read of others,
 * whose children's stored rows stay. Throws `BadData` where a list as a whole cannot become rows.
 */
export const nestedOf = (reads: readonly ListRead[]): Besides => {
  const nested: Record<string, readonly Row[]> = { mentions: [] };
  const bad: BadBytes[] = [];
  for (const { lists, made } of reads) {
    if (made instanceof BadData) throw made;
    for (const { child } of lists) nested[child] = made?.nested[child] ?? [];
    nested.mentions = [...(nested.mentions ?? []), ...(made?.nested.mentions ?? [])];
    bad.push(...(made?.bad ?? []));
  }
  const lacking = reads.flatMap(({ lists, error }) => (error ? lists.map(({ child }) => child) : []));
  return { nested, bad, lacking };
};

/** The list with the rows of what was read of it, made at once: neither records nor answers are kept in memory. */
const madeOf = (list: ListRead, read: readonly Element[]): ListRead => {
  const records = read.map(({ record }) => record);
  const bad: BadBytes[] = [];
  const take = (part: BadPart): void => {
    const payload = bytesIn(part, read);
    bad.push({ ...part, ...(payload && { payload }) });
  };
  const rows = () => ({
    ...Object.fromEntries(list.lists.map(({ child, rows }) => [child, rows(records, take)])),
    mentions: list.lists.flatMap(({ mentions }) => mentions?.(records) ?? []),
  });
  const nested = unlessBad(rows);
  return { ...list, made: nested instanceof BadData ? nested : { nested, bad } };
};

/** Whether a list does not have what came with its record. */
const lacksShown = ({ walk, lists }: ListRead, read: readonly Element[]): boolean => {
  const ids = new Set(read.map(({ record }) => walk.id(record)));
  return lists.some(({ shown = [] }) => shown.some((id) => !ids.has(id)));
};

export class NestedLists {
  readonly #of: StreamRun;
  readonly #bulk: BulkReader;
  /** By the first child that is made of them. */
  readonly #endpoints = new Map<string, Endpoint>();

  /** `since`: where the records are those that changed since an instant. */
  constructor(of: StreamRun, since?: Date) {
    this.#of = of;
    this.#bulk = new BulkReader(of, since);
  }

  /**
   * The lists of records that came in part, where the content has changed, the stored row lacks a list, or
   * `force` is true. A record that is bad without its lists has none.
   */
  async ofChanged(batch: Batch, records: readonly Mapped[], force: boolean) {
    const hashes = await this.#storedHashes(records);
    const lists = records.map((mapped) => {
      const digest = unlessBad(() => batch.digest(mapped));
      const isStored = !force && hashes.get(this.#keyOf(mapped)) === digest;
      return [mapped, isStored || digest instanceof BadData ? [] : this.#wantedOf(mapped)] as const;
    });
    const bulk = await this.#readBulk(lists.flatMap(([, of]) => of));
    const read = lists.map(async ([mapped, of]) => [mapped, await this.#readAll(of, bulk)] as const);
    return new Map(await Promise.all(read));
  }

  /** Fetches the lists of one record. */
  fetch(mapped: Mapped): Promise<readonly ListRead[]> {
    return this.#readAll(this.#wantedOf(mapped));
  }

  #wantedOf(mapped: Mapped): readonly ListRead[] {
    return [...Map.groupBy(mapped.nestedLists ?? [], ({ walk }) => walk)].map(([walk, lists]) => {
      const endpoint = this.#endpointOf(lists[0]?.child ?? '');
      return { key: this.#keyOf(mapped), endpoint, walk, lists };
    });
  }

  /** Those of the lists that the source gives whole for many records at once. */
  async #readBulk(lists: readonly ListRead[]): Promise<ReadonlyMap<ListRead, ListRead>> {
    const found = new Map<ListRead, ListRead>();
    for (const [bulk, some] of Map.groupBy(lists, ({ lists: [first] }) => first?.bulk)) {
      if (bulk === undefined) continue;
      const given = await this.#bulk.read(bulk, some);
      for (const list of some) {
        const read = given.get(list.key) ?? [];
        const stated = list.lists[0]?.stated;
        if (stated === undefined || read.length < stated || lacksShown(list, read)) continue;
        this.#given(list.endpoint);
        found.set(list, madeOf(list, read));
      }
    }
    return found;
  }

  #readAll(lists: readonly ListRead[], read?: ReadonlyMap<ListRead, ListRead>): Promise<readonly ListRead[]> {
    return Promise.all(lists.map((list) => read?.get(list) ?? this.#read(list)));
  }

  /**
   * What it means, once the slice was read, that lists were not given. Gives an error where single records lack
   * what others have: the slice is read again by each run until they are given.
   */
  async judge(reads: readonly ListRead[]): Promise<Transient | undefined> {
    const { stream, signal } = this.#of;
    const owed: ListRead[] = [];
    for (const list of reads) {
      const { endpoint, error, key } = list;
      if (error === undefined || endpoint.closedBy !== undefined) continue;
      if (!endpoint.answered) this.#close(list, error);
      // Nothing is owed of a record that was deleted a moment ago.
      else if (!(error instanceof Missing) || (await stream.exists?.(key, signal)) !== false) owed.push(list);
    }
    const [first, ...more] = owed;
    if (first === undefined) return undefined;
    const others = more.length === 0 ? '' : ` and ${plural(more.length, 'other list')}`;
    const what = `${first.endpoint.child} of ${first.key}${others}: ${first.error?.message}`;
    return new Transient(`not given, to be requested by the next run: ${what}`, { cause: first.error });
  }

  /** Reads the list, a second time where the first answer refuses it; gives it as it was where its endpoint is closed. */
  #read(list: ListRead): Promise<ListRead> {
    const { endpoint, key } = list;
    return endpoint.limit(async () => {
      if (endpoint.closedBy) return { ...list, error: endpoint.closedBy };
      try {
        return await confirmed((doubts) => this.#request(list, doubts));
      } catch (error) {
        if (!(error instanceof Missing || error instanceof Forbidden)) throw error;
        endpoint.refused.add(key);
        if (!endpoint.answered && endpoint.refused.size >= recordsUntilClosed) this.#close(list, error);
        return { ...list, error };
      }
    });
  }

  /** Throws `ShownLess` where the list lacks what came with its record, unless an earlier request said so, too. */
  async #request(list: ListRead, doubts: readonly Error[]): Promise<ListRead> {
    const { endpoint, walk } = list;
    const { deps, signal } = this.#of;
    const read: Element[] = [];
    const reading = readingOf(deps.source.http, walk, signal);
    let step = await reading.pages.next();
    for (; step.done !== true; step = await reading.pages.next()) {
      const page = step.value;
      for (const record of page.records)
        read.push({ record, source: record, bytes: () => reading.bytes(record, page) });
    }
    this.#given(endpoint);
    const { matched, expected, read: count } = step.value;
    // Half a list must not pass for all of it: what it does not show would be removed.
    const message = `${walk.first.path}: the source says ${expected ?? 'nothing'}, ${count} could be read`;
    if (!matched) return { ...madeOf(list, read), error: new Transient(message) };
    // An empty list that states no total proves nothing either.
    const isUnstated = expected === null && count === 0;
    const isDoubted = doubts.some((doubt) => doubt instanceof ShownLess);
    if ((isUnstated || lacksShown(list, read)) && !isDoubted) throw new ShownLess(message);
    return madeOf(list, read);
  }

  /** Lists of the endpoint are given: from now on many at once. */
  #given(endpoint: Endpoint): void {
    endpoint.answered = true;
    endpoint.limit.concurrency = Number.POSITIVE_INFINITY;
  }

  /** Does not request the list any more. */
  #close({ endpoint }: ListRead, error: Error): void {
    endpoint.closedBy = error;
    const state = error instanceof Forbidden ? 'forbidden' : 'unavailable';
    const message = `${this.#of.stream.name}: ${endpoint.child} ${state}: ${error.message}; once they are given, sync --full reads what lacks`;
    tell(this.#of, 'warn', message);
  }

  #endpointOf(child: string): Endpoint {
    const endpoint = this.#endpoints.get(child) ?? newEndpoint(child);
    this.#endpoints.set(child, endpoint);
    return endpoint;
  }

  /** The hashes of the stored rows, by key. */
  async #storedHashes(records: readonly Mapped[]): Promise<ReadonlyMap<string, bigint>> {
    const { sourceId, stream } = this.#of;
    const { table } = stream;
    const [key = ''] = table.key;
    if (records.length === 0) return new Map();
    const query = sql<{ key: string; hash: string }>`
      select ${sql.id(key)}::text as key, _row_hash::text as hash from ${target(table)}
      where source_id = ${sourceId} and _deleted_at is null and _row_hash is not null
        and ${sql.id(key)} = any (${records.map(this.#keyOf)}::${typeOf(table, key)}[])`;
    return new Map((await ask(this.#of, query)).map(({ key, hash }) => [key, BigInt(hash)]));
  }

  readonly #keyOf = ({ row }: Mapped): string => String(row[this.#of.stream.table.key[0] ?? '']);
}

// Parts of records that cannot become rows, as rejects with their exact bytes.

/** The reject of a part of this record. */
export const partRejected = (bad: BadBytes, key: string, record: Element, slice: Slice): Reject => {
  const { child, error, stage = 'transform' } = bad;
  const { code, field } = error;
  const message = `${error.message} (part of ${key})`;
  const payload = bad.payload ?? bytesIn(bad, [record]) ?? record.bytes();
  const text = unlessBad(() => storableJson(toJson(bad.given ?? null)));
  const part = { child, given: typeof text === 'string' ? text : null };
  return { key, payload, stage, code, field, message, slice, part };
};

/**
 * The bytes of a part as they stand in those of its record, which is one of these; those of the record where its place
 * is not known. Undefined where it is in none of them.
 */
export const bytesIn = ({ part }: BadPart, records: readonly Element[]): Buffer | undefined => {
  const found = records.find(({ record }) => pathOf(record, part) !== undefined);
  if (found === undefined) return undefined;
  const path = pathOf(found.source, part);
  const bytes = found.bytes();
  return (path && valueSlice(bytes, path)) ?? bytes;
};
