/** Aggregate reports: the numbers of up to fifty entities at a time, by day, hour or over their lifetime. */

import { Refused, TooOld, UnexpectedContent } from '../../../core/errors.ts';
import { plural } from '../../../core/format.ts';
import { elementSlice } from '../../../core/json.ts';
import type { Page, PageWalk, Paging, Reading, WalkEnd } from '../../../core/paging.ts';
import type { Http, Json } from '../../../core/request.ts';
import type { Days, ReadSide, Slice, SliceContext } from '../../../core/stream.ts';
import { mingled } from '../../../reading/merge-concurrent.ts';
import { at, listNamed, textAt } from '../../../reading/offset-list.ts';
import { pages } from '../../../reading/pages.ts';
import { continuation, firstThatFits, fullPages, type Scheme } from '../../../reading/paginators.ts';
import { ofAccount } from '../ads.ts';
import { byOffset, pageSize } from '../lists.ts';
import { accountIn } from '../streams/of-account.ts';
import { distinctRows, subjectOf } from './distinct-rows.ts';
import { aggregateFields, hourlyFields } from './fields.ts';
import { toItsEnd } from './has-more.ts';
import { hasFacts } from './known-entities.ts';
import { chunks, idsIn, lateLevels, levelIn } from './levels.ts';
import { lackedBy } from './normalize.ts';
import { vendorRow } from './plain-rows.ts';
import type { Reports } from './reports.ts';
import { checkStated, type Granularity, type Wanted } from './stated-ranges.ts';
import { asAsked, type Counts, kindOf, kinds, namesOf, nothing, type Question } from './validate.ts';

const endpoint = '/ad_accounts/{id}/aggregate_reports';
const hour = 3_600_000;
const day = 24 * hour;

const token = 'continuation_token';
const byToken: Scheme = continuation(token);

/**
 * By tokens, as the vendor's reports go on: there an answer has a token or says that it has none. The contract knows `limit` and `offset`
 * alone, and does not show a report: one that says nothing of tokens is walked by them, as any list is.
 */
const paging: Paging = firstThatFits(
  { ...byToken, fits: (body, sent) => at(body, token) !== undefined || at(sent.query, token) !== undefined },
  toItsEnd({ ...byOffset, fits: (body, sent) => byOffset.fits(body, { ...sent, query: {} }) }),
  toItsEnd(fullPages()),
);

/** By day, restated as the platform restates. The day that is not over is not read: half a day would look like a bad one. */
export const reportDaily = (reports: Reports): ReadSide =>
  aggregate(reports, 'DAY', {
    name: 'report_daily',
    about:
      'The numbers of accounts, campaigns, ad sets and ads by day (UTC), restated as the platform restates them.',
    days: {
      column: 'day',
      start: reports.start,
      present: false,
      longest: 90,
      reread: reports.reread,
      joined: lateLevels,
    },
  });

/** As many whole days of hours as the platform tells: of the two weeks the fourteenth is no longer whole. */
export const hourlyDays = 13;

/** By hour, as long as the platform tells, restated as the days are. What is due less often than that comes too late. */
export const reportHourly = (reports: Reports): ReadSide =>
  aggregate(reports, 'HOUR', {
    name: 'report_hourly',
    about:
      'The same by hour (UTC). The platform tells the last two weeks only: what no run has read by then is gone.',
    days: {
      column: 'hour_start',
      start: reports.start,
      oldest: hourlyDays,
      present: true,
      longest: 14,
      reread: reports.reread
        .filter(({ every }) => every <= hourlyDays)
        .map(({ every, back }) => ({ every, back: Math.min(back, hourlyDays) })),
      joined: lateLevels,
    },
  });

/** Over the lifetime, as told today. */
export const reportLifetime = (reports: Reports): ReadSide =>
  aggregate(reports, 'LIFETIME', {
    name: 'report_lifetime',
    about:
      'The same over their lifetime, as it was told on each day that was read: reach and frequency add up in no other way.',
    days: {
      column: 'captured_on',
      start: reports.start,
      oldest: 0,
      present: true,
      longest: 1,
      reread: [{ every: 1, back: 1 }],
    },
  });

