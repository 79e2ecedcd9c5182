/** How the platform writes what it has. Amounts are integers of any size, written digit by digit. */

import type { Account, Ad, AdSet, Asset, Audience, Campaign, Change, Draft } from './model.ts';
import type { AdsState } from './state.ts';

/** JSON text of a value in which bigints are numbers, written digit by digit. */
export const written = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? raw(one.toString()) : one));

/** `JSON.rawJSON` (Node 21 and later), which the types do not know yet. */
const raw = (text: string): unknown => {
  const make: unknown = Reflect.get(JSON, 'rawJSON');
  if (typeof make !== 'function') throw new Error('this Node has no JSON.rawJSON');
  return Reflect.apply(make, JSON, [text]);
};

const time = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

const stamps = (of: { readonly createdAt: number; readonly updatedAt: number }) => ({
  created_at: time(of.createdAt),
  updated_at: time(of.updatedAt),
});

export const account = (of: Account) => ({
  id: of.id,
  business_id: of.businessId,
  name: of.name,
  status: 'ACTIVE',
  currency_code: of.currency,
  country_code: of.country,
  industry: 'MUSIC',
});

export const campaign = (of: Campaign) => ({
  id: of.id,
  name: of.name,
  ...stamps(of),
  purchase_order: null,
  status: of.status,
  objective: of.objective,
});

export const adSet = (state: AdsState, of: AdSet) => ({
  id: of.id,
  name: of.name,
  campaign_id: of.campaignId,
  status: of.status,
  start_time: time(of.start),
  ...(of.end !== undefined && { end_time: time(of.end) }),
  ...stamps(of),
  category: 'ADV_1_1',
  asset_format: 'AUDIO',
  budget: {
    micro_amount: of.budget,
    type: of.budgetType,
    currency: state.accounts.get(of.accountId)?.currency ?? 'USD',
  },
  bid_strategy: 'MAX_BID',
  bid_micro_amount: of.bid,
  cost_model: 'CPM',
  delivery: of.status === 'ACTIVE' ? 'ON' : 'OFF',
  pacing: 'PACING_EVEN',
  frequency_caps: of.caps,
  targets: of.targets,
});

export const ad = (of: Ad) => ({
  id: of.id,
  name: of.name,
  ad_set_id: of.adSetId,
  status: of.status,
  ...stamps(of),
  delivery: 'ON',
  advertiser_name: 'Northwind',
  tagline: of.tagline,
  assets: { asset_id: of.assetId, companion_asset_id: null, logo_asset_id: null },
  call_to_action: {
    key: 'LEARN_MORE',
    text: 'Learn more',
    language: 'ENGLISH',
    clickthrough_url: 'https://northwind.example/',
  },
});

export const asset = (of: Asset) => ({
  id: of.id,
  name: of.name,
  asset_type: of.type,
  status: of.status,
  url: `https://assets.example/${of.id}`,
  ...stamps(of),
  ...(of.type === 'IMAGE' && { width: 640, height: 640, aspect_ratio: 'SQUARE_1_1', file_type: 'JPEG' }),
  ...(of.type === 'AUDIO' && { duration_ms: 29_500, audio_type: 'VOICE', file_type: 'MP3' }),
  ...(of.type === 'VIDEO' && {
    duration_ms: 30_000,
    width: 720,
    height: 1280,
    aspect_ratio: 'PORTRAIT_9_16',
    has_audio: true,
    file_type: 'MP4',
  }),
});

export const audience = (of: Audience) => ({
  id: of.id,
  name: of.name,
  description: null,
  type: of.type,
  subtype: of.type === 'CUSTOM' ? 'CUSTOMER_LIST' : 'AD_ENGAGEMENT',
  status: of.status,
  size: { min: of.size, max: of.size * 2 },
  ...stamps(of),
});

export const draft = (state: AdsState, of: Draft) => {
  const status = { status: 'ACTIVE' };
  if (of.kind === 'campaign')
    return {
      ...campaign(of.of),
      ...status,
      ad_account_id: of.of.accountId,
      draft_hierarchy_version: of.version,
      needs_advertiser_review: false,
    };
  return of.kind === 'ad_set'
    ? { ...adSet(state, of.of), ...status, draft_hierarchy_version: null }
    : { ...ad(of.of), ...status, draft_hierarchy_version: null };
};

export const change = (of: Change) => ({
  change_id: of.id,
  timestamp: time(of.at),
  entity_type: of.entityType,
  entity_id: of.entityId,
  entity_name: null,
  operation: 'UPDATE',
  actor: { principal_id: 'user-1', principal_type: 'USER', name: 'Ada', email: 'ada@northwind.example' },
  changes: [{ field_type: of.field.toUpperCase(), display_label: of.field, before: of.before, after: of.after }],
});
