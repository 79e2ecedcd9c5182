/** What changed in the shape of the sources. */

import { type SchemaChange, schemaChanges } from '../../../queries/schema-changes.ts';
import type { DashboardDeps } from '../deps.ts';
import { table } from '../figures/table.ts';
import { ago, at } from '../format.ts';
import { html } from '../html.ts';
import { live, type Page, type View } from '../layout.ts';

const perPage = 100;

export async function changesPage(
  { db }: DashboardDeps,
  view: View,
  page: string | undefined,
): Promise<Page> {
  const number = /^\d{1,6}$/.test(page ?? '') ? Math.max(1, Number(page)) : 1;
  const found = await schemaChanges(db, { limit: perPage + 1, offset: (number - 1) * perPage });
  return {
    title: 'Schema changes',
    at: '/schema-changes',
    body: html`<h1>Schema changes</h1><p class="lead">Fields that came, went or changed their type at the source. Nothing is altered by itself: new fields are kept in <code>_extra</code>.</p>
${live(
  'changes',
  table(
    'Schema changes, the newest first',
    [
      {
        name: 'Seen',
        cell: (each: SchemaChange) =>
          html`${at(each.detectedAt)} <span class="soft">${ago(each.detectedAt, view.now)}</span>`,
      },
      {
        name: 'Stream',
        cell: (each) =>
          html`<a href="/streams/${each.pipeline}/${each.stream}"><span class="soft">${each.pipeline}.</span>${each.stream}</a>`,
      },
      { name: 'What', cell: (each) => each.note, wraps: true },
      { name: 'Run', number: true, cell: (each) => html`<a href="/runs/${each.runId}">${each.runId}</a>` },
    ],
    found.slice(0, perPage),
    'No changes found.',
  ),
)}
<p>${number > 1 && html`<a class="button" href="/schema-changes?page=${number - 1}">Newer</a> `}${found.length > perPage && html`<a class="button" href="/schema-changes?page=${number + 1}">Older</a>`}</p>`,
  };
}
