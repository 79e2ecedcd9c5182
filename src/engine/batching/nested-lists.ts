/**
 * Lists that came only in part with their records (changelog, comments, worklogs), fetched record by record
 * for one walk. A list that the source gives for no record (the contract does not promise these endpoints)
 * is noted in `ops.streams` by the name of its child, and fails nothing. When it is given later,
 * everything is read again: the records read meanwhile lack it.
 */

import { sql } from 'kysely';
import pLimit, { type LimitFunction } from 'p-limit';
import { Forbidden, Missing, Transient } from '../../core/errors.ts';
import type { PageWalk } from '../../core/paging.ts';
import type { Json } from '../../core/request.ts';
import type { Mapped, NestedList, Stream } from '../../core/stream.ts';
import { nameOf, type Row } from '../../core/table.ts';
import type { Session } from '../../load/session.ts';
import { pages } from '../../reading/pages.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { type RunContext, tell } from '../context/run-context.ts';
import { keyOf } from './unchanged.ts';

/** A list that this many records were refused, and none was given, is not requested again in this walk. */
const recordsUntilClosed = 3;

/** What is known of the endpoint of a list. */
interface Endpoint {
  readonly name: string;
  /** The first child that is made of it. */
  readonly child: string;
  /** It was given for no record when it was last requested. */
  readonly wasClosed: boolean;
  answered: boolean;
  isClosed: boolean;
  /** Keys of records that were refused it before it has answered once. */
  readonly refused: Set<string>;
  /** One request at a time until it has answered: a whole page must not ask a closed endpoint. */
  readonly limit: LimitFunction;
}

/** What was read of a list; `records` is absent where nothing was, `trouble` where it is whole. */
interface Answer {
  readonly records?: readonly Json[];
  readonly trouble?: Missing | Forbidden | Transient;
}

/** A list that the source did not give for a record, or not whole. */
export interface RefusedList {
  /** The record's key in the stream's table, as text. */
  readonly key: string;
  readonly endpoint: Endpoint;
  readonly error: Missing | Forbidden | Transient;
  /** It was refused in an earlier run, too: the stored row lacks it. */
  readonly again: boolean;
}

export interface Fetched {
  /** Rows by child: of complete lists, and what could be read of others. */
  readonly rows: Readonly<Record<string, readonly Row[]>>;
  /** The children whose lists could not be had whole: their stored rows stay. */
  readonly lacking: readonly string[];
  readonly refusals: readonly RefusedList[];
}

export class NestedLists {
  readonly #context: RunContext;
  readonly #stream: Stream;
  /** Tables of the children: they tell the note about a child from a stream of the same name. */
  readonly #targets: readonly string[];
  readonly #endpoints = new Map<string, Endpoint>();
  #closedBefore: Promise<ReadonlySet<string>> | undefined;

  constructor(context: RunContext, stream: Stream) {
    this.#context = context;
    this.#stream = stream;
    this.#targets = Object.values(stream.children ?? {}).map(({ table }) => nameOf(table));
  }

