/** Insight reports: who it was that heard it, per campaign and ad set and one dimension at a time. A snapshot of the lifetime. */

import { Missing, Refused, UnexpectedContent } from '../../../core/errors.ts';
import type { Page, Reading, WalkEnd } from '../../../core/paging.ts';
import type { Answer, Json, Request } from '../../../core/request.ts';
import type { ReadSide, Slice, SliceContext } from '../../../core/stream.ts';
import { several } from '../../../reading/map-concurrent.ts';
import { listNamed, textAt } from '../../../reading/offset-list.ts';
import { ofAccount } from '../ads.ts';
import { type Failure, failures, isOfOne } from '../failures.ts';
import { canonicalId } from '../ids.ts';
import { accountIn } from '../streams/of-account.ts';
import { type Asked, dimensionsAsked } from './dimensions.ts';
import { insightDimensions, insightFields } from './fields.ts';
import type { Reports } from './reports.ts';

const endpoint = '/ad_accounts/{id}/insight_reports';

/** One question: an entity and a dimension. */
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
  partitions: reports.accounts,
  read: async (slice, given, signal) => {
    const due = await questions(slice, given);
    // Of who has answered today nothing more may be due: he has answered.
    const isAsked = due.length > 0 || (await answersOfToday(slice, given));
    const before = await answeredBefore(slice, given);
    return reading(reports, slice, given, { due, before, passes: isAsked ? 1 : 0 }, signal);
  },
});

/** Data comes until about so many days after the end (vendor's OpenAPI, getAudienceInsightReport); then a last answer is enough. */
const lateness = 14;

/** When something is archived, by the source or, where it tells no times, by when we saw it. */
const archived = (table: string): string =>
  `case when ${table}.status = 'ARCHIVED' then coalesce(${table}.updated_at, ${table}._synced_at) end`;

/** Who is asked about, and the moment at which they ended, null for those that go on (least passes nulls by). */
const kinds = [
  { type: 'CAMPAIGN', table: 'campaigns', end: archived('campaigns') },
  { type: 'AD_SET', table: 'ad_sets', end: `least(ad_sets.end_at, ${archived('ad_sets')})` },
] as const;

/**
 * What may have news since it was last answered, each question by itself: a night may break off between the dimensions of one entity. What goes
 * on is asked once a day; what has ended is, too, until its last data are in.
 */
async function questions(slice: Slice, given: SliceContext): Promise<readonly Question[]> {
  const today = dayOf(given.clock);
  const due = async ({ type, table, end }: (typeof kinds)[number], dimension: string) => {
    const found = await given.keys({
      table: `ads.${table}`,
      columns: { id: 'id' },
      of: { ad_account_id: accountIn(slice) },
      where: `not exists (select from ads.insight_states i
        where i.source_id = ${table}.source_id and i.entity_type = '${type}' and i.entity_id = ${table}.id and i.dimension = '${dimension}'
          and i.asked_on >= least('${today}'::date, ((${end}) at time zone 'UTC')::date + ${lateness}))`,
    });
    return found.flatMap(({ id }) => (id === undefined ? [] : [{ type, id, dimension }]));
  };
  const all: Question[] = [];
  for (const kind of kinds)
    for (const dimension of insightDimensions) all.push(...(await due(kind, dimension)));
  return all;
}

const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

const answersOfToday = async (slice: Slice, given: SliceContext): Promise<boolean> => {
  const answers = await given.keys({
    table: 'ads.insight_states',
    columns: { dimension: 'dimension' },
    of: { ad_account_id: accountIn(slice), asked_on: dayOf(given.clock) },
  });
  return answers.length > 0;
};

/** The dimensions that some entity of the account was ever answered, by level. */
async function answeredBefore(slice: Slice, given: SliceContext): Promise<readonly Asked[]> {
  const answers = await given.keys({
    table: 'ads.insight_states',
    columns: { type: 'entity_type', dimension: 'dimension' },
    of: { ad_account_id: accountIn(slice) },
  });
  return answers.map(({ type = '', dimension = '' }) => ({ type, dimension }));
}

