/** One pipeline: when it runs next, its streams, and what happened to it. */

import { streamStates } from '../../../queries/freshness.ts';
import { listed } from '../../../queries/lists.ts';
import { inOrder } from '../../../queries/summary-text.ts';
import * as ui from '../components.ts';
import { type HtmlPart, html } from '../html.ts';
import { type DashboardPage, live, type PageContext, type PageRequest } from '../layout.ts';
import { listTable } from './lists.ts';
import { actions } from './run.ts';
import { streamTable } from './streams.ts';

/** Throws `NotFound`. */
export async function pipelinePage({ db, control, view, param }: PageRequest): Promise<DashboardPage> {
  const pipeline = param('pipeline');
  const { dag, run } = await control.status(pipeline);
  const [times, streams, events] = await Promise.all([
    control.times(pipeline, 5),
    streamStates(db),
    listed(db, 'pipeline_events', { pipeline }),
  ]);
  const active = run !== null && ui.isActive(run) && run;
  const own = streams.filter((each) => each.pipeline === pipeline);
  const next = times.map(({ does, cron, timeZone, next }) => [
    `${does} · ${cron} · ${timeZone}`,
    next.map((each) => html`${ui.at(each)}<br>`),
  ]);
  const happened = events.map(({ pipeline: _, ...event }) => event);
  return {
    title: pipeline,
    at: '/',
    body: html`<p>${ui.link('/', 'Overview')} / pipeline</p><h1>${pipeline}</h1><p class="soft">${dag.about}</p>
${live('state', [
  ui.notes([active && html`${ui.activeNote(active, view.now)} ${actions(active, view)}`]),
  dag.configured
    ? buttons(pipeline, active !== false, view)
    : html`<p>It is not configured: no run of it can start here.</p>`,
])}
<h2>Next times</h2>${next.length > 0 ? ui.facts(Object.fromEntries(next)) : html`<p>It has no schedule: it runs when a person starts it.</p>`}
${live('streams', own.length > 0 && html`<h2>Streams</h2>${streamTable(inOrder(own), view)}`)}
${live('events', listTable('What happened', happened, view))}
<p>${ui.link(ui.address('/runs', { pipeline }), 'All runs')} · ${ui.link('/settings', 'Settings, each with where it comes from')}</p>`,
  };
}

function buttons(pipeline: string, isBusy: boolean, view: PageContext): HtmlPart {
  const path = (does: string): string => `/pipelines/${encodeURIComponent(pipeline)}/${does}`;
  return html`<p>${ui.button(view, path('start'), 'Sync', isBusy)} ${ui.button(view, path('reconcile'), 'Reconcile', isBusy)} ${ui.link(ui.address('/backfill', { pipeline }), 'Backfill')}</p>
<p class="soft">A sync reads what changed. A reconcile reads all ids, and marks as deleted what the source no longer has.</p>
${!isBusy && ui.askFirst(view, path('full'), 'Full sync', 'It reads everything again, which may take hours.')}`;
}
