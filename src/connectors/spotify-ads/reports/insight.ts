/** Insight reports: the audience of each campaign and ad set, one dimension at a time. A snapshot of the lifetime. */

import { Refused } from '../../../core/errors.ts';
import type { Json, ReadSide, Request, Slice, SliceContext, SliceReading } from '../../../core/stream.ts';
import { get, listNamed, textAt } from '../../../reading/requests.ts';
import { accountOf, accounts, canonicalId, ofAccount } from '../ads.ts';
import { fieldsOf } from '../metrics.ts';
import { oneByOne } from '../one-by-one.ts';
import { dayText, type Reports } from './request.ts';
import { namesIn } from './unsupported.ts';

const endpoint = '/ad_accounts/{id}/insight_reports';

/** One request: an entity and a dimension. */
type InsightQuestion = Readonly<Record<'type' | 'id' | 'dimension', string>>;

/** Data arrive until about 14 days after the end (vendor's OpenAPI, getAudienceInsightReport). After that one last answer is enough. */
const lateDays = 14;

/**
 * What may have news, each pair of entity and dimension by itself: a run may break off between the dimensions of one entity. An entity that
 * goes on is requested once a day; one that has ended, too, until its last data are in.
 */
export const insightReports = (reports: Reports): ReadSide => ({
  by: 'list',
  name: 'insight_reports',
  about:
    'Who heard it: per campaign and ad set and dimension, a snapshot a day. Below its thresholds the platform tells nothing.',
  endpoint: `GET ${endpoint}`,
  recentOnly: true,
  after: ['ad_accounts', 'campaigns', 'ad_sets'],
  partitions: accounts(reports),
  requests: async (slice, context) => (await dueOf(slice, context)).length,
  read: async (slice, context, signal) => {
    const today = dayText(context.clock);
    const due = await dueOf(slice, context);
    // Where everything was answered today nothing is due any more, but the list is not empty.
    const of = { ad_account_id: accountOf(slice), asked_on: today };
    const answered = await context.keys({ table, columns: { id: 'entity_id' }, of });
    return reading(reports, slice, today, due, due.length + answered.length === 0 ? 0 : 1, signal);
  },
});

const table = 'ads.insight_questions';

/** What is asked of a slice's account today. */
const dueOf = async (slice: Slice, { keys, clock }: SliceContext) => {
  const columns = { type: 'entity_type', id: 'entity_id', dimension: 'dimension' };
  const of = { ad_account_id: accountOf(slice) };
  const where = `asked_on is null or asked_on < least('${dayText(clock)}'::date, ended_on + ${lateDays})`;
  return (await keys({ table, columns, of, where })) as readonly InsightQuestion[];
};

const rowsOf = listNamed(endpoint, 'rows');

const reading = (
  reports: Reports,
  slice: Slice,
  today: string,
  items: readonly InsightQuestion[],
  passes: number,
  signal: AbortSignal,
): SliceReading => {
  /** Dimensions that the server refuses by name, with their level: what is refused of campaigns may exist for ad sets. */
  const unsupported = new Set<string>();
  let strange = 0;
  const page = async (question: InsightQuestion, until: AbortSignal) => {
    const { type, id, dimension } = question;
    const kind = `${dimension} (${type})`;
    if (unsupported.has(kind)) return undefined;
    const asked = { entity_type: type, entity_id: id, dimension, asked_on: today };
    try {
      const { body, raw } = await reports.http.send(requestOf(slice, question), until);
      const all = rowsOf(body);
      const rows = all.filter(isOf(question, all));
      strange += all.length - rows.length;
      return { records: [{ ...asked, state: 'ok', rows }], raw };
    } catch (cause) {
      const code = codeOf(cause);
      if (code !== undefined) return stateOf({ ...asked, state: 'not_enough_data', code, rows: [] });
      if (!namesDimension(cause, dimension)) throw cause;
      unsupported.add(kind);
      return undefined;
    }
  };
  const nameOf = (question: InsightQuestion): string => Object.values(question).join('/');
  async function* pages(): SliceReading['pages'] {
    const end = yield* oneByOne(reports, { endpoint, items, nameOf, page }, signal);
    if (strange > 0)
      reports.note(`${endpoint}: ${strange} rows were of other entities than requested; they were left out`);
    if (unsupported.size > 0)
      reports.note(`${endpoint}: the server does not know the dimensions ${[...unsupported].join(', ')}`);
    return { expected: null, read: end.read, passes, matched: true };
  }
  const id = (record: Json): string =>
    ['entity_type', 'entity_id', 'dimension'].map((name) => textAt(record, name) ?? '').join('/');
  return { pages: pages(), id, bytes: (_, { raw }) => raw };
};

/** A page of a record of our own. */
const stateOf = (record: Readonly<Record<string, Json>>) => ({
  records: [record],
  raw: Buffer.from(JSON.stringify(record)),
});

const namesDimension = (cause: unknown, dimension: string): boolean =>
  cause instanceof Refused &&
  cause.status === 400 &&
  namesIn(cause.messages.join(' '), [dimension]).length > 0;

/**
 * Which rows of an answer are of the entity. By the vendor's OpenAPI a row names an ad set, also where a campaign was requested: where several
 * are named, each is a part of the campaign, and no sum of reaches is the campaign's.
 */
const isOf = ({ type, id }: InsightQuestion, rows: readonly Json[]): ((row: Json) => boolean) => {
  const named = (row: Json): string => canonicalId(textAt(row, 'id') ?? id);
  if (type === 'CAMPAIGN' && new Set(rows.map(named)).size < 2) return () => true;
  return (row) => named(row) === canonicalId(id);
};

/** `ILLEGAL.INSIGHT_REPORT.INSUFFICIENT_IMPRESSIONS`, `…_REACH` or `…_LISTENERS`: not enough data yet (vendor facts 2.4). */
const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Refused && cause.status === 422
    ? /[A-Z_.]*INSUFFICIENT_[A-Z_]+/.exec(cause.messages.join(' '))?.[0]
    : undefined;

const requestOf = (slice: Slice, { type, id, dimension }: InsightQuestion): Request => {
  const query = {
    insight_dimension: dimension,
    fields: fieldsOf('insight'),
    entity_ids: [id],
    entity_ids_type: type,
  };
  return get(ofAccount(accountOf(slice), '/insight_reports'), query, endpoint);
};
