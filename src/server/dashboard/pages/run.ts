/** One run: as the warehouse tells it, and as it was asked for. Either may be missing. */

import { count, duration, plural } from '../../../core/format.ts';
import type { HandedOver } from '../../../queries/handoff-list.ts';
import { type RunDetail, type RunStream, run as readRun } from '../../../queries/run-history.ts';
import { receiptText } from '../../../queries/summary-text.ts';
import { type Progress, progressOf, type Timeline, timeline } from '../../../queries/timeline.ts';
import type { DagRun, LogLine } from '../../../scheduler/control.ts';
import type { DashboardDeps } from '../deps.ts';
import { gantt } from '../figures/gantt.ts';
import { fields } from '../figures/slices.ts';
import { facts, table } from '../figures/table.ts';
import { ago, at, lasting, orDash, state } from '../format.ts';
import { type Html, html, type Part } from '../html.ts';
import { csrf, live, type Page, type View } from '../layout.ts';
import { askOf, canRetry, isActive, requestOf } from '../requests.ts';
import { stateOf } from './runs.ts';

/** So many lines of the log are shown at first. */
const tail = 200;

/** What is known of one run. */
interface Known {
  readonly run: RunDetail | undefined;
  readonly request: DagRun | undefined;
  readonly timeline: Timeline | undefined;
  readonly progress: readonly Progress[];
  readonly log: readonly LogLine[];
}

/** A run of the warehouse by its number; undefined if there is none. */
export async function runPage(deps: DashboardDeps, view: View, runId: string): Promise<Page | undefined> {
  const run = await readRun(deps.db, runId);
  if (run === undefined) return undefined;
  return page(await known(deps, run, await requestOf(deps.control, deps.db, run)), view);
}

/** A request by its id: what it became, if it became anything. Throws `UnknownDag`, `UnknownRun`. */
export async function requestPage(
  deps: DashboardDeps,
  view: View,
  asked: { readonly pipeline: string; readonly runId: string },
): Promise<Page> {
  const request = await deps.control.run(asked.pipeline, asked.runId);
  const newest = request.runs.at(-1);
  return page(
    await known(deps, newest === undefined ? undefined : await readRun(deps.db, newest), request),
    view,
  );
}

async function known(
  deps: DashboardDeps,
  run: RunDetail | undefined,
  request: DagRun | undefined,
): Promise<Known> {
  const [found, progress, log] = await Promise.all([
    run && timeline(deps.db, run.runId),
    run && (run.kind === 'backfill' || run.finishedAt === null) ? progressOf(deps.db, run.runId) : [],
    request === undefined || request.trigger === 'manual'
      ? []
      : deps.control.log(request.pipeline, request.runId, { tail }),
  ]);
  return { run, request, timeline: found, progress, log };
}

function page(what: Known, view: View): Page {
  const { run, request, timeline, progress, log } = what;
  const pipeline = run?.pipeline ?? request?.pipeline ?? '';
  const kind = run?.kind ?? request?.does ?? '';
  const title = run === undefined ? `${pipeline} ${kind}` : `Run ${run.runId}`;
  return {
    title: `${title} · ${pipeline}`,
    at: kind === 'backfill' ? '/backfill' : '/runs',
    ...(request === undefined || request.trigger === 'manual'
      ? {}
      : {
          log: `/events/log/${encodeURIComponent(request.pipeline)}/${encodeURIComponent(request.runId)}?after=${log.at(-1)?.seq ?? 0}`,
        }),
    body: html`<p class="crumbs"><a href="/runs">Runs</a> / <a href="/runs?pipeline=${pipeline}">${pipeline}</a></p>
${live(
  'head',
  html`<div class="title"><h1>${title} <small>${pipeline} ${kind}</small></h1><div class="acts">${acts(what, view)}</div></div>
${facts(head(what, view))}
${said(what)}`,
)}
${(kind === 'backfill' || progress.length > 0) && live('progress', html`<h2>Slices</h2>${fields(progress)}`)}
${run !== undefined && timeline !== undefined && live('gantt', html`<h2>When</h2>${gantt(timeline, { startedAt: run.startedAt, end: run.finishedAt ?? view.now })}`, run.finishedAt === null ? html`data-going` : html``)}
${run !== undefined && live('rows', html`<h2>What</h2>${reasons(run)}${rows(run)}${badSlices(run)}${handedOver(run.handoffs)}`)}
${run === undefined && request !== undefined && live('waiting', html`<p class="empty">${request.finishedAt === null ? 'It waits for a worker to take it up.' : 'It ended before it became a run.'}</p>`)}
${request !== undefined && request.trigger !== 'manual' ? html`<section><h2>Log</h2>${logOf(log)}</section>` : html`<section><h2>Log</h2><p class="empty">This run was started from a command line, which printed its log.</p></section>`}`,
  };
}

