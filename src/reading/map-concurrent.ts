/** One function over many items at once, in bounds. */

import { pMapIterable } from 'p-map';
import { abortedAtEnd } from '../core/abort.ts';

/**
 * The results of `work`, in the order of the items, at most `atOnce` in progress or waiting to be taken. The first failure ends the
 * iteration. Leaving early aborts the signal of what is in progress.
 */
export async function* mapConcurrent<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  atOnce: number,
  work: (item: T, signal: AbortSignal) => Promise<R>,
  signal: AbortSignal,
): AsyncGenerator<R, void, void> {
  using scope = abortedAtEnd(signal, 'the rest is not wanted');
  const mapper = (item: T): Promise<R> => work(item, scope.signal);
  for await (const result of pMapIterable(items, mapper, { concurrency: atOnce })) yield result as R;
}
