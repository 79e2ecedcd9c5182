/** One transfer of a file: opened, bounded, decompressed strictly, with back-pressure. No retry. */

import { type LookupAddress, lookup as resolve } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { either, stopped } from '../../core/abort.ts';
import { ForeignOrigin, TooLarge, Transient, UnexpectedContent } from '../../core/errors.ts';
import type { Request } from '../../core/request.ts';
import { Late } from '../../http/exchange.ts';
import { retryAfterMs } from '../../http/headers.ts';
import { networkFailure } from '../../http/network-errors.ts';
import { connectTo, type Proxies } from '../../http/proxy.ts';
import type { Place } from './download-url.ts';

export interface DownloadLimits {
  /** Of the file as it comes over the wire, and decompressed. */
  readonly wireBytes: number;
  readonly decodedBytes: number;
  readonly connectMs: number;
  /** Until the answer's headers are there. */
  readonly headersMs: number;
  /** Between two pieces of the file, while we are ready to take one. */
  readonly idleMs: number;
  /** For the whole file, our own work on it included. */
  readonly wholeMs: number;
  /** Transfers in all, the first included; `renewals` of the address are not counted. */
  readonly tries: number;
  readonly renewals: number;
  /** Full jitter: the k-th wait is uniform in [0, baseMs × 2^k). */
  readonly baseMs: number;
  readonly capMs: number;
}

const gb = 1024 * 1024 * 1024;

export const defaultDownloadLimits: DownloadLimits = {
  wireBytes: 8 * gb,
  decodedBytes: 32 * gb,
  connectMs: 10_000,
  headersMs: 60_000,
  idleMs: 60_000,
  wholeMs: 60 * 60_000,
  tries: 4,
  renewals: 2,
  baseMs: 500,
  capMs: 60_000,
};

/** The address is not valid any more: storage says so with 403, 404 or 410, sometimes 400 or 401. */
export class Gone extends Transient {
  readonly status: number;
  constructor(what: string, status: number) {
    super(`${what}: the address of the report answered ${status}`);
    this.status = status;
  }
}

/**
 * Opens a transfer; the chunks are to be read, or the iteration to be ended: either closes the connection. Throws, here or while it is read,
 * what is said of `download`, and `Gone`.
 */
export const opened = async (
  what: string,
  { url, mayBe }: Place,
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
  const stop = either(signal, late.signal);
  const close = async (): Promise<void> => {
    clearTimeout(timer);
    stop.release();
    await dispatcher.destroy();
  };
  const named = (error: unknown): unknown => nameOf(what, url, proxy, error, signal, late.signal);
  try {
    const answer = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      // Nothing else: no credentials, no word of who asks.
      headers: { accept: 'text/csv, */*;q=0.1', 'accept-encoding': 'gzip' },
      headersTimeout: limits.headersMs,
      bodyTimeout: limits.idleMs,
      signal: stop.signal,
    });
    const encoding = judge(what, answer, limits);
    return contents(what, answer.body, encoding, limits, named, close);
  } catch (error) {
    await close();
    throw named(error);
  }
};

/**
 * Resolves a name; refuses it where it stands for an address that it may not. What was checked is what is connected to. A proxy resolves names
 * in its own network: behind one the list of hosts has to do.
 */
const checked =
  (what: string, mayBe: Place['mayBe']): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      const addresses: LookupAddress[] = error === null ? found : [];
      const [first] = addresses;
      const wrong = addresses.find(({ address }) => !mayBe(address));
      if (error !== null || first === undefined) callback(error ?? new Error('no address'), '', 0);
      else if (wrong !== undefined)
        callback(
          new ForeignOrigin(
            `${what}: ${hostname} stands for ${wrong.address}, an address of a private network; nothing was fetched from it`,
          ),
          '',
          0,
        );
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };

