import pLimit from 'p-limit';
import { Forbidden, Missing, Transient } from '../../core/errors.ts';
import type { PageWalk } from '../../core/paging.ts';
import type { Json } from '../../core/request.ts';
import type { Mapped, NestedList, Stream } from '../../core/stream.ts';
import type { Row } from '../../core/table.ts';
import { pages } from '../../reading/pages.ts';
import { patiently } from '../../warehouse/with-retry.ts';
import { type RunContext, tell } from '../context/run-context.ts';
import { closedChildren, markClosed, markOpened } from './closed-lists.ts';
import { keyOf } from './unchanged.ts';

/** So many different records without the list, and none with it: it is closed to us, and is not asked for again in this run. */
const refusalsUntilClosed = 3;

/** Why a list could not be had: it is refused, or what came of it does not add up. */
type Trouble = Missing | Forbidden | Transient;

/** What came of asking for a list. */
interface Answer {
  /** All of it, or what could be read where there was trouble. */
  readonly records?: readonly Json[];
  readonly trouble?: Trouble;
  /** The record itself is gone by now: it owes no list. */
  readonly isGone?: true;
}

/** A list that the source did not give for a record, or not whole. */
export interface Refusal {
  /** The record's key in the flow's table, as text. */
  readonly key: string;
  readonly endpoint: string;
  readonly error: Trouble;
  /** Whether it is known to lack in the warehouse, with all else of the record as it is here: it was refused before. */
  readonly again: boolean;
}

/** What was got of a record's lists. */
export interface Fetched {
  /** Rows by child: of complete lists, and what could be read of others. */
  readonly rows: Readonly<Record<string, readonly Row[]>>;
  /** The children whose lists could not be had whole: what is there of them stays. */
  readonly lacking: readonly string[];
  readonly refusals: readonly Refusal[];
  /** Whether the source has deleted the record meanwhile. */
  readonly isGone: boolean;
}

/** Fetches the lists that came only in part with their records, for one stream of a run. */
export interface Tails {
  /**
   * `lacked`: the children that the stored row, the same but for them, is known to lack.
   * Throws `BadData` where a list cannot become rows: then its record is rejected.
   */
  fetch(mapped: Mapped, tails: readonly NestedList[], lacked: readonly string[]): Promise<Fetched>;
  /**
   * What refusals mean, once everything that goes with them was asked for: lists that no record has are closed, and people are told. An error
   * where single records lack what others have: they must be read again, once; where it is refused again the record stays without. Also where
   * the lists only seem to be missing, and did not when records were read before: the next run believes it.
   */
  judge(refusals: readonly Refusal[]): Promise<Transient | undefined>;
}

/** What is known of the endpoint of a list. */
interface Endpoint {
  /** The first child that is made of it. */
  readonly child: string;
  answered: boolean;
  /** Said to be closed, in `ops.streams`. */
  told: boolean;
  /** Not asked for any more. */
  closed: boolean;
  /** Records without it. */
  readonly without: Set<string>;
  /** Until it has answered once, one asks for all: a closed endpoint is not asked by a whole page of records at once. */
  readonly first: <T>(ask: () => Promise<T>) => Promise<T>;
}

