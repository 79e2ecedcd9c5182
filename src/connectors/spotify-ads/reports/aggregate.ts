/** Aggregate reports: the numbers of up to fifty entities at a time, by day, hour or over their lifetime. */

import { TooOld, UnexpectedContent } from '../../../core/errors.ts';
import { plural } from '../../../core/format.ts';
import { elementSlice } from '../../../core/json.ts';
import type { Page, PageWalk, Paging, Reading, WalkEnd } from '../../../core/paging.ts';
import { isObject } from '../../../core/record-object.ts';
import type { Json } from '../../../core/request.ts';
import type { Days, ReadSide, Slice, SliceContext } from '../../../core/stream.ts';
import { days, hours } from '../../../core/time.ts';
import { mergeConcurrent } from '../../../reading/merge-concurrent.ts';
import { at, listNamed, textAt } from '../../../reading/offset-list.ts';
import { pages } from '../../../reading/pages.ts';
import { continuation, firstThatFits, fullPages } from '../../../reading/paginators.ts';
import { accountOf, ofAccount } from '../ads.ts';
import { byOffset, pageSize } from '../lists.ts';
import { fieldsOf } from '../metrics.ts';
import {
  chunks,
  daysOf,
  dayText,
  type Facts,
  hasFacts,
  idsIn,
  lateLevels,
  levelOf,
  type Reports,
} from './request.ts';
import { checkAnswer, type Granularity, type Question, requestedBy, subjectOf } from './validate.ts';

const endpoint = '/ad_accounts/{id}/aggregate_reports';

/** By day, restated as the platform restates. The present day is not read: half a day would look like a bad one. */
export const reportDaily = (reports: Reports): ReadSide =>
  aggregate(
    reports,
    'DAY',
    'report_daily',
    'The numbers of accounts, campaigns, ad sets and ads by day (UTC), restated as the platform restates them.',
    { column: 'day', present: false, longest: 90, reread: reports.reread, joined: lateLevels },
  );

/** Whole days of hours that the platform keeps: of its two weeks the fourteenth day is no longer whole. */
const hourlyDays = 13;

/** Hours are read again as days are, as far as the platform keeps them. */
export const hourlyReread = ({ reread }: Reports): Days['reread'] =>
  reread
    .filter(({ every }) => every <= hourlyDays)
    .map(({ every, back }) => ({ every, back: Math.min(back, hourlyDays) }));

/** By hour, as long as the platform keeps them. */
export const reportHourly = (reports: Reports): ReadSide => {
  const reread = hourlyReread(reports);
  return aggregate(
    reports,
    'HOUR',
    'report_hourly',
    'The same by hour (UTC). The platform tells the last two weeks only: what no run has read by then is gone.',
    { column: 'hour_start', oldest: hourlyDays, present: true, longest: 14, reread, joined: lateLevels },
  );
};

/** Over the lifetime, as of today. */
export const reportLifetime = (reports: Reports): ReadSide =>
  aggregate(
    reports,
    'LIFETIME',
    'report_lifetime',
    'The same over their lifetime, as reported on each day that was read: reach and frequency add up in no other way.',
    { column: 'captured_on', oldest: 0, present: true, longest: 1, reread: [{ every: 1, back: 1 }] },
  );

const aggregate = (
  reports: Reports,
  granularity: Granularity,
  name: string,
  about: string,
  cut: Pick<Days, 'column' | 'oldest' | 'present' | 'longest' | 'reread' | 'joined'>,
): ReadSide => {
  const facts: Facts = { table: `ads.${name}`, column: cut.column };
  return {
    by: 'days',
    name,
    about,
    endpoint: `GET ${endpoint}`,
    // The contract has aggregate reports and names no granularity; days are what everything else is built on.
    ...(granularity !== 'DAY' && { optional: true as const }),
    after: ['ad_accounts', 'campaigns', 'ad_sets', 'ads'],
    partitions: reports.levels,
    days: {
      ...cut,
      ...reports.days,
      rows: async (slice, context) =>
        (await idsIn(slice, context, facts)).length * timesIn(slice, granularity),
      requests: async (slice, context) => {
        const ids = await idsIn(slice, context, facts);
        return Math.max(chunks(ids).length, Math.ceil((ids.length * timesIn(slice, granularity)) / pageSize));
      },
    },
    read: async (slice, context, signal) => {
      checkAvailable(name, granularity, slice, context);
      const groups = chunks(await idsIn(slice, context, facts));
      // An answer without any row of the slice is doubted by the engine. It sees neither a part of a slice nor yesterday's lifetimes.
      const isDoubted = groups.length > 1 || granularity === 'LIFETIME';
      const questions = groups.map((ids) => ({
        ...questionOf(slice, context, granularity, ids),
        hasFacts: async () => isDoubted && hasFacts(slice, context, facts, ids),
      }));
      return reading(reports, questions, signal);
    },
  };
};

