/** CSV reports: a job at the platform, its file as it streams in, rows by name and day. */

import { UnexpectedContent } from '../../../core/errors.ts';
import { plural } from '../../../core/format.ts';
import type { Page, Reading, WalkEnd } from '../../../core/paging.ts';
import type { Json } from '../../../core/request.ts';
import type { ReadSide, Slice, SliceContext } from '../../../core/stream.ts';
import { type Block, openCsv } from '../../../reading/csv/csv.ts';
import { isEmpty, linesIn } from '../../../reading/csv/lines.ts';
import { recordsBy } from '../../../reading/csv/records.ts';
import { type Download, download } from '../../../reading/download.ts';
import { textAt } from '../../../reading/offset-list.ts';
import { awaitJob, type Jobs, type Ready, readyAgain } from '../../../reading/report-jobs.ts';
import { accountIn } from '../streams/of-account.ts';
import { createEndpoint, jobsOf, lookEndpoint, type Question, question, type Span } from './csv-job.ts';
import { type Columns, isShortTotal, judgeLines, type Kind, readColumns } from './csv-rows.ts';
import type { Reports } from './reports.ts';

/**
 * The one report that names cost models and budgets beside the numbers, and reaches back a year at once. It knows entities by name only. A job
 * is one slice, however many rows it has: nothing of it is held in memory.
 */
export const asyncReports = (reports: Reports): ReadSide => {
  const asked = question(reports.note);
  const told = onceEach(reports.note);
  return {
    by: 'days',
    name: 'async_reports',
    about:
      'CSV reports by day (UTC) and by the names of campaign, ad set and ad: every dimension and metric the platform exports. A day keeps the names that it was told by until it is read again. By its specification the platform leaves archived ads out, also of days on which they ran: a day that is read again then loses their rows, and sums belong to ads.report_daily.',
    endpoint: `POST ${createEndpoint}`,
    after: ['ad_accounts'],
    partitions: reports.accounts,
    days: {
      scope: reports.scope,
      column: 'day',
      start: reports.start,
      present: false,
      longest: 365,
      reread: reports.reread,
      // Never halved: one report is one file, and it is read as it streams in.
      rows: async () => 0,
      // Asked for, looked after for about a minute, fetched.
      requests: async () => 10,
      perSecond: reports.perSecond,
    },
    read: (slice, given, signal) => reading({ ...reports, note: told }, asked, slice, given, signal),
  };
};

const onceEach = (note: (message: string) => void): ((message: string) => void) => {
  const told = new Set<string>();
  return (message) => {
    if (!told.has(message)) note(message);
    told.add(message);
  };
};

const spanOf = ({ window }: Slice): Span => {
  if (window?.from === undefined || window.to === undefined)
    throw new Error('a slice of reports says which days it is');
  return { from: window.from, to: window.to };
};

function reading(
  reports: Reports,
  asked: Question,
  slice: Slice,
  given: SliceContext,
  signal: AbortSignal,
): Reading {
  const span = spanOf(slice);
  const jobs = jobsOf(reports, accountIn(slice), span, asked);
  let idOf: (record: Json) => string = () => '';

  async function* pages(): AsyncGenerator<Page, WalkEnd, void> {
    const found = await awaitJob(given.job, jobs, signal);
    try {
      return yield* rowsIn(found);
    } catch (error) {
      // It would be no other when the next run fetched it again: that is to ask for another report.
      if (error instanceof UnexpectedContent) await given.job.became('failed', error.message);
      throw error;
    }
  }
  async function* rowsIn(found: Ready): AsyncGenerator<Page, WalkEnd, void> {
    const bytes = fileOf(reports, jobs, found, given, signal);
    const file = await openCsv(lookEndpoint, bytes, { isFooter: isShortTotal });
    try {
      const columns = readColumns(lookEndpoint, file.header, [...asked.dimensions(), ...asked.metrics()]);
      if (columns.absent.length > 0)
        reports.note(`${lookEndpoint}: asked for, but not in the report: ${columns.absent.join(', ')}`);
      idOf = identity(columns, file.header);
      const days = { from: span.from.toISOString().slice(0, 10), to: span.to.toISOString().slice(0, 10) };
      const pageOf = pagesBy(columns, file.header, days);
      const counts: Record<Kind, number> = { row: 0, behind: 0, outside: 0, footer: 0, nothing: 0 };
      for await (const block of file.blocks) yield pageOf(block, counts);
      if (counts.row === 0 && counts.outside > 0)
        throw new UnexpectedContent(
          `${lookEndpoint}: the report has ${plural(counts.outside, 'row')}, none of ${days.from} to ${days.to} (exclusive): it is another one than was asked for`,
        );
      tell(reports.note, counts, days);
      // Where that is doubted and asked about again, the same file would only say it again.
      if (counts.row === 0)
        await given.job.became('abandoned', 'it has no rows: who asks again gets another report');
      return { expected: null, fetched: counts.row, passes: 1, moved: 0, matched: true };
    } finally {
      await file.close();
    }
  }

  return {
    pages: pages(),
    id: (record) => idOf(record),
    bytes: bytesOf(),
  };
}

