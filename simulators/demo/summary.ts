/** The facts as the tables of the demo's last page. */
import { count, duration, plural } from '../../src/core/format.ts';
import type { RunReport } from '../../src/core/run.ts';
import { type Facts, isTrue } from './facts.ts';
import type { Ran } from './story.ts';

interface Styled {
  readonly text: string;
  readonly style: 'green' | 'red';
}

/** A cell of a table; null prints as a dash. */
export type Cell = string | number | null | Styled;

/** One table under a title. */
interface Section {
  readonly title: string;
  /** Shown without `--verbose`, too. */
  readonly always?: true | undefined;
  /** The query that returned the rows, shown above them with `--verbose`. */
  readonly sql?: string;
  readonly columns: readonly {
    readonly title: string;
    readonly align?: 'left' | 'right';
    /** May be cut where the terminal is narrow. */
    readonly flexible?: boolean;
  }[];
  readonly rows: readonly (readonly Cell[])[];
}

/** The first line: does the warehouse equal the sources? */
function verdict(facts: Facts): Styled {
  const rows = facts.tables.reduce((sum, each) => sum + each.rows, 0);
  return isTrue(facts)
    ? {
        text: `The warehouse equals the source: ${plural(rows, 'row')} in ${facts.tables.length} tables.`,
        style: 'green',
      }
    : { text: 'The warehouse does not equal the source; see below.', style: 'red' };
}

/** The tables, in the order in which they are shown. */
const sections = (facts: Facts): readonly Section[] => [
  {
    title: 'Rows by table',
    columns: [
      { title: 'TABLE' },
      { title: 'ROWS' },
      { title: 'DELETED' },
      { title: 'WHAT IT HOLDS', flexible: true },
    ],
    rows: facts.tables.map((each) => [each.table, each.rows, each.deleted, each.about]),
  },
  {
    title: 'Receipts of the first sync',
    columns: [{ title: 'STREAM' }, ...['EXPECTED', 'FETCHED', 'LANDED'].map(numbers)],
    rows: facts.receipts.map((each) => [each.stream, each.expected, each.read, each.stored]),
  },
  {
    title: "The source's own count beside the warehouse's, after everything",
    always: true,
    columns: [{ title: 'WHAT' }, numbers('SOURCE'), numbers('WAREHOUSE'), { title: '' }],
    rows: facts.compared.map(({ what, source, warehouse }) => [
      what,
      cell(source),
      cell(warehouse),
      tick(source === warehouse),
    ]),
  },
  {
    title: 'What changed at the source, and what the warehouse holds of it now',
    always: true,
    columns: [
      { title: 'AT THE SOURCE', flexible: true },
      { title: '' },
      { title: 'IN THE WAREHOUSE', flexible: true },
    ],
    rows: facts.changes.map((each) => [each.what, tick(each.found !== null), each.found ?? 'nothing']),
  },
  ...facts.answers.map(answered),
];

const answered = ({ title, always, sql, columns, rows }: Facts['answers'][number]): Section => ({
  title,
  always,
  sql,
  columns: columns.map((name, at) => (isNumber(rows[0]?.[at]) ? numbers(name) : { title: name })),
  rows: rows.map((row) => row.map(cell)),
});

const numbers = (title: string): Section['columns'][number] => ({ title, align: 'right' });

const tick = (right: boolean): Cell => (right ? { text: '✓', style: 'green' } : { text: '✗', style: 'red' });

/** Postgres returns counts and decimals as text, so that no digit is lost. */
const isNumber = (value: unknown): boolean => typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value);

/** Decimals keep their digits; thousands are separated. */
const cell = (value: unknown): Cell => {
  if (typeof value === 'number') return value;
  if (value === null || value === undefined) return null;
  const text = String(value);
  return isNumber(value) ? text.replace(/^-?\d+/, (whole) => count(BigInt(whole))) : text;
};

/** How the last page is drawn. */
interface Paper {
  /** False: only the sections that are always shown; they and the progress fit 80 lines of 80 columns. */
  readonly verbose: boolean;
  /** Lines of a table; a title that ends with `…` may be cut. */
  readonly draw: (titles: readonly string[], rows: readonly (readonly Cell[])[]) => readonly string[];
  readonly paint: (style: 'bold' | 'dim' | 'green' | 'red', text: string) => string;
  /** What came of a run, in words. */
  readonly outcomeOf: (report: RunReport) => string;
  /** Leaves out how to go on. */
  readonly quiet: boolean;
  /** Where the warehouse's data is. */
  readonly home: string;
  /** Connection string of a warehouse that stays open. */
  readonly url: string | undefined;
  /** DATABASE_URL is set. */
  readonly hasOther: boolean;
}

/** The lines of the demo's last page. */
export function lastPage(facts: Facts, runs: readonly Ran[], paper: Paper): readonly string[] {
  const { text, style } = verdict(facts);
  const further = paper.quiet ? [] : goOn(paper);
  return [paper.paint(style, text), ...tables(facts, runs, paper), ...further];
}

function tables(
  facts: Facts,
  runs: readonly Ran[],
  { verbose, draw, paint, outcomeOf }: Paper,
): readonly string[] {
  const ran: Section = {
    title: 'What ran',
    columns: ['RUN', 'WHAT', 'TOOK', 'REQUESTS', 'OUTCOME'].map((title) => ({ title })),
    rows: runs.map(({ what, report }) => [
      report.runId,
      what,
      duration(report.seconds),
      report.requests,
      outcomeOf(report),
    ]),
  };
  const shown = [ran, ...sections(facts)].filter(({ always }) => always || verbose);
  return [
    ...shown.flatMap(({ title, sql, columns, rows }) => [
      `\n${paint('bold', title)}`,
      ...(verbose && sql ? sql.split('\n').map((line) => paint('dim', `  ${line}`)) : []),
      ...draw(
        columns.map((column) => `${column.title}${column.flexible ? '…' : ''}`),
        rows,
      ),
    ]),
    ...(verbose ? [] : ['\nWith --verbose: every run, table, receipt and question, with its SQL.']),
  ];
}

/** How to look at the warehouse. */
function goOn({ home, url, hasOther }: Paper): readonly string[] {
  const word = /^[\w@%+=:,./-]+$/.test(home) ? home : `'${home.replaceAll("'", `'\\''`)}'`;
  const command = `  TIDEMARK_HOME=${word} npx tidemark`;
  return [
    '\nGo on',
    ...(hasOther ? ['  DATABASE_URL is set: remove it from the environment and .env for these.'] : []),
    url === undefined ? `${command} warehouse  # for psql and BI tools` : `  psql '${url}'`,
    `${command} status     # also: runs, streams`,
    `${command} serve      # http://127.0.0.1:8080`,
    '  Your own sources: `npx tidemark init`, fill in .env, and run npm start.',
  ];
}
