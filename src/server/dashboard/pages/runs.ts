/** The runs of the past, filtered by the address. */

import { count } from '../../../core/format.ts';
import type { Counters } from '../../../queries/db.ts';
import { type RunLine, runs } from '../../../queries/run-history.ts';
import * as ui from '../components.ts';
import { changeSeries, chart } from '../figures.ts';
import { type Html, html } from '../html.ts';
import type { DashboardPage, PageContext, PageRequest } from '../layout.ts';
import { live } from '../layout.ts';

const perPage = 50;
const kinds = ['sync', 'full', 'backfill', 'reconcile', 'replay'];
const ends = ['running', 'succeeded', 'partly_failed', 'failed', 'interrupted', 'lost', 'needs_attention'];

export async function runsPage({ db, control, view, query }: PageRequest): Promise<DashboardPage> {
  const { pipeline, kind, status, before } = query;
  const [found, dags] = await Promise.all([
    runs(db, { pipeline, kinds: kind ? [kind] : undefined, status, before, limit: perPage + 1 }),
    control.list(),
  ]);
  const shown = found.slice(0, perPage);
  const queued = dags.flatMap(({ last }) =>
    last?.partOf === null && last.finishedAt === null && last.runs.length === 0 && before === undefined
      ? [last]
      : [],
  );
  const names = dags.map(({ name }) => name);
  const last = shown.at(-1);
  return {
    title: 'Runs',
    at: '/runs',
    body: html`<h1>Runs</h1>
<form class="filters" method="get" action="/runs">
${choice('pipeline', 'Pipeline', names, pipeline)}
${choice('kind', 'Kind', kinds, kind)}
${choice('status', 'State', ends, status)}
<button>Filter</button>
</form>
${live('runs', html`${ui.notes(queued.map((run) => ui.activeNote(run, view.now)))}${runCharts(shown, ['Duration', (run) => run.seconds, ' s'])}${runTable(shown, view)}`)}
${found.length > perPage && html`<p><a href="${ui.address('/runs', { pipeline, kind, status, before: last?.runId })}">Older runs</a></p>`}`,
  };
}

export const isNumber = (text: string): boolean => /^\d{1,18}$/.test(text);

/** A run by its number, a night as a request. */
const lineLink = (run: RunLine): Html =>
  isNumber(run.runId) ? ui.runLink(run.runId) : html`<a href="${ui.requestPath(run)}">night</a>`;

/** Runs, newest first. */
export const runTable = (shown: readonly RunLine[], { now }: PageContext, empty = 'No run matches.'): Html =>
  ui.table(
    'Runs, newest first',
    [
      ['Run', lineLink],
      [
        'Pipeline',
        ({ pipeline, kind }) => html`${ui.pipelineLink(pipeline)} <span class="soft">${kind}</span>`,
      ],
      ['State', stateOf],
      ['Began', (run) => ui.ago(run.startedAt, now)],
      ['Took', (run) => ui.lasting(run.seconds), 'n'],
      ['Received', ({ counts }) => count(counts.received), 'n wide'],
      ['Changed', ({ counts }) => count(changed(counts)), 'n'],
      ['Rejected', ({ counts }) => count(counts.rejected), 'n wide'],
      ['Requests', (run) => count(run.requests), 'n wide'],
      ['By', (run) => run.trigger, 'wide'],
    ],
    shown,
    empty,
  );

export const changed = ({ inserted, updated, deleted }: Counters): number => inserted + updated + deleted;

/** A running one whose process is gone is not running. */
export const stateOf = (run: RunLine): Html =>
  ui.state(run.status === 'running' && run.alive === false ? 'lost' : run.status);

export const choice = (
  name: string,
  label: string,
  values: readonly string[],
  chosen: string | undefined,
): Html =>
  html`<label>${label} <select name="${name}"><option value="">any</option>${values.map(
    (value) =>
      html`<option value="${value}"${value === chosen && html` selected`}>${value.replaceAll('_', ' ')}</option>`,
  )}</select></label>`;

/** Rows changed by runs that are over, beside other numbers of them. `shown`: newest first; `unit` as in `chart`. */
export function runCharts<R extends Pick<RunLine, 'startedAt' | 'finishedAt' | 'counts'>>(
  shown: readonly R[],
  ...others: readonly (readonly [title: string, of: (run: R) => number, unit?: string])[]
): Html {
  const ended = shown.filter((run) => run.finishedAt !== null).reverse();
  const began = ended.map(({ startedAt }) => startedAt);
  const more = others.map(([title, of, unit]) =>
    chart(title, began, [{ name: title.toLowerCase(), tone: 'going', values: ended.map(of) }], unit),
  );
  return html`<div class="cards">${chart('Rows changed', began, changeSeries(ended))}${more}</div>`;
}
