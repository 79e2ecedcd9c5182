/** CSV reports: a job at the platform, and its file as it streams in. Entities are current by name only. */

import { caught, Missing, Refused, UnexpectedContent } from '../../../core/errors.ts';
import { plural } from '../../../core/format.ts';
import type { JobLedger, Json, Page, ReadSide, Slice, SliceReading, WalkEnd } from '../../../core/stream.ts';
import { days } from '../../../core/time.ts';
import { type Block, openCsv } from '../../../reading/csv/csv.ts';
import { cellOf, isEmpty, type Line } from '../../../reading/csv/lines.ts';
import { download } from '../../../reading/download.ts';
import { awaitJob, type Jobs, type Look, type Ready, readyAgain } from '../../../reading/report-jobs.ts';
import { get, textAt } from '../../../reading/requests.ts';
import { accountOf, accounts, ofAccount } from '../ads.ts';
import { csvDimensions, nameOfRow, readHeader } from '../csv-rows.ts';
import { fieldsOf } from '../metrics.ts';
import { daysOf, dayText, type Reports } from './request.ts';

const createEndpoint = '/ad_accounts/{id}/async_reports';
const lookEndpoint = '/ad_accounts/{id}/async_reports/{report_id}';

/** Given in full: the vendor's default is ACTIVE alone, and spend of what has ended is spend. */
const allStatuses = ['ACTIVE', 'COMPLETED', 'STOPPED', 'PAUSED', 'PENDING_APPROVAL', 'REJECTED'];
/** Those that are valid for ads, which the rows are of (OpenAPI, CreateAsyncReportRequest). */
const adStatuses = ['ACTIVE', 'PENDING_APPROVAL', 'REJECTED'];

/** The one report with cost models and budgets beside the numbers, a year at once. A job is one slice; nothing of it is held in memory. */
export const asyncReports = (reports: Reports): ReadSide => ({
  by: 'days',
  name: 'async_reports',
  about:
    'CSV reports by day (UTC) and by the names of campaign, ad set and ad: every dimension and metric the platform exports. A day keeps the names of its last reading. By its specification the platform leaves archived ads out, also of days on which they ran: a day that is read again then loses their rows, so take sums from ads.report_daily.',
  endpoint: `POST ${createEndpoint}`,
  after: ['ad_accounts'],
  partitions: accounts(reports),
  days: {
    ...reports.days,
    column: 'day',
    present: false,
    longest: 365,
    // Never halved: one report is one file, and it is read as it streams in.
    rows: async () => 0,
  },
  // Created, looked after for about a minute, fetched.
  requests: async () => 10,
  read: (slice, { job }, signal) => ({
    pages: pagesOf(reports, slice, job, signal),
    id: nameOfRow,
    bytes: bytesOf,
  }),
});

async function* pagesOf(
  reports: Reports,
  slice: Slice,
  ledger: JobLedger,
  signal: AbortSignal,
): AsyncGenerator<Page, WalkEnd, void> {
  const jobs = jobsOf(reports, slice);
  const job = await awaitJob(ledger, jobs, signal);
  try {
    const file = await openCsv(lookEndpoint, fileOf(reports, jobs, job, ledger, signal));
    try {
      const { day, absent } = readHeader(lookEndpoint, file.header);
      if (absent.length > 0)
        reports.note(`${lookEndpoint}: requested, but not in the report: ${absent.join(', ')}`);
      const read = yield* rowsOf(reports, file.blocks, day, slice);
      // The engine asks about an empty answer again, and the same file would only repeat it.
      if (read === 0) await ledger.became('abandoned', 'it has no rows');
      return { expected: null, read, passes: 1, matched: true };
    } finally {
      await file.close();
    }
  } catch (error) {
    // The same file would fail again: the next run creates another report.
    if (error instanceof UnexpectedContent) await ledger.became('failed', error.message);
    throw error;
  }
}

