/**
 * Lists that came only in part with their records (changelog, comments, worklogs), fetched record by record
 * for one walk. A list that the source gives for no record (the contract does not promise these endpoints)
 * is noted in `ops.streams` as `<stream>.<child>`, and fails nothing. When it is given later, everything is
 * read again: the records read meanwhile lack it.
 */

import { sql } from 'kysely';
import pLimit, { type LimitFunction } from 'p-limit';
import { BadData, Forbidden, Missing, Transient } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import type { PageWalk } from '../../core/paging.ts';
import type { Json } from '../../core/request.ts';
import type { Mapped, NestedList, Stream } from '../../core/stream.ts';
import { nameOf, type Row } from '../../core/table.ts';
import type { Batch } from '../../load/batch.ts';
import { lackedIn, target, typeOf } from '../../load/layout.ts';
import { pages } from '../../reading/pages.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { type RunContext, tell } from '../context/run-context.ts';

/** A list that this many records were refused, and none was given, is not requested again in this walk. */
const recordsUntilClosed = 3;

/** What is known of the endpoint of a list. */
interface Endpoint {
  readonly name: string;
  /** The first child that is made of it. */
  readonly child: string;
  /** Its name in `ops.streams`. */
  readonly note: string;
  /** It was given for no record when it was last requested. */
  readonly wasClosed: boolean;
  answered: boolean;
  isClosed: boolean;
  /** Keys of records that were refused it. */
  readonly refused: Set<string>;
  /** One request at a time until it has answered: a whole page must not ask a closed endpoint. */
  readonly limit: LimitFunction;
}

/** A list of one record. */
export interface ListRead {
  /** The record's key in the stream's table, as text. */
  readonly key: string;
  readonly endpoint: Endpoint;
  readonly walk: PageWalk;
  /** What is made of it: several children may be read from one list. */
  readonly lists: readonly NestedList[];
  /** It was refused in an earlier run, too: the stored row lacks it. */
  readonly again: boolean;
  /** What was read of it; absent: nothing. */
  readonly records?: readonly Json[];
  /** Why it was not given, or not whole. */
  readonly error?: Missing | Forbidden | Transient;
}

export interface Fetched {
  /** Rows by child: of complete lists, and what could be read of others. */
  readonly rows: Readonly<Record<string, readonly Row[]>>;
  /** The children whose lists could not be had whole: their stored rows stay. */
  readonly lacking: readonly string[];
  readonly refusals: readonly ListRead[];
}

type ListsOf = ReadonlyMap<Mapped, Fetched | BadData>;

/** What the step gives, or the `BadData` that it throws; every other error is a defect. */
export function unlessBad<T>(step: () => T): T | BadData {
  try {
    return step();
  } catch (error) {
    if (error instanceof BadData) return error;
    throw error;
  }
}

export class NestedLists {
  readonly #context: RunContext;
  readonly #stream: Stream;
  readonly #endpoints = new Map<string, Promise<Endpoint>>();

  constructor(context: RunContext, stream: Stream) {
    this.#context = context;
    this.#stream = stream;
  }

