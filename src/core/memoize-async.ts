/** Calls `ask` once and shares its result, also while it is on its way. A failure is not kept: the next call asks again. */
export const memoizeAsync = <T, A extends unknown[] = [AbortSignal]>(ask: (...args: A) => Promise<T>) => {
  let kept: Promise<T> | undefined;
  return (...args: A): Promise<T> => {
    kept ??= ask(...args).catch((error: unknown) => {
      kept = undefined;
      throw error;
    });
    return kept;
  };
};
