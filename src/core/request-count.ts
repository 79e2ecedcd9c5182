/** What each piece of work, such as one stream of a run, does at its source: how many requests it sends, and what its time goes into. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** How many requests were sent, repeated ones included. */
interface RequestCount {
  requests: number;
}

/** What time goes into: a request that is under way, or waiting for a rate limit. */
type Spending = 'reading' | 'limited';

/** What a piece of work has sent, and what its time went into. */
export class SentWork implements RequestCount {
  requests = 0;
  /** While a request was under way. */
  readingMs = 0;
  /** While none was, and one waited for a rate limit. */
  limitedMs = 0;
  /** Requests that are under way, and that wait for a limit, since `changedAt` (by `performance.now()`). */
  readonly now: Record<Spending, number> = { reading: 0, limited: 0 };
  changedAt = 0;
}

const current = new AsyncLocalStorage<SentWork>();

/** Runs the work and adds to `count` what it sends. A request that several pieces of work share is counted for the first of them. */
export const countingRequests = <T>(count: SentWork, work: () => Promise<T>): Promise<T> =>
  current.run(count, work);

/** Counts a request that leaves now: for its source, and for the work that sends it. */
export function countRequest(ofSource: RequestCount): void {
  ofSource.requests++;
  const ofWork = current.getStore();
  if (ofWork !== undefined) ofWork.requests++;
}

/** Counts the time from now to the end of the scope for the work that spends it: `using spent = spending('reading')`. */
export function spending(on: Spending): Disposable {
  const count = current.getStore();
  if (count !== undefined) change(count, on, 1);
  return { [Symbol.dispose]: () => count && change(count, on, -1) };
}

function change(count: SentWork, on: Spending, by: 1 | -1): void {
  const at = performance.now();
  const spent = at - count.changedAt;
  if (count.now.reading > 0) count.readingMs += spent;
  else if (count.now.limited > 0) count.limitedMs += spent;
  count.changedAt = at;
  count.now[on] += by;
}
