/** Several things at once, in bounds. */

import { either } from '../core/abort.ts';
import { Interrupted } from '../core/errors.ts';

/**
 * What `work` makes of each item, in the items' order, at most `atOnce` under way or waiting to be taken. The first failure ends it.
 * Leaving early aborts what is under way.
 */
export async function* several<T, R>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T, signal: AbortSignal) => Promise<R>,
  signal: AbortSignal,
): AsyncGenerator<R, void, void> {
  const left = new AbortController();
  const stop = either(signal, left.signal);
  const waiting = items[Symbol.iterator]();
  const under: Promise<R>[] = [];
  const start = (): void => {
    const next = waiting.next();
    if (next.done === true) return;
    const one = work(next.value, stop.signal);
    // It is awaited later, or never if the consumer leaves: until then a failure must not count as unhandled.
    one.catch(() => {});
    under.push(one);
  };
  try {
    for (let count = 0; count < atOnce; count++) start();
    for (let one = under.shift(); one !== undefined; one = under.shift()) {
      const result = await one;
      start();
      yield result;
    }
  } finally {
    left.abort(new Interrupted('the rest is not wanted'));
    stop.release();
  }
}