function aggregate(
  reports: Reports,
  granularity: Granularity,
  {
    days,
    ...said
  }: {
    readonly name: string;
    readonly about: string;
    readonly days: Pick<Days, 'column' | 'start' | 'oldest' | 'present' | 'longest' | 'reread' | 'joined'>;
  },
): ReadSide {
  const facts = { table: `ads.${said.name}`, column: days.column };
  const lacked = new Set<string>();
  return {
    by: 'days',
    ...said,
    endpoint: `GET ${endpoint}`,
    // The contract has reports, and says nothing of granularities; days are what everything else is built on.
    ...(granularity !== 'DAY' && { optional: true as const }),
    after: ['ad_accounts', 'campaigns', 'ad_sets', 'ads'],
    partitions: reports.levels,
    days: {
      ...days,
      scope: reports.scope,
      rows: async (slice, given) => (await idsIn(slice, given, facts)).length * timesIn(slice, granularity),
      requests: async (slice, given) => {
        const ids = await idsIn(slice, given, facts);
        return Math.max(chunks(ids).length, Math.ceil((ids.length * timesIn(slice, granularity)) / pageSize));
      },
      perSecond: reports.perSecond,
    },
    read: async (slice, given, signal) => {
      checkThere(said.name, granularity, slice, given);
      const walkFor = (some: readonly string[]): Walk => walkOf(slice, given, granularity, some);
      const pieces = chunks(await idsIn(slice, given, facts));
      // Days of which nothing is shown at all are not replaced on one word either: the engine asks for them again.
      const isKnown = async (ids: readonly string[]): Promise<boolean> =>
        (pieces.length > 1 || granularity === 'LIFETIME') && hasFacts(slice, given, facts, ids);
      const walks = pieces.map((ids) => ({ ids, walkOf: walkFor, isKnown }));
      const lacks = (name: string): void => {
        if (!lacked.has(name)) reports.note(`${endpoint} (${granularity}): rows come without ${name}`);
        lacked.add(name);
      };
      return reading(reports, asked(slice, granularity), walks, signal, lacks);
    },
  };
}

/**
 * A slice that an earlier run planned may be about days that the platform does not have any more. What it would say now must not replace what
 * was loaded when it still had them, nor pass for a snapshot of then. Throws `TooOld`.
 */
const checkThere = (
  name: string,
  granularity: Granularity,
  { window }: Slice,
  { clock, now }: SliceContext,
): void => {
  const from = window?.from ?? clock;
  // A lifetime is that of the day on which the run began, also shortly after midnight.
  const oldest =
    granularity === 'LIFETIME' ? Math.floor(clock.getTime() / day) * day : now.getTime() - 14 * day;
  if (granularity === 'DAY' || from.getTime() >= oldest) return;
  const first = from.toISOString().slice(0, 10);
  throw new TooOld(`${name}: the platform does not tell ${first} any more; it is ${now.toISOString()} there`);
};

/** How many rows an entity can have in a slice. */
const timesIn = ({ window }: Slice, granularity: Granularity): number => {
  const days = ((window?.to?.getTime() ?? 0) - (window?.from?.getTime() ?? 0)) / day;
  return granularity === 'LIFETIME' ? 1 : granularity === 'DAY' ? days : days * 24;
};

/** What a slice asks for, in words. */
const asked = (slice: Slice, granularity: Granularity): string => {
  const { from, to } = slice.window ?? {};
  const days = granularity === 'LIFETIME' ? '' : ` of ${dayOf(from)} to ${dayOf(to)} (exclusive)`;
  return `${accountIn(slice)}, ${levelIn(slice)} by ${granularity}${days}`;
};

const dayOf = (at: Date | undefined): string => at?.toISOString().slice(0, 10) ?? '…';

