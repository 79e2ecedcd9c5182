/** What the issue search understands: paging, date literals, changelogs. Found out from its answers, once a run. */

import { Misconfigured, Refused, UnexpectedContent } from '../../core/errors.ts';
import type { Http, Json } from '../../core/request.ts';
import type { Window } from '../../core/stream.ts';
import { instantToDate, minutes, seconds } from '../../core/time.ts';
import type { Account } from './account.ts';
import {
  anySeason,
  anyZone,
  type DateForm,
  days,
  epochMillis,
  localMinutes,
  utc,
  withoutUpperBound,
  type Zone,
} from './dates.ts';
import { type Scope, windowJql } from './jql.ts';
import { at, idBy, textAt } from './lists.ts';
import { instantOf, type SearchAnswer, searchEndpoint, totalOf, tryAsking } from './search-requests.ts';

/** offset: `startAt` and `total` (the contract) · token: `nextPageToken` and `isLast`, no total (the vendor). */
export type Paging = 'offset' | 'token';

export interface Dialect {
  readonly paging: Paging;
  readonly dates: DateForm;
  /** True where bounds are known to bind: only then are counts of windows worth anything. */
  readonly countable: boolean;
  /** True where the search gives changelogs with `expand: 'changelog'`. */
  readonly changelog: boolean;
  readonly everything: Everything;
  /** The same in words, for `check` and the run's notes. */
  readonly words: readonly string[];
}

/** The query over everything. */
export interface Everything {
  /** As the server accepted it. */
  readonly jql: string;
  /** Its answer: it shows the paging, and a total that need not be asked for again. */
  readonly answer: SearchAnswer;
  /** An issue that it shows; undefined where it shows none. */
  readonly landmark: Landmark | undefined;
  /** The literals that the server accepted in it, best first. */
  readonly accepted: readonly Candidate[];
}

/** An issue by whose creation date literals are checked; `created` is rounded down to its millisecond. */
interface Landmark {
  readonly id: string;
  readonly created: Date;
}