/** How many rows an entity can have in a slice. */
const timesIn = (slice: Slice, granularity: Granularity): number => {
  const { from, to } = daysOf(slice);
  const length = to.getTime() - from.getTime();
  return granularity === 'LIFETIME' ? 1 : length / (granularity === 'DAY' ? days(1) : hours(1));
};

/**
 * An earlier run may have planned days that the platform no longer has: hours of more than two weeks ago, a lifetime as of yesterday. An
 * answer about them must not replace what was loaded. Throws `TooOld`.
 */
const checkAvailable = (
  name: string,
  granularity: Granularity,
  slice: Slice,
  { clock, now }: SliceContext,
): void => {
  if (granularity === 'DAY') return;
  const { from } = daysOf(slice);
  // A lifetime is that of the day on which the run began, also shortly after midnight.
  const oldest =
    granularity === 'LIFETIME' ? Math.floor(clock.getTime() / days(1)) * days(1) : now.getTime() - days(14);
  if (from.getTime() < oldest)
    throw new TooOld(
      `${name}: the platform no longer has ${dayText(from)}; it is ${now.toISOString()} there`,
    );
};

/** An hour that has not begun is not requested. */
const questionOf = (
  slice: Slice,
  { clock }: SliceContext,
  granularity: Granularity,
  ids: readonly string[],
): Question => {
  const window = daysOf(slice);
  const from = window.from.getTime();
  const nextHour = Math.floor(clock.getTime() / hours(1)) * hours(1) + hours(1);
  const to = Math.min(
    window.to.getTime(),
    granularity === 'HOUR' ? Math.max(from + hours(1), nextHour) : Infinity,
  );
  const account = accountOf(slice);
  return { endpoint, account, level: levelOf(slice), ids: new Set(ids), granularity, from, to };
};

/** A request, and whether the warehouse has facts that an empty answer would delete. */
interface Doubted extends Question {
  readonly hasFacts: () => Promise<boolean>;
}

/** Rows that were not requested are left out and noted. Throws `UnexpectedContent` where there are no others: it is another report. */
const reading = (reports: Reports, questions: readonly Doubted[], signal: AbortSignal): Reading => {
  async function* all(): AsyncGenerator<Page, WalkEnd, void> {
    let fetched = 0;
    let strange = 0;
    const open = (one: Doubted, until: AbortSignal): ReturnType<typeof pagesOf> =>
      reports.streamLimit(() => pagesOf(reports, one, until), until);
    for await (const { left, ...page } of mergeConcurrent(questions, reports.concurrency, open, signal)) {
      fetched += page.records.length;
      strange += left;
      yield page;
    }
    const [one] = questions;
    if (one !== undefined && strange > 0 && fetched === 0)
      throw new UnexpectedContent(
        `${endpoint}: the report has ${plural(strange, 'row')}, none of what was requested: ${one.account}, ${one.level} by ${one.granularity} of ${instant(one.from)} to ${instant(one.to)} (exclusive)`,
      );
    if (strange > 0)
      reports.note(
        `${endpoint}: ${strange} rows were of other entities or days than requested; they were left out`,
      );
    return { expected: null, fetched, passes: questions.length === 0 ? 0 : 1, matched: true };
  }
  return { pages: all(), id: subjectOf, bytes: bytesOf };
};

/**
 * The pages of one request's rows, and how many rows of each were left out. One answer without rows about entities with facts is confirmed by
 * a second request. Throws `UnexpectedContent` where rows are missing.
 */