/**
 * Several walks at once, their pages as they come. Rows that were not asked for are left out and told; `lacks` hears which of the indispensable
 * metrics some row does not tell. Throws `UnexpectedContent` where no row is one that was asked for (`words`).
 */
function reading(
  { http, note, concurrency, gate }: Reports,
  words: string,
  walks: readonly Asked[],
  signal: AbortSignal,
  lacks: (metric: string) => void,
): Reading {
  async function* all(): AsyncGenerator<Page, WalkEnd, void> {
    const counts = nothing();
    const open = (one: Asked, until: AbortSignal): AsyncGenerator<Fitting, void, void> =>
      gate(() => asking(http, one, words, until), until);
    for await (const page of mingled(walks, concurrency, open, signal)) {
      const { counts: found, ...fitting } = page;
      for (const kind of kinds) counts[kind] += found[kind];
      for (const row of page.records) for (const name of lackedBy(row)) lacks(name);
      yield fitting;
    }
    // One piece may have nothing to tell where a server does not look at the ids; all of them together have what was asked for, if anything.
    if (counts.row + counts.behind === 0 && counts.stranger > 0) throw another(counts.stranger, words);
    const strange = counts.behind + counts.outside + counts.stranger;
    if (strange > 0)
      note(
        `${endpoint}: ${strange} rows were of other entities or days than those asked for; they were left out`,
      );
    return {
      expected: null,
      fetched: counts.row,
      passes: walks.length === 0 ? 0 : 1,
      moved: 0,
      matched: true,
    };
  }
  return { pages: all(), id: identity, bytes: (record, page) => bytesOf(record, page) };
}

const another = (rows: number, words: string): UnexpectedContent =>
  new UnexpectedContent(
    `${endpoint}: the report has ${plural(rows, 'row')}, none of what was asked for (${words}): it is another one`,
  );

/** A page without the rows that were not asked for. */
interface Fitting extends Page {
  readonly counts: Readonly<Counts>;
}

/**
 * The pages of one walk; a question that is too long for the server (413, 414) is asked in two, and one that shows nothing of entities that something
 * is known of is asked again: said twice it is believed, unless there are rows, and all of others. Throws `UnexpectedContent` then, and where all that is
 * told of the entities is of other days or hours: it must not pass for their having none.
 */
async function* asking(
  http: Http,
  one: Asked,
  words: string,
  signal: AbortSignal,
): AsyncGenerator<Fitting, void, void> {
  const { ids, walkOf, isKnown, again } = one;
  const { walk, question } = walkOf(ids);
  const whole = nothing();
  let instead: readonly Asked[] = [];
  const walked = pages(http, walk, signal);
  try {
    for (;;) {
      let step: IteratorResult<Page, WalkEnd>;
      try {
        step = await walked.next();
      } catch (error) {
        if (!isTooLong(error) || ids.length === 1) throw error;
        const half = Math.ceil(ids.length / 2);
        instead = [ids.slice(0, half), ids.slice(half)].map((some) => ({ ...one, ids: some }));
        break;
      }
      if (step.done === true) {
        checkWhole(step.value);
        if (whole.row === 0 && whole.outside > 0) throw another(whole.outside, words);
        const showsNone = whole.row + whole.behind === 0;
        if (showsNone && again === true && whole.stranger > 0) throw another(whole.stranger, words);
        if (showsNone && again !== true && (await isKnown(ids))) instead = [{ ...one, again: true }];
        break;
      }
      const { value: page } = step;
      const counts = nothing();
      const kept = [...page.records.keys()].filter((i) => {
        const kind = kindOf(page.records[i], question);
        counts[kind]++;
        return kind === 'row';
      });
      for (const kind of kinds) whole[kind] += counts[kind];
      const records = kept.map((i) => asAsked(page.records[i], question));
      const places = kept.map((i) => page.places?.[i] ?? i);
      yield { ...page, records, places, last: false, counts };
    }
  } finally {
    await walked.return?.(undefined as never).catch(() => undefined);
  }
  for (const each of instead) yield* asking(http, each, words, signal);
}

