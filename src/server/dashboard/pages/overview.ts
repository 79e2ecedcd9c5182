/**
 * The state of everything: one sentence first, then what needs attention, then each pipeline and the streams
 * in trouble.
 */

import { plural } from '../../../core/format.ts';
import { type DayStatus, dailyStatus, dailyStreamStatus } from '../../../queries/daily-status.ts';
import { complaining } from '../../../queries/run-history.ts';
import { isInTrouble, known, type SummaryInput, summary } from '../../../queries/summary-text.ts';
import type { Dag } from '../../../scheduler/control.ts';
import { activeNote, ago, at, button, isActive, notes, requestPath, sign, state } from '../components.ts';
import { firstShown, strip, stripKey } from '../figures.ts';
import { type Html, type HtmlPart, html } from '../html.ts';
import { type DashboardPage, live, type PageContext, type PageRequest } from '../layout.ts';
import { streamTable } from './streams.ts';

export async function overview({ db, control, view }: PageRequest): Promise<DashboardPage> {
  const since = firstShown(view.now);
  const dags = await control.list();
  const configured = dags.filter((dag) => dag.configured && dag.name !== 'nightly').map(({ name }) => name);
  const [state, days, ofStreams] = await Promise.all([
    known(db, configured),
    dailyStatus(db, since),
    dailyStreamStatus(db, since),
  ]);
  const bad = state.streams.filter(isInTrouble);
  return {
    title: 'Overview',
    at: '/',
    body: html`
${live('state', lead({ ...state, dags }, view))}
${live('attention', attention({ ...state, dags }, view))}
${live('bad', bad.length > 0 && html`<h2>Streams that need attention</h2>${streamTable(bad, ofStreams, view)}`)}
${live('pipelines', html`<h2>Pipelines</h2><p><a href="/plan">Does the night fit?</a></p><div class="cards">${dags.map((dag) => pipeline(dag, days, view))}</div>${stripKey()}`)}`,
  };
}

/** What the page is about. */
interface Seen extends SummaryInput {
  readonly dags: readonly Dag[];
}

function lead({ dags, ...state }: Seen, view: PageContext): Html {
  const { tone, lead, rest } = summary(state, view.now);
  const ready = dags.find(({ configured }) => configured);
  return html`<h1 class="summary">${sign(tone)}<span><strong>${lead}</strong> ${rest}</span></h1>
${tone === 'none' && ready !== undefined && button(view, startPath(ready), 'Run the first sync')}`;
}

const startPath = ({ name }: Dag): string => `/pipelines/${encodeURIComponent(name)}/start`;

function attention({ streams, last, dags }: Seen, { now }: PageContext): Html {
  const rejected = streams.reduce((sum, each) => sum + each.openRejects, 0);
  // A night stands for its parts.
  const active = dags.flatMap(({ last }) => (last?.partOf === null && isActive(last) ? [last] : []));
  return notes([
    ...active.map((run) => activeNote(run, now)),
    ...complaining(last).map(
      ({ runId, status, pipeline, error }) =>
        html`${state(status)} <a href="/runs/${runId}">Run ${runId}</a> of ${pipeline}: <q>${error?.message}</q>`,
    ),
    rejected > 0 &&
      html`${state('attention')} <a href="/rejects">${plural(rejected, 'record')}</a> could not become rows.`,
  ]);
}

function pipeline(dag: Dag, days: readonly DayStatus[], view: PageContext): Html {
  const own = days.filter((each) => each.pipeline === dag.name && each.stream === null);
  const isBusy = dag.last !== null && isActive(dag.last);
  return html`<article><h3>${dag.name}</h3>
<p class="soft">${dag.about}</p>
${own.length > 0 && strip(dag.name, own, view.now)}
<p>Last: ${lastOf(dag, own.at(-1), view)}<br>Next: ${dag.nextAt === null ? 'no schedule' : html`${ago(dag.nextAt, view.now)} (${at(dag.nextAt)})`}</p>
${dag.configured ? button(view, startPath(dag), isBusy ? 'Running' : 'Run now', isBusy) : html`<p class="soft">Not configured.</p>`}
</article>`;
}

/** The newest request, or the newest day with a run that was not requested here. */
function lastOf({ last }: Dag, day: DayStatus | undefined, { now }: PageContext): HtmlPart {
  if (last !== null)
    return html`${state(last.stopping ? 'stopping' : last.status)} <a href="${requestPath(last)}">${ago(last.startedAt ?? last.queuedAt, now)}</a>${
      last.againAt !== null && html`, again ${ago(last.againAt, now)}`
    }`;
  return day === undefined
    ? 'has not run'
    : html`${state(day.status)} <a href="/runs/${day.lastRunId}">${day.day}</a>`;
}
