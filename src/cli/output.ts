/** What a verb prints on stdout: a JSON document, or tables and facts for people. */
import Table from 'cli-table3';
import { count, duration, escaped, minute, plural, relative } from '../core/format.ts';
import { receiptText } from '../queries/summary-text.ts';
import { exit } from './exit.ts';
import type { Sink, Style } from './terminal.ts';

/** Numbers get thousands separators, null is a dash. Text is escaped when it is drawn. */
export type Cell = string | number | null | { readonly text: string; readonly style: Style };

type Paper = Pick<Sink, 'paint' | 'columns'>;

/** JSON; bigints as text, because many readers round them. */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each), indent);

/** Prints the data as JSON, or the lines; returns exit code 0. */
export function print(
  { out, json }: { readonly out: Sink; readonly json: boolean },
  data: unknown,
  lines: () => readonly string[],
): number {
  if (json) out.line(toJson(data, 2));
  else for (const line of lines()) out.line(line);
  return exit.ok;
}

/** Titles of columns and facts that are not their key in capitals. Those that end with `…` are cut where the terminal is narrow. */
const titles: Readonly<Record<string, string>> = {
  runId: 'RUN',
  rejectId: 'REJECT',
  recordKey: 'KEY',
  freshness: 'STATE',
  freshAt: 'AS OF',
  fullAt: 'LAST FULL READ',
  promiseSeconds: 'MAY BE OLD',
  lastSeenAt: 'LAST SEEN',
  openRejects: 'REJECTS',
  target: 'TABLE',
  seconds: 'TOOK',
  counts: 'RECORDS',
  endpoint: 'READ FROM…',
  about: 'WHAT…',
  comment: 'WHAT IT IS…',
  reason: 'WHY…',
  message: 'WHY…',
  error: 'ERROR…',
  params: 'PARAMETERS…',
  dagRunId: 'RUN THERE',
  engineStatus: 'STATUS THERE',
  changedAt: 'SINCE',
};
const titleOf = (key: string): string =>
  titles[key] ?? key.replace(/At$/, '').replace(/[A-Z]/g, ' $&').toUpperCase();

/** A value as people read it. Its key says what it means. */
function cellOf(key: string, value: unknown): Cell {
  if (value === null || value === undefined) return titles[key]?.endsWith('…') ? '' : null;
  if (value instanceof Date) return key.endsWith('At') ? relative(value, new Date()) : `${minute(value)} UTC`;
  if (typeof value === 'number') return /seconds$/i.test(key) ? duration(value) : value;
  if (typeof value === 'string')
    return /^(status|state|freshness)$/.test(key) ? { text: value, style: styleOf(value) } : value;
  return typeof value === 'object' ? objectText(key, { ...value }) : String(value);
}

function objectText(key: string, value: Readonly<Record<string, unknown>>): string {
  const number = (name: string): number => Number(value[name] ?? 0);
  if (key === 'receipt') return receiptText({ expected: null, fetched: 0, landed: 0, ...value });
  if (key === 'counts') return countsText(number);
  if (key === 'error') return String(value.message);
  if (key === 'rows')
    return `${value.exact === false ? '~' : ''}${count(number('live'))}${number('deleted') > 0 ? `, ${count(number('deleted'))} deleted` : ''}`;
  if (key === 'partition')
    return Object.entries(value)
      .map(([name, each]) => `${name} ${each}`)
      .join(', ');
  return toJson(value);
}

/** `5,000 records: 12 new, 3 changed, 4,985 as before` */
export function countsText(of: (name: string) => number, what = plural(of('received'), 'record')): string {
  const parts = [
    ['new', of('inserted')],
    ['changed', of('updated')],
    ['as before', of('unchanged') + of('superseded')],
    ['duplicate', of('deduplicated')],
    ['rejected', of('rejected')],
    ['deleted', of('deleted')],
  ] as const;
  const present = parts.flatMap(([word, n]) => (n > 0 ? [`${count(n)} ${word}`] : []));
  return present.length === 0 ? what : `${what}: ${present.join(', ')}`;
}

