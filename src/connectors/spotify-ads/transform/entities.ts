/**
 * The transforms of the ads platform's lists: record to row, pure. The contract promises little of a record, so nothing but its id is
 * demanded; what is missing is null. Amounts are exact or the record is rejected. Drafts: `drafts.ts`, numbers: `reports.ts`.
 */

import { isObject, type JsonObject, own } from '../../../core/record-object.ts';
import type { Reading } from '../../../core/record-reader.ts';
import {
  bool,
  decimal,
  instant,
  integer,
  list,
  requiredInstant,
  requiredKey,
  requiredText,
  text,
} from '../../../core/record-values.ts';
import type { Json } from '../../../core/request.ts';
import type { Flow, Slice } from '../../../core/stream.ts';
import type {
  AdAccountRow,
  AdCategoryRow,
  AdContent,
  AdRow,
  AdSetContent,
  AdSetRow,
  AssetRow,
  AudienceRow,
  BusinessRow,
  CampaignContent,
  CampaignRow,
  ChangeItemRow,
  ChangeRow,
} from '../tables.ts';
import { amount } from './amounts.ts';
import {
  type draftInstant,
  firstTold,
  keepNewsIn,
  mapper,
  owner,
  type Place,
  texts,
  whatever,
  within,
  word,
  words,
} from './mapper.ts';
import { capRows, placementRows, targetRows, toldInPart } from './targets.ts';

const CHANGED = ['created_at', 'updated_at'];
const changed = (r: Reading, record: JsonObject): Pick<CampaignContent, 'created_at' | 'updated_at'> => ({
  created_at: instant(r, record, 'created_at'),
  updated_at: instant(r, record, 'updated_at'),
});

const BUSINESS_TYPES = words('ADVERTISER AGENCY MUSIC_ARTIST_CONCERT_PROMOTER PODCAST_PROMOTER');
const BUSINESS_STATUSES = words('ACTIVE');

export const business = mapper<BusinessRow>(
  'ads.businesses',
  'business',
  ['id', 'name', 'type', 'status', ...CHANGED],
  (r, record) => ({
    id: requiredKey(r, record, 'id'),
    name: text(r, record, 'name'),
    type: word(r, record, 'type', BUSINESS_TYPES),
    status: word(r, record, 'status', BUSINESS_STATUSES),
    ...changed(r, record),
  }),
);

const ACCOUNT_STATUSES = words('ACTIVE INACTIVE GREY_LISTED PENDING_MARKET SUSPEND_LISTED BLACKLISTED');

export const adAccount = mapper<AdAccountRow>(
  'ads.ad_accounts',
  'ad account',
  [
    ...[
      'id',
      'business_id',
      'name',
      'status',
      'status_reason',
      'currency_code',
      'country_code',
      'industry',
      'website',
    ],
    ...['legal_entity_name', 'tax_id', 'billing_address', 'ad_account_role', ...CHANGED],
  ],
  (r, record) => ({
    id: requiredKey(r, record, 'id'),
    business_id: text(r, record, 'business_id'),
    name: text(r, record, 'name'),
    status: word(r, record, 'status', ACCOUNT_STATUSES),
    status_reason: text(r, record, 'status_reason'),
    currency_code: text(r, record, 'currency_code'),
    country_code: text(r, record, 'country_code'),
    industry: text(r, record, 'industry'),
    website: text(r, record, 'website'),
    legal_entity_name: text(r, record, 'legal_entity_name'),
    tax_id: text(r, record, 'tax_id'),
    billing_address: whatever(r, record, 'billing_address'),
    role: text(r, record, 'ad_account_role'),
    ...changed(r, record),
  }),
);

const CAMPAIGN_STATUSES = words(
  'UNSET ACTIVE PAUSED ARCHIVED AGENT_CONTROLLED ACTIVE_RESTRICTED PENDING_ADVERTISER_REVIEW UNRECOGNIZED',
);
const OBJECTIVES = words(
  'UNSET REACH EVEN_IMPRESSION_DELIVERY CLICKS VIDEO_VIEWS PODCAST_STREAMS APP_INSTALLS WEBSITE_VISITS LEAD_GEN',
);
const GOAL_GROUPS = words('UNSET AWARENESS WEBSITE_TRAFFIC APP_PROMOTION ENGAGEMENT_ON_SPOTIFY LEAD_GEN');

