/** One request, one complete answer: deadlines, sizes and completeness, on undici. No retry, no judgement of the content. */

import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type Dispatcher, errors as undici } from 'undici';
import { orStopped } from '../core/abort.ts';
import * as errors from '../core/errors.ts';
import type { Answer, Request } from '../core/stream.ts';
import type { Headers } from './headers.ts';
import type { SizeLimits, Timeouts } from './http-options.ts';
import { proxyFailure } from './proxy.ts';
import type { Failed } from './with-retry.ts';

/** What is sent. */
export interface Sent {
  readonly method: 'GET' | 'POST';
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** What came back, complete and decompressed. */
export type Received = Pick<Answer, 'status' | 'headers' | 'raw'>;

/** A deadline of ours passed. */
export class Late extends Error {}

/**
 * Sends and waits for the last byte. Rejects with the signal's reason when it aborts (at once, also while connecting), with
 * `Late` at a deadline, `TooLarge` beyond a limit, `UnexpectedContent` for an encoding that was not asked for, zlib's error for
 * damaged or truncated data, else with the network's own error.
 */
export const exchange = async (
  dispatcher: Dispatcher,
  { headers: sentHeaders, body: sentBody, ...sent }: Sent,
  timeouts: Timeouts,
  limits: SizeLimits,
  signal: AbortSignal,
): Promise<Received> => {
  const late = new AbortController();
  const stop = AbortSignal.any([signal, late.signal]);
  let timer: NodeJS.Timeout | undefined;
  const within = (ms: number, what: string): void => {
    clearTimeout(timer);
    timer = setTimeout(() => late.abort(new Late(`${what} did not come within ${ms / 1000} s`)), ms);
  };
  let answer: Dispatcher.ResponseData | undefined;
  try {
    stop.throwIfAborted();
    within(timeouts.headersMs, 'the answer');
    const request = { ...sent, headers: { ...sentHeaders }, body: sentBody ?? null, signal: stop };
    answer = await orStopped(dispatcher.request(request), stop);
    within(timeouts.bodyMs, 'the whole answer');
    const headers = flat(answer.headers);
    const chunks = await Array.fromAsync(decoded('the answer', answer.body, headers, limits));
    return { status: answer.statusCode, headers, raw: Buffer.concat(chunks) };
  } catch (error) {
    throw stop.aborted ? stop.reason : error;
  } finally {
    clearTimeout(timer);
    answer?.body.on('error', () => {}).destroy();
  }
};

export const flat = (headers: Dispatcher.ResponseData['headers']): Headers => {
  const one: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) one[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ');
  return one;
};

/** Below this a high ratio means nothing. */
const ratioCounts = 4 * 1024 * 1024;

/**
 * The bytes of a body as they come, decompressed strictly, as fast as they are taken. `what` is the body in messages. Throws as `exchange` does.
 */
export async function* decoded(
  what: string,
  body: Dispatcher.ResponseData['body'],
  headers: Headers,
  { wireBytes, decodedBytes, ratio }: SizeLimits,
): AsyncGenerator<Buffer, void, void> {
  const beyond = (limit: number, of: string) => new errors.TooLarge(`${what} is larger than ${limit} ${of}`);
  if (Number(headers['content-length'] ?? 0) > wireBytes) throw beyond(wireBytes, 'bytes');
  const encoding = (headers['content-encoding'] || 'identity').trim().toLowerCase();
  if (encoding !== 'identity' && encoding !== 'gzip')
    throw new errors.UnexpectedContent(`content encoding '${encoding.slice(0, 40)}' was not asked for`);
  let wire = 0;
  let bytes = 0;
  async function* counted(): AsyncGenerator<Buffer, void, void> {
    for await (const chunk of body) {
      wire += chunk.length;
      if (wire > wireBytes) throw beyond(wireBytes, 'bytes');
      yield chunk;
    }
  }
  const gunzip = () => pipeline(counted, createGunzip({ chunkSize: 65_536 }), () => {});
  for await (const chunk of encoding === 'gzip' ? gunzip() : counted()) {
    bytes += chunk.length;
    if (bytes > decodedBytes) throw beyond(decodedBytes, 'bytes decompressed');
    if (bytes > ratioCounts && bytes > wire * ratio)
      throw new errors.TooLarge(`${what} decompresses to more than ${ratio} times its size`);
    yield chunk;
  }
}

// Names what went wrong below HTTP: the network, TLS, our deadlines, a body cut short.

const noSuchName = 'is the name of the host right, and does the name service answer?';
const noWay = 'is there a way to it from here (VPN, firewall, HTTPS_PROXY)?';

/** The connection never came about, and what to do about it. */
const noConnection: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: is the server up, and are host and port right?',
  ENOTFOUND: noSuchName,
  EAI_AGAIN: noSuchName,
  EAI_FAIL: noSuchName,
  EHOSTUNREACH: noWay,
  ENETUNREACH: noWay,
  EHOSTDOWN: noWay,
  UND_ERR_CONNECT_TIMEOUT: noWay,
};

/** The connection broke, or what came over it was incomplete. */
const broken =
  /^(ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|UND_ERR_HEADERS_OVERFLOW|Z_\w+|ERR__?(ZLIB|BROTLI)\w*|ERR__ERROR_\w+|ERR_PADDING_\w+|ERR_STREAM_PREMATURE_CLOSE)$/;

/** Node and OpenSSL name certificate trouble in these ways; asking again does not mend it, and verification is never switched off. */
const tls =
  /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO$|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|CRL_)/;

/** A failure of the exchange, through a proxy (`host:port`) or without. Undefined for a defect of ours or an abort, to be thrown on. */
export const networkFailure = (
  request: Request,
  origin: string,
  cause: unknown,
  proxy?: string,
): Failed | undefined => {
  const what = `${request.method} ${request.endpoint}`;
  if (cause instanceof errors.TooLarge)
    return { error: new errors.TooLarge(`${what}: ${cause.message}`, { cause }), retry: 'no' };
  if (cause instanceof errors.TidemarkError) return { error: cause, retry: 'no' };
  if (cause instanceof Late) return passing(new errors.TimedOut(`${what}: ${cause.message}`, { cause }));
  const ofProxy = proxy === undefined ? undefined : proxyFailure(origin, proxy, cause);
  if (ofProxy !== undefined) return ofProxy;
  // By its class: undici gives it no code.
  if (cause instanceof undici.HTTPParserError)
    return passing(new errors.Transient(`${what}: the answer is not HTTP (${cause.message})`, { cause }));
  const code = errors.codeOf(cause) ?? '';
  if (tls.test(code)) {
    const by = proxy === undefined ? '' : ` through the proxy ${proxy}`;
    const message = `cannot make a trusted connection to ${origin}${by} (${code}); the certificate must be valid for this host`;
    return { error: new errors.Unreachable(message, { cause }), retry: 'no' };
  }
  const advice = noConnection[code];
  if (advice !== undefined) {
    const target = proxy === undefined ? origin : `the proxy ${proxy}, by which ${origin} is reached`;
    return {
      error: new errors.Unreachable(`cannot connect to ${target} (${code}): ${advice}`, { cause }),
      retry: 'connect',
    };
  }
  if (!broken.test(code)) return undefined;
  return passing(new errors.Transient(`${what}: the answer broke off (${code})`, { cause }));
};

const passing = (error: errors.Transient): Failed => ({ error, retry: 'yes' });
