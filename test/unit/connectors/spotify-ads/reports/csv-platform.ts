/** An ads platform that makes CSV reports by script, and the storage on another host where they lie. */

import { type Reports, reportsOf } from '../../../../../src/connectors/spotify-ads/reports/request.ts';
import { openClient } from '../../../../../src/connectors/spotify-ads/source.ts';
import type { JobLedger, Json, ReportJob, Slice, SliceContext } from '../../../../../src/core/stream.ts';
import * as play from '../../../../support/misbehaving-server.ts';

export interface Script {
  /** The answers to creations, in turn; the last one again and again. Default: 201 with the id `report-<n>`. */
  readonly creations?: readonly play.Reply[];
  /** What the platform says of its reports, look by look. */
  readonly looks: readonly (Readonly<Record<string, Json>> | play.Reply)[];
  /** What storage answers, in turn. */
  readonly files: readonly [play.Reply, ...play.Reply[]];
}

export interface CsvPlatform {
  readonly api: play.Misbehaving;
  readonly storage: play.Misbehaving;
  /** Bodies of the creations. */
  readonly created: () => readonly Record<string, readonly string[] | string>[];
  /** `create` and `look <id>` in the order of their requests. */
  readonly calls: () => readonly string[];
  readonly close: () => Promise<void>;
}

const isReply = (value: object): value is play.Reply => 'run' in value;

export const csvPlatform = async (script: Script): Promise<CsvPlatform> => {
  const storage = await play.misbehaving(play.inTurn(...script.files));
  let creations = 0;
  let looks = 0;
  let addresses = 0;
  const api = await play.misbehaving(({ method }) => {
    if (method === 'POST') {
      const n = creations++;
      const given = script.creations?.[Math.min(n, script.creations.length - 1)];
      return given ?? named('created', play.json({ id: `report-${n}` }, {}, 201));
    }
    const look = script.looks[Math.min(looks++, script.looks.length - 1)] ?? {};
    if (isReply(look)) return look;
    const address = look.status === 'READY' && { report_url: `${storage.url}/r${addresses++}.csv?sig=x` };
    return named(
      String(look.status),
      play.json({ submitted_at: '2025-03-01T00:00:00Z', ...address, ...look }),
    );
  });
  return {
    api,
    storage,
    created: () => api.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body)),
    calls: () =>
      api.requests.map(({ method, url }) =>
        method === 'POST' ? 'create' : `look ${url.slice(url.lastIndexOf('/') + 1)}`,
      ),
    close: async () => {
      await api.close();
      await storage.close();
    },
  };
};

const named = (name: string, reply: play.Reply): play.Reply => ({ ...reply, name });

export const csvFile = (text: string | Buffer): play.Reply =>
  play.bytes('file', text, { 'content-type': 'text/csv', 'content-length': String(Buffer.byteLength(text)) });

export interface Opened {
  readonly reports: Reports;
  readonly notes: readonly string[];
  /** How long was waited, in ms. */
  readonly slept: readonly number[];
  readonly close: () => Promise<void>;
}

/** The reports of a platform, waiting in no time. */
export const openReports = ({ api, storage }: CsvPlatform, more: Partial<Reports> = {}): Opened => {
  const notes: string[] = [];
  const slept: number[] = [];
  const note = (message: string): void => void notes.push(message);
  const http = openClient(
    {
      baseUrl: `${api.url}/ads/v3`,
      credentials: { kind: 'token', accessToken: { reveal: () => 's3cret-token' } },
      sdkHeader: 'X-Service-Ads-Sdk',
      concurrency: 4,
      requestsPerSecond: 0,
      reportRequestsPerSecond: 0,
    },
    { http: { version: '1.2.3', retry: { baseMs: 1, capMs: 5, tries: 2 } } },
  );
  const settings = {
    start: new Date('2024-01-01T00:00:00Z'),
    restateDays: [3, 14, 90] as const,
    reportRequestsPerSecond: 0,
    reportHosts: [`127.0.0.1:${storage.port}`],
  };
  const time = { random: () => 0.5, sleep: async (ms: number) => void slept.push(ms) };
  const reports = {
    ...reportsOf({ http, accountIds: [], concurrency: 4, note }, settings),
    jobs: { ...time, now: () => new Date('2025-03-10T12:00:00Z') },
    download: time,
    ...more,
  };
  return { reports, notes, slept, close: () => http.close() };
};

export const account = '7f4c1cc9-9a1d-4b65-b05c-46e5e33b6705';

/** Three days of March. */
export const march: Slice = {
  partition: { ad_account_id: account },
  window: { field: 'day', from: new Date('2025-03-01T00:00:00Z'), to: new Date('2025-03-04T00:00:00Z') },
};

/** A ledger that outlives a reading, as the warehouse's does, with everything that was written into it. */
export const ledger = (first?: ReportJob): { readonly job: JobLedger; readonly log: readonly string[] } => {
  const log: string[] = [];
  let newest = first;
  const job: JobLedger = {
    current: async () => newest,
    creating: async (request) => {
      newest = { id: undefined, status: 'creating', submittedAt: undefined };
      log.push(`creating: ${request}`);
    },
    submitted: async (id) => {
      newest = { ...newest, id, status: 'submitted', submittedAt: new Date('2025-03-10T12:00:00Z') };
      log.push(`submitted ${id}`);
    },
    became: async (status, reason) => {
      newest = { id: undefined, submittedAt: undefined, ...newest, status };
      log.push(`${status}${reason === undefined ? '' : `: ${reason}`}`);
    },
  };
  return { job, log };
};

export const given = (job: JobLedger): SliceContext => ({
  job,
  clock: new Date('2025-03-10T12:00:00Z'),
  now: new Date('2025-03-10T12:00:00Z'),
  keys: async () => [],
});
