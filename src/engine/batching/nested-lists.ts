/**
 * Lists that came only in part with their records (changelog, comments, worklogs): fetched one by one, for
 * one stream of a run.
 */

import pLimit from 'p-limit';
import { Forbidden, Missing, Transient } from '../../core/errors.ts';
import type { PageWalk } from '../../core/paging.ts';
import type { Json } from '../../core/request.ts';
import type { Mapped, NestedList, Stream } from '../../core/stream.ts';
import type { Row } from '../../core/table.ts';
import { pages } from '../../reading/pages.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { type RunContext, tell } from '../context/run-context.ts';
import { closedChildren, markClosed, markOpened } from './closed-lists.ts';
import { keyOf } from './unchanged.ts';

/** So many records without the list, and none with it: it is closed, and not asked for again in this run. */
const recordsUntilClosed = 3;

/** Why a list could not be had: it is refused, or what came does not add up. */
type Trouble = Missing | Forbidden | Transient;

interface Answer {
  /** All of the list, or what could be read where there was trouble. */
  readonly records?: readonly Json[];
  readonly trouble?: Trouble;
  /** The record itself was deleted meanwhile: it has no list. */
  readonly isGone?: true;
}

/** A list that the source did not give for a record, or not whole. */
export interface RefusedList {
  /** The record's key in the stream's table, as text. */
  readonly key: string;
  readonly endpoint: string;
  readonly error: Trouble;
  /** It was refused in an earlier run, too: the stored row lacks it. */
  readonly again: boolean;
}

export interface Fetched {
  /** Rows by child: of complete lists, and what could be read of others. */
  readonly rows: Readonly<Record<string, readonly Row[]>>;
  /** The children whose lists could not be had whole: their stored rows stay. */
  readonly lacking: readonly string[];
  readonly refusals: readonly RefusedList[];
  /** Whether the source has deleted the record meanwhile. */
  readonly isGone: boolean;
}

/** What is known of the endpoint of a list. */
interface Endpoint {
  readonly name: string;
  /** The first child that is made of it. */
  readonly child: string;
  answered: boolean;
  /** Marked as closed in `ops.streams`. */
  marked: boolean;
  /** Not asked for any more. */
  closed: boolean;
  readonly without: Set<string>;
  /**
   * Until it has answered once, records ask one by one: a closed endpoint is not asked by a whole page of
   * records.
   */
  readonly first: <T>(ask: () => Promise<T>) => Promise<T>;
}

export class NestedLists {
  readonly #context: RunContext;
  readonly #stream: Stream;
  readonly #endpoints = new Map<string, Endpoint>();
  #before: Promise<ReadonlySet<string>> | undefined;

  constructor(context: RunContext, stream: Stream) {
    this.#context = context;
    this.#stream = stream;
  }

