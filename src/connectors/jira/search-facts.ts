/** What the issue search understands: paging, date literals, changelogs. Found out from its answers, once a run. */

import { Misconfigured, Refused, UnexpectedContent } from '../../core/errors.ts';
import type { PageWalk } from '../../core/paging.ts';
import type { Http, Json, Request } from '../../core/request.ts';
import type { Window } from '../../core/stream.ts';
import { instantToDate, seconds } from '../../core/time.ts';
import { offset, pageToken } from '../../reading/paginators.ts';
import { instantAt } from '../../reading/requests.ts';
import type { Server } from './dialects/find.ts';
import { type DateForm, epochMillis, type Scope, windowJql, withoutUpperBound } from './jql.ts';
import { at, idBy, listOf, post, textAt } from './lists.ts';

export const searchEndpoint = '/rest/api/3/search/jql';
const issuesOf = listOf(searchEndpoint);
const idOf = idBy('id');

/**
 * How searches are paged: the contract and Jira Data Center by `startAt`, with totals; Jira Cloud by
 * `nextPageToken`, without.
 */
const pagings = {
  offset: { summary: 'offset paging with totals', hasTotals: true, paging: offset(), mostIds: 100 },
  token: { summary: 'page tokens, no totals', hasTotals: false, paging: pageToken(), mostIds: 5000 },
} as const;

export type SearchFacts = Awaited<ReturnType<typeof findFacts>>;

/** The query over all issues and its answer, which shows the paging and a total. */
export interface Everything {
  readonly form: DateForm;
  readonly jql: string;
  readonly answer: SearchAnswer;
  /** An issue that it shows; undefined where it shows none. */
  readonly landmark: Landmark | undefined;
}

/** An issue by whose creation date literals are checked; `created` is rounded down to its millisecond. */
interface Landmark {
  readonly id: string;
  readonly created: Date;
}

export interface SearchOptions {
  readonly http: Http;
  readonly scope: Scope;
  readonly server: (signal: AbortSignal) => Promise<Server>;
  /** The fields of an issue to ask for. */
  readonly fields: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly changes: 'auto' | 'updated' | 'created';
  /** Receives what a person should know. */
  readonly note: (message: string) => void;
}

/** The fields of the search body, e.g. `jql`, `maxResults`, `fields`. */
type SearchBody = NonNullable<Request['body']>;

interface SearchAnswer {
  readonly body: Json;
  readonly issues: readonly Json[];
}

/** A walk over what a search finds. */
export const walkOf = ({ paging }: SearchFacts, body: SearchBody): PageWalk => ({
  first: post(searchEndpoint, { ...body, ...(paging.hasTotals && { startAt: 0 }) }),
  paging: paging.paging,
  list: issuesOf,
  id: idOf,
});

/** One search. Throws what `Http.send` throws, and `UnexpectedContent` where the answer has no list. */
export const ask = async (http: Http, body: SearchBody, signal: AbortSignal): Promise<SearchAnswer> => {
  const { body: answer } = await http.send(post(searchEndpoint, body), signal);
  return { body: answer, issues: issuesOf(answer) };
};

/**
 * Searches for `created` of one issue unless `more` says otherwise; gives the refusal of a search that the
 * server does not understand (400, 422).
 */
const askerOf =
  (http: Http, signal: AbortSignal) =>
  async (jql: string, more?: SearchBody): Promise<SearchAnswer | Refused> => {
    try {
      return await ask(http, { jql, maxResults: 1, fields: ['created'], ...more }, signal);
    } catch (cause) {
      if (cause instanceof Refused && (cause.status === 400 || cause.status === 422)) return cause;
      throw cause;
    }
  };

type Ask = ReturnType<typeof askerOf>;

/** An issue's `created` or `updated` (microseconds UTC); undefined where it is no instant. */
export const instantOf = (record: Json, field: Window['field']): bigint | undefined =>
  instantAt(at(record, 'fields'), field);

/** Throws what the server's answers ask for; `Misconfigured` where it refuses the user's filter. */
export const findFacts = async (options: SearchOptions, signal: AbortSignal) => {
  const { scope } = options;
  const { dialect, account } = await options.server(signal);
  const search = askerOf(options.http, signal);
  const forms = dialect.dates(account.timeZone);
  const everything = await askForEverything(search, scope, forms).catch(async (cause: unknown) => {
    if (!(cause instanceof Refused) || scope.filter === undefined) throw cause;
    // What the server accepts without the user's filter is the user's to correct.
    await askForEverything(search, { ...scope, filter: undefined }, forms);
    const why = cause.messages.join(' ') || cause.message;
    throw new Misconfigured(`the tracker refuses TRACKER_JQL (${scope.filter}): ${why}`, { cause });
  });
  const { form, jql, answer, landmark } = everything;
  const paging = pagingOf(answer.body, account.isVendor);
  const [dates, expanded] = await Promise.all([
    dialect.checksDates ? checkedForm(search, scope, forms, everything) : form,
    search(jql, { expand: 'changelog' }),
  ]);
  // An accepted `expand` is not enough: the answer must show changelogs, unless there is no issue to show
  // one.
  const changelog =
    !(expanded instanceof Refused) && expanded.issues.every((issue) => at(issue, 'changelog') !== undefined);
  return {
    paging,
    dates,
    /** True where the search gives changelogs with `expand: 'changelog'`. */
    changelog,
    everything,
    /** The same in words, for `check` and the run's notes. */
    summary: [
      `search: ${paging.summary}`,
      `dates: ${dates.name}${landmark === undefined ? ' (not confirmed by an issue)' : ''}`,
      `changelog: ${changelog ? 'with its issue' : 'not given by the search'}`,
    ],
  };
};