export const CAMPAIGN_KEYS = [
  ...[
    'id',
    'ad_account_id',
    'name',
    'status',
    'objective',
    'delivery_goal_group',
    'purchase_order',
    ...CHANGED,
  ],
];

/** What a campaign and its draft have in common. */
export const campaignContent = (r: Reading, record: JsonObject, slice: Slice): CampaignContent => ({
  id: requiredKey(r, record, 'id'),
  ad_account_id: owner(r, record, slice),
  name: text(r, record, 'name'),
  status: word(r, record, 'status', CAMPAIGN_STATUSES),
  objective: word(r, record, 'objective', OBJECTIVES),
  delivery_goal_group: word(r, record, 'delivery_goal_group', GOAL_GROUPS),
  purchase_order: text(r, record, 'purchase_order'),
  ...changed(r, record),
});

export const campaign = mapper<CampaignRow>('ads.campaigns', 'campaign', CAMPAIGN_KEYS, campaignContent);

const DELIVERIES = words('ON OFF');
const AD_SET_STATUSES = words(
  'ACTIVE ACTIVE_RESTRICTED APPROVED ARCHIVED COMPLETED PENDING_APPROVAL READY REJECTED',
);
const BUDGET_KEYS = words('micro_amount type currency');

const BUDGET_TYPES = words('DAILY LIFETIME');

/**
 * `{micro_amount, type, currency}`, the amount alone, or as `budget_micro_amount`, `budget_type` and `budget_currency`, each of them also beside
 * an object that lacks it: the contract says only that a budget is a micro-amount, not what it is called.
 */
const budget = (r: Reading, record: JsonObject) => {
  const told = own(record, 'budget');
  const key = amountKey(told);
  const found = isObject(told) ? (within(r, record, 'budget', new Set([...BUDGET_KEYS, key])) ?? {}) : {};
  const inside = (name: string): Place => ({ holder: found, key: name, path: `budget.${name}` });
  const beside = (name: string): Place => ({ holder: record, key: name, path: name });
  const bare = isObject(told) ? [] : [beside('budget')];
  const worth = firstTold(r, [inside(key), ...bare, beside('budget_micro_amount')]);
  const type = firstTold(r, [inside('type'), beside('budget_type')]);
  const currency = firstTold(r, [inside('currency'), beside('budget_currency')]);
  return {
    budget: amount(r, worth.holder, worth.key, 'ad_set.budget', worth.path),
    budget_type: word(r, type.holder, type.key, BUDGET_TYPES, type.path),
    budget_currency: text(r, currency.holder, currency.key, currency.path),
  };
};

/** `micro_amount`, else the only field that is named as an amount. Of several nothing says which is the budget. */
const amountKey = (told: Json): string => {
  const keys = isObject(told) && !Object.hasOwn(told, 'micro_amount') ? Object.keys(told) : [];
  const [only, ...others] = keys.filter((key) => /amount|micros?$|^value$/i.test(key));
  return only === undefined || others.length > 0 ? 'micro_amount' : only;
};

const ASSET_FORMATS = words('AUDIO VIDEO IMAGE CATALOG');
const COST_MODELS = words('CPM CPCL');
const PACINGS = words('PACING_ASAP PACING_EVEN');
const BID_STRATEGIES = words('COST_PER_RESULT MAX_BID AUTOBID UNSET');

export const AD_SET_KEYS = [
  ...['id', 'ad_account_id', 'campaign_id', 'name', 'status', 'category', 'asset_format', 'delivery_goal'],
  ...['cost_model', 'pacing', 'start_time', 'end_time', 'budget', 'bid_micro_amount', 'bid_strategy'],
  ...['budget_micro_amount', 'budget_type', 'budget_currency'],
  ...['base_rate_micro_amount', 'cost_modifiers', 'promotion', 'dataset_id', 'mobile_app_id'],
  ...['video_delivery_formats', 'slot_positions', 'skad_enabled', 'targets', 'frequency_caps', ...CHANGED],
];

