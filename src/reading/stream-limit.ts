/** How many streams may be open at once, over everybody who opens some: each holds pages in memory. */

import pLimit from 'p-limit';

/** The items of a stream, which is opened when its turn comes. Ends with the signal's reason while it waits. */
export type Gate = <T>(
  open: () => AsyncGenerator<T, unknown, void>,
  signal: AbortSignal,
) => AsyncGenerator<T, void, void>;

/** A gate through which `most` streams pass at once, first come, first served. A stream that is left early makes room. */
export function gateOf(most: number): Gate {
  const limit = pLimit(most);
  return async function* through(open, signal) {
    const over = Promise.withResolvers<void>();
    try {
      await new Promise<void>((resolve, reject) => {
        const give = (): void => reject(signal.reason);
        if (signal.aborted) return give();
        signal.addEventListener('abort', give, { once: true });
        void limit(() => {
          signal.removeEventListener('abort', give);
          resolve();
          return over.promise;
        });
      });
      yield* open();
    } finally {
      over.resolve();
    }
  };
}
