/** Insight reports: the audience of each campaign and ad set, one dimension at a time. A snapshot of the lifetime. */

import { Refused } from '../../../core/errors.ts';
import type { Page, Reading, WalkEnd } from '../../../core/paging.ts';
import type { Json, Request } from '../../../core/request.ts';
import type { ReadSide, Slice, SliceContext } from '../../../core/stream.ts';
import { listNamed, textAt } from '../../../reading/offset-list.ts';
import { accountOf, accounts, canonicalId, ofAccount } from '../ads.ts';
import { fieldsOf } from '../metrics.ts';
import { oneByOne } from '../one-by-one.ts';
import { dayText, type Reports } from './request.ts';
import { namesIn } from './unsupported.ts';

const endpoint = '/ad_accounts/{id}/insight_reports';

/** InsightDimensionType of the vendor's OpenAPI. */
const dimensions =
  'ACT_AND_SET AGE AUDIENCE CITY COUNTRY FORMAT GENDER GENRE INTERESTS METRO PLACEMENT PLATFORM PODCAST_EPISODE_TOPIC REGION TONE'.split(
    ' ',
  );

/** One request: an entity and a dimension. */
interface Question {
  readonly type: 'CAMPAIGN' | 'AD_SET';
  readonly id: string;
  readonly dimension: string;
}

export const insightReports = (reports: Reports): ReadSide => ({
  by: 'list',
  name: 'insight_reports',
  about:
    'Who heard it: per campaign and ad set and dimension, a snapshot a day. Below its thresholds the platform tells nothing.',
  endpoint: `GET ${endpoint}`,
  recentOnly: true,
  after: ['ad_accounts', 'campaigns', 'ad_sets'],
  partitions: accounts(reports),
  read: async (slice, context, signal) => {
    const due = await questions(slice, context);
    const today = dayText(context.clock);
    // Where everything was answered today nothing is due any more, but the list is not empty.
    const of = { ad_account_id: accountOf(slice), asked_on: today };
    const columns = { dimension: 'dimension' };
    const answered = await context.keys({ table: 'ads.insight_states', columns, of });
    return reading(reports, slice, today, due, due.length + answered.length === 0 ? 0 : 1, signal);
  },
});

/** Data arrive until about 14 days after the end (vendor's OpenAPI, getAudienceInsightReport). After that one last answer is enough. */
const lateDays = 14;

/** When something was archived: by the source, or, where it gives no time, by our reading. */
const archived = (table: string): string =>
  `case when ${table}.status = 'ARCHIVED' then coalesce(${table}.updated_at, ${table}._synced_at) end`;

/** The levels, and the moment at which an entity ended; null while it goes on. */
const levels = [
  { type: 'CAMPAIGN', table: 'campaigns', end: archived('campaigns') },
  { type: 'AD_SET', table: 'ad_sets', end: `least(ad_sets.end_at, ${archived('ad_sets')})` },
] as const;

/**
 * What may have news, each pair of entity and dimension by itself: a run may break off between the dimensions of one entity. An entity that
 * goes on is requested once a day; one that has ended, too, until its last data are in.
 */
const questions = async (slice: Slice, context: SliceContext): Promise<readonly Question[]> => {
  const all: Question[] = [];
  for (const { type, table, end } of levels)
    for (const dimension of dimensions) {
      const due = await context.keys({
        table: `ads.${table}`,
        columns: { id: 'id' },
        of: { ad_account_id: accountOf(slice) },
        where: `is_listed and not exists (select from ads.insight_states i
          where i.source_id = ${table}.source_id and i.entity_type = '${type}' and i.entity_id = ${table}.id and i.dimension = '${dimension}'
            and i.asked_on >= least('${dayText(context.clock)}'::date, ((${end}) at time zone 'UTC')::date + ${lateDays}))`,
      });
      for (const { id } of due) if (id !== undefined) all.push({ type, id, dimension });
    }
  return all;
};

const rowsOf = listNamed(endpoint, 'rows');

const reading = (
  reports: Reports,
  slice: Slice,
  today: string,
  items: readonly Question[],
  passes: number,
  signal: AbortSignal,
): Reading => {
  /** Dimensions that the server refuses by name, with their level: what is refused of campaigns may exist for ad sets. */
  const unsupported = new Set<string>();
  let strange = 0;
  const page = async (question: Question, until: AbortSignal) => {
    const { type, id, dimension } = question;
    const kind = `${dimension} (${type})`;
    if (unsupported.has(kind)) return undefined;
    const asked = { entity_type: type, entity_id: id, dimension, asked_on: today };
    try {
      const { body, raw, date, receivedAt } = await reports.http.send(requestOf(slice, question), until);
      const all = rowsOf(body);
      const rows = all.filter(isOf(question, all));
      strange += all.length - rows.length;
      return { records: [{ ...asked, state: 'ok', rows }], raw, date, receivedAt };
    } catch (cause) {
      const code = codeOf(cause);
      if (code !== undefined) return stateOf({ ...asked, state: 'not_enough_data', code, rows: [] });
      if (!namesDimension(cause, dimension)) throw cause;
      unsupported.add(kind);
      return undefined;
    }
  };
  const nameOf = (question: Question): string => Object.values(question).join('/');
  async function* pages(): AsyncGenerator<Page, WalkEnd, void> {
    const end = yield* oneByOne(reports, { endpoint, items, nameOf, page }, signal);
    if (strange > 0)
      reports.note(`${endpoint}: ${strange} rows were of other entities than requested; they were left out`);
    if (unsupported.size > 0)
      reports.note(`${endpoint}: the server does not know the dimensions ${[...unsupported].join(', ')}`);
    return { expected: null, fetched: end.fetched, passes, matched: true };
  }
  const id = (record: Json): string =>
    ['entity_type', 'entity_id', 'dimension'].map((name) => textAt(record, name) ?? '').join('/');
  return { pages: pages(), id, bytes: (_, { raw }) => raw };
};

/** A page of a record of our own. */
const stateOf = (record: Readonly<Record<string, Json>>) => ({
  records: [record],
  raw: Buffer.from(JSON.stringify(record)),
  date: undefined,
  receivedAt: performance.now(),
});

const namesDimension = (cause: unknown, dimension: string): boolean =>
  cause instanceof Refused &&
  cause.status === 400 &&
  namesIn(cause.messages.join(' '), [dimension]).length > 0;

/**
 * Which rows of an answer are of the entity. By the vendor's OpenAPI a row names an ad set, also where a campaign was requested: where several
 * are named, each is a part of the campaign, and no sum of reaches is the campaign's.
 */
const isOf = ({ type, id }: Question, rows: readonly Json[]): ((row: Json) => boolean) => {
  const named = (row: Json): string => canonicalId(textAt(row, 'id') ?? id);
  if (type === 'CAMPAIGN' && new Set(rows.map(named)).size < 2) return () => true;
  return (row) => named(row) === canonicalId(id);
};

/** `ILLEGAL.INSIGHT_REPORT.INSUFFICIENT_IMPRESSIONS`, `…_REACH` or `…_LISTENERS`: not enough data yet (vendor facts 2.4). */
const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Refused && cause.status === 422
    ? /[A-Z_.]*INSUFFICIENT_[A-Z_]+/.exec(cause.messages.join(' '))?.[0]
    : undefined;

const requestOf = (slice: Slice, { type, id, dimension }: Question): Request => ({
  method: 'GET',
  path: ofAccount(accountOf(slice), '/insight_reports'),
  endpoint,
  query: {
    insight_dimension: dimension,
    fields: fieldsOf('insight'),
    entity_ids: [id],
    entity_ids_type: type,
  },
});
