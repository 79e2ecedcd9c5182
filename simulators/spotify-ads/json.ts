/** How the platform writes what it has. Amounts are integers of any size, written digit by digit. */

import type {
  Account,
  AdDraft,
  AdSetDraft,
  Asset,
  Audience,
  Business,
  CampaignDraft,
  Change,
  Draft,
} from './model.ts';
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

/** As the platform writes an instant (epoch ms): UTC, whole seconds, `Z`. */
export const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');

const stamps = (of: { readonly createdAt: number; readonly updatedAt: number }) => ({
  created_at: time(of.createdAt),
  updated_at: time(of.updatedAt),
});

export const business = (of: Business) => ({
  id: of.id,
  name: of.name,
  ...stamps(of),
  status: 'ACTIVE',
  type: of.type,
});

export const account = (of: Account) => ({
  id: of.id,
  business_id: of.businessId,
  name: of.name,
  ...stamps(of),
  status: of.status,
  currency_code: of.currency,
  country_code: of.country,
  industry: of.industry,
  ...(of.website !== undefined && { website: of.website }),
  ad_account_role: 'AD_ACCOUNT_VIEWER',
});

export const campaign = (of: CampaignDraft) => ({
  id: of.id,
  name: of.name,
  ...stamps(of),
  ...(of.purchaseOrder !== undefined && { purchase_order: of.purchaseOrder }),
  status: of.status,
  objective: of.objective,
  delivery_goal_group: of.goal,
});

export const adSet = (state: AdsState, of: AdSetDraft) => ({
  id: of.id,
  name: of.name,
  campaign_id: of.campaignId,
  status: of.status,
  ...(of.start !== undefined && { start_time: time(of.start) }),
  ...(of.end !== undefined && { end_time: time(of.end) }),
  ...stamps(of),
  category: of.category,
  asset_format: of.assetFormat,
  ...(of.budget !== undefined && {
    budget: {
      micro_amount: of.budget,
      type: of.budgetType,
      currency: state.accounts.get(of.accountId)?.currency ?? 'USD',
    },
  }),
  bid_strategy: of.bidStrategy,
  bid_micro_amount: of.bid,
  cost_model: of.costModel,
  delivery: of.delivery,
  pacing: of.pacing,
  frequency_caps: of.caps,
  targets: of.targets,
});

export const ad = (of: AdDraft) => ({
  id: of.id,
  name: of.name,
  ad_set_id: of.adSetId,
  status: of.status,
  ...stamps(of),
  delivery: of.delivery,
  advertiser_name: of.advertiser,
  tagline: of.tagline,
  ...(of.assetId !== undefined && {
    assets: {
      asset_id: of.assetId,
      companion_asset_id: of.companionId ?? null,
      logo_asset_id: of.logoId ?? null,
    },
  }),
  ...(of.callToAction !== undefined && {
    call_to_action: {
      key: of.callToAction.key,
      text: wordsOf(of.callToAction.key),
      language: 'ENGLISH',
      clickthrough_url: of.callToAction.url,
    },
  }),
});

/** LEARN_MORE → Learn more */
const wordsOf = (key: string): string => key.charAt(0) + key.slice(1).toLowerCase().replaceAll('_', ' ');

export const asset = (of: Asset) => ({
  id: of.id,
  name: of.name,
  asset_type: of.type,
  status: of.status,
  ...(of.archived && { archived: true }),
  ...stamps(of),
  // What has not been uploaded is nowhere and has no size.
  ...(of.status === 'READY' && { url: `https://assets.example/${of.id}`, ...contentsOf(of.type) }),
});

const contentsOf = (type: Asset['type']) => {
  if (type === 'IMAGE') return { width: 640, height: 640, aspect_ratio: 'SQUARE', file_type: 'JPEG' };
  if (type === 'AUDIO') return { duration_ms: 29_500, audio_type: 'USER_UPLOADED_AUDIO', file_type: 'MP3' };
  const size = { width: 720, height: 1280, aspect_ratio: 'VERTICAL_9_16' };
  return { duration_ms: 30_000, ...size, has_audio: true, file_type: 'MP4' };
};

export const audience = (of: Audience) => ({
  id: of.id,
  name: of.name,
  type: of.type,
  subtype: of.subtype,
  status: of.status,
  size: { min: of.size, max: of.size * 2 },
  sources: [of.type === 'CUSTOM' ? 'CUSTOMER_LIST' : 'AUDIENCE'],
  ...(of.seedId !== undefined && { seed_audience_id: of.seedId }),
  ...(of.lookbackDays !== undefined && { lookback_days: of.lookbackDays }),
  ...stamps(of),
});

export const draft = (state: AdsState, of: Draft) => {
  if (of.kind === 'campaign')
    return {
      ...campaign(of.of),
      ad_account_id: of.of.accountId,
      draft_hierarchy_version: of.version,
      needs_advertiser_review: false,
    };
  // Theirs is null (vendor-facts 2.2): the version is the campaign's.
  const written = of.kind === 'ad_set' ? adSet(state, of.of) : ad(of.of);
  return { ...written, draft_hierarchy_version: null };
};

const instants: ReadonlySet<string> = new Set(['start', 'end']);

/** A value of the history, as an object of its own. */
const reported = (field: string, value: unknown) =>
  value === undefined
    ? {}
    : { value: instants.has(field) && typeof value === 'number' ? time(value) : value };

export const change = (of: Change) => ({
  change_id: of.id,
  timestamp: time(of.at),
  entity_type: of.entityType,
  entity_id: of.entityId,
  entity_name: of.entityName,
  operation: of.operation,
  actor: {
    principal_id: 'user-1',
    principal_type: 'USER',
    name: 'Ada',
    email: 'ada@northwind.example',
    category: 'ADVERTISER_USER',
  },
  changes: [
    {
      field_type: of.field.replace(/[A-Z]/g, '_$&').toUpperCase(),
      display_label: of.field,
      change_category: of.category,
      before: reported(of.field, of.before),
      after: reported(of.field, of.after),
    },
  ],
});
