/** One run: as the warehouse knows it, and as it was requested. Either may be missing. */

import { count, duration, plural } from '../../../core/format.ts';
import { pastRunsOf } from '../../../planner/history.ts';
import type { HandedOver, RunDetail, RunLine } from '../../../queries/run-history.ts';
import { handoffsOf, run as readRun, requestOfRun, runs } from '../../../queries/run-history.ts';
import { receiptProblem } from '../../../queries/summary-text.ts';
import { progressOf, quietOf } from '../../../queries/timeline.ts';
import type { DagRun, LogLine } from '../../../scheduler/control.ts';
import { manualId, NotFound } from '../../../scheduler/run-request.ts';
import * as ui from '../components.ts';
import { sliceName, slices } from '../figures.ts';
import { gantt } from '../gantt.ts';
import { type Html, type HtmlPart, html } from '../html.ts';
import type { DashboardDeps, DashboardPage, PageContext, PageRequest } from '../layout.ts';
import { live } from '../layout.ts';
import { changed, choice, isNumber, runTable, stateOf } from './runs.ts';
import { receiptCell } from './streams.ts';

/** How many lines of the log are shown. */
const tail = 200;

type LoadedRun = Awaited<ReturnType<typeof load>>;

/** A run by its number. */
export async function runPage(request: PageRequest): Promise<DashboardPage | undefined> {
  const { db, param } = request;
  const run = isNumber(param('run')) ? await readRun(db, param('run')) : undefined;
  return run && page(await load(request, run, await requestOf(request, run)), request);
}

/** A request by its id, with the newest run that it became. Throws `NotFound`. */
export async function requestPage(request: PageRequest): Promise<DashboardPage> {
  const { db, control, param, view } = request;
  const asked = await control.run(param('pipeline'), param('run'));
  if (asked.parts !== null) {
    const parts = await runs(db, { night: asked.runId, limit: 1000 });
    const handed = await handoffsOf(db, [asked.runId]);
    const bars = parts.map((part) => ({ ...part, stream: `${part.pipeline} ${part.kind}` }));
    const drawn = gantt(bars.reverse(), [], asked.queuedAt, asked.finishedAt ?? view.now);
    const made = html`<h2>Parts</h2>${drawn}${runTable(parts, view, 'No part has begun yet.')}${handoffs(handed)}`;
    return page(await load(request, undefined, asked), request, made);
  }
  const newest = asked.runs.at(-1);
  return page(await load(request, newest ? await readRun(db, newest) : undefined, asked), request);
}

/** The request that a run came from; for a run of the command line, the run as a request. */
async function requestOf({ control, db }: DashboardDeps, run: RunLine): Promise<DagRun | undefined> {
  const asked = await requestOfRun(db, run.runId);
  const { pipeline, runId } = asked ?? { pipeline: run.pipeline, runId: manualId(run.runId) };
  return control.run(pipeline, runId).catch(ofUnknown);
}

/** A pipeline may no longer be one of this program. */
const ofUnknown = (error: unknown): undefined => {
  if (!(error instanceof NotFound)) throw error;
};

async function load({ db, control, query: { q, level } }: PageRequest, run?: RunDetail, request?: DagRun) {
  const isWhole = run?.finishedAt === null && run.kind === 'sync' && run.settles !== null;
  const [quiet, progress, log, past] = await Promise.all([
    run ? quietOf(db, run.runId) : [],
    run && (run.kind === 'backfill' || run.finishedAt === null) ? progressOf(db, run.runId) : [],
    request ? control.log(request.pipeline, request.runId, { tail, search: q, level }) : [],
    isWhole ? pastRunsOf(db, run.pipeline) : undefined,
  ]);
  return { run, request, quiet, progress, log, past };
}

