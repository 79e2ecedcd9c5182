/**
 * What the issue search understands: paging, date literals, changelogs. Found out from its answers, once a
 * run.
 */

import { Misconfigured, Refused, UnexpectedContent } from '../../core/errors.ts';
import type { Http, Json, Request } from '../../core/request.ts';
import type { Window } from '../../core/stream.ts';
import { instantToDate, minutes, seconds } from '../../core/time.ts';
import { offset, pageToken } from '../../reading/paginators.ts';
import { instantAt } from '../../reading/requests.ts';
import type { Account } from './account.ts';
import {
  type DateForm,
  days,
  epochMillis,
  quotedMinutes,
  type Scope,
  windowJql,
  withoutUpperBound,
} from './jql.ts';
import { at, idBy, listOf, textAt } from './lists.ts';

export const searchEndpoint = '/rest/api/3/search/jql';
export const issuesOf = listOf(searchEndpoint);
export const idOf = idBy('id');

/**
 * How the two dialects differ: the contract pages by `startAt` and states totals; the vendor pages by
 * `nextPageToken` and states none.
 */
export const dialects = {
  offset: { summary: 'offset paging with totals', paging: offset, first: { startAt: 0 }, mostIds: 100 },
  token: { summary: 'page tokens, no totals', paging: pageToken, first: {}, mostIds: 5000 },
} as const;

export interface Dialect {
  readonly paging: keyof typeof dialects;
  readonly dates: DateForm;
  /** True where bounds are known to bind: only then are counts of windows worth anything. */
  readonly countable: boolean;
  /** True where the search gives changelogs with `expand: 'changelog'`. */
  readonly changelog: boolean;
  readonly everything: Everything;
  /** The same in words, for `check` and the run's notes. */
  readonly summary: readonly string[];
}

/** The query over all issues and its answer, which shows the paging and a total. */
interface Everything {
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
  readonly account: (signal: AbortSignal) => Promise<Account>;
  /** The fields of an issue to ask for. */
  readonly fields: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly changes: 'auto' | 'updated' | 'created';
  /** Receives what a person should know. */
  readonly note: (message: string) => void;
}

/** The fields of the search body, e.g. `jql`, `maxResults`, `fields`. */
export type SearchBody = NonNullable<Request['body']>;

interface SearchAnswer {
  readonly body: Json;
  readonly issues: readonly Json[];
}

export const searchRequest = (body: SearchBody): Request => ({
  method: 'POST',
  path: searchEndpoint,
  endpoint: searchEndpoint,
  body,
});

/** One search. Throws what `Http.send` throws, and `UnexpectedContent` where the answer has no list. */
export const ask = async (http: Http, body: SearchBody, signal: AbortSignal): Promise<SearchAnswer> => {
  const { body: answer } = await http.send(searchRequest(body), signal);
  return { body: answer, issues: issuesOf(answer) };
};

/**
 * Searches for `created` of one issue unless `more` says otherwise; gives the refusal of a search that the
 * server does not understand (400, 422).
 */
type Ask = (jql: string, more?: Partial<SearchBody>) => Promise<SearchAnswer | Refused>;

const askerOf =
  (http: Http, signal: AbortSignal): Ask =>
  async (jql, more) => {
    try {
      return await ask(http, { jql, maxResults: 1, fields: ['created'], ...more }, signal);
    } catch (cause) {
      if (cause instanceof Refused && (cause.status === 400 || cause.status === 422)) return cause;
      throw cause;
    }
  };

/** An issue's `created` or `updated` (microseconds UTC); undefined where it is no instant. */
export const instantOf = (record: Json, field: Window['field']): bigint | undefined =>
  instantAt(at(record, 'fields'), field);

/** The total that an answer states. */
export const totalOf = (body: Json): number | undefined => {
  const total = at(body, 'total');
  return typeof total === 'number' ? total : undefined;
};

/** Throws what the server's answers ask for; `Misconfigured` where it refuses the user's filter. */
export const findDialect = async (options: SearchOptions, signal: AbortSignal): Promise<Dialect> => {
  const { scope, note } = options;
  const account = await options.account(signal);
  const forms = formsOf(account.timeZone);
  const search = askerOf(options.http, signal);
  const everything = await everythingOrBlame(search, scope, forms);
  const { jql, answer, landmark } = everything;
  const paging = pagingOf(answer.body, account.isVendor);
  const [{ form, isConfirmed }, expanded] = await Promise.all([
    findDates(search, scope, forms, everything),
    search(jql, { expand: 'changelog' }),
  ]);
  // An accepted `expand` is not enough: the answer must show changelogs, unless there is no issue to show
  // one.
  const changelog =
    !(expanded instanceof Refused) && expanded.issues.every((issue) => at(issue, 'changelog') !== undefined);
  if (landmark !== undefined && !isConfirmed)
    note(
      `the search ignores created bounds (${form.name}): each window is read with more issues than it holds`,
    );
  return {
    paging,
    dates: form,
    countable: isConfirmed || landmark === undefined,
    changelog,
    everything,
    summary: [
      `search: ${dialects[paging].summary}`,
      `dates: ${form.name}${isConfirmed ? '' : ' (not confirmed by an issue)'}`,
      `changelog: ${changelog ? 'with its issue' : 'not given by the search'}`,
    ],
  };
};

/**
 * The forms that the vendor reads, then those that the contract names (`created >= <date>`): the exact before
 * the coarse.
 */
const formsOf = (timeZone: string | undefined): readonly DateForm[] => [
  epochMillis,
  ...(timeZone === undefined ? [] : [quotedMinutes(timeZone)]),
  quotedMinutes(),
  days('"'),
  days(''),
];

type Accepted = Everything & { readonly unchecked: DateForm };

