/** Queries in the tracker's language: a window, the user's own filter, and the order that makes offset walks checkable. */

import { Misconfigured } from '../../core/errors.ts';
import type { Window } from '../../core/stream.ts';
import type { DateForm } from './dates.ts';

/** What every query of one source has in common. */
export interface Scope {
  /** History begins here; no query is without it or a `created` bound of its own. */
  readonly start: Date;
  /** The user's filter, as `filterOf` let it through. */
  readonly filter: string | undefined;
}

/** The query of a window, in key order: numbers of issues never change, so that offset walks can be checked at their seams. */
export const windowJql = (form: DateForm, scope: Scope, window?: Window): string =>
  `${boundsJql(form, scope, window)} ORDER BY key ASC`;

/** The condition of a window: always bounded by `created`, because the vendor refuses unbounded queries. */
export const boundsJql = (form: DateForm, scope: Scope, window?: Window): string => {
  const bounds =
    window?.field === 'created'
      ? between('created', form, window.from ?? scope.start, window.to)
      : [
          ...between('created', form, scope.start),
          ...(window ? between('updated', form, window.from, window.to) : []),
        ];
  const filter = scope.filter === undefined ? [] : [`(${scope.filter})`];
  return [...bounds, ...filter].join(' AND ');
};

const between = (field: Window['field'], form: DateForm, from?: Date, to?: Date): string[] => {
  const upper = to && form.to(to);
  return [
    ...(from ? [`${field} >= ${form.from(from)}`] : []),
    ...(upper === undefined ? [] : [`${field} < ${upper}`]),
  ];
};

/**
 * The user's `TRACKER_JQL`, fit to stand in parentheses beside our own bounds; undefined if it is blank. Throws `Misconfigured` for one with
 * its own ORDER BY (walks need theirs) and for one whose quotes or parentheses do not close (it could reach out of the bounds).
 */
export const filterOf = (jql: string | undefined): string | undefined => {
  const text = jql?.trim() ?? '';
  if (text === '') return undefined;
  const bare = text.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\./gs, (quoted) =>
    '_'.repeat(quoted.length),
  );
  if (/["']/.test(bare)) throw new Misconfigured(`TRACKER_JQL has a quote that is not closed: ${text}`);
  if (/\border\s+by\b/i.test(bare)) {
    throw new Misconfigured(`TRACKER_JQL must not have an ORDER BY of its own (walks go by key): ${text}`);
  }
  let depth = 0;
  for (const character of bare) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (depth < 0) break;
  }
  if (depth !== 0) throw new Misconfigured(`TRACKER_JQL has a parenthesis without its other half: ${text}`);
  return text;
};
