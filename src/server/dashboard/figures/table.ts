/** Tables: a caption for readers who do not see it, heads, and cells of which numbers stand to the right. */

import { type Html, html, type Part } from '../html.ts';

export interface Column<R> {
  readonly name: string;
  readonly cell: (row: R) => Part;
  /** Digits under digits. */
  readonly number?: boolean;
  /** Left out where the screen is narrow. */
  readonly wide?: boolean;
  /** May break into lines. */
  readonly wraps?: boolean;
}

/** A table, or a sentence where it would be empty. */
export function table<R>(
  caption: string,
  columns: readonly Column<R>[],
  rows: readonly R[],
  empty = 'Nothing yet.',
): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const kind = (column: Column<R>): string =>
    [column.number && 'n', column.wide && 'wide', column.wraps && 'wraps'].filter(Boolean).join(' ');
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<caption class="vh">${caption}</caption>
<thead><tr>${columns.map((column) => html`<th scope="col" class="${kind(column)}">${column.name}</th>`)}</tr></thead>
<tbody>${rows.map(
    (
      row,
    ) => html`<tr>${columns.map((column) => html`<td class="${kind(column)}">${column.cell(row)}</td>`)}</tr>
`,
  )}</tbody></table></div>`;
}

/** Names and values, e.g. the head of a page. */
export const facts = (pairs: readonly (readonly [name: string, value: Part])[]): Html =>
  html`<dl class="facts">${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