  /**
   * `lacked`: children that the stored row lacks. Throws `BadData` where a list cannot become rows: then its
   * record is rejected.
   */
  async fetch(mapped: Mapped, lists: readonly NestedList[], lacked: readonly string[]): Promise<Fetched> {
    const key = keyOf(this.#stream, mapped);
    const rows: Record<string, readonly Row[]> = {};
    const lacking: string[] = [];
    const refusals: RefusedList[] = [];
    // Several children may be read from one list: it is fetched once.
    const byWalk = [...Map.groupBy(lists, ({ walk }) => walk)];
    await Promise.all(
      byWalk.map(async ([walk, of]) => {
        const endpoint = await this.#endpointOf(walk.first.endpoint, of[0]?.child ?? '');
        const again = of.every(({ child }) => lacked.includes(child));
        const { records, trouble } = await this.#list(endpoint, key, again, walk, of);
        if (records === undefined || trouble !== undefined) lacking.push(...of.map(({ child }) => child));
        if (trouble !== undefined) refusals.push({ key, endpoint, error: trouble, again });
        if (records !== undefined) for (const list of of) rows[list.child] = list.rows(records);
      }),
    );
    return { rows, lacking, refusals };
  }

  /**
   * What refusals mean once the slice was read. Gives an error where single records lack what others have:
   * the slice is read again by the next run; a record that is refused again stays without the list.
   */
  async judge(refusals: readonly RefusedList[]): Promise<Transient | undefined> {
    const single: RefusedList[] = [];
    for (const refusal of refusals) {
      const { endpoint, error, key, again } = refusal;
      if (endpoint.isClosed) continue;
      const isMissing = error instanceof Missing;
      // A 403 may concern this record alone, unless the list was closed before.
      const isOfAll = endpoint.wasClosed ? isRefusal(error) : isMissing && !again;
      if (!endpoint.answered && isOfAll) await this.#close(endpoint, error);
      else if (!isMissing || !endpoint.answered || (await this.#exists(key))) single.push(refusal);
    }
    const stay = single.filter(({ again }) => again);
    if (stay.length > 0)
      this.#warn(
        `not given again, ${namesOf(stay)} stay as they are: ${stay[0]?.error.message}; sync --full asks once more`,
      );
    const owed = single.filter(({ again }) => !again);
    const [first] = owed;
    if (first === undefined) return undefined;
    const message = `not given, to be requested by the next run: ${namesOf(owed)}: ${first.error.message}`;
    return new Transient(message, { cause: first.error });
  }

  /** Whether a list is given in this walk that was closed before: older records lack it. */
  get hasOpened(): boolean {
    return this.#opened().length > 0;
  }

  /** Removes the notes of lists that are given now: in the transaction that has all read again. */
  async forgetOpened({ trx }: Pick<Session, 'trx'>): Promise<void> {
    const children = this.#opened();
    if (children.length === 0) return;
    await sql`delete from ops.streams where source_id = ${this.#context.run.sourceId}
      and stream = any (${children}::text[]) and target = any (${this.#targets}::text[])`.execute(trx);
  }

  #opened(): readonly string[] {
    const all = [...this.#endpoints.values()];
    return all.filter(({ answered, wasClosed }) => answered && wasClosed).map(({ child }) => child);
  }

  /** A refusal, or a list that lacks what came with the record, is requested a second time. */
  async #list(
    endpoint: Endpoint,
    key: string,
    again: boolean,
    walk: PageWalk,
    of: readonly NestedList[],
  ): Promise<Answer> {
    const request = (): Promise<Answer> => endpoint.limit(() => this.#request(endpoint, key, again, walk));
    const answer = await request();
    const isDoubtful = lacksShown(answer, walk, of) || (!again && isRefusal(answer.trouble));
    if (!isDoubtful) return answer;
    const second = await request();
    return second.records === undefined && second.trouble === undefined ? answer : second;
  }

  async #request(endpoint: Endpoint, key: string, again: boolean, walk: PageWalk): Promise<Answer> {
    if (endpoint.isClosed) return {};
    const records: Json[] = [];
    try {
      const reading = pages(this.#context.deps.source.http, walk, this.#context.signal);
      let step = await reading.next();
      for (; step.done !== true; step = await reading.next()) records.push(...step.value.records);
      if (!endpoint.answered) this.#answers(endpoint);
      const { matched, expected, fetched } = step.value;
      if (matched) return { records };
      // Half a list must not pass for all of it: what it does not show would be removed.
      const message = `${walk.first.path}: the source says ${expected ?? 'nothing'}, ${fetched} could be read`;
      return { records, trouble: new Transient(message) };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // A record that alone was refused before, and is again, says nothing of the endpoint.
      if (!endpoint.answered && (!again || endpoint.wasClosed)) endpoint.refused.add(key);
      if (endpoint.refused.size >= recordsUntilClosed) await this.#close(endpoint, error);
      return { trouble: error };
    }
  }

  #answers(endpoint: Endpoint): void {
    endpoint.answered = true;
    endpoint.refused.clear();
    endpoint.limit.concurrency = Number.POSITIVE_INFINITY;
    if (endpoint.wasClosed)
      this.#warn(`${endpoint.child} can be read now; the next run reads all to fill what lacks`);
  }

  /** Does not request the list any more, and says so where people look for the state of streams. */
  async #close(endpoint: Endpoint, error: Error): Promise<void> {
    endpoint.isClosed = true;
    const { name, children } = this.#stream;
    const { run, deps } = this.#context;
    const table = children?.[endpoint.child]?.table;
    const state = error instanceof Forbidden ? 'forbidden' : 'unavailable';
    const about = `Part of ${name}: its list is requested where a record does not bring all of it.`;
    await withRetry(() =>
      sql`insert into ops.streams as s (source_id, stream, target, about, endpoint, state, reason, checked_at)
        values (${run.sourceId}, ${endpoint.child}, ${table === undefined ? '' : nameOf(table)}, ${about},
          ${endpoint.name}, ${state}, ${error.message}, now())
        on conflict (source_id, stream) do update set state = excluded.state, reason = excluded.reason,
          endpoint = excluded.endpoint, checked_at = excluded.checked_at
        where s.target = excluded.target`.execute(deps.warehouse.db),
    );
    this.#warn(`${endpoint.child} ${state}: ${error.message}`);
  }

  async #endpointOf(name: string, child: string): Promise<Endpoint> {
    this.#closedBefore ??= withRetry(() => this.#closedChildren());
    const wasClosed = (await this.#closedBefore).has(child);
    const present = this.#endpoints.get(name);
    if (present !== undefined) return present;
    const state = { answered: false, isClosed: false, refused: new Set<string>(), limit: pLimit(1) };
    const made: Endpoint = { name, child, wasClosed, ...state };
    this.#endpoints.set(name, made);
    return made;
  }

  async #closedChildren(): Promise<ReadonlySet<string>> {
    const { rows } = await sql<{ stream: string }>`select stream from ops.streams
      where source_id = ${this.#context.run.sourceId} and target = any (${this.#targets}::text[])
        and state in ('unavailable', 'forbidden')`.execute(this.#context.deps.warehouse.db);
    return new Set(rows.map(({ stream }) => stream));
  }

  /** False where the record was deleted a moment ago. */
  async #exists(key: string): Promise<boolean> {
    return (await this.#stream.exists?.(key, this.#context.signal)) !== false;
  }

  #warn(message: string): void {
    tell(this.#context, 'warn', `${this.#stream.name}: ${message}`);
  }
}

const isRefusal = (error: unknown): error is Missing | Forbidden =>
  error instanceof Missing || error instanceof Forbidden;

/** Whether a list that passes for complete lacks some of what came with its record. */
function lacksShown({ records, trouble }: Answer, walk: PageWalk, of: readonly NestedList[]): boolean {
  if (records === undefined || trouble !== undefined) return false;
  const ids = new Set(records.map((record) => walk.id(record)));
  return of.some(({ shown = [] }) => shown.some((id) => !ids.has(id)));
}

/** The records, with the lists that they lack. */
function namesOf(refusals: readonly RefusedList[]): string {
  const names = [...new Set(refusals.map(({ key, endpoint }) => `${endpoint.child} of ${key}`))];
  return `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
}
