/** The streams with their freshness, and one stream: its state, its runs, its columns. */

import { count, duration, plural } from '../../../core/format.ts';
import { type StreamState, streamStates } from '../../../queries/freshness.ts';
import * as history from '../../../queries/stream-history.ts';
import { inOrder, receiptProblem, receiptText } from '../../../queries/summary-text.ts';
import * as ui from '../components.ts';
import { type Html, type HtmlPart, html, lines } from '../html.ts';
import { type DashboardPage, live, type PageContext, type PageRequest } from '../layout.ts';
import { runCharts } from './runs.ts';

/** Streams that one page shows. */
const mostShown = 200;

export async function streamsPage({ db, view, query }: PageRequest): Promise<DashboardPage> {
  const [all, changes] = await Promise.all([streamStates(db), history.schemaChanges(db, 50)]);
  const chosen = all.filter(({ pipeline }) => query.pipeline === undefined || pipeline === query.pipeline);
  const streams = inOrder(chosen).slice(0, mostShown);
  return {
    title: 'Streams',
    at: '/streams',
    body: html`<h1>Streams${query.pipeline !== undefined && html` <small>of ${query.pipeline} · <a href="/streams">all</a></small>`}</h1>
${live('streams', streamTable(streams, view))}
${chosen.length > mostShown && html`<p>${count(chosen.length - mostShown)} more streams. Of one pipeline: ${[...new Set(all.map(({ pipeline }) => pipeline))].map((name) => html`<a href="/streams?pipeline=${name}">${name}</a> `)}</p>`}
${live(
  'changes',
  html`<h2>Schema changes</h2><p class="soft">Fields that appeared, disappeared or changed their type
at the source. New fields are kept in <code>_extra</code>.</p>${ui.notes(
    changes.map(
      (each) => html`${ui.at(each.detectedAt)} ${link(each)}: ${each.note}, in run ${ui.runLink(each.runId)}`,
    ),
  )}`,
)}`,
  };
}

const link = ({ pipeline, stream }: { readonly pipeline: string; readonly stream: string }): Html =>
  html`<a href="/streams/${pipeline}/${stream}"><span class="soft">${pipeline}.</span>${stream}</a>`;

/** The receipt, and in words what does not match in it. */
export const receiptCell = (receipt: Parameters<typeof receiptText>[0]): HtmlPart => {
  const problem = receiptProblem(receipt);
  return html`${receiptText(receipt)}${problem !== undefined && html` <strong class="bad">${problem}</strong>`}`;
};

export const streamTable = (streams: readonly StreamState[], { now }: PageContext): Html =>
  ui.table(
    'Streams',
    [
      ['Stream', link],
      ['State', (each) => ui.state(each.freshness)],
      ['As of', (each) => ui.ago(each.freshAt, now)],
      ['Last run', ({ last }) => last && html`${ui.runLink(last.runId)} ${ui.state(last.status)}`, 'wide'],
      ['Receipt', ({ last }) => ui.orDash(last && receiptCell(last.receipt)), 'wraps wide'],
      ['Rejects', rejectsLink, 'n'],
      ['Why', ({ reason }) => reason, 'wraps'],
    ],
    streams,
    'No stream is known yet: run a pipeline.',
  );

const rejectsLink = ({ pipeline, stream, openRejects }: StreamState): HtmlPart =>
  ui.rejectsLink(openRejects, { pipeline, stream });

/** How many of its runs are shown. */
const remembered = 60;

