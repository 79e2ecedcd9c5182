/** One request, one complete answer: deadlines, sizes and completeness, on undici. No retry, no judgement of the content. */

import type { Dispatcher } from 'undici';
import { type Body, collect } from './body.ts';
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
export interface Received {
  readonly status: number;
  /** Names in lower case; a repeated header is joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly raw: Buffer;
  /** `performance.now()` when the body was complete. */
  readonly receivedAt: number;
}

/** A deadline of ours passed. */
export class Late extends Error {}

/**
 * Sends and waits for the last byte. Rejects with the signal's reason when it aborts (at once, also while queued or connecting), with
 * `Late` at a deadline, with `TooLarge` or `UnexpectedContent` from the body, else with the network's own error.
 */
export const exchange = (
  dispatcher: Dispatcher,
  sent: Sent,
  timeouts: Timeouts,
  limits: SizeLimits,
  signal: AbortSignal,
): Promise<Received> =>
  new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let body: Body | undefined;
    let over = false;
    let timer: NodeJS.Timeout | undefined;

    const end = (): void => {
      over = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    const fail = (error: unknown): void => {
      if (over) return;
      end();
      body?.destroy();
      reject(error);
      // After `reject`: undici calls back at once.
      controller?.abort(error instanceof Error ? error : new Error('aborted'));
    };
    const onAbort = (): void => fail(signal.reason);
    const within = (ms: number, what: string): void => {
      clearTimeout(timer);
      timer = setTimeout(() => fail(new Late(`${what} did not come within ${ms / 1000} s`)), ms);
    };

    if (signal.aborted) return fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });

    dispatcher.dispatch(
      {
        method: sent.method,
        origin: sent.origin,
        path: sent.path,
        headers: { ...sent.headers },
        body: sent.body ?? null,
      },
      {
        onRequestStart(started) {
          controller = started;
          if (over) started.abort(new Error('given up before it was sent'));
          // From here, not from `dispatch`: waiting for a free connection is not the server's fault.
          else within(timeouts.headersMs, 'the answer');
        },
        onResponseStart(started, status, rawHeaders) {
          if (over || status < 200) return;
          within(timeouts.bodyMs, 'the whole answer');
          const headers = flat(rawHeaders);
          try {
            body = collect(headers, limits, started, fail, (raw) => {
              if (over) return;
              end();
              resolve({ status, headers, raw, receivedAt: performance.now() });
            });
          } catch (error) {
            fail(error);
          }
        },
        onResponseData(_, chunk) {
          if (!over) body?.write(chunk);
        },
        onResponseEnd() {
          if (!over) body?.end();
        },
        onResponseError(_, error) {
          fail(error);
        },
      },
    );
  });

const flat = (headers: NodeJS.Dict<string | string[]>): Record<string, string> => {
  const one: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) one[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ');
  return one;
};
