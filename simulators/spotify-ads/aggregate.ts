/**
 * Aggregate reports (vendor-facts 2.3). A continuation token holds the question and the position reached, so a page costs what its own rows cost:
 * nothing is kept between two pages.
 */

import type { Answer, Call, Route } from '../shared/http.ts';
import { metrics } from './fields.ts';
import { time } from './json.ts';
import { isUuid } from './lists.ts';
import { hourOf, lifetimeOf, sumsOf } from './metrics.ts';
import { type Level, levels } from './model.ts';
import type { Site } from './site.ts';
import type { AdsState } from './state.ts';
import { type Sums, together } from './sums.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** A question that was understood. Instants are epoch ms; `to` is exclusive. */
interface Asked {
  readonly level: Level;
  readonly ids: readonly string[];
  readonly granularity: 'DAY' | 'HOUR' | 'LIFETIME';
  readonly from: number;
  readonly to: number;
  readonly fields: readonly string[];
  readonly parents: boolean;
  readonly limit: number;
}

/** One row before it is written. */
interface Row {
  readonly id: string;
  readonly start: number | undefined;
  readonly end: number;
  readonly sums: Sums;
}

export const aggregateRoute = (site: Site): Route => ({
  method: 'GET',
  path: '/ad_accounts/{id}/aggregate_reports',
  inContract: true,
  handle: (call) => answer(site, call),
});

/** Totals of up to fifty campaigns, ad sets or ads together, people counted once (OpenAPI, getAggregatedTotals); the contract has none. */
export const totalsRoute = (site: Site): Route => ({
  method: 'GET',
  path: '/ad_accounts/{id}/aggregate_reports/totals',
  inContract: false,
  handle: (call) => {
    const owner = site.owner(call);
    const refuse = (message: string, code: string) => site.refused(400, message, `ILLEGAL.${code}`);
    const level = levels.find((one) => one === call.query.get('entity_type'));
    if (level === undefined || level === 'AD_ACCOUNT')
      throw refuse('entity_type is CAMPAIGN, AD_SET or AD', 'ENTITY_TYPE');
    const given = call.query.getAll('entity_ids').map((id) => id.toLowerCase());
    if (given.length === 0 || given.length > 50) throw refuse('entity_ids: 1 to 50', 'ENTITY_IDS');
    if (call.query.get('granularity') !== 'LIFETIME') throw refuse('simulated for LIFETIME', 'GRANULARITY');
    const supported = ['IMPRESSIONS', 'CLICKS', 'CTR', 'REACH', 'FREQUENCY'];
    const fields = fieldsIn(site, call.query);
    const strange = fields.find((field) => !supported.includes(field));
    if (strange !== undefined) throw refuse(`fields: ${strange} is not supported`, 'FIELDS');
    const { from, to } = spanOf(site, call.query, 'LIFETIME');
    const ids = idsOf(site.state, level, owner.id).filter((id) => given.includes(id));
    const sums = together(
      ids.flatMap(
        (id) =>
          (to === 0 ? lifetimeOf(site.state, level, id) : sumsOf(site.state, level, id, from, to)) ?? [],
      ),
    );
    const stats = fields.map((field_type) => {
      const text = sums === undefined ? '0' : (metrics.get(field_type)?.(sums) ?? '0');
      return { field_type, field_value: Number(text) };
    });
    return site.json({ granularity: 'LIFETIME', rows: [{ start_time: null, end_time: null, stats }] });
  },
});

function answer(site: Site, call: Call): Answer {
  const token = call.query.get('continuation_token');
  const position = token === null || token === '' ? undefined : decoded(site, token);
  const query = position === undefined ? call.query : new URLSearchParams(position.query);
  const asked = understood(site, call, query);
  const { rows, next } = rowsFrom(site.state, asked, position?.at ?? 0);
  const write = rowWriter(site.state, asked);
  const more = next === undefined ? undefined : encoded({ query: query.toString(), at: next });
  const last = { empty: '"continuation_token":"",', null: '"continuation_token":null,', absent: '' }[
    site.lastToken
  ];
  const ignored =
    position !== undefined && [...call.query.keys()].some((name) => name !== 'continuation_token');
  const body = [
    '{',
    more === undefined ? last : `"continuation_token":"${more}",`,
    asked.granularity === 'LIFETIME'
      ? ''
      : `"report_start":"${time(asked.from)}","report_end":"${query.get('report_end') ?? ''}",`,
    `"granularity":"${asked.granularity}",`,
    `"warnings":${ignored ? '["continuation_token was given: all other parameters were ignored."]' : 'null'},`,
    `"rows":[${rows.map(write).join(',')}]}`,
  ].join('');
  return { status: 200, headers: { 'content-type': 'application/json' }, body: [Buffer.from(body)] };
}

interface Place {
  readonly query: string;
  readonly at: number;
}

const encoded = (position: Place): string => Buffer.from(JSON.stringify(position)).toString('base64url');

