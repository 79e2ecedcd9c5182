/**
 * Everything of the ads platform but reports: tables and transforms from one list of fields each. The contract promises little of a record, so
 * only its id is required; what is missing is null. Ids are text as the source gives them (UUIDs), instants are UTC. Times of change may be
 * missing, so records without one are ordered by when they were read. Members are named as in the vendor's OpenAPI, other names as in the
 * contract.
 */

import { type JsonObject, own, type Reading } from '../../core/record.ts';
import { field, from, readerOf } from '../../core/record-table.ts';
import type { Mapped } from '../../core/stream.ts';
import * as columns from '../../core/table.ts';
import { entity, micros, rowsOf } from './fields.ts';
import { targetingOf, targetingTables } from './targeting.ts';

const id = (noun: string) => field.keyText('id', `${noun} id of the source; a UUID as a rule.`).key();
const name = field.text('name?', 'Name as people see it.');
const ofAccount = {
  ad_account_id: field.owner('ad_account_id', 'The ad account it belongs to, see ads.ad_accounts.id.'),
};

/** When the source made and last changed it. */
const changed = {
  created_at: field.instant('created_at?', 'When it was created (UTC), where the source says.'),
  updated_at: field.instant('updated_at?', 'When the source last changed it (UTC), where it says.'),
};

/** The fields of something that belongs to an ad account. */
const inAccount = (noun: string, fields: columns.Columns): columns.Columns => ({
  id: id(noun),
  ...ofAccount,
  name,
  ...fields,
  ...changed,
});

/** An index of each list, by account and by parent. */
const indexed = (...by: readonly string[]) => ({
  indexes: ['ad_account_id', ...by].map((column) => `(source_id, ${column})`),
});

/** History of some columns, because the platform forgets what they were. */
const versions = (noun: string, what: string, columns: readonly string[]) => ({
  into: `ads.${noun.replace(' ', '_')}_versions`,
  about: `${what} of ${noun}s over time; one row per ${noun} and version. Seen, so as fine as the sync is frequent.`,
  columns,
  changed: 'updated_at',
});

/** The comment of `_first_synced_at`. */
const firstSynced = 'When the row came to be here (UTC). Its reports from before are read when it does.';

/** What lists show is listed. A row that reports name alone is made after they were loaded (streams.ts, `unlistedEntities`). */
const is_listed = from(
  columns.bool('False where no list has shown it: its name and parent come from reports.').default('true'),
  '',
  () => true,
);

/** The drafts of a kind of entity: what they share with live ones, their version, and `own`. */
const drafts = (
  noun: string,
  shared: columns.Columns,
  own: columns.Columns,
  options: columns.TableOptions = {},
) =>
  entity(
    `${noun.replace(' ', '_')}_drafts`,
    `Draft ${noun}s, one row each; not live. A draft shares its id with the live ${noun} it came from or becomes.`,
    { ...shared, draft_hierarchy_version: field.whole('draft_hierarchy_version?', draftVersion), ...own },
    { ...options, ...indexed(), noun: `draft ${noun}` },
  );
const draftVersion =
  'Grows with every change in the draft campaign and below it; null for drafts below a campaign as a rule.';

/** What ad sets and ads have, and their drafts only in part. */
const delivery = field.text('delivery?', 'ON or OFF.');
const asset_format = field.text('asset_format?', 'AUDIO, VIDEO, IMAGE or CATALOG.');
const flight = {
  start_at: field.instant('start_time?', 'When delivery starts or started (UTC).'),
  end_at: field.instant('end_time?', 'When delivery is to end (UTC); null if it runs until it is stopped.'),
};
const rejection = {
  reject_reason: field.text('reject_reason?', 'Why it was rejected.'),
  reject_reasons: field.json('reject_reasons?', 'Why it was rejected, in parts, as delivered.'),
};

export const businesses = entity('businesses', 'Businesses, the owners of ad accounts; one row each.', {
  id: id('Business'),
  name,
  type: field.text('type?', 'ADVERTISER, AGENCY, MUSIC_ARTIST_CONCERT_PROMOTER or PODCAST_PROMOTER.'),
  status: field.text('status?', 'Status as the source names it, e.g. ACTIVE.'),
  ...changed,
});

