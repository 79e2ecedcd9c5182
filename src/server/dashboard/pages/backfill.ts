/** Backfill: what to read again, what that takes, and the backfills so far. */

import { TidemarkError } from '../../../core/errors.ts';
import { duration, plural } from '../../../core/format.ts';
import { days, daysSince1970 } from '../../../core/time.ts';
import { leastSeconds, planNight } from '../../../planner/night.ts';
import { type StreamState, streamStates } from '../../../queries/freshness.ts';
import { runs } from '../../../queries/run-history.ts';
import type { Ask, Control, NightNeeds } from '../../../scheduler/control.ts';
import { at, table } from '../components.ts';
import { type Html, type HtmlPart, html } from '../html.ts';
import { csrf, type DashboardPage, hidden, live, type PageContext, type PageRequest } from '../layout.ts';
import { needsOf, sizeColumns, usualHours } from './plan.ts';
import { runTable } from './runs.ts';

/** What the form holds; text as it was typed. */
interface BackfillForm {
  readonly pipeline: string | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly streams: readonly string[];
}

/** The request that a form describes, or what is wrong with it in words. */
export function askOfForm({ pipeline, from: first, to: end, streams }: BackfillForm): Ask | string {
  if (!pipeline) return 'Choose a pipeline.';
  const from = dayOf(first);
  const to = dayOf(end);
  if (from === undefined)
    return `From: ${first ? `${first} is not a day like 2024-01-31` : 'enter the first day'}.`;
  if (to === undefined)
    return `To: ${end ? `${end} is not a day like 2024-01-31` : 'enter the day after the last'}.`;
  if (!(from < to)) return 'From must be before To: the window ends where To begins.';
  return { pipeline, does: 'backfill', window: { from, to }, ...(streams.length === 0 ? {} : { streams }) };
}

function dayOf(text = ''): Date | undefined {
  const day = daysSince1970(text);
  return Number.isNaN(day) ? undefined : new Date(days(day));
}

/** The form; with its fields in the address also the plan. */
export async function backfillPage(request: PageRequest): Promise<DashboardPage> {
  const { db, control, view, query, all } = request;
  const [dags, streams, past] = await Promise.all([
    control.list(),
    streamStates(db),
    runs(db, { kinds: ['backfill'], limit: 20 }),
  ]);
  const names = dags
    .filter(({ name, configured }) => configured && streams.some(({ pipeline }) => pipeline === name))
    .map(({ name }) => name);
  const pipeline = names.find((name) => name === query.pipeline) ?? names[0];
  const asked = { pipeline, from: query.from, to: query.to, streams: all('streams') };
  const ask = query.plan === undefined ? undefined : askOfForm(asked);
  const plan = typeof ask === 'object' ? await planOf(request, ask) : undefined;
  const wrong = [ask, plan].find((each) => typeof each === 'string');
  return {
    title: 'Backfill',
    at: '/backfill',
    body: html`<h1>Backfill</h1><p class="soft">Reads again what was created in a window of time. The same form resumes one that was
stopped. The next sync reads what it would have read without it, and rows that are right already are not written.</p>
${names.length > 1 && html`<nav aria-label="Pipeline"><ul>${names.map((name) => tab(name, name === pipeline))}</ul></nav>`}
${pipeline === undefined ? html`<p>No configured pipeline has run yet; run one first.</p>` : form(asked, streams, wrong)}
${typeof plan === 'object' && planView(plan, asked, await needsOf(request), view)}
${live('past', html`<h2>Backfills so far</h2>${runTable(past, view, 'No backfills yet.')}`)}`,
  };
}

const tab = (name: string, isChosen: boolean): Html =>
  html`<li><a href="/backfill?pipeline=${name}"${isChosen && html` aria-current="true"`}>${name}</a></li>`;

type BackfillPlan = Awaited<ReturnType<Control['plan']>>;