/** `parts`: what a night is made of. */
function page(what: LoadedRun, { view, query }: PageRequest, parts?: Html): DashboardPage {
  const { run, request, quiet, progress } = what;
  const pipeline = run?.pipeline ?? request?.pipeline ?? '';
  const kind = run?.kind ?? request?.does ?? '';
  const title = run === undefined ? `${pipeline} ${kind}` : `Run ${run.runId}`;
  const isGoing = request === undefined ? run?.finishedAt === null : ui.isActive(request);
  return {
    title: `${title} · ${pipeline}`,
    at: '/runs',
    body: html`<p><a href="/runs">Runs</a> / ${ui.pipelineLink(pipeline)}</p>
${live(
  'head',
  html`<h1>${title} <small>${pipeline} ${kind}</small></h1>
${ui.notes(failures(what))}${ui.facts(head(what, view))}<p>${actions(request, view)}</p>`,
  isGoing,
)}
${run === undefined && live('waiting', parts ?? html`<p>${isGoing ? 'It waits for a worker.' : 'It ended before it became a run.'}</p>`)}
${progress.length > 0 && live('slices', html`<h2>Slices</h2>${slices(progress)}`)}
${run !== undefined && live('streams', html`<h2>Streams</h2>${streamTable(run)}${unfinished(run)}${handoffs(run.handoffs)}`)}
${run !== undefined && live('gantt', run.streams.length > 0 && html`<h2>Time</h2>${gantt(run.streams, quiet, run.startedAt, run.finishedAt ?? view.now)}`)}
${request && logSection(request, what.log, query)}`,
  };
}

/** What went wrong: of the run, of its streams, and receipts that do not match. */
function failures({ run, request }: LoadedRun): readonly HtmlPart[] {
  const error = run?.error ?? request?.error;
  const ended = run?.streams.filter(({ status }) => status !== 'running') ?? [];
  const streams = ended.map(({ stream, status, reason, receipt }) => {
    const said = [reason, receiptProblem(receipt)].filter(Boolean).join('; ');
    return said && html`${ui.state(status)} <b>${stream}</b>: ${said}`;
  });
  return [
    error && html`<strong class="bad">${error.message}</strong> <code>${error.code}</code>`,
    ...streams,
  ];
}

function head({ run, request, past }: LoadedRun, view: PageContext): Readonly<Record<string, HtmlPart>> {
  // The counts of a run are written at its end; until then those of its streams count.
  const counts = run && (run.finishedAt === null ? run.streams.map((each) => each.counts) : [run.counts]);
  const sum = (of: (each: RunDetail['counts']) => number): HtmlPart =>
    counts && count(counts.reduce((total, each) => total + of(each), 0));
  return {
    State: stateNow(run, request),
    Began: run && ui.at(run.startedAt),
    [run?.finishedAt === null ? 'Running for' : 'Took']: run && ui.lasting(run.seconds),
    'Expected end':
      run && past && ui.at(new Date(run.startedAt.getTime() + (1000 * past.seconds) / past.runs)),
    'Expected records': past && `${count(Math.round(past.records / past.runs))}, by the last syncs`,
    Received: sum((each) => each.received),
    Changed: sum(changed),
    Rejected: sum((each) => each.rejected),
    Requests: run && run.finishedAt !== null && requestsOf(run),
    By: run?.trigger ?? request?.trigger,
    ...(request?.parts && {
      Parts: Object.entries(request.parts).map(([each, n]) => html`${count(n)} ${ui.state(each)} `),
      Received: count(request.received),
      Changed: count(request.changed),
      Rejected: count(request.rejected),
    }),
    Requested: request && ui.ago(request.queuedAt, view.now),
    'Retried at': request?.againAt && ui.at(request.againAt),
    'Its retry': requestLink(request?.pipeline, request?.retriedBy),
    'Retry of': requestLink(request?.pipeline, request?.retryOf),
    Parameters: request?.params && html`<code>${request.params}</code>`,
    Request: requestLink(request?.pipeline, request?.runId),
    'All its runs':
      run && request && request.runs.length > 1 && request.runs.map((each) => html`${ui.runLink(each)} `),
    Version: run?.appVersion ?? undefined,
  };
}

const requestLink = (pipeline = '', runId?: string | null): HtmlPart =>
  runId && html`<a href="${ui.requestPath({ pipeline, runId })}"><code>${runId}</code></a>`;

function stateNow(run: RunDetail | undefined, request: DagRun | undefined): Html {
  if (request?.stopping === true && ui.isActive(request)) return ui.state('stopping');
  // The engine calls a stopped run interrupted; only the request knows that a person stopped it.
  if (request?.status === 'stopped' && run?.runId === request.runs.at(-1)) return ui.state('stopped');
  return run === undefined ? ui.state(request?.status ?? '') : stateOf(run);
}

const requestsOf = ({ requests, retries, throttled, throttledMs }: RunDetail): string =>
  [
    count(requests),
    retries > 0 && `${count(retries)} retried`,
    throttled > 0 && `${count(throttled)} throttled`,
    throttledMs >= 1000 && `${duration(throttledMs / 1000)} waited for limits`,
  ]
    .filter(Boolean)
    .join(', ');

