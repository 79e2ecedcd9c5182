/** Everything at a glance: one sentence first, what needs a look next, then each pipeline and stream. */

import { count, plural } from '../../../core/format.ts';
import { type Night, nights, streamNights } from '../../../queries/daily-status.ts';
import { type StreamState, streamStates } from '../../../queries/freshness.ts';
import { complaining, lastWhole, type RunLine, recentRuns, runs } from '../../../queries/run-history.ts';
import { inOrder, isInTrouble, sentence } from '../../../queries/summary-text.ts';
import type { Dag } from '../../../scheduler/control.ts';
import type { DashboardDeps } from '../deps.ts';
import { runFigures } from '../figures/runs.ts';
import { firstShown, strip, stripKey } from '../figures/strip.ts';
import { table } from '../figures/table.ts';
import { ago, at, orDash, signOf, state, type Tone } from '../format.ts';
import { type Html, html, type Part } from '../html.ts';
import { csrf, live, type Page, type View } from '../layout.ts';
import { isActive } from '../requests.ts';

/** So many runs are drawn. */
const drawn = 60;

export async function overview(
  { db, control }: DashboardDeps,
  view: View,
  wanted: string | undefined,
): Promise<Page> {
  const since = firstShown(view.now);
  const [streams, last, perPipeline, perStream, dags] = await Promise.all([
    streamStates(db),
    recentRuns(db),
    nights(db, since),
    streamNights(db, since),
    control.list(),
  ]);
  const drawable = [...new Set([...dags.map((dag) => dag.name), ...last.map((run) => run.pipeline)])].filter(
    (name) => streams.some((stream) => stream.pipeline === name),
  );
  const chosen = drawable.find((name) => name === wanted) ?? drawable[0];
  const past =
    chosen === undefined ? [] : await runs(db, { pipeline: chosen, kinds: ['sync', 'full'], limit: drawn });
  return {
    title: 'Overview',
    at: '/',
    body: html`
${live('truth', truth(streams, last, view))}
${live('attention', attention(streams, last, dags, view))}
${live('pipelines', html`<h2>Pipelines</h2>${pipelines(dags, perPipeline, view)}`)}
${live('streams', html`<h2>Streams <small>those that need a look first</small></h2>${streamTable(streams, perStream, view)}`)}
${chosen !== undefined && live('figures', html`<h2>The last ${plural(past.filter((run) => run.finishedAt !== null).length, 'sync', 'syncs')}</h2>${tabs(drawable, chosen)}${runFigures(past, ['changed', 'duration'])}`)}
`,
  };
}

/** The worst of all streams decides the colour; the end of the last run, and of the last of every stream, may make it worse. */
function toneOfAll(streams: readonly StreamState[], last: readonly RunLine[]): Tone {
  if (streams.length === 0) return 'none';
  if (streams.some(isInTrouble)) return 'warn';
  const ended = [...last.filter((run) => run.finishedAt !== null).slice(0, 1), ...lastWhole(last)];
  return ended.every((run) => run.status === 'succeeded') ? 'good' : 'warn';
}

function truth(streams: readonly StreamState[], last: readonly RunLine[], view: View): Html {
  const tone = toneOfAll(streams, last);
  return html`<h1 class="truth ${tone}"><span class="sign" aria-hidden="true">${signOf(tone)}</span><span>${sentence(streams, last, view.now)}</span></h1>`;
}

function attention(
  streams: readonly StreamState[],
  last: readonly RunLine[],
  dags: readonly Dag[],
  view: View,
): Html {
  const [newest] = last;
  const rejected = streams.reduce((sum, each) => sum + each.openRejects, 0);
  const active = dags.flatMap((dag) => (dag.last !== null && isActive(dag.last) ? [dag.last] : []));
  const notes: readonly Part[] = [
    ...active.map(
      (run) =>
        html`<li>${state(run.stopping ? 'stopping' : run.status)} <a href="/requests/${run.pipeline}/${run.runId}">${run.pipeline} ${run.does}</a>, asked for ${ago(run.queuedAt, view.now)}${run.received > 0 && html`, ${plural(run.received, 'record')} so far`}</li>`,
    ),
    ...complaining(last).map(
      (run) =>
        html`<li>${state(run.status)} <a href="/runs/${run.runId}">Run ${run.runId}</a> of ${run.pipeline} said: <q>${run.error?.message}</q></li>`,
    ),
    newest?.status === 'running' &&
      newest.alive === false &&
      html`<li>${state('lost')} <a href="/runs/${newest.runId}">Run ${newest.runId}</a>, begun ${ago(newest.startedAt, view.now)}, has lost its process; the next run goes on from there.</li>`,
    rejected > 0 &&
      html`<li>${state('attention')} <a href="/rejects">${plural(rejected, 'record')}</a> could not become ${rejected === 1 ? 'a row' : 'rows'}.</li>`,
  ].filter((note) => note !== undefined && note !== false && note !== null);
  return notes.length === 0 ? html`` : html`<ul class="notes">${notes}</ul>`;
}

