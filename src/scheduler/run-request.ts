/** What a run is asked to do, in words and as columns. */

import type { Ask, DagRun } from './control.ts';

/** An ask as `ops.dag_runs` holds it. */
export interface AskRow {
  readonly pipeline: string;
  readonly does: Ask['does'];
  readonly streams: readonly string[] | null;
  readonly window_from: Date | null;
  readonly window_to: Date | null;
}

export const rowOf = ({ pipeline, does, streams = [], window }: Ask): AskRow => ({
  pipeline,
  does,
  // The order of the names says nothing.
  streams: streams.length === 0 ? null : [...new Set(streams)].sort(),
  window_from: window?.from ?? null,
  window_to: window?.to ?? null,
});

export const askOf = ({ pipeline, does, streams, window_from: from, window_to: to }: AskRow): Ask => ({
  pipeline,
  does,
  ...(streams === null ? {} : { streams }),
  ...(from === null || to === null ? {} : { window: { from, to } }),
});

export const sameAsk = (a: AskRow, b: AskRow): boolean =>
  JSON.stringify(askOf(a)) === JSON.stringify(askOf(b));

/** As the API's `params` would say it: `FROM=2024-01-01 TO=2024-02-01 STREAMS=issues`. */
export function paramsOf({ does, streams = [], window }: Omit<Ask, 'does'> & Pick<DagRun, 'does'>): string {
  return [
    ...(window === undefined ? [] : [`FROM=${dayOf(window.from)}`, `TO=${dayOf(window.to)}`]),
    ...(streams.length === 0 ? [] : [`STREAMS=${streams.join(',')}`]),
    ...(does === 'full' ? ['FULL=true'] : []),
    ...(does === 'reconcile' ? ['DOES=reconcile'] : []),
  ].join(' ');
}

const dayOf = (instant: Date): string => {
  const text = instant.toISOString();
  return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text;
};