const retryable: readonly string[] = ['failed', 'partly_failed', 'stopped', 'lost', 'interrupted'];

/** What a person may do with the request now. */
export function actions(request: DagRun | undefined, view: PageContext): HtmlPart {
  if (request === undefined || request.does === 'replay') return undefined;
  const path = ui.requestPath(request);
  if (!ui.isActive(request))
    return retryable.includes(request.status) && ui.button(view, `${path}/retry`, 'Retry');
  if (request.trigger === 'manual') return 'It was started in a terminal; stop it there.';
  if (request.stopping) return ui.button(view, `${path}/stop`, 'Stopping', true);
  const question = 'What was read stays in the warehouse. The next run goes on from there.';
  return ui.askFirst(view, `${path}/stop`, 'Stop', question);
}

const streamTable = (run: RunDetail): Html =>
  ui.table(
    'Streams of the run',
    [
      ['Stream', ({ stream }) => html`<a href="/streams/${run.pipeline}/${stream}">${stream}</a>`],
      ['State', (each) => ui.state(each.status)],
      [
        'Receipt',
        (each) => ui.orDash(each.status === 'running' ? null : receiptCell(each.receipt)),
        'wraps wide',
      ],
      ['Received', ({ counts }) => count(counts.received), 'n'],
      ['Inserted', ({ counts }) => count(counts.inserted), 'n'],
      ['Updated', ({ counts }) => count(counts.updated), 'n'],
      ['Unchanged', ({ counts }) => count(counts.unchanged), 'n wide'],
      ['Deleted', ({ counts }) => count(counts.deleted), 'n wide'],
      [
        'Rejected',
        ({ stream, counts }) => ui.rejectsLink(counts.rejected, { pipeline: run.pipeline, stream, all: '1' }),
        'n wide',
      ],
    ],
    run.streams,
    run.finishedAt === null ? 'No stream has begun yet.' : 'It ended before a stream began.',
  );

/** Slices that the run did not finish. Pending slices of an active run are no fault. */
function unfinished({ badSlices, finishedAt }: RunDetail): HtmlPart {
  const bad = badSlices.filter(({ status }) => status !== 'pending' || finishedAt !== null);
  const named = bad.map((slice) => {
    const why = ui.orDash(slice.error?.message);
    return html`${ui.state(slice.status)} ${slice.stream}, ${sliceName(slice)}: ${why}`;
  });
  const title = plural(bad.length, 'unfinished slice');
  return bad.length > 0 && html`<details><summary>${title}</summary>${ui.notes(named)}</details>`;
}

/** The DAGs that it triggered. */
const handoffs = (found: readonly HandedOver[]): Html =>
  ui.notes(
    found.map(
      ({ dag, status, engineStatus, changedAt, params, error }) =>
        html`Triggered DAG ${dag}: ${ui.state(status)} ${engineStatus && `(${engineStatus})`} since ${ui.at(changedAt)} <code>${params}</code> ${error}`,
    ),
  );

/** The newest lines that fit the search, its form, and the way to the others. */
const logSection = (request: DagRun, log: readonly LogLine[], { q, level }: PageRequest['query']): Html =>
  html`<h2>Log <small>times in UTC</small></h2>${
    request.trigger === 'manual' &&
    html`<p class="soft">The terminal has the whole log of this run. Here is when it and its streams began and ended.</p>`
  }<form class="filters" method="get"><label>Words <input type="search" name="q" value="${q}"></label>
${choice('level', 'Level, at least', ['warn', 'error'], level)}<button>Search</button>${ui.link(`${ui.requestPath(request)}/log`, 'Download the log')}</form>
${live('log', log.length > 0 ? logOf(log) : html`<p class="soft">No line fits. Lines are kept for 90 days.</p>`)}`;

const logOf = (log: readonly LogLine[]): Html =>
  html`<ol class="log" tabindex="0" aria-label="Log, newest line last">${log.map(
    ({ at, level, message }) =>
      html`<li><time datetime="${at.toISOString()}">${at.toISOString().slice(11, 19)}</time> ${
        level !== 'info' && html`<b class="${level === 'error' ? 'bad' : 'warn'}">${level}</b> `
      }${message}</li>`,
  )}</ol>`;
