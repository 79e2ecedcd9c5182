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
import type { Mapped, NestedList } from '../../core/stream.ts';
import { nameOf, type Row } from '../../core/table.ts';
import type { Batch } from '../../load/batch.ts';
import { lackedIn, target, typeOf } from '../../load/layout.ts';
import { pages } from '../../reading/pages.ts';
import { ask, tell } from '../context/run-context.ts';
import type { StreamInRun } from '../context/stream-in-run.ts';
import { confirmed, ShownLess } from '../verify.ts';

/** A list that this many records were refused, and none was given, is not requested again in this walk. */
const recordsUntilClosed = 3;

/** What is known of the endpoint of a list. */
interface Endpoint {
  /** The first child that is made of it. */
  readonly child: string;
  /** It was given for no record when it was last requested. */
  readonly wasClosed: boolean;
  answered: boolean;
  /** Why it is not requested any more. */
  closedBy?: Error;
  /** Keys of records that were refused it. */
  readonly refused: Set<string>;
  /** One record at a time until it has answered: a whole page must not ask a closed endpoint. */
  readonly limit: LimitFunction;
}

/** A list of one record, as far as it was given: one request for all that is made of it. */
export interface ListRead {
  /** The record's key in the stream's table, as text. */
  readonly key: string;
  readonly endpoint: Endpoint;
  readonly walk: PageWalk;
  /** What is made of it: several children may be read from one list. */
  readonly lists: readonly NestedList[];
  /** It was refused in an earlier run, too: the stored row lacks it. */
  readonly again: boolean;
  readonly records: readonly Json[];
  /** Why it was not given, or not whole. */
  readonly error?: Error;
}

/**
 * Rows by child: of complete lists, and what could be read of others. Throws `BadData` where a list cannot
 * become rows.
 */
export const nestedOf = (reads: readonly ListRead[]): Readonly<Record<string, readonly Row[]>> =>
  Object.fromEntries(
    reads.flatMap(({ lists, records }) => lists.map(({ child, rows }) => [child, rows(records)])),
  );

