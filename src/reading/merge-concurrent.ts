/** Several streams read at once, in bounds, and a limit of open streams over all readers. */

import { abortedAtEnd } from '../core/abort.ts';
import { semaphore } from '../http/rate-limit.ts';

/**
 * The items of all streams, each stream's in its own order, those of different streams as they arrive; at most `atOnce` streams are open, and of
 * each at most one item waits to be taken. The first failure ends it. Leaving early ends every open stream.
 */
export async function* mergeConcurrent<S, T>(
  starts: Iterable<S>,
  atOnce: number,
  open: (start: S, signal: AbortSignal) => AsyncGenerator<T, unknown, void>,
  signal: AbortSignal,
): AsyncGenerator<T, void, void> {
  using scope = abortedAtEnd(signal, 'the rest is not wanted');
  const waiting = starts[Symbol.iterator]();
  const streams = new Set<AsyncGenerator<T, unknown, void>>();
  const arrived: { stream: AsyncGenerator<T, unknown, void>; result: IteratorResult<T, unknown> }[] = [];
  let failed: { readonly error: unknown } | undefined;
  // Not a race of their promises: each round would hang on every stream that is slow, and hold what it brought until that one arrives.
  let news = Promise.withResolvers<void>();
  const pull = (stream: AsyncGenerator<T, unknown, void>): void => {
    const answered = stream.next().then(
      (result) => arrived.push({ stream, result }),
      (error: unknown) => (failed ??= { error }),
    );
    void answered.then(() => news.resolve());
  };
  const start = (): void => {
    const next = waiting.next();
    if (next.done === true) return;
    const stream = open(next.value, scope.signal);
    streams.add(stream);
    pull(stream);
  };
  try {
    for (let count = 0; count < atOnce; count++) start();
    while (streams.size > 0) {
      const next = arrived.shift();
      if (failed !== undefined) throw failed.error;
      if (next === undefined) {
        await news.promise;
        news = Promise.withResolvers();
        continue;
      }
      if (next.result.done === true) {
        streams.delete(next.stream);
        start();
        continue;
      }
      pull(next.stream);
      yield next.result.value;
    }
  } finally {
    // Their requests are aborted as the scope ends; what is under way in them ends by that.
    for (const stream of streams) void stream.return(undefined).catch(() => {});
  }
}

export type StreamLimit = ReturnType<typeof streamLimit>;

/**
 * At most `most` open streams over all readers, first come, first served: each holds pages in memory. A stream that is left early makes room.
 * Gives the items of a stream, which is opened when its turn comes; throws the signal's reason while it waits.
 */
export function streamLimit(most: number) {
  const slot = semaphore(most);
  return async function* limited<T>(open: () => AsyncGenerator<T, unknown, void>, signal: AbortSignal) {
    using _slot = await slot(signal);
    yield* open();
  };
}
