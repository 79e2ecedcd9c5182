/** One transfer of a file: opened, bounded, with back-pressure. No retry. */

import { type LookupAddress, lookup as resolve } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { request } from 'undici';
import { stopped } from '../../core/abort.ts';
import { codeOf, ForeignOrigin, Transient, UnexpectedContent } from '../../core/errors.ts';
import { decoded, flat, Late, networkFailure } from '../../http/exchange.ts';
import { type Headers, retryAfterMs } from '../../http/headers.ts';
import { connectTo, type Proxies } from '../../http/proxy.ts';
import type { DownloadTarget } from './download-url.ts';

const gb = 1024 * 1024 * 1024;

export const defaultDownloadLimits = {
  /** Of the file as it comes over the wire, and decompressed. */
  wireBytes: 8 * gb,
  decodedBytes: 32 * gb,
  /** A report of zeros compresses at any ratio. */
  ratio: Number.POSITIVE_INFINITY,
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
 * The chunks of a file. Reading them to the end, or leaving the iteration, closes the connection. Throws the errors of `download`, and `Gone`.
 */
export async function* transfer(
  what: string,
  { url, mayBe }: DownloadTarget,
  proxies: Proxies | undefined,
  limits: DownloadLimits,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  const { dispatcher, proxy } = connectTo(url.origin, proxies, {
    connections: 1,
    connectMs: limits.connectMs,
    lookup: checked(what, mayBe),
  });
  const late = AbortSignal.timeout(limits.wholeMs);
  try {
    const answer = await request(url, {
      dispatcher,
      // Nothing else, no credentials above all.
      headers: { accept: 'text/csv, */*;q=0.1', 'accept-encoding': 'gzip' },
      headersTimeout: limits.headersMs,
      bodyTimeout: limits.idleMs,
      signal: AbortSignal.any([signal, late]),
    });
    const headers = flat(answer.headers);
    checkFile(what, answer.statusCode, headers);
    yield* decoded('the report', answer.body, headers, limits);
  } catch (error) {
    if (signal.aborted) throw stopped(signal);
    const whole = new Late(`the whole report did not come within ${limits.wholeMs / 1000} s`);
    throw meaning(what, url, proxy, late.aborted ? whole : error);
  } finally {
    await dispatcher.destroy();
  }
}

/**
 * Resolves a name, and refuses private addresses. The checked address is the one that is connected to. A proxy resolves names in its own
 * network: there only the list of hosts protects.
 */
const checked =
  (what: string, mayBe: DownloadTarget['mayBe']): LookupFunction =>
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

/** Throws where the answer is no file. */
const checkFile = (what: string, status: number, headers: Headers): void => {
  const answered = `${what}: the address of the report answered`;
  if ([400, 401, 403, 404, 410].includes(status)) throw new Gone(what, status);
  if (status === 408 || status === 425 || status === 429 || status >= 500)
    throw new Transient(`${answered} ${status}`, { retryAfterMs: retryAfterMs(headers, Date.now()) });
  if (status >= 300 && status < 400)
    throw new UnexpectedContent(`${answered} ${status}, a redirect; it was not followed`);
  if (status !== 200) throw new UnexpectedContent(`${answered} ${status}`);
  const type = headers['content-type'] ?? '';
  if (/html|json|xml/i.test(type))
    throw new UnexpectedContent(`${answered} with ${type.replace(/[^\w.+/-].*/s, '')} instead of CSV`);
  // Cut off at the end of a line, a file that does not say where it ends would look whole. A gzip stream says it.
  const coding = [headers['content-encoding'], headers['transfer-encoding']].join(' ');
  if (headers['content-length'] === undefined && !/\b(gzip|chunked)\b/i.test(coding))
    throw new UnexpectedContent(`${answered} without saying where the file ends`);
};

/** What an error means: a deadline, a network failure, or itself. */
const meaning = (what: string, url: URL, proxy: string | undefined, error: unknown): unknown => {
  const isTimeout = /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(codeOf(error) ?? '');
  const cause = isTimeout ? new Late('the next piece of the report is late') : error;
  const failed = networkFailure({ method: 'GET', path: '', endpoint: what }, url.origin, cause, proxy);
  // Worth another try here: the report lies ready.
  if (failed?.retry === 'connect') return new Transient(failed.error.message, { cause: error });
  return failed?.error ?? error;
};
