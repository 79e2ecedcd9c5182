/** The streams with their freshness, and one stream: its state, its runs, its columns. */

import { count, duration } from '../../../core/format.ts';
import { type DayStatus, dailyStreamStatus } from '../../../queries/daily-status.ts';
import { type StreamState, streamStates } from '../../../queries/freshness.ts';
import * as history from '../../../queries/stream-history.ts';
import { inOrder, receiptProblem, receiptText } from '../../../queries/summary-text.ts';
import * as ui from '../components.ts';
import { firstShown, strip, stripKey } from '../figures.ts';
import { type Html, type HtmlPart, html, lines } from '../html.ts';
import { type DashboardPage, live, type PageContext, type PageRequest } from '../layout.ts';
import { runFigures } from './runs.ts';

export async function streamsPage({ db, view }: PageRequest): Promise<DashboardPage> {
  const [streams, days, changes] = await Promise.all([
    streamStates(db),
    dailyStreamStatus(db, firstShown(view.now)),
    history.schemaChanges(db, 50),
  ]);
  return {
    title: 'Streams',
    at: '/streams',
    body: html`<h1>Streams</h1>
${live('streams', html`${streamTable(streams, days, view)}${stripKey()}`)}
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
  html`<a href="/streams/${pipeline}/${stream}"><span class="soft wide">${pipeline}.</span>${stream}</a>`;

/** The receipt, and in words what does not match in it. */
export const receiptCell = (receipt: Parameters<typeof receiptText>[0]): HtmlPart => {
  const problem = receiptProblem(receipt);
  return html`${receiptText(receipt)}${problem !== undefined && html` <strong class="bad">${problem}</strong>`}`;
};

const isOf =
  (of: Pick<StreamState, 'pipeline' | 'stream'>) =>
  ({ pipeline, stream }: Pick<DayStatus, 'pipeline' | 'stream'>): boolean =>
    pipeline === of.pipeline && stream === of.stream;

/** Those in trouble first. `days`: what became of each day. */
export const streamTable = (
  streams: readonly StreamState[],
  days: readonly DayStatus[],
  { now }: PageContext,
) =>
  ui.table(
    'Streams',
    [
      ['Stream', link],
      ['State', (each) => ui.state(each.freshness)],
      ['As of', (each) => ui.ago(each.freshAt, now)],
      ['Last run', ({ last }) => last && html`${ui.runLink(last.runId)} ${ui.state(last.status)}`, 'wide'],
      ['Receipt', ({ last }) => ui.orDash(last && receiptCell(last.receipt)), 'wraps wide'],
      ['30 days', (each) => strip(each.stream, days.filter(isOf(each)), now), 'wide'],
      ['Rejects', rejectsLink, 'n'],
      ['Why', ({ reason }) => reason, 'wraps'],
    ],
    inOrder(streams),
    'No stream is known yet: run a pipeline.',
  );

const rejectsLink = ({ pipeline, stream, openRejects }: StreamState): HtmlPart =>
  ui.rejectsLink(openRejects, { pipeline, stream });

/** How many of its runs are shown. */
const remembered = 60;

export async function streamPage({ db, view, param }: PageRequest): Promise<DashboardPage | undefined> {
  const named = { pipeline: param('pipeline'), stream: param('stream') };
  const stream = (await streamStates(db)).find(isOf(named));
  if (stream === undefined) return undefined;
  const target = history.tableName(stream.target);
  const [rows, shape, past] = await Promise.all([
    target && history.rowCount(db, target, stream.pipeline),
    target === undefined ? [] : history.columns(db, target),
    history.receipts(db, stream.pipeline, stream.stream, remembered),
  ]);
  return {
    title: `${stream.pipeline}.${stream.stream}`,
    at: '/streams',
    body: html`<p><a href="/streams">Streams</a> / ${stream.pipeline}</p>
<h1>${stream.stream}</h1><p class="soft">${stream.about}</p>
${live(
  'state',
  html`${ui.notes([stream.reason])}${ui.facts({
    State: ui.state(stream.freshness),
    'As of': ui.ago(stream.freshAt, view.now),
    Promise: `at most ${duration(stream.promiseSeconds)} old`,
    Rows: ui.orDash(
      rows && `${rows.exact ? '' : '~'}${count(rows.live)}, and ${count(rows.deleted)} deleted at the source`,
    ),
    Receipt: ui.orDash(stream.last && receiptCell(stream.last.receipt)),
    Rejects: rejectsLink(stream),
    Watermark: ui.at(stream.watermark),
    'Last full read': ui.at(stream.fullAt),
    Table: html`<code>${stream.target}</code>`,
    'Read from': html`<code>${stream.endpoint}</code>`,
  })}`,
)}
${live('runs', html`<h2>Runs</h2>${runFigures(past, 'Rows in the table', (run) => run.rows ?? 0)}${runTable(past, view)}`)}
<h2>Example query</h2><pre><code>${lines(query(stream.target, shape))}</code></pre>
<h2>Columns</h2>${columnTable(shape)}`,
  };
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

/** The newest live rows, with the first columns. */
function query(target: string, shape: readonly history.ColumnLine[]): string {
  const names = shape.map(({ column }) => column);
  const shown = names.filter((name) => !name.startsWith('_') && name !== 'source_id').slice(0, 6);
  return [
    `select ${shown.join(', ') || '*'}`,
    `from ${target}`,
    ...(names.includes('_deleted_at') ? ['where _deleted_at is null'] : []),
    ...(names.includes('_synced_at') ? ['order by _synced_at desc'] : []),
    'limit 20;',
  ].join('\n');
}
