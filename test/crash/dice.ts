/** `CRASH_SEED` repeats the seed that a failure names. */
export const seed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** A small generator of numbers in [0, 1) that the seed and `more` decide (mulberry32). `from`: another seed. */
export function dice(more = 0, from = seed): () => number {
  let state = (from + more) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
