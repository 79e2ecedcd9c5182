/** Which tongue the issue search speaks and what else it understands: found out from its answers, once a run, and then kept to. */

import { Misconfigured, Refused, UnexpectedContent } from '../../core/errors.ts';
import type { Http, Json } from '../../core/request.ts';
import type { Account } from './account.ts';
import type { DateForm } from './dates.ts';
import { type Scope, windowJql } from './jql.ts';
import { at, textAt } from './list-pages.ts';
import { askForEverything, type Everything, findLiterals } from './literals.ts';
import { searchEndpoint, totalOf, tryAsking } from './search-requests.ts';

/** offset: `startAt` and `total` (the contract) · token: `nextPageToken` and `isLast`, no total (the vendor). */
export type Tongue = 'offset' | 'token';

/** What the search understands. */
export interface Dialect {
  readonly tongue: Tongue;
  readonly dates: DateForm;
  /** True where bounds are known to bind: only then are counts of windows worth anything. */
  readonly countable: boolean;
  /** True where `expand: 'changelog'` is taken. */
  readonly changelog: boolean;
  /** What everything was asked by. */
  readonly everything: Everything;
  /** The same in words, for `check` and the run's notes. */
  readonly words: readonly string[];
}

/** What the search is told. */
export interface SearchOptions {
  readonly http: Http;
  readonly scope: Scope;
  readonly account: (signal: AbortSignal) => Promise<Account>;
  /** The fields of an issue to ask for. */
  readonly fields: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly changes: 'auto' | 'updated' | 'created';
  /** Told what a person should know. */
  readonly note: (message: string) => void;
}

/** Throws what the server's answers ask for; `Misconfigured` where it is the user's filter that it refuses. */
export const findDialect = async (options: SearchOptions, signal: AbortSignal): Promise<Dialect> => {
  const { http, scope, note } = options;
  const account = await options.account(signal);
  const everything = await everythingOrBlame(http, scope, account, signal);
  const { jql, heard, landmark } = everything;
  const tongue = tongueOf(heard.body, account.known);
  const [{ form, confirmed }, expanded] = await Promise.all([
    findLiterals(http, scope, account.zone, everything, signal),
    tryAsking(http, { jql, maxResults: 1, fields: ['created'], expand: 'changelog' }, signal),
  ]);
  // Taken in silence is not given: only a changelog that came is one, unless there is no issue to show it.
  const changelog =
    !(expanded instanceof Refused) && expanded.issues.every((issue) => at(issue, 'changelog') !== undefined);
  if (landmark !== undefined && !confirmed) {
    note(
      `the search does not keep to created bounds (${form.name}): every window is read with more issues than it holds`,
    );
  }
  return {
    tongue,
    dates: form,
    countable: confirmed || landmark === undefined,
    changelog,
    everything,
    words: [
      `search: ${tongue === 'offset' ? 'offset paging with totals' : 'page tokens, no totals'}`,
      `dates: ${form.name}${confirmed ? '' : ' (not confirmed by an issue)'}`,
      `changelog: ${changelog ? 'with its issue' : 'not given by the search'}`,
    ],
  };
};

/** A query that the server refuses with the user's filter and takes without it is the user's to mend. */
const everythingOrBlame = async (
  http: Http,
  scope: Scope,
  account: Account,
  signal: AbortSignal,
): Promise<Everything> => {
  try {
    return await askForEverything(http, scope, account.zone, signal);
  } catch (cause) {
    if (!(cause instanceof Refused) || scope.filter === undefined) throw cause;
    await askForEverything(http, { ...scope, filter: undefined }, account.zone, signal);
    throw new Misconfigured(
      `the tracker refuses TRACKER_JQL (${scope.filter}): ${cause.messages.join(' ') || cause.message}`,
      { cause },
    );
  }
};

/** A page token leads, where there is one; a total or a place without one means offsets. An answer that tells none of these is no end of anything. */
const tongueOf = (body: Json, vendor: boolean): Tongue => {
  if (textAt(body, 'nextPageToken')) return 'token';
  if (totalOf(body) !== undefined || typeof at(body, 'startAt') === 'number') return 'offset';
  if (vendor || typeof at(body, 'isLast') === 'boolean') return 'token';
  throw new UnexpectedContent(`${searchEndpoint}: the answer has neither total nor nextPageToken nor isLast`);
};

/**
 * Whether changes can be asked for: the server must take `updated` and must find by it what it found without; that it does not it must say twice. What
 * the user configured is not questioned.
 */
export const findChanges = async (
  { http, scope, changes, note }: SearchOptions,
  dialect: (signal: AbortSignal) => Promise<Dialect>,
  signal: AbortSignal,
): Promise<'updated' | 'created'> => {
  if (changes !== 'auto') return changes;
  const { dates, everything } = await dialect(signal);
  const jql = windowJql(dates, scope, { field: 'updated', from: scope.start });
  const ask = async (): Promise<string | undefined> => {
    const answer = await tryAsking(http, { jql, maxResults: 1, fields: ['updated'] }, signal);
    if (answer instanceof Refused)
      return `the server refuses \`updated\` in queries (${answer.messages.join(' ') || answer.message})`;
    return everything.landmark !== undefined && answer.issues.length === 0
      ? 'the server finds nothing by `updated`, not even an issue it finds by `created`'
      : undefined;
  };
  const why = (await ask()) && (await ask());
  if (why !== undefined) note(`changes are found by re-reading created windows: ${why}`);
  return why === undefined ? 'updated' : 'created';
};
