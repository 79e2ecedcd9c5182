/** What runs tonight, how long it takes, whether it fits, and what was estimated for the nights before beside what came. */

import { setTimeout as sleep } from 'node:timers/promises';
import { describe } from '../../../core/describe-error.ts';
import { count, plural } from '../../../core/format.ts';
import type { StreamSize } from '../../../core/run.ts';
import { seconds } from '../../../core/time.ts';
import type { Estimated } from '../../../planner/estimate.ts';
import { type PastNight, pastNights } from '../../../planner/history.ts';
import { errorRatio, fitText, type NightPlan, planNight } from '../../../planner/night.ts';
import type { NightNeeds } from '../../../scheduler/control.ts';
import * as ui from '../components.ts';
import { type Html, html } from '../html.ts';
import { type DashboardPage, live, type PageContext, type PageRequest } from '../layout.ts';

/** A reader does not wait longer for the sources; the page follows when they have answered. */
const longestWait = seconds(5);

export const usualHours = 8;

/** What the pipelines need tonight; undefined while the sources are being asked. */
export const needsOf = ({ tonight }: PageRequest): Promise<NightNeeds | undefined> =>
  Promise.race([tonight(), sleep(longestWait, undefined, { ref: false })]);

export async function planPage(request: PageRequest): Promise<DashboardPage> {
  const { db, view, query } = request;
  const [needs, past] = await Promise.all([needsOf(request), pastNights(db)]);
  const hours = Number(query.hours) >= 1 ? Number(query.hours) : usualHours;
  return {
    title: 'Plan',
    at: '/plan',
    body: html`<h1>Plan of the night</h1><p class="soft">What runs next, how long it takes, and whether it fits. Nothing is started.</p>
<form class="filters" method="get" action="/plan"><label>Hours of the night
<input type="number" name="hours" min="1" max="500" required value="${hours}"></label><button>Show</button></form>
${live('plan', needs ? planOf(needs, hours, view) : ui.notes([asking]), needs === undefined)}
${live('past', html`<h2>Nights before</h2>${pastTable(past)}`)}`,
  };
}

const asking = 'The sources are being asked for their clocks and counts; the plan follows.';

function planOf({ at, tonight, failed, atOnce }: NightNeeds, hours: number, view: PageContext): Html {
  const plan = planNight(tonight, hours, atOnce);
  const isNew = tonight.every(({ past }) => past === undefined);
  const tone = plan.fits && failed.length === 0 ? 'good' : 'warn';
  return html`<p class="summary">${ui.sign(isNew && plan.fits ? 'none' : tone)}${plan.fits ? fitText(plan) : 'It does not fit into the night.'}</p>
${ui.notes([
  ...plan.findings,
  ...failed.map(({ pipeline, error }) => `${pipeline} cannot be planned: ${describe(error).message}`),
  isNew && 'No night has run yet: only what the sources can count is known.',
  ...plan.uncounted,
])}
<h2>Pipelines</h2>${pipelineTable(plan)}
<p class="soft">The sources were asked ${ui.ago(at, view.now)}. Parts of nightly run ${count(atOnce)} at once.</p>
<h2>Streams</h2>${streamTable(plan)}`;
}

const pipelineTable = ({ pipelines }: NightPlan): Html =>
  ui.table(
    'Pipelines of the night',
    [
      ['Pipeline', (each) => each.pipeline],
      ['Takes', (each) => ui.lasting(each.seconds), 'n'],
      ['Starts', (each) => (each.at === null ? 'by hand only' : ui.at(each.at))],
      ['Requests', (each) => count(each.requests), 'n'],
      ['Limited by', (each) => ui.orDash(each.limit), 'wraps'],
      ['Last estimate', (each) => offText(each.lastErrorRatio), 'n'],
    ],
    pipelines,
    'There is nothing to plan: no source is configured, or none has answered.',
  );

const offText = (ratio: number | null): Html =>
  ui.orDash(ratio !== null && `${Math.round(ratio * 100)} % off`);

/** How much of a stream is read. */
export const sizeColumns: readonly ui.TableColumn<Omit<Estimated<StreamSize>, 'by' | 'mode'>>[] = [
  ['Slices', (each) => count(each.slices), 'n wide'],
  ['Records', (each) => ui.counted(each.records), 'n wide'],
  ['Requests', (each) => ui.counted(each.requests), 'n'],
  ['Takes', (each) => ui.lasting(each.seconds), 'n'],
];

const streamTable = ({ pipelines }: NightPlan): Html =>
  ui.table(
    'Streams of the night',
    [
      ['Stream', (each) => html`<span class="soft wide">${each.pipeline}.</span>${each.stream}`],
      ['Reads', (each) => each.mode.replace('-', ' '), 'wide'],
      ...sizeColumns,
      ['All within', (each) => ui.orDash(each.nights && plural(each.nights, 'night')), 'n'],
      ['Known from', (each) => ui.orDash(each.basis), 'wide'],
    ],
    pipelines.flatMap(({ pipeline, streams }) => streams.map((each) => ({ ...each, pipeline }))),
  );

const pastTable = (past: readonly PastNight[]): Html =>
  ui.table(
    'Requests estimated for the nights before, beside what came',
    [
      ['Day', (each) => each.day],
      ['Requests estimated', (each) => ui.counted(each.estimated), 'n'],
      ['Sent', (each) => ui.counted(each.requests), 'n'],
      ['Off', (each) => offText(errorRatio(each.estimated, each.requests)), 'n'],
    ],
    past,
    'No night has run yet.',
  );