  /**
   * The lists of records that came in part: all where the content has changed or `force` is true, else those
   * that the stored row lacks.
   */
  async ofChanged(batch: Batch, records: readonly Mapped[], force: boolean): Promise<ListsOf> {
    const hashes = await this.#storedHashes(records);
    const found = records.map(async (mapped) => {
      // A bad one is rejected when it is taken, by the same check.
      const digest = unlessBad(() => batch.digest(mapped));
      if (digest instanceof BadData) return [];
      const hash = hashes.get(this.#keyOf(mapped));
      const lacked = hash === undefined ? undefined : lackedIn(this.#stream, hash, digest);
      const isWanted = ({ child }: NestedList) => force || lacked === undefined || lacked.includes(child);
      return [[mapped, await this.fetch(mapped, mapped.nestedLists?.filter(isWanted), lacked)] as const];
    });
    return new Map((await Promise.all(found)).flat());
  }

  /**
   * Fetches lists of one record. `lacked`: children that the stored row lacks. Gives `BadData` where a list
   * cannot become rows: then its record is rejected.
   */
  async fetch(
    mapped: Mapped,
    wanted: readonly NestedList[] = [],
    lacked: readonly string[] = [],
  ): Promise<Fetched | BadData> {
    const key = this.#keyOf(mapped);
    const reading = [...Map.groupBy(wanted, ({ walk }) => walk)].map(async ([walk, lists]) => {
      const endpoint = await this.#endpointOf(walk.first.endpoint, lists[0]?.child ?? '');
      const again = lists.every(({ child }) => lacked.includes(child));
      return this.#read({ key, endpoint, walk, lists, again });
    });
    const reads = await Promise.all(reading);
    const inPart = reads.filter(({ records, error }) => records === undefined || error !== undefined);
    const rowsOf = ({ lists, records }: ListRead) =>
      records === undefined ? [] : lists.map(({ child, rows }) => [child, rows(records)] as const);
    return unlessBad(() => ({
      rows: Object.fromEntries(reads.flatMap(rowsOf)),
      lacking: inPart.flatMap(({ lists }) => lists.map(({ child }) => child)),
      refusals: reads.filter(({ error }) => error !== undefined),
    }));
  }

  /**
   * What refusals mean once the slice was read. Gives an error where single records lack what others have:
   * the slice is read again by the next run; a record that is refused again stays without the list.
   */
  async judge(refusals: readonly ListRead[]): Promise<Transient | undefined> {
    const { exists } = this.#stream;
    const { signal } = this.#context;
    const single: ListRead[] = [];
    for (const refusal of refusals) {
      const { endpoint, error, key, again } = refusal;
      if (endpoint.isClosed) continue;
      const isOfAll = !endpoint.answered && (endpoint.wasClosed || !again);
      if (isOfAll && isRefusal(error)) await this.#close(endpoint, error);
      // Nothing is owed of a record that was deleted a moment ago.
      else if (!(error instanceof Missing) || (await exists?.(key, signal)) !== false) single.push(refusal);
    }
    const stay = single.filter(({ again }) => again);
    if (stay.length > 0) this.#warn(`not given again, ${namesOf(stay)}; sync --full asks once more`);
    const owed = single.filter(({ again }) => !again);
    if (owed.length === 0) return undefined;
    const cause = owed[0]?.error;
    return new Transient(`not given, to be requested by the next run: ${namesOf(owed)}`, { cause });
  }

  /** The notes about lists that are given in this walk and were closed before: older records lack them. */
  async opened(): Promise<readonly string[]> {
    const all = await Promise.all(this.#endpoints.values());
    return all.flatMap(({ answered, wasClosed, note }) => (answered && wasClosed ? note : []));
  }

  /** A refusal, or a list that lacks what came with the record, is requested a second time. */
  async #read(list: ListRead, isSecond = false): Promise<ListRead> {
    const read = await list.endpoint.limit(() => this.#request(list));
    const isDoubtful = lacksShown(read) || (!list.again && isRefusal(read.error));
    return isDoubtful && !isSecond ? this.#read(list, true) : read;
  }

  /** Reads the list; gives it as it was where its endpoint is closed. */
  async #request(list: ListRead): Promise<ListRead> {
    const { endpoint, walk, key, again } = list;
    if (endpoint.isClosed) return list;
    const records: Json[] = [];
    try {
      const reading = pages(this.#context.deps.source.http, walk, this.#context.signal);
      let step = await reading.next();
      for (; step.done !== true; step = await reading.next()) records.push(...step.value.records);
      if (!endpoint.answered && endpoint.wasClosed)
        this.#warn(`${endpoint.child} can be read now; the next run reads all to fill what lacks`);
      endpoint.answered = true;
      endpoint.limit.concurrency = Number.POSITIVE_INFINITY;
      const { matched, expected, fetched } = step.value;
      if (matched) return { ...list, records };
      // Half a list must not pass for all of it: what it does not show would be removed.
      const message = `${walk.first.path}: the source says ${expected ?? 'nothing'}, ${fetched} could be read`;
      return { ...list, records, error: new Transient(message) };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // A record that alone was refused before, and is again, says nothing of the endpoint.
      if (!again || endpoint.wasClosed) endpoint.refused.add(key);
      if (!endpoint.answered && endpoint.refused.size >= recordsUntilClosed)
        await this.#close(endpoint, error);
      return { ...list, error };
    }
  }

  /** Does not request the list any more, and says so where people look for the state of streams. */
  async #close(endpoint: Endpoint, error: Error): Promise<void> {
    endpoint.isClosed = true;
    const { run, deps } = this.#context;
    const { name, child, note } = endpoint;
    const table = this.#stream.children?.[child]?.table;
    const state = error instanceof Forbidden ? 'forbidden' : 'unavailable';
    const about = `Part of ${this.#stream.name}: requested where a record does not bring all of it.`;
    const insert = sql`
      insert into ops.streams (source_id, stream, target, about, endpoint, state, reason, checked_at)
      values (${run.sourceId}, ${note}, ${table ? nameOf(table) : ''}, ${about}, ${name}, ${state},
        ${error.message}, now())
      on conflict (source_id, stream) do update set state = excluded.state, reason = excluded.reason,
        endpoint = excluded.endpoint, checked_at = excluded.checked_at`;
    await withRetry(() => insert.execute(deps.warehouse.db));
    this.#warn(`${child} ${state}: ${error.message}`);
  }

  #endpointOf(name: string, child: string): Promise<Endpoint> {
    const endpoint = this.#endpoints.get(name) ?? this.#firstSeen(name, child);
    this.#endpoints.set(name, endpoint);
    return endpoint;
  }

  async #firstSeen(name: string, child: string): Promise<Endpoint> {
    const { run, deps } = this.#context;
    const note = `${this.#stream.name}.${child}`;
    const noted = sql`select from ops.streams where source_id = ${run.sourceId} and stream = ${note}`;
    const { rows } = await withRetry(() => noted.execute(deps.warehouse.db));
    const fresh = { answered: false, isClosed: false, refused: new Set<string>(), limit: pLimit(1) };
    return { name, child, note, wasClosed: rows.length > 0, ...fresh };
  }

