/** What a verb prints on stdout: one JSON document, or the same for people as lines, fields and tables. */
import { count, duration, escaped, minute, relative } from '../core/format.ts';
import { ExactNumber } from '../core/json.ts';
import { countsText, receiptText } from '../queries/summary-text.ts';
import type { Sink, Style } from './context.ts';
import { exit } from './exit.ts';

type Paper = Pick<Sink, 'paint' | 'columns'>;
type FieldValues = Readonly<Record<string, unknown>>;

/**
 * Nothing, a line, the fields of one thing (those without a value are left out), or a table (an empty one is left out with its title). `keys`: which
 * members are shown, with blanks between them, by their titles; fields without keys are all shown, by their names.
 */
export type OutputBlock =
  | false
  | string
  | { readonly fields: object; readonly keys?: string }
  | { readonly title?: string; readonly rows: readonly object[]; readonly keys: string };

/** JSON; bigints as text, because many readers round them. */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each), indent);

/** Prints the data as JSON, or the blocks; returns the exit code. */
export function print(
  { out, json }: { readonly out: Sink; readonly json: boolean },
  data: unknown,
  blocks: readonly OutputBlock[],
  code: number = exit.ok,
): number {
  const lines = json ? [toJson(data, 2)] : blocks.flatMap((block) => linesOf(block, out));
  for (const line of lines[0] === '' ? lines.slice(1) : lines) out.line(line);
  return code;
}

/** The lines of one block. */
export function linesOf(block: OutputBlock, paper: Paper): readonly string[] {
  if (block === false) return [];
  if (typeof block === 'string') return [block];
  if ('fields' in block) return fieldsOf({ ...block.fields }, paper, block.keys);
  const { title, rows } = block;
  const keys = block.keys.split(' ');
  const cells = rows.map((row) => keys.map((key) => cellOf(key, row)));
  const heading = title === undefined ? [''] : ['', paper.paint('bold', title)];
  return rows.length === 0 ? [] : [...heading, ...grid(keys.map(titleOf), cells, paper)];
}

function fieldsOf(values: FieldValues, paper: Paper, keys?: string): readonly string[] {
  const all = keys?.split(' ') ?? Object.keys(values);
  const present = all.filter((key) => values[key] !== undefined && cellOf(key, values) !== '');
  const nameOf = (key: string): string => (keys ? titleOf(key).toLowerCase().replace('…', '') : key);
  const widest = Math.max(0, ...present.map((key) => nameOf(key).length));
  const room = Math.max(40, (paper.columns ?? Infinity) - widest - 2);
  return present.map((key) => {
    const cell = cellOf(key, values);
    return `${paper.paint('dim', nameOf(key).padEnd(widest))}  ${drawn(cell, paper, cut(plain(cell), room))}`;
  });
}

/** Titles that are not their key in capitals. Where the terminal is narrow, columns of those that end with `…` are cut first. */
const titles: Readonly<Record<string, string>> = {
  freshAt: 'AS OF',
  fullAt: 'LAST FULL READ',
  promiseSeconds: 'MAY BE OLD',
  target: 'TABLE',
  seconds: 'DURATION',
  counts: 'RECORDS',
  endpoint: 'READ FROM…',
  about: 'WHAT…',
  comment: 'WHAT…',
  reason: 'WHY…',
  message: 'WHY…',
  error: 'ERROR…',
  params: 'PARAMETERS…',
  record: 'RECORD…',
  found: 'FOUND, OR WHAT TO DO…',
};
const titleOf = (key: string): string =>
  titles[key] ??
  key
    .replace(/^.*\.|(At|Id)$/g, '')
    .replace(/[A-Z]/g, ' $&')
    .toUpperCase();

/** Numbers get thousands separators, null is a dash. Text is escaped when it is drawn. */
export type Cell = string | number | null | { readonly text: string; readonly style: Style };