  /**
   * `lacked`: children that the stored row lacks. Throws `BadData` where a list cannot become rows: then its
   * record is rejected.
   */
  async fetch(mapped: Mapped, lists: readonly NestedList[], lacked: readonly string[]): Promise<Fetched> {
    const key = keyOf(this.#stream, mapped);
    // Several children may be read from one list: it is fetched once.
    const byWalk = [...Map.groupBy(lists, ({ walk }) => walk)];
    const fetched = await Promise.all(
      byWalk.map(async ([walk, of]) => {
        const again = of.every(({ child }) => lacked.includes(child));
        return { walk, of, again, answer: await this.#list(key, again, walk, of) };
      }),
    );
    return {
      rows: Object.fromEntries(
        fetched.flatMap(({ answer, of }) => {
          const { records } = answer ?? {};
          return records === undefined ? [] : of.map((list) => [list.child, list.rows(records)] as const);
        }),
      ),
      lacking: fetched.flatMap(({ answer, of }) =>
        answer?.records === undefined || answer.trouble !== undefined ? of.map(({ child }) => child) : [],
      ),
      refusals: fetched.flatMap(({ answer, walk, again }) => {
        const error = answer?.trouble;
        return error === undefined ? [] : [{ key, endpoint: walk.first.endpoint, error, again }];
      }),
      isGone: fetched.some(({ answer }) => answer?.isGone === true),
    };
  }

  /**
   * What refusals mean once the page was read. Lists that no record has are closed, and noted. Gives an error
   * where single records lack what others have: the slice is read again, once; a record that is refused again
   * stays without the list.
   */
  async judge(refusals: readonly RefusedList[]): Promise<Transient | undefined> {
    const single: RefusedList[] = [];
    for (const refusal of refusals) {
      const of = this.#endpoints.get(refusal.endpoint);
      const { error, again, key } = refusal;
      if (of === undefined || of.closed) continue;
      // A 403 may concern this record alone, unless the list was closed before.
      const isOfList = error instanceof Missing ? await this.#counts(of, again) : await this.#wasClosed(of);
      if (!of.answered && isRefusal(error) && isOfList) await this.#mark(of, error);
      else if (!(error instanceof Missing && (await this.#isGone(of, key)))) single.push(refusal);
    }
    const [stay, owed] = [single.filter(({ again }) => again), single.filter(({ again }) => !again)];
    if (stay.length > 0)
      this.#tell(
        `not to be had again, ${this.#namesOf(stay)} stay as they are: ${stay[0]?.error.message}; sync --full asks once more`,
      );
    const [first] = owed;
    if (first === undefined) return undefined;
    const message = `not to be had, and to be asked for again: ${this.#namesOf(owed)}: ${first.error.message}`;
    return new Transient(message, { cause: first.error });
  }

  /**
   * The list of a record; undefined where it is closed and not asked for. A refusal, or a list that lacks
   * what came with the record, is confirmed.
   */
  async #list(
    key: string,
    again: boolean,
    walk: PageWalk,
    of: readonly NestedList[],
  ): Promise<Answer | undefined> {
    const endpoint = this.#endpointOf(walk.first.endpoint, of[0]?.child ?? '');
    const ask = async (): Promise<Answer | undefined> =>
      ownOf(await this.#askInTurn(key, again, endpoint, walk), walk, of);
    const answer = await ask();
    const isDoubtful = lacksShown(answer, walk, of) || (!again && isRefusal(answer?.trouble));
    return isDoubtful ? ((await ask()) ?? answer) : answer;
  }

  #endpointOf(name: string, child: string): Endpoint {
    const known = this.#endpoints.get(name);
    if (known !== undefined) return known;
    const state = { answered: false, marked: false, closed: false, without: new Set<string>() };
    const made: Endpoint = { name, child, ...state, first: pLimit(1) };
    this.#endpoints.set(name, made);
    return made;
  }

  async #askInTurn(key: string, again: boolean, of: Endpoint, walk: PageWalk): Promise<Answer | undefined> {
    const asked = of.answered ? undefined : await of.first(() => this.#askFirst(key, again, of, walk));
    return asked ?? (of.closed ? undefined : this.#ask(key, of, walk));
  }

  /** Asks an endpoint that has not answered yet; undefined where it has by now, or is closed. */
  async #askFirst(key: string, again: boolean, of: Endpoint, walk: PageWalk): Promise<Answer | undefined> {
    if (of.answered || of.closed) return undefined;
    const answer = await this.#ask(key, of, walk);
    const { trouble } = answer;
    if (!isRefusal(trouble)) return answer;
    if (await this.#counts(of, again)) of.without.add(key);
    if (of.without.size < recordsUntilClosed) return answer;
    of.closed = true;
    await this.#mark(of, trouble);
    return answer;
  }

  async #ask(key: string, of: Endpoint, walk: PageWalk): Promise<Answer> {
    const records: Json[] = [];
    try {
      const reading = pages(this.#context.deps.source.http, walk, this.#context.signal);
      let step = await reading.next();
      for (; step.done !== true; step = await reading.next()) records.push(...step.value.records);
      if (!of.answered) await this.#opened(of);
      const { matched, expected, fetched } = step.value;
      if (matched) return { records };
      // Half a list must not pass for all of it: what it does not show would be removed.
      const message = `${walk.first.path}: the source says ${expected ?? 'nothing'}, ${fetched} could be read`;
      return { records, trouble: new Transient(message) };
    } catch (error) {
      if (error instanceof Missing && (await this.#isGone(of, key))) return { isGone: true };
      if (error instanceof Missing || error instanceof Forbidden) return { trouble: error };
      throw error;
    }
  }

  /**
   * Whether the record was deleted a moment ago. A server that has answered for no record may have no such
   * endpoints at all.
   */
  async #isGone(of: Endpoint, key: string): Promise<boolean> {
    return of.answered && (await this.#stream.exists?.(key, this.#context.signal)) === false;
  }

  async #wasClosed(of: Endpoint): Promise<boolean> {
    const { deps, run } = this.#context;
    this.#before ??= withRetry(() => closedChildren(deps.warehouse.db, run.sourceId, this.#stream));
    return (await this.#before).has(of.child);
  }

  /**
   * Whether a refusal says something of the endpoint. A record that alone was refused before, and is again,
   * does not.
   */
  async #counts(of: Endpoint, again: boolean): Promise<boolean> {
    return !again || (await this.#wasClosed(of));
  }

  async #mark(of: Endpoint, error: Missing | Forbidden): Promise<void> {
    if (of.marked) return;
    of.marked = true;
    const state = error instanceof Forbidden ? 'forbidden' : 'unavailable';
    const closed = { child: of.child, endpoint: of.name, state, reason: error.message } as const;
    const { deps, run } = this.#context;
    await withRetry(() => markClosed(deps.warehouse.db, run.sourceId, this.#stream, closed));
    this.#tell(`${of.child} ${state}: ${error.message}`);
  }

  async #opened(of: Endpoint): Promise<void> {
    const wasClosed = of.marked || (await this.#wasClosed(of));
    if (of.answered) return;
    of.answered = true;
    of.marked = false;
    of.closed = false;
    if (!wasClosed) return;
    const { deps, run } = this.#context;
    await withRetry(() => markOpened(deps.warehouse.db, run.sourceId, this.#stream, of.child));
    this.#tell(`${of.child} can be read now; the next run reads all to fill what lacks`);
  }

  #tell(message: string): void {
    tell(this.#context, 'warn', `${this.#stream.name}: ${message}`);
  }

  /** The records, with the lists that they lack. */
  #namesOf(refusals: readonly RefusedList[]): string {
    const names = new Set(
      refusals.map(({ key, endpoint }) => `${this.#endpoints.get(endpoint)?.child} of ${key}`),
    );
    return `${[...names].slice(0, 5).join(', ')}${names.size > 5 ? ` and ${names.size - 5} more` : ''}`;
  }
}

const isRefusal = (trouble: Trouble | undefined): trouble is Missing | Forbidden =>
  trouble instanceof Missing || trouble instanceof Forbidden;

/**
 * An answer without the elements that name another record as their owner: such a list is not, or not all of,
 * this record's list.
 */
function ownOf(answer: Answer | undefined, walk: PageWalk, of: readonly NestedList[]): Answer | undefined {
  const { records = [] } = answer ?? {};
  const own = records.filter((record) => of.every(({ belongs }) => belongs?.(record) !== false));
  if (own.length === records.length) return answer;
  const message = `${walk.first.path}: ${records.length - own.length} of ${records.length} records say that they are of another record`;
  return { records: own, trouble: answer?.trouble ?? new Transient(message) };
}

/** Whether a list that passes for complete lacks some of what came with its record. */
function lacksShown(answer: Answer | undefined, walk: PageWalk, of: readonly NestedList[]): boolean {
  if (answer?.records === undefined || answer.trouble !== undefined) return false;
  const ids = new Set(answer.records.map((record) => walk.id(record)));
  return of.some(({ shown = [] }) => shown.some((id) => !ids.has(id)));
}
