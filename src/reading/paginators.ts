/** The ways in which servers cut lists into pages. Pure and shared: the place in a walk is in the request and the answer, nowhere else. */

import { TimedOut, TooLarge, UnexpectedContent } from '../core/errors.ts';
import type { Json, Next, Paging, Request } from '../core/stream.ts';
import { at as field } from './requests.ts';

/** A paging that can tell whether an answer speaks its tongue. */
export interface Scheme extends Paging {
  readonly fits: (body: Json, sent: Request) => boolean;
}

interface OffsetOptions {
  /** The request's parameter for the place. Default `startAt`. It goes into the JSON body where the request has one, else into the query. */
  readonly parameter?: string;
  /** Where `startAt`, `maxResults`, `total` and `isLast` stand; default: in the body itself. */
  readonly numbers?: (body: Json) => Json;
  /** The request's parameter for the size of a page, at servers of which no contract says that `total` counts the whole list. */
  readonly size?: string;
}

/**
 * `{startAt, maxResults, total, isLast?, …}`: the next page begins where the server's own numbers say that this one ended, however few it
 * gave. Ends where everything up to `total` has been given (on a full page that is the contract's `startAt + maxResults >= total`), at
 * `isLast: true`, or at an empty page; without a total to believe also at a page that holds nothing but the seam. A `total` below what was given already is not believed, nor is one that a present
 * `isLast: false` contradicts; nor, given `size`, is one that says no more than that the first page is full: it may count the page. The first request
 * needs no place; a walk never asks for place 0 by name of its own accord.
 */
export const offset = ({
  parameter = 'startAt',
  numbers = (body) => body,
  size,
}: OffsetOptions = {}): Scheme => {
  const at = (answer: Json, sent: Request): number =>
    natural(numbers(answer), 'startAt') ?? placeOf(sent, parameter) ?? 0;
  // A single record leaves no room for a seam: behind it there may be no place to ask for.
  const isFullFirst = (body: Json, sent: Request, count: number): boolean =>
    size !== undefined &&
    placeOf(sent, parameter) === undefined &&
    count > 1 &&
    [natural(body, 'maxResults'), parameterOf(sent, size)].includes(count);
  return {
    next(answer, sent, count, repeated = 0) {
      const body = numbers(answer);
      if (field(body, 'isLast') === true || count === 0) return undefined;
      const end = at(answer, sent) + count;
      const total = natural(body, 'total') ?? 0;
      if (field(body, 'isLast') !== false && total === end && !isFullFirst(body, sent, count))
        return undefined;
      // Nothing but the seam: the end, unless the server says that there is more, or that it gives no more at once.
      if (count <= repeated && total < end && natural(body, 'maxResults') !== count) return undefined;
      return from(end, sent, parameter, count);
    },
    total: (answer) => totalOf(numbers(answer)),
    offset: at,
    rewind: back(parameter),
    fits: (body, sent) =>
      !Array.isArray(body) &&
      (typeof field(numbers(body), 'total') === 'number' ||
        natural(numbers(body), 'startAt') !== undefined ||
        placeOf(sent, parameter) !== undefined),
  };
};

/** A list without an envelope, or in one that says nothing of its pages: by offset, until a page has nothing new. States no total. */
export const bareArray = (): Scheme => {
  const parameter = 'startAt';
  const at = (_: Json, sent: Request): number => placeOf(sent, parameter) ?? 0;
  return {
    next: (body, sent, count, repeated = 0) =>
      count <= repeated ? undefined : from(at(body, sent) + count, sent, parameter, count),
    total: () => undefined,
    offset: at,
    rewind: back(parameter),
    fits: (body) => Array.isArray(body) || !pagingFields.some((name) => field(body, name) !== undefined),
  };
};

/** By which an envelope says something of its pages. */
const pagingFields = ['startAt', 'maxResults', 'total', 'isLast', 'nextPage', 'nextPageToken'] as const;

/**
 * `{values, isLast, nextPage}`: follows `nextPage`, a URL or only the cursor (then sent as the query parameter), until `isLast` is true. Where
 * nothing is said by `isLast`, the end is also a `nextPage` that is null or empty, none on a page that one led to, or a `total` that is reached.
 * Any other answer is `UnexpectedContent`: it states no end.
 */
export const cursor = ({ parameter = 'cursor' }: { readonly parameter?: string } = {}): Scheme => ({
  next(body, sent, count) {
    if (field(body, 'isLast') === true) return undefined;
    const next = field(body, 'nextPage');
    if (typeof next === 'string' && next !== '')
      return { request: following(next, sent, parameter), overlap: 0 };
    const isNone = next === null || next === '' || (next === undefined && isFollowed(sent, parameter));
    const total = natural(body, 'total');
    const isEnd = total === undefined ? isNone : (natural(body, 'startAt') ?? 0) + count === total;
    if (field(body, 'isLast') !== false && isEnd) return undefined;
    throw new UnexpectedContent(
      `${sent.endpoint}: the answer names no next page and does not say that it is the last`,
    );
  },
  total: totalOf,
  fits: (body, sent) =>
    isFollowed(sent, parameter) ||
    field(body, 'nextPage') === '' ||
    (isText(field(body, 'nextPage')) && !onlyCountsOn(body)) ||
    (typeof field(body, 'isLast') === 'boolean' && natural(body, 'startAt') === undefined),
});

