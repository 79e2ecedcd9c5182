/** Report jobs and the storage that their CSV files are fetched from: another origin, which wants no credentials. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Answer, Call, Route } from '../shared/http.ts';
import { adDay, fieldsOf } from './metrics.ts';
import type { Site } from './site.ts';
import { type AdsState, uuid } from './state.ts';

export interface CsvOptions {
  /** How often a job is PROCESSING before it is READY. Default 1. */
  readonly polls?: number;
  /** So many copies of every row, under other ad names: large reports. Default 1. */
  readonly copies?: number;
}

/** How a file is spoiled; for tests, set and cleared between runs. */
export interface Spoiling {
  bom?: boolean;
  crlf?: boolean;
  /** A last line of totals. */
  footer?: boolean;
  /** Columns in reverse order, and one that nobody knows. */
  reordered?: boolean;
  /** Leaves this column out. */
  without?: string;
  /** The n-th line has a cell too few. */
  ragged?: number;
  /** Ends the file after so many lines, in the middle of one, without the connection being cut. */
  truncated?: number;
  /** The address has expired: 403 with XML, so often. */
  expired?: number;
}

interface Job {
  readonly id: string;
  readonly accountId: string;
  readonly asked: Readonly<Record<string, unknown>>;
  polls: number;
  status: string | undefined;
}

export interface Storage {
  readonly origin: string;
  readonly jobs: Map<string, Job>;
  readonly options: CsvOptions;
  /** What the next jobs become, instead of READY, in order. */
  readonly outcomes: string[];
  readonly spoiling: Spoiling;
  /** Requests that carried credentials or the tracking header: there must be none. */
  readonly leaked: readonly string[];
  readonly downloads: number;
  close(): Promise<void>;
}

export const csvRoutes = (site: Site, storage: Storage): readonly Route[] => [
  {
    method: 'POST',
    path: '/ad_accounts/{id}/async_reports',
    promised: true,
    handle: (call) => create(site, storage, call),
  },
  {
    method: 'GET',
    path: '/ad_accounts/{id}/async_reports/{report}',
    promised: true,
    handle: (call) => status(site, storage, call),
  },
];

function create(site: Site, storage: Storage, call: Call): Answer {
  const owner = site.owner(call);
  const asked: Readonly<Record<string, unknown>> = JSON.parse(call.body.toString());
  for (const field of ['name', 'granularity', 'dimensions', 'metrics'])
    if (asked[field] === undefined) throw site.refused(400, `${field} is required`, 'ILLEGAL.REPORT');
  if (!/^[A-Za-z0-9_-]{2,120}$/.test(String(asked.name))) throw site.refused(400, 'name', 'ILLEGAL.NAME');
  const days = (Date.parse(String(asked.report_end)) - Date.parse(String(asked.report_start))) / 86_400_000;
  if (asked.granularity === 'DAY' && !(days >= 0 && days <= 365))
    throw site.refused(400, 'at most 365 days', 'ILLEGAL.DATES');
  const id = uuid(site.state.seed + 99, storage.jobs.size);
  storage.jobs.set(id, { id, accountId: owner.id, asked, polls: 0, status: storage.outcomes.shift() });
  return site.json({ id }, 201);
}