async function planOf({ control, signal }: PageRequest, ask: Ask): Promise<BackfillPlan | string> {
  try {
    return await control.plan(ask, signal);
  } catch (error) {
    if (error instanceof TidemarkError) return error.message;
    throw error;
  }
}

const form = (asked: BackfillForm, streams: readonly StreamState[], wrong: string | undefined): Html =>
  html`<form method="get" action="/backfill">${hidden('plan', 1)}${hidden('pipeline', asked.pipeline)}
<div class="filters"><label>From (first day, UTC) <input type="date" name="from" required value="${asked.from}"></label>
<label>To (not included) <input type="date" name="to" required value="${asked.to}"></label></div>
<details${asked.streams.length > 0 && html` open`}><summary>Only some streams</summary><fieldset>${streams
    .filter((each) => each.pipeline === asked.pipeline && each.freshness !== 'unavailable')
    .map(
      ({ stream }) =>
        html`<label><input type="checkbox" name="streams" value="${stream}"${asked.streams.includes(stream) && html` checked`}> ${stream}</label>`,
    )}</fieldset></details>
${wrong !== undefined && html`<p class="said" role="alert">${wrong}</p>`}
<button>Show the plan</button> <span class="soft">nothing is started yet</span></form>`;

function planView(
  lines: BackfillPlan,
  asked: BackfillForm,
  needs: NightNeeds | undefined,
  view: PageContext,
): Html {
  const records = lines.reduce((sum, line) => sum + (line.records ?? 0), 0);
  // Planned as the sync of the pipeline is: by all of its limits, and the pace of its last runs.
  const own = needs?.tonight.find((each) => each.pipeline === asked.pipeline);
  const { pipelines } = planNight(own ? [own, { ...own, streams: lines }] : [], usualHours, 1);
  const [sync, backfill] = pipelines;
  const requests = backfill?.requests ?? lines.reduce((sum, line) => sum + (line.requests ?? 0), 0);
  const seconds = Math.max(leastSeconds(lines), backfill?.seconds ?? 0);
  return html`<section id="plan"><h2>Plan</h2>
<p>${plural(lines.length, 'stream')}${records > 0 && `, about ${plural(records, 'record')}`}${
    requests > 0 && `, about ${plural(requests, 'request')}`
  }${seconds > 0 && `, at least ${duration(seconds)}`}${backfill?.limit && ` (${backfill.limit})`}.
${lines.length > 0 && besideNight(seconds, sync?.seconds)}</p>
${table(
  'What would be read',
  [['Stream', (line) => line.stream], ['Window', windowOf, 'wide'], ...sizeColumns],
  lines,
  'No stream can be cut by time in that window: there is nothing to backfill.',
)}${lines.length > 0 && startForm(asked, view)}</section>`;
}

/** `sync`: seconds of tonight's sync of the pipeline; undefined while that is not known. */
function besideNight(seconds: number, sync: number | null | undefined): string {
  if (sync === undefined) return 'What the pipeline needs tonight is not known yet.';
  if (seconds === 0) return 'How long it takes is not known: such a window was never read.';
  const night = `a night of ${usualHours} h beside the sync of ${duration(sync ?? 0)}`;
  const parts = Math.ceil(seconds / (usualHours * 3600 - (sync ?? 0)));
  if (parts === 1) return `It fits into ${night}.`;
  return `It does not fit into ${night}. ${parts > 1 ? `Divide the window into ${parts} parts, one a night.` : 'Run it by day.'}`;
}

const windowOf = ({ from, to }: BackfillPlan[number]): Html => html`${at(from ?? null)} to ${at(to ?? null)}`;

const startForm = (asked: BackfillForm, view: PageContext): HtmlPart =>
  view.mayChange &&
  html`<form method="post" action="/backfill">${csrf(view)}${hidden('pipeline', asked.pipeline)}${hidden('from', asked.from)}${hidden('to', asked.to)}
${asked.streams.map((stream) => hidden('streams', stream))}<button>Start the backfill</button></form>`;
