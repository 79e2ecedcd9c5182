/** Pages that are lists, and the settings. */

import { type ListRow, listed, perPage } from '../../../queries/lists.ts';
import * as ui from '../components.ts';
import { type Html, type HtmlPart, html } from '../html.ts';
import { type DashboardPage, live, type PageContext, type PageRequest } from '../layout.ts';

/** A view of `ops`, and the columns by which an address may filter it. */
type List = readonly [view: string, ...by: string[]];

interface ListPage {
  readonly title: string;
  readonly about: string;
  /** A view that is empty where all is well, and the sentences for both. */
  readonly wrong?: readonly [view: string, none: string, some: string];
  readonly list: List;
  /** What is listed instead where the address names a run. */
  readonly ofRun?: List;
}

export const deletions: ListPage = {
  title: 'Deletions',
  about:
    'A row that is gone at the source is marked as deleted. Where too many are gone at once, the guard marks none.',
  wrong: ['held_deletions', 'No deletion is held back.', 'The deletion guard holds deletions back.'],
  list: ['found_deletions', 'pipeline'],
  ofRun: ['deleted_rows', 'run'],
};

export const audit: ListPage = {
  title: 'Audit',
  about: 'What people and programs asked for, by the dashboard or the API. Refused attempts are listed, too.',
  list: ['attempts', 'pipeline'],
};

/** A page by its title, which is its address, too. */
const page = (title: string, body: HtmlPart): DashboardPage => ({
  title,
  at: `/${title.toLowerCase()}`,
  body: html`<h1>${title}</h1>${live('list', body)}`,
});

export const listPage =
  ({ title, about, wrong: [from, none, some] = ['', '', ''], list, ofRun = list }: ListPage) =>
  async ({ db, query, view }: PageRequest): Promise<DashboardPage> => {
    const [shown, ...by] = query.run === undefined ? list : ofRun;
    const where = Object.fromEntries(by.map((name) => [name, query[name]]));
    const number = /^[1-9]\d{0,2}$/.test(query.page ?? '') ? Number(query.page) : 1;
    const rows = await listed(db, shown, where, number);
    const bad = from === '' ? [] : await listed(db, from);
    const [tone, sentence] = bad.length > 0 ? (['warn', some] as const) : (['good', none] as const);
    const next = ui.address(`/${title.toLowerCase()}`, { ...where, page: String(number + 1) });
    return page(
      title,
      html`<p class="summary">${from !== '' && ui.sign(tone)}<span><strong>${sentence}</strong> ${about}</span></p>
${bad.length > 0 && listTable(headingOf(from), bad, view)}${listTable(headingOf(shown), rows, view)}
${rows.length > perPage && html`<p>${ui.link(next, 'Older')}</p>`}`,
    );
  };

/** `held_deletions` → `Held deletions` */
const headingOf = (name: string): string => name.charAt(0).toUpperCase() + ui.spoken(name).slice(1);

/** Columns that may break into lines. */
const long: readonly string[] = ['details', 'what', 'what_to_do', 'rows_not_seen', 'setting', 'value'];

/** Rows under a name. On a narrow screen each value stands below the one before it, with the name of its column. */
export function listTable(name: string, rows: readonly ListRow[], view: PageContext): Html {
  const columns = Object.keys(rows[0] ?? {}).map(
    (column): ui.TableColumn<ListRow> => [
      headingOf(column),
      (row) => html`<span data-name="${headingOf(column)}">${cell(column, row, view)}</span>`,
      long.includes(column) ? 'wraps' : undefined,
    ],
  );
  return html`<h2>${name}</h2><div class="list">${ui.table(name, columns, rows.slice(0, perPage))}</div>`;
}

/** Columns that are more than their text. */
const shown: Readonly<Record<string, (text: string, row: ListRow, view: PageContext) => HtmlPart>> = {
  run: ui.runLink,
  request: (runId, { pipeline }) => ui.link(ui.requestPath({ runId, pipeline: String(pipeline) }), 'request'),
  state: ui.state,
  stream: (name, { pipeline }) => ui.link(`/streams/${pipeline}/${name}`, name),
  deleted: (rows, { run }) => ui.link(ui.address('/deletions', { run: String(run) }), rows),
  again: (name, _, view) => ui.button(view, `/pipelines/${name}/reconcile`, 'Reconcile'),
};

function cell(column: string, row: ListRow, view: PageContext): HtmlPart {
  const value = row[column];
  if (value instanceof Date) return ui.ago(value, view.now);
  return value === null || value === ''
    ? ui.orDash(null)
    : (shown[column]?.(String(value), row, view) ?? String(value));
}

export async function settingsPage({ settings, view }: PageRequest): Promise<DashboardPage> {
  const { shown, pipelines } = settings;
  const ownerOf = (setting: string) =>
    pipelines.find(({ connector, nameOf }) => Object.keys(connector.settings).map(nameOf).includes(setting));
  const owners = [...pipelines.map(({ name }) => name), undefined];
  return page(
    'Settings',
    html`<p>As they were read when serve began. A secret that is set is shown as ***.</p>${owners.map(
      (owner) => {
        const own = shown.filter(({ name }) => ownerOf(name)?.name === owner);
        const rows = own.map(({ name, value, from }) => ({ setting: name, value, from }));
        return listTable(owner ?? 'All pipelines, and serve', rows, view);
      },
    )}`,
  );
}
