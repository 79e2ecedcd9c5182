/** Insight reports: who saw an ad set or a campaign, by one dimension, over its life (vendor-facts 2.4). */

import type { Answer, Call, Route } from '../shared/http.ts';
import { fieldsIn } from './aggregate.ts';
import { metrics } from './fields.ts';
import { lifetimeOf } from './metrics.ts';
import type { Site } from './site.ts';
import type { AdsState } from './state.ts';
import { count, type Sums } from './sums.ts';

/** The values of each dimension (`InsightDimensionType`). */
export const insightValues: Readonly<Record<string, readonly string[]>> = {
  ACT_AND_SET: ['Prospecting', 'Retargeting'],
  AGE: ['18-24', '25-34', '35-44'],
  AUDIENCE: ['Customers'],
  CITY: ['Berlin', 'Hamburg', 'San José'],
  COUNTRY: ['US'],
  FORMAT: ['AUDIO', 'VIDEO'],
  GENDER: ['FEMALE', 'MALE', 'NON_BINARY'],
  GENRE: ['Pop', 'Hip-Hop, Rap', 'Indie'],
  INTERESTS: ['Running', 'Cooking'],
  METRO: ['New York', 'Los Angeles'],
  PLACEMENT: ['MUSIC', 'PODCAST'],
  PLATFORM: ['ANDROID', 'DESKTOP', 'IOS'],
  PODCAST_EPISODE_TOPIC: ['Comedy', 'News'],
  REGION: ['California', 'Texas'],
  TONE: ['Calm', 'Lively'],
};

const notThere: ReadonlySet<string> = new Set([
  'E_CPCL',
  'FREQUENCY',
  'OFF_SPOTIFY_IMPRESSIONS',
  'PAID_LISTENS_FREQUENCY',
  'SKIPS',
  'SPEND',
  'STARTS',
  'UNMUTES',
]);

/** Fewer than these are too few to tell about. */
const enough = 1000;

export const insightRoute = (site: Site): Route => ({
  method: 'GET',
  path: '/ad_accounts/{id}/insight_reports',
  inContract: true,
  handle: (call) => answer(site, call),
});

function answer(site: Site, call: Call): Answer {
  const { state } = site;
  const owner = site.owner(call);
  const { query } = call;
  const dimension = query.get('insight_dimension') ?? '';
  if (!Object.hasOwn(insightValues, dimension))
    throw site.refused(
      400,
      `insight_dimension ${dimension} is not one of the values accepted`,
      'ILLEGAL.DIMENSION',
    );
  const fields = fieldsIn(site, query);
  const wrong = fields.filter((field) => notThere.has(field));
  if (wrong.length > 0)
    throw site.refused(400, `fields: ${wrong.join(', ')} is not valid for insights`, 'ILLEGAL.FIELDS');
  if (query.has('report_start') || query.has('report_end'))
    throw site.refused(400, 'insights are told over the lifetime: no dates', 'ILLEGAL.REPORT_DATES');
  const [id, ...more] = query.getAll('entity_ids');
  if (id === undefined || more.length > 0)
    throw site.refused(400, 'exactly one of entity_ids', 'ILLEGAL.ENTITY_IDS');
  const level = query.get('entity_ids_type');
  if (level !== 'AD_SET' && level !== 'CAMPAIGN')
    throw site.refused(400, 'entity_ids_type must be AD_SET or CAMPAIGN', 'ILLEGAL.ENTITY_IDS_TYPE');
  const entity = (level === 'AD_SET' ? state.adSets : state.campaigns).get(id.toLowerCase());
  if (entity?.accountId !== owner.id)
    throw site.refused(400, `${id} is not of this account`, 'ILLEGAL.ENTITY_IDS');
  const reported = insightOf(state, level, entity.id, dimension);
  if (reported === undefined)
    throw site.refused(
      422,
      'There are not enough impressions for this report.',
      'ILLEGAL.INSIGHT_REPORT.INSUFFICIENT_IMPRESSIONS',
    );
  const rows = [...reported.parts].map(([value, part]) => {
    const stats = fields.map(
      (field) => `{"field_type":"${field}","field_value":${metrics.get(field)?.(part)}}`,
    );
    return `{"id":"${entity.id}","name":${JSON.stringify(entity.name)},"status":${JSON.stringify(entity.status)},"insight_value":${JSON.stringify(value)},"stats":[${stats.join(',')}]}`;
  });
  const body = `{"granularity":"LIFETIME","entity":"${level}","insight":"${dimension}","rows":[${rows.join(',')}],"summary_totals":[${fields
    .map((field) => `{"stat":"${field}","value":${metrics.get(field)?.(reported.sums)}}`)
    .join(',')}]}`;
  return { status: 200, headers: { 'content-type': 'application/json' }, body: [Buffer.from(body)] };
}

/** What is reported in all and of each value of a dimension; undefined where there is too little to tell. */
export function insightOf(
  state: AdsState,
  level: 'AD_SET' | 'CAMPAIGN',
  id: string,
  dimension: string,
): { readonly sums: Sums; readonly parts: ReadonlyMap<string, Sums> } | undefined {
  const sums = lifetimeOf(state, level, id);
  const values = insightValues[dimension] ?? [];
  if (sums === undefined || count(sums, 'IMPRESSIONS') < enough) return undefined;
  return { sums, parts: new Map(values.map((value, index) => [value, share(sums, index, values.length)])) };
}

/** The `index`-th of several parts, each half of what is left; the last takes the rest, so that they add up. */
function share(sums: Sums, index: number, parts: number): Sums {
  const cut = (total: number): number => {
    const before = total - Math.floor(total / 2 ** index);
    const upTo = index === parts - 1 ? total : total - Math.floor(total / 2 ** (index + 1));
    return upTo - before;
  };
  const money = (total: bigint): bigint => {
    const left = (times: number): bigint => total / 2n ** BigInt(times);
    return left(index) - (index === parts - 1 ? 0n : left(index + 1));
  };
  return {
    counts: sums.counts.map(cut),
    heads: sums.heads.map(cut),
    spend: money(sums.spend),
    revenue: money(sums.revenue),
  };
}
