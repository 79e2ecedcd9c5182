/** An answer's body as it arrives: collected, decompressed strictly, and stopped at its limits while it streams. */

import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { TooLarge, UnexpectedContent } from '../core/errors.ts';
import type { SizeLimits } from './http-options.ts';

/** Takes the chunks of one body. */
export interface Body {
  write(chunk: Buffer): void;
  /** The server has said that this is all. */
  end(): void;
  /** Nobody wants it any more. */
  destroy(): void;
}

/** Lets the socket wait while the decompressor is busy. */
interface Flow {
  pause(): void;
  resume(): void;
}

/** Below this a high ratio means nothing. */
const ratioCounts = 4 * 1024 * 1024;

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  br: createBrotliDecompress,
} as const;

/**
 * A body to write into; calls `done` once with all bytes, or `fail` once: `TooLarge` beyond a limit, the decompressor's own error for
 * damaged or truncated data. Throws `TooLarge` for an announced length beyond the limit, `UnexpectedContent` for an encoding that was not asked for.
 */
export const collect = (
  headers: Readonly<Record<string, string>>,
  limits: SizeLimits,
  flow: Flow,
  fail: (error: unknown) => void,
  done: (raw: Buffer) => void,
): Body => {
  if (Number(headers['content-length'] ?? 0) > limits.wireBytes) throw beyond(limits.wireBytes, 'bytes');
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '')
    return plain(Math.min(limits.wireBytes, limits.decodedBytes), fail, done);
  const open = Object.hasOwn(decoders, encoding) ? decoders[encoding as keyof typeof decoders] : undefined;
  if (open === undefined)
    throw new UnexpectedContent(`content encoding '${encoding.slice(0, 40)}' was not asked for`);
  return compressed(open(), limits, flow, fail, done);
};

const beyond = (limit: number, what: string): TooLarge =>
  new TooLarge(`the answer is larger than ${limit} ${what}`);

const plain = (limit: number, fail: (error: unknown) => void, done: (raw: Buffer) => void): Body => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    write(chunk) {
      bytes += chunk.length;
      if (bytes > limit) fail(beyond(limit, 'bytes'));
      else chunks.push(chunk);
    },
    end: () => done(joined(chunks, bytes)),
    destroy: () => {},
  };
};

const compressed = (
  decoder: ReturnType<typeof createGunzip> | ReturnType<typeof createBrotliDecompress>,
  limits: SizeLimits,
  flow: Flow,
  fail: (error: unknown) => void,
  done: (raw: Buffer) => void,
): Body => {
  const chunks: Buffer[] = [];
  let wire = 0;
  let bytes = 0;
  const stop = (error: unknown): void => {
    decoder.destroy();
    fail(error);
  };
  decoder.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > limits.decodedBytes) stop(beyond(limits.decodedBytes, 'bytes decompressed'));
    else if (bytes > ratioCounts && bytes > wire * limits.ratio)
      stop(new TooLarge(`the answer decompresses to more than ${limits.ratio} times its size`));
    else chunks.push(chunk);
  });
  decoder.on('drain', () => flow.resume());
  decoder.on('error', stop);
  decoder.on('end', () => done(joined(chunks, bytes)));
  return {
    write(chunk) {
      wire += chunk.length;
      if (wire > limits.wireBytes) stop(beyond(limits.wireBytes, 'bytes'));
      else if (!decoder.write(chunk)) flow.pause();
    },
    end: () => decoder.end(),
    destroy: () => decoder.destroy(),
  };
};

const joined = (chunks: readonly Buffer[], bytes: number): Buffer => {
  const [first] = chunks;
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, bytes);
};