/** A form of literal to try, and what is used where the server reads it rightly. */
interface Candidate {
  readonly form: DateForm;
  readonly use: DateForm;
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

/** Throws what the server's answers ask for; `Misconfigured` where it refuses the user's filter. */
export const findDialect = async (options: SearchOptions, signal: AbortSignal): Promise<Dialect> => {
  const { http, scope, note } = options;
  const account = await options.account(signal);
  const everything = await everythingOrBlame(http, scope, account.zone, signal);
  const { jql, answer, landmark } = everything;
  const paging = pagingOf(answer.body, account.known);
  const [{ form, confirmed }, expanded] = await Promise.all([
    findDates(http, scope, account.zone, everything, signal),
    tryAsking(http, { jql, maxResults: 1, fields: ['created'], expand: 'changelog' }, signal),
  ]);
  // An accepted `expand` is not enough: the answer must show changelogs, unless there is no issue to show one.
  const changelog =
    !(expanded instanceof Refused) && expanded.issues.every((issue) => at(issue, 'changelog') !== undefined);
  if (landmark !== undefined && !confirmed)
    note(
      `the search does not keep to created bounds (${form.name}): every window is read with more issues than it holds`,
    );
  return {
    paging,
    dates: form,
    countable: confirmed || landmark === undefined,
    changelog,
    everything,
    words: [
      `search: ${paging === 'offset' ? 'offset paging with totals' : 'page tokens, no totals'}`,
      `dates: ${form.name}${confirmed ? '' : ' (not confirmed by an issue)'}`,
      `changelog: ${changelog ? 'with its issue' : 'not given by the search'}`,
    ],
  };
};

/** A query that the server refuses with the user's filter and takes without it is the user's to mend. */
const everythingOrBlame = async (
  http: Http,
  scope: Scope,
  zone: Zone | undefined,
  signal: AbortSignal,
): Promise<Everything> => {
  try {
    return await askForEverything(http, scope, zone, signal);
  } catch (cause) {
    if (!(cause instanceof Refused) || scope.filter === undefined) throw cause;
    await askForEverything(http, { ...scope, filter: undefined }, zone, signal);
    throw new Misconfigured(
      `the tracker refuses TRACKER_JQL (${scope.filter}): ${cause.messages.join(' ') || cause.message}`,
      { cause },
    );
  }
};

/** A page token decides, where there is one; a total or a place without one means offsets. */
const pagingOf = (body: Json, isVendor: boolean): Paging => {
  if (textAt(body, 'nextPageToken')) return 'token';
  if (totalOf(body) !== undefined || typeof at(body, 'startAt') === 'number') return 'offset';
  if (isVendor || typeof at(body, 'isLast') === 'boolean') return 'token';
  throw new UnexpectedContent(`${searchEndpoint}: the answer has neither total nor nextPageToken nor isLast`);
};

/** What the vendor reads, then what the contract names (`created >= <date>`): the exact before the coarse. */
const candidatesOf = (zone: Zone | undefined): readonly Candidate[] => {
  const same = (form: DateForm): Candidate => ({ form, use: form });
  return [
    same(epochMillis),
    zone === undefined
      ? { form: localMinutes(utc), use: localMinutes(utc, anySeason) }
      : same(localMinutes(zone)),
    same(localMinutes(utc, anyZone)),
    same(days('"')),
    same(days('')),
  ];
};

/** Asks for everything, in one form of literal after the other, until an issue shows. Throws the server's own `Refused` where it accepts none. */
const askForEverything = async (
  http: Http,
  scope: Scope,
  zone: Zone | undefined,
  signal: AbortSignal,
): Promise<Everything> => {
  const accepted: Candidate[] = [];
  let last: Omit<Everything, 'accepted'> | undefined;
  let refusal: Refused | undefined;
  for (const candidate of candidatesOf(zone)) {
    const jql = windowJql(candidate.form, scope);
    const answer = await tryAsking(http, { jql, maxResults: 1, fields: ['created'] }, signal);
    if (answer instanceof Refused) {
      refusal = answer;
      continue;
    }
    accepted.push(candidate);
    last = { jql, answer, landmark: landmarkOf(answer.issues[0]) };
    if (last.landmark !== undefined) break;
  }
  if (last === undefined) throw refusal ?? new Error('no form of date literal was tried');
  return { ...last, accepted };
};

const landmarkOf = (issue: Json): Landmark | undefined => {
  const created = instantOf(issue, 'created');
  const id = idOf(issue);
  return created === undefined || id === '' ? undefined : { id, created: instantToDate(created) };
};

const idOf = idBy('id');

/**
 * The most exact form that the server accepts and reads rightly: acceptance alone proves nothing, so a form must find a known issue in its own
 * window and must not show it in another. Bounds are widened where the zone is not stated or not kept to: too many issues cost time, too few
 * would be lost. Throws `UnexpectedContent` where the server misreads every form it accepts.
 */
const findDates = async (
  http: Http,
  scope: Scope,
  zone: Zone | undefined,
  { landmark, accepted }: Everything,
  signal: AbortSignal,
): Promise<{ readonly form: DateForm; readonly confirmed: boolean }> => {
  if (landmark === undefined) return { form: uncheckedForm(accepted, zone), confirmed: false };
  const candidates = candidatesOf(zone);
  let loose: DateForm | undefined;
  let isRefused = true;
  for (const { form, use } of candidates) {
    const reading = await readingOf(http, scope, form, landmark, signal);
    if (reading === 'right') return { form: use, confirmed: true };
    if (reading === 'loose') loose = use;
    isRefused &&= reading === 'refused';
  }
  // The query over everything was accepted: what it refuses in every form is the upper bound.
  for (const { use } of isRefused ? candidates : []) {
    const form = withoutUpperBound(use);
    const reading = await readingOf(http, scope, form, landmark, signal);
    if (reading === 'right' || reading === 'loose') return { form, confirmed: false };
  }
  if (loose !== undefined) return { form: loose, confirmed: false };
  throw new UnexpectedContent(
    `${searchEndpoint}: issue ${landmark.id}, created ${landmark.created.toISOString()}, is not found by a created window around that instant, however written`,
  );
};

/** Without an issue to check by: the first quoted form, in the stated zone or widened beyond any. */
const uncheckedForm = (accepted: readonly Candidate[], zone: Zone | undefined): DateForm =>
  accepted.find(({ form, use }) => form !== epochMillis && (zone !== undefined || form === use))?.use ??
  epochMillis;

/** right · loose: bounds do not bind, nothing is lost · wrong: the landmark is not in its own window · refused: 400. */
const readingOf = async (
  http: Http,
  scope: Scope,
  form: DateForm,
  landmark: Landmark,
  signal: AbortSignal,
): Promise<'right' | 'loose' | 'wrong' | 'refused'> => {
  const instant = landmark.created.getTime();
  // A second, not an instant: a server may store whole seconds.
  const own = created(instant, instant + seconds(1));
  const away = instant - 2 * form.slack - minutes(2);
  const other = created(away - minutes(1), away);
  const ask = (window: Window) => {
    const jql = windowJql(form, scope, window);
    return tryAsking(http, { jql, maxResults: mostWitnesses, fields: ['created'] }, signal);
  };
  const [inOwn, inOther] = await Promise.all([ask(own), ask(other)]);
  if (inOwn instanceof Refused || inOther instanceof Refused) return 'refused';
  // A full page that lacks the landmark proves nothing: a wide window may hold many issues before it.
  const complete = inOwn.issues.length < mostWitnesses;
  if (complete && !inOwn.issues.some((issue) => idOf(issue) === landmark.id)) return 'wrong';
  const slack = form.slack + minutes(1);
  const isLoose =
    inOwn.issues.some((issue) => outside(issue, own, slack)) ||
    inOther.issues.some((issue) => outside(issue, other, slack));
  return isLoose ? 'loose' : 'right';
};

/** Issues that a window is asked for to see how the server reads it. */
const mostWitnesses = 100;

const created = (from: number, to: number) => ({
  field: 'created' as const,
  from: new Date(from),
  to: new Date(to),
});

const outside = (issue: Json, window: Window, slack: number): boolean => {
  const instant = instantOf(issue, 'created');
  if (instant === undefined) return false;
  const when = instantToDate(instant).getTime();
  return when < (window.from?.getTime() ?? when) - slack || when > (window.to?.getTime() ?? when) + slack;
};

/**
 * Whether changes can be asked for by `updated`: the server must find by it the issue it found without. A doubtful answer is confirmed once. What
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
