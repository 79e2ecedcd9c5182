/** Aggregate reports: the numbers of up to fifty entities at a time, by day, hour or over their lifetime. */

import { Refused, TooOld, UnexpectedContent } from '../../../core/errors.ts';
import { plural } from '../../../core/format.ts';
import { isObject } from '../../../core/record.ts';
import type {
  Days,
  Json,
  Paging,
  ReadSide,
  Slice,
  SliceContext,
  SliceReading,
} from '../../../core/stream.ts';
import { days, hours } from '../../../core/time.ts';
import { mergeConcurrent } from '../../../reading/merge-concurrent.ts';
import { pages, sourceBytes } from '../../../reading/pages.ts';
import { continuation, firstThatFits, fullPages } from '../../../reading/paginators.ts';
import { at, get, instantAt, listNamed, textAt } from '../../../reading/requests.ts';
import { accountOf, idChunks, ofAccount } from '../ads.ts';
import { byOffset, pageSize } from '../lists.ts';
import { fieldsOf } from '../metrics.ts';
import type { Reports } from './request.ts';
import * as request from './request.ts';

const endpoint = '/ad_accounts/{id}/aggregate_reports';

type Granularity = 'DAY' | 'HOUR' | 'LIFETIME';

/** What one kind of aggregate report is, and how its days are cut. */
interface AggregateKind extends Pick<Days, 'column' | 'oldest' | 'present' | 'longest' | 'joined'> {
  readonly granularity: Granularity;
  readonly name: string;
  readonly about: string;
  readonly after?: readonly string[];
}

/** By day, restated as the platform restates. The present day is not read: half a day would look like a bad one. */
export const reportDaily = (reports: Reports): ReadSide =>
  aggregate(reports, reports.days.reread, {
    granularity: 'DAY',
    name: 'report_daily',
    about: 'The numbers of accounts, campaigns, ad sets and ads by day (UTC), as last restated.',
    column: 'day',
    present: false,
    longest: 90,
    joined: request.lateLevels,
  });

/** Whole days of hours that the platform keeps: of its two weeks the fourteenth day is no longer whole. */
const hourlyDays = 13;

/** Hours are read again as days are, as far as the platform keeps them. */
export const hourlyReread = ({ days: { reread } }: Reports): Days['reread'] =>
  reread
    .filter(({ every }) => every <= hourlyDays)
    .map(({ every, back }) => ({ every, back: Math.min(back, hourlyDays) }));

/** By hour, as long as the platform keeps them. */
export const reportHourly = (reports: Reports): ReadSide =>
  aggregate(reports, hourlyReread(reports), {
    granularity: 'HOUR',
    name: 'report_hourly',
    about: 'The same by hour (UTC). The platform keeps two weeks: what no run has read by then is lost.',
    column: 'hour_start',
    oldest: hourlyDays,
    present: true,
    longest: 14,
    joined: request.lateLevels,
  });

/** Over the lifetime, as of today. */
export const reportLifetime = (reports: Reports): ReadSide =>
  aggregate(reports, [{ every: 1, back: 1 }], {
    granularity: 'LIFETIME',
    name: 'report_lifetime',
    about: 'The same over their lifetime, as of each day that was read: reach adds up in no other way.',
    column: 'captured_on',
    oldest: 0,
    present: true,
    longest: 1,
    after: ['report_daily'],
  });

const lengthOf = (granularity: Granularity): number => (granularity === 'HOUR' ? hours(1) : days(1));

const aggregate = (
  reports: Reports,
  reread: Days['reread'],
  { granularity, name, about, after = [], ...cut }: AggregateKind,
): ReadSide => {
  const facts: request.FactTable = { table: `ads.${name}`, column: cut.column };
  const unlisted = unlistedIn(reports, granularity);
  /** How many rows the entities of a slice can have. */
  const rows = async (slice: Slice, context: SliceContext): Promise<number> => {
    const ids = await request.idsIn(slice, context, facts);
    const { from, to } = request.daysOf(slice);
    return (ids.length * (to.getTime() - from.getTime())) / lengthOf(granularity);
  };
  return {
    by: 'days',
    name,
    about,
    endpoint: `GET ${endpoint}`,
    // The contract has aggregate reports and names no granularity; days are what everything else is built on.
    ...(granularity !== 'DAY' && { optional: true as const }),
    after: ['ad_accounts', 'campaigns', 'ad_sets', 'ads', ...after],
    partitions: reports.levels,
    days: {
      ...cut,
      ...reports.days,
      // Days that were read of listed entities alone are read again.
      scope: `${reports.days.scope}, listed or not`,
      reread,
      rows,
    },
    // One more names what the lists do not.
    requests: async (slice, context) => Math.ceil((await rows(slice, context)) / pageSize) + 1,
    read: async (slice, context, signal) => {
      checkAvailable(granularity, slice, context);
      const listed = await request.idsIn(slice, context, facts);
      const ids = new Set([...listed, ...(await unlisted(slice, context, signal))]);
      const groups = idChunks([...ids]);
      // An answer without any row of the slice is doubted by the engine. It sees neither a part of a slice nor yesterday's lifetimes.
      const isDoubted = groups.length > 1 || granularity === 'LIFETIME';
      const questions = groups.map((ids) => ({
        account: accountOf(slice),
        level: request.levelOf(slice),
        ids: new Set(ids),
        granularity,
        ...windowOf(slice, context, granularity),
        hasFacts: async () => isDoubted && request.hasFacts(slice, context, facts, ids),
      }));
      return reading(reports, questions, signal);
    },
  };
};

