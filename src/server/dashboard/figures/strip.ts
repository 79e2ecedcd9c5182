/** Thirty nights as thirty small bars: what became of each. */

import { plural } from '../../../core/format.ts';
import type { Night } from '../../../queries/daily-status.ts';
import { key, spoken, type Tone, toneOf } from '../format.ts';
import { type Html, html } from '../html.ts';

/** So many nights are shown. */
export const nightsShown = 30;

/** The days (UTC) that a strip shows, oldest first. */
export const daysShown = (now: Date, shown = nightsShown): readonly string[] =>
  Array.from({ length: shown }, (_, back) =>
    new Date(now.getTime() - (shown - 1 - back) * 86_400_000).toISOString().slice(0, 10),
  );

/** The first instant that a strip shows. */
export const firstShown = (now: Date): Date => new Date(`${daysShown(now)[0]}T00:00:00Z`);

/** Height says what colour says: a good night is full, a bad one low and crossed, none is a line. */
const heights: Readonly<Record<Tone, number>> = { good: 20, going: 14, warn: 14, bad: 10, none: 2 };

/** The strip of one pipeline or stream. `of`: whose it is. */
export function strip(of: string, found: readonly Night[], now: Date): Html {
  const byDay = new Map(found.map((night) => [night.day, night]));
  const days = daysShown(now);
  const width = 100 / days.length;
  const bad = found.filter(
    (night) => toneOf(night.status) === 'bad' || toneOf(night.status) === 'warn',
  ).length;
  return html`<svg class="strip" role="img" height="24" aria-label="${of}, ${plural(days.length, 'day')}: ran on ${found.length}, ${
    bad === 0 ? 'all good' : `${bad} ended badly`
  }">${days.map((day, place) => {
    const night = byDay.get(day);
    const tone = night === undefined ? 'none' : toneOf(night.status);
    const height = heights[tone];
    const x = `${(place * width).toFixed(3)}%`;
    return html`<g class="night ${tone}"><title>${title(day, night)}</title><rect class="room" x="${x}" y="0" width="${width.toFixed(3)}%" height="24"/><rect class="mark" x="${(place * width + width * 0.14).toFixed(3)}%" y="${22 - height}" width="${(width * 0.72).toFixed(3)}%" height="${height}" rx="1.5"/></g>`;
  })}</svg>`;
}

const title = (day: string, night: Night | undefined): string =>
  night === undefined
    ? `${day}: no run`
    : `${day}: ${spoken(night.status)}, ${plural(night.changed, 'row')} changed${
        night.runs > 1 ? `, ${plural(night.runs, 'run')}` : ''
      }${night.failures > 0 ? `, ${plural(night.failures, 'failure')}` : ''}`;

/** How to read a strip, once a page. */
export const stripKey = (): Html =>
  key([
    ['good', 'succeeded'],
    ['warn', 'partly, stopped or needs a look'],
    ['bad', 'failed'],
    ['none', 'no run'],
  ]);
