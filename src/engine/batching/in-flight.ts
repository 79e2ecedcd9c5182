import type { BinaryWriter } from '../../load/binary.ts';

/**
 * Batches of one slice on their way into the warehouse while the next one is read. Each has its memory to
 * itself until it is there.
 */
export interface UnderWay {
  /** Memory for a batch. */
  writer(): BinaryWriter;
  /** Whether a load is under way. */
  readonly busy: boolean;
  /**
   * Begins a load once fewer than `most` are under way; 0: at once, and waits for it. Throws what one of them
   * threw.
   */
  begin(most: number, writer: BinaryWriter, load: () => Promise<unknown>): Promise<void>;
  /** Waits for all. Throws what one of them threw. */
  landed(): Promise<void>;
  /** Waits for all; true where one of them failed. */
  failed(): Promise<boolean>;
}

/** `spare`: memory that was used before, and takes back what is no longer needed. `make`: more of it. */
export function underWay(spare: BinaryWriter[], make: () => BinaryWriter): UnderWay {
  const loads = new Set<Promise<unknown>>();
  let lost: { readonly error: unknown } | undefined;
  const check = (): void => {
    if (lost !== undefined) throw lost.error;
  };
  const all = async (): Promise<void> => {
    while (loads.size > 0) await Promise.all(loads);
  };
  const landed = async (): Promise<void> => {
    await all();
    check();
  };
  return {
    writer: () => spare.pop() ?? make(),
    get busy() {
      return loads.size > 0;
    },
    async begin(most, writer, load) {
      while (loads.size >= Math.max(most, 1)) await Promise.race(loads);
      check();
      const one: Promise<unknown> = load()
        .catch((error: unknown) => {
          lost ??= { error };
        })
        .finally(() => {
          loads.delete(one);
          spare.push(writer);
        });
      loads.add(one);
      if (most === 0) await landed();
    },
    landed,
    async failed() {
      await all();
      return lost !== undefined;
    },
  };
}
