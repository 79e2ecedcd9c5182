/** One transfer of a file: opened, bounded, decompressed strictly, with back-pressure. No retry. */

import { type LookupAddress, lookup as resolve } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { stopped } from '../../core/abort.ts';
import { ForeignOrigin, TooLarge, Transient, UnexpectedContent } from '../../core/errors.ts';
import type { Request } from '../../core/stream.ts';
import { Late } from '../../http/exchange.ts';
import { retryAfterMs } from '../../http/headers.ts';
import { networkFailure } from '../../http/network-errors.ts';
import { connectTo, type Proxies } from '../../http/proxy.ts';
import type { Target } from './download-url.ts';

const gb = 1024 * 1024 * 1024;

export const defaultDownloadLimits = {
  /** Of the file as it comes over the wire, and decompressed. */
  wireBytes: 8 * gb,
  decodedBytes: 32 * gb,
  connectMs: 10_000,
  /** Until the answer's headers are there. */
  headersMs: 60_000,
  /** Between two pieces of the file, while we are ready to take one. */
  idleMs: 60_000,
  /** For the whole file, our own work on it included. */
  wholeMs: 60 * 60_000,
  /** Transfers in all, the first included; `renewals` of the address are not counted. */
  tries: 4,
  renewals: 2,
  /** Full jitter: the k-th wait is uniform in [0, baseMs × 2^k). */
  baseMs: 500,
  capMs: 60_000,
};

export type DownloadLimits = Readonly<typeof defaultDownloadLimits>;

/** The address is not valid any more: storage says so with 403, 404 or 410, sometimes 400 or 401. */
export class Gone extends Transient {
  readonly status: number;
  constructor(what: string, status: number) {
    super(`${what}: the address of the report answered ${status}`);
    this.status = status;
  }
}

/**
 * Opens a transfer. Reading its chunks to the end, or leaving the iteration, closes the connection. Throws, here or while it is read,
 * the errors of `download`, and `Gone`.
 */
export const openTransfer = async (
  what: string,
  { url, mayBe }: Target,
  proxies: Proxies | undefined,
  limits: DownloadLimits,
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer>> => {
  const { dispatcher, proxy } = connectTo(url.origin, proxies, {
    connections: 1,
    connectMs: limits.connectMs,
    lookup: checked(what, mayBe),
  });
  const late = new AbortController();
  const timer = setTimeout(
    () => late.abort(new Late(`the whole report did not come within ${limits.wholeMs / 1000} s`)),
    limits.wholeMs,
  );
  const stop = AbortSignal.any([signal, late.signal]);
  const close = async (): Promise<void> => {
    clearTimeout(timer);
    await dispatcher.destroy();
  };
  const meaning = (error: unknown): unknown => classify(what, url, proxy, error, signal, late.signal);
  try {
    const answer = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      // Nothing else, no credentials above all.
      headers: { accept: 'text/csv, */*;q=0.1', 'accept-encoding': 'gzip' },
      headersTimeout: limits.headersMs,
      bodyTimeout: limits.idleMs,
      signal: stop,
    });
    const encoding = encodingOf(what, answer, limits);
    return contents(what, answer.body, encoding, limits, meaning, close);
  } catch (error) {
    await close();
    throw meaning(error);
  }
};

/**
 * Resolves a name, and refuses private addresses. The checked address is the one that is connected to. A proxy resolves names in its own
 * network: there only the list of hosts protects.
 */
