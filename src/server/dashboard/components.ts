/** What pages are made of: states, times, tables, facts, buttons. */

import { clock, count, duration, minute, plural, relative } from '../../core/format.ts';
import type { DagRun } from '../../scheduler/control.ts';
import { type Html, type HtmlPart, html } from './html.ts';
import type { PageContext } from './layout.ts';

/** Four colours and none: good, needs attention, bad, active, and nothing to say. */
export type Tone = 'good' | 'warn' | 'bad' | 'going' | 'none';

/** The states of each tone, whichever part of the program names them. */
const states: Readonly<Record<Tone, string>> = {
  good: 'fresh succeeded ok done resolved replayed sent',
  warn: 'stale never forbidden partly_failed partial needs_attention attention interrupted stopped open unknown refused',
  bad: 'stuck lost failed given_up',
  going: 'running reading queued stopping pending starting started',
  none: '',
};

const signs: Readonly<Record<Tone, string>> = { good: '●', warn: '▲', bad: '✕', going: '◐', none: '○' };

export const toneOf = (state: string): Tone =>
  (Object.keys(states) as readonly Tone[]).find((tone) => states[tone].split(' ').includes(state)) ?? 'none';

/** `partly_failed` → `partly failed` */
export const spoken = (state: string): string => state.replaceAll('_', ' ');

/** The sign of a tone: colour alone must not say anything. */
export const sign = (tone: Tone): Html =>
  html`<span class="sign ${tone}" aria-hidden="true">${signs[tone]}</span>`;

/** A state as sign and word. */
export const state = (name: string): Html =>
  html`<span class="state ${toneOf(name)}">${sign(toneOf(name))}${spoken(name)}</span>`;

const none = html`<span class="soft">–</span>`;

/** An instant with its UTC as title. The script rewrites `minute` and `clock` in the zone of the reader. */
const time = (instant: Date, kind: 'minute' | 'clock' | 'age', text: string): Html =>
  html`<time datetime="${instant.toISOString()}" data-kind="${kind}" title="${minute(instant)} UTC">${text}</time>`;

/** `2 h ago` */
export const ago = (instant: Date | null, now: Date): Html =>
  instant === null ? none : time(instant, 'age', relative(instant, now));

/** `2026-11-21 02:00` */
export const at = (instant: Date | null): Html =>
  instant === null ? none : time(instant, 'minute', minute(instant));

/** `02:00` if it is of today, else `2026-11-20 02:00` */
export const clockAt = (instant: Date, now: Date): Html => time(instant, 'clock', clock(instant, now));

export const lasting = (seconds: number | null | undefined): Html =>
  orDash(typeof seconds === 'number' && duration(seconds));

/** A number that may be missing. */
export const counted = (n: number | null | undefined): Html => orDash(typeof n === 'number' && count(n));

/** Text that may be missing. */
export const orDash = (text: HtmlPart): Html => (isShown(text) ? html`${text}` : none);

/**
 * `kind`: `n` aligns digits; `wide` is left out on narrow screens; `wraps` may break into lines. The first column stays in sight. On narrow
 * screens each row is a card, with its first column as title.
 */
export type TableColumn<R> = readonly [
  name: string,
  cell: (row: R) => HtmlPart,
  kind?: 'n' | 'wide' | 'n wide' | 'wraps' | 'wraps wide' | undefined,
];

/** A table, or a sentence if it would be empty. `caption` is for screen readers. */
export function table<R>(
  caption: string,
  columns: readonly TableColumn<R>[],
  rows: readonly R[],
  empty = 'Nothing yet.',
): Html {
  if (rows.length === 0) return html`<p class="soft">${empty}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<thead><tr>${columns.map(([name, , kind]) => html`<th scope="col" class="${kind}">${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    (row) =>
      html`<tr>${columns.map(([name, cell, kind]) => html`<td class="${kind}" data-label="${name}">${cell(row)}</td>`)}</tr>\n`,
  )}</tbody></table></div>`;
}

/** Names and values, e.g. the head of a page; without a value the pair is left out. */
export const facts = (pairs: Readonly<Record<string, HtmlPart>>): Html =>
  html`<dl class="facts">${Object.entries(pairs).map(
    ([name, value]) => isShown(value) && html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;

const isShown = (part: HtmlPart): boolean => Boolean(part) || part === 0;

/** A list of notes; nothing if there are none. */
export function notes(found: readonly HtmlPart[]): Html {
  const items = found.filter(isShown).map((each) => html`<li>${each}</li>`);
  return items.length === 0 ? html`` : html`<ul class="notes">${items}</ul>`;
}

/**
 * A button that posts to `path` with the form of the frame; nothing for sessions that may not change
 * anything.
 */
export const button = (view: PageContext, path: string, word: string, isDisabled = false): HtmlPart =>
  view.mayChange &&
  html`<button form="action" formaction="${path}"${isDisabled && html` disabled`}>${word}</button>`;

/** A button for what interrupts work: it asks first, also without a script. */
export const askFirst = (view: PageContext, path: string, word: string, question: string): HtmlPart =>
  view.mayChange &&
  html`<details class="ask bad"><summary>${word}…</summary><p>${question}</p><button form="action" formaction="${path}">${word}</button></details>`;

/** An address with those of the parameters that have a value. */
export function address(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, value);
  return given.size === 0 ? path : `${path}?${given}`;
}

export const link = (to: string, text: HtmlPart): Html => html`<a href="${to}">${text}</a>`;

export const pipelineLink = (name: string): Html => link(`/pipelines/${encodeURIComponent(name)}`, name);

export const runLink = (runId: string): Html => link(`/runs/${runId}`, runId);

/** How many rejects a stream has, with the way to them. `query`: further parameters of that page. */
export const rejectsLink = (found: number, query: Readonly<Record<string, string>>): HtmlPart =>
  found === 0 ? '0' : link(address('/rejects', query), count(found));

export const requestPath = ({ pipeline, runId }: Pick<DagRun, 'pipeline' | 'runId'>): string =>
  `/requests/${encodeURIComponent(pipeline)}/${encodeURIComponent(runId)}`;

/** Waits, runs, or will be taken up again by itself, as a lost request is. A run of a terminal whose process died is not. */
export const isActive = ({ finishedAt, trigger, status }: DagRun): boolean =>
  finishedAt === null && !(trigger === 'manual' && status === 'lost');

/** A request that is active, in one line. */
export const activeNote = (run: DagRun, now: Date): Html =>
  html`${state(run.stopping ? 'stopping' : run.status)} <a href="${requestPath(run)}">${run.pipeline} ${run.does}</a>,
requested ${ago(run.queuedAt, now)}${run.received > 0 && html`, ${plural(run.received, 'record')} so far`}`;