/** Whether the answer is a file, and how it is encoded. */
const judge = (
  what: string,
  { statusCode, headers }: Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>,
  limits: DownloadLimits,
): 'gzip' | 'identity' => {
  const header = (name: string): string | undefined => [headers[name]].flat()[0];
  const said = `${what}: the address of the report answered`;
  if ([400, 401, 403, 404, 410].includes(statusCode)) throw new Gone(what, statusCode);
  if (statusCode === 408 || statusCode === 425 || statusCode === 429 || statusCode >= 500) {
    const after = { 'retry-after': header('retry-after') ?? '', date: header('date') ?? '' };
    throw new Transient(`${said} ${statusCode}`, { retryAfterMs: retryAfterMs(after, Date.now()) });
  }
  if (statusCode >= 300 && statusCode < 400)
    throw new UnexpectedContent(`${said} ${statusCode}, a redirect; it was not followed`);
  if (statusCode !== 200) throw new UnexpectedContent(`${said} ${statusCode}`);
  const type = header('content-type') ?? '';
  if (/html|json|xml/i.test(type))
    throw new UnexpectedContent(
      `${said} with ${/[\w.+-]+\/[\w.+-]+/.exec(type)?.[0] ?? 'a page'} instead of CSV`,
    );
  const encoding = (header('content-encoding') ?? 'identity').trim().toLowerCase();
  if (encoding !== 'gzip' && encoding !== 'identity')
    throw new UnexpectedContent(`${said} in a content encoding that was not asked for`);
  const length = header('content-length');
  if (length !== undefined && Number(length) > limits.wireBytes)
    throw beyond(what, limits.wireBytes, 'bytes');
  // Cut off at the end of a line, such a file would look whole.
  if (length === undefined && encoding !== 'gzip' && !/\bchunked\b/i.test(header('transfer-encoding') ?? ''))
    throw new UnexpectedContent(`${said} without saying where the file ends`);
  return encoding;
};

async function* contents(
  what: string,
  body: Dispatcher.ResponseData['body'],
  encoding: 'gzip' | 'identity',
  limits: DownloadLimits,
  named: (error: unknown) => unknown,
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
  const source = unpackedIfGzip(encoding === 'gzip' ? gunzipped(bounded) : bounded());
  try {
    for await (const chunk of source) {
      decoded += chunk.length;
      if (decoded > limits.decodedBytes) throw beyond(what, limits.decodedBytes, 'bytes decompressed');
      yield chunk;
    }
  } catch (error) {
    throw named(error);
  } finally {
    await close();
  }
}

/** What fails in the pipeline fails its reader. */
const gunzipped = (packed: () => AsyncIterable<Buffer>): AsyncIterable<Buffer> =>
  pipeline(packed, createGunzip({ chunkSize: 65_536 }), () => {});

/** How a gzip file begins (RFC 1952, section 2.3; deflate is the only method): no text in UTF-8 does. */
const gzipMark = Buffer.from([0x1f, 0x8b, 0x08]);

/** A file that is itself compressed (`….csv.gz`): storage gives it as it lies there, and says nothing of an encoding. */
async function* unpackedIfGzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  const all = chunks[Symbol.asyncIterator]();
  try {
    let begin = Buffer.alloc(0);
    while (begin.length < gzipMark.length) {
      const step = await all.next();
      if (step.done === true) break;
      begin = Buffer.concat([begin, step.value]);
    }
    const whole = async function* (): AsyncGenerator<Buffer, void, void> {
      if (begin.length > 0) yield begin;
      for (let step = await all.next(); step.done !== true; step = await all.next()) yield step.value;
    };
    yield* begin.subarray(0, gzipMark.length).equals(gzipMark) ? gunzipped(whole) : whole();
  } finally {
    // Not waited for: what was read ahead may wait for a server that has come to a halt, until the connection is closed behind this.
    all.return?.().catch(() => undefined);
  }
}

const beyond = (what: string, limit: number, of: string): TooLarge =>
  new TooLarge(`${what}: the report is larger than ${limit} ${of}`);

/** The error's meaning: an abort, a deadline, the network, or itself. */
const nameOf = (
  what: string,
  url: URL,
  proxy: string | undefined,
  error: unknown,
  asked: AbortSignal,
  late: AbortSignal,
): unknown => {
  if (asked.aborted) return stopped(asked);
  const request: Request = { method: 'GET', path: '', endpoint: what };
  const cause = late.aborted
    ? late.reason
    : isTimeout(error)
      ? new Late('the next piece of the report is late')
      : error;
  const failed = networkFailure(request, url.origin, cause, proxy);
  // Worth another try here: the report lies ready.
  if (failed?.again === 'connect') return new Transient(failed.error.message, { cause: error });
  return failed?.error ?? error;
};

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(String(error.code));