export const adAccounts = entity('ad_accounts', 'Ad accounts, one row each.', {
  id: id('Ad account'),
  business_id: field.text('business_id?', 'The business it belongs to, see ads.businesses.id.'),
  name,
  status: field.text('status?', 'Status as the source names it, e.g. ACTIVE, SUSPEND_LISTED.'),
  status_reason: field.text('status_reason?', 'Why it has that status.'),
  currency_code: field.text('currency_code?', 'ISO 4217 currency of every amount of the account.'),
  country_code: field.text('country_code?', 'ISO 3166-1 alpha-2 country of the account.'),
  industry: field.text('industry?', 'Industry as listed.'),
  website: field.text('website?', 'Website of the advertiser.'),
  legal_entity_name: field.text('legal_entity_name?', 'Legal name of who pays.'),
  tax_id: field.text('tax_id?', 'Tax id on record.'),
  billing_address: field.json('billing_address?', 'Billing address as delivered.'),
  role: field.text('ad_account_role?', "The sync account's own role, e.g. AD_ACCOUNT_VIEWER."),
  ...changed,
});

/** What campaigns and their drafts share. */
const campaignFields = inAccount('Campaign', {
  status: field.text('status?', 'Status as the source names it, e.g. ACTIVE, PAUSED, ARCHIVED.'),
  objective: field.text('objective?', 'Objective, e.g. REACH, CLICKS; delivery goals replace it.'),
  delivery_goal_group: field.text('delivery_goal_group?', 'Group of delivery goals, e.g. AWARENESS.'),
  purchase_order: field.text('purchase_order?', "Purchase order number for the advertiser's own books."),
});

const campaignHistory = ['name', 'status', 'objective'];
export const campaigns = entity(
  'campaigns',
  'Campaigns that are or were live, one row each; the platform archives them and never deletes.',
  { ...campaignFields, is_listed },
  {
    firstSynced,
    ...indexed(),
    versions: versions('campaign', 'Name, status and objective', campaignHistory),
  },
);

export const campaignDrafts = drafts('campaign', campaignFields, {
  channel: field.text('channel?', 'Booking channel.'),
  ad_product: field.text('ad_product?', 'Ad product.'),
  salesforce_opportunity: field.text('salesforce_opportunity?', 'Opportunity code in Salesforce.'),
  salesforce_sales_order: field.text('salesforce_sales_order?', 'Sales order code in Salesforce.'),
  media_plan_id: field.text('media_plan_id?', 'Media plan it belongs to.'),
  needs_advertiser_review: field.bool('needs_advertiser_review?', 'The advertiser must review it first.'),
  modified_by_role: field.text('modified_by_role?', 'Who changed it last: ADVERTISER or IMPERSONATOR.'),
});

/** What ad sets and their drafts share. */
const adSetFields = inAccount('Ad set', {
  campaign_id: field.text('campaign_id?', 'The campaign, see ads.campaigns.id or ads.campaign_drafts.id.'),
  status: field.text('status?', 'Status as the source names it, e.g. ACTIVE, COMPLETED, ARCHIVED.'),
  category: field.text('category?', 'Advertising category, see ads.ad_categories.id.'),
  asset_format,
  delivery_goal: field.text('delivery_goal?', 'What delivery is optimised for.'),
  cost_model: field.text('cost_model?', 'How it is charged: CPM, or CPCL (per completed listen).'),
  pacing: field.text('pacing?', 'How the budget is spread: PACING_EVEN or PACING_ASAP.'),
  ...flight,
  // The contract says that a budget is a micro-amount, and not how it is written.
  budget: micros(
    'budget?.micro_amount?|budget?.amount_micros?|budget?.amount?|budget?|budget_micro_amount?',
    'Budget in units of budget_currency; a day or the lifetime, see budget_type.',
  ),
  budget_type: field.text('budget?.type?|budget_type?', 'DAILY or LIFETIME.'),
  budget_currency: field.text('budget?.currency?|budget_currency?', 'ISO 4217 currency of its amounts.'),
  bid: micros('bid_micro_amount?', 'Bid in units of budget_currency, per 1000 impressions or per result.'),
  bid_strategy: field.text('bid_strategy?', 'MAX_BID, COST_PER_RESULT or AUTOBID.'),
  base_rate: micros('base_rate_micro_amount?', 'Base rate in budget_currency, per the same as the bid.'),
  cost_modifiers: field.json('cost_modifiers?', 'Factors of the base rate, as delivered.'),
  promotion: field.json('promotion?', 'What is promoted (artist or podcast), as delivered.'),
  dataset_id: field.text('dataset_id?', 'Dataset that conversions are counted with.'),
  mobile_app_id: field.text('mobile_app_id?', 'Mobile app that is promoted.'),
  video_delivery_formats: field.texts('video_delivery_formats', 'How videos are shown: IN_STREAM, OPT_IN.'),
  slot_positions: field.texts('slot_positions', 'Positions among the ads of a break.'),
  skad_enabled: field.bool('skad_enabled?', "True where conversions are counted by Apple's SKAdNetwork."),
  targets: field.json('targets?', 'Targeting as delivered; of live ad sets also in ads.ad_set_targets.'),
});