const tokenName = 'nextPageToken';

/**
 * `{nextPageToken, isLast?}`: ends where the token is missing, null or empty, or `isLast` is true. An empty page with a token goes on.
 * `isLast: false` without a token is `UnexpectedContent`.
 */
export const pageToken = (): Scheme => ({
  next(body, sent) {
    const token = field(body, tokenName);
    if (field(body, 'isLast') === true) return undefined;
    if (typeof token === 'string' && token !== '')
      return { request: withParameter(sent, tokenName, token), overlap: 0 };
    if (field(body, 'isLast') !== false && (token === undefined || token === null || token === ''))
      return undefined;
    throw new UnexpectedContent(
      `${sent.endpoint}: the answer is not the last and has no readable nextPageToken`,
    );
  },
  total: totalOf,
  fits: (body, sent) =>
    isText(field(body, tokenName)) ||
    parameterOf(sent, tokenName) !== undefined ||
    (typeof field(body, 'isLast') === 'boolean' &&
      typeof field(body, 'total') !== 'number' &&
      natural(body, 'startAt') === undefined),
});

/**
 * A token that stands for the entire request and is sent alone: other parameters beside it are ignored with a warning, or refused. Ends where
 * the token is missing, null or empty.
 */
export const continuation = (parameter: string): Scheme => ({
  next(body, sent) {
    const token = field(body, parameter);
    if (token === undefined || token === null || token === '') return undefined;
    if (typeof token !== 'string') throw new UnexpectedContent(`${sent.endpoint}: ${parameter} is no text`);
    return { request: { ...sent, query: { [parameter]: token } }, overlap: 0 };
  },
  total: totalOf,
  fits: (body) => isText(field(body, parameter)),
});

/**
 * By offset, of answers that state neither a total nor a place: a page that holds as many records as `limit` asked for may have more behind it.
 * It is the last where what comes behind does not begin with its last record: such a server gives everything at once.
 */
export const fullPages = ({ parameter = 'offset', limit = 'limit' } = {}): Scheme => ({
  next: (_, sent, count, repeated = 0) => {
    const at = placeOf(sent, parameter);
    if (count !== parameterOf(sent, limit) || (at !== undefined && repeated === 0)) return undefined;
    return from((at ?? 0) + count, sent, parameter, count);
  },
  total: () => undefined,
  offset: (_, sent) => placeOf(sent, parameter) ?? 0,
  rewind: back(parameter),
  fits: (_, sent) => parameterOf(sent, limit) !== undefined,
});

/**
 * `Link: <url>; rel="next"` (RFC 8288; GitHub's REST API): follows the URL, and ends at an answer without one. Throws `UnexpectedContent`
 * for a header that cannot be read; `Http` refuses a URL of another origin.
 *
 * Where the URL counts pages (`page=2`), a record that leaves the pages already read moves the rest up by one: the first record of the next
 * page is missed, and no total tells. So choose an order in which records leave those pages only when they are deleted:
 * - by creation, for lists that are read whole;
 * - by change with the newest first, for a stream that asks `since` the watermark. What changes meanwhile goes to the front. This walk may
 *   miss it; the next one reads it, because the watermark is the start of this one.
 *
 * Never by change with the oldest first: a record that changes meanwhile goes to the end, and the record that it hides did not change, so no
 * later `since` shows it (singer-io/tap-jira#110). What a deletion hid is found by a reconciliation.
 */
export const linkHeader = (): Scheme => ({
  next(_body, sent, _count, _repeated, headers) {
    const url = nextIn(headers?.link ?? '', sent.endpoint);
    return url === undefined ? undefined : { request: { ...sent, url }, overlap: 0 };
  },
  total: () => undefined,
  numbered: true,
  fits: () => true,
});

