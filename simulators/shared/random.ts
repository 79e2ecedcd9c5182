/** A seeded stream of numbers: the same seed gives the same company on every machine. */
export interface Random {
  /** 0 <= x < 1 */
  next(): number;
  /** An integer, 0 <= x < below. */
  int(below: number): number;
  chance(probability: number): boolean;
  /** One of the list; throws RangeError if it is empty. */
  pick<T>(list: readonly T[]): T;
  /** Exponentially distributed with this mean. */
  around(mean: number): number;
}

/** Mulberry32: 32 bits of state, good enough for made-up data and fast enough for 200,000 issues. */
export const random = (seed: number): Random => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (list) => {
      const index = int(list.length);
      for (const item of list.slice(index, index + 1)) return item;
      throw new RangeError('cannot pick from an empty list');
    },
    around: (mean) => -Math.log(1 - next()) * mean,
  };
};

/** A seed of its own for the `part`-th thing under `seed`, so that each thing can be made without making those before it. */
export const mix = (seed: number, part: number): number => {
  let h = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(part + 0x165667b1, 0xc2b2ae35);
  h ^= h >>> 16;
  h = Math.imul(h, 0x7feb352d);
  h ^= h >>> 15;
  h = Math.imul(h, 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
};
