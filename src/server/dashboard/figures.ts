/** Figures as plain SVG, made here: bars of runs, a strip of days, slices. */

import { count, minute, plural } from '../../core/format.ts';
import type { DayStatus } from '../../queries/daily-status.ts';
import type { Counters } from '../../queries/db.ts';
import type { BadSlice } from '../../queries/run-history.ts';
import type { Progress } from '../../queries/timeline.ts';
import { sign, spoken, type Tone, toneOf } from './components.ts';
import { type Html, type HtmlPart, html } from './html.ts';

export interface Series {
  readonly name: string;
  readonly tone: Tone;
  /** One for each bar. */
  readonly values: readonly number[];
}

/** The rows that each changed, by what became of them. */
export const changeSeries = (of: readonly { readonly counts: Counters }[]): readonly Series[] => [
  { name: 'inserted', tone: 'good', values: of.map(({ counts }) => counts.inserted) },
  { name: 'updated', tone: 'going', values: of.map(({ counts }) => counts.updated) },
  { name: 'deleted', tone: 'warn', values: of.map(({ counts }) => counts.deleted) },
  { name: 'rejected', tone: 'bad', values: of.map(({ counts }) => counts.rejected) },
];

const height = 110;

/**
 * Stacked bars, oldest first. `names`: what each bar is called; its numbers are in its title, and in the
 * table of the page.
 */
export function bars(
  title: string,
  names: readonly string[],
  series: readonly Series[],
  text: (value: number) => string = count,
): Html {
  const sums = names.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  const top = Math.max(...sums);
  if (!(top > 0)) return html``;
  const width = 100 / Math.max(names.length, 10);
  return html`<figure><figcaption>${title} <span class="soft">highest ${text(top)}</span>${
    series.length > 1 && key(series.map(({ tone, name }) => [tone, name]))
  }</figcaption>
<svg role="img" aria-label="${title}: ${plural(names.length, 'bar')}, highest ${text(top)}" width="100%" height="${height}">${names.map(
    (name, at) => {
      const said = series.map(({ name: of, values }) => `${of} ${text(values[at] ?? 0)}`).join(', ');
      let y = height;
      return html`<g><title>${name}: ${said}</title>${series.map(({ tone, values }) => {
        const size = (height * (values[at] ?? 0)) / top;
        y -= size;
        return (
          size > 0 &&
          html`<rect class="${tone}" ${span(at * width, width * 0.8)} y="${y.toFixed(1)}" height="${size.toFixed(1)}"/>`
        );
      })}</g>`;
    },
  )}</svg></figure>`;
}

/** What the colours of a figure mean. */
export const key = (items: readonly (readonly [tone: Tone, words: HtmlPart])[]): Html =>
  html`<p class="key soft">${items.map(([tone, words]) => html`<span>${sign(tone)}${words}</span> `)}</p>`;

/** Place and width in per cent. */
export const span = (from: number, width: number): Html =>
  html`x="${from.toFixed(2)}%" width="${Math.max(0.2, width).toFixed(2)}%"`;

const daysShown = 30;
const dayMs = 86_400_000;

/** The first instant of a strip. */
export const firstShown = (now: Date): Date =>
  new Date(Math.floor(now.getTime() / dayMs - daysShown + 1) * dayMs);

/** Height says the same as colour: a good day is full, a bad one low, one without a run is a line. */
const heights: Readonly<Record<Tone, number>> = { good: 20, going: 14, warn: 14, bad: 8, none: 2 };

/** Thirty days (UTC) as thirty small bars. `of`: the pipeline or stream. */
export function strip(of: string, found: readonly DayStatus[], now: Date): Html {
  const byDay = new Map(found.map((each) => [each.day, each]));
  const width = 100 / daysShown;
  const bad = found.filter(({ status }) => ['bad', 'warn'].includes(toneOf(status))).length;
  const label = `${of}, ${daysShown} days: ran on ${found.length}, ${bad === 0 ? 'all good' : `${bad} ended badly`}`;
  return html`<svg class="strip" role="img" height="22" aria-label="${label}">${Array.from(
    { length: daysShown },
    (_, at) => {
      const day = new Date(firstShown(now).getTime() + at * dayMs).toISOString().slice(0, 10);
      const own = byDay.get(day);
      const tone = own === undefined ? 'none' : toneOf(own.status);
      const said =
        own === undefined ? 'no run' : `${spoken(own.status)}, ${plural(own.changed, 'row')} changed`;
      return html`<g><title>${day}: ${said}</title><rect class="${tone}"
${span(at * width, width * 0.7)} y="${22 - heights[tone]}" height="${heights[tone]}"/></g>`;
    },
  )}</svg>`;
}

/** How to read a strip, once a page. */
export const stripKey = (): Html =>
  key([
    ['good', 'succeeded'],
    ['warn', 'partly failed, stopped or needs attention'],
    ['bad', 'failed'],
    ['none', 'no run'],
  ]);

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
