/** Aggregate and insight reports. */

import type { Answer, Call, Route } from '../shared/http.ts';
import { fieldsOf, hourOf, type Sums, sumsOf } from './metrics.ts';
import type { Level } from './model.ts';
import type { Site } from './site.ts';

const day = 86_400_000;
const hour = 3_600_000;

/** One row before it is written: everything but the numbers is plain. */
interface Row {
  readonly level: Level;
  readonly id: string;
  readonly start: number | undefined;
  readonly length: number;
  readonly sums: Sums;
}

const levels: readonly Level[] = ['AD_ACCOUNT', 'CAMPAIGN', 'AD_SET', 'AD'];

export const reportRoutes = (site: Site): readonly Route[] => [
  {
    method: 'GET',
    path: '/ad_accounts/{id}/aggregate_reports',
    promised: true,
    handle: (call) => aggregate(site, call),
  },
  { method: 'GET', path: '/ad_accounts/{id}/insight_reports', promised: true, handle: (call) => insight(site, call) },
];

function aggregate(site: Site, call: Call): Answer {
  const token = call.query.get('continuation_token');
  const asked = token === null ? call.query : new URLSearchParams(decoded(site, token).query);
  const at = token === null ? 0 : decoded(site, token).at;
  const owner = site.owner(call);
  const limit = site.limit({ ...call, query: asked });
  const level = levels.find((one) => one === asked.get('entity_type'));
  if (level === undefined) throw site.refused(400, 'entity_type is required', 'ILLEGAL.ENTITY_TYPE');
  const fields = asked.getAll('fields');
  if (fields.length === 0) throw site.refused(400, 'fields is required', 'ILLEGAL.FIELDS');
  const strange = fields.find((field) => !/^[A-Z][A-Z0-9_]+$/.test(field));
  if (strange !== undefined) throw site.refused(400, `fields: ${strange} is not a field`, 'ILLEGAL.FIELDS');
  const ids = asked.getAll('entity_ids');
  if (ids.length > 50) throw site.refused(400, 'at most 50 entity_ids', 'ILLEGAL.ENTITY_IDS');
  if (ids.length > 0 && asked.get('entity_ids_type') !== level)
    throw site.refused(400, 'entity_ids_type must match entity_type', 'ILLEGAL.ENTITY_IDS_TYPE');
  const rows = rowsFor(site, asked, level, level === 'AD_ACCOUNT' ? [owner.id] : ids);
  const page = rows.slice(at, at + limit);
  const next =
    at + limit < rows.length
      ? Buffer.from(JSON.stringify({ query: asked.toString(), at: at + limit })).toString('base64url')
      : '';
  const wanted = new Set(fields);
  const body = `{"continuation_token":${JSON.stringify(next)},"granularity":${JSON.stringify(asked.get('granularity') ?? 'LIFETIME')},"warnings":${
    token !== null && [...call.query.keys()].length > 1 ? '["other parameters are ignored"]' : 'null'
  },"rows":[${page.map((row) => text(site, row, wanted)).join(',')}]}`;
  return { status: 200, headers: { 'content-type': 'application/json' }, body: [Buffer.from(body)] };
}

const decoded = (site: Site, token: string): { readonly query: string; readonly at: number } => {
  try {
    const value: { readonly query: string; readonly at: number } = JSON.parse(
      Buffer.from(token, 'base64url').toString(),
    );
    return value;
  } catch {
    throw site.refused(400, 'continuation_token is not valid', 'ILLEGAL.CONTINUATION_TOKEN');
  }
};

function rowsFor(site: Site, asked: URLSearchParams, level: Level, ids: readonly string[]): readonly Row[] {
  const { state } = site;
  const now = state.clock.now().getTime();
  const granularity = asked.get('granularity') ?? 'LIFETIME';
  if (granularity === 'LIFETIME') {
    const first = Math.floor(Math.min(...[...state.campaigns.values()].map((one) => one.createdAt)) / day) * day;
    return ids.flatMap((id) => {
      const sums = sumsOf(state, level, id, first, now);
      return sums === undefined ? [] : [{ level, id, start: undefined, length: 0, sums }];
    });
  }
  const start = Date.parse(asked.get('report_start') ?? '');
  const end = Date.parse(asked.get('report_end') ?? '');
  if (Number.isNaN(start) || Number.isNaN(end) || end < start)
    throw site.refused(400, 'report_start and report_end', 'ILLEGAL.DATES');
  if (granularity === 'DAY') {
    if (start % day !== 0 || end % day !== 0)
      throw site.refused(400, 'DAY reports begin and end at midnight', 'ILLEGAL.DATES');
    if (end - start > 90 * day) throw site.refused(400, 'DAY reports span at most 90 days', 'ILLEGAL.DATES');
    return ids.flatMap((id) => byDay(site, level, id, start, end + day));
  }
  if (granularity !== 'HOUR') throw site.refused(400, `granularity ${granularity}`, 'ILLEGAL.GRANULARITY');
  if (start < now - 14 * day) throw site.refused(400, 'HOUR reports tell the last two weeks', 'ILLEGAL.DATES');
  return ids.flatMap((id) => byHour(site, level, id, start, Math.min(end + hour, now)));
}