/** A value as people read it. Its key says what it means; `pipeline.stream` is both, joined. */
function cellOf(key: string, row: object): Cell {
  const values: FieldValues = { ...row };
  const [first = '', second] = key.split('.');
  if (second !== undefined) return `${values[first]}.${values[second]}`;
  // A row of slices has the three numbers of its receipt itself.
  const own = typeof values.read === 'number' ? values : null;
  const value = values[key] ?? (key === 'receipt' ? own : undefined);
  if (value === null || value === undefined) return titles[key]?.endsWith('…') ? '' : null;
  if (value instanceof Date) return key.endsWith('At') ? relative(value, new Date()) : `${minute(value)} UTC`;
  if (typeof value === 'number') return /seconds$/i.test(key) ? duration(value) : value;
  if (typeof value === 'string')
    return /^(status|state|freshness)$/.test(key) ? { text: value, style: styleOf(value) } : value;
  const isObject = typeof value === 'object' && !(value instanceof ExactNumber);
  return isObject ? objectText(key, { ...value }) : String(value);
}

function objectText(key: string, value: FieldValues): string {
  const { exact, message, live, deleted, ...members } = value;
  if (key === 'receipt') return receiptText({ expected: null, read: 0, stored: 0, ...value });
  if (key === 'counts') return countsText(value);
  if (key === 'error') return String(message);
  if (key === 'rows')
    return `${exact === false ? '~' : ''}${count(Number(live))}${Number(deleted) > 0 ? `, ${count(Number(deleted))} deleted` : ''}`;
  if (key !== 'partition' && key !== 'parts') return toJson(value);
  return Object.entries(members)
    .map(([name, each]) => `${name} ${each}`)
    .join(', ');
}

/** At most this many columns of a terminal. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = text.slice(0, columns - 1);
  while (widthOf(kept) >= columns) kept = kept.slice(0, -1);
  return `${kept}…`;
}

/** The text of a cell, safe to print. */
const plain = (cell: Cell): string => {
  if (cell === null) return '–';
  return typeof cell === 'number' ? count(cell) : escaped(typeof cell === 'string' ? cell : cell.text);
};

const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60]/g;

/** Columns of a terminal that a text takes: Chinese, Japanese and Korean characters take two. */
const widthOf = (text: string): number => text.replace(wide, 'xx').length;

const drawn = (cell: Cell, { paint }: Paper, text = plain(cell)): string =>
  typeof cell === 'object' && cell !== null ? paint(cell.style, text) : text;

/** The lines of a table, titles first, without trailing blanks. Columns of numbers are aligned to the right. */
export function grid(titles: readonly string[], rows: readonly (readonly Cell[])[], paper: Paper) {
  const heads = titles.map((title): Cell => ({ text: title.replace('…', ''), style: 'dim' }));
  const all = [heads, ...rows];
  const full = titles.map((_, at) => Math.max(...all.map((row) => widthOf(plain(row[at] ?? null)))));
  const isRight = titles.map((_, at) => rows.every((row) => isNumber(row[at] ?? null)));
  const isLong = (at: number) => titles[at]?.endsWith('…') === true;
  const widths = fitting(full, paper.columns ?? Infinity, [isLong, (at) => !isRight[at]]);
  const draw = (cell: Cell, at: number): string => {
    const width = widths[at] ?? 0;
    const text = cut(plain(cell), width);
    const blanks = ' '.repeat(Math.max(0, width - widthOf(text)));
    return isRight[at] ? blanks + drawn(cell, paper, text) : drawn(cell, paper, text) + blanks;
  };
  return all.map((row) => row.map(draw).join('  ').trimEnd());
}

/** No column gets narrower than this by being cut. */
const narrowest = 8;

/** Widths of columns that fit a line: the widest are narrowed, first those of the first group. Numbers are never cut. */
function fitting(full: readonly number[], columns: number, groups: readonly ((at: number) => boolean)[]) {
  let widths = full;
  const isOver = () => widths.reduce((sum, width) => sum + width + 2, -2) > columns;
  for (const mayBeCut of groups)
    for (let most = Math.max(...full); most >= narrowest && isOver(); most -= 1)
      widths = widths.map((width, at) => (mayBeCut(at) ? Math.min(width, most) : width));
  return widths;
}

const isNumber = (cell: Cell): boolean =>
  cell === null || typeof cell === 'number' || (typeof cell === 'string' && /^[~-]?\d[\d,.]*$/.test(cell));

const styles: Readonly<Record<string, Style>> = {
  succeeded: 'green',
  ok: 'green',
  fresh: 'green',
  running: 'cyan',
  failed: 'red',
  lost: 'red',
  unavailable: 'dim',
  skipped: 'dim',
  excluded: 'dim',
  'not configured': 'dim',
};

/** Statuses that ask for a look are yellow. */
export const styleOf = (status: string): Style => styles[status] ?? 'yellow';
