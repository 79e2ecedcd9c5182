/**
 * How much of a run is done at once: slices that are read, batches that are loaded, connections that both
 * need.
 */

/**
 * Batches that are loaded at once: more would share the same processors, and hold up the reading on a machine
 * that has few.
 */
export const mostLoads = 2;

/**
 * Of so many slices at once none reads on while its batch is loaded: the others are read meanwhile, and a
 * second batch for each would be memory times many.
 */
export const manySlices = 4;

/**
 * Slices that are read at once where so many requests may be under way. Of many, others take the places of
 * those that wait for their batches to be loaded: else as many requests fewer would be under way.
 */
export const slicesAtOnce = (requests: number): number =>
  requests < manySlices ? requests : requests + mostLoads;

/**
 * Connections to the warehouse: every slice that is read at once may load at once; the rest is for the lease,
 * the bookkeeping and the reconciliation.
 */
export const connectionsFor = (requests: number): number => slicesAtOnce(requests) + 4;