/** The line of a record. Rejects come several to a page: its lines are found once. */
const bytesOf = (): Reading['bytes'] => {
  let page: Page | undefined;
  let lines: readonly Buffer[] = [];
  return (record, of) => {
    if (of !== page) lines = linesIn(of.raw);
    page = of;
    const index = of.records.indexOf(record);
    return lines[of.places?.[index] ?? index] ?? of.raw;
  };
};

/** The bytes of a report that is ready. */
async function* fileOf(
  reports: Reports,
  jobs: Jobs,
  found: Ready,
  { job }: SliceContext,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  const { http, hosts, proxies, downloads, time } = reports;
  let address: string | undefined = found.address;
  const options: Download = {
    what: lookEndpoint,
    address: async (until) => {
      const known = address ?? (await readyAgain(job, jobs, found.id, until));
      address = undefined;
      return known;
    },
    places: { own: http.origin, hosts },
    counters: http.counters,
    ...(proxies !== undefined && { proxies }),
    ...(downloads !== undefined && { limits: downloads }),
    ...(time?.random !== undefined && { random: time.random }),
    ...(time?.sleep !== undefined && { sleep: time.sleep }),
  };
  yield* download(options, signal);
}

/** Makes pages of blocks: the rows that were asked for as records; all lines are counted by kind. */
const pagesBy = (
  columns: Columns,
  header: readonly string[],
  days: { readonly from: string; readonly to: string },
): ((block: Block, counts: Record<Kind, number>) => Page) => {
  const judge = judgeLines(columns, days);
  const recordOf = recordsBy(header);
  return ({ lines, raw, last }, counts) => {
    const records: Json[] = [];
    const places: number[] = [];
    const final = last ? lines.findLastIndex((line) => !isEmpty(line)) : -1;
    lines.forEach((line, place) => {
      const kind = judge(line, place === final);
      counts[kind]++;
      if (kind !== 'row') return;
      records.push(recordOf(line));
      places.push(place);
    });
    return {
      records,
      places,
      raw,
      total: undefined,
      date: undefined,
      receivedAt: performance.now(),
      offset: undefined,
      last,
    };
  };
};

/** Day and names, for people. */
const identity = ({ day, names }: Columns, header: readonly string[]): ((record: Json) => string) => {
  const keys = [day, ...names].flatMap((place) => header[place] ?? []);
  return (record) => {
    const parts = keys.map((key) => textAt(record, key) ?? '');
    return parts.every((part) => part === '') ? '' : parts.join('/').slice(0, 300);
  };
};

const tell = (
  note: (message: string) => void,
  { behind, outside, footer }: Readonly<Record<Kind, number>>,
  { from, to }: { readonly from: string; readonly to: string },
): void => {
  if (behind + outside > 0)
    note(
      `${lookEndpoint}: ${behind + outside} rows are of days outside ${from} to ${to} (exclusive); they were left out`,
    );
  if (footer > 0)
    note(
      `${lookEndpoint}: the report has ${footer} ${footer === 1 ? 'line' : 'lines'} of totals, which are no rows; left out`,
    );
};
