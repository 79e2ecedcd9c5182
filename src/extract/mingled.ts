/** Several streams read at once, in bounds, their items as they come. */

import { Interrupted } from '../core/errors.ts';
import { either } from './http/wait.ts';

/**
 * The items of all streams, each stream's in its own order, those of different streams as they arrive; at most `atOnce` streams are open, and of
 * each at most one item waits to be taken. The first failure ends it. Leaving early ends every open stream.
 */
export async function* mingled<S, T>(
  starts: Iterable<S>,
  atOnce: number,
  open: (start: S, signal: AbortSignal) => AsyncGenerator<T, unknown, void>,
  signal: AbortSignal,
): AsyncGenerator<T, void, void> {
  const left = new AbortController();
  const stop = either(signal, left.signal);
  const waiting = starts[Symbol.iterator]();
  const streams = new Map<AsyncGenerator<T, unknown, void>, Promise<Arrived<T>>>();
  const pull = (stream: AsyncGenerator<T, unknown, void>): void => {
    const next = stream.next().then((result) => ({ stream, result }));
    // It is awaited later, or never if the consumer leaves: until then a failure must not count as unhandled.
    next.catch(() => {});
    streams.set(stream, next);
  };
  const start = (): void => {
    const next = waiting.next();
    if (next.done !== true) pull(open(next.value, stop.signal));
  };
  try {
    for (let count = 0; count < atOnce; count++) start();
    while (streams.size > 0) {
      const { stream, result } = await Promise.race(streams.values());
      if (result.done === true) {
        streams.delete(stream);
        start();
        continue;
      }
      // Behind all others: a quick stream does not keep the slow ones waiting.
      streams.delete(stream);
      pull(stream);
      yield result.value;
    }
  } finally {
    left.abort(new Interrupted('the rest is not wanted'));
    stop.release();
    // Their requests are aborted; what is under way in them ends by that.
    for (const stream of streams.keys()) void stream.return(undefined).catch(() => {});
  }
}

interface Arrived<T> {
  readonly stream: AsyncGenerator<T, unknown, void>;
  readonly result: IteratorResult<T, unknown>;
}
