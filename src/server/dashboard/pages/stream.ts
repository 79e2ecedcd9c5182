/** One stream: how fresh against its promise, what it holds, what its runs did, what its columns mean. */

import { count, duration, plural } from '../../../core/format.ts';
import { type StreamState, streamStates } from '../../../queries/freshness.ts';
import {
  type ColumnLine,
  columns,
  type ReceiptLine,
  receipts,
  tableName,
} from '../../../queries/stream-history.ts';
import { receiptText } from '../../../queries/summary-text.ts';
import type { DashboardDeps } from '../deps.ts';
import { plot } from '../figures/plot.ts';
import { facts, table } from '../figures/table.ts';
import { ago, at, lasting, orDash, state } from '../format.ts';
import { type Html, html, lines } from '../html.ts';
import { live, type Page, type View } from '../layout.ts';
import { rowsOf, rowText } from './streams.ts';

/** So many of its runs are looked at. */
const remembered = 60;

/** Undefined: there is no such stream. */
export async function streamPage(
  { db }: DashboardDeps,
  view: View,
  asked: { readonly pipeline: string; readonly stream: string },
): Promise<Page | undefined> {
  const stream = (await streamStates(db)).find(
    (each) => each.pipeline === asked.pipeline && each.stream === asked.stream,
  );
  if (stream === undefined) return undefined;
  const target = tableName(stream.target);
  const [rows, shape, past] = await Promise.all([
    rowsOf(db, stream),
    target === undefined ? [] : columns(db, target),
    receipts(db, stream.pipeline, stream.stream, remembered),
  ]);
  const bad = past.filter(
    (each) => each.status !== 'ok' && each.status !== 'running' && each.status !== 'skipped',
  );
  return {
    title: `${stream.pipeline}.${stream.stream}`,
    at: '/streams',
    body: html`<p class="crumbs"><a href="/streams">Streams</a> / ${stream.pipeline}</p>
<h1>${stream.stream}</h1><p class="lead">${stream.about}</p>
${live(
  'state',
  html`${facts([
    ['State', state(stream.freshness)],
    ['As of', ago(stream.freshAt, view.now)],
    ['Promise', `at most ${duration(stream.promiseSeconds)} old`],
    [
      'Rows',
      html`${rowText(rows)}${(rows?.deleted ?? 0) > 0 && html` <span class="soft">+ ${count(rows?.deleted ?? 0)} deleted at the source</span>`}`,
    ],
    ['Receipt', orDash(stream.last === null ? null : receiptText(stream.last.receipt))],
    [
      'Rejects',
      stream.openRejects === 0
        ? 'none open'
        : html`<a href="/rejects?pipeline=${stream.pipeline}&stream=${stream.stream}">${count(stream.openRejects)} open</a>`,
    ],
    ['Watermark', at(stream.watermark)],
    ['Last full walk', at(stream.fullAt)],
    ['Table', html`<code>${stream.target}</code>`],
    ['Read from', html`<code>${stream.endpoint}</code>`],
  ])}${age(stream, view)}${stream.freshness !== 'fresh' && stream.reason !== null && html`<p class="said">${stream.reason}</p>`}`,
)}
${live('figures', html`<h2>Over time</h2>${figures(past)}`)}
${live('errors', html`<h2>What went wrong <small>in its last ${plural(past.length, 'run')}</small></h2>${errors(bad, view)}`)}
${live('runs', html`<h2>Its runs</h2>${runTable(past.slice(0, 20), view)}`)}
<h2>Example query</h2><pre class="code"><code>${lines(query(stream.target, shape))}</code></pre>
<h2>Columns</h2>${columnTable(shape)}`,
  };
}

/** How old it is, as a share of how old it may be. */
function age(stream: StreamState, view: View): Html | undefined {
  if (stream.freshAt === null) return undefined;
  const seconds = Math.max(0, (view.now.getTime() - stream.freshAt.getTime()) / 1000);
  const share = seconds / stream.promiseSeconds;
  return html`<p class="age"><meter min="0" max="1" high="0.9" optimum="0" value="${Math.min(1, share).toFixed(3)}">${Math.round(share * 100)} %</meter> ${duration(seconds)} old, ${Math.round(share * 100)} % of what is promised</p>`;
}

