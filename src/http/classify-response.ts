/** Judges an answer: a page of JSON, or an error named for what the reader must do. An odd answer is never "no data". */

import {
  AuthFailed,
  BadData,
  Forbidden,
  Missing,
  RateLimited,
  Refused,
  type TidemarkError,
  TimedOut,
  Transient,
  UnexpectedContent,
} from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { Request } from '../core/request.ts';
import type { Attempt, Failed } from './attempt.ts';
import type { Received } from './exchange.ts';
import { dateOf, retryAfterMs } from './headers.ts';
import { bodyOf, clip, serverMessages, traceOf } from './response-message.ts';

/** What the judgement needs to know besides the answer. `clean` takes secrets and control characters out of foreign text; `wallMs` is now. */
export interface Facts {
  readonly clean: (text: string) => string;
  readonly wallMs: number;
}

/** The answer with its body parsed, or why it does not count. */
export const judge = (request: Request, got: Received, facts: Facts): Attempt => {
  const { status } = got;
  if (status >= 200 && status < 300) return judgeContent(request, got, facts);
  return { failed: judgeStatus(request, got, facts) };
};

/** Statuses that say "here it is, whole"; 204, 205 and 206 do not. */
const whole = new Set([200, 201, 202, 203]);

const judgeContent = (request: Request, got: Received, facts: Facts): Attempt => {
  const odd = (what: string): Attempt =>
    once(new UnexpectedContent(`${request.method} ${request.endpoint} answered ${what}`));
  if (!whole.has(got.status) && !(got.status === 204 && request.bodiless === true))
    return odd(`${got.status}, which is no page`);
  if (got.raw.length === 0 && request.bodiless === true) {
    const { status, headers, raw, receivedAt } = got;
    return { answer: { status, headers, raw, body: undefined, date: dateOf(headers), receivedAt } };
  }
  if (got.raw.length === 0) return odd(`${got.status} with an empty body`);
  const type = got.headers['content-type'];
  if (!isJson(type))
    return odd(
      `${got.status} with ${type === undefined ? 'no content type' : facts.clean(type)} instead of JSON`,
    );
  try {
    const body = parseJson(got.raw);
    const { status, headers, raw, receivedAt } = got;
    return { answer: { status, headers, raw, body, date: dateOf(headers), receivedAt } };
  } catch (cause) {
    if (!(cause instanceof BadData)) throw cause;
    const error = new UnexpectedContent(`${request.method} ${request.endpoint}: ${cause.message}`, { cause });
    return { failed: { error, again: 'yes' } };
  }
};

/** `application/json` and `…+json`, with any parameters. `text/plain` is refused even where it holds JSON: error pages come that way. */
const isJson = (type: string | undefined): boolean =>
  /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type ?? '');

const judgeStatus = (request: Request, got: Received, facts: Facts): Failed => {
  const { status, headers } = got;
  const said = `${request.method} ${request.endpoint} answered ${status}`;
  const afterMs = retryAfterMs(headers, facts.wallMs);
  if (status === 429) {
    const reason = headers['ratelimit-reason'];
    const message = `${said}: rate limit${reason === undefined ? '' : ` (${facts.clean(reason)})`}`;
    return { error: new RateLimited(message, { retryAfterMs: afterMs }), again: 'wait', afterMs };
  }
  if (status >= 300 && status < 400)
    return never(new UnexpectedContent(redirected(said, headers.location, facts)));
  const whole = serverMessages(got.raw, headers['content-type'], facts.clean);
  const messages = whole.map(clip);
  const trace = traceOf(got.raw, headers, facts.clean);
  const line =
    (messages.length === 0 ? said : `${said}: ${messages.join('; ')}`) +
    (trace === undefined ? '' : ` (trace ${trace})`);
  if (status === 401) return never(new AuthFailed(`${line}; are the credentials right, and still valid?`));
  if (status === 403) return never(new Forbidden(line));
  if (status === 404 || status === 405 || status === 410 || status === 501)
    return never(new Missing(line, status, { body: bodyOf(got.raw, headers['content-type']) }));
  if (late.has(status))
    return { error: new TimedOut(line, { retryAfterMs: afterMs }), again: 'yes', afterMs };
  if (status === 425 || status >= 500 || request.passing === status)
    return { error: new Transient(line, { retryAfterMs: afterMs }), again: 'yes', afterMs };
  return { error: new Refused(line, status, messages, { whole }), again: isGateways(got) ? 'once' : 'no' };
};

/** The answer was not made in time: by the server, a gateway, or the network in front of it (524 is Cloudflare's). */
const late = new Set([408, 504, 524]);

/**
 * Whether a refusal (400) is a page for people: APIs refuse in JSON (so do the vendors' OpenAPIs), the page is of a gateway before them, whose reason may
 * have been that one connection.
 */
const isGateways = ({ status, headers }: Received): boolean =>
  status === 400 && /^\s*text\/html\b/i.test(headers['content-type'] ?? '');

const redirected = (said: string, location: string | undefined, facts: Facts): string => {
  // Without its query, which may carry anything.
  const to = location === undefined ? '' : ` to ${facts.clean(location.replace(/[?#].*$/s, ''))}`;
  return `${said}, a redirect${to}; it was not followed: is the base URL the final address of the API?`;
};

const never = (error: TidemarkError): Failed => ({ error, again: 'no' });
const once = (error: TidemarkError): Attempt => ({ failed: { error, again: 'once' } });
