/** How states and times look on a page: a sign and a word beside every colour. */

import { duration, minute, relative } from '../../core/format.ts';
import { type Html, html, type Part } from './html.ts';

/** Four colours and none: good, needs a look, bad, going on, and nothing to say. */
export type Tone = 'good' | 'warn' | 'bad' | 'going' | 'none';

const tones: Readonly<Record<string, Tone>> = {
  fresh: 'good',
  succeeded: 'good',
  ok: 'good',
  done: 'good',
  stale: 'warn',
  never: 'warn',
  forbidden: 'warn',
  partly_failed: 'warn',
  partial: 'warn',
  needs_attention: 'warn',
  attention: 'warn',
  interrupted: 'warn',
  stopped: 'warn',
  open: 'warn',
  resolved: 'good',
  replayed: 'good',
  stuck: 'bad',
  lost: 'bad',
  failed: 'bad',
  running: 'going',
  reading: 'going',
  queued: 'going',
  stopping: 'going',
  pending: 'going',
  starting: 'going',
  started: 'going',
  unknown: 'warn',
};

const signs: Readonly<Record<Tone, string>> = { good: '●', warn: '▲', bad: '✕', going: '◐', none: '○' };

/** The colour of a state, whichever part of the program names it. */
export const toneOf = (state: string): Tone => tones[state] ?? 'none';

/** `partly_failed` → `partly failed` */
export const spoken = (state: string): string => state.replaceAll('_', ' ');

/** A state as sign and word. */
export const state = (name: string): Html =>
  html`<span class="state ${toneOf(name)}"><span class="sign" aria-hidden="true">${signs[toneOf(name)]}</span>${spoken(name)}</span>`;

/** The sign of a tone alone, for places that say the word elsewhere. */
export const signOf = (tone: Tone): string => signs[tone];

/** `2 h ago`, with the instant behind it; a script keeps it true. */
export const ago = (instant: Date | null, now: Date): Html =>
  instant === null
    ? html`<span class="nil">–</span>`
    : html`<time datetime="${instant.toISOString()}" data-ago title="${minute(instant)} UTC">${relative(instant, now)}</time>`;

/** `2026-11-21 02:00` */
export const at = (instant: Date | null): Html =>
  instant === null
    ? html`<span class="nil">–</span>`
    : html`<time datetime="${instant.toISOString()}">${minute(instant)}</time>`;

export const lasting = (seconds: number | null): Html =>
  seconds === null ? html`<span class="nil">–</span>` : html`${duration(seconds)}`;

/** What the colours of a figure mean. */
export const key = (items: readonly (readonly [color: string, words: Part])[]): Html =>
  html`<p class="key">${items.map(([color, words]) => html`<span class="item"><span class="k ${color}"></span>${words}</span> `)}</p>`;

/** Text that may be missing. */
export const orDash = (text: string | number | null): Html =>
  text === null || text === '' ? html`<span class="nil">–</span>` : html`${text}`;
