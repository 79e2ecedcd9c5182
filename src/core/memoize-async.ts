/** Calls `ask` once and shares its result, also while it is on its way. A failure is not kept: the next call asks again. */
export const memoizeAsync = <T>(ask: (signal: AbortSignal) => Promise<T>): typeof ask => {
  let kept: Promise<T> | undefined;
  return (signal) => {
    kept ??= ask(signal).catch((error: unknown) => {
      kept = undefined;
      throw error;
    });
    return kept;
  };
};