/** Days are replaced whole: rows that are fewer than the server states must not take the place of any. Throws `UnexpectedContent`. */
const checkWhole = ({ matched, expected, fetched }: WalkEnd): void => {
  if (!matched)
    throw new UnexpectedContent(`${endpoint}: the server states ${expected} rows, ${fetched} could be read`);
};

/** Said of a request's first page only: the later ones carry nothing but a token. */
const isTooLong = (error: unknown): boolean =>
  error instanceof Refused && (error.status === 413 || error.status === 414);

interface Asked {
  readonly ids: readonly string[];
  readonly walkOf: (ids: readonly string[]) => Walk;
  /** Whether what an answer without a row says of these would be missed. */
  readonly isKnown: (ids: readonly string[]) => Promise<boolean>;
  /** It is asked for the second time. */
  readonly again?: true;
}

interface Walk {
  readonly walk: PageWalk;
  readonly question: Question;
}

function walkOf(slice: Slice, given: SliceContext, granularity: Granularity, ids: readonly string[]): Walk {
  const level = levelIn(slice);
  const account = accountIn(slice);
  const { from, to } = periodOf(slice, given, granularity);
  // The platform's end is inclusive: the whole of its last day or hour.
  const last = to - (granularity === 'DAY' ? day : hour);
  const span = granularity === 'LIFETIME' ? undefined : { first: from, last };
  const stated: Wanted = { granularity, span, clock: given.clock };
  const checkDistinct = distinctRows(endpoint, granularity);
  return {
    walk: {
      first: {
        method: 'GET',
        path: ofAccount(account, '/aggregate_reports'),
        endpoint,
        query: {
          entity_type: level,
          ...(level !== 'AD_ACCOUNT' && { entity_ids: ids, entity_ids_type: level }),
          granularity,
          fields: granularity === 'HOUR' ? hourlyFields : aggregateFields,
          ...(span !== undefined && { report_start: instant(span.first), report_end: instant(span.last) }),
          // The two upper levels have no parent that the vendor would name.
          ...((level === 'AD' || level === 'AD_SET') && { include_parent_entity: true }),
          limit: pageSize,
        },
      },
      paging,
      list: (body) => {
        checkStated(endpoint, body, stated);
        const rows = rowsIn(body).map((row) => vendorRow(endpoint, row, { level, granularity, account }));
        checkDistinct(rows);
        return rows;
      },
      id: (row) => (identity(row) === '' ? '' : subjectOf(row)),
    },
    question: { level, wanted: namesOf(ids), granularity, from, to },
  };
}

/** Milliseconds since 1970. An hour that has not begun is not asked for. */
const periodOf = (
  { window }: Slice,
  given: SliceContext,
  granularity: Granularity,
): { from: number; to: number } => {
  const from = window?.from?.getTime() ?? 0;
  const to = window?.to?.getTime() ?? 0;
  const now = Math.floor(given.clock.getTime() / hour) * hour + hour;
  return { from, to: granularity === 'HOUR' ? Math.max(from + hour, Math.min(to, now)) : to };
};

const rowsIn = listNamed(endpoint, 'rows');

/** Whole seconds, as the platform writes them. */
const instant = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

/** A row without an entity has no identity: it is delivered, and rejected with its bytes. */
const identity = (row: Json): string => {
  const id = textAt(row, 'entity_id');
  return id === undefined ? '' : `${id} ${textAt(row, 'start_time') ?? ''}`;
};

/** A row as it stood in its answer. */
const bytesOf = (record: Json, page: Page): Buffer => {
  const index = page.records.indexOf(record);
  const place = page.places?.[index] ?? index;
  return (index < 0 ? undefined : elementSlice(page.raw, ['rows'], place)) ?? page.raw;
};
