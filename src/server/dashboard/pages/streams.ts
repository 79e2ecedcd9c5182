/** Every stream with its table. */

import { count, duration, plural } from '../../../core/format.ts';
import { streamNights } from '../../../queries/daily-status.ts';
import type { Db } from '../../../queries/db.ts';
import { type StreamState, streamStates } from '../../../queries/freshness.ts';
import { type RowCount, rowCount, tableName } from '../../../queries/stream-history.ts';
import { inOrder, receiptText } from '../../../queries/summary-text.ts';
import type { DashboardDeps } from '../deps.ts';
import { spark } from '../figures/spark.ts';
import { firstShown, strip, stripKey } from '../figures/strip.ts';
import { table } from '../figures/table.ts';
import { ago, orDash, state } from '../format.ts';
import { type Html, html } from '../html.ts';
import { live, type Page, type View } from '../layout.ts';

export async function streamsPage(
  { db }: DashboardDeps,
  view: View,
  pipeline: string | undefined,
): Promise<Page> {
  const all = await streamStates(db);
  const shown = inOrder(pipeline === undefined ? all : all.filter((each) => each.pipeline === pipeline));
  const [rows, found] = await Promise.all([
    Promise.all(shown.map((each) => rowsOf(db, each))),
    streamNights(db, firstShown(view.now)),
  ]);
  const rowsByStream = new Map(shown.map((each, place) => [each, rows[place]]));
  const nightsOf = (each: StreamState) =>
    found.filter((night) => night.pipeline === each.pipeline && night.stream === each.stream);
  return {
    title: 'Streams',
    at: '/streams',
    body: html`<h1>Streams</h1>${pipelineTabs(all, pipeline)}
${live(
  'streams',
  html`${table(
    'Streams',
    [
      {
        name: 'Stream',
        cell: (each: StreamState) =>
          html`<a href="/streams/${each.pipeline}/${each.stream}"><span class="soft wide">${each.pipeline}.</span>${each.stream}</a>`,
      },
      { name: 'State', cell: (each) => state(each.freshness) },
      { name: 'As of', cell: (each) => ago(each.freshAt, view.now) },
      { name: 'Promise', wide: true, cell: (each) => duration(each.promiseSeconds), number: true },
      { name: 'Rows', number: true, cell: (each) => rowText(rowsByStream.get(each)) },
      {
        name: 'Changed',
        wide: true,
        cell: (each) => {
          const days = nightsOf(each);
          return spark(
            `rows changed on ${plural(days.length, 'day')}, ${count(days.reduce((sum, night) => sum + night.changed, 0))} in all`,
            days.map((night) => night.changed),
          );
        },
      },
      { name: '30 nights', wide: true, cell: (each) => strip(each.stream, nightsOf(each), view.now) },
      {
        name: 'Receipt',
        wide: true,
        number: true,
        cell: (each) => orDash(each.last === null ? null : receiptText(each.last.receipt)),
      },
    ],
    shown,
    'No stream is known yet: run a pipeline.',
  )}${shown.length > 0 && stripKey()}
<p class="soft">A receipt reads: what the source said it has = what was fetched = what is accounted for in the warehouse.</p>`,
)}`,
  };
}

export async function rowsOf(db: Db, stream: StreamState, exactly = false): Promise<RowCount | undefined> {
  const target = tableName(stream.target);
  return target === undefined ? undefined : rowCount(db, target, exactly);
}

/** `12,345`, or `~12,345` where it was estimated. */
export const rowText = (rows: RowCount | undefined): Html =>
  rows === undefined ? orDash(null) : html`${!rows.exact && '~'}${count(rows.live)}`;

function pipelineTabs(all: readonly StreamState[], chosen: string | undefined): Html | undefined {
  const names = [...new Set(all.map((each) => each.pipeline))];
  if (names.length < 2) return undefined;
  return html`<nav class="tabs" aria-label="Pipeline"><ul><li><a href="/streams"${chosen === undefined && html` aria-current="true"`}>all</a></li>${names.map(
    (name) =>
      html`<li><a href="/streams?pipeline=${name}"${name === chosen && html` aria-current="true"`}>${name}</a></li>`,
  )}</ul></nav>`;
}