/** What an ad set and its draft have in common. */
export const adSetContent = (
  r: Reading,
  record: JsonObject,
  slice: Slice,
  when: typeof instant | typeof draftInstant,
): AdSetContent => ({
  id: requiredKey(r, record, 'id'),
  ad_account_id: owner(r, record, slice),
  campaign_id: text(r, record, 'campaign_id'),
  name: text(r, record, 'name'),
  status: word(r, record, 'status', AD_SET_STATUSES),
  category: text(r, record, 'category'),
  asset_format: word(r, record, 'asset_format', ASSET_FORMATS),
  delivery_goal: text(r, record, 'delivery_goal'),
  cost_model: word(r, record, 'cost_model', COST_MODELS),
  pacing: word(r, record, 'pacing', PACINGS),
  start_at: when(r, record, 'start_time'),
  end_at: when(r, record, 'end_time'),
  ...budget(r, record),
  bid: amount(r, record, 'bid_micro_amount', 'ad_set.bid'),
  bid_strategy: word(r, record, 'bid_strategy', BID_STRATEGIES),
  base_rate: amount(r, record, 'base_rate_micro_amount', 'ad_set.base_rate'),
  cost_modifiers: whatever(r, record, 'cost_modifiers'),
  promotion: whatever(r, record, 'promotion'),
  dataset_id: text(r, record, 'dataset_id'),
  mobile_app_id: text(r, record, 'mobile_app_id'),
  video_delivery_formats: texts(r, record, 'video_delivery_formats'),
  slot_positions: texts(r, record, 'slot_positions'),
  skad_enabled: bool(r, record, 'skad_enabled'),
  targets: whatever(r, record, 'targets'),
  ...changed(r, record),
});

/** Children `targets`, `frequency_caps`, `placements`: always given, a field that is not there is empty. */
export const adSet = mapper<AdSetRow>(
  'ads.ad_sets',
  'ad set',
  [...AD_SET_KEYS, 'delivery', 'is_paused', 'pause_reason', 'reject_reason', 'reject_reasons'],
  (r, record, slice) => ({
    ...adSetContent(r, record, slice, instant),
    delivery: word(r, record, 'delivery', DELIVERIES),
    is_paused: bool(r, record, 'is_paused'),
    pause_reason: text(r, record, 'pause_reason'),
    reject_reason: text(r, record, 'reject_reason'),
    reject_reasons: whatever(r, record, 'reject_reasons'),
  }),
  (r, record, { id }) => {
    const caps = capRows(r, id, record);
    const children = {
      targets: targetRows(r, id, record),
      frequency_caps: caps,
      placements: placementRows(r, id, record),
    };
    const partial = toldInPart(record, caps.length);
    return { children, ...(partial.length > 0 && { partial }) };
  },
);

const AD_STATUSES = words('ACTIVE APPROVED ARCHIVED FAILED PENDING PENDING_APPROVAL REJECTED UNRECOGNIZED');

export const AD_KEYS = [
  ...[
    'id',
    'ad_account_id',
    'ad_set_id',
    'name',
    'status',
    'advertiser_name',
    'tagline',
    'assets',
    'call_to_action',
  ],
  ...['third_party_tracking', 'catalog', 'weight', ...CHANGED],
];
const ASSET_KEYS = words('asset_id companion_asset_id logo_asset_id canvas_asset_id');

/** `{asset_id, companion_asset_id, …}`, or a list: of one, that is the creative; of several nothing says which. */
const usedAssets = (r: Reading, record: JsonObject): JsonObject => {
  const told = own(record, 'assets');
  const [only] = Array.isArray(told) && told.length === 1 ? told : [];
  if (typeof only === 'string') return { asset_id: only };
  if (isObject(only)) return within(r, { assets: withId(only) }, 'assets', ASSET_KEYS) ?? {};
  return within(r, record, 'assets', ASSET_KEYS) ?? {};
};

const withId = ({ id, ...others }: JsonObject): JsonObject =>
  id === undefined
    ? others
    : Object.hasOwn(others, 'asset_id')
      ? { ...others, id }
      : { ...others, asset_id: id };

const CTA_KEYS = words('key text language clickthrough_url');

/** What an ad and its draft have in common. */
export const adContent = (r: Reading, record: JsonObject, slice: Slice): AdContent => {
  const used = usedAssets(r, record);
  const call = within(r, record, 'call_to_action', CTA_KEYS) ?? {};
  return {
    id: requiredKey(r, record, 'id'),
    ad_account_id: owner(r, record, slice),
    ad_set_id: text(r, record, 'ad_set_id'),
    name: text(r, record, 'name'),
    status: word(r, record, 'status', AD_STATUSES),
    advertiser_name: text(r, record, 'advertiser_name'),
    tagline: text(r, record, 'tagline'),
    asset_id: text(r, used, 'asset_id', 'assets.asset_id'),
    companion_asset_id: text(r, used, 'companion_asset_id', 'assets.companion_asset_id'),
    logo_asset_id: text(r, used, 'logo_asset_id', 'assets.logo_asset_id'),
    canvas_asset_id: text(r, used, 'canvas_asset_id', 'assets.canvas_asset_id'),
    cta_key: text(r, call, 'key', 'call_to_action.key'),
    cta_text: text(r, call, 'text', 'call_to_action.text'),
    cta_language: text(r, call, 'language', 'call_to_action.language'),
    cta_url: text(r, call, 'clickthrough_url', 'call_to_action.clickthrough_url'),
    third_party_tracking: whatever(r, record, 'third_party_tracking'),
    catalog: whatever(r, record, 'catalog'),
    weight: decimal(r, record, 'weight'),
    ...changed(r, record),
  };
};

