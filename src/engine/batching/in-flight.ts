import type { BinaryWriter } from '../../load/binary.ts';

/** Batches of one slice that are loaded while the next one is read. Each has memory of its own meanwhile. */
export class UnderWay {
  readonly #spare: BinaryWriter[];
  readonly #make: () => BinaryWriter;
  readonly #loads = new Set<Promise<unknown>>();
  #lost: { readonly error: unknown } | undefined;

  /** `spare`: memory that was used before, and takes back what is no longer needed. `make`: more of it. */
  constructor(spare: BinaryWriter[], make: () => BinaryWriter) {
    this.#spare = spare;
    this.#make = make;
  }

  /** Memory for a batch. */
  writer(): BinaryWriter {
    return this.#spare.pop() ?? this.#make();
  }

  /** Whether a load is under way. */
  get busy(): boolean {
    return this.#loads.size > 0;
  }

  /**
   * Begins a load once fewer than `most` are under way; 0: at once, and waits for it. Throws what one of them
   * threw.
   */
  async begin(most: number, writer: BinaryWriter, load: () => Promise<unknown>): Promise<void> {
    while (this.#loads.size >= Math.max(most, 1)) await Promise.race(this.#loads);
    if (this.#lost !== undefined) throw this.#lost.error;
    const one: Promise<unknown> = load()
      .catch((error: unknown) => {
        this.#lost ??= { error };
      })
      .finally(() => {
        this.#loads.delete(one);
        this.#spare.push(writer);
      });
    this.#loads.add(one);
    if (most === 0) await this.landed();
  }

  /** Waits for all. Throws what one of them threw. */
  async landed(): Promise<void> {
    if (await this.failed()) throw this.#lost?.error;
  }

  /** Waits for all; true where one of them failed. */
  async failed(): Promise<boolean> {
    while (this.busy) await Promise.all(this.#loads);
    return this.#lost !== undefined;
  }
}

export const underWay = (spare: BinaryWriter[], make: () => BinaryWriter): UnderWay =>
  new UnderWay(spare, make);
