import { BinaryWriter } from '../../load/binary.ts';

/** Bytes at which a batch is full. */
export const mostBytes = 3 << 19;

/** Batches of one slice that are loaded while the next one is read. Each has memory of its own meanwhile. */
export class UnderWay {
  /** Memory that was used before. */
  readonly #spare: BinaryWriter[];
  readonly #loads = new Set<Promise<unknown>>();

  constructor(spare: BinaryWriter[]) {
    this.#spare = spare;
  }

  /** Memory for a batch. */
  writer(): BinaryWriter {
    return this.#spare.pop() ?? new BinaryWriter(mostBytes + (1 << 19));
  }

  /** Whether a load is under way. */
  get busy(): boolean {
    return this.#loads.size > 0;
  }

  /**
   * Begins a load once fewer than `most` are under way; 0: at once, and waits for it. Takes the memory back
   * when it has ended. Throws what one of them threw.
   */
  async begin(most: number, writer: BinaryWriter, load: () => Promise<unknown>): Promise<void> {
    // One that failed stays in the set, and is the first of it to be settled.
    while (this.#loads.size >= Math.max(most, 1)) await Promise.race(this.#loads);
    await Promise.race([...this.#loads, undefined]);
    const one: Promise<unknown> = load()
      .then(() => this.#loads.delete(one))
      .finally(() => this.#spare.push(writer));
    one.catch(() => undefined);
    this.#loads.add(one);
    if (most === 0) await one;
  }

  /** Waits for all. Throws what one of them threw. */
  async landed(): Promise<void> {
    await Promise.all(this.#loads);
  }

  /** Waits for all; true where one of them failed. */
  async failed(): Promise<boolean> {
    const ended = await Promise.allSettled(this.#loads);
    return ended.some(({ status }) => status === 'rejected');
  }
}