/**
 * Finds the ids of a slice's entities that lists do not show: archived or deleted ones spent what they spent. A report over the lifetime goes
 * without ids (OpenAPI: `entity_ids` filters, and is not required), and takes dates; by day and hour one integrator had to name ids. A server
 * that refuses it for a level is asked no more in the run, with a note. Lifetimes are read after the days, of everything that these have named.
 */
const unlistedIn = ({ http, note }: Reports, granularity: Granularity) => {
  const refused = new Set<request.Level>(['AD_ACCOUNT']);
  return async (slice: Slice, context: SliceContext, signal: AbortSignal): Promise<readonly string[]> => {
    const account = accountOf(slice);
    const level = request.levelOf(slice);
    if (granularity === 'LIFETIME' || refused.has(level) || !(await request.accountExists(slice, context)))
      return [];
    const { from, to } = windowOf(slice, context, 'DAY');
    const { first, paging } = walkOf({ account, level, ids: new Set(), granularity: 'LIFETIME', from, to });
    const dates = { report_start: instant(from), report_end: instant(to - days(1)) };
    const query = { ...first.query, ...dates, fields: ['IMPRESSIONS', 'SPEND'] };
    const walk = pages(http, { first: { ...first, query }, paging, list: rowsIn, id: subjectOf }, signal);
    const ids: string[] = [];
    try {
      for await (const { records } of walk)
        for (const row of records)
          if ((textAt(row, 'entity_type') ?? level) === level) ids.push(textAt(row, 'entity_id') ?? '');
    } catch (error) {
      if (!(error instanceof Refused || error instanceof UnexpectedContent)) throw error;
      refused.add(level);
      note(`${endpoint}: only what lists show can be requested; without ids: ${error.message}`);
    }
    return ids.filter((id) => id !== '');
  };
};

/**
 * An earlier run may have planned days that the platform no longer has: hours of more than two weeks ago, a lifetime as of yesterday. An
 * answer about them must not replace what was loaded. Throws `TooOld`.
 */
const checkAvailable = (granularity: Granularity, slice: Slice, { clock, now }: SliceContext): void => {
  const { from } = request.daysOf(slice);
  // A lifetime is that of the day on which the run began, also shortly after midnight.
  const today = clock.getTime() - (clock.getTime() % days(1));
  const oldest = { DAY: 0, HOUR: now.getTime() - days(14), LIFETIME: today }[granularity];
  if (from.getTime() < oldest)
    throw new TooOld(`the platform no longer has ${request.dayText(from)}; it is ${now.toISOString()} there`);
};

/** What a report is requested for. Times: milliseconds since 1970, half open. */
interface AggregateQuestion {
  readonly account: string;
  readonly level: request.Level;
  readonly ids: ReadonlySet<string>;
  readonly granularity: Granularity;
  readonly from: number;
  readonly to: number;
  /** Whether the warehouse has facts that an empty answer would delete. */
  readonly hasFacts: () => Promise<boolean>;
}

/** An hour that has not begun is not requested. */
const windowOf = (slice: Slice, { clock }: SliceContext, granularity: Granularity) => {
  const from = request.daysOf(slice).from.getTime();
  const to = request.daysOf(slice).to.getTime();
  const now = Math.max(from, clock.getTime());
  return { from, to: granularity === 'HOUR' ? Math.min(to, now - (now % hours(1)) + hours(1)) : to };
};

/** Rows that were not requested are left out and noted. Throws `UnexpectedContent` where there are no others: it is another report. */
const reading = (reports: Reports, questions: readonly AggregateQuestion[], signal: AbortSignal) => {
  async function* all() {
    let read = 0;
    let strange = 0;
    const open = (one: AggregateQuestion, until: AbortSignal) =>
      reports.streamLimit(() => pagesOf(reports, one, until), until);
    for await (const { left, ...page } of mergeConcurrent(questions, reports.concurrency, open, signal)) {
      read += page.records.length;
      strange += left;
      yield page;
    }
    const [one] = questions;
    if (one !== undefined && strange > 0 && read === 0)
      throw new UnexpectedContent(
        `${endpoint}: the report has ${plural(strange, 'row')}, none of what was requested: ${one.account}, ${one.level} by ${one.granularity} of ${instant(one.from)} to ${instant(one.to)} (exclusive)`,
      );
    if (strange > 0)
      reports.note(
        `${endpoint}: ${strange} rows were of other entities or days than requested; they were left out`,
      );
    return { expected: null, read, passes: questions.length === 0 ? 0 : 1, matched: true };
  }
  const bytes: SliceReading['bytes'] = (record, page) =>
    sourceBytes(record, page, { list: rowsIn, id: rowId });
  return { pages: all(), id: subjectOf, bytes };
};

