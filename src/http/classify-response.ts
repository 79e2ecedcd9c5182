/** Classifies an answer: a page of JSON, or an error named for what the reader must do. An odd answer is never "no data". */

import * as errors from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { Request } from '../core/stream.ts';
import { adviceOn } from './advice.ts';
import type { Received } from './exchange.ts';
import { dateOf, isLimit, isOfEndpoint, retryAfterMs } from './headers.ts';
import type { HttpOptions } from './http-options.ts';
import { bodyOf, type Clean, clip, serverMessages, traceOf } from './response-message.ts';
import type { Attempt, Failed } from './with-retry.ts';

/** `wallMs` is now (epoch). */
type AnswerContext = Pick<HttpOptions, 'advice'> & { readonly clean: Clean; readonly wallMs: number };

/** The answer with its body parsed, or why it does not count. */
export const classify = (request: Request, got: Received, context: AnswerContext): Attempt =>
  got.status >= 200 && got.status < 300
    ? readContent(request, got, context)
    : { failed: readStatus(request, got, context) };

/** Statuses that say "here it is, whole"; 204, 205 and 206 do not. */
const complete = new Set([200, 201, 202, 203]);

const readContent = (request: Request, got: Received, { clean }: AnswerContext): Attempt => {
  const { status, headers, raw } = got;
  const isEmpty = raw.length === 0;
  const type = headers['content-type'];
  const odd = (what: string): Attempt => {
    const message = `${request.method} ${request.endpoint} answered ${what}`;
    return { failed: { error: new errors.UnexpectedContent(message), retry: 'once' } };
  };
  const answer = { status, headers, raw, date: dateOf(headers) };
  if (isEmpty && request.bodiless && (complete.has(status) || status === 204))
    return { answer: { ...answer, body: undefined } };
  if (!complete.has(status)) return odd(`${status}, which is no page`);
  if (isEmpty) return odd(`${status} with an empty body`);
  if (!isJson(type))
    return odd(`${status} with ${type === undefined ? 'no content type' : clean(type)} instead of JSON`);
  try {
    return { answer: { ...answer, body: parseJson(raw) } };
  } catch (cause) {
    if (!(cause instanceof errors.BadData)) throw cause;
    const message = `${request.method} ${request.endpoint}: ${cause.message}`;
    return { failed: { error: new errors.UnexpectedContent(message, { cause }), retry: 'yes' } };
  }
};

/** `application/json` and `…+json`, with any parameters. `text/plain` is refused even where it holds JSON: error pages come that way. */
const isJson = (type: string | undefined): boolean =>
  /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type ?? '');

const missing = new Set([404, 405, 410, 501]);
/** The answer was not made in time: by the server, a gateway, or the network in front of it (524 is Cloudflare's). */
const late = new Set([408, 504, 524]);

const readStatus = (request: Request, got: Received, context: AnswerContext): Failed => {
  const { status, headers } = got;
  const { clean, wallMs } = context;
  const scheme =
    status === 401 ? /^\s*([\w-]{1,20})/.exec(headers['www-authenticate'] ?? '')?.[1] : undefined;
  const asking = scheme === undefined ? '' : `, asking for ${scheme}`;
  const answered = `${request.method} ${request.endpoint} answered ${status}${asking}`;
  const afterMs = retryAfterMs(headers, wallMs);
  const facts = { retryAfterMs: afterMs };
  if (status === 429 || (status === 403 && isLimit(headers))) {
    const reason = headers['ratelimit-reason'];
    const message = `${answered}: rate limit${reason === undefined ? '' : ` (${clean(reason)})`}`;
    const error = new errors.RateLimited(message, facts);
    return { error, retry: 'wait', afterMs, isOfEndpoint: isOfEndpoint(headers) };
  }
  if (status >= 300 && status < 400)
    return { error: redirected(answered, status, headers.location, clean), retry: 'no' };
  const body = bodyOf(got.raw, headers['content-type']);
  const messages = serverMessages(body, clean);
  const trace = traceOf(body, headers, clean);
  const line = [answered, messages.map(clip).join('; ')].filter(Boolean).join(': ');
  const [, advice, about] = adviceOn(context.advice, headers, got.raw.toString('utf8', 0, 65_536)) ?? [];
  // The scope that the token lacks, where the server names it (RFC 6750, section 3.1).
  const [, scope] = /insufficient_scope.*\bscope="([^"]*)"/.exec(headers['www-authenticate'] ?? '') ?? [];
  const told = [
    trace === undefined ? line : `${line} (trace ${trace})`,
    scope && `the token lacks the scope ${scope}`,
  ];
  const message = [...told.map((text) => clean(text ?? '')), advice].filter(Boolean).join('; ');
  if (late.has(status)) return { error: new errors.TimedOut(message, facts), retry: 'yes', afterMs };
  if (status === 425 || request.passing === status || (status >= 500 && !missing.has(status)))
    return { error: new errors.Transient(message, facts), retry: 'yes', afterMs };
  if (status !== 401 && about !== 'login')
    return { error: refusal(status, message, messages, body), retry: 'no' };
  const question = advice === undefined ? '; are the credentials right, and still valid?' : '';
  // What it means where the account itself is accepted: see `closedEndpoints`.
  const cause = new errors.Forbidden(message);
  return { error: new errors.AuthFailed(message + question, { cause }), retry: 'no' };
};

/** What a status means that the same request will get again. */
const refusal = (status: number, message: string, messages: readonly string[], body: unknown) => {
  if (status === 403) return new errors.Forbidden(message);
  if (missing.has(status)) return new errors.Missing(message, status, { body });
  return new errors.Refused(message, status, messages);
};

/** Without the query of the location, which may carry anything. */
const redirected = (answered: string, status: number, location: string | undefined, clean: Clean) => {
  const to = location === undefined ? '' : ` to ${clean(location.replace(/[?#].*$/s, ''))}`;
  const question = 'it was not followed: is the base URL the final address of the API?';
  return new errors.Redirected(`${answered}, a redirect${to}; ${question}`, status);
};
