import { dice } from '../crash/dice.ts';

/** `CHAOS_SEED` repeats the schedule of a campaign. Without it the clock decides. */
export const seed = Number(process.env.CHAOS_SEED ?? Math.floor(Date.now() / 1_000));

/** `CHAOS_MINUTES`: how long faults come. */
export const minutes = Number(process.env.CHAOS_MINUTES ?? 2);

/** Draws of a generator. */
export interface Draw {
  /** A whole number from `from` to `to`, both possible. */
  between(from: number, to: number): number;
  oneOf<T>(list: readonly [T, ...T[]]): T;
  /** True in that share of the draws. */
  chance(share: number): boolean;
}

/** Draws that this seed and `purpose` decide: each purpose has its own, so that none depends on the timing of another. */
export function drawOf(seed: number, purpose: number): Draw {
  const next = dice(purpose * 7_919, seed);
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  return {
    between,
    oneOf: (list) => list[between(0, list.length - 1)] ?? list[0],
    chance: (share) => next() < share,
  };
}