const checked =
  (what: string, mayBe: Target['mayBe']): LookupFunction =>
  (hostname, options, callback) => {
    const refusal = (address: string): string =>
      `${what}: ${hostname} resolves to ${address}, an address of a private network; nothing was fetched from it`;
    resolve(hostname, { ...options, all: true }, (error, found) => {
      const addresses: LookupAddress[] = error === null ? found : [];
      const [first] = addresses;
      const wrong = addresses.find(({ address }) => !mayBe(address));
      if (error !== null || first === undefined) callback(error ?? new Error('no address'), '', 0);
      else if (wrong !== undefined) callback(new ForeignOrigin(refusal(wrong.address)), '', 0);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };

/** The encoding of the file. Throws where the answer is no file. */
const encodingOf = (
  what: string,
  { statusCode, headers }: Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>,
  limits: DownloadLimits,
): 'gzip' | 'identity' => {
  const header = (name: string): string | undefined => [headers[name]].flat()[0];
  const answered = `${what}: the address of the report answered`;
  if ([400, 401, 403, 404, 410].includes(statusCode)) throw new Gone(what, statusCode);
  if (statusCode === 408 || statusCode === 425 || statusCode === 429 || statusCode >= 500) {
    const after = { 'retry-after': header('retry-after') ?? '', date: header('date') ?? '' };
    throw new Transient(`${answered} ${statusCode}`, { retryAfterMs: retryAfterMs(after, Date.now()) });
  }
  if (statusCode >= 300 && statusCode < 400)
    throw new UnexpectedContent(`${answered} ${statusCode}, a redirect; it was not followed`);
  if (statusCode !== 200) throw new UnexpectedContent(`${answered} ${statusCode}`);
  const type = header('content-type') ?? '';
  if (/html|json|xml/i.test(type))
    throw new UnexpectedContent(`${answered} with ${type.replace(/[^\w.+/-].*/s, '')} instead of CSV`);
  const encoding = (header('content-encoding') ?? 'identity').trim().toLowerCase();
  if (encoding !== 'gzip' && encoding !== 'identity')
    throw new UnexpectedContent(`${answered} in a content encoding that was not asked for`);
  const length = header('content-length');
  if (length !== undefined && Number(length) > limits.wireBytes)
    throw beyond(what, limits.wireBytes, 'bytes');
  // Cut off at the end of a line, such a file would look whole.
  if (length === undefined && encoding !== 'gzip' && !/\bchunked\b/i.test(header('transfer-encoding') ?? ''))
    throw new UnexpectedContent(`${answered} without saying where the file ends`);
  return encoding;
};

async function* contents(
  what: string,
  body: Dispatcher.ResponseData['body'],
  encoding: 'gzip' | 'identity',
  limits: DownloadLimits,
  meaning: (error: unknown) => unknown,
  close: () => Promise<void>,
): AsyncGenerator<Buffer, void, void> {
  let wire = 0;
  let decoded = 0;
  async function* bounded(): AsyncGenerator<Buffer, void, void> {
    for await (const chunk of body) {
      wire += chunk.length;
      if (wire > limits.wireBytes) throw beyond(what, limits.wireBytes, 'bytes');
      yield chunk;
    }
  }
  const source =
    encoding === 'gzip' ? pipeline(bounded, createGunzip({ chunkSize: 65_536 }), () => {}) : bounded();
  try {
    for await (const chunk of source) {
      decoded += chunk.length;
      if (decoded > limits.decodedBytes) throw beyond(what, limits.decodedBytes, 'bytes decompressed');
      yield chunk;
    }
  } catch (error) {
    throw meaning(error);
  } finally {
    await close();
  }
}

const beyond = (what: string, limit: number, of: string): TooLarge =>
  new TooLarge(`${what}: the report is larger than ${limit} ${of}`);

/** What an error means: an abort, a deadline, a network failure, or itself. */
const classify = (
  what: string,
  url: URL,
  proxy: string | undefined,
  error: unknown,
  signal: AbortSignal,
  late: AbortSignal,
): unknown => {
  if (signal.aborted) return stopped(signal);
  const request: Request = { method: 'GET', path: '', endpoint: what };
  const piece = isTimeout(error) ? new Late('the next piece of the report is late') : error;
  const cause = late.aborted ? late.reason : piece;
  const failed = networkFailure(request, url.origin, cause, proxy);
  // Worth another try here: the report lies ready.
  if (failed?.retry === 'connect') return new Transient(failed.error.message, { cause: error });
  return failed?.error ?? error;
};

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(String(error.code));
