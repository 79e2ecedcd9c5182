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
  /** For people, e.g. `epoch milliseconds`. */
  readonly name: string;
  /** A literal for `>=` that the server reads as `at` or earlier. */
  from(at: Date): string;
  /** A literal for `<` that the server reads as `at` or later. */
  to(at: Date): string;
}

const epoch = (at: Date): string => String(Math.max(0, at.getTime()));

/**
 * Unquoted milliseconds since 1970, absolute whatever the account's zone (airbytehq/airbyte#48395,
 * onyx-dot-app/onyx#14114: since Jira 4.0). Never negative: the vendor reads `-5` as a relative time.
 */
export const epochMillis: DateForm = { name: 'epoch milliseconds', from: epoch, to: epoch };

/** More than any zone differs from UTC (UTC-12 to UTC+14, and an hour for a midnight that does not exist). */
const anyZone = hours(15);

const minuteOf = (at: number): string => `"${new Date(at).toISOString().slice(0, 16).replace('T', ' ')}"`;

/** Quoted minutes, which the server reads in a zone that is not known. */
export const quotedMinutes: DateForm = {
  name: `"yyyy-MM-dd HH:mm" in UTC, widened by ${anyZone / hours(1)} h`,
  from: (at) => minuteOf(at.getTime() - anyZone),
  to: (at) => minuteOf(at.getTime() + anyZone + minutes(1) - 1),
};

/** What every query of one source has in common. */
export interface JqlScope {
  /** History begins here; no query is without it or a `created` bound of its own. */
  readonly start: Date;
  /** The user's filter, checked by `filterOf`. */
  readonly filter: string | undefined;
}

/**
 * The query of a window, in key order: numbers of issues never change, so that offset walks can be checked at
 * their seams.
 */
export const windowJql = (form: DateForm, scope: JqlScope, window?: Window): string =>
  `${boundsJql(form, scope, window)} ORDER BY key ASC`;

/** The condition of a window: always bounded by `created`, because the vendor refuses unbounded queries. */
export const boundsJql = (form: DateForm, { start, filter }: JqlScope, window?: Window): string => {
  const bounds =
    window?.field === 'created'
      ? between('created', form, window.from ?? start, window.to)
      : [
          ...between('created', form, start),
          ...(window ? between('updated', form, window.from, window.to) : []),
        ];
  return [...bounds, ...(filter === undefined ? [] : [`(${filter})`])].join(' AND ');
};

const between = (field: Window['field'], form: DateForm, from?: Date, to?: Date): readonly string[] => [
  ...(from ? [`${field} >= ${form.from(from)}`] : []),
  ...(to ? [`${field} < ${form.to(to)}`] : []),
];

/**
 * A filter of the user, to be put in parentheses beside our own bounds; undefined where it is blank. `name`: what
 * messages call it.
 * Throws `Misconfigured` for one with an ORDER BY of its own, and for one whose quotes or parentheses are not
 * closed (it could reach out of the bounds).
 */
export const filterOf = (jql: string | undefined, name = 'TRACKER_JQL'): string | undefined => {
  const text = jql?.trim() ?? '';
  if (text === '') return undefined;
  const bare = text.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\./gs, '_');
  if (/["']/.test(bare)) throw new Misconfigured(`${name} has a quote that is not closed: ${text}`);
  if (/\border\s+by\b/i.test(bare))
    throw new Misconfigured(`${name} must not have an ORDER BY (issues are read by key): ${text}`);
  // Innermost pairs go first; what is left has no other half.
  let open = bare;
  while (/\([^()]*\)/.test(open)) open = open.replace(/\([^()]*\)/g, '');
  if (/[()]/.test(open)) throw new Misconfigured(`${name} has a parenthesis without its other half: ${text}`);
  return text;
};

/** The filter without issues of the projects, by key or id. */
export const withoutProjects = (filter: string | undefined, projects: readonly string[]) =>
  projects.reduce<string | undefined>((rest, project) => {
    // JQL escapes text as JSON does.
    const others = `project != ${JSON.stringify(project)}`;
    return rest === undefined ? others : `(${rest}) AND ${others}`;
  }, filter);
