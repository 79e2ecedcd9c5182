/** One request each: those that fail do not keep the others from being read. */

import * as errors from '../../core/errors.ts';
import type { Page, SliceReading, WalkEnd } from '../../core/stream.ts';
import { mapConcurrent } from '../../reading/map-concurrent.ts';
import type { Ads } from './ads.ts';

/** What one request may fail by while others are answered. */
const kinds = [errors.Forbidden, errors.Refused, errors.TooLarge, errors.Transient, errors.UnexpectedContent];
type RequestFailure = InstanceType<(typeof kinds)[number]>;

/** Other errors concern the source, the credentials or the run: the next request would fail as well. */
export const isOfOne = (cause: unknown): cause is RequestFailure =>
  kinds.some((one) => cause instanceof one) && !(cause instanceof errors.RateLimited);

/** After this many failures in a row the fault is not with single requests: this bounds what a broken source costs. */
const mostInARow = 10;

export interface Requests<T> {
  /** The route as the contract writes it. */
  readonly endpoint: string;
  readonly items: readonly T[];
  /** What an item is called in errors and notes. */
  readonly nameOf: (item: T) => string;
  /** The page of an item; undefined where nothing is to be read of it. */
  readonly page: (item: T, signal: AbortSignal) => Promise<Omit<Page, 'total' | 'offset'> | undefined>;
}

/**
 * The pages of all items. One that is not there keeps its row, with a note; where nothing else can be read, the first 404 is thrown: it may
 * be the endpoint. Other failures are thrown as one, after what can be read was read. The receipt expects as many records as there are items,
 * less those that the source says it does not have (guarantee G13).
 */
export async function* oneByOne<T>(
  { concurrency, note }: Pick<Ads, 'concurrency' | 'note'>,
  { endpoint, items, nameOf, page }: Requests<T>,
  signal: AbortSignal,
): AsyncGenerator<Page, WalkEnd, void> {
  const absent = new Map<string, errors.Missing>();
  const failed = new Map<string, RequestFailure>();
  const total = items.length;
  let inARow = 0;
  const readOne = async (item: T, until: AbortSignal) => {
    try {
      const answer = await page(item, until);
      inARow = 0;
      return answer;
    } catch (cause) {
      if (cause instanceof errors.Missing) absent.set(nameOf(item), cause);
      else if (isOfOne(cause)) failed.set(nameOf(item), cause);
      else throw cause;
      inARow = cause instanceof errors.Missing ? 0 : inARow + 1;
      if (inARow >= mostInARow) throw asOne(endpoint, total, failed);
      return undefined;
    }
  };
  let read = 0;
  for await (const answer of mapConcurrent(items, concurrency, readOne, signal))
    if (answer !== undefined) {
      read += 1;
      yield { ...answer, total };
    }
  const [first] = absent.values();
  if (first !== undefined && read + failed.size === 0) throw first;
  if (first !== undefined)
    note(`${endpoint}: ${absent.size} of ${total} are not there and keep their rows: ${named(absent)}`);
  if (failed.size > 0) throw asOne(endpoint, total, failed);
  const lacks = absent.size > 0 && ({ lacks: true } as const);
  return { expected: total - absent.size, read, passes: total === 0 ? 0 : 1, matched: true, ...lacks };
}

/** One of the failures, whose message then names them all. One that may pass by itself is worth another try, whatever the others call for. */
const asOne = (endpoint: string, total: number, failed: ReadonlyMap<string, RequestFailure>): unknown => {
  const message = `${endpoint}: ${failed.size} of ${total} failed: ${named(failed)}`;
  const [first, ...others] = failed.values();
  const chosen = [first, ...others].find((one) => errors.passesAfter(one) !== undefined) ?? first;
  return chosen && Object.assign(chosen, { message });
};

/** Which ones, for people: five of them, and the first reason. */
const named = (errors: ReadonlyMap<string, Error>): string => {
  const [first] = errors.values();
  const more = errors.size > 5 ? ` and ${errors.size - 5} more` : '';
  return `${[...errors.keys()].sort().slice(0, 5).join(', ')}${more} (${first?.message ?? ''})`;
};

/** A reading of requests that give any number of records each. */
export const answers = <T>(
  ads: Pick<Ads, 'concurrency' | 'note'>,
  requests: Requests<T>,
  id: SliceReading['id'],
  signal: AbortSignal,
): SliceReading => {
  async function* pages(): AsyncGenerator<Page, WalkEnd, void> {
    const seen = new Set<string>();
    const read = oneByOne(ads, requests, signal);
    let step = await read.next();
    for (; step.done !== true; step = await read.next()) {
      for (const record of step.value.records) seen.add(id(record));
      yield step.value;
    }
    return { ...step.value, expected: null, read: seen.size, passes: 1 };
  }
  return { pages: pages(), id, bytes: (_, { raw }) => raw };
};