/**
 * Asks for all issues, in one form of date after the other, until an issue shows; where none shows, the first
 * quoted form that was accepted counts. Throws the server's own `Refused` where it accepts none.
 */
const askForEverything = async (
  search: Ask,
  scope: Scope,
  forms: readonly DateForm[],
): Promise<Everything> => {
  let found: Everything | undefined;
  let refusal: Refused | undefined;
  for (const form of forms) {
    const jql = windowJql(form, scope);
    const answer = await search(jql);
    if (answer instanceof Refused) {
      refusal = answer;
      continue;
    }
    const landmark = landmarkOf(answer.issues[0]);
    if (landmark !== undefined) return { form, jql, answer, landmark };
    if (found === undefined || found.form === epochMillis) found = { form, jql, answer, landmark };
  }
  if (found === undefined) throw refusal ?? new Error('no form of date literal was tried');
  return found;
};

const landmarkOf = (issue: Json): Landmark | undefined => {
  const created = instantOf(issue, 'created');
  const id = idOf(issue);
  return created === undefined || id === '' ? undefined : { id, created: instantToDate(created) };
};

/** A page token decides, where there is one; a total or a place without one means offsets. */
const pagingOf = (body: Json, isVendor: boolean): (typeof pagings)[keyof typeof pagings] => {
  if (textAt(body, 'nextPageToken')) return pagings.token;
  if ([at(body, 'total'), at(body, 'startAt')].some((each) => typeof each === 'number'))
    return pagings.offset;
  if (isVendor || typeof at(body, 'isLast') === 'boolean') return pagings.token;
  throw new UnexpectedContent(`${searchEndpoint}: the answer has neither total nor nextPageToken nor isLast`);
};

/**
 * The most exact form by which the server finds a known issue in a window around its creation. The contract
 * names lower bounds only: where all windows are refused, forms without an upper one are tried. Throws
 * `UnexpectedContent` where the server misreads every form that it accepts.
 */
const checkedForm = async (
  search: Ask,
  scope: Scope,
  forms: readonly DateForm[],
  { landmark, form }: Everything,
): Promise<DateForm> => {
  if (landmark === undefined) return form;
  // A second, not an instant: a server may write whole seconds.
  const to = new Date(landmark.created.getTime() + seconds(1));
  const own = { field: 'created', from: landmark.created, to } as const;
  for (const each of [...forms, ...forms.map(withoutUpperBound)]) {
    const answer = await search(windowJql(each, scope, own), { maxResults: mostWitnesses });
    if (answer instanceof Refused) continue;
    // A full page that lacks the landmark proves nothing: a wide window may hold many issues before it.
    const isFull = answer.issues.length >= mostWitnesses;
    if (isFull || answer.issues.some((issue) => idOf(issue) === landmark.id)) return each;
  }
  throw new UnexpectedContent(
    `${searchEndpoint}: issue ${landmark.id}, created ${landmark.created.toISOString()}, is not found by a created window around that instant, however written`,
  );
};

/** Issues that a window is asked for to see how the server reads it. */
const mostWitnesses = 100;

/**
 * Whether changes can be asked for by `updated`: the server must find by it the issue that it found without.
 * A doubtful answer is confirmed once. What the user configured is used as it is.
 */
export const findChanges = async (
  { http, scope, changes, note }: SearchOptions,
  facts: (signal: AbortSignal) => Promise<SearchFacts>,
  signal: AbortSignal,
): Promise<'updated' | 'created'> => {
  if (changes !== 'auto') return changes;
  const { dates, everything } = await facts(signal);
  const jql = windowJql(dates, scope, { field: 'updated', from: scope.start });
  const search = askerOf(http, signal);
  const problem = async (): Promise<string | undefined> => {
    const answer = await search(jql);
    if (answer instanceof Refused)
      return `the server refuses \`updated\` in queries (${answer.messages.join(' ') || answer.message})`;
    return everything.landmark !== undefined && answer.issues.length === 0
      ? 'the server finds nothing by `updated`, not even an issue that it finds by `created`'
      : undefined;
  };
  const why = (await problem()) && (await problem());
  if (why !== undefined) note(`changes are found by re-reading created windows: ${why}`);
  return why === undefined ? 'updated' : 'created';
};