const decoded = (site: Site, token: string): Place => {
  try {
    const position: Place = JSON.parse(Buffer.from(token, 'base64url').toString());
    if (Number.isInteger(position.at)) return position;
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
  }
  throw site.refused(400, 'continuation_token is not valid', 'ILLEGAL.CONTINUATION_TOKEN');
};

function understood(site: Site, call: Call, query: URLSearchParams): Asked {
  const owner = site.owner(call);
  const refuse = (message: string, code: string) => site.refused(400, message, `ILLEGAL.${code}`);
  const limit = site.limit(query);
  const level = levels.find((one) => one === query.get('entity_type'));
  if (level === undefined)
    throw refuse(`entity_type is required, one of ${levels.join(', ')}`, 'ENTITY_TYPE');
  const fields = fieldsIn(site, query);
  const granularity = (['DAY', 'HOUR', 'LIFETIME'] as const).find(
    (one) => one === (query.get('granularity') ?? 'LIFETIME'),
  );
  if (granularity === undefined) throw refuse(`granularity ${query.get('granularity')}`, 'GRANULARITY');
  const given = query.getAll('entity_ids');
  const statuses = query.getAll('statuses');
  if (level === 'AD_ACCOUNT' && (given.length > 0 || statuses.length > 0))
    throw refuse('entity_ids and statuses are not for AD_ACCOUNT', 'ENTITY_IDS');
  if (given.length > 50) throw refuse(`at most 50 entity_ids, not ${given.length}`, 'ENTITY_IDS');
  const strange = given.find((id) => !isUuid(id));
  if (strange !== undefined) throw refuse(`entity_ids: ${strange} is not a UUID`, 'ENTITY_IDS');
  const idsLevel = levels.find((one) => one === query.get('entity_ids_type'));
  // Over a lifetime the ads of these campaigns may be asked for; by day and hour, these ads only.
  const fitting = idsLevel === level || (granularity === 'LIFETIME' && idsLevel !== undefined);
  if (given.length > 0 && !fitting) throw refuse('entity_ids_type must match entity_type', 'ENTITY_IDS_TYPE');
  if (statuses.length > 0 && query.get('entity_status_type') !== level)
    throw refuse('entity_status_type must match entity_type', 'ENTITY_STATUS_TYPE');
  if (given.length === 0 && granularity !== 'LIFETIME' && level !== 'AD_ACCOUNT' && !site.wholeAccounts)
    throw refuse('entity_ids is required', 'ENTITY_IDS');
  const own = level === 'AD_ACCOUNT' ? [owner.id] : idsOf(site.state, level, owner.id);
  const wanted = new Set(given.map((id) => id.toLowerCase()));
  const ids = own.filter(
    (id) =>
      (wanted.size === 0 || wanted.has(ancestor(site.state, level, id, idsLevel ?? level))) &&
      (statuses.length === 0 || statuses.includes(entityOf(site.state, level, id)?.status ?? '')),
  );
  const parents = query.get('include_parent_entity') === 'true';
  return { level, ids, granularity, fields, parents, limit, ...spanOf(site, query, granularity) };
}

/** The metrics asked for; one that is asked for twice is reported twice. */
export function fieldsIn(site: Site, query: URLSearchParams): readonly string[] {
  const fields = query.getAll('fields');
  if (fields.length === 0) throw site.refused(400, 'fields is required', 'ILLEGAL.FIELDS');
  const unknown = fields.filter((field) => !metrics.has(field) || site.unknownFields.has(field));
  if (unknown.length > 0)
    throw site.refused(
      400,
      `fields: ${unknown.join(', ')} is not one of the values accepted`,
      'ILLEGAL.FIELDS',
    );
  return fields;
}

const idsOf = (state: AdsState, level: Level, accountId: string): readonly string[] => {
  const all = level === 'CAMPAIGN' ? state.campaigns : level === 'AD_SET' ? state.adSets : state.ads;
  return [...all.values()].flatMap((one) => (one.accountId === accountId ? [one.id] : []));
};

/** The time asked for. Whole hours; days from midnight to midnight, 90 of them at most; hours of the last two weeks; the end is inclusive. */
function spanOf(
  site: Site,
  query: URLSearchParams,
  granularity: Asked['granularity'],
): { from: number; to: number } {
  const refuse = (message: string) => site.refused(400, message, 'ILLEGAL.REPORT_DATES');
  const first = query.get('report_start');
  const last = query.get('report_end');
  if (granularity === 'LIFETIME' && first === null && last === null) return { from: 0, to: 0 };
  const from = instantOf(first);
  const end = instantOf(last);
  if (from === undefined || end === undefined)
    throw refuse('report_start and report_end must be whole hours in UTC, as 2026-01-31T00:00:00Z');
  if (end < from) throw refuse('report_end lies before report_start');
  const now = site.clock.now().getTime();
  if (granularity === 'HOUR') {
    if (from < Math.floor(now / hour) * hour - 14 * day)
      throw refuse('HOUR reports tell the last two weeks only');
    return { from, to: end + hour };
  }
  if (granularity === 'DAY' && (from % day !== 0 || end % day !== 0))
    throw refuse('DAY reports begin and end at midnight');
  if (end - from > 90 * day) throw refuse(`${granularity} reports span at most 90 days`);
  return { from: Math.floor(from / day) * day, to: Math.floor(end / day) * day + day };
}