export const ad = mapper<AdRow>(
  'ads.ads',
  'ad',
  [...AD_KEYS, 'delivery', 'start_time', 'end_time', 'ad_preview_url', 'reject_reason', 'reject_reasons'],
  (r, record, slice) => ({
    ...adContent(r, record, slice),
    delivery: word(r, record, 'delivery', DELIVERIES),
    start_at: instant(r, record, 'start_time'),
    end_at: instant(r, record, 'end_time'),
    ad_preview_url: text(r, record, 'ad_preview_url'),
    reject_reason: text(r, record, 'reject_reason'),
    reject_reasons: whatever(r, record, 'reject_reasons'),
  }),
);

/** The contract names what kind an asset or an audience is `kind`, assets' in small letters; the vendor says `type`, in capitals. */
const withKind =
  (type: string, others: readonly string[], via: Flow['via']): Flow['via'] =>
  (record, slice) => {
    if (!isObject(record) || Object.hasOwn(record, type)) return via(record, slice);
    const name = others.find((one) => Object.hasOwn(record, one));
    if (name === undefined) return via(record, slice);
    const { [name]: kind, ...rest } = record;
    return via({ ...rest, [type]: typeof kind === 'string' ? kind.toUpperCase() : kind }, slice);
  };

const ASSET_TYPES = words('IMAGE AUDIO VIDEO');
const ASSET_STATUSES = words('ERROR PROCESSING READY WAITING_UPLOAD');

export const asset = withKind(
  'asset_type',
  ['kind', 'type'],
  mapper<AssetRow>(
    'ads.assets',
    'asset',
    [
      ...[
        'id',
        'ad_account_id',
        'name',
        'asset_type',
        'asset_subtype',
        'audio_type',
        'status',
        'archived',
        'url',
      ],
      ...[
        'file_type',
        'duration_ms',
        'width',
        'height',
        'aspect_ratio',
        'has_audio',
        'thumbnail_url',
        ...CHANGED,
      ],
    ],
    (r, record, slice) => {
      const named = (key: string): Place => ({ holder: record, key, path: key });
      const subtype = firstTold(r, [named('asset_subtype'), named('audio_type')]);
      return {
        id: requiredKey(r, record, 'id'),
        ad_account_id: owner(r, record, slice),
        name: text(r, record, 'name'),
        type: word(r, record, 'asset_type', ASSET_TYPES),
        subtype: text(r, record, subtype.key),
        status: word(r, record, 'status', ASSET_STATUSES),
        archived: bool(r, record, 'archived'),
        url: text(r, record, 'url'),
        file_type: text(r, record, 'file_type'),
        duration_ms: integer(r, record, 'duration_ms'),
        width: integer(r, record, 'width'),
        height: integer(r, record, 'height'),
        aspect_ratio: text(r, record, 'aspect_ratio'),
        has_audio: bool(r, record, 'has_audio'),
        thumbnail_url: text(r, record, 'thumbnail_url'),
        ...changed(r, record),
      };
    },
  ),
);

const AUDIENCE_STATUSES = words('ARCHIVED PROCESSING EMPTY LEARNING BOOKABLE LIVE');

const SIZE_KEYS = words('min max');
const AUDIENCE_TYPES = words('CUSTOM LOOKALIKE');
const AUDIENCE_SUBTYPES = words('CUSTOMER_LIST WEB_EVENT AD_ENGAGEMENT LIVERAMP');

