/** Waits, keeping the process alive, until somebody asks to stop. */
export function untilStopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const alive = setInterval(() => undefined, 2 ** 30);
    const end = () => {
      clearInterval(alive);
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