const adSetHistory = ['status', 'budget', 'budget_type', 'budget_currency', 'bid', 'bid_strategy'];
export const adSets = entity(
  'ad_sets',
  'Ad sets that are or were live, one row each: budget, bid, flight and targeting.',
  {
    ...adSetFields,
    delivery,
    is_paused: field.bool('is_paused?', 'True while it is paused.'),
    pause_reason: field.text('pause_reason?', 'Why it is paused, e.g. USER_PAUSED.'),
    ...rejection,
    is_listed,
  },
  {
    ignored: 'frequency_caps',
    children: targetingTables,
    parts: targetingOf,
    firstSynced,
    wide: true,
    ...indexed('campaign_id'),
    versions: versions('ad set', 'Status, budget and bid', adSetHistory),
  },
);

const adSetDraftFields = {
  frequency_caps: field.json('frequency_caps?', 'How often one person may hear it, as delivered.'),
  reservation_id: field.text('reservation_id?', 'Reservation it uses.'),
  ias_campaign_id: field.text('ias_campaign_id?', 'Campaign at Integral Ad Science.'),
  success_metric: field.text('success_metric?', 'What success is measured by.'),
};
export const adSetDrafts = drafts('ad set', adSetFields, adSetDraftFields, { wide: true });

/** What ads and their drafts share. */
const adFields = inAccount('Ad', {
  ad_set_id: field.text('ad_set_id?', 'The ad set, see ads.ad_sets.id (of a draft: ads.ad_set_drafts.id).'),
  status: field.text('status?', 'Status as the source names it, e.g. ACTIVE, APPROVED, ARCHIVED.'),
  advertiser_name: field.text('advertiser_name?', 'Name of the advertiser as listeners see it.'),
  tagline: field.text('tagline?', 'Line of text shown with the ad.'),
  asset_id: field.text('assets?.asset_id?|assets?.id?', 'The creative itself, see ads.assets.id.'),
  companion_asset_id: field.text('assets?.companion_asset_id?', 'The image beside it, see ads.assets.id.'),
  logo_asset_id: field.text('assets?.logo_asset_id?', "The advertiser's logo, see ads.assets.id."),
  canvas_asset_id: field.text('assets?.canvas_asset_id?', 'The looping video behind it, see ads.assets.id.'),
  cta_key: field.text('call_to_action?.key?', 'Call to action: its key, e.g. LEARN_MORE.'),
  cta_text: field.text('call_to_action?.text?', 'Call to action: its words.'),
  cta_language: field.text('call_to_action?.language?', 'Call to action: its language.'),
  cta_url: field.text('call_to_action?.clickthrough_url?', 'Call to action: where a click leads.'),
  third_party_tracking: field.json('third_party_tracking?', 'Measurement partners, as delivered.'),
  catalog: field.json('catalog?', 'Items of a carousel ad as delivered; prices in millionths of the unit.'),
  weight: field.decimal('weight?', 'Share in the rotation of its ad set, as given.'),
});

export const ads = entity(
  'ads',
  'Ads that are or were live, one row each.',
  {
    ...adFields,
    delivery,
    ...flight,
    ad_preview_url: field.text('ad_preview_url?', 'Address of a preview.'),
    ...rejection,
    is_listed,
  },
  { firstSynced, ...indexed('ad_set_id') },
);

