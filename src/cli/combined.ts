/** What came of several runs together. */

import { passesAfter } from '../core/errors.ts';
import { addCounts, longestOf, noCounts, type RunKind, type RunReport, type RunStatus } from '../core/run.ts';
import { said } from './exit.ts';
import { ofPipeline } from './running.ts';

/** One of them: its report, or what kept it from being a run. */
export type Part =
  | { readonly pipeline: string; readonly report: RunReport }
  | { readonly pipeline: string; readonly error: unknown };

/** The gravest first; `failed` only where nothing went well. */
const worst: readonly RunStatus[] = ['partly_failed', 'needs_attention'];

export function combinedReport(
  pipeline: string,
  kind: RunKind,
  parts: readonly Part[],
  seconds: number,
): RunReport {
  const reports = parts.flatMap((part) => ('report' in part ? [part.report] : []));
  const bad = parts.filter((part) => !('report' in part) || part.report.status !== 'succeeded');
  const isFailed = (part: Part): boolean =>
    !('report' in part) || part.report.status === 'failed' || part.report.status === 'lost';
  const sum = (of: (report: RunReport) => number): number =>
    reports.reduce((total, report) => total + of(report), 0);
  const status: RunStatus =
    bad.length === 0
      ? 'succeeded'
      : parts.every(isFailed)
        ? 'failed'
        : bad.some(isFailed)
          ? 'partly_failed'
          : (worst.find((each) => reports.some((report) => report.status === each)) ?? 'partly_failed');
  const passesAfterMs = longestOf(
    bad.map((part) => ('report' in part ? part.report.passesAfterMs : passesAfter(part.error))),
  );
  return {
    runId: null,
    pipeline,
    kind,
    status,
    streams: [],
    counts: reports.reduce((total, { counts }) => addCounts(total, counts), noCounts),
    deleted: sum((report) => report.deleted),
    requests: sum((report) => report.requests),
    retries: sum((report) => report.retries),
    throttledMs: sum((report) => report.throttledMs),
    seconds,
    ...(passesAfterMs === undefined ? {} : { passesAfterMs }),
    ...(bad.length === 0 ? {} : { error: { code: codeOf(bad), message: bad.map(sentence).join('; ') } }),
  };
}

function codeOf([first]: readonly Part[]): string {
  if (first === undefined) return 'failed';
  return 'report' in first ? (first.report.error?.code ?? first.report.status) : said(first.error).code;
}

const sentence = (part: Part): string =>
  'report' in part
    ? `${part.pipeline} ${part.report.kind} ${part.report.status.replaceAll('_', ' ')}${part.report.error === undefined ? '' : `: ${part.report.error.message}`}`
    : ofPipeline(part.pipeline, said(part.error).message);