function head({ run, request }: Known, view: View): readonly (readonly [string, Part])[] {
  const ends = run?.finishedAt ?? null;
  const all: readonly (readonly [string, Part] | undefined)[] = [
    ['State', stateNow(run, request)],
    run && ['Began', at(run.startedAt)],
    run && [ends === null ? 'Running for' : 'Took', lasting(run.seconds)],
    run && ['Received', count(ends === null ? sum(run.streams, 'received') : run.counts.received)],
    run && ['Changed', count(changed(run))],
    run && ['Rejected', count(ends === null ? sum(run.streams, 'rejected') : run.counts.rejected)],
    run && ends !== null ? ['Requests', requestsOf(run)] : undefined,
    run && run.throttledMs >= 1000
      ? [
          'Waited',
          html`${duration(run.throttledMs / 1000)} <span class="soft">for limits, all requests together</span>`,
        ]
      : undefined,
    ['By', run?.trigger ?? request?.trigger],
    request && run === undefined ? ['Asked for', ago(request.queuedAt, view.now)] : undefined,
    request && request.againAt !== null ? ['Again', at(request.againAt)] : undefined,
    request && request.params !== '' ? ['Parameters', html`<code>${request.params}</code>`] : undefined,
    request && [
      'Request',
      html`<a class="cut" href="/requests/${request.pipeline}/${request.runId}"><code>${request.runId}</code></a>`,
    ],
    request && request.runs.length > 1
      ? ['All its runs', request.runs.map((each) => html`<a href="/runs/${each}">${each}</a> `)]
      : undefined,
    run?.appVersion ? ['Version', run.appVersion] : undefined,
  ];
  return all.filter((each) => each !== undefined);
}

const stateNow = (run: RunDetail | undefined, request: DagRun | undefined): Html => {
  if (request?.stopping === true && isActive(request)) return state('stopping');
  // To the engine a run that was told to stop is interrupted; that somebody wanted it so, the request knows.
  if (request?.status === 'stopped' && run?.runId === request.runs.at(-1)) return state('stopped');
  return run === undefined ? state(request?.status ?? '') : stateOf(run);
};

const requestsOf = (run: RunDetail): string =>
  [
    count(run.requests),
    ...(run.retries > 0 ? [`${count(run.retries)} retried`] : []),
    ...(run.throttled > 0 ? [`${count(run.throttled)} throttled`] : []),
  ].join(', ');

const sum = (
  streams: readonly RunStream[],
  counter: 'received' | 'rejected' | 'inserted' | 'updated' | 'deleted',
): number => streams.reduce((total, each) => total + each.counts[counter], 0);

const changed = (run: RunDetail): number =>
  run.finishedAt === null
    ? sum(run.streams, 'inserted') + sum(run.streams, 'updated') + sum(run.streams, 'deleted')
    : run.counts.inserted + run.counts.updated + run.counts.deleted;

function said({ run, request }: Known): Html | undefined {
  const error = run?.error ?? request?.error ?? null;
  return error === null ? undefined : html`<p class="said"><code>${error.code}</code> ${error.message}</p>`;
}

/** Buttons: stop what goes on, ask again for what is over. */
function acts({ run, request }: Known, view: View): Html | undefined {
  if (!view.mayChange) return undefined;
  if (request !== undefined && isActive(request))
    return request.trigger === 'manual'
      ? html`<span class="soft">started from a command line; it is stopped there</span>`
      : act('/stop', request.stopping ? 'Stopping' : 'Stop', named(request), view, {
          class: 'stop',
          disabled: request.stopping,
        });
  if (request !== undefined && canRetry(request)) return act('/retry', 'Retry', named(request), view);
  if (run === undefined || run.finishedAt === null || askOf(run) === undefined) return undefined;
  return act('/again', 'Run again', { run: run.runId }, view, { class: 'quiet' });
}

