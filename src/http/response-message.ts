/** A server's own words for an error, made fit for a log line. */

import { parseJson } from '../core/json.ts';
import { isObject } from '../core/record.ts';
import type { Headers } from './headers.ts';

/** Takes secrets and control characters out of foreign text. */
export type Clean = (text: string) => string;

const longest = 300;
const most = 5;

/**
 * The server's own messages from an error body: Jira's `{errorMessages, errors}`, problem+json's `{title, detail}`, `{error}`,
 * `{error: {message}}`, `{message}`, `{messages}`, Spotify's `{messages, error_codes: [{code, definition}]}` and `{validation_errors}`, and
 * OAuth's `{error, error_description}`. Cleaned, at most five; none where the body is not JSON.
 */
export const serverMessages = (body: unknown, clean: Clean): readonly string[] =>
  [...new Set(texts(body).map(clean))].filter((text) => text !== '').slice(0, most);

/** The name by which the server's operators find the request again: Spotify's `sp_trace_id`, in the body or as a header. */
export const traceOf = (body: unknown, headers: Headers, clean: Clean): string | undefined => {
  const named = isObject(body) && typeof body.sp_trace_id === 'string' ? body.sp_trace_id : '';
  return clip(clean(named || (headers.sp_trace_id ?? ''))) || undefined;
};

/** The body of an error, where it is JSON. */
export const bodyOf = (raw: Buffer, type: string | undefined): unknown => {
  if (!/json/i.test(type ?? '') || raw.length > 1024 * 1024) return undefined;
  try {
    return parseJson(raw);
  } catch {
    // An error page that is broken itself has no message; its status is reported in any case.
    return undefined;
  }
};

const texts = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(texts);
  if (!isObject(value)) return [];
  if (typeof value.definition === 'string')
    return [[value.code, value.definition].filter(Boolean).join(': ')];
  return [
    ...texts(value.errorMessages),
    ...byField(value.errors),
    ...[value.messages, value.error, value.message, value.detail ?? value.title].flatMap(texts),
    ...[value.error_description, value.code].flatMap(texts),
    // Spotify writes the key in more than one way.
    ...texts(value.error_codes ?? value.errorCodes ?? value.ERROR_CODES),
    ...byField(value.validation_errors),
  ];
};

const byField = (errors: unknown): readonly string[] =>
  isObject(errors)
    ? Object.entries(errors).flatMap(([field, text]) => texts(text).map((one) => `${field}: ${one}`))
    : texts(errors);

/** A text as it fits into a line: at most 300 characters. */
export const clip = (text: string): string =>
  text.length > longest ? `${text.slice(0, longest - 1)}…` : text;

/**
 * Makes foreign text fit for a message: control characters (also line breaks, terminal escapes and bidirectional marks) become spaces, and
 * whatever carries the credentials becomes `•••`: a server may echo what it was sent.
 */
export const cleaner =
  (secrets: readonly string[]): Clean =>
  (text) =>
    secrets
      .reduce((rest, secret) => rest.replaceAll(secret, '•••'), text.slice(0, 10_000))
      .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ')
      .trim();

/** The secret parts of authorization headers: the values, what follows the scheme, and the two halves of Basic. */
export const secretsIn = (headers: Headers): readonly string[] =>
  Object.values(headers)
    .flatMap((value) => {
      const [scheme = '', token = ''] = value.split(/\s+(.*)/s);
      const basic = /^basic$/i.test(scheme) ? Buffer.from(token, 'base64').toString('utf8') : '';
      return [value, token, basic, basic.slice(basic.indexOf(':') + 1)];
    })
    .filter((secret) => secret.length >= 6)
    .sort((a, b) => b.length - a.length);
