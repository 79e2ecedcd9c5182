/**
 * Everything of the ads platform but reports: tables and transforms from one list of fields each. The contract promises little of a record, so
 * only its id is required; what is missing is null. Ids are text as the source gives them (UUIDs), instants are UTC. Times of change may be
 * missing, so records without one are ordered by when they were read. Members are named as in the vendor's OpenAPI, other names as in the
 * contract.
 */

import { isObject, type JsonObject, own } from '../../core/record-object.ts';
import type { Reading } from '../../core/record-reader.ts';
import { list } from '../../core/record-values.ts';
import type { Json } from '../../core/request.ts';
import type { Mapped } from '../../core/stream.ts';
import * as columns from '../../core/table.ts';
import * as f from './fields.ts';
import { bool, entity, instant, json, key, micros, text, texts } from './fields.ts';
import { targetingOf, targetingTables } from './targeting.ts';

const id = (noun: string) => key(`${noun} id of the source; a UUID as a rule.`);
const name = text('Name as people see it.');
const ofAccount = { ad_account_id: f.owner('The ad account it belongs to, see ads.ad_accounts.id.') };

/** When the source made and last changed it. */
const changed = {
  created_at: instant('When it was created (UTC), where the source says.'),
  updated_at: instant('When the source last changed it (UTC), where it says.'),
};