function pipelines(dags: readonly Dag[], found: readonly Night[], view: View): Html {
  const listed = [...dags].sort((a, b) => Number(b.configured) - Number(a.configured));
  if (listed.length === 0) return html`<p class="empty">No pipeline is known here.</p>`;
  return html`<div class="cards">${listed.map((dag) => pipeline(dag, found, view))}</div>${stripKey()}`;
}

function pipeline(dag: Dag, found: readonly Night[], view: View): Html {
  const own = found.filter((night) => night.pipeline === dag.name);
  const busy = dag.last !== null && isActive(dag.last);
  return html`<article class="card${!dag.configured && ' off'}"><header><h3>${dag.name}</h3>${
    dag.configured
      ? view.mayChange &&
        html`<form method="post" action="/start">${csrf(view)}<input type="hidden" name="pipeline" value="${dag.name}"><button ${busy && html`disabled`}>${busy ? 'Running' : 'Run now'}</button></form>`
      : html`<span class="tag">not configured</span>`
  }</header>
<p class="about">${dag.about}</p>
${own.length > 0 && strip(dag.name, own, view.now)}
<dl class="pair"><div><dt>Last</dt><dd>${lastOf(dag, own, view)}</dd></div><div><dt>Next</dt><dd>${dag.nextAt === null ? html`<span class="nil">no schedule</span>` : html`${ago(dag.nextAt, view.now)} <span class="soft">(${at(dag.nextAt)})</span>`}</dd></div></dl>
</article>`;
}

/** The newest request, or the newest day on which it ran without one. */
function lastOf(dag: Dag, own: readonly Night[], view: View): Html {
  const { last } = dag;
  const night = own.at(-1);
  if (last !== null)
    return html`${state(last.stopping && isActive(last) ? 'stopping' : last.status)} <a href="/requests/${last.pipeline}/${last.runId}">${ago(last.startedAt ?? last.queuedAt, view.now)}</a>${last.againAt !== null && html`, again ${ago(last.againAt, view.now)}`}`;
  return night === undefined
    ? html`<span class="nil">has not run</span>`
    : html`${state(night.status)} <a href="/runs/${night.lastRunId}">${night.day}</a>`;
}

function streamTable(streams: readonly StreamState[], found: readonly Night[], view: View): Html {
  return table(
    'Streams, those that need a look first',
    [
      {
        name: 'Stream',
        cell: (each: StreamState) =>
          html`<a href="/streams/${each.pipeline}/${each.stream}"><span class="soft wide">${each.pipeline}.</span>${each.stream}</a>`,
      },
      { name: 'State', cell: (each) => state(each.freshness) },
      { name: 'As of', cell: (each) => ago(each.freshAt, view.now) },
      {
        name: '30 nights',
        wide: true,
        cell: (each) =>
          strip(
            each.stream,
            found.filter((night) => night.pipeline === each.pipeline && night.stream === each.stream),
            view.now,
          ),
      },
      {
        name: 'Last run',
        wide: true,
        cell: (each) =>
          each.last === null
            ? orDash(null)
            : html`<a href="/runs/${each.last.runId}">${each.last.runId}</a> ${state(each.last.status)}`,
      },
      {
        name: 'Rejects',
        number: true,
        cell: (each) =>
          each.openRejects === 0
            ? html`<span class="nil">0</span>`
            : html`<a href="/rejects?pipeline=${each.pipeline}&stream=${each.stream}">${count(each.openRejects)}</a>`,
      },
    ],
    inOrder(streams),
    'No stream is known yet: run a pipeline.',
  );
}

const tabs = (names: readonly string[], chosen: string): Html =>
  names.length < 2
    ? html`<p class="soft">${chosen}</p>`
    : html`<nav class="tabs" aria-label="Pipeline"><ul>${names.map(
        (name) =>
          html`<li><a href="/?pipeline=${name}#figures"${name === chosen && html` aria-current="true"`}>${name}</a></li>`,
      )}</ul></nav>`;