export const audience = withKind(
  'type',
  ['kind'],
  mapper<AudienceRow>(
    'ads.audiences',
    'audience',
    [
      ...[
        'id',
        'ad_account_id',
        'name',
        'description',
        'type',
        'subtype',
        'audience_category',
        'status',
        'size',
      ],
      ...['sources', 'seed_audience_id', 'seed_audience_name', 'lookalike_audience_ids', 'datasets'],
      ...[
        'included_events',
        'excluded_events',
        'lookback_days',
        'campaign_ids',
        'ad_set_ids',
        'exposure_type',
      ],
      ...['contract_audience_id', ...CHANGED],
    ],
    (r, record, slice) => {
      const size = within(r, record, 'size', SIZE_KEYS) ?? {};
      return {
        id: requiredKey(r, record, 'id'),
        ad_account_id: owner(r, record, slice),
        name: text(r, record, 'name'),
        description: text(r, record, 'description'),
        type: word(r, record, 'type', AUDIENCE_TYPES),
        subtype: word(r, record, 'subtype', AUDIENCE_SUBTYPES),
        category: text(r, record, 'audience_category'),
        status: word(r, record, 'status', AUDIENCE_STATUSES),
        size_min: integer(r, size, 'min', 'size.min'),
        size_max: integer(r, size, 'max', 'size.max'),
        sources: texts(r, record, 'sources'),
        seed_audience_id: text(r, record, 'seed_audience_id'),
        seed_audience_name: text(r, record, 'seed_audience_name'),
        lookalike_audience_ids: texts(r, record, 'lookalike_audience_ids'),
        datasets: whatever(r, record, 'datasets'),
        included_events: texts(r, record, 'included_events'),
        excluded_events: texts(r, record, 'excluded_events'),
        lookback_days: integer(r, record, 'lookback_days'),
        campaign_ids: texts(r, record, 'campaign_ids'),
        ad_set_ids: texts(r, record, 'ad_set_ids'),
        exposure_type: text(r, record, 'exposure_type'),
        contract_audience_id: text(r, record, 'contract_audience_id'),
        ...changed(r, record),
      };
    },
  ),
);

export const adCategory = mapper<AdCategoryRow>(
  'ads.ad_categories',
  'category',
  ['id', 'name', 'parent_category'],
  (r, record) => ({
    id: requiredKey(r, record, 'id'),
    name: text(r, record, 'name'),
    parent_category: text(r, record, 'parent_category'),
  }),
);

const ACTOR_KEYS = words('principal_id principal_type name email category');

/** Child `items`. A change is history: without its id, time and subject it is rejected. */
export const change = mapper<ChangeRow>(
  'ads.change_history',
  'change',
  ['change_id', 'timestamp', 'entity_type', 'entity_id', 'entity_name', 'operation', 'actor', 'changes'],
  (r, record, slice) => {
    const actor = within(r, record, 'actor', ACTOR_KEYS) ?? {};
    return {
      id: requiredKey(r, record, 'change_id'),
      ad_account_id: owner(r, record, slice),
      changed_at: requiredInstant(r, record, 'timestamp'),
      entity_type: requiredText(r, record, 'entity_type'),
      entity_id: requiredText(r, record, 'entity_id'),
      entity_name: text(r, record, 'entity_name'),
      operation: text(r, record, 'operation'),
      actor_id: text(r, actor, 'principal_id', 'actor.principal_id'),
      actor_type: text(r, actor, 'principal_type', 'actor.principal_type'),
      actor_name: text(r, actor, 'name', 'actor.name'),
      actor_email: text(r, actor, 'email', 'actor.email'),
      actor_category: text(r, actor, 'category', 'actor.category'),
    };
  },
  (r, record, { id }) => ({
    children: { items: changeItems(r, id, record) },
    ...(!Array.isArray(own(record, 'changes') ?? []) && { partial: ['items'] }),
  }),
);

const ITEM_KEYS = words('field_type display_label change_category before after');

const changeItems = (r: Reading, id: string, record: JsonObject): readonly ChangeItemRow[] =>
  list(r, record, 'changes').map((item, place) => {
    if (!isObject(item)) throw r.reject('bad_type', `changes[${place}]`, 'has a % that is no object');
    keepNewsIn(r, 'changes', place, item, ITEM_KEYS);
    return {
      change_id: id,
      item: place,
      field_type: requiredText(r, item, 'field_type', `changes[${place}].field_type`),
      display_label: text(r, item, 'display_label', `changes[${place}].display_label`),
      change_category: text(r, item, 'change_category', `changes[${place}].change_category`),
      before: whatever(r, item, 'before'),
      after: whatever(r, item, 'after'),
    };
  });