const linkParameters = /;\s*([^\s=;,"]+)(?:\s*=\s*(?:"((?:\\.|[^"\\])*)"|([^\s;,"]*)))?/g;
const links = new RegExp(`<([^<>]*)>((?:\\s*${linkParameters.source})*)`, 'g');

/** The target of the first link whose relations include `next`. */
const nextIn = (header: string, endpoint: string): string | undefined => {
  if (/[^\s,]/.test(header.replace(links, '')))
    throw new UnexpectedContent(`${endpoint}: the Link header of the answer cannot be read`);
  const isNext = (parameters: string): boolean =>
    [...parameters.matchAll(linkParameters)].some(
      ([, name = '', quoted, bare = '']) => /^rel$/i.test(name) && /(^|\s)next(\s|$)/i.test(quoted ?? bare),
    );
  return [...header.matchAll(links)].find(([, , parameters = '']) => isNext(parameters))?.[1];
};

/** Everything in one answer. */
export const single = (): Scheme => ({ next: () => undefined, total: totalOf, fits: () => true });

/**
 * For endpoints that answer in several tongues: each answer is read by the first scheme that it fits, by the first of all where it fits
 * none. Give the scheme with a token before the one with an offset: where both are there, the token leads.
 */
export const firstThatFits = (first: Scheme, ...others: readonly Scheme[]): Scheme => {
  const schemes = [first, ...others];
  const chosen = (body: Json, sent: Request): Scheme =>
    schemes.find((scheme) => scheme.fits(body, sent)) ?? first;
  const rewind = schemes.find((scheme) => scheme.rewind !== undefined)?.rewind;
  return {
    next: (body, sent, ...more) => chosen(body, sent).next(body, sent, ...more),
    total: (body) => schemes.map((scheme) => scheme.total(body)).find((total) => total !== undefined),
    offset: (body, sent) => chosen(body, sent).offset?.(body, sent),
    ...(rewind === undefined ? {} : { rewind }),
    fits: (body, sent) => schemes.some((scheme) => scheme.fits(body, sent)),
  };
};

/** Whether the answer's `nextPage` is no cursor but the next place by number: then the offset leads, which sees by its seam that the list moved. */
const onlyCountsOn = (body: Json): boolean =>
  natural(body, 'startAt') !== undefined && /[?&]startAt=\d/.test(String(field(body, 'nextPage')));

/** The request for what follows place `end`, beginning with the last record of this page (the seam), unless it would then not get on. */
const from = (end: number, sent: Request, parameter: string, count: number): Next => {
  const seam = count > 1 ? 1 : 0;
  return { request: withParameter(sent, parameter, end - seam), overlap: seam };
};

const back =
  (parameter: string) =>
  (sent: Request, by: number): Request => {
    const place = (placeOf(sent, parameter) ?? 0) - by;
    return withParameter(sent, parameter, place > 0 ? place : undefined);
  };

/** Whether a request goes where an answer's `nextPage` led. */
const isFollowed = (sent: Request, parameter: string): boolean =>
  sent.url !== undefined || parameterOf(sent, parameter) !== undefined;

const following = (next: string, sent: Request, parameter: string): Request =>
  /^[\w.~=+%-]+$/.test(next) ? withParameter(sent, parameter, next) : { ...sent, url: next };

/** The request with one parameter set, or taken out; in its JSON body where it has one, else in its query. */
export const withParameter = (sent: Request, parameter: string, value?: string | number): Request => {
  if (sent.body === undefined) return { ...sent, query: { ...sent.query, [parameter]: value } };
  const { [parameter]: _, ...rest } = sent.body;
  return { ...sent, body: value === undefined ? rest : { ...rest, [parameter]: value } };
};

/** A request's parameter; from its JSON body where it has one, else from its query. */
export const parameterOf = (sent: Request, parameter: string): unknown =>
  field(sent.body ?? sent.query, parameter);

const placeOf = (sent: Request, parameter: string): number | undefined =>
  natural(sent.body ?? sent.query, parameter);

const natural = (holder: Json, name: string): number | undefined => {
  const value = field(holder, name);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
};

const totalOf = (body: Json): number | undefined => natural(body, 'total');

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

// How many records are asked for at once: as many as the endpoint gives, until so many are more than the server can make in time, or more than
// we take.

/** By which a request says how many. */
const parameter = 'maxResults';

/** Each step asks for so many times fewer. */
const step = 4;

/**
 * A page size that is `most` until it proves too much. Every walk after that begins one step lower. A single record may be
 * larger than any other: for what is too large a walk goes down to one record. A server that is late for a quarter, too, is late for
 * another reason. `note` hears of the step once.
 */
export function pageSizeOf(most: number, note: (message: string) => void) {
  const lower = Math.floor(most / step);
  let now = most;
  return {
    /** What a walk begins with. */
    get most() {
      return now;
    },
    /** The same place with fewer records, after a page of as many as `sent` asks for has failed by `error`; undefined where that would not help. */
    fewer(sent: Request, error: unknown): Request | undefined {
      const asked = Number(parameterOf(sent, parameter));
      const isSize = error instanceof TooLarge && asked > 1;
      if (!isSize && !(error instanceof TimedOut && asked > lower)) return undefined;
      if (now > lower) note(`${error.message}; ${lower} at once from now on`);
      now = lower;
      return withParameter(sent, parameter, Math.max(1, Math.floor(asked / step)));
    },
  };
}