type Key<T> = keyof T & string;

/** A table with a column for each key. */
export const table = <T>(keys: readonly Key<T>[], rows: readonly T[], paper: Paper): readonly string[] =>
  grid(
    keys.map(titleOf),
    rows.map((row) => keys.map((key) => cellOf(key, row[key]))),
    paper,
  );

/** Names and values, one pair a line; undefined is left out. */
export function facts(values: object, paper: Paper, keys = Object.keys(values)): readonly string[] {
  const all: Readonly<Record<string, unknown>> = Object.fromEntries(Object.entries(values));
  const present = keys.filter((key) => all[key] !== undefined);
  const nameOf = (key: string): string => titleOf(key).toLowerCase().replace('…', '');
  const widest = Math.max(0, ...present.map((key) => nameOf(key).length));
  return present.map(
    (key) => `${paper.paint('dim', nameOf(key).padEnd(widest))}  ${drawn(cellOf(key, all[key]), paper)}`,
  );
}

const drawn = (cell: Cell, paper: Paper): string => {
  if (cell === null) return '–';
  if (typeof cell === 'number') return count(cell);
  return typeof cell === 'string' ? escaped(cell) : paper.paint(cell.style, escaped(cell.text));
};

const edges = ['top', 'bottom', 'left', 'mid', 'right'];
const plainChars = Object.fromEntries([
  ...edges.flatMap((edge) => ['', '-mid', '-left', '-right'].map((end) => [edge + end, ''])),
  ['middle', '  '],
]);

/** The lines of a table, titles first, without trailing blanks. Columns of numbers are aligned to the right. */
export function grid(
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
  paper: Paper,
): readonly string[] {
  const draw = (colWidths: number[]) => {
    const table = new Table({
      chars: plainChars,
      style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
      head: titles.map((title) => paper.paint('dim', title.replace('…', ''))),
      colAligns: titles.map((_, at) => (rows.every((row) => isNumber(row[at] ?? null)) ? 'right' : 'left')),
      colWidths,
    });
    table.push(...rows.map((row) => row.map((cell) => drawn(cell, paper))));
    return { text: table.toString(), widths: table.options.colWidths.map((width) => width ?? 0) };
  };
  const { text, widths } = draw([]);
  const lines = isWider(widths, paper.columns)
    ? draw(narrowed(widths, titles, paper.columns ?? 0)).text
    : text;
  return lines.split('\n').map((line) => line.trimEnd());
}

const isNumber = (cell: Cell): boolean =>
  cell === null || typeof cell === 'number' || (typeof cell === 'string' && /^[~-]?\d[\d,.]*$/.test(cell));

const isWider = (widths: readonly number[], limit = Number.POSITIVE_INFINITY): boolean =>
  widths.reduce((sum, width) => sum + width + 2, -2) > limit;

/** Takes width off the columns that may be cut, the widest first, until the line fits or they are 8 wide. */
function narrowed(widths: readonly number[], titles: readonly string[], limit: number): number[] {
  const fitted = [...widths];
  const cuttable = titles.flatMap((title, at) => (title.endsWith('…') ? [at] : []));
  while (isWider(fitted, limit)) {
    const [widest] = [...cuttable].sort((a, b) => (fitted[b] ?? 0) - (fitted[a] ?? 0));
    if (widest === undefined || (fitted[widest] ?? 0) <= 8) break;
    fitted[widest] = (fitted[widest] ?? 0) - 1;
  }
  return fitted;
}

const styles: Readonly<Record<string, Style>> = {
  ...{ succeeded: 'green', ok: 'green', fresh: 'green', running: 'cyan', failed: 'red', lost: 'red' },
  ...{ unavailable: 'dim', skipped: 'dim', excluded: 'dim', 'not configured': 'dim' },
};

/** Statuses that ask for a look are yellow. */
export const styleOf = (status: string): Style => styles[status] ?? 'yellow';