/** Finds out from its answers whether the server gives a list at all. */
export function tailsOf(context: RunContext, flow: Stream): Tails {
  const { db } = context.deps.warehouse;
  const { sourceId } = context.run;
  const endpoints = new Map<string, Endpoint>();
  let before: Promise<ReadonlySet<string>> | undefined;
  const closedBefore = (): Promise<ReadonlySet<string>> =>
    (before ??= patiently(() => closedChildren(db, sourceId, flow)));

  const endpointOf = (name: string, child: string): Endpoint => {
    const known = endpoints.get(name);
    if (known !== undefined) return known;
    const made = {
      child,
      answered: false,
      told: false,
      closed: false,
      without: new Set<string>(),
      first: pLimit(1),
    };
    endpoints.set(name, made);
    return made;
  };

  /** Whether a refusal says something of the endpoint: that a record is refused again which alone was refused before says nothing. */
  const counts = async (of: Endpoint, again: boolean): Promise<boolean> =>
    !again || (await closedBefore()).has(of.child);

  const tellClosed = async (name: string, of: Endpoint, error: Missing | Forbidden): Promise<void> => {
    if (of.told) return;
    of.told = true;
    const state = error instanceof Forbidden ? 'forbidden' : 'unavailable';
    const closed = { child: of.child, endpoint: name, state, reason: error.message } as const;
    await patiently(() => markClosed(db, sourceId, flow, closed));
    tell(context, 'warn', `${flow.name}: ${of.child} ${state}: ${error.message}`);
  };

  const opened = async (of: Endpoint): Promise<void> => {
    const wasClosed = of.told || (await closedBefore()).has(of.child);
    if (of.answered) return;
    of.answered = true;
    of.told = false;
    of.closed = false;
    if (!wasClosed) return;
    await patiently(() => markOpened(db, sourceId, flow, of.child));
    tell(
      context,
      'warn',
      `${flow.name}: ${of.child} can be read now; the next run reads all to fill what lacks`,
    );
  };

  /** Deleted a moment ago: a reconciliation will say so. A server that has answered for no record may have no such endpoints at all. */
  const isGone = async (of: Endpoint, key: string): Promise<boolean> =>
    of.answered && (await flow.exists?.(key, context.signal)) === false;

  /** Whether it is news that a list is not there or closed to us; it is none where no record's was to be had before. */
  const isNews = async (answer: Answer | undefined, of: readonly NestedList[]): Promise<boolean> => {
    const { trouble } = answer ?? {};
    if (!(trouble instanceof Missing || trouble instanceof Forbidden)) return false;
    const closed = await closedBefore();
    return !of.every(({ child }) => closed.has(child));
  };

  /** The list of one walk, or why it cannot be had. */
  const ask = async (of: Endpoint, walk: PageWalk, key: string): Promise<Answer> => {
    const records: Json[] = [];
    try {
      const reading = pages(context.deps.source.http, walk, context.signal);
      for (;;) {
        const step = await reading.next();
        if (step.done !== true) {
          records.push(...step.value.records);
          continue;
        }
        if (!of.answered) await opened(of);
        const { matched, expected, fetched } = step.value;
        if (matched) return { records };
        // Half a list must not pass for all of it: what it does not show would be removed.
        const words = `${walk.first.path}: the source says ${expected ?? 'nothing'}, ${fetched} could be read`;
        return { records, trouble: new Transient(words) };
      }
    } catch (error) {
      if (error instanceof Missing && (await isGone(of, key))) return { isGone: true };
      if (error instanceof Missing || error instanceof Forbidden) return { trouble: error };
      throw error;
    }
  };

  /** The same; undefined where it is not even asked for. */
  const list = async (
    { key, again }: Pick<Refusal, 'key' | 'again'>,
    of: Endpoint,
    walk: PageWalk,
  ): Promise<Answer | undefined> => {
    const asked = of.answered
      ? undefined
      : await of.first(async () => {
          if (of.answered || of.closed) return undefined;
          const answer = await ask(of, walk, key);
          const { trouble } = answer;
          if (trouble === undefined || trouble instanceof Transient) return answer;
          if (await counts(of, again)) of.without.add(key);
          if (of.without.size < refusalsUntilClosed) return answer;
          of.closed = true;
          await tellClosed(walk.first.endpoint, of, trouble);
          return answer;
        });
    return asked ?? (of.closed ? undefined : ask(of, walk, key));
  };

  return {
    async fetch(mapped, tails, lacked) {
      const key = keyOf(flow, mapped);
      // Several children may be read from one list: it is fetched once.
      const lists = new Map<PageWalk, readonly NestedList[]>();
      for (const tail of tails) lists.set(tail.walk, [...(lists.get(tail.walk) ?? []), tail]);
      const refusals: Refusal[] = [];
      const lacking: string[] = [];
      let gone = false;
      const fetched = await Promise.all(
        [...lists].map(async ([walk, of]) => {
          const { endpoint } = walk.first;
          const again = of.every(({ child }) => lacked.includes(child));
          const ask = async (): Promise<Answer | undefined> =>
            ofRecord(await list({ key, again }, endpointOf(endpoint, of[0]?.child ?? ''), walk), walk, of);
          const once = await ask();
          // One bad answer is none: what came with the record may have been deleted since, and then the list says so twice.
          const isDoubtful = lacksShown(once, walk, of) || (!again && (await isNews(once, of)));
          const answer = isDoubtful ? ((await ask()) ?? once) : once;
          const { records, trouble } = answer ?? {};
          if (records === undefined || trouble !== undefined) lacking.push(...of.map(({ child }) => child));
          if (trouble !== undefined) refusals.push({ key, endpoint, error: trouble, again });
          if (answer?.isGone === true) gone = true;
          return records === undefined ? [] : of.map((tail) => [tail.child, tail.rows(records)] as const);
        }),
      );
      return { rows: Object.fromEntries(fetched.flat()), lacking, refusals, isGone: gone };
    },

    async judge(refusals) {
      const single: Refusal[] = [];
      for (const refusal of refusals) {
        const of = endpoints.get(refusal.endpoint);
        if (of === undefined) continue;
        const { error } = refusal;
        if (of.closed) continue;
        // Of a record that is there, a list that is not: the server has none, as far as it has said. A 403 may concern this record alone.
        if (!of.answered && error instanceof Missing && (await counts(of, refusal.again))) {
          await tellClosed(refusal.endpoint, of, error);
        } else if (!of.answered && error instanceof Forbidden && (await closedBefore()).has(of.child))
          await tellClosed(refusal.endpoint, of, error);
        else if (!(error instanceof Missing && (await isGone(of, refusal.key)))) single.push(refusal);
      }
      const stay = single.filter(({ again }) => again);
      if (stay.length > 0)
        tell(
          context,
          'warn',
          `${flow.name}: not to be had again, ${namesOf(stay)} stay as they are: ${stay[0]?.error.message}; sync --full asks once more`,
        );
      const owed = single.filter(({ again }) => !again);
      const [first] = owed;
      if (first !== undefined)
        return new Transient(
          `not to be had, and to be asked for again: ${namesOf(owed)}: ${first.error.message}`,
          {
            cause: first.error,
          },
        );
      return undefined;
    },
  };

  /** The records, with the lists that they lack. */
  function namesOf(refusals: readonly Refusal[]): string {
    const names = [
      ...new Set(refusals.map(({ key, endpoint }) => `${endpoints.get(endpoint)?.child} of ${key}`)),
    ];
    return `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
  }
}

/** An answer without what says that it is of another record. Who gave that has not given this record's list, or not all of it. */
function ofRecord(answer: Answer | undefined, walk: PageWalk, of: readonly NestedList[]): Answer | undefined {
  const records = answer?.records;
  const ours = records?.filter((record) => of.every(({ belongs }) => belongs?.(record) !== false));
  if (records === undefined || ours === undefined || ours.length === records.length) return answer;
  const words = `${walk.first.path}: ${records.length - ours.length} of ${records.length} records say that they are of another record`;
  return { records: ours, trouble: answer?.trouble ?? new Transient(words) };
}

/** Whether a list that passes for complete lacks some of what came with its record. */
function lacksShown(answer: Answer | undefined, walk: PageWalk, of: readonly NestedList[]): boolean {
  if (answer?.records === undefined || answer.trouble !== undefined) return false;
  const ids = new Set(answer.records.map((record) => walk.id(record)));
  return of.some(({ shown = [] }) => shown.some((id) => !ids.has(id)));
}
