import { afterAll, expect, test } from 'vitest';
import { metrics } from '../../../../simulators/spotify-ads/fields.ts';
import { startAds } from '../../../../simulators/spotify-ads/server.ts';
import { documentOf, subsetAt } from '../vendor-document.ts';
import { adsAsk } from './ask.ts';

const subset = subsetAt(new URL('openapi.subset.json', import.meta.url));

// The document says otherwise; recorded answers have null here (vendor-facts 2.2 and 2.3).
const nullable: Readonly<Record<string, readonly string[]>> = {
  AggregateReportRow: ['parent_entity', 'entity_status', 'start_time', 'end_time'],
  AggregateReportResponse: ['warnings', 'continuation_token'],
  AdSetDraft: ['draft_hierarchy_version'],
  AdDraft: ['draft_hierarchy_version'],
  PublishCampaignResult: ['validation_errors'],
};
for (const [schema, names] of Object.entries(nullable)) {
  const properties = subset.components.schemas[schema]?.properties;
  for (const name of names) {
    const known = properties?.[name];
    if (properties === undefined || known === undefined)
      throw new Error(`the document has no ${schema}.${name}`);
    properties[name] = { anyOf: [known, { type: 'null' }] };
  }
}
// Which of the three an asset is, its type says.
const kinds = { AUDIO: 'Audio', IMAGE: 'Image', VIDEO: 'Video' };
const byType = Object.entries(kinds).map(([type, name]) => ({
  if: { properties: { asset_type: { const: type } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON schema.
  then: { $ref: `#/components/schemas/${name}` },
}));
const { AssetResponse: _, ...schemas } = subset.components.schemas;

const asset = { allOf: byType, properties: { asset_type: { enum: Object.keys(kinds) } } };
const components = { schemas: { ...schemas, AssetResponse: asset } };
const { checked, faultsOf } = documentOf({ paths: subset.paths, components });

const ads = await startAds({ dialect: 'vendor', now: new Date('2026-06-30T02:00:00Z'), days: 40 });
const { state } = ads;
const { send, account } = adsAsk(ads);
afterAll(async () => {
  expect(ads.errors).toEqual([]);
  await ads.close();
});

const id = (of: ReadonlyMap<string, unknown>): string => [...of.keys()][0] ?? '';
const made = state.createDraft(id(state.accounts), 'Soon');
state.update(id(state.campaigns), { status: 'PAUSED' });
state.update(id(state.adSets), { budget: 9_007_199_254_740_995n, end: Date.parse('2027-01-01T00:00:00Z') });
const names: Readonly<Record<string, string>> = {
  ad_account_id: id(state.accounts),
  business_id: state.businesses[0]?.id ?? '',
  campaign_id: id(state.campaigns),
  ad_set_id: id(state.adSets),
  ad_id: id(state.ads),
  asset_id: id(state.assets),
  audience_id: id(state.audiences),
  draft_campaign_id: made.campaign,
  draft_ad_set_id: made.adSet,
  draft_ad_id: made.ad,
};

const queries: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>> = {
  '/ad_accounts/{ad_account_id}/aggregate_reports': {
    entity_type: 'AD_SET',
    granularity: 'DAY',
    include_parent_entity: 'true',
    report_start: '2026-06-01T00:00:00Z',
    report_end: '2026-06-29T00:00:00Z',
    fields: [...metrics.keys()],
  },
  '/ad_accounts/{ad_account_id}/insight_reports': {
    insight_dimension: 'AGE',
    entity_ids: [names.campaign_id ?? ''],
    entity_ids_type: 'CAMPAIGN',
    fields: ['IMPRESSIONS', 'CLICKS', 'REVENUE'],
  },
};
const target = { geo_targets: { country_code: 'US' }, placements: ['MUSIC'] };
const adSetBody = {
  name: 'New set',
  campaign_id: names.campaign_id,
  start_time: '2026-07-01T00:00:00Z',
  budget: { micro_amount: 5_000_001, type: 'DAILY' },
  asset_format: 'AUDIO',
  targets: target,
  bid_strategy: 'MAX_BID',
};
const adBody = {
  name: 'New ad',
  ad_set_id: names.ad_set_id,
  tagline: 'Hear',
  advertiser_name: 'Northwind',
  assets: { asset_id: names.asset_id, companion_asset_id: names.asset_id, logo_asset_id: names.asset_id },
  call_to_action: { key: 'SHOP_NOW', clickthrough_url: 'https://northwind.example/' },
};
const estimate = {
  ad_account_id: names.ad_account_id,
  start_date: '2026-07-01T00:00:00Z',
  asset_format: 'AUDIO',
  objective: 'REACH',
  bid_strategy: 'MAX_BID',
  bid_micro_amount: 5_000_000,
  budget: { micro_amount: 1_000_000, type: 'DAILY', currency: 'USD' },
  targets: target,
  currency: 'USD',
};
const report = {
  name: 'report_1',
  granularity: 'DAY',
  dimensions: ['AD_NAME'],
  metrics: ['SPEND'],
  report_start: '2026-06-01T00:00:00Z',
  report_end: '2026-06-02T00:00:00Z',
};
const price = { ad_product: 'CONTENT', start_date: '2026-07-01T00:00:00Z', targets: target };
const own = '/ad_accounts/{ad_account_id}';
const bodies: Readonly<Record<string, unknown>> = {
  'post /businesses': { name: 'Second business', type: 'AGENCY' },
  [`patch ${own}`]: { name: 'Renamed account' },
  [`post ${own}/campaigns`]: { name: 'New one', objective: 'REACH' },
  [`patch ${own}/campaigns/{campaign_id}`]: { name: 'Renamed', status: 'ACTIVE' },
  [`post ${own}/ad_sets`]: adSetBody,
  [`patch ${own}/ad_sets/{ad_set_id}`]: { budget: { micro_amount: 7_000_001, type: 'DAILY' } },
  [`post ${own}/ads`]: adBody,
  [`patch ${own}/ads/{ad_id}`]: { tagline: 'Listen' },
  [`post ${own}/assets`]: { asset_type: 'IMAGE', name: 'cover' },
  [`patch ${own}/assets/{asset_id}`]: { asset_type: 'AUDIO', name: 'renamed' },
  [`post ${own}/audiences`]: { audience_type: 'CUSTOM', name: 'Buyers', subtype: 'CUSTOMER_LIST' },
  [`post ${own}/drafts/campaigns`]: { name: 'Draft', objective: 'REACH' },
  [`patch ${own}/drafts/campaigns/{draft_campaign_id}`]: { name: 'Draft again' },
  [`post ${own}/drafts/ad_sets`]: { campaign_id: made.campaign, name: 'Draft set' },
  [`patch ${own}/drafts/ad_sets/{draft_ad_set_id}`]: { bid_micro_amount: 2_000_001 },
  [`post ${own}/drafts/ads`]: { ad_set_id: made.adSet, name: 'Draft ad' },
  [`patch ${own}/drafts/ads/{draft_ad_id}`]: { tagline: 'Later' },
  'post /estimates/audience': estimate,
  'post /estimates/bid': estimate,
  [`post ${own}/reserved_prices`]: price,
  [`post ${own}/async_reports`]: report,
};

const operations = Object.entries(subset.paths)
  .flatMap(([template, methods]) => Object.keys(methods).map((method) => ({ method, template })))
  // Publishing and deleting come last: what they take away is asked for by the others.
  .filter(
    ({ method, template }) =>
      method !== 'delete' && !(method === 'post' && template.endsWith('campaign_id}')),
  )
  .filter(({ template }) => !template.endsWith('{report_id}'));

test.each(operations)(
  '$method $template answers as the vendor documents it',
  async ({ method, template }) => {
    const filled = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? '');
    const operation = subset.paths[template]?.[method];
    const sent = bodies[`${method} ${template}`] ?? (method === 'get' ? undefined : {});
    if (operation?.body !== undefined) expect(checked(template, `${method}/body`, sent)).toEqual([]);
    const reply = await send(method.toUpperCase(), filled, { query: queries[template] ?? {}, body: sent });
    const [expected] = Object.keys(operation?.responses ?? {});
    expect([reply.status, reply.text.slice(0, 0)]).toEqual([Number(expected), '']);
    expect(faultsOf(template, method, reply.status, reply.body)).toEqual([]);
    // An empty list proves nothing.
    for (const [key, value] of Object.entries(reply.body))
      if (Array.isArray(value) && key !== 'summary_totals') expect([key, value.length]).not.toEqual([key, 0]);
  },
);

test('a draft that is validated and published, a report that is ready and what is deleted answer so too', async () => {
  const draft = `${account}/drafts/campaigns/${made.campaign}`;
  const template = `${own}/drafts/campaigns/{draft_campaign_id}`;
  const drafts = await send('GET', `${account}/drafts/ad_sets`, { query: { campaign_ids: [made.campaign] } });
  // The other draft ad set lacks everything: VALIDATE says so, in the vendor's words.
  const incomplete = (await send('GET', draft)).body.draft_hierarchy_version;
  const refused = await send('POST', draft, {
    body: { action: 'VALIDATE', draft_hierarchy_version: incomplete },
  });
  expect(refused.status).toBe(400);
  expect(faultsOf(template, 'post', 400, refused.body)).toEqual([]);
  const { validation_errors: errors } = refused.body;
  if (!Array.isArray(errors)) throw new Error('no validation_errors');
  expect(checked(template, 'post/responses/200', { validation_errors: errors })).toEqual([]);
  for (const one of Array.isArray(drafts.body.ad_set_drafts) ? drafts.body.ad_set_drafts : [])
    if (one.id !== made.adSet) await send('DELETE', `${account}/drafts/ad_sets/${one.id}`);
  const lone = (await send('GET', `${account}/drafts/ads`)).body.ad_drafts;
  for (const one of Array.isArray(lone) ? lone : [])
    if (one.id !== made.ad && one.ad_set_id === made.adSet)
      await send('DELETE', `${account}/drafts/ads/${one.id}`);
  for (const action of ['VALIDATE', 'PUBLISH']) {
    const version = (await send('GET', draft)).body.draft_hierarchy_version;
    const reply = await send('POST', draft, { body: { action, draft_hierarchy_version: version } });
    expect([action, reply.status, reply.body.messages]).toEqual([action, 200, undefined]);
    expect(faultsOf(template, 'post', 200, reply.body)).toEqual([]);
  }
  const { body } = await send('POST', `${account}/async_reports`, { body: report });
  for (const status of ['PROCESSING', 'READY']) {
    const reply = await send('GET', `${account}/async_reports/${body.id}`);
    expect(reply.body.status).toBe(status);
    expect(faultsOf(`${own}/async_reports/{report_id}`, 'get', 200, reply.body)).toEqual([]);
  }
  const gone = await send('DELETE', `${account}/audiences/${names.audience_id}`);
  expect(faultsOf(`${own}/audiences/{audience_id}`, 'delete', 200, gone.body)).toEqual([]);
  expect(gone.body).toEqual({ deletion_count: 1 });
});

test('refusals have the vendor’s shape', async () => {
  const template = `${own}/campaigns`;
  const reply = await send('GET', `${account}/campaigns`, { query: { limit: 51 } });
  expect(reply.status).toBe(400);
  expect(faultsOf(template, 'get', 400, reply.body)).toEqual([]);
  expect(reply.headers.get('sp_trace_id')).toBe(reply.body.sp_trace_id);
});

const sortable = Object.entries(subset.paths).flatMap(([template, { get }]) => {
  const named = get?.query?.sort_field?.$ref?.split('/').at(-1) ?? '';
  const fields = subset.components.schemas[named]?.enum ?? [];
  return fields.length === 0 ? [] : [{ template, fields }];
});

test.each(sortable)(
  '$template is ordered by every field that the vendor documents, and by no other',
  async (list) => {
    const filled = list.template.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? '');
    const status = async (sort_field: string) =>
      (await send('GET', filled, { query: { sort_field } })).status;
    for (const field of list.fields) expect([field, await status(field)]).toEqual([field, 200]);
    expect(await status('MOOD')).toBe(400);
  },
);

test('the metrics are those that the vendor documents', () => {
  expect([...metrics.keys()].sort()).toEqual(
    [...(subset.components.schemas.ReportFieldType?.enum ?? [])].sort(),
  );
});

test('a schema fault would be noticed', () => {
  expect(
    faultsOf(`${own}/campaigns`, 'get', 200, { paging: { offset: 'x' }, campaigns: [{ name: 7 }] }),
  ).toHaveLength(2);
});
