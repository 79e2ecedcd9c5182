/** How long a campaign waits. A busy machine is slow in everything: the bounds grow with what it needed while no fault lasted. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Rows } from '../crash/books.ts';

export interface Pace {
  /** Notes how long something took while no fault lasted, ms. An idle machine does it within seconds. */
  took(ms: number): void;
  /** Where no request ends for this time, what is waited for will not come, ms. */
  readonly patienceMs: number;
  /** A process that is asked to end does so within this time, ms. */
  readonly endMs: number;
}

export function openPace(): Pace {
  let slowest = 0;
  return {
    took(ms) {
      slowest = Math.max(slowest, ms);
    },
    get patienceMs() {
      return Math.max(120_000, 20 * slowest);
    },
    get endMs() {
      return Math.max(20_000, 4 * slowest);
    },
  };
}

/** What `eventually` looks at. */
export interface Waiting {
  readonly pace: Pace;
  readonly rows: Rows;
}

/** Waits until it holds. Throws, with what `why` gives, where no request ended for as long as the pace allows. */
export async function eventually(
  { pace, rows }: Waiting,
  what: string,
  holds: () => boolean | Promise<boolean>,
  why: () => string | Promise<string> = () => '',
): Promise<void> {
  const over = 'select count(*)::int as n from ops.dag_runs where finished_at is not null';
  let before = -1;
  for (let since = performance.now(); !(await holds()); await sleep(200)) {
    if (performance.now() - since < pace.patienceMs) continue;
    const [{ n } = { n: 0 }] = await rows<{ n: number }>(over);
    if (n === before) throw new Error(`${what}: no request ended for ${pace.patienceMs} ms; ${await why()}`);
    before = n;
    since = performance.now();
  }
}
