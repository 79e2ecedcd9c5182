/** One request, one complete answer: deadlines, sizes and completeness, on undici. No retry, no judgement of the content. */

import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { orStopped } from '../core/abort.ts';
import { TooLarge, UnexpectedContent } from '../core/errors.ts';
import type { Answer } from '../core/stream.ts';
import type { Headers } from './headers.ts';
import type { SizeLimits, Timeouts } from './http-options.ts';

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
  const beyond = (limit: number, of: string) => new TooLarge(`${what} is larger than ${limit} ${of}`);
  if (Number(headers['content-length'] ?? 0) > wireBytes) throw beyond(wireBytes, 'bytes');
  const encoding = (headers['content-encoding'] || 'identity').trim().toLowerCase();
  if (encoding !== 'identity' && encoding !== 'gzip')
    throw new UnexpectedContent(`content encoding '${encoding.slice(0, 40)}' was not asked for`);
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
      throw new TooLarge(`${what} decompresses to more than ${ratio} times its size`);
    yield chunk;
  }
}
