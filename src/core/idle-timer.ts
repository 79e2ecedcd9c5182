/** How long nothing was heard, in the time in which this process was at work. */
export interface IdleTimer {
  /** As it was at the last look, ms. */
  readonly ms: number;
  /** Counts what has passed since the last look, and gives the whole, ms. */
  look(): number;
  /** Something was heard. */
  heard(): void;
}

/**
 * A process that stood still, or slept, for longer than `mostMs` between two looks could not have heard anything: at most that much is counted,
 * so that it first asks whether its work was taken over.
 */
export function idleTimer(mostMs: number): IdleTimer {
  let ms = 0;
  let lookedAt = performance.now();
  return {
    get ms() {
      return ms;
    },
    look() {
      const now = performance.now();
      ms += Math.min(now - lookedAt, mostMs);
      lookedAt = now;
      return ms;
    },
    heard() {
      ms = 0;
    },
  };
}