/** The fields of something that belongs to an ad account. */
const inAccount = (noun: string, fields: f.Fields): f.Fields => ({
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

/** What lists show is listed. A row that reports name alone is made after they were loaded (after-load.ts). */
const is_listed: f.Field = {
  column: columns
    .bool('False where no list has shown it: its name and parent come from reports.')
    .default('true'),
  read: () => true,
  from: [],
};

/** The drafts of a kind of entity: what they share with live ones, their version, and `own`. */
const drafts = (noun: string, shared: f.Fields, own: f.Fields, options: columns.TableOptions = {}) =>
  entity(
    `${noun.replace(' ', '_')}_drafts`,
    `Draft ${noun}s, one row each; not live. A draft shares its id with the live ${noun} it came from or becomes.`,
    { ...shared, draft_hierarchy_version: f.integer(draftVersion), ...own },
    { ...options, ...indexed() },
  );
const draftVersion =
  'Grows with every change in the draft campaign and below it; null for drafts below a campaign as a rule.';

/** What ad sets and ads have, and their drafts only in part. */
const delivery = text('ON or OFF.');
const asset_format = text('AUDIO, VIDEO, IMAGE or CATALOG.');
const flight = {
  start_at: instant('When delivery starts or started (UTC).', 'start_time'),
  end_at: instant('When delivery is planned to end (UTC); null if it runs until it is stopped.', 'end_time'),
};
const rejection = {
  reject_reason: text('Why it was rejected.'),
  reject_reasons: json('Why it was rejected, in parts, as delivered.'),
};

export const businesses = entity('businesses', 'Businesses, the owners of ad accounts; one row each.', {
  id: id('Business'),
  name,
  type: text('ADVERTISER, AGENCY, MUSIC_ARTIST_CONCERT_PROMOTER or PODCAST_PROMOTER.'),
  status: text('Status as the source names it, e.g. ACTIVE.'),
  ...changed,
});

export const adAccounts = entity('ad_accounts', 'Ad accounts, one row each.', {
  id: id('Ad account'),
  business_id: text('The business it belongs to, see ads.businesses.id.'),
  name,
  status: text('Status as the source names it, e.g. ACTIVE, SUSPEND_LISTED.'),
  status_reason: text('Why it has that status.'),
  currency_code: text('ISO 4217 currency of every amount of the account.'),
  country_code: text('ISO 3166-1 alpha-2 country of the account.'),
  industry: text('Industry as listed.'),
  website: text('Website of the advertiser.'),
  legal_entity_name: text('Legal name of who pays.'),
  tax_id: text('Tax id on record.'),
  billing_address: json('Billing address as delivered.'),
  role: text("The sync account's own role, e.g. AD_ACCOUNT_VIEWER.", 'ad_account_role'),
  ...changed,
});

/** What campaigns and their drafts share. */
const campaignFields = inAccount('Campaign', {
  status: text('Status as the source names it, e.g. ACTIVE, PAUSED, ARCHIVED.'),
  objective: text('Objective, e.g. REACH, CLICKS; the platform is replacing it by delivery goals.'),
  delivery_goal_group: text('Group of delivery goals, e.g. AWARENESS.'),
  purchase_order: text("Purchase order number for the advertiser's own books."),
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
  channel: text('Booking channel.'),
  ad_product: text('Ad product.'),
  salesforce_opportunity: text('Opportunity code in Salesforce.'),
  salesforce_sales_order: text('Sales order code in Salesforce.'),
  media_plan_id: text('Media plan it belongs to.'),
  needs_advertiser_review: bool('True when the advertiser must look at it before it is published.'),
  modified_by_role: text('Who changed it last: ADVERTISER or IMPERSONATOR.'),
});

/** What ad sets and their drafts share. */
const adSetFields = inAccount('Ad set', {
  campaign_id: text('The campaign, see ads.campaigns.id (of a draft: ads.campaign_drafts.id).'),
  status: text('Status as the source names it, e.g. ACTIVE, COMPLETED, ARCHIVED.'),
  category: text('Advertising category, see ads.ad_categories.id.'),
  asset_format,
  delivery_goal: text('What delivery is optimised for.'),
  cost_model: text('How it is charged: CPM (per thousand impressions) or CPCL (per completed listen).'),
  pacing: text('How the budget is spread: PACING_EVEN or PACING_ASAP.'),
  ...flight,
  // The contract says that a budget is a micro-amount, and not how it is written.
  budget: micros(
    'Budget in units of budget_currency; a day or the lifetime, see budget_type.',
    ...['budget.micro_amount', 'budget.amount_micros', 'budget.amount', 'budget', 'budget_micro_amount'],
  ),
  budget_type: text('DAILY or LIFETIME.', 'budget.type', 'budget_type'),
  budget_currency: text(
    'ISO 4217 currency of its amounts, where given.',
    'budget.currency',
    'budget_currency',
  ),
  bid: micros('Bid in units of budget_currency, per 1000 impressions or per result.', 'bid_micro_amount'),
  bid_strategy: text('MAX_BID, COST_PER_RESULT or AUTOBID.'),
  base_rate: micros(
    'Base rate in budget_currency per 1000 impressions or actions.',
    'base_rate_micro_amount',
  ),
  cost_modifiers: json('Rates that modify the base rate, as delivered: id, name, rate (a factor).'),
  promotion: json('What is promoted (artist or podcast), as delivered.'),
  dataset_id: text('Dataset that conversions are counted with.'),
  mobile_app_id: text('Mobile app that is promoted.'),
  video_delivery_formats: texts('How videos are shown: IN_STREAM, OPT_IN.'),
  slot_positions: texts('Positions among the ads of a break.'),
  skad_enabled: bool("True where conversions are counted by Apple's SKAdNetwork."),
  targets: json('Targeting as delivered; of live ad sets one row a value in ads.ad_set_targets.'),
});

const adSetHistory = ['status', 'budget', 'budget_type', 'budget_currency', 'bid', 'bid_strategy'];
export const adSets = entity(
  'ad_sets',
  'Ad sets that are or were live, one row each: budget, bid, flight and targeting.',
  {
    ...adSetFields,
    delivery,
    is_paused: bool('True while it is paused.'),
    pause_reason: text('Why it is paused, e.g. USER_PAUSED.'),
    ...rejection,
    is_listed,
  },
  {
    others: ['frequency_caps'],
    children: targetingTables,
    parts: targetingOf,
    firstSynced,
    wide: true,
    ...indexed('campaign_id'),
    versions: versions('ad set', 'Status, budget and bid', adSetHistory),
  },
);

const adSetDraftFields = {
  frequency_caps: json('How often one person may hear it, as delivered.'),
  reservation_id: text('Reservation it uses.'),
  ias_campaign_id: text('Campaign at Integral Ad Science.'),
  success_metric: text('What success is measured by.'),
};
export const adSetDrafts = drafts('ad set', adSetFields, adSetDraftFields, { wide: true });

/** What ads and their drafts share. */
const adFields = inAccount('Ad', {
  ad_set_id: text('The ad set, see ads.ad_sets.id (of a draft: ads.ad_set_drafts.id).'),
  status: text('Status as the source names it, e.g. ACTIVE, APPROVED, ARCHIVED.'),
  advertiser_name: text('Name of the advertiser as listeners see it.'),
  tagline: text('Line of text shown with the ad.'),
  asset_id: text('The creative itself, see ads.assets.id.', 'assets.asset_id', 'assets.id'),
  companion_asset_id: text('The image shown beside it, see ads.assets.id.', 'assets.companion_asset_id'),
  logo_asset_id: text("The advertiser's logo, see ads.assets.id.", 'assets.logo_asset_id'),
  canvas_asset_id: text('The looping video behind it, see ads.assets.id.', 'assets.canvas_asset_id'),
  cta_key: text('Call to action: its key, e.g. LEARN_MORE.', 'call_to_action.key'),
  cta_text: text('Call to action: its words.', 'call_to_action.text'),
  cta_language: text('Call to action: its language.', 'call_to_action.language'),
  cta_url: text('Call to action: where a click leads.', 'call_to_action.clickthrough_url'),
  third_party_tracking: json('Measurement partners and their addresses, as delivered.'),
  catalog: json('Items of a carousel ad as delivered; prices in it are millionths of the currency unit.'),
  weight: f.decimal('Share in the rotation of its ad set, as given.'),
});

export const ads = entity(
  'ads',
  'Ads that are or were live, one row each.',
  {
    ...adFields,
    delivery,
    ...flight,
    ad_preview_url: text('Address of a preview.'),
    ...rejection,
    is_listed,
  },
  { firstSynced, ...indexed('ad_set_id') },
);

export const adDrafts = drafts('ad', adFields, {
  asset_format,
  placements: texts('Where it may be placed.'),
  dv_client_code: text('Client code at DoubleVerify.'),
});

export const assets = entity(
  'assets',
  'Images, audio and video files for ads, archived or not, one row each.',
  inAccount('Asset', {
    type: f.capitals('IMAGE, AUDIO or VIDEO.', 'asset_type', 'kind', 'type'),
    subtype: text('Kind within the type, e.g. USER_UPLOADED_AUDIO.', 'asset_subtype', 'audio_type'),
    status: text('ERROR, PROCESSING, READY or WAITING_UPLOAD.'),
    archived: bool('True for archived ones; null where the source does not say.'),
    url: text('Address of the file.'),
    file_type: text('File format, e.g. MP3, MP4, PNG.'),
    duration_ms: f.integer('Duration in milliseconds; null for images and until it is processed.'),
    width: f.integer('Width in pixels.'),
    height: f.integer('Height in pixels.'),
    aspect_ratio: text('Aspect ratio as the source names it, e.g. SQUARE.'),
    has_audio: bool('Video: true if it has sound.'),
    thumbnail_url: text('Video: address of a still.'),
  }),
  indexed(),
);

export const audiences = entity(
  'audiences',
  'Audiences to target, one row each; deleted ones keep their row.',
  inAccount('Audience', {
    description: text('Description.'),
    type: f.capitals('CUSTOM or LOOKALIKE.', 'type', 'kind'),
    subtype: text('Of custom ones: CUSTOMER_LIST, WEB_EVENT, AD_ENGAGEMENT or LIVERAMP.'),
    category: text('Category, e.g. ARTIST_AFFINITY.', 'audience_category'),
    status: text('Status as the source names it, e.g. LIVE, PROCESSING, ARCHIVED.'),
    size_min: f.integer('Lower end of the estimated number of people.', 'size.min'),
    size_max: f.integer('Upper end of the estimated number of people.', 'size.max'),
    sources: texts('Where its data come from.'),
    seed_audience_id: text('Of lookalikes: the audience it resembles, see ads.audiences.id.'),
    seed_audience_name: text('Of lookalikes: the name of that audience.'),
    lookalike_audience_ids: texts('Lookalikes made from it, see ads.audiences.id.'),
    datasets: json('Of web events: the datasets, as delivered.'),
    included_events: texts('Of web events: events that count.'),
    excluded_events: texts('Of web events: events that exclude.'),
    lookback_days: f.integer('Of web events: how many days are looked back.'),
    campaign_ids: texts('Of ad engagement: campaigns, see ads.campaigns.id.'),
    ad_set_ids: texts('Of ad engagement: ad sets, see ads.ad_sets.id.'),
    exposure_type: text('Of ad engagement: IMPRESSIONS or CLICKS.'),
    contract_audience_id: text('Id of the audience in a contract, where the source gives one.'),
  }),
  indexed(),
);

export const adCategories = entity('ad_categories', 'Advertising categories of the platform, one row each.', {
  id: key('Category id, e.g. ADV_21_182.'),
  name: text('Category and subcategory with " - " between them.'),
  parent_category: text('Name of the category above it.'),
});

export const targetNames = entity(
  'target_names',
  'Names of the ids that ad sets target; one row per dimension of ads.ad_set_targets and id in use.',
  {
    dimension: key('The dimension, see ads.ad_set_targets.dimension.'),
    id: key('The id, see ads.ad_set_targets.value.'),
    name,
    parent_name: text('Of places and interests: the name of what it is a part of.', 'parent_geo_name'),
    type: text('Of places: CITY, COUNTRY, DMA_REGION, POSTAL_CODE or REGION.'),
    country_code: text('Of places: ISO 3166-1 alpha-2 country.'),
    asked_on: f.requiredDay('Day in UTC on which it was last asked for.'),
  },
  { others: ['images', 'subtargets'] },
);

const day = (about: string) => ({ ...f.requiredDay(''), column: columns.date(about).key() });
export const totals = entity(
  'report_totals',
  'Numbers of accounts and campaigns over a period, people counted once; one row per entity and period, as last read.',
  {
    entity_type: key('AD_ACCOUNT or CAMPAIGN.'),
    entity_id: key('The entity: id in ads.ad_accounts or campaigns.'),
    period: key('MONTH, LAST_7_DAYS or LAST_30_DAYS.'),
    period_start: day('First day of the period (UTC).'),
    period_end: f.requiredDay('Last day of the period (UTC), inclusive.'),
    ...ofAccount,
    asked_on: f.requiredDay('Day in UTC on which it was last asked for.'),
    impressions: f.integer('Times shown or played on the platform.', 'IMPRESSIONS'),
    clicks: f.integer('Clicks.', 'CLICKS'),
    reach: f.integer('Different people reached in the period; never sum it over rows.', 'REACH'),
    frequency: f.decimal('Impressions by reach in the period, as reported; never sum it.', 'FREQUENCY'),
  },
);

const itemFields: f.Fields = {
  field_type: f.requiredText('Field as the platform calls it, e.g. bidAmount.'),
  display_label: text('Field as people read it.'),
  change_category: text('STATUS, BUDGET, TARGETING, CREATIVE, SCHEDULING, SETTINGS or BILLING.'),
  before: json('The value before, as delivered; amounts in it as the platform writes them.'),
  after: json('The value after, as delivered; amounts in it as the platform writes them.'),
};

const changeItems = columns.table(
  'ads.change_history_items',
  'The fields that a change changed; one row per change and field.',
  {
    change_id: columns.text('The change, see ads.change_history.id.').key(),
    item: columns.int('Place of the field within the change, from 0.').key(),
    ...f.columnsOf(itemFields),
  },
  { relation: true },
);

const readItem = f.readerOf(itemFields);

const itemsOf = (r: Reading, record: JsonObject, change_id: string): Omit<Mapped, 'row'> => {
  const read = (each: Json, item: number) => {
    const at = r.element('changes', item);
    if (!isObject(each)) throw at.reject('bad_type', '', 'has a % that is no object');
    return [{ change_id, item, ...readItem(at, each, {}, 'changes[].') }];
  };
  const items = r.parts('items', list(r, record, 'changes'), read, (item) => ({ change_id, item }));
  const isWhole = Array.isArray(own(record, 'changes') ?? []);
  return { children: { items }, ...(!isWhole && { partial: ['items'] }) };
};

/** A change is history: without its id, time and subject it is rejected. */
export const changeHistory = entity(
  'change_history',
  'Who changed what at the platform, one row a change; the source forgets after 180 days, the warehouse does not.',
  {
    id: key('Change id of the source; a UUID as a rule.', 'change_id'),
    ...ofAccount,
    changed_at: f.requiredInstant('When it was changed (UTC).', 'timestamp'),
    entity_type: f.requiredText('What kind of thing was changed, e.g. CAMPAIGN, AD_SET, CREATIVE.'),
    entity_id: f.requiredText('Its id.'),
    entity_name: text('Its name when the change was last read.'),
    operation: text('CREATED, CHANGED or REMOVED.'),
    actor_id: text('Id of who or what changed it.', 'actor.principal_id'),
    actor_type: text('USER or SERVICE.', 'actor.principal_type'),
    actor_name: text('Name of who or what changed it.', 'actor.name'),
    actor_email: text("The person's e-mail address, where the sync account may see it.", 'actor.email'),
    actor_category: text('ADVERTISER_USER, SUPPORT, API_INTEGRATION, SYSTEM or UNKNOWN.', 'actor.category'),
  },
  {
    others: ['changes'],
    children: { items: { table: changeItems, parent: ['change_id'], absent: 'deleted' } },
    parts: itemsOf,
    indexes: ['(changed_at)', '(source_id, entity_id, changed_at)'],
  },
);
