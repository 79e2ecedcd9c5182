/** One glance: how last night went, what is broken and what helps, what runs, and one row for each pipeline. */

import { count, duration, plural } from '../../../core/format.ts';
import { hours } from '../../../core/time.ts';
import { dailyStatus } from '../../../queries/daily-status.ts';
import { type PipelineState, pipelineStates } from '../../../queries/pipeline-states.ts';
import { schemaChanges } from '../../../queries/stream-history.ts';
import type { Dag } from '../../../scheduler/control.ts';
import * as ui from '../components.ts';
import { toneOfNight, trend, worstFirst } from '../figures.ts';
import { type Html, type HtmlPart, html } from '../html.ts';
import { type DashboardPage, live, type PageContext, type PageRequest } from '../layout.ts';
import { byNight, firstNight, type Judged, judge, nightsShown, sumOf, verdict } from './night.ts';

export async function overview(request: PageRequest): Promise<DashboardPage> {
  const seen = await see(request);
  const { state } = request.query;
  return {
    title: 'Overview',
    at: '/',
    body: html`${live('state', lead(seen))}
${live('night', seen.nights.some((night) => night.length > 0) && [facts(seen), strip(seen)])}
${live('attention', attention(seen))}
${live('active', active(seen))}
${live('pipelines', html`<h2>Pipelines</h2>${chips(seen, state)}${pipelineTable(seen, state)}`)}`,
  };
}

type Seen = Awaited<ReturnType<typeof see>>;

/** What the page is about. `start`: when the last night began; `shape`: changes of the schema since. */
async function see({ db, control, view }: PageRequest) {
  const [dags, states] = await Promise.all([control.list(), pipelineStates(db)]);
  const first = firstNight(states, view.now);
  const start = new Date(first.getTime() + nightsShown * hours(24));
  const [days, changes] = await Promise.all([dailyStatus(db, first), schemaChanges(db, 50)]);
  const daysOf = Map.groupBy(days, ({ pipeline }) => pipeline);
  const stateOf = new Map(states.map((state) => [state.pipeline, state]));
  const all = dags
    .filter(({ name, configured }) => configured && name !== 'nightly')
    .map((dag) => {
      const nights = byNight(first, daysOf.get(dag.name) ?? []);
      return judge({ dag, state: stateOf.get(dag.name), nights }, view.now);
    });
  const nightly = dags.find(({ name, configured }) => configured && name === 'nightly');
  const shape = changes.filter(({ detectedAt }) => detectedAt >= start).length;
  return { all, dags, nightly, start, nights: byNight(first, days), shape, view };
}

const rowsOf = sumOf('rows');

function lead({ all, nightly, start, nights, view }: Seen): Html {
  const { tone, lead, rest } = verdict(all, start, rowsOf(nights.at(-1) ?? []), view.now);
  const first = nightly ?? all[0]?.dag;
  return html`<h1 class="summary">${ui.sign(tone)}<span>${lead}${rest.map((each) => each && html` <small>${each}</small>`)}</span></h1>
${tone === 'none' && (first ? runButton(first, view, 'Run the first sync') : html`<p><code>tidemark init</code> makes the first one.</p>`)}`;
}

const runButton = ({ name, last }: Dag, view: PageContext, word = 'Run now'): HtmlPart => {
  const isBusy = last !== null && ui.isActive(last);
  return ui.button(view, `/pipelines/${encodeURIComponent(name)}/start`, isBusy ? 'Running' : word, isBusy);
};

/** Complete nights from which something is usual. */
const fewest = 3;

/** The numbers of the last night beside the usual ones, which are of complete nights. */
function facts({ nights, nightly, shape, view }: Seen): Html {
  const night = nights.at(-1) ?? [];
  const usual = nights.slice(0, -1).filter((each) => toneOfNight(each) === 'good');
  const [least = 0, ...others] = usual.map(rowsOf).sort((a, b) => a - b);
  const most = others.at(-1) ?? least;
  const isKnown = usual.length >= fewest;
  const rows = rowsOf(night);
  const isOdd = isKnown && toneOfNight(night) !== 'going' && (rows < least || rows > most);
  const changed = (['inserted', 'updated', 'deleted'] as const).map((of) => count(sumOf(of)(night)));
  return ui.facts({
    'Rows changed': html`${isOdd && ui.sign('warn')}<b>${count(rows)}</b>${
      isKnown && html` <span class="soft">usually ${count(least)} to ${count(most)}</span>`
    }`,
    'New, changed, deleted': changed.join(', '),
    'Schema changes': ui.link('/streams', count(shape)),
    'Next night': html`${nightly?.nextAt && html`${ui.ago(nightly.nextAt, view.now)}, `}<a href="/plan">does it fit?</a>`,
    Nightly: nightly && runButton(nightly, view, 'Run the night now'),
  });
}

const dayName = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', timeZone: 'UTC' });

