/**
 * Asks once and shares the answer with everyone who wants it, also while it is still on its way. A failure is told to those who waited and
 * then forgotten, so that the next one asks again.
 */
export const once = <T>(ask: (signal: AbortSignal) => Promise<T>): ((signal: AbortSignal) => Promise<T>) => {
  let kept: Promise<T> | undefined;
  return (signal) => {
    if (kept !== undefined) return kept;
    const asked = ask(signal);
    kept = asked;
    asked.catch(() => {
      kept = undefined;
    });
    return asked;
  };
};
