/** The result of a run for people: one sentence if all is well, and the reasons if not; and several runs as one report. */
import { passesAfter } from '../core/errors.ts';
import { count, duration, escaped, plural } from '../core/format.ts';
import { addCounts, longestOf, noCounts, type RunKind, type RunReport, type RunStatus } from '../core/run.ts';
import { receiptText } from '../queries/summary-text.ts';
import { describe } from './exit.ts';
import { styleOf } from './output.ts';
import { outcome } from './progress.ts';
import type { Sink } from './terminal.ts';

const headlines: Partial<Record<RunStatus, string>> = {
  succeeded: 'complete.',
  interrupted: 'stopped; the next run continues from here.',
};

/** Lines of the summary, the sentence first. */
export function summary(report: RunReport, { paint }: Pick<Sink, 'paint'>): readonly string[] {
  const { pipeline, status, streams, runId, counts } = report;
  const headline = headlines[status] ?? `${status.replaceAll('_', ' ')}.`;
  const absent = streams.filter((each) => each.status === 'unavailable').map(({ stream }) => stream);
  const bad = streams.filter(
    (each) => !['ok', 'unavailable', 'skipped', 'interrupted'].includes(each.status),
  );
  return [
    `${paint('bold', pipeline)}: ${paint(styleOf(status), headline)} ${details(report)}`,
    ...(absent.length > 0 ? [`  The source has no ${absent.join(', ')}; see \`tidemark streams\`.`] : []),
    ...bad.map(({ stream, status, receipt, reason }) => {
      const numbers = status === 'partial' ? ` (${receiptText(receipt)})` : '';
      return `  ${paint('yellow', stream)}: ${status}${numbers}${reason === undefined ? '' : `: ${escaped(reason)}`}`;
    }),
    ...(counts.rejected > 0 ? ['  What was rejected, and why: `tidemark rejects list`.'] : []),
    ...(status === 'partly_failed'
      ? [`  Details: \`tidemark runs ${runId}\`. The next sync reads the missing parts again.`]
      : []),
  ];
}

function details(report: RunReport): string {
  const { status, runId, seconds, requests, retries } = report;
  const complete = report.streams.filter((stream) => stream.status === 'ok').length;
  const receipts =
    status === 'succeeded' && complete > 0 ? ` Receipts match for ${plural(complete, 'stream')}.` : '';
  const facts = [
    ...(runId === null ? [] : [`run ${runId}`]),
    duration(seconds),
    plural(requests, 'request'),
    ...(retries > 0 ? [plural(retries, 'retry', 'retries')] : []),
  ];
  return `${whatHappened(report)}${receipts} (${facts.join(', ')})`;
}

function whatHappened({ counts, deleted, streams, status, kind }: RunReport): string {
  const fetched = streams.reduce((sum, { receipt }) => sum + receipt.fetched, 0);
  if (counts.received + deleted + fetched === 0) return 'No records.';
  const changed = counts.inserted + counts.updated + counts.rejected + deleted;
  if (status !== 'succeeded' || changed > 0) return `${outcome({ counts, deleted, receipt: { fetched } })}.`;
  return kind === 'reconcile'
    ? `Nothing is deleted: ${plural(fetched, 'id')} compared.`
    : `Nothing changed: ${count(counts.received)} ${counts.received === 1 ? 'record' : 'records'} compared.`;
}

/** One of several runs: its report, or the error that ended it before it was a run. */
export type Part =
  | { readonly pipeline: string; readonly report: RunReport }
  | { readonly pipeline: string; readonly error: unknown };

/** Several runs as one report. It is `failed` only if every part failed. */
export function combinedReport(
  pipeline: string,
  kind: RunKind,
  parts: readonly Part[],
  seconds: number,
): RunReport {
  const reports = parts.flatMap((part) => ('report' in part ? [part.report] : []));
  const bad = parts.filter((part) => statusOf(part) !== 'succeeded');
  const sum = (of: 'deleted' | 'requests' | 'retries' | 'throttledMs'): number =>
    reports.reduce((total, report) => total + report[of], 0);
  const passesAfterMs = longestOf(
    bad.map((part) => ('report' in part ? part.report.passesAfterMs : passesAfter(part.error))),
  );
  return {
    runId: null,
    pipeline,
    kind,
    status: combinedStatus(parts.map(statusOf)),
    streams: [],
    counts: reports.reduce((total, { counts }) => addCounts(total, counts), noCounts),
    deleted: sum('deleted'),
    requests: sum('requests'),
    retries: sum('retries'),
    throttledMs: sum('throttledMs'),
    seconds,
    ...(passesAfterMs === undefined ? {} : { passesAfterMs }),
    ...(bad[0] && { error: { code: codeOf(bad[0]), message: bad.map(reasonOf).join('; ') } }),
  };
}

const statusOf = (part: Part): RunStatus => ('report' in part ? part.report.status : 'failed');

function combinedStatus(statuses: readonly RunStatus[]): RunStatus {
  const bad = statuses.filter((status) => status !== 'succeeded');
  if (bad.length === 0) return 'succeeded';
  const failed = bad.filter((status) => status === 'failed' || status === 'lost').length;
  if (failed === statuses.length) return 'failed';
  return failed === 0 && !bad.includes('partly_failed') && bad.includes('needs_attention')
    ? 'needs_attention'
    : 'partly_failed';
}

const codeOf = (part: Part): string =>
  'report' in part ? (part.report.error?.code ?? part.report.status) : describe(part.error).code;

const reasonOf = (part: Part): string => {
  if (!('report' in part)) return ofPipeline(part.pipeline, describe(part.error).message);
  const { kind, status, error } = part.report;
  return `${part.pipeline} ${kind} ${status.replaceAll('_', ' ')}${error === undefined ? '' : `: ${error.message}`}`;
};

/** The message with the name of the pipeline first, unless it begins with it. */
export const ofPipeline = (pipeline: string, message: string): string =>
  message.startsWith(`${pipeline}:`) || message.startsWith(`${pipeline}.`)
    ? message
    : `${pipeline}: ${message}`;