  /** The hashes of the stored rows, by key. */
  async #storedHashes(records: readonly Mapped[]): Promise<ReadonlyMap<string, bigint>> {
    const { run, deps } = this.#context;
    const { table } = this.#stream;
    const [key = ''] = table.key;
    if (records.length === 0) return new Map();
    const keys = records.map((mapped) => this.#keyOf(mapped));
    const stored = sql<{ key: string; hash: string }>`
      select ${sql.id(key)}::text as key, _row_hash::text as hash from ${target(table)}
      where source_id = ${run.sourceId} and _deleted_at is null and _row_hash is not null
        and ${sql.id(key)} = any (${keys}::${typeOf(table, key)}[])`;
    const { rows } = await withRetry(() => stored.execute(deps.warehouse.db));
    return new Map(rows.map((row) => [row.key, BigInt(row.hash)]));
  }

  readonly #keyOf = ({ row }: Mapped): string => String(row[this.#stream.table.key[0] ?? '']);

  #warn(message: string): void {
    tell(this.#context, 'warn', `${this.#stream.name}: ${message}`);
  }
}

const isRefusal = (error: unknown): error is Missing | Forbidden =>
  error instanceof Missing || error instanceof Forbidden;

/** Whether a list that passes for complete lacks some of what came with its record. */
function lacksShown({ records, error, walk, lists }: ListRead): boolean {
  if (records === undefined || error !== undefined) return false;
  const ids = new Set(records.map((record) => walk.id(record)));
  return lists.some(({ shown = [] }) => shown.some((id) => !ids.has(id)));
}

/** The first list, with why it was not given, and how many others there are. */
const namesOf = ([first, ...more]: readonly ListRead[]): string =>
  `${first?.endpoint.child} of ${first?.key}${more.length === 0 ? '' : ` and ${plural(more.length, 'other list')}`}: ${first?.error?.message}`;