function reading(
  { http, concurrency, note }: Reports,
  slice: Slice,
  given: SliceContext,
  {
    due: all,
    before,
    passes,
  }: { readonly due: readonly Question[]; readonly before: readonly Asked[]; readonly passes: number },
  signal: AbortSignal,
): Reading {
  const rowsOf = listNamed(endpoint, 'rows');
  // By level: what is not told of campaigns may be told of ad sets.
  const dimensions = dimensionsAsked<Question>(before);
  const gone: Missing[] = [];
  let strange = 0;
  const ask = async (question: Question, until: AbortSignal): Promise<Answered | Failed | undefined> => {
    if (!dimensions.isAsked(question)) return undefined;
    try {
      const answer = await http.send(requestOf(slice, question), until);
      checkDimension(question, answer.body);
      const rows = rowsOf(answer.body);
      const own = rows.filter(isOf(question, rows));
      strange += rows.length - own.length;
      return { question, answer, rows: own };
    } catch (cause) {
      // It was there when the list was read; its snapshots stay.
      if (cause instanceof Missing) {
        gone.push(cause);
        return undefined;
      }
      if (!isOfOne(cause)) throw cause;
      const code = codeOf(cause);
      return code !== undefined ? { question, code } : { question, failure: cause };
    }
  };
  async function* pages(): AsyncGenerator<Page, WalkEnd, void> {
    let fetched = 0;
    const failed = failures(endpoint, all.length);
    for await (const answered of several(all, concurrency, ask, signal)) {
      if (answered?.failure !== undefined) {
        const { question, failure } = answered;
        if (!dimensions.refused(question, failure)) failed.keep(wordsOf(question), failure);
        if (dimensions.isHopeless()) break;
        continue;
      }
      failed.answered();
      if (answered === undefined) continue;
      dimensions.answered(answered.question);
      fetched += 1;
      yield pageOf(answered, dayOf(given.clock), all.length);
    }
    for (const { question, failure } of dimensions.unexplained()) failed.keep(wordsOf(question), failure);
    const failure = failed.asOne();
    if (failure !== undefined) throw failure;
    const [missing] = gone;
    // Where nothing answers it is not the entities that are not there.
    if (missing !== undefined && fetched === 0) throw missing;
    if (missing !== undefined)
      note(
        `${endpoint}: ${gone.length} of ${all.length} cannot be read and stay as they are (${missing.message})`,
      );
    if (strange > 0)
      note(`${endpoint}: ${strange} rows were of other entities than those asked for; they were left out`);
    const lacked = dimensions.lacked();
    if (lacked.length > 0) note(`${endpoint}: the server does not know the dimensions ${lacked.join(', ')}`);
    return { expected: null, fetched, passes, moved: 0, matched: true };
  }
  const id = (record: Json): string =>
    ['entity_type', 'entity_id', 'dimension'].map((name) => textAt(record, name) ?? '').join('/');
  return { pages: pages(), id, bytes: (_, page) => page.raw };
}

/** Throws `UnexpectedContent` where the answer says that it is of another dimension (vendor's OpenAPI, `insight`): its values are no values of this one. */
const checkDimension = ({ id, dimension }: Question, body: Json): void => {
  const told = textAt(body, 'insight')?.toUpperCase();
  if (told !== undefined && told !== dimension && insightDimensions.includes(told))
    throw new UnexpectedContent(`${endpoint}: asked for ${dimension} of ${id}, the answer is of ${told}`);
};

/**
 * Which rows of an answer are about the entity that was asked for. By the vendor's specification a row names an ad set, also where a campaign was
 * asked for: where several are named, each is a part of it, and no sum of reaches is the campaign's.
 */
const isOf = ({ type, id }: Question, rows: readonly Json[]): ((row: Json) => boolean) => {
  const named = (row: Json): string => canonicalId(textAt(row, 'id') ?? id);
  if (type === 'CAMPAIGN' && new Set(rows.map(named)).size < 2) return () => true;
  return (row) => named(row) === canonicalId(id);
};

const wordsOf = (question: Question): string => Object.values(question).join('/');

interface Failed {
  readonly question: Question;
  readonly failure: Failure;
}

type Answered = { readonly question: Question; readonly failure?: undefined } & (
  | { readonly answer: Answer; readonly rows: readonly Json[]; readonly code?: undefined }
  | { readonly code: string; readonly answer?: undefined }
);

/** `ILLEGAL.INSIGHT_REPORT.INSUFFICIENT_IMPRESSIONS`, `…_REACH` or `…_LISTENERS`: not enough data yet, no mistake of ours. */
const codeOf = (refusal: Failure): string | undefined =>
  refusal instanceof Refused && refusal.status === 422
    ? refusal.messages.map((message) => /[A-Z_.]*INSUFFICIENT_[A-Z_]+/.exec(message)?.[0]).find(Boolean)
    : undefined;

const requestOf = (slice: Slice, { type, id, dimension }: Question): Request => ({
  method: 'GET',
  path: ofAccount(accountIn(slice), '/insight_reports'),
  endpoint,
  query: { insight_dimension: dimension, fields: insightFields, entity_ids: [id], entity_ids_type: type },
});

const pageOf = (answered: Answered, today: string, total: number): Page => {
  const { type, id, dimension } = answered.question;
  const asked = { entity_type: type, entity_id: id, dimension, asked_on: today };
  const record =
    answered.answer === undefined
      ? { ...asked, state: 'not_enough_data', code: answered.code, rows: [] }
      : { ...asked, state: 'ok', rows: answered.rows };
  return {
    records: [record],
    raw: answered.answer?.raw ?? Buffer.from(JSON.stringify(record)),
    total,
    date: answered.answer?.date,
    receivedAt: answered.answer?.receivedAt ?? performance.now(),
    offset: undefined,
    last: false,
  };
};