/** The children whose lists could not be had whole: their stored rows stay. */
export const lackingIn = (reads: readonly ListRead[]): readonly string[] =>
  reads.flatMap(({ lists, error }) => (error === undefined ? [] : lists.map(({ child }) => child)));

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
  readonly #of: StreamInRun;
  /** By the first child that is made of them. */
  readonly #endpoints = new Map<string, Promise<Endpoint>>();

  constructor(of: StreamInRun) {
    this.#of = of;
  }

  /**
   * The lists of records that came in part: all where the content has changed or `force` is true, else those
   * that the stored row lacks. A record that is bad without its lists has none.
   */
  async ofChanged(
    batch: Batch,
    records: readonly Mapped[],
    force: boolean,
  ): Promise<ReadonlyMap<Mapped | BadData, readonly ListRead[]>> {
    const hashes = await this.#storedHashes(records);
    const one = async (mapped: Mapped) => {
      const digest = unlessBad(() => batch.digest(mapped));
      if (digest instanceof BadData) return [mapped, []] as const;
      const hash = hashes.get(this.#keyOf(mapped));
      const lacked = hash === undefined ? undefined : lackedIn(this.#of.stream, hash, digest);
      return [mapped, await this.fetch(mapped, lacked, force)] as const;
    };
    return new Map(await Promise.all(records.map(one)));
  }

  /** Fetches the lists of one record; where a stored row lacks only the `lacked`, only these, or all by `force`. */
  fetch(mapped: Mapped, lacked?: readonly string[], force = false): Promise<readonly ListRead[]> {
    const lists = mapped.nestedLists ?? [];
    const wanted =
      force || lacked === undefined ? lists : lists.filter(({ child }) => lacked.includes(child));
    const reading = [...Map.groupBy(wanted, ({ walk }) => walk)].map(async ([walk, lists]) => {
      const endpoint = await this.#endpointOf(lists[0]?.child ?? '');
      const again = lists.every(({ child }) => lacked?.includes(child));
      return this.#read({ key: this.#keyOf(mapped), endpoint, walk, lists, again, records: [] });
    });
    return Promise.all(reading);
  }

  /**
   * What it means, once the slice was read, that lists were not given. Gives an error where single records lack what others have:
   * the slice is read again by the next run; a record that is refused again stays without the list.
   */
  async judge(reads: readonly ListRead[]): Promise<Transient | undefined> {
    const { context, stream } = this.#of;
    const [owed, stay]: [ListRead[], ListRead[]] = [[], []];
    for (const list of reads) {
      const { endpoint, error, key, again } = list;
      if (error === undefined || endpoint.closedBy !== undefined) continue;
      if (!endpoint.answered && (endpoint.wasClosed || !again)) await this.#close(list, error);
      // Nothing is owed of a record that was deleted a moment ago.
      else if (!(error instanceof Missing) || (await stream.exists?.(key, context.signal)) !== false)
        (again ? stay : owed).push(list);
    }
    if (stay.length > 0) this.#warn(`not given again, ${namesOf(stay)}; sync --full asks once more`);
    if (owed.length === 0) return undefined;
    const cause = owed[0]?.error;
    return new Transient(`not given, to be requested by the next run: ${namesOf(owed)}`, { cause });
  }

  /** The notes about lists that are given in this walk and were closed before: older records lack them. */
  async opened(): Promise<readonly string[]> {
    const all = await Promise.all(this.#endpoints.values());
    return all.flatMap(({ answered, wasClosed, child }) =>
      answered && wasClosed ? this.#noteOf(child) : [],
    );
  }

  /** Reads the list, a second time where the first answer refuses it; gives it as it was where its endpoint is closed. */
  #read(list: ListRead): Promise<ListRead> {
    const { endpoint, key, again } = list;
    return endpoint.limit(async () => {
      if (endpoint.closedBy) return { ...list, error: endpoint.closedBy };
      try {
        return await confirmed((doubt) => this.#request(list, doubt));
      } catch (error) {
        if (!(error instanceof Missing || error instanceof Forbidden)) throw error;
        // A record that alone was refused before, and is again, says nothing of the endpoint.
        if (!again || endpoint.wasClosed) endpoint.refused.add(key);
        if (!endpoint.answered && endpoint.refused.size >= recordsUntilClosed) await this.#close(list, error);
        return { ...list, error };
      }
    });
  }

  /** Throws `ShownLess` where the list lacks what came with its record, unless it is requested in `doubt`. */
  async #request(list: ListRead, doubt: Error | undefined): Promise<ListRead> {
    const { endpoint, walk, lists } = list;
    const { deps, signal } = this.#of.context;
    const records: Json[] = [];
    const reading = pages(deps.source.http, walk, signal);
    let step = await reading.next();
    for (; step.done !== true; step = await reading.next()) records.push(...step.value.records);
    if (!endpoint.answered && endpoint.wasClosed)
      this.#warn(`${endpoint.child} can be read now; the next run reads all to fill what lacks`);
    endpoint.answered = true;
    endpoint.limit.concurrency = Number.POSITIVE_INFINITY;
    const { matched, expected, fetched } = step.value;
    // Half a list must not pass for all of it: what it does not show would be removed.
    const message = `${walk.first.path}: the source says ${expected ?? 'nothing'}, ${fetched} could be read`;
    if (!matched) return { ...list, records, error: new Transient(message) };
    const ids = new Set(records.map((record) => walk.id(record)));
    // An empty list that states no total proves nothing either.
    const isUnstated = expected === null && fetched === 0;
    const isLacking = isUnstated || lists.some(({ shown = [] }) => shown.some((id) => !ids.has(id)));
    if (isLacking && doubt === undefined) throw new ShownLess(message);
    return { ...list, records };
  }

  /** Does not request the list any more, and says so where people look for the state of streams. */
  async #close({ endpoint, walk }: ListRead, error: Error): Promise<void> {
    endpoint.closedBy = error;
    const { context, stream } = this.#of;
    const { child } = endpoint;
    const table = stream.children?.[child]?.table;
    const state = error instanceof Forbidden ? 'forbidden' : 'unavailable';
    const about = `Part of ${stream.name}: requested where a record does not bring all of it.`;
    const insert = sql`
      insert into ops.streams (source_id, stream, target, about, endpoint, state, reason, checked_at)
      values (${context.run.sourceId}, ${this.#noteOf(child)}, ${table ? nameOf(table) : ''}, ${about},
        ${walk.first.endpoint}, ${state}, ${error.message}, now())
      on conflict (source_id, stream) do update set state = excluded.state, reason = excluded.reason,
        endpoint = excluded.endpoint, checked_at = excluded.checked_at`;
    await ask(context, insert);
    this.#warn(`${child} ${state}: ${error.message}`);
  }

  #endpointOf(child: string): Promise<Endpoint> {
    const endpoint = this.#endpoints.get(child) ?? this.#firstSeen(child);
    this.#endpoints.set(child, endpoint);
    return endpoint;
  }

  async #firstSeen(child: string): Promise<Endpoint> {
    const { context } = this.#of;
    const query = sql`select from ops.streams
      where source_id = ${context.run.sourceId} and stream = ${this.#noteOf(child)}`;
    const wasClosed = (await ask(context, query)).length > 0;
    return { child, wasClosed, answered: false, refused: new Set(), limit: pLimit(1) };
  }

  /** The hashes of the stored rows, by key. */
  async #storedHashes(records: readonly Mapped[]): Promise<ReadonlyMap<string, bigint>> {
    const { context, stream } = this.#of;
    const { table } = stream;
    const [key = ''] = table.key;
    if (records.length === 0) return new Map();
    const query = sql<{ key: string; hash: string }>`
      select ${sql.id(key)}::text as key, _row_hash::text as hash from ${target(table)}
      where source_id = ${context.run.sourceId} and _deleted_at is null and _row_hash is not null
        and ${sql.id(key)} = any (${records.map(this.#keyOf)}::${typeOf(table, key)}[])`;
    return new Map((await ask(context, query)).map(({ key, hash }) => [key, BigInt(hash)]));
  }

  readonly #keyOf = ({ row }: Mapped): string => String(row[this.#of.stream.table.key[0] ?? '']);

  /** The name in `ops.streams` of the lists of a child. */
  readonly #noteOf = (child: string): string => `${this.#of.stream.name}.${child}`;

  readonly #warn = (message: string): void =>
    tell(this.#of.context, 'warn', `${this.#of.stream.name}: ${message}`);
}

/** The first list, with why it was not given, and how many others there are. */
const namesOf = ([first, ...more]: readonly ListRead[]): string =>
  `${first?.endpoint.child} of ${first?.key}${more.length === 0 ? '' : ` and ${plural(more.length, 'other list')}`}: ${first?.error?.message}`;