function figures(past: readonly ReceiptLine[]): Html {
  const ended = past.filter((each) => each.finishedAt !== null).reverse();
  const counted = ended.filter((each) => each.rows !== null);
  const name = (each: ReceiptLine): Html =>
    html`<a href="/runs/${each.runId}">${each.runId}</a> ${each.kind}`;
  return html`<div class="plots">${plot({
    id: 'plot-rows',
    title: 'Rows in the table',
    about: 'after each run, without deleted ones',
    unit: 'rows',
    kind: 'line',
    at: counted.map((each) => each.finishedAt ?? each.startedAt),
    names: counted.map(name),
    series: [{ name: 'rows', color: 'accent', values: counted.map((each) => each.rows) }],
  })}${plot({
    id: 'plot-changed',
    title: 'Rows changed',
    about: 'per run',
    unit: 'rows',
    kind: 'bars',
    at: ended.map((each) => each.startedAt),
    names: ended.map(name),
    series: [
      { name: 'inserted', color: 'accent', values: ended.map((each) => each.counts.inserted) },
      { name: 'updated', color: 'soft', values: ended.map((each) => each.counts.updated) },
      { name: 'removed', color: 'warn', values: ended.map((each) => each.counts.deleted) },
      { name: 'rejected', color: 'bad', values: ended.map((each) => each.counts.rejected) },
    ],
  })}</div>`;
}

const errors = (bad: readonly ReceiptLine[], view: View): Html =>
  table(
    'What went wrong',
    [
      { name: 'Run', cell: (each: ReceiptLine) => html`<a href="/runs/${each.runId}">${each.runId}</a>` },
      { name: 'When', cell: (each) => ago(each.startedAt, view.now) },
      { name: 'State', cell: (each) => state(each.status) },
      { name: 'Why', cell: (each) => orDash(each.reason), wraps: true },
    ],
    bad,
    'Nothing.',
  );

const runTable = (past: readonly ReceiptLine[], view: View): Html =>
  table(
    'Its runs',
    [
      {
        name: 'Run',
        cell: (each: ReceiptLine) => html`<a href="/runs/${each.runId}">${each.runId}</a> ${each.kind}`,
      },
      { name: 'State', cell: (each) => state(each.status) },
      { name: 'Began', cell: (each) => ago(each.startedAt, view.now) },
      { name: 'Took', number: true, cell: (each) => lasting(each.seconds) },
      { name: 'Receipt', number: true, wide: true, cell: (each) => receiptText(each.receipt) },
      { name: 'Inserted', number: true, cell: (each) => count(each.counts.inserted) },
      { name: 'Updated', number: true, cell: (each) => count(each.counts.updated) },
      { name: 'Removed', number: true, wide: true, cell: (each) => count(each.counts.deleted) },
      { name: 'Rejected', number: true, wide: true, cell: (each) => count(each.counts.rejected) },
    ],
    past,
    'It has not run yet.',
  );

const columnTable = (shape: readonly ColumnLine[]): Html =>
  table(
    'Columns',
    [
      {
        name: 'Column',
        cell: (each: ColumnLine) =>
          html`<code>${each.column}</code>${each.key && html` <span class="tag">key</span>`}`,
      },
      { name: 'Type', wide: true, cell: (each) => html`<code class="soft">${each.type}</code>` },
      { name: 'What it is', cell: (each) => orDash(each.comment), wraps: true },
    ],
    shape,
    'The table is not there yet.',
  );

/** The newest rows that live, with the columns people would name. */
function query(target: string, shape: readonly ColumnLine[]): string {
  const names = shape
    .filter((each) => !each.column.startsWith('_') && each.column !== 'source_id')
    .slice(0, 6);
  const has = (column: string): boolean => shape.some((each) => each.column === column);
  return [
    `select ${names.length === 0 ? '*' : names.map((each) => each.column).join(', ')}`,
    `from ${target}`,
    ...(has('_deleted_at') ? ['where _deleted_at is null'] : []),
    ...(has('_synced_at') ? ['order by _synced_at desc'] : []),
    'limit 20;',
  ].join('\n');
}
