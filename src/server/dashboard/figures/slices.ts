/** The slices of a walk as a field of small squares: what is read, what is not, what went wrong. */

import { count, minute, plural } from '../../../core/format.ts';
import type { Progress, SliceLine } from '../../../queries/timeline.ts';
import { orDash, spoken, state, type Tone, toneOf } from '../format.ts';
import { type Html, html } from '../html.ts';
import { table } from './table.ts';

/** `board_id 7, created 2024-01-01 00:00 to 2024-02-01 00:00` */
export function sliceName(slice: Pick<SliceLine, 'partition' | 'field' | 'from' | 'to'>): string {
  const owner =
    typeof slice.partition === 'object' && slice.partition !== null
      ? Object.entries(slice.partition).map(([name, value]) => `${name} ${String(value)}`)
      : [];
  const window =
    slice.from === null && slice.to === null
      ? []
      : [`${slice.field ?? 'window'} ${sideOf(slice.from)} to ${sideOf(slice.to)}`];
  const parts = [...owner, ...window];
  return parts.length === 0 ? 'everything' : parts.join(', ');
}

const sideOf = (side: Date | null): string =>
  side === null
    ? 'now'
    : side.toISOString().endsWith('T00:00:00.000Z')
      ? minute(side).slice(0, 10)
      : minute(side);

const marks: Readonly<Record<Tone, string>> = { good: '', going: '·', warn: '!', bad: '×', none: '' };

/** A field for each stream that is cut into slices, unfinished ones first; a line for all that are read in one piece. */
export function fields(found: readonly Progress[]): Html {
  if (found.length === 0) return html`<p class="empty">No slice has been planned yet.</p>`;
  const whole = found.length > 1 ? found.filter(({ total }) => total === 1) : [];
  const cut = found.filter((each) => !whole.includes(each)).sort((a, b) => share(a) - share(b));
  return html`${cut.map(field)}${whole.length > 0 && pieces(whole)}`;
}

const share = ({ done, total }: Progress): number => done / Math.max(1, total);

const pieces = (whole: readonly Progress[]): Html =>
  html`<div class="field"><h3>In one piece</h3><p>${count(whole.filter(({ done }) => done === 1).length)} of ${plural(whole.length, 'stream')} done</p>
<ul class="pieces">${whole.map(({ stream, slices }) => html`<li>${state(slices[0]?.status ?? 'pending')} ${stream}</li>`)}</ul></div>`;

function field({ stream, slices, total, done }: Progress): Html {
  const others = ['reading', 'failed', 'partial', 'pending'].flatMap((status) => {
    const many = slices.filter((slice) => slice.status === status).length;
    return many === 0 ? [] : [`${count(many)} ${spoken(status)}`];
  });
  return html`<div class="field"><h3>${stream}</h3><p>${count(done)} of ${plural(total, 'slice')} done${others.map((each) => `, ${each}`)}${
    total > slices.length && html` · the first ${count(slices.length)} are shown`
  }</p>
<progress max="${Math.max(1, total)}" value="${done}">${done} of ${total}</progress>
<div class="cells" aria-hidden="true">${slices.map(
    (slice) =>
      html`<span class="cell ${toneOf(slice.status)}" title="${sliceName(slice)}: ${spoken(slice.status)}">${marks[toneOf(slice.status)]}</span>`,
  )}</div>
<details><summary>As a table</summary>${table(
    `Slices of ${stream}`,
    [
      { name: 'Slice', cell: (slice: SliceLine) => sliceName(slice), wraps: true },
      { name: 'State', cell: (slice) => state(slice.status) },
      {
        name: 'Expected',
        cell: (slice) => orDash(slice.expected === null ? null : count(slice.expected)),
        number: true,
      },
      {
        name: 'Fetched',
        cell: (slice) => orDash(slice.fetched === null ? null : count(slice.fetched)),
        number: true,
      },
      {
        name: 'Landed',
        cell: (slice) => orDash(slice.landed === null ? null : count(slice.landed)),
        number: true,
      },
      { name: 'Error', cell: (slice) => slice.error ?? '', wraps: true, wide: true },
    ],
    slices,
  )}</details></div>`;
}
