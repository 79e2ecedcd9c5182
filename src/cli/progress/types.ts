import type { Observe } from '../../core/run.ts';

/** A way of showing what a run does while it goes. */
export interface Progress {
  readonly observe: Observe;
  /** A line of talk that must not tear the display. */
  readonly say: (text: string) => void;
  /** Leaves the display in order; must be called once, also after a failure. */
  readonly end: () => void;
}
