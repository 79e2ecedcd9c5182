/**
 * The ads platform's own objects, live ones. Ids are text as the source gives them (UUIDs), instants are UTC, amounts are exact decimals in
 * currency units with six digits behind the point. Times of change are as the source tells them, and may be missing: a contract server
 * promises none, so an older record is told from a newer one by when it was read.
 */
import { type Child, type Decimal, type Integer, type JsonText, table } from '../../../core/table.ts';
import type { Instant } from '../../../core/time.ts';

export type Maybe<T> = T | null;
/** Every entity keeps what it has no column for. */
export type Extra = { readonly _extra: Maybe<JsonText> };
/** When the source made and last changed it. */
export type Changed = { readonly created_at: Maybe<Instant>; readonly updated_at: Maybe<Instant> };

export const changed = { created_at: 'timestamptz', updated_at: 'timestamptz' } as const;

export type BusinessRow = Extra &
  Changed & {
    readonly id: string;
    readonly name: Maybe<string>;
    readonly type: Maybe<string>;
    readonly status: Maybe<string>;
  };

export const businesses = table<BusinessRow>({
  schema: 'ads',
  name: 'businesses',
  columns: { id: 'text', name: 'text', type: 'text', status: 'text', ...changed, _extra: 'jsonb' },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type AdAccountRow = Extra &
  Changed & {
    readonly id: string;
    readonly business_id: Maybe<string>;
    readonly name: Maybe<string>;
    readonly status: Maybe<string>;
    readonly status_reason: Maybe<string>;
    readonly currency_code: Maybe<string>;
    readonly country_code: Maybe<string>;
    readonly industry: Maybe<string>;
    readonly website: Maybe<string>;
    readonly legal_entity_name: Maybe<string>;
    readonly tax_id: Maybe<string>;
    readonly billing_address: Maybe<JsonText>;
    readonly role: Maybe<string>;
  };

export const adAccounts = table<AdAccountRow>({
  schema: 'ads',
  name: 'ad_accounts',
  columns: {
    id: 'text',
    business_id: 'text',
    name: 'text',
    status: 'text',
    status_reason: 'text',
    currency_code: 'text',
    country_code: 'text',
    industry: 'text',
    website: 'text',
    legal_entity_name: 'text',
    tax_id: 'text',
    billing_address: 'jsonb',
    role: 'text',
    ...changed,
    _extra: 'jsonb',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

/** What a campaign and its draft have in common. */
export type CampaignContent = Extra &
  Changed & {
    readonly id: string;
    readonly ad_account_id: string;
    readonly name: Maybe<string>;
    readonly status: Maybe<string>;
    readonly objective: Maybe<string>;
    readonly delivery_goal_group: Maybe<string>;
    readonly purchase_order: Maybe<string>;
  };

export const campaignColumns = {
  id: 'text',
  ad_account_id: 'text',
  name: 'text',
  status: 'text',
  objective: 'text',
  delivery_goal_group: 'text',
  purchase_order: 'text',
  ...changed,
  _extra: 'jsonb',
} as const;

export type CampaignRow = CampaignContent;

export const campaigns = table<CampaignRow>({
  schema: 'ads',
  name: 'campaigns',
  columns: campaignColumns,
  key: ['id'],
  dated: true,
  tombstones: true,
  entity: true,
  versions: {
    into: 'ads.campaign_versions',
    columns: ['name', 'status', 'objective'],
    changed: 'updated_at',
  },
});

/** What an ad set and its draft have in common. */
export type AdSetContent = Extra &
  Changed & {
    readonly id: string;
    readonly ad_account_id: string;
    readonly campaign_id: Maybe<string>;
    readonly name: Maybe<string>;
    readonly status: Maybe<string>;
    readonly category: Maybe<string>;
    readonly asset_format: Maybe<string>;
    readonly delivery_goal: Maybe<string>;
    readonly cost_model: Maybe<string>;
    readonly pacing: Maybe<string>;
    readonly start_at: Maybe<Instant>;
    readonly end_at: Maybe<Instant>;
    readonly budget: Maybe<Decimal>;
    readonly budget_type: Maybe<string>;
    readonly budget_currency: Maybe<string>;
    readonly bid: Maybe<Decimal>;
    readonly bid_strategy: Maybe<string>;
    readonly base_rate: Maybe<Decimal>;
    readonly cost_modifiers: Maybe<JsonText>;
    readonly promotion: Maybe<JsonText>;
    readonly dataset_id: Maybe<string>;
    readonly mobile_app_id: Maybe<string>;
    readonly video_delivery_formats: readonly string[];
    readonly slot_positions: readonly string[];
    readonly skad_enabled: Maybe<boolean>;
    readonly targets: Maybe<JsonText>;
  };

export const adSetColumns = {
  id: 'text',
  ad_account_id: 'text',
  campaign_id: 'text',
  name: 'text',
  status: 'text',
  category: 'text',
  asset_format: 'text',
  delivery_goal: 'text',
  cost_model: 'text',
  pacing: 'text',
  start_at: 'timestamptz',
  end_at: 'timestamptz',
  budget: 'numeric',
  budget_type: 'text',
  budget_currency: 'text',
  bid: 'numeric',
  bid_strategy: 'text',
  base_rate: 'numeric',
  cost_modifiers: 'jsonb',
  promotion: 'jsonb',
  dataset_id: 'text',
  mobile_app_id: 'text',
  video_delivery_formats: 'text[]',
  slot_positions: 'text[]',
  skad_enabled: 'bool',
  targets: 'jsonb',
  ...changed,
  _extra: 'jsonb',
} as const;

export type AdSetRow = AdSetContent & {
  readonly delivery: Maybe<string>;
  readonly is_paused: Maybe<boolean>;
  readonly pause_reason: Maybe<string>;
  readonly reject_reason: Maybe<string>;
  readonly reject_reasons: Maybe<JsonText>;
};

export const adSets = table<AdSetRow>({
  schema: 'ads',
  name: 'ad_sets',
  columns: {
    ...adSetColumns,
    delivery: 'text',
    is_paused: 'bool',
    pause_reason: 'text',
    reject_reason: 'text',
    reject_reasons: 'jsonb',
  },
  key: ['id'],
  dated: true,
  tombstones: true,
  entity: true,
  versions: {
    into: 'ads.ad_set_versions',
    columns: ['status', 'budget', 'budget_type', 'budget_currency', 'bid', 'bid_strategy'],
    changed: 'updated_at',
  },
});

export type AdSetTargetRow = {
  readonly ad_set_id: string;
  readonly dimension: string;
  readonly value: string;
};

export const adSetTargets = table<AdSetTargetRow>({
  schema: 'ads',
  name: 'ad_set_targets',
  columns: { ad_set_id: 'text', dimension: 'text', value: 'text' },
  key: ['ad_set_id', 'dimension', 'value'],
  tombstones: false,
  entity: false,
});

export type AdSetFrequencyCapRow = {
  readonly ad_set_id: string;
  readonly unit: string;
  readonly period: number;
  readonly max_impressions: number;
};

export const adSetFrequencyCaps = table<AdSetFrequencyCapRow>({
  schema: 'ads',
  name: 'ad_set_frequency_caps',
  columns: { ad_set_id: 'text', unit: 'text', period: 'int', max_impressions: 'int' },
  key: ['ad_set_id', 'unit', 'period', 'max_impressions'],
  tombstones: false,
  entity: false,
});

export type AdSetPlacementRow = { readonly ad_set_id: string; readonly placement: string };

export const adSetPlacements = table<AdSetPlacementRow>({
  schema: 'ads',
  name: 'ad_set_placements',
  columns: { ad_set_id: 'text', placement: 'text' },
  key: ['ad_set_id', 'placement'],
  tombstones: false,
  entity: false,
});

/** What an ad and its draft have in common. */
export type AdContent = Extra &
  Changed & {
    readonly id: string;
    readonly ad_account_id: string;
    readonly ad_set_id: Maybe<string>;
    readonly name: Maybe<string>;
    readonly status: Maybe<string>;
    readonly advertiser_name: Maybe<string>;
    readonly tagline: Maybe<string>;
    readonly asset_id: Maybe<string>;
    readonly companion_asset_id: Maybe<string>;
    readonly logo_asset_id: Maybe<string>;
    readonly canvas_asset_id: Maybe<string>;
    readonly cta_key: Maybe<string>;
    readonly cta_text: Maybe<string>;
    readonly cta_language: Maybe<string>;
    readonly cta_url: Maybe<string>;
    readonly third_party_tracking: Maybe<JsonText>;
    readonly catalog: Maybe<JsonText>;
    readonly weight: Maybe<Decimal>;
  };

export const adColumns = {
  id: 'text',
  ad_account_id: 'text',
  ad_set_id: 'text',
  name: 'text',
  status: 'text',
  advertiser_name: 'text',
  tagline: 'text',
  asset_id: 'text',
  companion_asset_id: 'text',
  logo_asset_id: 'text',
  canvas_asset_id: 'text',
  cta_key: 'text',
  cta_text: 'text',
  cta_language: 'text',
  cta_url: 'text',
  third_party_tracking: 'jsonb',
  catalog: 'jsonb',
  weight: 'numeric',
  ...changed,
  _extra: 'jsonb',
} as const;

export type AdRow = AdContent & {
  readonly delivery: Maybe<string>;
  readonly start_at: Maybe<Instant>;
  readonly end_at: Maybe<Instant>;
  readonly ad_preview_url: Maybe<string>;
  readonly reject_reason: Maybe<string>;
  readonly reject_reasons: Maybe<JsonText>;
};

export const ads = table<AdRow>({
  schema: 'ads',
  name: 'ads',
  columns: {
    ...adColumns,
    delivery: 'text',
    start_at: 'timestamptz',
    end_at: 'timestamptz',
    ad_preview_url: 'text',
    reject_reason: 'text',
    reject_reasons: 'jsonb',
  },
  key: ['id'],
  dated: true,
  tombstones: true,
  entity: true,
});

export type AssetRow = Extra &
  Changed & {
    readonly id: string;
    readonly ad_account_id: string;
    readonly name: Maybe<string>;
    readonly type: Maybe<string>;
    readonly subtype: Maybe<string>;
    readonly status: Maybe<string>;
    readonly archived: Maybe<boolean>;
    readonly url: Maybe<string>;
    readonly file_type: Maybe<string>;
    readonly duration_ms: Maybe<Integer>;
    readonly width: Maybe<Integer>;
    readonly height: Maybe<Integer>;
    readonly aspect_ratio: Maybe<string>;
    readonly has_audio: Maybe<boolean>;
    readonly thumbnail_url: Maybe<string>;
  };

export const assets = table<AssetRow>({
  schema: 'ads',
  name: 'assets',
  columns: {
    id: 'text',
    ad_account_id: 'text',
    name: 'text',
    type: 'text',
    subtype: 'text',
    status: 'text',
    archived: 'bool',
    url: 'text',
    file_type: 'text',
    duration_ms: 'bigint',
    width: 'bigint',
    height: 'bigint',
    aspect_ratio: 'text',
    has_audio: 'bool',
    thumbnail_url: 'text',
    ...changed,
    _extra: 'jsonb',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type AudienceRow = Extra &
  Changed & {
    readonly id: string;
    readonly ad_account_id: string;
    readonly name: Maybe<string>;
    readonly description: Maybe<string>;
    readonly type: Maybe<string>;
    readonly subtype: Maybe<string>;
    readonly category: Maybe<string>;
    readonly status: Maybe<string>;
    readonly size_min: Maybe<Integer>;
    readonly size_max: Maybe<Integer>;
    readonly sources: readonly string[];
    readonly seed_audience_id: Maybe<string>;
    readonly seed_audience_name: Maybe<string>;
    readonly lookalike_audience_ids: readonly string[];
    readonly datasets: Maybe<JsonText>;
    readonly included_events: readonly string[];
    readonly excluded_events: readonly string[];
    readonly lookback_days: Maybe<Integer>;
    readonly campaign_ids: readonly string[];
    readonly ad_set_ids: readonly string[];
    readonly exposure_type: Maybe<string>;
    readonly contract_audience_id: Maybe<string>;
  };

export const audiences = table<AudienceRow>({
  schema: 'ads',
  name: 'audiences',
  columns: {
    id: 'text',
    ad_account_id: 'text',
    name: 'text',
    description: 'text',
    type: 'text',
    subtype: 'text',
    category: 'text',
    status: 'text',
    size_min: 'bigint',
    size_max: 'bigint',
    sources: 'text[]',
    seed_audience_id: 'text',
    seed_audience_name: 'text',
    lookalike_audience_ids: 'text[]',
    datasets: 'jsonb',
    included_events: 'text[]',
    excluded_events: 'text[]',
    lookback_days: 'bigint',
    campaign_ids: 'text[]',
    ad_set_ids: 'text[]',
    exposure_type: 'text',
    contract_audience_id: 'text',
    ...changed,
    _extra: 'jsonb',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type AdCategoryRow = Extra & {
  readonly id: string;
  readonly name: Maybe<string>;
  readonly parent_category: Maybe<string>;
};

export const adCategories = table<AdCategoryRow>({
  schema: 'ads',
  name: 'ad_categories',
  columns: { id: 'text', name: 'text', parent_category: 'text', _extra: 'jsonb' },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type ChangeRow = Extra & {
  readonly id: string;
  readonly ad_account_id: string;
  readonly changed_at: Instant;
  readonly entity_type: string;
  readonly entity_id: string;
  readonly entity_name: Maybe<string>;
  readonly operation: Maybe<string>;
  readonly actor_id: Maybe<string>;
  readonly actor_type: Maybe<string>;
  readonly actor_name: Maybe<string>;
  readonly actor_email: Maybe<string>;
  readonly actor_category: Maybe<string>;
};

export const changeHistory = table<ChangeRow>({
  schema: 'ads',
  name: 'change_history',
  columns: {
    id: 'text',
    ad_account_id: 'text',
    changed_at: 'timestamptz',
    entity_type: 'text',
    entity_id: 'text',
    entity_name: 'text',
    operation: 'text',
    actor_id: 'text',
    actor_type: 'text',
    actor_name: 'text',
    actor_email: 'text',
    actor_category: 'text',
    _extra: 'jsonb',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type ChangeItemRow = {
  readonly change_id: string;
  /** Place of the field within its change, from 0. */
  readonly item: number;
  readonly field_type: string;
  readonly display_label: Maybe<string>;
  readonly change_category: Maybe<string>;
  readonly before: Maybe<JsonText>;
  readonly after: Maybe<JsonText>;
};

export const changeHistoryItems = table<ChangeItemRow>({
  schema: 'ads',
  name: 'change_history_items',
  columns: {
    change_id: 'text',
    item: 'int',
    field_type: 'text',
    display_label: 'text',
    change_category: 'text',
    before: 'jsonb',
    after: 'jsonb',
  },
  key: ['change_id', 'item'],
  tombstones: false,
  entity: false,
});

/** What arrives with an ad set. */
export const adSetChildren = {
  targets: { table: adSetTargets, parent: ['ad_set_id'], absent: 'deleted' },
  frequency_caps: { table: adSetFrequencyCaps, parent: ['ad_set_id'], absent: 'deleted' },
  placements: { table: adSetPlacements, parent: ['ad_set_id'], absent: 'deleted' },
} as const satisfies Readonly<Record<string, Child>>;

/** The fields that one change changed. */
export const changeHistoryChildren = {
  items: { table: changeHistoryItems, parent: ['change_id'], absent: 'deleted' },
} as const satisfies Readonly<Record<string, Child>>;
