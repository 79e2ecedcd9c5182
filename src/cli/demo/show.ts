/** The demo's last page. */
import type { RunReport } from '../../core/run.ts';
import { receiptText } from '../../queries/summary-text.ts';
import { outcome } from '../progress/state.ts';
import { type Cell, table } from '../table.ts';
import type { Sink } from '../terminal.ts';
import { count, duration, plural } from '../text.ts';
import { type Facts, isTrue } from './facts.ts';

/** Writes the summary a newcomer understands. */
export function show(out: Sink, facts: Facts, runs: readonly (readonly [string, RunReport])[]): void {
  const lines = (texts: readonly string[]) => {
    for (const text of texts) out.line(text);
  };
  const title = (text: string) => {
    out.line();
    out.line(out.paint('bold', text));
  };
  const rows = facts.tables.reduce((sum, each) => sum + each.rows, 0);
  out.line(
    isTrue(facts)
      ? out.paint(
          'green',
          `The warehouse equals the source: ${plural(rows, 'row')} in ${facts.tables.length} tables.`,
        )
      : out.paint('red', 'The warehouse does not equal the source; see below.'),
  );
  title('What ran');
  lines(
    table(
      [
        { title: 'RUN' },
        { title: 'WHAT' },
        { title: 'TOOK', align: 'right' },
        { title: 'REQUESTS', align: 'right' },
        { title: 'OUTCOME' },
      ],
      runs.map(([what, report]) => [
        report.runId,
        what,
        duration(report.seconds),
        report.requests,
        whatCame(report),
      ]),
      out,
    ),
  );
  title('Rows by table');
  lines(
    table(
      [
        { title: 'TABLE' },
        { title: 'ROWS' },
        { title: 'DELETED' },
        { title: 'WHAT IT HOLDS', flexible: true },
      ],
      facts.tables.map((each) => [each.table, each.rows, each.deleted, each.about]),
      out,
    ),
  );
  title('Receipts of the first sync');
  lines(
    table(
      [{ title: 'STREAM' }, { title: 'EXPECTED = FETCHED = LANDED', align: 'right' }],
      facts.receipts.map((each) => [each.stream, receiptText(each)]),
      out,
    ),
  );
  title("The source's own count beside the warehouse's, after everything");
  lines(
    table(
      [
        { title: 'WHAT' },
        { title: 'SOURCE', align: 'right' },
        { title: 'WAREHOUSE', align: 'right' },
        { title: '' },
      ],
      facts.compared.map(({ what, source, warehouse }) => [
        ...[what, cell(source), cell(warehouse), tick(source === warehouse)],
      ]),
      out,
    ),
  );
  title('What changed at the source, and what the warehouse says of it now');
  lines(
    table(
      [{ title: 'AT THE SOURCE' }, { title: '' }, { title: 'IN THE WAREHOUSE', flexible: true }],
      facts.changes.map((each) => [each.what, tick(each.found !== null), each.found ?? 'nothing']),
      out,
    ),
  );
  for (const answer of facts.answers) {
    title(answer.title);
    lines(answer.sql.split('\n').map((line) => out.paint('dim', `  ${line}`)));
    const heads = answer.columns.map((name, at) => ({
      title: name,
      align: isNumber(answer.rows[0]?.[at]) ? ('right' as const) : ('left' as const),
    }));
    lines(
      table(
        heads,
        answer.rows.map((row) => row.map(cell)),
        out,
      ),
    );
  }
}

const whatCame = (report: RunReport): string => {
  const fetched = report.streams.reduce((sum, stream) => sum + stream.receipt.fetched, 0);
  return `${report.status.replaceAll('_', ' ')}: ${outcome({ ...report, receipt: { expected: null, fetched, landed: fetched } })}`;
};

const tick = (right: boolean): Cell => (right ? { text: '✓', style: 'green' } : { text: '✗', style: 'red' });

/** Counts and decimals come as text, so that none loses a digit. */
const isNumber = (value: unknown): boolean => typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value);

/** Decimals keep their digits; thousands are separated. */
const cell = (value: unknown): Cell => {
  if (value === null || value === undefined) return null;
  const text = String(value);
  return isNumber(value) ? text.replace(/^-?\d+/, (whole) => count(BigInt(whole))) : text;
};