const byDay = ({ state }: Site, level: Level, id: string, from: number, to: number): readonly Row[] => {
  const rows: Row[] = [];
  for (let at = from; at < to; at += day) {
    const sums = sumsOf(state, level, id, at, at + day);
    if (sums !== undefined) rows.push({ level, id, start: at, length: day, sums });
  }
  return rows;
};

const byHour = ({ state }: Site, level: Level, id: string, from: number, to: number): readonly Row[] => {
  const rows: Row[] = [];
  for (let at = from; at < to; at += hour) {
    const midnight = Math.floor(at / day) * day;
    const sums = sumsOf(state, level, id, midnight, midnight + day);
    if (sums !== undefined)
      rows.push({ level, id, start: at, length: hour, sums: hourOf(sums, (at - midnight) / hour) });
  }
  return rows;
};

const time = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

/** What an entity is called and stands under. */
const facts = (
  { state }: Site,
  level: Level,
  id: string,
): { name: string; status: string | null; parent: string | undefined } => {
  if (level === 'AD_ACCOUNT') return { name: state.accounts.get(id)?.name ?? '', status: null, parent: undefined };
  const found =
    level === 'CAMPAIGN' ? state.campaigns.get(id) : level === 'AD_SET' ? state.adSets.get(id) : state.ads.get(id);
  const parent =
    level === 'CAMPAIGN'
      ? found?.accountId
      : level === 'AD_SET'
        ? state.adSets.get(id)?.campaignId
        : state.ads.get(id)?.adSetId;
  return { name: found?.name ?? '', status: found?.status ?? null, parent };
};

function text(site: Site, { level, id, start, length, sums }: Row, wanted: ReadonlySet<string>): string {
  const { name, status, parent } = facts(site, level, id);
  const told =
    start === undefined || length !== day
      ? undefined
      : site.state.told.get(`${level} ${id} ${time(start).slice(0, 10)}`);
  const fields = { ...fieldsOf(sums), ...(told === undefined ? {} : Object.fromEntries(told)) };
  const stats = Object.entries(fields)
    .filter(([field]) => wanted.has(field))
    .map(([field, value]) => `{"field_type":"${field}","field_value":${value}}`);
  const times =
    start === undefined
      ? '"start_time":null,"end_time":null'
      : `"start_time":"${time(start)}","end_time":"${time(start + length)}"`;
  const above = parent === undefined ? 'null' : JSON.stringify({ id: parent, name: 'parent', status: 'ACTIVE' });
  return `{"entity_type":"${level}","entity_id":"${id}","entity_name":${JSON.stringify(name)},"entity_status":${JSON.stringify(status)},"parent_entity":${above},${times},"stats":[${stats.join(',')}]}`;
}

const values: Readonly<Record<string, readonly string[]>> = {
  AGE: ['18-24', '25-34', '35-44'],
  GENDER: ['FEMALE', 'MALE', 'NON_BINARY'],
  PLATFORM: ['ANDROID', 'IOS'],
  COUNTRY: ['US'],
};

function insight(site: Site, call: Call): Answer {
  site.owner(call);
  const dimension = call.query.get('insight_dimension') ?? '';
  const [id, ...more] = call.query.getAll('entity_ids');
  if (id === undefined || more.length > 0) throw site.refused(400, 'exactly one of entity_ids', 'ILLEGAL.ENTITY_IDS');
  const level = call.query.get('entity_ids_type');
  if (level !== 'AD_SET' && level !== 'CAMPAIGN') throw site.refused(400, 'entity_ids_type', 'ILLEGAL.ENTITY_IDS_TYPE');
  const now = site.state.clock.now().getTime();
  const parts = values[dimension];
  const sums = parts === undefined ? undefined : sumsOf(site.state, level, id, now - 40 * day - (now % day), now);
  if (parts === undefined || sums === undefined)
    throw site.refused(422, 'not enough impressions', 'ILLEGAL.INSIGHT_REPORT.INSUFFICIENT_IMPRESSIONS');
  const rows = parts.map((value, index) => ({
    id: null,
    name: value,
    status: null,
    insight_value: value,
    stats: [
      { field_type: 'IMPRESSIONS', field_value: Math.floor(sums.impressions / (index + 2)) },
      { field_type: 'CLICKS', field_value: Math.floor(sums.clicks / (index + 2)) },
    ],
  }));
  return site.json({ granularity: 'LIFETIME', entity: level, insight: dimension, rows, summary_totals: [] });
}
