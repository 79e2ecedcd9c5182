/** Finding out how the server reads instants in a query: from its answers, once a run, never by guessing. */

import { Refused, UnexpectedContent } from '../../core/errors.ts';
import type { Http, Json } from '../../core/request.ts';
import type { Window } from '../../core/stream.ts';
import { instantToDate, minutes, seconds } from '../../core/time.ts';
import {
  anySeason,
  anyZone,
  type DateForm,
  days,
  epochMillis,
  localMinutes,
  offsetInstants,
  withoutUpperBound,
} from './dates.ts';
import { type Scope, windowJql } from './jql.ts';
import { idBy } from './list-pages.ts';
import { type Heard, instantOf, searchEndpoint, tryAsking } from './search-requests.ts';
import { utc, type Zone } from './zone.ts';

/** The query over everything. */
export interface Everything {
  /** As the server accepted it. */
  readonly jql: string;
  /** Its answer: it tells the paging, and a total that need not be asked again. */
  readonly heard: Heard;
  /** An issue that it shows; undefined where it shows none. */
  readonly landmark: Landmark | undefined;
  /** The literals that the server accepted in it, in the order of `candidatesOf`. */
  readonly accepted: readonly Candidate[];
}

/** A form of literal that the server may understand. */
interface Candidate {
  readonly form: DateForm;
  /** What is used where this is confirmed; absent: itself. */
  readonly use?: DateForm;
  /** The same where the zone in which the server reads it is not certain by so much (ms); absent: it has none. */
  readonly unsure?: (margin: number) => DateForm;
}

/** What the vendor documents or reads, and what other servers may know alone: the exact before the coarse, of those the vendor's own first. */
const candidatesOf = (zone: Zone | undefined): readonly Candidate[] => {
  const minutesWith = (between: '-' | '/'): Candidate => ({
    form: localMinutes(zone ?? utc, 0, between),
    unsure: (margin) => localMinutes(utc, margin, between),
  });
  const dates = [days('"'), days('')].map((form) => ({ form }));
  const instants: Candidate = { form: offsetInstants(), use: offsetInstants(anySeason) };
  return [{ form: epochMillis }, minutesWith('-'), instants, minutesWith('/'), ...dates];
};

/** How instants are written. */
export interface Literals {
  readonly form: DateForm;
  /** False where there was no issue to check the form by, or where the server lets issues through that a bound excludes. */
  readonly confirmed: boolean;
}

/** An issue whose instant of creation is known: what forms are checked by. `created` is rounded down to its millisecond. */
export interface Landmark {
  readonly id: string;
  readonly created: Date;
}

/**
 * Asks for everything, in one form of literal after the other, until an issue shows. Throws the server's own `Refused` where it accepts
 * no form.
 */
export const askForEverything = async (
  http: Http,
  scope: Scope,
  zone: Zone | undefined,
  signal: AbortSignal,
): Promise<Everything> => {
  const heard = new Map<Candidate, Heard>();
  let refusal: Refused | undefined;
  let landmark: Landmark | undefined;
  for (const candidate of candidatesOf(zone)) {
    const answer = await tryAsking(http, everything(candidate.form, scope), signal);
    if (answer instanceof Refused) refusal = answer;
    else heard.set(candidate, answer);
    landmark = answer instanceof Refused ? undefined : landmarkOf(answer.issues[0]);
    if (landmark !== undefined) break;
  }
  const [asked] = [...heard].reverse();
  if (asked === undefined) throw refusal ?? new Error('no form of date literal was tried');
  return { jql: windowJql(asked[0].form, scope), heard: asked[1], landmark, accepted: [...heard.keys()] };
};

/**
 * The most exact form that the server both accepts and reads rightly. Acceptance alone proves nothing (a server may take epoch numbers for
 * something else and answer 200 with other issues or none), so a form must find a known issue in its own minute and must not show it in
 * another. Where no zone is stated, or where the server reads in another, bounds are widened: too many issues cost time, too few would be
 * lost. So they are where it refuses every form of an upper bound: windows then have none. Throws `UnexpectedContent` where the server misreads every
 * form it accepts.
 */
export const findLiterals = async (
  http: Http,
  scope: Scope,
  zone: Zone | undefined,
  { landmark, accepted }: Everything,
  signal: AbortSignal,
): Promise<Literals> => {
  if (landmark === undefined) {
    // No issue to check by: the form that every server of the kind documents, widened unless the zone is stated.
    const {
      form,
      use = form,
      unsure,
    } = accepted.find((one) => one.form !== epochMillis) ?? { form: epochMillis };
    return { form: zone === undefined ? (unsure?.(anyZone) ?? use) : use, confirmed: false };
  }
  const ladder = candidatesOf(zone).flatMap(({ form, use: confirmed = form, unsure }) => {
    if (unsure === undefined) return [{ form, use: confirmed }];
    const wide = unsure(anyZone);
    const use = zone === undefined ? unsure(anySeason) : form;
    return [
      { form, use },
      { form: wide, use: wide },
    ];
  });
  let loose: DateForm | undefined;
  let isRefused = true;
  for (const { form, use } of ladder) {
    const reading = await readingOf(http, scope, form, landmark, signal);
    if (reading === 'right') return { form: use, confirmed: true };
    if (reading === 'loose') loose = use;
    isRefused &&= reading === 'refused';
  }
  // What it took in the query over everything it refuses with an upper bound, in every form.
  for (const { use } of isRefused ? ladder : []) {
    const form = withoutUpperBound(use);
    const reading = await readingOf(http, scope, form, landmark, signal);
    if (reading === 'right' || reading === 'loose') return { form, confirmed: false };
  }
  if (loose !== undefined) return { form: loose, confirmed: false };
  throw new UnexpectedContent(
    `${searchEndpoint}: issue ${landmark.id}, created ${landmark.created.toISOString()}, is not found by a created window around that instant, however written`,
  );
};

const everything = (form: DateForm, scope: Scope) => ({
  jql: windowJql(form, scope),
  maxResults: 1,
  fields: ['created'],
});

const landmarkOf = (issue: Json): Landmark | undefined => {
  const created = instantOf(issue, 'created');
  const id = idOf(issue);
  return created === undefined || id === '' ? undefined : { id, created: instantToDate(created) };
};

const idOf = idBy('id');

/**
 * How the server reads a form. right · loose: nothing is lost, but bounds do not bind · wrong: the landmark is not in its own window ·
 * refused: 400.
 */
const readingOf = async (
  http: Http,
  scope: Scope,
  form: DateForm,
  landmark: Landmark,
  signal: AbortSignal,
): Promise<'right' | 'loose' | 'wrong' | 'refused'> => {
  const at = landmark.created.getTime();
  // A second, not an instant: a server may write whole seconds and compare what it keeps.
  const own = created(at, at + seconds(1));
  const away = at - 2 * form.slack - minutes(2);
  const other = created(away - minutes(1), away);
  const bodyOf = (window: Window) => ({
    jql: windowJql(form, scope, window),
    maxResults: mostWitnesses,
    fields: ['created'],
  });
  const [inOwn, inOther] = await Promise.all([
    tryAsking(http, bodyOf(own), signal),
    tryAsking(http, bodyOf(other), signal),
  ]);
  if (inOwn instanceof Refused || inOther instanceof Refused) return 'refused';
  // Not on a full page proves nothing: a wide window may hold many issues before the landmark.
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
  const at = instantToDate(instant).getTime();
  return at < (window.from?.getTime() ?? at) - slack || at > (window.to?.getTime() ?? at) + slack;
};
