/** Backfill: what to read again, what that would take, and how far it is. */

import { TidemarkError } from '../../../core/errors.ts';
import { count, duration, plural } from '../../../core/format.ts';
import { parseDay } from '../../../core/time.ts';
import { type StreamState, streamStates } from '../../../queries/freshness.ts';
import { type RunLine, runs } from '../../../queries/run-history.ts';
import type { Ask, Dag, PlanLine } from '../../../scheduler/control.ts';
import type { DashboardDeps } from '../deps.ts';
import { table } from '../figures/table.ts';
import { ago, lasting, orDash } from '../format.ts';
import { type Html, html } from '../html.ts';
import { csrf, live, type Page, type View } from '../layout.ts';
import { stateOf } from './runs.ts';

/** What the form says; text as it was typed. */
export interface BackfillAsked {
  readonly pipeline: string | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly streams: readonly string[];
}

/** The ask that a form means, or what is wrong with it in words. */
export function askOfForm(asked: BackfillAsked): Ask | { readonly wrong: string } {
  const { pipeline, streams } = asked;
  if (pipeline === undefined || pipeline === '') return { wrong: 'Choose a pipeline.' };
  const from = dayOf(asked.from);
  const to = dayOf(asked.to);
  if (from === undefined)
    return {
      wrong: `From: ${asked.from === undefined || asked.from === '' ? 'say the first day' : `${asked.from} is not a day like 2024-01-31`}.`,
    };
  if (to === undefined)
    return {
      wrong: `To: ${asked.to === undefined || asked.to === '' ? 'say the day at which it ends' : `${asked.to} is not a day like 2024-01-31`}.`,
    };
  if (!(from < to)) return { wrong: 'From must be before To: the window ends where To begins.' };
  return { pipeline, does: 'backfill', window: { from, to }, ...(streams.length === 0 ? {} : { streams }) };
}

function dayOf(text: string | undefined): Date | undefined {
  try {
    return text === undefined ? undefined : new Date(`${parseDay(text)}T00:00:00Z`);
  } catch {
    // The form says so beside the field.
    return undefined;
  }
}

/** The form, with the plan below it if one was asked for, and the backfills of the past. */
export async function backfillPage(
  deps: DashboardDeps,
  view: View,
  asked: BackfillAsked,
  planning: { readonly signal: AbortSignal } | undefined,
  refused?: string,
): Promise<Page> {
  const [dags, streams, past] = await Promise.all([
    deps.control.list(),
    streamStates(deps.db),
    runs(deps.db, { kinds: ['backfill'], limit: 20 }),
  ]);
  const offered = dags.filter((dag) => dag.configured && streams.some((each) => each.pipeline === dag.name));
  const chosen = offered.find((dag) => dag.name === asked.pipeline) ?? offered[0];
  const ask = planning === undefined ? undefined : askOfForm(asked);
  const wrong = refused ?? (ask !== undefined && 'wrong' in ask ? ask.wrong : undefined);
  const plan =
    ask === undefined || 'wrong' in ask || planning === undefined
      ? undefined
      : await planOf(deps, ask, planning.signal);
  return {
    title: 'Backfill',
    at: '/backfill',
    body: html`<h1>Backfill</h1><p class="lead">Reads again what was created in a window. It resumes by the same words, never moves a watermark, and rows that are already right are not touched.</p>
${chosen === undefined ? html`<p class="empty">No pipeline that is configured here has run yet; run one first.</p>` : form(offered, chosen, streams, asked, wrong)}
${plan !== undefined && ask !== undefined && !('wrong' in ask) && planView(plan, ask, view)}
${live('past', html`<h2>Backfills so far</h2>${pastTable(past, view)}`)}`,
  };
}

type Plan = { readonly lines: readonly PlanLine[] } | { readonly refused: string };

async function planOf(deps: DashboardDeps, ask: Ask, signal: AbortSignal): Promise<Plan> {
  try {
    return { lines: await deps.control.plan(ask, signal) };
  } catch (error) {
    if (error instanceof TidemarkError) return { refused: error.message };
    throw error;
  }
}

