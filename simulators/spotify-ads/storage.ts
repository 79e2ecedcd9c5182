/** Where the files of CSV reports lie: another origin, which wants no credentials and remembers who showed it some. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { csvLines, type Spoiling } from './csv.ts';
import type { Job, JobStatus } from './model.ts';
import type { AdsState } from './state.ts';

export interface CsvOptions {
  /** How often a job is PROCESSING before it is what it becomes. Default 1. */
  readonly polls?: number;
  /** How long at least, by the simulator's clock. Default 0. */
  readonly seconds?: number;
  /** So many copies of every row, under other ad names: large reports. Default 1. */
  readonly copies?: number;
  /** Files are written once and kept in memory: whoever measures a reader does not measure the writer. Default false. */
  readonly kept?: boolean;
}

export interface Storage {
  readonly origin: string;
  readonly jobs: Map<string, Job>;
  readonly options: CsvOptions;
  /** What the next jobs become, instead of READY, in order. */
  readonly outcomes: JobStatus[];
  readonly spoiling: Spoiling;
  /** Headers of credentials and of tracking that came with requests: there must be none. Such a request is refused with 400. */
  readonly leaked: readonly string[];
  /** How many files were begun. */
  readonly downloads: number;
  /** A signed address of a finished report. */
  addressOf(job: Job): string;
  close(): Promise<void>;
}

const errorOf = (code: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`;

/** Resolves when more can be written, or the client has left. */
const writable = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });

/** Lines with their ends, in pieces of 64 kB. */
function* chunks(lines: Iterable<string>): Generator<Buffer> {
  let pending = '';
  for (const line of lines) {
    pending += `${line}\n`;
    if (pending.length < 1 << 16) continue;
    yield Buffer.from(pending);
    pending = '';
  }
  yield Buffer.from(pending);
}

export async function startStorage(
  state: AdsState,
  options: CsvOptions,
  sdkHeader: string,
): Promise<Storage> {
  const jobs = new Map<string, Job>();
  const leaked: string[] = [];
  const spoiling: Spoiling = {};
  let downloads = 0;

  const refuse = (response: ServerResponse, status: number, code: string): void => {
    response.writeHead(status, { 'content-type': 'application/xml; charset=UTF-8' });
    response.end(errorOf(code));
  };

  const files = new Map<string, readonly Buffer[]>();
  const sendKept = async (job: Job, response: ServerResponse): Promise<void> => {
    const { accountId, granularity, dimensions, metrics, from, to } = job;
    const question = JSON.stringify([accountId, granularity, dimensions, metrics, from, to]);
    const file = files.get(question) ?? [...chunks(csvLines(state, job, options.copies ?? 1, {}))];
    files.set(question, file);
    for (const chunk of file) {
      if (!response.write(chunk)) await writable(response);
      if (response.destroyed) return;
    }
    response.end();
  };

  const send = async (job: Job, response: ServerResponse): Promise<void> => {
    downloads += 1;
    response.writeHead(200, { 'content-type': 'text/csv' });
    if (options.kept === true) return sendKept(job, response);
    const end = spoiling.crlf === true ? '\r\n' : '\n';
    let pending = spoiling.bom === true ? '\ufeff' : '';
    let count = 0;
    for (const line of csvLines(state, job, options.copies ?? 1, spoiling)) {
      count += 1;
      if (spoiling.cut === count) {
        response.write(pending + line.slice(0, Math.floor(line.length / 2)), () => response.destroy());
        return;
      }
      if (spoiling.truncated === count) {
        pending += line.slice(0, Math.floor(line.length / 2));
        break;
      }
      pending += line + end;
      if (pending.length < 1 << 16) continue;
      if (!response.write(pending)) await writable(response);
      if (response.destroyed) return;
      pending = '';
    }
    response.end(pending);
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const shown = ['authorization', 'cookie', sdkHeader.toLowerCase()].filter(
      (name) => request.headers[name] !== undefined,
    );
    leaked.push(...shown);
    if (shown.length > 0) return refuse(response, 400, 'CredentialsNotWanted');
    const [, id = ''] = /^\/reports\/([^./]+)\.csv/.exec(request.url ?? '') ?? [];
    const job = jobs.get(id);
    if (job === undefined) return refuse(response, 404, 'NoSuchKey');
    if ((spoiling.expired ?? 0) > 0) {
      spoiling.expired = (spoiling.expired ?? 0) - 1;
      return refuse(response, 403, 'ExpiredToken');
    }
    if (spoiling.failing !== undefined && spoiling.failing.times > 0) {
      spoiling.failing.times -= 1;
      return refuse(response, spoiling.failing.status, 'InternalError');
    }
    await send(job, response);
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      // A client that leaves in the middle is no error of ours.
      if (!response.destroyed) response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the storage listens at no port');
  const origin = `http://127.0.0.1:${address.port}`;
  return {
    origin,
    jobs,
    options,
    outcomes: [],
    spoiling,
    leaked,
    get downloads() {
      return downloads;
    },
    addressOf: (job) => `${origin}/reports/${job.id}.csv?X-Goog-Signature=${job.polls}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
