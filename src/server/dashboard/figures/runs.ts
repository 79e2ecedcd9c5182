/** The plots of many runs: what changed, how long it took, what was asked of the source. */

import type { RunLine } from '../../../queries/run-history.ts';
import { type Html, html } from '../html.ts';
import { quantile } from './numbers.ts';
import { plot } from './plot.ts';

/** Of ended runs, the newest first, as a list of runs comes. */
export function runFigures(
  runs: readonly RunLine[],
  only?: readonly ('changed' | 'duration' | 'requests')[],
): Html {
  const ended = runs.filter((run) => run.finishedAt !== null).reverse();
  const at = ended.map((run) => run.startedAt);
  const names = ended.map((run) => html`<a href="/runs/${run.runId}">${run.runId}</a> ${run.kind}`);
  const seconds = ended.map((run) => run.seconds);
  const median = quantile(seconds, 0.5);
  const p95 = quantile(seconds, 0.95);
  const wanted = (name: 'changed' | 'duration' | 'requests'): boolean =>
    only === undefined || only.includes(name);
  return html`<div class="plots">${[
    wanted('changed') &&
      plot({
        id: 'plot-changed',
        title: 'Rows changed',
        about: 'per run',
        unit: 'rows',
        kind: 'bars',
        at,
        names,
        series: [
          { name: 'inserted', color: 'accent', values: ended.map((run) => run.counts.inserted) },
          { name: 'updated', color: 'soft', values: ended.map((run) => run.counts.updated) },
          { name: 'removed', color: 'warn', values: ended.map((run) => run.counts.deleted) },
          { name: 'rejected', color: 'bad', values: ended.map((run) => run.counts.rejected) },
        ],
      }),
    wanted('duration') &&
      plot({
        id: 'plot-duration',
        title: 'Duration',
        about: 'per run',
        unit: 'seconds',
        kind: 'bars',
        at,
        names,
        series: [{ name: 'duration', color: 'accent', values: seconds }],
        levels: [
          ...(median === undefined ? [] : [{ name: 'median', value: median }]),
          ...(p95 === undefined ? [] : [{ name: '95th percentile', value: p95 }]),
        ],
      }),
    wanted('requests') &&
      plot({
        id: 'plot-requests',
        title: 'Requests to the source',
        about: 'per run',
        unit: 'requests',
        kind: 'bars',
        at,
        names,
        series: [
          {
            name: 'answered',
            color: 'accent',
            values: ended.map((run) => Math.max(0, run.requests - run.retries - run.throttled)),
          },
          { name: 'retried', color: 'warn', values: ended.map((run) => run.retries) },
          { name: 'throttled', color: 'bad', values: ended.map((run) => run.throttled) },
        ],
      }),
  ]}</div>`;
}