async function* pagesOf(
  { http }: Reports,
  question: Doubted,
  signal: AbortSignal,
): AsyncGenerator<Page & { readonly left: number }, void, void> {
  const isRequested = requestedBy(question);
  for (const isSecond of [false, true]) {
    let end: WalkEnd | undefined;
    let rows = 0;
    const walked = (async function* () {
      end = yield* pages(http, walkOf(question), signal);
    })();
    for await (const page of walked) {
      const kept = [...page.records.keys()].filter((i) => isRequested(page.records[i]));
      const places = kept.map((i) => page.places?.[i] ?? i);
      const left = page.records.length - kept.length;
      rows += kept.length;
      yield { ...page, records: kept.map((i) => page.records[i]), places, left };
    }
    if (end?.matched === false)
      throw new UnexpectedContent(
        `${endpoint}: the server states ${end.expected} rows, ${end.fetched} could be read`,
      );
    if (rows > 0 || isSecond || !(await question.hasFacts())) return;
  }
}

const rowsIn = listNamed(endpoint, 'rows');

/** An integrator got 502 for REVENUE by hour (vendor facts 2.3); what is computed from it goes with it. */
const notByHour = ['REVENUE', 'AVERAGE_ORDER_VALUE', 'RETURN_ON_AD_SPEND'];

const walkOf = (question: Question): PageWalk => {
  const { account, level, ids, granularity, from, to } = question;
  // The platform's end is inclusive: the whole of its last day or hour.
  const last = to - (granularity === 'DAY' ? days(1) : hours(1));
  const fields = fieldsOf('aggregate').filter((name) => granularity !== 'HOUR' || !notByHour.includes(name));
  return {
    first: {
      method: 'GET',
      path: ofAccount(account, '/aggregate_reports'),
      endpoint,
      query: {
        entity_type: level,
        ...(level !== 'AD_ACCOUNT' && { entity_ids: [...ids], entity_ids_type: level }),
        granularity,
        fields,
        ...(granularity !== 'LIFETIME' && { report_start: instant(from), report_end: instant(last) }),
        // The two upper levels have no parent that the vendor would name.
        ...((level === 'AD' || level === 'AD_SET') && { include_parent_entity: true }),
        limit: pageSize,
      },
    },
    paging,
    list: (body) => {
      const rows = rowsIn(body);
      checkAnswer(body, rows, question);
      return rows;
    },
    id: (row) => `${textAt(row, 'entity_type')} ${subjectOf(row)}`,
  };
};

const token = 'continuation_token';

/** By tokens, as the vendor's reports go on. The contract knows `limit` and `offset` and shows no report: without a token, by offset. */
const byTokenOrOffset: Paging = firstThatFits(
  {
    ...continuation(token),
    fits: (body, sent) => at(body, token) !== undefined || at(sent.query, token) !== undefined,
  },
  { ...byOffset, fits: (body, sent) => byOffset.fits(body, { ...sent, query: {} }) },
  fullPages(),
);

/** A report that goes on in a way that no contract shows must not pass for whole. */
const paging: Paging = {
  ...byTokenOrOffset,
  next(body, sent, count, repeated) {
    const next = byTokenOrOffset.next(body, sent, count, repeated);
    const sign = next === undefined ? signOfMore(body) : undefined;
    if (sign === undefined) return next;
    throw new UnexpectedContent(
      `${endpoint}: the report goes on (it says ${sign}), in a way that is not known`,
    );
  },
};

const signOfMore = (body: Json): string | undefined =>
  [body, at(body, 'paging')]
    .flatMap((holder) => (isObject(holder) ? Object.entries(holder) : []))
    .find(([name, value]) => /^(next|cursor)/i.test(name) && typeof value === 'string' && value !== '')?.[0];

/** Whole seconds, as the platform writes them. */
const instant = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

/** A row as it was in its answer. */
const bytesOf = (record: Json, page: Page): Buffer => {
  const index = page.records.indexOf(record);
  return elementSlice(page.raw, ['rows'], page.places?.[index] ?? index) ?? page.raw;
};
