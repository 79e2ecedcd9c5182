/** Kinds of values as zod schemas over a variable's text. No message repeats what may be a secret. */
import { z } from 'zod';
import { isThisMachine } from '../core/this-machine.ts';

/** Text that `read` turns into a value; where it returns undefined, the message is `'text' wrong`. */
export const value = <T>(read: (text: string) => T | undefined, wrong: string) =>
  z.string().transform((text, context): T => {
    const found = read(text);
    if (found !== undefined) return found;
    context.addIssue({ code: 'custom', message: `'${text}' ${wrong}` });
    return z.NEVER;
  });

/** A whole number within bounds, both included. */
export const integer = (least: number, most: number) =>
  value(
    (text) =>
      /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined,
    `is not a whole number from ${least} to ${most}`,
  );

/** Requests a second: zero or more, decimals allowed. */
export const rate = value(
  (text) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined),
  'is not a number of requests a second, such as 10 or 0.5',
);

export const oneOf = <const W extends string>(...words: readonly W[]) =>
  value((text) => words.find((word) => word === text.toLowerCase()), `is none of ${words.join(', ')}`);

const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

/** Names of days of the week separated by commas, Monday first. */
export const daysOfWeek = value((text): readonly string[] | undefined => {
  const days = text.split(',').map((day) => day.trim().toLowerCase());
  return days.every((day) => weekdays.includes(day))
    ? weekdays.filter((day) => days.includes(day))
    : undefined;
}, 'is no list of days, such as mon,tue,wed,thu,fri').default(['mon', 'tue', 'wed', 'thu', 'fri']);

/** Days by their names as numbers of ISO 8601: 1 Monday to 7 Sunday. */
export const isoDays = (names: readonly string[]): readonly number[] =>
  names.map((name) => weekdays.indexOf(name) + 1);

/** An ISO 4217 code. */
export const currency = value((text) => /^[A-Z]{3}$/.exec(text)?.[0], 'is no currency, such as EUR');

/** Words separated by commas. A list that is set but names nothing is refused, because it must not mean all. */
export const list = value((text): readonly string[] | undefined => {
  const items = text.split(',').map((item) => item.trim());
  return items.some(Boolean) ? items.filter(Boolean) : undefined;
}, 'names nothing; leave it empty for the default');

/** Years 0001 to 9999; the year 0 exists in JavaScript only. */
const instantForm = /^(?!0000)(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,3})?)?Z)?$/;

/** `2024-01-31` (midnight UTC) or `2024-01-31T08:00:00Z`; undefined for anything else, 30 February included. */
export function parseInstant(text: string): Date | undefined {
  if (!instantForm.test(text)) return undefined;
  const date = new Date(text.length === 10 ? `${text}T00:00:00Z` : text);
  // JavaScript reads 30 February as 1 March.
  const isReal = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text.slice(0, 10));
  return isReal ? date : undefined;
}

/** A day or an instant that is not in the future. */
export const pastInstant = value((text) => {
  const date = parseInstant(text);
  return date !== undefined && date <= new Date() ? date : undefined;
}, 'is no date, or lies in the future; write 2024-01-31 (UTC) or 2024-01-31T08:00:00Z');

/** A day or an instant. */
export const anyInstant = value(parseInstant, 'is no date; write 2027-01-31 (UTC) or 2027-01-31T08:00:00Z');

/** The IANA name of a time zone. */
export const timeZone = value((name) => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) && name;
  } catch {
    return undefined;
  }
}, 'is no time zone, such as Europe/Berlin');

/** The base URL of a server, without a slash at its end. No message quotes it: it may hold a password. */
export const baseUrl = z
  .url({ protocol: /^https?$/i, error: 'is not a URL, such as https://api.example.com' })
  .refine((text) => !/^[^/]*\/\/[^/]*@/.test(text), 'must not hold credentials: they have their own settings')
  .refine((text) => !/[?#]/.test(text), 'must not have a query (?…) or a fragment (#…)')
  .transform((text) => new URL(text).href.replace(/\/+$/, ''));

export const text = z.string().optional();

const token = (form: RegExp, wrong: string) => z.string().regex(form, wrong);

/** A token that we send in an Authorization header. */
export const sentToken = token(
  /^[\x20-\x7e]+$/,
  'has a line break or a character that is not ASCII, which no header can carry; copy it again',
);

/** The user name or the e-mail address of Basic auth: the first colon ends it (RFC 7617). */
export const account = z
  .string()
  .refine((name) => !name.includes(':'), 'has a colon in it, which no account of Basic auth can have');

/** A token that callers send to us; without blanks, because they separate it from the word Bearer. */
export const bearerToken = token(
  /^[\x21-\x7e]+$/,
  'has a blank or a character that is not ASCII, which no caller can send; make one of letters and digits',
).optional();

/** The address of a webhook, itself a secret: https, or http on this machine. */
export const webhookUrl = z
  .string()
  .refine((text) => {
    const url = URL.parse(text);
    const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isThisMachine(url.hostname));
    return isSafe && url.username === '' && url.password === '';
  }, 'is not an https address without user and password')
  .optional();

/** The address of a mail server, itself a secret. */
export const smtpUrl = z
  .url({
    protocol: /^smtps?$/,
    hostname: /./,
    error: 'is no address like smtps://user:password@smtp.example.com (special characters percent-encoded)',
  })
  .refine((text) => !/[?#]/.test(text), 'must not have a query: it could turn the check of certificates off')
  .optional();

/** Also of a host without a domain: `root@localhost`. */
const address = (error: string) => z.email({ pattern: z.regexes.html5Email, error });

export const emailAddress = address('is no e-mail address, such as tidemark@example.com').optional();

export const emailAddresses = list
  .pipe(z.array(address('is no list of e-mail addresses, such as ops@example.com,data@example.com')))
  .optional();

/** PagerDuty answers 400 to one of another length. */
export const integrationKey = token(
  /^[A-Za-z0-9]{32}$/,
  'is no integration key of Events API v2: 32 letters and digits',
).optional();
