/**
 * Queries in the tracker's language: date literals, windows, the user's own filter, and the order that makes
 * offset walks checkable.
 */

import { Misconfigured } from '../../core/errors.ts';
import type { Window } from '../../core/stream.ts';
import { hours, minutes } from '../../core/time.ts';

/**
 * A form of date literal. Its bounds never lose a record of a half-open window; they may let more through.
 */
export interface DateForm {
  /** For people: `epoch milliseconds`, `"yyyy-MM-dd HH:mm" in Europe/Berlin`. */
  readonly name: string;
  /** A literal for `>=` that the server reads as `at` or earlier. */
  from(at: Date): string;
  /** A literal for `<` that the server reads as `at` or later; undefined where it takes no upper bound. */
  to(at: Date): string | undefined;
}

/** The same for a server that knows lower bounds only: the contract names only `created >= <date>`. */
export const withoutUpperBound = (form: DateForm): DateForm => ({
  ...form,
  name: `${form.name}, without an upper bound`,
  to: () => undefined,
});

const epoch = (at: Date): string => String(Math.max(0, at.getTime()));

/** Unquoted milliseconds since 1970, absolute. Never negative: the vendor reads `-5` as a relative time. */
export const epochMillis: DateForm = { name: 'epoch milliseconds', from: epoch, to: epoch };

/** More than any zone differs from UTC (UTC-12 to UTC+14, and an hour for a midnight that does not exist). */
const anyZone = hours(15);

/** More than clocks are set back at once: a wall time that occurs twice may be read as either. */
const anyChange = hours(3);

/** Quoted minutes, which the server reads in the account's time zone; undefined: a zone that is not known. */
export const quotedMinutes = (timeZone?: string): DateForm => {
  const margin = timeZone === undefined ? anyZone : anyChange;
  // Swedish writes dates and times as JQL does: 2024-10-27 02:30.
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timeZone ?? 'UTC',
    dateStyle: 'short',
    timeStyle: 'short',
  });
  return {
    name: `"yyyy-MM-dd HH:mm" in ${timeZone ?? `UTC, widened by ${margin / hours(1)} h`}`,
    from: (at) => `"${format.format(at.getTime() - margin)}"`,
    to: (at) => `"${format.format(at.getTime() + margin + minutes(1) - 1)}"`,
  };
};

/** Dates only, read in a zone that is not known: each bound is widened by whole days. */
export const days = (quote: '"' | ''): DateForm => {
  const literal = (at: number): string => `${quote}${new Date(at).toISOString().slice(0, 10)}${quote}`;
  return {
    name: `${quote}yyyy-MM-dd${quote}`,
    from: (at) => literal(at.getTime() - anyZone),
    to: (at) => literal(at.getTime() + anyZone + hours(24) - 1),
  };
};

/** What every query of one source has in common. */
export interface Scope {
  /** History begins here; no query is without it or a `created` bound of its own. */
  readonly start: Date;
  /** The user's filter, checked by `filterOf`. */
  readonly filter: string | undefined;
}

/**
 * The query of a window, in key order: numbers of issues never change, so that offset walks can be checked at
 * their seams.
 */
export const windowJql = (form: DateForm, scope: Scope, window?: Window): string =>
  `${boundsJql(form, scope, window)} ORDER BY key ASC`;

/** The condition of a window: always bounded by `created`, because the vendor refuses unbounded queries. */
export const boundsJql = (form: DateForm, { start, filter }: Scope, window?: Window): string => {
  const bounds =
    window?.field === 'created'
      ? between('created', form, window.from ?? start, window.to)
      : [
          ...between('created', form, start),
          ...(window ? between('updated', form, window.from, window.to) : []),
        ];
  return [...bounds, ...(filter === undefined ? [] : [`(${filter})`])].join(' AND ');
};

const between = (field: Window['field'], form: DateForm, from?: Date, to?: Date): readonly string[] => {
  const upper = to && form.to(to);
  return [
    ...(from ? [`${field} >= ${form.from(from)}`] : []),
    ...(upper === undefined ? [] : [`${field} < ${upper}`]),
  ];
};

/**
 * The user's `TRACKER_JQL`, to be put in parentheses beside our own bounds; undefined where it is blank.
 * Throws `Misconfigured` for one with an ORDER BY of its own, and for one whose quotes or parentheses are not
 * closed (it could reach out of the bounds).
 */
export const filterOf = (jql: string | undefined): string | undefined => {
  const text = jql?.trim() ?? '';
  if (text === '') return undefined;
  const bare = text.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\./gs, '_');
  if (/["']/.test(bare)) throw new Misconfigured(`TRACKER_JQL has a quote that is not closed: ${text}`);
  if (/\border\s+by\b/i.test(bare))
    throw new Misconfigured(`TRACKER_JQL must not have an ORDER BY (issues are read by key): ${text}`);
  // Innermost pairs go first; what is left has no other half.
  let open = bare;
  while (/\([^()]*\)/.test(open)) open = open.replace(/\([^()]*\)/g, '');
  if (/[()]/.test(open))
    throw new Misconfigured(`TRACKER_JQL has a parenthesis without its other half: ${text}`);
  return text;
};

/** The filter without issues of the projects, by key or id. */
export const withoutProjects = (filter: string | undefined, projects: readonly string[]) =>
  projects.reduce<string | undefined>((rest, project) => {
    // JQL escapes text as JSON does.
    const others = `project != ${JSON.stringify(project)}`;
    return rest === undefined ? others : `(${rest}) AND ${others}`;
  }, filter);