export const adDrafts = drafts('ad', adFields, {
  asset_format,
  placements: field.texts('placements', 'Where it may be placed.'),
  dv_client_code: field.text('dv_client_code?', 'Client code at DoubleVerify.'),
});

export const assets = entity(
  'assets',
  'Images, audio and video files for ads, archived or not, one row each.',
  inAccount('Asset', {
    type: field.capitals('asset_type?|kind?|type?', 'IMAGE, AUDIO or VIDEO.'),
    subtype: field.text('asset_subtype?|audio_type?', 'Kind within the type, e.g. USER_UPLOADED_AUDIO.'),
    status: field.text('status?', 'ERROR, PROCESSING, READY or WAITING_UPLOAD.'),
    archived: field.bool('archived?', 'True for archived ones; null where the source does not say.'),
    url: field.text('url?', 'Address of the file.'),
    file_type: field.text('file_type?', 'File format, e.g. MP3, MP4, PNG.'),
    duration_ms: field.whole('duration_ms?', 'Duration in milliseconds; null for images and at first.'),
    width: field.whole('width?', 'Width in pixels.'),
    height: field.whole('height?', 'Height in pixels.'),
    aspect_ratio: field.text('aspect_ratio?', 'Aspect ratio as the source names it, e.g. SQUARE.'),
    has_audio: field.bool('has_audio?', 'Video: true if it has sound.'),
    thumbnail_url: field.text('thumbnail_url?', 'Video: address of a still.'),
  }),
  indexed(),
);

export const audiences = entity(
  'audiences',
  'Audiences to target, one row each; deleted ones keep their row.',
  inAccount('Audience', {
    description: field.text('description?', 'Description.'),
    type: field.capitals('type?|kind?', 'CUSTOM or LOOKALIKE.'),
    subtype: field.text('subtype?', 'Of custom ones: CUSTOMER_LIST, WEB_EVENT, AD_ENGAGEMENT or LIVERAMP.'),
    category: field.text('audience_category?', 'Category, e.g. ARTIST_AFFINITY.'),
    status: field.text('status?', 'Status as the source names it, e.g. LIVE, PROCESSING, ARCHIVED.'),
    size_min: field.whole('size?.min?', 'Lower end of the estimated number of people.'),
    size_max: field.whole('size?.max?', 'Upper end of the estimated number of people.'),
    sources: field.texts('sources', 'Where its data come from.'),
    seed_audience_id: field.text('seed_audience_id?', 'Of lookalikes: their model, see ads.audiences.id.'),
    seed_audience_name: field.text('seed_audience_name?', 'Of lookalikes: the name of that audience.'),
    lookalike_audience_ids: field.texts('lookalike_audience_ids', 'Its lookalikes, see ads.audiences.id.'),
    datasets: field.json('datasets?', 'Of web events: the datasets, as delivered.'),
    included_events: field.texts('included_events', 'Of web events: events that count.'),
    excluded_events: field.texts('excluded_events', 'Of web events: events that exclude.'),
    lookback_days: field.whole('lookback_days?', 'Of web events: how many days are looked back.'),
    campaign_ids: field.texts('campaign_ids', 'Of ad engagement: campaigns, see ads.campaigns.id.'),
    ad_set_ids: field.texts('ad_set_ids', 'Of ad engagement: ad sets, see ads.ad_sets.id.'),
    exposure_type: field.text('exposure_type?', 'Of ad engagement: IMPRESSIONS or CLICKS.'),
    contract_audience_id: field.text('contract_audience_id?', 'Id of the audience in a contract.'),
  }),
  indexed(),
);

export const adCategories = entity('ad_categories', 'Advertising categories of the platform, one row each.', {
  id: field.keyText('id', 'Category id, e.g. ADV_21_182.').key(),
  name: field.text('name?', 'Category and subcategory with " - " between them.'),
  parent_category: field.text('parent_category?', 'Name of the category above it.'),
});

export const targetNames = entity(
  'target_names',
  'Names of the ids that ad sets target; one row per dimension of ads.ad_set_targets and id in use.',
  {
    dimension: field.keyText('dimension', 'The dimension, see ads.ad_set_targets.dimension.').key(),
    id: field.keyText('id', 'The id, see ads.ad_set_targets.value.').key(),
    name,
    parent_name: field.text('parent_geo_name?', 'Of places and interests: the name of what it is a part of.'),
    type: field.text('type?', 'Of places: CITY, COUNTRY, DMA_REGION, POSTAL_CODE or REGION.'),
    country_code: field.text('country_code?', 'Of places: ISO 3166-1 alpha-2 country.'),
    asked_on: field.day('asked_on', 'Day in UTC on which it was last asked for.'),
  },
  { ignored: 'images subtargets' },
);

