/** Wrong tokens make the next try wait: guessing must not pay. */

import { minutes, seconds } from '../../core/time.ts';

export interface Attempts {
  /** How long this address must wait before its next try, ms; 0: it may try now. */
  waitMs(address: string): number;
  failed(address: string): void;
  succeeded(address: string): void;
}

/** So many wrong tokens are a person's mistakes. */
const free = 5;
const longest = minutes(15);
/** Addresses remembered at most; beyond them all share one count. */
const remembered = 1000;

/** `now`: milliseconds that only grow. */
export function attempts(now: () => number): Attempts {
  const known = new Map<string, { readonly failures: number; readonly openAt: number }>();
  const keyOf = (address: string): string => (known.has(address) || known.size < remembered ? address : 'others');
  return {
    waitMs: (address) => Math.max(0, (known.get(keyOf(address))?.openAt ?? 0) - now()),
    failed(address) {
      for (const [old, { openAt }] of known) if (openAt + longest < now()) known.delete(old);
      const key = keyOf(address);
      const failures = (known.get(key)?.failures ?? 0) + 1;
      const pause = failures < free ? 0 : Math.min(longest, seconds(1) * 2 ** (failures - free));
      known.set(key, { failures, openAt: now() + pause });
    },
    succeeded: (address) => {
      known.delete(address);
    },
  };
}
