/** What came of a run, for people: one sentence if all is well, and the reasons if not. */
import type { RunReport, StreamReport } from '../core/run.ts';
import { outcome } from './progress/state.ts';
import type { Sink, Style } from './terminal.ts';
import { count, duration, escaped, plural } from './text.ts';

/** Lines of the summary, the sentence first. */
export function summary(report: RunReport, sink: Pick<Sink, 'paint'>): readonly string[] {
  const bad = report.streams.filter((stream) => !fine.includes(stream.status));
  const [word, style] = words[report.status];
  return [
    `${sink.paint('bold', report.pipeline)}: ${sink.paint(style, word)} ${sentence(report)}`,
    ...absent(report),
    ...bad.map((stream) => `  ${sink.paint('yellow', stream.stream)}: ${stream.status}${because(stream)}`),
    ...advice(report),
  ];
}

const fine: readonly StreamReport['status'][] = ['ok', 'unavailable', 'skipped', 'interrupted'];

const words: Readonly<Record<RunReport['status'], readonly [string, Style]>> = {
  running: ['still running.', 'cyan'],
  succeeded: ['complete.', 'green'],
  partly_failed: ['partly failed.', 'yellow'],
  failed: ['failed.', 'red'],
  interrupted: ['stopped; the next run goes on from here.', 'yellow'],
  lost: ['lost.', 'red'],
  needs_attention: ['needs attention.', 'yellow'],
};

function sentence(report: RunReport): string {
  const complete = report.streams.filter((stream) => stream.status === 'ok');
  const what = whatHappened(report);
  const receipts =
    report.status === 'succeeded' && complete.length > 0
      ? ` Receipts match for ${complete.length === 1 ? `stream ${complete[0]?.stream}` : `all ${complete.length} streams`}.`
      : '';
  const retries = report.retries > 0 ? `, ${plural(report.retries, 'retry', 'retries')}` : '';
  const run = report.runId === null ? '' : `run ${report.runId}, `;
  return `${what}${receipts} (${run}${duration(report.seconds)}, ${plural(report.requests, 'request')}${retries})`;
}

function whatHappened(report: RunReport): string {
  const { counts, deleted } = report;
  const fetched = report.streams.reduce((sum, stream) => sum + stream.receipt.fetched, 0);
  const changed = counts.inserted + counts.updated + deleted + counts.rejected;
  if (counts.received + deleted + fetched === 0) return 'No records.';
  if (report.status !== 'succeeded' || changed > 0)
    return `${outcome({ counts, deleted, receipt: { expected: null, fetched, landed: fetched } })}.`;
  return report.kind === 'reconcile'
    ? `Nothing is gone: ${plural(fetched, 'id')} compared.`
    : `Nothing changed: ${plural(counts.received, 'record')} compared.`;
}

function absent(report: RunReport): readonly string[] {
  const names = report.streams
    .filter((stream) => stream.status === 'unavailable')
    .map((stream) => stream.stream);
  return names.length === 0 ? [] : [`  The source has no ${names.join(', ')}; see \`tidemark streams\`.`];
}

function because(stream: StreamReport): string {
  const { expected, fetched, landed } = stream.receipt;
  const receipt =
    stream.status === 'partial'
      ? ` (expected ${expected === null ? 'not stated' : count(expected)}, fetched ${count(fetched)}, landed ${count(landed)})`
      : '';
  return `${receipt}${stream.reason === undefined ? '' : `: ${escaped(stream.reason)}`}`;
}

function advice(report: RunReport): readonly string[] {
  return [
    ...(report.counts.rejected > 0 ? ['  What was rejected, and why: `tidemark rejects list`.'] : []),
    ...(report.status === 'partly_failed'
      ? [`  Details: \`tidemark runs ${report.runId}\`. The next sync reads the missing parts again.`]
      : []),
  ];
}