/**
 * The pages of one request's rows, and how many rows of each were left out. One answer without rows about entities with facts is confirmed by
 * a second request. Throws `UnexpectedContent` where rows are missing.
 */
async function* pagesOf({ http }: Reports, question: AggregateQuestion, signal: AbortSignal) {
  for (const isSecond of [false, true]) {
    let rows = 0;
    const walk = pages(http, walkOf(question), signal);
    let step = await walk.next();
    for (; step.done !== true; step = await walk.next()) {
      const { records: given, ...page } = step.value;
      const records = given.filter((row) => isRequested(question, row));
      rows += records.length;
      yield { ...page, records, left: given.length - records.length };
    }
    const { matched, expected, read } = step.value;
    if (!matched)
      throw new UnexpectedContent(`${endpoint}: the server states ${expected} rows, ${read} were read`);
    if (rows > 0 || isSecond || !(await question.hasFacts())) return;
  }
}

/** Whether a row is of an entity, day and hour that was requested. What cannot be read is for the transform to reject. */
const isRequested = ({ level, ids, granularity, from, to }: AggregateQuestion, row: Json): boolean => {
  const id = textAt(row, 'entity_id');
  if (id !== undefined && (!ids.has(id) || (textAt(row, 'entity_type') ?? level) !== level)) return false;
  const instant = instantAt(row, 'start_time');
  const start = Number((instant ?? 0n) / 1000n);
  return granularity === 'LIFETIME' || instant === undefined || (start >= from && start < to);
};

/** What a row is of and when. Without an entity: ''; the transform rejects such a row. */
const subjectOf = (row: Json): string => {
  const id = textAt(row, 'entity_id');
  return id === undefined ? '' : `${id} ${textAt(row, 'start_time') ?? ''}`;
};

const rowId = (row: Json): string => `${textAt(row, 'entity_type')} ${subjectOf(row)}`;

const rowsIn = listNamed(endpoint, 'rows');

/**
 * The rows of an answer. Throws `UnexpectedContent` where it is by another granularity (the vendor's default is LIFETIME), or says two things
 * of one entity and time: it is cut finer than requested, and only one of the rows could be kept.
 */
const checkedRows = (body: Json, granularity: Granularity): readonly Json[] => {
  const rows = rowsIn(body);
  const given = textAt(body, 'granularity')?.toUpperCase() ?? granularity;
  if (given !== granularity && ['DAY', 'HOUR', 'LIFETIME'].includes(given))
    throw new UnexpectedContent(`${endpoint}: the report is by ${given}; it was requested by ${granularity}`);
  const bySubject = Map.groupBy(rows, (row) => {
    const time = granularity === 'LIFETIME' ? '' : textAt(row, 'start_time');
    return `${textAt(row, 'entity_type')} ${textAt(row, 'entity_id') ?? ''} ${time}`;
  });
  for (const same of bySubject.values()) {
    const id = textAt(same[0], 'entity_id');
    if (id !== undefined && new Set(same.map((row) => JSON.stringify(row))).size > 1)
      throw new UnexpectedContent(
        `${endpoint}: the report by ${granularity} has 2 rows of ${id} that differ: it is cut finer than requested`,
      );
  }
  return rows;
};

/** An integrator got 502 for REVENUE by hour (vendor facts 2.3); what is computed from it goes with it. */
const notByHour = ['REVENUE', 'AVERAGE_ORDER_VALUE', 'RETURN_ON_AD_SPEND'];

const walkOf = ({ account, level, ids, granularity, from, to }: Omit<AggregateQuestion, 'hasFacts'>) => {
  const query = {
    entity_type: level,
    ...(ids.size > 0 && level !== 'AD_ACCOUNT' && { entity_ids: [...ids], entity_ids_type: level }),
    granularity,
    fields: fieldsOf('aggregate').filter((name) => granularity !== 'HOUR' || !notByHour.includes(name)),
    ...(granularity !== 'LIFETIME' && {
      report_start: instant(from),
      // The platform's end is inclusive: the whole of its last day or hour.
      report_end: instant(to - lengthOf(granularity)),
    }),
    // The two upper levels have no parent that the vendor would name.
    ...((level === 'AD' || level === 'AD_SET') && { include_parent_entity: true }),
    limit: pageSize,
  };
  const first = get(ofAccount(account, '/aggregate_reports'), query, endpoint);
  return { first, paging, list: (body: Json) => checkedRows(body, granularity), id: rowId };
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
    if (next !== undefined) return next;
    const says = (value: Json): boolean => value === true || (typeof value === 'string' && value !== '');
    const sign = [body, at(body, 'paging')]
      .flatMap((holder) => (isObject(holder) ? Object.entries(holder) : []))
      .find(([name, value]) => /^(next|cursor|has_more$)/i.test(name) && says(value));
    if (sign === undefined) return undefined;
    throw new UnexpectedContent(
      `${endpoint}: the report goes on (it says ${sign[0]}), in a way that is not known`,
    );
  },
};

/** Whole seconds, as the platform writes them. */
const instant = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');