export async function streamPage({ db, view, param }: PageRequest): Promise<DashboardPage | undefined> {
  const all = await streamStates(db);
  const stream = all.find((each) => each.pipeline === param('pipeline') && each.stream === param('stream'));
  if (stream === undefined) return undefined;
  const target = history.tableName(stream.target);
  const tables = [stream.target, ...stream.childTables];
  const readers = await history.readersOf(db, tables);
  const example = readers.find(({ view: name }) => name === stream.stream) ?? readers[0];
  const [rows, shape, past, answered] = await Promise.all([
    target && history.rowCount(db, target, stream.pipeline),
    target === undefined ? [] : history.columns(db, target),
    history.receipts(db, stream.pipeline, stream.stream, remembered),
    example && exampleOf(db, example.view),
  ]);
  return {
    title: `${stream.pipeline}.${stream.stream}`,
    at: '/streams',
    body: html`<p>${ui.link('/streams', 'Streams')} / ${ui.link(ui.address('/streams', { pipeline: stream.pipeline }), stream.pipeline)}</p>
<h1>${stream.stream}</h1><p class="soft">${stream.about}</p>
${live(
  'state',
  html`${ui.notes([stream.reason])}${ui.facts({
    State: ui.state(stream.freshness),
    'As of': ui.ago(stream.freshAt, view.now),
    'Freshness target': `at most ${duration(stream.promiseSeconds)} old`,
    Rows: ui.orDash(
      rows && `${rows.exact ? '' : '~'}${count(rows.live)}, and ${count(rows.deleted)} deleted at the source`,
    ),
    'Last run': ui.orDash(stream.last && receiptCell(stream.last.receipt)),
    Rejects: rejectsLink(stream),
    'Changes read up to': ui.at(stream.watermark),
    'Last full read': ui.at(stream.fullAt),
    'Read from': html`<code>${stream.endpoint}</code>`,
  })}`,
)}
<h2>In the warehouse</h2><p>Tables: ${tables.map((name) => html`<code>${name}</code> `)}</p>
<details><summary>${plural(readers.length, 'view')} of <code>bi</code> read them</summary>${ui.facts(Object.fromEntries(readers.map(({ view: name, about }) => [`bi.${name}`, about])))}</details>
${answered}
${live('runs', html`<h2>Runs</h2>${runCharts(past, ['Rows in the table', (run) => run.rows ?? 0], ['Duration', (run) => run.seconds ?? 0, ' s'])}${runTable(past, view)}`)}
<h2>Columns of <code>${stream.target}</code></h2>${columnTable(shape)}`,
  };
}

/** A query of a view of `bi`, with its answer. */
async function exampleOf(db: PageRequest['db'], view: string): Promise<Html> {
  const columns = await history.columns(db, { schema: 'bi', name: view });
  const names = columns.map(({ column }) => column).slice(0, 6);
  const query = `select ${names.join(', ')}\nfrom bi.${view}\nlimit 5`;
  const answer = await history.answer(db, query);
  return html`<pre tabindex="0" aria-label="Example query"><code>${lines(`${query};`)}</code></pre>
${ui.table<Readonly<Record<string, string | null>>>(
  'Answer of the example query',
  names.map((name) => [name, (row) => ui.orDash(row[name])]),
  answer ?? [],
  answer ? 'It has no rows.' : 'Its answer takes too long for this page.',
)}`;
}

const runTable = (past: readonly history.ReceiptLine[], { now }: PageContext): Html =>
  ui.table(
    'Runs of the stream, newest first',
    [
      ['Run', ({ runId, kind }) => html`${ui.runLink(runId)} ${kind}`],
      ['State', (each) => ui.state(each.status)],
      ['Began', (each) => ui.ago(each.startedAt, now)],
      ['Took', (each) => ui.lasting(each.seconds), 'n wide'],
      ['Receipt', (each) => receiptCell(each.receipt), 'wraps wide'],
      ['Inserted', ({ counts }) => count(counts.inserted), 'n'],
      ['Updated', ({ counts }) => count(counts.updated), 'n'],
      ['Deleted', ({ counts }) => count(counts.deleted), 'n wide'],
      ['Rejected', ({ counts }) => count(counts.rejected), 'n wide'],
      ['Why', (each) => each.reason, 'wraps'],
    ],
    past,
    'It has not run yet.',
  );

const columnTable = (shape: readonly history.ColumnLine[]): Html =>
  ui.table(
    'Columns',
    [
      ['Column', ({ column, key }) => html`<code>${column}</code>${key && ' (key)'}`],
      ['Type', (each) => html`<code>${each.type}</code>`, 'wide'],
      ['Meaning', (each) => ui.orDash(each.comment), 'wraps'],
    ],
    shape,
    'The table does not exist yet.',
  );
