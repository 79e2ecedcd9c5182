/** The way out to a source: one pool, its credentials, its rate limits, its retries. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { either, stopped } from '../core/abort.ts';
import { Interrupted } from '../core/errors.ts';
import type { Http, HttpCounters, Request } from '../core/request.ts';
import type { Failed } from './attempt.ts';
import { authorized, type Course, type Told } from './authorize.ts';
import { type Facts, judge } from './classify-response.ts';
import { sleep, type Time } from './delay.ts';
import { exchange, type Received, type Sent } from './exchange.ts';
import { isNearLimit, usedUpMs } from './headers.ts';
import {
  defaultLimits,
  defaultRetry,
  defaultTimeouts,
  type HttpOptions,
  type SizeLimits,
} from './http-options.ts';
import { faultOf } from './network-errors.ts';
import { wayTo } from './proxy.ts';
import { type Pace, pace } from './rate-limit.ts';
import { baseOf, pathOf } from './request-url.ts';
import { cleaner, secretsIn } from './response-message.ts';
import { retrying } from './retry.ts';

/**
 * An `Http` for one source. Throws `Misconfigured` for a base URL that is none. `send` throws `ForeignOrigin` before any socket opens, `Interrupted` or the signal's own TidemarkError on abort, else what the answer is worth: `Unreachable`, `AuthFailed`,
 * `Forbidden`, `Missing`, `Refused`, `UnexpectedContent`, `TooLarge`, `RateLimited`, `Transient`. No message holds a credential.
 */
export const createHttp = (options: HttpOptions): Http => {
  const base = baseOf(options.baseUrl);
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const limits = { ...defaultLimits, ...options.limits };
  const policy = { ...defaultRetry, ...options.retry };
  const concurrency = options.concurrency ?? 8;
  const time: Time = { now: options.now ?? (() => performance.now()), sleep: options.sleep ?? sleep };
  const wall = options.wall ?? Date.now;
  const counters: HttpCounters = {
    requests: 0,
    retries: 0,
    throttledMs: 0,
    throttled: 0,
    quiet: [],
    bytes: 0,
  };
  const closing = new AbortController();
  let answeredAt: number | undefined;
  const source = pace(concurrency, options.rate ?? {}, time);
  const pause = (ms: number): void => {
    source.pause(ms);
    counters.quiet = withSpan(counters.quiet, time.now(), time.now() + ms);
  };
  const way = wayTo(base.origin, options.proxies, {
    connections: concurrency,
    connectMs: timeouts.connectMs,
  });

  const wire = async (
    request: Request,
    signal: AbortSignal,
    course: Course,
  ): Promise<Heard | { readonly failed: Failed }> => {
    const credentials = options.authorize();
    course.leaves(credentials);
    const sent = sentOf(request, base.origin, pathOf(request, base), options, credentials);
    counters.requests++;
    try {
      const got = await exchange(way.dispatcher, sent, timeouts, within(limits, request.mostBytes), signal);
      counters.bytes += got.raw.length;
      if (got.status < 500) answeredAt = time.now();
      heed(got.headers, { pause, slow: source.slow }, wall(), policy.retryAfterMaxMs);
      const secrets = [...secretsIn(credentials), ...(options.secrets?.() ?? [])];
      return { got, facts: { clean: cleaner(secrets), wallMs: wall() } };
    } catch (error) {
      if (signal.aborted) throw stopped(signal);
      const failed = faultOf(request, base.origin, error, way.proxy);
      if (failed === undefined) throw error;
      return { failed };
    }
  };
  const turn = oneATurn();
  const paced: Told = async (request, signal, course) => {
    const heard = await source.run(
      request.endpoint,
      signal,
      (ms) => (counters.throttledMs += ms),
      () => wire(request, signal, course),
    );
    if ('failed' in heard) return heard;
    // Whoever waited for this place sends first: the source is not to wait while we parse. What is no page is heard at once: it may be a
    // wish for quiet.
    if (isLetIn(heard.got.status)) course.isIn();
    if (heard.got.status === 200) await turn();
    return judge(request, heard.got, heard.facts);
  };
  const renewed = authorized(paced, options.authorize, options.onUnauthorized, closing.signal);
  const send = retrying(renewed, policy, {
    time,
    random: options.random ?? Math.random,
    pause,
    idempotent: options.idempotent ?? ((request) => request.once !== true),
    answeredAt: () => answeredAt,
    counters,
    observe: options.observe ?? (() => {}),
    wall,
  });

  return {
    origin: base.origin,
    counters,
    async send(request, signal) {
      // Before anything waits or opens.
      pathOf(request, base);
      const stop = either(signal, closing.signal);
      try {
        if (stop.signal.aborted) throw stopped(stop.signal);
        return await send(request, stop.signal);
      } finally {
        stop.release();
      }
    },
    async close() {
      closing.abort(new Interrupted('the connection to the source was closed'));
      await way.dispatcher.destroy();
    },
  };
};

