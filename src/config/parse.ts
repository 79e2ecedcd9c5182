import path from 'node:path';
import { isThisMachine } from '../core/this-machine.ts';
import type { Variables } from './variables.ts';

/** One reader for each kind of value; each answers its default after telling the problem, so that all problems are told at once. */

/** A whole number within bounds, both included. */
export function integer(
  from: Variables,
  name: string,
  fallback: number,
  least: number,
  most: number,
): number {
  const text = from.text(name);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  from.problem(name, `'${text}' is not a whole number from ${least} to ${most}`);
  return fallback;
}

/** A number of zero or more, decimals allowed. */
export function rate(from: Variables, name: string, fallback: number): number {
  const text = from.text(name);
  if (text === undefined) return fallback;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  from.problem(name, `'${text}' is not a number of requests a second, such as 10 or 0.5`);
  return fallback;
}

/** One of some words. */
export function oneOf<const W extends string>(
  from: Variables,
  name: string,
  words: readonly W[],
  fallback: NoInfer<W>,
): W {
  const text = from.text(name)?.toLowerCase();
  if (text === undefined) return fallback;
  const word = words.find((w) => w === text);
  if (word !== undefined) return word;
  from.problem(name, `'${text}' is none of ${words.join(', ')}`);
  return fallback;
}

/** Words separated by commas; empty ones are left out. None at all, though something is set, must not mean all. */
export function list(from: Variables, name: string): readonly string[] {
  const text = from.text(name);
  if (text === undefined) return [];
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length === 0) from.problem(name, `'${text}' names nothing; leave it empty for the default`);
  return words;
}

/** A day as `2024-01-31` (its first instant in UTC) or an instant as `2024-01-31T08:00:00Z`; one that has come. */
export function instant(from: Variables, name: string, fallback: Date): Date {
  const text = from.text(name);
  if (text === undefined) return fallback;
  const value = parseInstant(text);
  if (value && value > new Date())
    from.problem(name, `'${text}' lies in the future: there would be nothing to read`);
  if (value) return value;
  from.problem(name, `'${text}' is no date; write 2024-01-31 (UTC) or 2024-01-31T08:00:00Z`);
  return fallback;
}

/** The year 0 is one of JavaScript, not of the calendar: the warehouse knows no such date. */
const shape = /^(?!0000)(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,3})?)?Z)?$/;

/** As `instant`, from a command's words too; undefined for anything else, 30 February included. */
export function parseInstant(text: string): Date | undefined {
  if (!shape.test(text)) return undefined;
  const value = new Date(text.length === 10 ? `${text}T00:00:00Z` : text);
  if (Number.isNaN(value.getTime())) return undefined;
  // JavaScript takes 30 February for 1 March.
  return value.toISOString().startsWith(text.slice(0, 10)) ? value : undefined;
}

/** The base URL of a source, without a slash at its end; undefined if absent or wrong. */
export function baseUrl(from: Variables, name: string): string | undefined {
  const text = from.text(name);
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const wrong = url ? whatIsWrong(url) : 'is not a URL, such as https://api.example.com';
  if (!url || wrong) {
    from.problem(name, wrong ?? 'is not a URL');
    return undefined;
  }
  if (url.protocol === 'http:' && !isThisMachine(url.hostname)) {
    from.warn(name, `credentials go to ${url.host} unencrypted; use https where the server has it`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function whatIsWrong(url: URL): string | undefined {
  // Not quoted: it may hold a password.
  if (url.username || url.password) return 'must not hold credentials; give them in their own variables';
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return `must begin with https:// or http://, not ${url.protocol}`;
  if (url.search || url.hash) return 'must not have a query (?…) or a fragment (#…)';
  return undefined;
}

/** A directory, absolute. */
export const directory = (from: Variables, name: string, fallback: string, cwd: string): string =>
  path.resolve(cwd, from.text(name) ?? fallback);

/** Whether the user has set it. */
export const isSet = (from: Variables, name: string): boolean => from.text(name) !== undefined;