/** The rows of the slice's days; returns how many. Throws `UnexpectedContent` where there are only rows of other days. */
async function* rowsOf({ note }: Reports, blocks: AsyncIterable<Block>, day: number, slice: Slice) {
  const { from, to } = daysOf(slice);
  const first = dayText(from);
  const end = dayText(to);
  // What is no day is for the transform to reject.
  const isOutside = (line: Line): boolean => {
    const text = line.count === line.header.length ? cellOf(line, day).slice(0, 10) : '';
    return (text < first || text >= end) && /^\d{4}-\d{2}-\d{2}$/.test(text);
  };
  let read = 0;
  let outside = 0;
  for await (const { lines } of blocks) {
    const given = lines.filter((line) => !isEmpty(line));
    const records = given.filter((line) => !isOutside(line));
    outside += given.length - records.length;
    read += records.length;
    yield { records, raw: noBytes };
  }
  const days = `${first} to ${end} (exclusive)`;
  if (read === 0 && outside > 0)
    throw new UnexpectedContent(`${lookEndpoint}: the report has ${plural(outside, 'row')}, none of ${days}`);
  if (outside > 0) note(`${lookEndpoint}: ${outside} rows are of days outside ${days}; they were left out`);
  return read;
}

/** A page of a file has no answer of its own: each line has its text. */
const noBytes = Buffer.alloc(0);

const bytesOf: SliceReading['bytes'] = (record) => {
  const { text, from, to } = record as Line;
  return Buffer.from(text.slice(from, to));
};

/** The bytes of a report that is ready; its address is asked for again once it has expired. */
const fileOf = (
  { http, hosts, proxies, download: options }: Reports,
  jobs: Jobs,
  { id, address: first }: Ready,
  ledger: JobLedger,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, void> => {
  let address: string | undefined = first;
  return download(
    {
      what: lookEndpoint,
      address: async (until) => {
        const current = address ?? (await readyAgain(ledger, jobs, id, until));
        address = undefined;
        return current;
      },
      hosts: { own: http.origin, hosts },
      counters: http.counters,
      ...(proxies && { proxies }),
      ...options,
    },
    signal,
  );
};

/** The jobs of one account and its days. */
const jobsOf = ({ http, note, jobs }: Reports, slice: Slice): Jobs => {
  const account = accountOf(slice);
  const { from, to } = daysOf(slice);
  const first = dayText(from);
  // The vendor's end is inclusive.
  const last = dayText(new Date(to.getTime() - days(1)));
  const create = (statuses: readonly string[], signal: AbortSignal) => {
    const body = {
      name: `tidemark-${first}-${last}`,
      granularity: 'DAY',
      dimensions: csvDimensions,
      metrics: fieldsOf('csv'),
      statuses,
      report_start: `${first}T00:00:00Z`,
      report_end: `${last}T00:00:00Z`,
    };
    const path = ofAccount(account, '/async_reports');
    return http.send({ method: 'POST', path, endpoint: createEndpoint, idempotent: false, body }, signal);
  };
  return {
    what: createEndpoint,
    request: `DAY ${first} to ${last}`,
    async create(signal) {
      const { body } = await create(allStatuses, signal).catch((error: unknown) => {
        // "Not every status is valid for each entity type" (OpenAPI, CreateAsyncReportRequest).
        if (!(error instanceof Refused) || !/status/i.test(error.messages.join(' '))) throw error;
        note(`${createEndpoint}: refused for its statuses; requested with ${adStatuses.join(', ')} alone`);
        return create(adStatuses, signal);
      });
      const id = textAt(body, 'id');
      if (id) return id;
      throw new UnexpectedContent(`${createEndpoint}: the answer names no report: it has no id`);
    },
    async look(id, signal) {
      const path = ofAccount(account, `/async_reports/${encodeURIComponent(id)}`);
      const answer = await http.send(get(path, undefined, lookEndpoint), signal).catch(caught(Missing));
      return answer instanceof Missing ? { is: 'gone', reason: answer.message } : lookOf(answer.body);
    },
    ...jobs,
  };
};

/** States by the vendor's words (OpenAPI, AsyncReportStatus). Other words mean that the report is being made. */
const lookOf = (body: Json): Look => {
  const status = textAt(body, 'status');
  const address = textAt(body, 'report_url');
  if (status === undefined) throw new UnexpectedContent(`${lookEndpoint}: the answer has no status`);
  if (status === 'FAILED') return { is: 'failed', reason: 'the platform says FAILED' };
  if (status === 'EXPIRED') return { is: 'expired', reason: 'the platform says EXPIRED' };
  // Some servers give the address a moment after the state.
  return status === 'READY' && address ? { is: 'ready', address } : { is: 'working' };
};