/**
 * Resolves in a later turn of the event loop, for one caller a turn: between two answers that are parsed and worked on, what came in is read
 * and what waits is sent.
 */
const oneATurn = (): (() => Promise<void>) => {
  let last = Promise.resolve();
  return async () => {
    await nextTurn();
    last = last.then(() => nextTurn());
    await last;
  };
};

/** Whether whoever answers so has looked at the question, and not only at who asks or at how often. */
const isLetIn = (status: number): boolean =>
  status === 200 || (status >= 400 && status < 500 && ![401, 403, 429].includes(status));

/** A complete answer that nobody has judged yet. */
interface Heard {
  readonly got: Received;
  readonly facts: Facts;
}

const sentOf = (
  request: Request,
  origin: string,
  path: string,
  { version = '0', headers = {}, bodies = 'json' }: HttpOptions,
  credentials: Readonly<Record<string, string>>,
): Sent => {
  const body = request.body === undefined ? undefined : written[bodies](request.body);
  return {
    method: request.method,
    origin,
    path,
    headers: {
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'user-agent': `tidemark/${version}`,
      ...(body === undefined ? {} : { 'content-type': contentTypes[bodies] }),
      ...headers,
      ...credentials,
    },
    body,
  };
};

const within = (limits: SizeLimits, most: number | undefined): SizeLimits =>
  most === undefined
    ? limits
    : {
        ...limits,
        wireBytes: Math.min(most, limits.wireBytes),
        decodedBytes: Math.min(most, limits.decodedBytes),
      };

const contentTypes = { json: 'application/json', form: 'application/x-www-form-urlencoded' } as const;

const written = {
  json: (body: NonNullable<Request['body']>): string => JSON.stringify(body),
  form: (body: NonNullable<Request['body']>): string =>
    String(
      new URLSearchParams(
        Object.entries(body).map(([name, value]): [string, string] => [name, String(value)]),
      ),
    ),
} as const;

/** What a good answer says about the next ones. A wait beyond `mostMs` is not served here: the next request will hear of it by a 429. */
const heed = (
  headers: Readonly<Record<string, string>>,
  source: Pick<Pace, 'pause' | 'slow'>,
  wallMs: number,
  mostMs: number,
): void => {
  const quietMs = usedUpMs(headers, wallMs);
  if (quietMs !== undefined && quietMs <= mostMs) source.pause(quietMs);
  if (isNearLimit(headers)) source.slow();
};

/** Pauses begin one after the other; one that begins within the last is the same quiet. */
const withSpan = (spans: HttpCounters['quiet'], fromMs: number, untilMs: number): HttpCounters['quiet'] => {
  const last = spans.at(-1);
  if (!(untilMs > fromMs)) return spans;
  if (last === undefined || last.untilMs < fromMs) return [...spans, { fromMs, untilMs }];
  return [...spans.slice(0, -1), { fromMs: last.fromMs, untilMs: Math.max(last.untilMs, untilMs) }];
};