function form(
  offered: readonly Dag[],
  chosen: Dag,
  streams: readonly StreamState[],
  asked: BackfillAsked,
  wrong: string | undefined,
): Html {
  const own = streams.filter((each) => each.pipeline === chosen.name && each.freshness !== 'unavailable');
  return html`${
    offered.length > 1 &&
    html`<nav class="tabs" aria-label="Pipeline"><ul>${offered.map(
      (dag) =>
        html`<li><a href="/backfill?pipeline=${dag.name}"${dag === chosen && html` aria-current="true"`}>${dag.name}</a></li>`,
    )}</ul></nav>`
  }<form class="ask" method="get" action="/backfill/plan">
<input type="hidden" name="pipeline" value="${chosen.name}">
<div class="fields"><label>From <span class="soft">first day, UTC</span><input type="date" name="from" required value="${asked.from ?? ''}"></label>
<label>To <span class="soft">not included</span><input type="date" name="to" required value="${asked.to ?? ''}"></label></div>
<details class="streams"${asked.streams.length > 0 && html` open`}><summary>Only some streams</summary><fieldset><legend class="vh">Streams</legend>${own.map(
    (each) =>
      html`<label class="check"><input type="checkbox" name="streams" value="${each.stream}"${asked.streams.includes(each.stream) && html` checked`}> ${each.stream}</label>`,
  )}</fieldset></details>
${wrong !== undefined && html`<p class="said" role="alert">${wrong}</p>`}
<button>Show the plan</button> <span class="soft">nothing is started yet</span>
</form>`;
}

function planView(plan: Plan, ask: Ask, view: View): Html {
  if ('refused' in plan)
    return html`<section><h2>Plan</h2><p class="said" role="alert">${plan.refused}</p></section>`;
  const { lines } = plan;
  const total = (of: (line: PlanLine) => number | undefined): number | undefined =>
    lines.every((line) => of(line) === undefined)
      ? undefined
      : lines.reduce((sum, line) => sum + (of(line) ?? 0), 0);
  const requests = total((line) => line.requests);
  const seconds = total((line) => line.seconds);
  const records = total((line) => line.records);
  return html`<section id="plan"><h2>Plan</h2>
<p>${plural(lines.length, 'stream')}${records !== undefined && html`, about ${plural(records, 'record')}`}${requests !== undefined && html`, about ${plural(requests, 'request')}`}${seconds !== undefined && html`, at least ${duration(seconds)}`}.</p>
${table(
  'What would be read',
  [
    { name: 'Stream', cell: (line: PlanLine) => line.stream },
    { name: 'What', cell: (line) => line.about, wraps: true },
    { name: 'Slices', number: true, cell: (line) => count(line.slices) },
    {
      name: 'Records',
      number: true,
      cell: (line) => orDash(line.records === undefined ? null : count(line.records)),
    },
    {
      name: 'Requests',
      number: true,
      cell: (line) => orDash(line.requests === undefined ? null : count(line.requests)),
    },
    { name: 'Time', number: true, wide: true, cell: (line) => lasting(line.seconds ?? null) },
  ],
  lines,
  'No stream can be cut by time in that window: there is nothing to backfill.',
)}
${
  lines.length > 0 &&
  view.mayChange &&
  html`<form method="post" action="/backfill">${csrf(view)}<input type="hidden" name="pipeline" value="${ask.pipeline}"><input type="hidden" name="from" value="${ask.window?.from.toISOString().slice(0, 10) ?? ''}"><input type="hidden" name="to" value="${ask.window?.to.toISOString().slice(0, 10) ?? ''}">${(
    ask.streams ?? []
  ).map(
    (stream) => html`<input type="hidden" name="streams" value="${stream}">`,
  )}<button>Start the backfill</button></form>`
}</section>`;
}

const pastTable = (past: readonly RunLine[], view: View): Html =>
  table(
    'Backfills so far',
    [
      { name: 'Run', cell: (run: RunLine) => html`<a href="/runs/${run.runId}">${run.runId}</a>` },
      { name: 'Pipeline', cell: (run) => run.pipeline },
      { name: 'State', cell: (run) => stateOf(run) },
      { name: 'Began', cell: (run) => ago(run.startedAt, view.now) },
      { name: 'Took', number: true, cell: (run) => lasting(run.seconds) },
      { name: 'Received', number: true, wide: true, cell: (run) => count(run.counts.received) },
      {
        name: 'Changed',
        number: true,
        cell: (run) => count(run.counts.inserted + run.counts.updated + run.counts.deleted),
      },
    ],
    past,
    'No backfills yet.',
  );
