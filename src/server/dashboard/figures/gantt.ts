/** What a run did when: a row for each stream, a bar for each slice, hatched where the source limited the rate. */

import { count, duration, minute, plural } from '../../../core/format.ts';
import type { Quiet, SliceLine, StreamSpan, Timeline } from '../../../queries/timeline.ts';
import { key, spoken, state, toneOf } from '../format.ts';
import { type Html, html } from '../html.ts';
import { sliceName } from './slices.ts';
import { table } from './table.ts';

/** Slices that were read at the same time lie in lanes below each other; at most so many lanes a stream. */
const mostLanes = 8;
const lane = 5;

interface Scale {
  readonly from: number;
  readonly to: number;
}

/** `end`: when the run ended, or now. */
export function gantt(found: Timeline, run: { readonly startedAt: Date; readonly end: Date }): Html {
  if (found.streams.length === 0) return html`<p class="empty">No stream has begun yet.</p>`;
  const scale: Scale = {
    from: run.startedAt.getTime(),
    to: Math.max(
      run.end.getTime(),
      run.startedAt.getTime() + 1000,
      ...found.streams.map((each) => endOf(each, run.end)),
    ),
  };
  const seconds = (scale.to - scale.from) / 1000;
  return html`<div class="gantt">
<svg class="defs" width="0" height="0" aria-hidden="true"><defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch-back" width="6" height="6"/><line class="hatch-line" x1="0" y1="0" x2="0" y2="6"/></pattern></defs></svg>
<div class="ruler" aria-hidden="true"><span></span><ol>${[0, 0.25, 0.5, 0.75, 1].map(
    (share) =>
      html`<li>${share === 0 ? minute(run.startedAt).slice(11) : `+${duration(seconds * share)}`}</li>`,
  )}</ol><span></span></div>
${found.streams.map((stream) => row(stream, found, scale, run.end))}
</div>
${key([
  ['going', 'being read'],
  ['good', 'done'],
  ['warn', 'does not match or was stopped'],
  ['bad', 'failed'],
  [
    'hatch',
    html`rate-limited by the source${found.quiet.length > 0 && html` (${duration(lengthOf(found.quiet))} in all)`}`,
  ],
])}${found.sliceCount > found.slices.length && html`<p class="soft">The first ${count(found.slices.length)} of ${count(found.sliceCount)} slices are drawn.</p>`}
<details><summary>As a table</summary>${table(
    'When each stream was read',
    [
      { name: 'Stream', cell: (each: StreamSpan) => each.stream },
      { name: 'State', cell: (each) => state(each.status) },
      { name: 'Began', cell: (each) => each.startedAt.toISOString().slice(11, 23), number: true },
      { name: 'Ended', cell: (each) => each.finishedAt?.toISOString().slice(11, 23) ?? '–', number: true },
      {
        name: 'Took',
        cell: (each) => duration((endOf(each, run.end) - each.startedAt.getTime()) / 1000),
        number: true,
      },
    ],
    found.streams,
  )}${
    found.quiet.length > 0 &&
    table(
      'When rate-limited by the source',
      [
        { name: 'Quiet from', cell: (each: Quiet) => each.from.toISOString().slice(11, 23) },
        { name: 'to', cell: (each) => each.to.toISOString().slice(11, 23) },
        {
          name: 'for',
          cell: (each) => duration((each.to.getTime() - each.from.getTime()) / 1000),
          number: true,
        },
      ],
      found.quiet,
    )
  }</details>`;
}

function row(stream: StreamSpan, found: Timeline, scale: Scale, end: Date): Html {
  const slices = found.slices.filter((slice) => slice.stream === stream.stream && slice.startedAt !== null);
  const lanes = lanesOf(slices, end);
  const height = 8 + lanes.length * lane;
  const took = (endOf(stream, end) - stream.startedAt.getTime()) / 1000;
  const bars = lanes.flatMap((inLane, place) =>
    inLane.map(
      (slice) =>
        html`<rect class="slice ${toneOf(slice.status)}" ${span(slice.startedAt, slice.finishedAt ?? end, scale)} y="${7 + place * lane}" height="${lane - 1}"><title>${sliceName(slice)}: ${spoken(slice.status)}${slice.fetched !== null && `, ${plural(slice.fetched, 'record')}`}</title></rect>`,
    ),
  );
  // Hatched where the stream was going on; elsewhere the quiet is a shade in the background.
  const quiet = found.quiet.map((each) => {
    const from = Math.max(each.from.getTime(), stream.startedAt.getTime());
    const to = Math.min(each.to.getTime(), endOf(stream, end));
    const words = html`<title>Rate-limited by the source for ${duration((each.to.getTime() - each.from.getTime()) / 1000)}</title>`;
    return {
      back: html`<rect class="quiet" ${span(each.from, each.to, scale)} y="0" height="${height}">${words}</rect>`,
      front:
        to > from &&
        html`<rect class="hatched" ${span(new Date(from), new Date(to), scale)} y="0" height="${height}">${words}</rect>`,
    };
  });
  const label = `${stream.stream}: ${spoken(stream.status)}, ${plural(slices.length, 'slice')}, ${duration(took)}`;
  return html`<div class="row"><span class="name">${stream.stream}</span><svg height="${height}" role="img" aria-label="${label}">${quiet.map(
    ({ back }) => back,
  )}<rect class="whole ${toneOf(stream.status)}" ${span(stream.startedAt, stream.finishedAt ?? end, scale)} y="2" height="3" rx="1.5"/>${bars}${quiet.map(
    ({ front }) => front,
  )}</svg><span class="took">${duration(took)}</span></div>
`;
}

/** Each slice in the first lane that is free when it begins. */
function lanesOf(slices: readonly SliceLine[], end: Date): readonly (readonly SliceLine[])[] {
  const lanes: { until: number; readonly slices: SliceLine[] }[] = [];
  for (const slice of slices) {
    const from = slice.startedAt?.getTime() ?? 0;
    const free =
      lanes.find((each) => each.until <= from) ?? (lanes.length < mostLanes ? undefined : lanes.at(-1));
    const taken = free ?? { until: 0, slices: [] };
    if (free === undefined) lanes.push(taken);
    taken.until = Math.max(taken.until, (slice.finishedAt ?? end).getTime());
    taken.slices.push(slice);
  }
  return lanes.map((each) => each.slices);
}

/** Place and width in per cent: never narrower than a hair. */
function span(from: Date | null, to: Date, scale: Scale): Html {
  const whole = scale.to - scale.from;
  const start = Math.min(1, Math.max(0, ((from?.getTime() ?? scale.from) - scale.from) / whole));
  const width = Math.min(1 - start, Math.max(0.002, (to.getTime() - scale.from) / whole - start));
  return html`x="${(start * 100).toFixed(3)}%" width="${(width * 100).toFixed(3)}%"`;
}

const endOf = (stream: StreamSpan, end: Date): number => (stream.finishedAt ?? end).getTime();

const lengthOf = (quiet: readonly Quiet[]): number =>
  quiet.reduce((sum, each) => sum + each.to.getTime() - each.from.getTime(), 0) / 1000;
