/** Plots: drawn here as plain SVG, redrawn by a script where there is one, and as a table for everybody. */

import { count, duration, minute } from '../../../core/format.ts';
import { key, type Tone } from '../format.ts';
import { data, type Html, html } from '../html.ts';
import { table } from './table.ts';

export interface Series {
  readonly name: string;
  readonly color: Tone | 'accent' | 'soft';
  /** One for each point; null: not known. */
  readonly values: readonly (number | null)[];
}

export interface Plot {
  readonly id: string;
  readonly title: string;
  /** What it is about, in a few words. */
  readonly about?: string;
  readonly unit: 'rows' | 'seconds' | 'requests';
  /** `bars`: stacked, one place for each point. `line`: by time. */
  readonly kind: 'bars' | 'line';
  readonly at: readonly Date[];
  /** What each point is called in the table, e.g. a link to its run. */
  readonly names: readonly Html[];
  readonly series: readonly Series[];
  /** Levels drawn across, e.g. the median. */
  readonly levels?: readonly { readonly name: string; readonly value: number }[];
}

const height = 132;

/** A figure with its table. */
export function plot(given: Plot): Html {
  const { at, series } = given;
  if (at.length === 0)
    return html`<figure class="plot" id="${given.id}"><figcaption>${given.title}</figcaption><p class="empty">Nothing to draw yet.</p></figure>`;
  const top = scaleOf(given);
  const levels = given.levels ?? [];
  return html`<figure class="plot" id="${given.id}" data-plot="${data({
    unit: given.unit,
    kind: given.kind,
    at: at.map((instant) => Math.floor(instant.getTime() / 1000)),
    series: series.map(({ name, color, values }) => ({ name, color, values })),
    levels,
  })}">
<figcaption>${given.title}${given.about !== undefined && html` <span class="about">${given.about}</span>`}</figcaption>
${key([
  ...series.map(({ name, color }) => [color, name] as const),
  ...levels.map(({ name, value }) => ['level', html`${name} ${text(given, value)}`] as const),
])}
<div class="canvas"><span class="top">${text(given, top)}</span><svg role="img" aria-label="${given.title}; the numbers are in the table below" width="100%" height="${height}" preserveAspectRatio="none" ${given.kind === 'line' && html`viewBox="0 0 1000 ${height}"`}>${
    given.kind === 'bars' ? bars(given, top) : line(given, top)
  }${levels.map(({ value }) => html`<line class="level" x1="0" x2="${given.kind === 'line' ? '1000' : '100%'}" y1="${y(value, top)}" y2="${y(value, top)}"/>`)}</svg></div>
<p class="ends"><span>${minute(at[0] ?? new Date(0))}</span><span>${minute(at.at(-1) ?? new Date(0))}</span></p>
<details><summary>As a table</summary>${table(
    given.title,
    [
      { name: 'Run', cell: (place: number) => given.names[place] ?? '' },
      { name: 'At', cell: (place: number) => minute(at[place] ?? new Date(0)) },
      ...series.map(({ name, values }) => ({
        name,
        number: true,
        cell: (place: number) => {
          const value = values[place];
          return value === null || value === undefined ? '–' : text(given, value);
        },
      })),
    ],
    at.map((_, place) => place).reverse(),
  )}</details>
</figure>`;
}

const y = (value: number, top: number): string => (height - (height * value) / top).toFixed(1);

function bars({ at, series }: Plot, top: number): readonly Html[] {
  const room = 100 / Math.max(at.length, 10);
  return at.map((_, place) => {
    let below = 0;
    const x = `${(place * room + room * 0.15).toFixed(3)}%`;
    return html`${series.map(({ color, values }) => {
      const value = values[place] ?? 0;
      const from = below;
      below += value;
      if (value === 0) return undefined;
      const size = Math.max(1, (height * value) / top);
      return html`<rect class="fill ${color}" x="${x}" width="${(room * 0.7).toFixed(3)}%" y="${(height - (height * from) / top - size).toFixed(1)}" height="${size.toFixed(1)}"/>`;
    })}`;
  });
}

function line({ at, series }: Plot, top: number): readonly Html[] {
  const first = at[0]?.getTime() ?? 0;
  const span = Math.max(1, (at.at(-1)?.getTime() ?? 0) - first);
  return series.map(({ color, values }) => {
    const points = at.flatMap((instant, place) => {
      const value = values[place];
      return value === null || value === undefined
        ? []
        : [`${((1000 * (instant.getTime() - first)) / span).toFixed(1)},${y(value, top)}`];
    });
    // A single point would be invisible as a line.
    const drawn = points.length === 1 ? [points[0], points[0]?.replace(/^[^,]*/, '1000')] : points;
    return html`<polyline class="line ${color}" vector-effect="non-scaling-stroke" points="${drawn.join(' ')}"/>`;
  });
}

/** The scale ends a little above the highest point, on a number that is easy to read. */
function scaleOf({ kind, series, levels = [], at }: Plot): number {
  const sums = at.map((_, place) =>
    kind === 'bars'
      ? series.reduce((sum, { values }) => sum + (values[place] ?? 0), 0)
      : Math.max(0, ...series.map(({ values }) => values[place] ?? 0)),
  );
  const most = Math.max(...sums, ...levels.map(({ value }) => value));
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((each) => each * power >= most) ?? 10;
  return step * power;
}

const text = ({ unit }: Plot, value: number): string => (unit === 'seconds' ? duration(value) : count(value));
