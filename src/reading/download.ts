/** Fetches a file from an address that a source named: a stream of bytes, complete or an error. No credentials are sent. */

import { crc32 } from 'node:zlib';
import { Transient, UnexpectedContent } from '../core/errors.ts';
import { countRequest, spending } from '../core/request-count.ts';
import type { HttpCounters } from '../core/stream.ts';
import type { Proxies } from '../http/proxy.ts';
import { sleep as wait } from '../http/with-retry.ts';
import { type AllowedHosts, type DownloadTarget, targetOf } from './download/download-url.ts';
import { type DownloadLimits, defaultDownloadLimits, Gone, transfer } from './download/transfer.ts';

export type { DownloadLimits } from './download/transfer.ts';

export interface Download {
  /** Names the file in messages, e.g. the endpoint. No message has the address: it may carry a signature. */
  readonly what: string;
  /** Asks the source for the file's address; asked again where the one before it has expired. */
  readonly address: (signal: AbortSignal) => Promise<string>;
  readonly hosts: AllowedHosts;
  readonly proxies?: Proxies;
  readonly limits?: Partial<DownloadLimits>;
  /** Requests and bytes are counted here. */
  readonly counters?: HttpCounters;
  /** For tests: the dice and how to wait. */
  readonly random?: () => number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * The file's bytes, decompressed, in chunks of the server's making, as fast as the consumer takes them. A transfer that breaks off is
 * made again, and what was delivered before is passed over if it is the same (length and checksum). An address that has expired (400, 401,
 * 403, 404, 410) is asked for again. Leaving early ends the transfer.
 *
 * Throws `ForeignOrigin` before a socket opens for an address that is not allowed, `UnexpectedContent` for an answer that is no file (a page,
 * a redirect, no stated end) or another file than before, `TooLarge`, `Unreachable`, `Transient` when tries or addresses run out.
 */
export async function* download(options: Download, signal: AbortSignal): AsyncGenerator<Buffer, void, void> {
  const { what, counters, random = Math.random, sleep = wait } = options;
  const limits = { ...defaultDownloadLimits, ...options.limits };
  const delivered = { bytes: 0, sum: 0 };
  let target: DownloadTarget | undefined;
  for (let failures = 0, renewals = 0; ; ) {
    target ??= targetOf(what, await options.address(signal), options.hosts);
    if (counters !== undefined) countRequest(counters);
    try {
      using _reading = spending('reading');
      const chunks = transfer(what, target, options.proxies, limits, signal);
      for await (const chunk of resumed(what, chunks, delivered)) {
        delivered.bytes += chunk.length;
        delivered.sum = crc32(chunk, delivered.sum);
        if (counters !== undefined) counters.bytes += chunk.length;
        yield chunk;
      }
      return;
    } catch (error) {
      if (error instanceof Gone) {
        if (++renewals > limits.renewals)
          throw new Transient(`${what}: the address of the report answered ${error.status}, also a new one`);
        target = undefined;
        continue;
      }
      if (!(error instanceof Transient) || ++failures >= limits.tries) throw error;
      if (counters !== undefined) counters.retries++;
      const jitter = random() * Math.min(limits.capMs, limits.baseMs * 2 ** (failures - 1));
      await sleep(Math.max(jitter, Math.min(error.retryAfterMs ?? 0, limits.capMs)), signal);
    }
  }
}

/** The chunks of a transfer without the bytes that were delivered before, which it must begin with. */
async function* resumed(
  what: string,
  chunks: AsyncIterable<Buffer>,
  delivered: { readonly bytes: number; readonly sum: number },
): AsyncGenerator<Buffer, void, void> {
  const changed = new UnexpectedContent(`${what}: the report is another one than when it was fetched before`);
  const { bytes, sum } = { ...delivered };
  let passed = 0;
  let passedSum = 0;
  for await (const chunk of chunks) {
    const repeated = chunk.subarray(0, bytes - passed);
    passed += repeated.length;
    passedSum = crc32(repeated, passedSum);
    if (passed < bytes) continue;
    if (passedSum !== sum) throw changed;
    if (chunk.length > repeated.length) yield chunk.subarray(repeated.length);
  }
  if (passed < bytes) throw changed;
}
