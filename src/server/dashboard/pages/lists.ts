/** Pages that are lists: each column of a view is a column of the table. */

import { type ListRow, listed, perPage } from '../../../queries/lists.ts';
import * as ui from '../components.ts';
import { type Html, type HtmlPart, html } from '../html.ts';
import { type DashboardPage, live, type PageContext, type PageRequest } from '../layout.ts';

interface ListPage {
  readonly about: HtmlPart;
  /** A view of `ops`, and the columns by which an address may filter it. */
  readonly list: readonly [view: string, ...by: string[]];
  /** What is listed in place of it where the address has the parameter. */
  readonly instead?: readonly [parameter: string, view: string, ...by: string[]];
  /** A view that is empty where all is well, and the sentences for both. */
  readonly wrong?: readonly [view: string, none: string, some: string];
  readonly button?: readonly [path: string, word: string];
}

/** By the name in their address. */
const pages: Readonly<Record<string, ListPage>> = {
  rejects: {
    about: html`A record that cannot become a row is kept byte for byte. <a href="/rejects?all=1">Settled ones, too</a>`,
    list: ['open_rejects', 'pipeline', 'stream', 'code'],
    instead: ['all', 'all_rejects', 'pipeline', 'stream', 'code'],
    wrong: ['open_rejects', 'Every record became a row.', 'Records could not become rows.'],
  },
  deletions: {
    about: 'A row that is gone at the source is marked as deleted, unless too many are gone at once.',
    list: ['found_deletions', 'pipeline'],
    instead: ['run', 'deleted_rows', 'run'],
    wrong: ['held_deletions', 'No deletion is held back.', 'The deletion guard holds deletions back.'],
  },
  alerts: {
    about: html`Messages about the state of pipelines. Their channels are among the <a href="/settings">settings</a>.`,
    list: ['messages', 'pipeline', 'channel'],
    wrong: ['undelivered', 'No message waits for its channel.', 'Messages did not arrive.'],
    button: ['/alerts/test', 'Send a test message'],
  },
  audit: {
    about: 'What people and programs asked for, by the dashboard or the API. Some of it was refused.',
    list: ['attempts', 'pipeline'],
  },
};

export async function listPage({ db, query, view, param }: PageRequest): Promise<DashboardPage | undefined> {
  const name = param('list');
  const found = pages[name];
  if (found === undefined) return undefined;
  const { about, list, instead, wrong, button } = found;
  const [parameter = '', ...other] = instead ?? [];
  const [shown = '', ...by] = query[parameter] === undefined ? list : other;
  const number = /^[1-9]\d{0,2}$/.test(query.page ?? '') ? Number(query.page) : 1;
  const filter = Object.fromEntries(by.map((column) => [column, query[column]]));
  const rows = await listed(db, shown, filter, number);
  const [from = '', none = '', some = ''] = wrong ?? [];
  const bad = from === '' ? [] : await listed(db, from);
  const isBad = bad.length > 0;
  const older = ui.address(`/${name}`, { ...query, page: String(number + 1) });
  return page(
    name,
    html`<p class="summary">${from !== '' && ui.sign(isBad ? 'warn' : 'good')}<span><strong>${isBad ? some : none}</strong> ${about}</span></p>${button && html`<p>${ui.button(view, ...button)}</p>`}
${isBad && from !== shown && listTable(from, bad, view)}${listTable(shown, rows.slice(0, perPage), view)}
${rows.length > perPage && html`<p>${ui.link(older, 'Older')}</p>`}`,
  );
}

const page = (name: string, body: HtmlPart): DashboardPage => ({
  title: headingOf(name),
  at: `/${name}`,
  body: html`<h1>${headingOf(name)}</h1>${live('list', body)}`,
});

export async function settingsPage({
  settings: { shown, pipelines },
  view,
}: PageRequest): Promise<DashboardPage> {
  const ownerOf = (setting: string) =>
    pipelines.find(({ connector, nameOf }) => Object.keys(connector.settings).map(nameOf).includes(setting));
  const rows = shown.map(({ name, value, from }) => ({
    setting: name,
    value,
    from,
    pipeline: ownerOf(name)?.name,
  }));
  const about = html`<p>As they were read when serve began. A secret that is set is shown as ***.</p>`;
  return page('settings', html`${about}${listTable('all', rows, view)}`);
}

/** `held_deletions` → `Held deletions` */
const headingOf = (name: string): string => name.charAt(0).toUpperCase() + ui.spoken(name).slice(1);

/** Columns that may break into lines. */
const long: readonly string[] = ['details', 'why', 'what', 'what_to_do', 'rows_not_seen', 'setting', 'value'];

/** Rows of a view under its name. */
export function listTable(name: string, rows: readonly ListRow[], view: PageContext): Html {
  const columns = Object.keys(rows[0] ?? {}).map(
    (column): ui.TableColumn<ListRow> => [
      headingOf(column),
      (row) => cell(column, row, view),
      long.includes(column) ? 'wraps' : undefined,
    ],
  );
  return html`<h2>${headingOf(name)}</h2>${ui.table(name, columns, rows)}`;
}

/** Columns that are more than their text. */
const special: Readonly<Record<string, (text: string, row: ListRow, view: PageContext) => HtmlPart>> = {
  reject: (id) => ui.link(`/rejects/${id}`, id),
  run: ui.runLink,
  request: (runId, { pipeline }) => ui.link(ui.requestPath({ runId, pipeline: String(pipeline) }), 'request'),
  state: ui.state,
  stream: (name, { pipeline }) => ui.link(`/streams/${pipeline}/${name}`, name),
  deleted: (rows, { run }) => ui.link(ui.address('/deletions', { run: String(run) }), rows),
  again: (name, _, view) => ui.button(view, `/pipelines/${name}/reconcile`, 'Reconcile'),
};

function cell(column: string, row: ListRow, view: PageContext): HtmlPart {
  const value = row[column] ?? '';
  if (value instanceof Date) return ui.ago(value, view.now);
  const text = String(value);
  return text === '' ? ui.orDash(text) : (special[column]?.(text, row, view) ?? text);
}