export const totals = entity(
  'report_totals',
  'Numbers of accounts and campaigns over a period, people counted once; one row per entity and period, as last read.',
  {
    entity_type: field.keyText('entity_type', 'AD_ACCOUNT or CAMPAIGN.').key(),
    entity_id: field.keyText('entity_id', 'The entity: id in ads.ad_accounts or campaigns.').key(),
    period: field.keyText('period', 'MONTH, LAST_7_DAYS or LAST_30_DAYS.').key(),
    period_start: field.day('period_start', 'First day of the period (UTC).').key(),
    period_end: field.day('period_end', 'Last day of the period (UTC), inclusive.'),
    ...ofAccount,
    asked_on: field.day('asked_on', 'Day in UTC on which it was last asked for.'),
    impressions: field.whole('IMPRESSIONS?', 'Times shown or played on the platform.'),
    clicks: field.whole('CLICKS?', 'Clicks.'),
    reach: field.whole('REACH?', 'Different people reached in the period; never sum it over rows.'),
    frequency: field.decimal('FREQUENCY?', 'Impressions by reach in the period, as reported; never sum it.'),
  },
);

const itemFields: columns.Columns = {
  field_type: field.text('field_type', 'Field as the platform calls it, e.g. bidAmount.'),
  display_label: field.text('display_label?', 'Field as people read it.'),
  change_category: field.text('change_category?', 'What it concerns, e.g. STATUS, BUDGET, BILLING.'),
  before: field.json('before?', 'The value before, as delivered; amounts in it as the platform writes them.'),
  after: field.json('after?', 'The value after, as delivered; amounts in it as the platform writes them.'),
};

const changeItems = columns.table(
  'ads.change_history_items',
  'The fields that a change changed; one row per change and field.',
  {
    change_id: columns.text('The change, see ads.change_history.id.').key(),
    item: columns.int('Place of the field within the change, from 0.').key(),
    ...itemFields,
  },
  { relation: true },
);

const items = { child: 'items', list: 'changes', read: readerOf(itemFields, { noted: true }) };

const itemsOf = (r: Reading, record: JsonObject, change_id: string): Omit<Mapped, 'row'> => {
  const isWhole = Array.isArray(own(record, 'changes') ?? []);
  const children = { items: rowsOf(r, record, items, (item) => ({ change_id, item })) };
  return { children, ...(!isWhole && { partial: ['items'] }) };
};

/** A change is history: without its id, time and subject it is rejected. */
export const changeHistory = entity(
  'change_history',
  'Who changed what at the platform, one row a change; the source forgets after 180 days, the warehouse does not.',
  {
    id: field.keyText('change_id', 'Change id of the source; a UUID as a rule.').key(),
    ...ofAccount,
    changed_at: field.instant('timestamp', 'When it was changed (UTC).'),
    entity_type: field.text('entity_type', 'Kind of thing that was changed, e.g. CAMPAIGN, CREATIVE.'),
    entity_id: field.text('entity_id', 'Its id.'),
    entity_name: field.text('entity_name?', 'Its name when the change was last read.'),
    operation: field.text('operation?', 'CREATED, CHANGED or REMOVED.'),
    actor_id: field.text('actor?.principal_id?', 'Id of who or what changed it.'),
    actor_type: field.text('actor?.principal_type?', 'USER or SERVICE.'),
    actor_name: field.text('actor?.name?', 'Name of who or what changed it.'),
    actor_email: field.text('actor?.email?', "The person's e-mail address, where it may be seen."),
    actor_category: field.text('actor?.category?', 'ADVERTISER_USER, SUPPORT, API_INTEGRATION or SYSTEM.'),
  },
  {
    ignored: 'changes',
    children: { items: { table: changeItems, parent: ['change_id'], absent: 'deleted' } },
    parts: itemsOf,
    indexes: ['(changed_at)', '(source_id, entity_id, changed_at)'],
  },
);
