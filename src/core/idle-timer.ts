/**
 * How long nothing was heard, in the time in which this process was at work. A process that was suspended for longer than `mostMs` between
 * two looks could not have heard anything: at most that much is counted, so that it first asks whether its work was taken over.
 */
export class IdleTimer {
  readonly #mostMs: number;
  #lookedAt = performance.now();
  /** As it was at the last look, ms. */
  ms = 0;

  constructor(mostMs: number) {
    this.#mostMs = mostMs;
  }

  /** Counts what has passed since the last look, and gives the whole, ms. */
  look(): number {
    const now = performance.now();
    this.ms += Math.min(now - this.#lookedAt, this.#mostMs);
    this.#lookedAt = now;
    return this.ms;
  }

  /** Something was heard. */
  heard(): void {
    this.ms = 0;
  }
}