const instantOf = (text: string | null): number | undefined => {
  if (text === null || !/^\d{4}-\d\d-\d\dT\d\d:00:00Z$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
};

/** A page of rows from the `at`-th position on: every entity has a position for each day or hour, whether it has a row there or not. */
function rowsFrom(
  state: AdsState,
  asked: Asked,
  at: number,
): { rows: readonly Row[]; next: number | undefined } {
  const { ids, level, granularity, from, to } = asked;
  const length = granularity === 'LIFETIME' ? Number.POSITIVE_INFINITY : granularity === 'DAY' ? day : hour;
  const each = granularity === 'LIFETIME' ? 1 : Math.max(0, (to - from) / length);
  const rowAt = (position: number): Row | undefined => {
    const id = ids[Math.floor(position / each)] ?? '';
    if (granularity === 'LIFETIME') {
      const sums = to === 0 ? lifetimeOf(state, level, id) : sumsOf(state, level, id, from, to);
      return sums === undefined ? undefined : { id, start: undefined, end: 0, sums };
    }
    const start = from + (position % each) * length;
    const sums =
      granularity === 'DAY' ? sumsOf(state, level, id, start, start + day) : hourOf(state, level, id, start);
    return sums === undefined ? undefined : { id, start, end: start + length, sums };
  };
  const rows: Row[] = [];
  for (let position = at; position < ids.length * each; position += 1) {
    const row = rowAt(position);
    if (row === undefined) continue;
    // One row more than the page holds shows that there is another page.
    if (rows.length === asked.limit) return { rows, next: position };
    rows.push(row);
  }
  return { rows, next: undefined };
}

const entityOf = (state: AdsState, level: Level, id: string) =>
  level === 'CAMPAIGN'
    ? state.campaigns.get(id)
    : level === 'AD_SET'
      ? state.adSets.get(id)
      : level === 'AD'
        ? state.ads.get(id)
        : state.accounts.get(id);

const parentOf = (state: AdsState, level: Level, id: string) => {
  if (level === 'CAMPAIGN') return state.accounts.get(state.campaigns.get(id)?.accountId ?? '');
  if (level === 'AD_SET') return state.campaigns.get(state.adSets.get(id)?.campaignId ?? '');
  return level === 'AD' ? state.adSets.get(state.ads.get(id)?.adSetId ?? '') : undefined;
};

/** The id of what an entity stands under at a higher level; its own at its own. */
const ancestor = (state: AdsState, level: Level, id: string, above: Level): string => {
  if (level === above) return id;
  const parent = parentOf(state, level, id);
  const next = levels[levels.indexOf(level) - 1];
  return parent === undefined || next === undefined ? '' : ancestor(state, next, parent.id, above);
};

/** What stands in a row before and behind its times is the same for all rows of an entity. */
function rowWriter(state: AdsState, asked: Asked): (row: Row) => string {
  const { level, granularity } = asked;
  const tell = asked.fields.map((field, index) => ({
    field,
    before: `${index === 0 ? '' : ','}{"field_type":"${field}","field_value":`,
    of: metrics.get(field) ?? (() => 'null'),
  }));
  const heads = new Map<string, string>();
  const headOf = (id: string): string => {
    const known = heads.get(id);
    if (known !== undefined) return known;
    const entity = entityOf(state, level, id);
    const parent = asked.parents ? parentOf(state, level, id) : undefined;
    const status = level === 'AD_ACCOUNT' ? null : (entity?.status ?? null);
    const above = parent === undefined ? null : { id: parent.id, name: parent.name, status: parent.status };
    const head = `{"entity_type":"${level}","entity_id":"${id}","entity_name":${JSON.stringify(entity?.name ?? '')},"entity_status":${JSON.stringify(status)},"parent_entity":${JSON.stringify(above)},`;
    heads.set(id, head);
    return head;
  };
  return ({ id, start, end, sums }) => {
    const reported = reportedOf(state, level, id, granularity, start);
    let stats = '';
    for (const { field, before, of } of tell) stats += `${before}${reported?.get(field) ?? of(sums)}}`;
    const times =
      start === undefined
        ? '"start_time":null,"end_time":null'
        : `"start_time":"${time(start)}","end_time":"${time(end)}"`;
    return `${headOf(id)}${times},"stats":[${stats}]}`;
  };
}

/** What this row was told to say otherwise. */
const reportedOf = (
  state: AdsState,
  level: Level,
  id: string,
  granularity: Asked['granularity'],
  start: number | undefined,
): ReadonlyMap<string, string> | undefined =>
  state.reported.size === 0 || start === undefined
    ? undefined
    : state.reported.get(
        `${level} ${id} ${new Date(start).toISOString().slice(0, granularity === 'DAY' ? 10 : 13)}`,
      );