/** Past nights, the last one, and what is planned next. A night is called by the day on which it ends, whenever it began. */
function strip({ nights, start, dags, view }: Seen): Html {
  const past = nights.map((night, at) => {
    const name = dayName.format(start.getTime() + hours(22) + (at - nightsShown) * hours(24));
    const well = night.filter(({ status }) => status === 'succeeded').length;
    const said =
      night.length > 0 && html`<b>${count(rowsOf(night))}</b><small>${well} of ${night.length}</small>`;
    return html`<li>${ui.sign(toneOfNight(night))}${name}${said || html`<small>no run</small>`}</li>`;
  });
  const times = Map.groupBy(dags, ({ nextAt }) => nextAt?.getTime() ?? Infinity);
  times.delete(Infinity);
  const planned = [...times]
    .sort(([a], [b]) => a - b)
    .map(([at, due]) => {
      const names = due.map(({ name }) => name);
      const what = names.includes('nightly') ? 'the night' : names.join(', ');
      return html`<li class="soft">planned<b>${ui.ago(new Date(at), view.now)}</b><small>${what}</small></li>`;
    });
  return html`<ol class="nights">${past}${planned.slice(0, 3)}</ol>`;
}

/** Problems that are listed; the others are in the rows of their pipelines. */
const listed = 8;

function attention({ all, view }: Seen): HtmlPart {
  const found = all
    .flatMap(({ dag, problems }) => problems.map((problem) => ({ dag, problem })))
    .sort((a, b) => worstFirst.indexOf(a.problem[0]) - worstFirst.indexOf(b.problem[0]));
  const items = found
    .slice(0, listed)
    .map(
      ({ dag, problem: [tone, what, step, again] }) =>
        html`${ui.sign(tone)}${what} <span class="soft">${step}</span> ${again && runButton(dag, view)}`,
    );
  const more = found.length - items.length;
  return (
    found.length > 0 &&
    html`<h2>What is broken</h2>${ui.notes([...items, more > 0 && `${plural(more, 'more problem')} in the table below.`])}`
  );
}

/** What runs, each with what is left by its usual time. A night stands for its parts that wait. */
function active({ dags, all, view }: Seen): HtmlPart {
  const going = dags.flatMap(({ last }) =>
    last && ui.isActive(last) && (last.partOf === null || last.status !== 'queued') ? [last] : [],
  );
  const said = going.map((run) => {
    const usual = all.find(({ dag }) => dag.name === run.pipeline)?.state?.usualSeconds ?? 0;
    const left = usual - (view.now.getTime() - (run.startedAt ?? view.now).getTime()) / 1000;
    return html`${ui.activeNote(run, view.now)}${left > 0 && `, about ${duration(left)} left`}`;
  });
  return going.length > 0 && html`<h2>Running now</h2>${ui.notes(said)}`;
}

/** The states to filter by, with their names. */
const groups: Readonly<Record<ui.Tone, string>> = {
  good: 'all right',
  going: 'running',
  warn: 'to look at',
  bad: 'failed',
  none: 'never ran',
};

/** How many pipelines are in each state, as links that filter the table. */
function chips({ all }: Seen, chosen: string | undefined): Html {
  const chip = (state: string | undefined, text: HtmlPart): Html =>
    html`<li><a href="${ui.address('/', { state })}"${state === chosen && html` aria-current="true"`}>${text}</a></li>`;
  const found = worstFirst.map((tone) => {
    const number = all.filter((each) => each.tone === tone).length;
    return number > 0 && chip(tone, html`${ui.sign(tone)}${count(number)} ${groups[tone]}`);
  });
  return html`<nav aria-label="State"><ul class="chips">${chip(undefined, `all ${count(all.length)}`)}${found}</ul></nav>`;
}

/** Whether the source limited the last run, or wants no request now. */
function rateOf({ pausedUntil, requests, throttled }: PipelineState, now: Date): HtmlPart {
  if (pausedUntil !== null) return html`${ui.sign('warn')}paused until ${ui.clockAt(pausedUntil, now)}`;
  if (!requests) return undefined;
  return throttled ? `${count(throttled)} of ${plural(requests, 'request')} throttled` : 'not limited';
}

const stateOf = ({ tone, dag: { last } }: Judged): HtmlPart =>
  tone === 'going' && last ? ui.link(ui.requestPath(last), ui.spoken(last.status)) : groups[tone];

const pipelineTable = ({ all, view: { now }, view }: Seen, chosen: string | undefined): Html =>
  ui.table<Judged>(
    'Pipelines',
    [
      ['Pipeline', ({ dag: { name }, tone }) => html`${ui.sign(tone)}${ui.pipelineLink(name)}`],
      ['State', stateOf],
      [
        'Last run',
        ({ state }) => state?.runId && ui.link(`/runs/${state.runId}`, ui.ago(state.startedAt, now)),
      ],
      ['Rows a night', ({ nights }) => trend('Rows', nights, rowsOf, count), 'n'],
      ['Time a night', ({ nights }) => trend('Time', nights, sumOf('seconds'), duration), 'n'],
      ['As of', ({ state }) => ui.ago(state?.freshAt ?? null, now)],
      ['Rejects', ({ dag, state }) => ui.rejectsLink(state?.openRejects ?? 0, { pipeline: dag.name }), 'n'],
      ['Source answered', ({ state }) => ui.ago(state?.answeredAt ?? null, now), 'wide'],
      ['Rate', ({ state }) => ui.orDash(state && rateOf(state, now)), 'wide'],
      ['Token ends', ({ state }) => ui.orDash(state?.tokenEndsAt?.toISOString().slice(0, 10)), 'wide'],
      ['Next', ({ dag }) => ui.ago(dag.nextAt, now)],
      ['Start', ({ dag }) => runButton(dag, view)],
    ],
    all.filter(({ tone }) => chosen === undefined || tone === chosen),
    'No pipeline is in this state.',
  );