function status(site: Site, storage: Storage, call: Call): Answer {
  site.owner(call);
  const job = storage.jobs.get(call.params.report ?? '');
  if (job === undefined) throw site.refused(404, 'The report was not found.', 'NOT_FOUND');
  job.polls += 1;
  const submitted_at = '2024-01-01T00:00:00Z';
  if (job.polls <= (storage.options.polls ?? 1)) return site.json({ status: 'PROCESSING', submitted_at });
  if (job.status !== undefined) return site.json({ status: job.status, submitted_at });
  return site.json({
    status: 'READY',
    submitted_at,
    completed_at: submitted_at,
    report_url: `${storage.origin}/reports/${job.id}.csv?signature=${job.polls}`,
  });
}

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** The rows of a job, one line at a time. */
function* lines(state: AdsState, job: Job, options: CsvOptions, spoiling: Spoiling): Generator<string> {
  const dimensions = list(job.asked.dimensions);
  const metrics = list(job.asked.metrics);
  const columns = ['DATE', ...dimensions, ...metrics].filter((one) => one !== spoiling.without);
  const shown = spoiling.reordered ? ['MYSTERY', ...columns.toReversed()] : columns;
  yield shown.join(',');
  const from = Date.parse(String(job.asked.report_start));
  const to = Date.parse(String(job.asked.report_end)) + 86_400_000;
  const ads = [...state.ads.values()].filter((ad) => ad.accountId === job.accountId);
  let count = 0;
  for (let at = from; at < to; at += 86_400_000)
    for (const ad of ads) {
      const sums = adDay(state, ad, at);
      if (sums === undefined) continue;
      const adSet = state.adSets.get(ad.adSetId);
      const campaign = state.campaigns.get(adSet?.campaignId ?? '');
      const numbers = fieldsOf(sums);
      const cells: Readonly<Record<string, string>> = {
        ...numbers,
        IMPRESSIONS_ON_SPOTIFY: numbers.IMPRESSIONS ?? '',
        AD_COMPLETES: numbers.COMPLETES ?? '',
        IMPRESSIONS: '',
        COMPLETES: '',
        DATE: new Date(at).toISOString().slice(0, 10),
        AD_ACCOUNT_NAME: state.accounts.get(job.accountId)?.name ?? '',
        AD_ACCOUNT_CURRENCY: state.accounts.get(job.accountId)?.currency ?? '',
        CAMPAIGN_NAME: campaign?.name ?? '',
        CAMPAIGN_STATUS: campaign?.status ?? '',
        AD_SET_NAME: adSet?.name ?? '',
        AD_SET_STATUS: adSet?.status ?? '',
        MYSTERY: '42',
      };
      for (let copy = 0; copy < (options.copies ?? 1); copy += 1) {
        const name = copy === 0 ? ad.name : `${ad.name} ${copy}`;
        count += 1;
        const row = shown.map((column) => quoted(column === 'AD_NAME' ? name : (cells[column] ?? '')));
        yield (spoiling.ragged === count ? row.slice(0, -1) : row).join(',');
      }
    }
  if (spoiling.footer) yield ['Total', ...shown.slice(1).map(() => '')].join(',');
}

const list = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

export async function startStorage(state: AdsState, options: CsvOptions, sdkHeader: string): Promise<Storage> {
  const jobs = new Map<string, Job>();
  const leaked: string[] = [];
  const spoiling: Spoiling = {};
  let downloads = 0;
  const server = createServer();
  server.on('request', async (request, response) => {
    for (const header of ['authorization', 'cookie', sdkHeader.toLowerCase()])
      if (request.headers[header] !== undefined) leaked.push(header);
    const [, id = ''] = /^\/reports\/([^./]+)\.csv/.exec(request.url ?? '') ?? [];
    const job = jobs.get(id);
    if (job === undefined || (spoiling.expired ?? 0) > 0) {
      spoiling.expired = (spoiling.expired ?? 1) - 1;
      response.writeHead(job === undefined ? 404 : 403, { 'content-type': 'application/xml' });
      response.end('<?xml version="1.0"?><Error><Code>ExpiredToken</Code></Error>');
      return;
    }
    downloads += 1;
    response.writeHead(200, { 'content-type': 'text/csv' });
    const end = spoiling.crlf ? '\r\n' : '\n';
    let pending = spoiling.bom ? '\ufeff' : '';
    let count = 0;
    for (const line of lines(state, job, options, spoiling)) {
      count += 1;
      if (spoiling.truncated === count) {
        pending += line.slice(0, Math.floor(line.length / 2));
        break;
      }
      pending += line + end;
      if (pending.length > 1 << 16) {
        if (!response.write(pending)) await once(response, 'drain');
        pending = '';
      }
    }
    response.end(pending);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the storage listens at no port');
  return {
    origin: `http://127.0.0.1:${address.port}`,
    jobs,
    options,
    outcomes: [],
    spoiling,
    leaked,
    get downloads() {
      return downloads;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
