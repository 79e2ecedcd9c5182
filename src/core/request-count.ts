/** Counts requests apart for each piece of work that sends them, such as one stream of a run. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** How many requests were sent, repeated ones included. */
interface RequestCount {
  requests: number;
}

const current = new AsyncLocalStorage<RequestCount>();

/** Runs the work and adds to `count` what it sends. A request that several pieces of work share is counted for the first of them. */
export const countingRequests = <T>(count: RequestCount, work: () => Promise<T>): Promise<T> =>
  current.run(count, work);

/** Counts a request that leaves now: for its source, and for the work that sends it. */
export function countRequest(ofSource: RequestCount): void {
  ofSource.requests++;
  const ofWork = current.getStore();
  if (ofWork !== undefined) ofWork.requests++;
}
