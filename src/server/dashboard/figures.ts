/** Figures: charts over time, the trend of a pipeline as small bars, slices. */

import { count, minute, plural } from '../../core/format.ts';
import type { DayStatus } from '../../queries/daily-status.ts';
import type { Counters } from '../../queries/db.ts';
import type { BadSlice } from '../../queries/run-history.ts';
import type { Progress } from '../../queries/timeline.ts';
import { sign, type Tone, toneOf } from './components.ts';
import { type Html, type HtmlPart, html } from './html.ts';

export interface Series {
  readonly name: string;
  readonly tone: Tone;
  /** One for each instant. */
  readonly values: readonly number[];
}

/** The rows that each changed, by what became of them. */
export const changeSeries = (of: readonly { readonly counts: Counters }[]): readonly Series[] => [
  { name: 'inserted', tone: 'good', values: of.map(({ counts }) => counts.inserted) },
  { name: 'updated', tone: 'going', values: of.map(({ counts }) => counts.updated) },
  { name: 'deleted', tone: 'warn', values: of.map(({ counts }) => counts.deleted) },
  { name: 'rejected', tone: 'bad', values: of.map(({ counts }) => counts.rejected) },
];

/**
 * A chart over time, oldest first, drawn by the script; without it the table of the page has the same numbers. `unit`:
 * written after each number.
 */
export const chart = (title: string, at: readonly Date[], series: readonly Series[], unit = ''): HtmlPart =>
  at.length > 1 &&
  html`<figure data-chart="${JSON.stringify({ at: at.map((each) => each.getTime() / 1000), series, unit })}">
<figcaption>${title}</figcaption><div class="plot soft"><p>The table has the numbers.</p></div></figure>`;

/** What the colours of a figure mean. */
export const key = (items: readonly (readonly [tone: Tone, words: HtmlPart])[]): Html =>
  html`<p class="key soft">${items.map(([tone, words]) => html`<span>${sign(tone)}${words}</span> `)}</p>`;

/** Place and width in per cent. */
export const span = (from: number, width: number): Html =>
  html`x="${from.toFixed(2)}%" width="${Math.max(0.2, width).toFixed(2)}%"`;

/** What ran in one night. */
export type NightRuns = readonly DayStatus[];

/** Tones from the worst to the best. */
export const worstFirst: readonly Tone[] = ['bad', 'warn', 'going', 'good', 'none'];

/** The worst that happened. */
export function toneOfNight(night: NightRuns): Tone {
  const tones = night.map(({ status }) => toneOf(status));
  return worstFirst.find((tone) => tones.includes(tone)) ?? 'none';
}

/** A number of each night as bars without axes, and the newest as text. The colour says how the night ended. */
export function trend(
  title: string,
  nights: readonly NightRuns[],
  of: (night: NightRuns) => number,
  text: (value: number) => string = count,
): Html {
  const values = nights.map(of);
  const top = Math.max(1, ...values);
  const label = `${title} of ${plural(nights.length, 'night')}, highest ${text(Math.max(...values))}`;
  const bar = (at: number): string => {
    const size = Math.max(1, Math.round((20 * (values[at] ?? 0)) / top));
    return `M${at * 6} 20v-${size}h5v${size}z`;
  };
  const tones = Map.groupBy(nights.keys(), (at) => toneOfNight(nights[at] ?? []));
  const bars = [...tones].map(([tone, at]) => html`<path class="${tone}" d="${at.map(bar).join('')}"/>`);
  const newest = nights.at(-1)?.length ? text(values.at(-1) ?? 0) : '–';
  return html`<span class="trend">${newest} <svg role="img" aria-label="${label}" width="90" viewBox="0 0 ${nights.length * 6} 20"><title>${label}</title>${bars}</svg></span>`;
}

/** `board_id 7, 2024-01-01 to 2024-02-01` */
export function sliceName({ partition, from, to }: Pick<BadSlice, 'partition' | 'from' | 'to'>): string {
  const owner = Object.entries(partition ?? {}).map(([name, value]) => `${name} ${String(value)}`);
  const side = (instant: Date | null): string =>
    instant === null ? 'now' : minute(instant).replace(' 00:00', '');
  const window = from === null && to === null ? [] : [`${side(from)} to ${side(to)}`];
  return [...owner, ...window].join(', ') || 'everything';
}

/** How far each stream is; unfinished ones come first. */
export const slices = (found: readonly Progress[]): Html =>
  html`${[...found]
    .sort((a, b) => a.done / a.total - b.done / b.total)
    .map(
      ({ stream, total, done, reading }) =>
        html`<p><b>${stream}</b> ${count(done)} of ${plural(total, 'slice')} done${reading > 0 && `, ${count(reading)} reading`}
<progress max="${total}" value="${done}"></progress></p>`,
    )}`;