const named = (request: DagRun) => ({ pipeline: request.pipeline, runId: request.runId });

const act = (
  path: string,
  word: string,
  fields: Readonly<Record<string, string>>,
  view: View,
  look: { readonly class?: string; readonly disabled?: boolean } = {},
): Html =>
  html`<form method="post" action="${path}">${csrf(view)}${Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}<button class="${look.class}" ${look.disabled === true && html`disabled`}>${word}</button></form>`;

/** What the streams that are not ok say. */
function reasons(run: RunDetail): Html | undefined {
  const found = run.streams.filter(
    (each) => each.status !== 'ok' && each.status !== 'running' && each.reason !== null,
  );
  return found.length === 0
    ? undefined
    : html`<ul class="notes">${found.map((each) => html`<li>${state(each.status)} <b>${each.stream}</b> <span class="soft">${each.reason}</span></li>`)}</ul>`;
}

const rows = (run: RunDetail): Html =>
  table(
    'What each stream brought',
    [
      {
        name: 'Stream',
        cell: (each: RunStream) => html`<a href="/streams/${run.pipeline}/${each.stream}">${each.stream}</a>`,
      },
      { name: 'State', cell: (each) => state(each.status) },
      {
        name: 'Receipt',
        number: true,
        wide: true,
        cell: (each) => (each.status === 'running' ? orDash(null) : receiptText(each.receipt)),
      },
      { name: 'Received', number: true, cell: (each) => count(each.counts.received) },
      { name: 'Inserted', number: true, cell: (each) => count(each.counts.inserted) },
      { name: 'Updated', number: true, cell: (each) => count(each.counts.updated) },
      { name: 'Unchanged', number: true, wide: true, cell: (each) => count(each.counts.unchanged) },
      { name: 'Removed', number: true, wide: true, cell: (each) => count(each.counts.deleted) },
      {
        name: 'Rejected',
        number: true,
        wide: true,
        cell: (each) =>
          each.counts.rejected === 0
            ? '0'
            : html`<a href="/rejects?pipeline=${run.pipeline}&stream=${each.stream}&all=1">${count(each.counts.rejected)}</a>`,
      },
      { name: 'Took', number: true, wide: true, cell: (each) => lasting(each.seconds) },
    ],
    run.streams,
    'No stream has begun yet.',
  );

function badSlices(run: RunDetail): Html | undefined {
  // What waits in a run that goes on is not a fault.
  const bad = run.badSlices.filter((slice) => slice.status !== 'pending' || run.finishedAt !== null);
  if (bad.length === 0) return undefined;
  return html`<details><summary>${plural(bad.length, 'slice')} not finished</summary>${table(
    'Slices that this run did not finish',
    [
      { name: 'Stream', cell: (slice: (typeof bad)[number]) => slice.stream },
      { name: 'State', cell: (slice) => state(slice.status) },
      { name: 'From', cell: (slice) => at(slice.from) },
      { name: 'To', cell: (slice) => at(slice.to) },
      { name: 'Error', cell: (slice) => slice.error?.message ?? '', wraps: true },
    ],
    bad,
  )}</details>`;
}

const handedOver = (handoffs: readonly HandedOver[]): Html | undefined =>
  handoffs.length === 0
    ? undefined
    : table(
        'What it was handed over to',
        [
          { name: 'DAG', cell: (each: HandedOver) => each.dag },
          { name: 'State', cell: (each) => state(each.status) },
          { name: 'The engine says', cell: (each) => orDash(each.engineStatus) },
          { name: 'Since', cell: (each) => at(each.changedAt) },
          { name: 'Parameters', cell: (each) => html`<code>${each.params}</code>`, wide: true, wraps: true },
          { name: 'Error', cell: (each) => each.error ?? '', wraps: true },
        ],
        handoffs,
      );

const logOf = (log: readonly LogLine[]): Html =>
  html`<ol class="log" id="log" tabindex="0" aria-label="Log, the newest line last">${log.map(
    (line) =>
      html`<li class="${line.level}"><time datetime="${line.at.toISOString()}">${line.at.toISOString().slice(11, 19)}</time> ${line.level !== 'info' && html`<b>${line.level}</b> `}<span>${line.message}</span></li>`,
  )}</ol>`;