/** A query that the server refuses with the user's filter and accepts without it is the user's to correct. */
const everythingOrBlame = async (
  search: Ask,
  scope: Scope,
  forms: readonly DateForm[],
): Promise<Accepted> => {
  try {
    return await askForEverything(search, scope, forms);
  } catch (cause) {
    if (!(cause instanceof Refused) || scope.filter === undefined) throw cause;
    await askForEverything(search, { ...scope, filter: undefined }, forms);
    const why = cause.messages.join(' ') || cause.message;
    throw new Misconfigured(`the tracker refuses TRACKER_JQL (${scope.filter}): ${why}`, { cause });
  }
};

/**
 * Asks for all issues, in one form after the other, until an issue shows. `unchecked`: the form to use where
 * none shows, a quoted one if the server accepts one. Throws the server's own `Refused` where it accepts
 * none.
 */
const askForEverything = async (search: Ask, scope: Scope, forms: readonly DateForm[]): Promise<Accepted> => {
  let found: Accepted | undefined;
  let refusal: Refused | undefined;
  for (const form of forms) {
    const jql = windowJql(form, scope);
    const answer = await search(jql);
    if (answer instanceof Refused) {
      refusal = answer;
      continue;
    }
    const before = found?.unchecked ?? form;
    const unchecked = before === epochMillis ? form : before;
    found = { jql, answer, landmark: landmarkOf(answer.issues[0]), unchecked };
    if (found.landmark !== undefined) break;
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
const pagingOf = (body: Json, isVendor: boolean): Dialect['paging'] => {
  if (textAt(body, 'nextPageToken')) return 'token';
  if (totalOf(body) !== undefined || typeof at(body, 'startAt') === 'number') return 'offset';
  if (isVendor || typeof at(body, 'isLast') === 'boolean') return 'token';
  throw new UnexpectedContent(`${searchEndpoint}: the answer has neither total nor nextPageToken nor isLast`);
};

/**
 * The most exact form that the server accepts and reads rightly: it must find a known issue in a window
 * around its creation and must not show it in another window. A form whose bounds do not bind costs time; one
 * that loses the issue is never used. Throws `UnexpectedContent` where the server misreads every form that it
 * accepts.
 */
const findDates = async (
  search: Ask,
  scope: Scope,
  forms: readonly DateForm[],
  { landmark, unchecked }: Accepted,
): Promise<{ readonly form: DateForm; readonly isConfirmed: boolean }> => {
  if (landmark === undefined) return { form: unchecked, isConfirmed: false };
  const readings: Reading[] = [];
  for (const form of forms) {
    const reading = await readingOf(search, scope, form, landmark);
    if (reading === 'right') return { form, isConfirmed: true };
    readings.push(reading);
  }
  // The query over everything, which has no upper bound, was accepted: where all windows are refused, the
  // upper bound is the reason.
  for (const form of readings.every((each) => each === 'refused') ? forms.map(withoutUpperBound) : []) {
    const reading = await readingOf(search, scope, form, landmark);
    if (reading === 'right' || reading === 'loose') return { form, isConfirmed: false };
  }
  const loose = forms[readings.lastIndexOf('loose')];
  if (loose !== undefined) return { form: loose, isConfirmed: false };
  throw new UnexpectedContent(
    `${searchEndpoint}: issue ${landmark.id}, created ${landmark.created.toISOString()}, is not found by a created window around that instant, however written`,
  );
};

/**
 * right · loose: bounds do not bind, nothing is lost · wrong: the landmark is not in its own window ·
 * refused: 400 or 422.
 */
type Reading = 'right' | 'loose' | 'wrong' | 'refused';

const readingOf = async (search: Ask, scope: Scope, form: DateForm, landmark: Landmark): Promise<Reading> => {
  const instant = landmark.created.getTime();
  // A second, not an instant: a server may write whole seconds.
  const own = createdBetween(instant, instant + seconds(1));
  const away = instant - 2 * form.slack - minutes(2);
  const other = createdBetween(away - minutes(1), away);
  const [inOwn, inOther] = await Promise.all(
    [own, other].map((window) => search(windowJql(form, scope, window), { maxResults: mostWitnesses })),
  );
  if (!inOwn || !inOther || inOwn instanceof Refused || inOther instanceof Refused) return 'refused';
  // A full page that lacks the landmark proves nothing: a wide window may hold many issues before it.
  const isComplete = inOwn.issues.length < mostWitnesses;
  if (isComplete && !inOwn.issues.some((issue) => idOf(issue) === landmark.id)) return 'wrong';
  const slack = form.slack + minutes(1);
  const isLoose =
    inOwn.issues.some((issue) => isOutside(issue, own, slack)) ||
    inOther.issues.some((issue) => isOutside(issue, other, slack));
  return isLoose ? 'loose' : 'right';
};

/** Issues that a window is asked for to see how the server reads it. */
const mostWitnesses = 100;

const createdBetween = (from: number, to: number) =>
  ({ field: 'created', from: new Date(from), to: new Date(to) }) as const;

const isOutside = (issue: Json, { from, to }: { from: Date; to: Date }, slack: number): boolean => {
  const created = instantOf(issue, 'created');
  if (created === undefined) return false;
  const when = instantToDate(created).getTime();
  return when < from.getTime() - slack || when > to.getTime() + slack;
};

/**
 * Whether changes can be asked for by `updated`: the server must find by it the issue that it found without.
 * A doubtful answer is confirmed once. What the user configured is used as it is.
 */
export const findChanges = async (
  { http, scope, changes, note }: SearchOptions,
  dialect: (signal: AbortSignal) => Promise<Dialect>,
  signal: AbortSignal,
): Promise<'updated' | 'created'> => {
  if (changes !== 'auto') return changes;
  const { dates, everything } = await dialect(signal);
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
