/** A plan as the control API and the dashboard show it. */

import type { RunDeps } from '../engine/context/deps.ts';
import { type PlannedStream, plan } from '../engine/preview.ts';
import type { Ask, PlanLine } from '../scheduler/control.ts';
import { minute } from './text.ts';

/** Asks the source for counts where it can tell them; writes no rows. */
export async function planLines(deps: RunDeps, { does, streams, window }: Ask): Promise<readonly PlanLine[]> {
  const planned = await plan(deps, {
    ...(streams === undefined ? {} : { streams }),
    ...(window === undefined ? {} : { window }),
    full: does === 'full',
  });
  return planned.map((each) => ({
    stream: each.stream,
    slices: each.slices,
    ...(each.records === undefined ? {} : { records: each.records }),
    ...(each.requests === undefined ? {} : { requests: each.requests }),
    ...(each.seconds === undefined ? {} : { seconds: each.seconds }),
    about: about(each),
  }));
}

/** `backfill 2024-01-01 00:00 to 2024-02-01 00:00`; of what is read again unasked also why. */
function about({ mode, from, to, why }: PlannedStream): string {
  const word = mode.replace('-', ' ');
  const because = why === undefined ? '' : `: ${why}`;
  if (from === undefined && to === undefined) return `${word}${because}`;
  return `${word} ${from === undefined ? 'from the beginning' : minute(from)} to ${to === undefined ? 'now' : minute(to)}${because}`;
}
