/** How long nothing was heard, in the time in which this process was at work. */
export interface Silence {
  /** As it was at the last look, ms. */
  readonly ms: number;
  /** Counts what has passed since the last look, and gives the whole, ms. */
  look(): number;
  /** Something was heard. */
  heard(): void;
}

/**
 * Whoever stood still, or slept, for longer than `mostMs` between two looks has not listened: so much is counted of it at most, and he first
 * asks whether anything was taken from him.
 */
export function silence(mostMs: number): Silence {
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
