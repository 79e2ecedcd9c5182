/** What a server says when it says no, made fit for a log line. */

import { parseJson } from '../core/json.ts';

const longest = 300;
const most = 5;

/**
 * The server's own messages from an error body: Jira's `{errorMessages, errors}`, problem+json's `{title, detail}`, `{error}`,
 * `{error: {message}}`, `{message}`, `{messages}`, Spotify's `{messages, error_codes: [{code, definition}]}` and `{validation_errors}`, and
 * OAuth's `{error, error_description}`. Cleaned, at most five; none where the body is not JSON.
 */
export const serverMessages = (
  raw: Buffer,
  type: string | undefined,
  clean: (text: string) => string,
): readonly string[] =>
  texts(bodyOf(raw, type))
    .map(clean)
    .filter((text, place, all) => text !== '' && all.indexOf(text) === place)
    .slice(0, most);

/** The name by which the server's own people find the request again: Spotify's `sp_trace_id`, in the body or as a header. */
export const traceOf = (
  raw: Buffer,
  headers: Readonly<Record<string, string>>,
  clean: (text: string) => string,
): string | undefined => {
  const body = bodyOf(raw, headers['content-type']);
  const named =
    typeof body === 'object' && body !== null && 'sp_trace_id' in body ? body.sp_trace_id : undefined;
  const trace = typeof named === 'string' && named !== '' ? named : headers.sp_trace_id;
  return trace === undefined || trace.trim() === '' ? undefined : clip(clean(trace));
};

/** The body of an error, where it is JSON. */
export const bodyOf = (raw: Buffer, type: string | undefined): unknown => {
  if (!/json/i.test(type ?? '') || raw.length > 1024 * 1024) return undefined;
  try {
    return parseJson(raw);
  } catch {
    // An error page that is broken itself has nothing to say; the status is told in any case.
    return undefined;
  }
};

const texts = (body: unknown): readonly string[] => {
  if (typeof body !== 'object' || body === null) return [];
  const known = body as Readonly<Record<string, unknown>>;
  const {
    errorMessages,
    errors,
    title,
    detail,
    error,
    message,
    messages,
    error_description,
    validation_errors,
  } = known;
  const said = strings(messages);
  return [
    ...strings(errorMessages),
    ...fields(errors),
    ...said,
    ...(typeof error === 'object' ? texts(error).slice(0, most) : strings(error)),
    ...strings(message),
    ...strings(detail === undefined ? title : detail),
    ...strings(error_description),
    ...strings(known.code),
    // Spotify writes the key in more than one way.
    ...codes(known.error_codes ?? known.errorCodes ?? known.ERROR_CODES, said),
    ...fields(validation_errors),
  ];
};

const strings = (value: unknown): readonly string[] =>
  [value].flat().filter((text): text is string => typeof text === 'string');

const fields = (errors: unknown): readonly string[] =>
  Array.isArray(errors)
    ? errors.flatMap((one) => (typeof one === 'string' ? [one] : texts(one)))
    : typeof errors === 'object' && errors !== null
      ? Object.entries(errors).flatMap(([field, text]) =>
          typeof text === 'string' ? [`${field}: ${text}`] : [],
        )
      : [];

/** `CODE: definition`, or whichever of the two is there; a definition that was said already is not said again. */
const codes = (list: unknown, said: readonly string[]): readonly string[] =>
  [list].flat().flatMap((one) => {
    if (typeof one === 'string') return [one];
    if (typeof one !== 'object' || one === null) return [];
    const { code, definition } = one as Readonly<Record<string, unknown>>;
    const words = [...strings(code), ...strings(definition).filter((text) => !said.includes(text))];
    return words.length === 0 ? [] : [words.join(': ')];
  });

/** A text as it fits into a line: at most 300 characters. */
export const clip = (text: string): string =>
  text.length > longest ? `${text.slice(0, longest - 1)}…` : text;

/**
 * Makes foreign text fit for a message: control characters (also line breaks, escapes of terminals and marks that turn text around) become
 * spaces, and whatever carries the credentials becomes `•••`: a server may echo what it was sent.
 */
export const cleaner =
  (secrets: readonly string[]) =>
  (text: string): string =>
    secrets
      .reduce((rest, secret) => rest.replaceAll(secret, '•••'), text.slice(0, 10_000))
      .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ')
      .trim();

/** The secret parts of authorization headers: the values, what follows the scheme, and the two halves of Basic. */
export const secretsIn = (headers: Readonly<Record<string, string>>): readonly string[] =>
  Object.values(headers)
    .flatMap((value) => {
      const [scheme = '', token = ''] = value.split(/\s+(.*)/s);
      const basic = /^basic$/i.test(scheme) ? Buffer.from(token, 'base64').toString('utf8') : '';
      return [value, token, basic, basic.slice(basic.indexOf(':') + 1)];
    })
    .filter((secret) => secret.length >= 6)
    .sort((a, b) => b.length - a.length);
