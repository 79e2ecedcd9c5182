/** The client of one source: one pool, its credentials, its rate limits, its retries. */

import { stopped } from '../core/abort.ts';
import { Interrupted } from '../core/errors.ts';
import { countRequest } from '../core/request-count.ts';
import type { Http, HttpCounters, Request } from '../core/stream.ts';
import { failSpan, type Span, traced } from '../core/traced.ts';
import { classify } from './classify-response.ts';
import { withRenewal } from './credentials.ts';
import { exchange, networkFailure, type Sent } from './exchange.ts';
import { type Headers, isOfEndpoint, paceOf, usedUpMs } from './headers.ts';
import type { Credentials, HttpOptions, Login } from './http-options.ts';
import { defaultLimits, defaultRetry, defaultTimeouts } from './http-options.ts';
import { connectTo } from './proxy.ts';
import { rateLimit } from './rate-limit.ts';
import { baseOf, pathOf } from './request-url.ts';
import { cleaner, secretsIn } from './response-message.ts';
import { type Attempt, sleep, type Time, type Try, withRetry } from './with-retry.ts';

/**
 * An `Http` for one source. Throws `Misconfigured` for a base URL that is none. `send` throws `ForeignOrigin` before any socket opens,
 * `Interrupted` or the signal's own TidemarkError on abort, else what the answer is worth: `Unreachable`, `AuthFailed`, `Forbidden`,
 * `Missing`, `Refused`, `UnexpectedContent`, `TooLarge`, `RateLimited`, `Transient`. No message holds a credential.
 */
export const createHttp = (options: HttpOptions): Http => {
  const base = baseOf(options.baseUrl);
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const limits = { ...defaultLimits, ...options.limits };
  const policy = { ...defaultRetry, ...options.retry };
  const { concurrency = 8, wall = Date.now, budget, observe = () => {} } = options;
  const time: Time = { now: options.now ?? (() => performance.now()), sleep: options.sleep ?? sleep };
  const counters: HttpCounters = {
    requests: 0,
    retries: 0,
    throttledMs: 0,
    throttled: 0,
    quiet: [],
    bytes: 0,
  };
  const closing = new AbortController();
  const another = (own: HttpOptions): Http => createHttp({ ...options, ...ownAlone, ...own });
  const login: Login = options.auth?.(another, time.now) ?? { authorize: () => ({}) };
  let answeredAt: number | undefined;
  const sharing = budget && {
    budget,
    source: base.origin + base.prefix,
    observe,
    wall,
    closing: closing.signal,
  };
  const limiter = rateLimit(concurrency, options.rates ?? [], time, counters, sharing);
  const route = connectTo(base.origin, options.proxies, {
    connections: concurrency,
    connectMs: timeouts.connectMs,
  });
  /** What a good answer says about the next ones. A wait beyond the bound is left to the 429 of the next request. */
  const heed = (request: Request, headers: Headers): void => {
    const quietMs = usedUpMs(headers, wall());
    const pace = paceOf(headers, wall());
    const about = isOfEndpoint(headers) ? request : undefined;
    if (quietMs !== undefined && quietMs <= policy.retryAfterMaxMs) limiter.pause(quietMs, about);
    if (pace !== undefined) limiter.slow(pace, about);
  };

  const attempt = async (request: Request, signal: AbortSignal, span: Span): Promise<Attempt> => {
    const credentials = login.authorize();
    const sent = sentOf(request, base.origin, pathOf(request, base), options, credentials);
    countRequest(counters);
    try {
      const got = await exchange(route.dispatcher, sent, timeouts, limits, signal);
      counters.bytes += got.raw.length;
      span.setAttribute('http.response.status_code', got.status);
      if (got.status < 500) answeredAt = time.now();
      heed(request, got.headers);
      const clean = cleaner([...secretsIn(credentials), ...(options.secrets?.() ?? [])]);
      return classify(request, got, { ...options, clean, wallMs: wall() });
    } catch (error) {
      if (signal.aborted) throw stopped(signal);
      const failed = networkFailure(request, base.origin, error, route.proxy);
      if (failed === undefined) throw error;
      return { failed };
    }
  };
  const server = new URL(base.origin).host;
  const paced: Try = (request, signal) => {
    const { method, endpoint } = request;
    const attributes = { 'http.request.method': method, 'url.template': endpoint, 'server.address': server };
    return traced(`${method} ${endpoint}`, attributes, async (span) => {
      const outcome = await limiter.run(request, signal, () => {
        // Until then it waited for its turn: a free connection and the rate limit.
        span.addEvent('sent');
        return attempt(request, signal, span);
      });
      if ('failed' in outcome) failSpan(span, outcome.failed.error.code);
      return outcome;
    });
  };
  const renewing = withRenewal(paced, login, closing.signal);
  const send = withRetry(renewing, policy, {
    time,
    pause: limiter.pause,
    counters,
    wall,
    observe,
    random: options.random ?? Math.random,
    answeredAt: () => answeredAt,
  });

  return {
    origin: base.origin,
    counters,
    async send(request, signal) {
      // Before anything waits or opens.
      pathOf(request, base);
      const stop = AbortSignal.any([signal, closing.signal]);
      if (stop.aborted) throw stopped(stop);
      await login.ready?.(stop);
      return send(request, stop);
    },
    async close() {
      closing.abort(new Interrupted('the connection to the source was closed'));
      await route.dispatcher.destroy();
      await login.close?.();
    },
  };
};

/** Options of a source that are no other server's business. */
const ownAlone = { auth: undefined, headers: {}, rates: [], secrets: () => [] } as const;

const sentOf = (
  request: Request,
  origin: string,
  path: string,
  { version = '0', headers = {}, bodies = 'json' }: HttpOptions,
  credentials: Credentials,
): Sent => {
  const body = request.body && encoders[bodies].encode(request.body);
  return {
    method: request.method,
    origin,
    path,
    body,
    headers: {
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'user-agent': `tidemark/${version}`,
      ...(body !== undefined && { 'content-type': encoders[bodies].type }),
      ...headers,
      ...credentials,
    },
  };
};

const encoders = {
  json: { type: 'application/json', encode: (body: object): string => JSON.stringify(body) },
  form: {
    type: 'application/x-www-form-urlencoded',
    encode: (body: object): string =>
      new URLSearchParams(Object.entries(body).filter(([, value]) => value !== undefined)).toString(),
  },
} as const;
