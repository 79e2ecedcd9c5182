/** The runs of the past, filtered by the address. */

import { count } from '../../../core/format.ts';
import { type RunLine, runs } from '../../../queries/run-history.ts';
import { address } from '../address.ts';
import type { DashboardDeps } from '../deps.ts';
import { runFigures } from '../figures/runs.ts';
import { table } from '../figures/table.ts';
import { ago, lasting, spoken, state } from '../format.ts';
import { type Html, html } from '../html.ts';
import { live, type Page, type View } from '../layout.ts';
import { isActive } from '../requests.ts';

/** What the address may say. */
export interface RunsAsked {
  readonly pipeline?: string | undefined;
  readonly kind?: string | undefined;
  readonly status?: string | undefined;
  readonly before?: string | undefined;
}

const perPage = 50;
const kinds = ['sync', 'full', 'backfill', 'reconcile', 'replay'];
const statuses = [
  'running',
  'succeeded',
  'partly_failed',
  'failed',
  'interrupted',
  'lost',
  'needs_attention',
];

export async function runsPage({ db, control }: DashboardDeps, view: View, asked: RunsAsked): Promise<Page> {
  const before = asked.before !== undefined && /^\d{1,18}$/.test(asked.before) ? asked.before : undefined;
  const [found, dags] = await Promise.all([
    runs(db, {
      pipeline: asked.pipeline,
      ...(asked.kind === undefined ? {} : { kinds: [asked.kind] }),
      status: asked.status,
      before,
      limit: perPage + 1,
    }),
    control.list(),
  ]);
  const shown = found.slice(0, perPage);
  const queued = dags.flatMap((dag) =>
    dag.last !== null && isActive(dag.last) && dag.last.runs.length === 0 ? [dag.last] : [],
  );
  const last = shown.at(-1);
  const more = found.length > perPage && last !== undefined ? { ...asked, before: last.runId } : undefined;
  return {
    title: 'Runs',
    at: '/runs',
    body: html`<h1>Runs</h1>
<form class="filters" method="get" action="/runs">
${choice('pipeline', 'Pipeline', [...new Set([...dags.map((dag) => dag.name), ...shown.map((run) => run.pipeline)])], asked.pipeline)}
${choice('kind', 'Kind', kinds, asked.kind)}
${choice('status', 'State', statuses, asked.status)}
<button>Filter</button>${Object.values(asked).some((each) => each !== undefined) && html` <a href="/runs">show all</a>`}
</form>
${live(
  'runs',
  html`${
    before === undefined &&
    queued.length > 0 &&
    html`<ul class="notes">${queued.map(
      (run) =>
        html`<li>${state(run.status)} <a href="/requests/${run.pipeline}/${run.runId}">${run.pipeline} ${run.does}</a>, asked for ${ago(run.queuedAt, view.now)}</li>`,
    )}</ul>`
  }${runFigures(shown)}
${table(
  'Runs, the newest first',
  [
    { name: 'Run', cell: (run: RunLine) => html`<a href="/runs/${run.runId}">${run.runId}</a>` },
    { name: 'Pipeline', cell: (run) => html`${run.pipeline} <span class="soft">${run.kind}</span>` },
    { name: 'State', cell: (run) => stateOf(run) },
    { name: 'Began', cell: (run) => ago(run.startedAt, view.now) },
    { name: 'Took', number: true, cell: (run) => lasting(run.seconds) },
    { name: 'Received', number: true, wide: true, cell: (run) => count(run.counts.received) },
    {
      name: 'Changed',
      number: true,
      cell: (run) => count(run.counts.inserted + run.counts.updated + run.counts.deleted),
    },
    { name: 'Rejected', number: true, wide: true, cell: (run) => count(run.counts.rejected) },
    { name: 'Requests', number: true, wide: true, cell: (run) => count(run.requests) },
    { name: 'By', wide: true, cell: (run) => run.trigger },
  ],
  shown,
  'No run fits.',
)}`,
)}
${more !== undefined && html`<p><a class="button" href="${address('/runs', { ...more })}">Older runs</a></p>`}`,
  };
}

/** A running one whose process is gone is not running. */
export const stateOf = (run: RunLine): Html =>
  state(run.status === 'running' && run.alive === false ? 'lost' : run.status);

const choice = (name: string, label: string, values: readonly string[], chosen: string | undefined): Html =>
  html`<label>${label}<select name="${name}"><option value="">any</option>${values.map(
    (value) => html`<option value="${value}"${value === chosen && html` selected`}>${spoken(value)}</option>`,
  )}</select></label>`;
