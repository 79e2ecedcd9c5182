/**
 * The live objects of the ads platform. Ids are text as the source gives them (UUIDs), instants are UTC, amounts are exact decimals in
 * currency units with six digits after the point. Times of change may be missing (the contract promises none), so an older record is
 * told from a newer one by when it was read.
 */
import {
  bigint,
  bool,
  type Child,
  type Content,
  int,
  jsonb,
  money,
  numeric,
  type RowOf,
  table,
  text,
  texts,
  timestamptz,
} from '../../../core/table.ts';

/** When the source made and last changed it. */
const changed = {
  created_at: timestamptz('When it was created (UTC), where the source says.').nullable(),
  updated_at: timestamptz('When the source last changed it (UTC), where it says.').nullable(),
};

/** The comment of `_first_synced_at`. */
const firstSynced = 'When the row came to be here (UTC). Its reports from before are read when it does.';

export const businesses = table('ads.businesses', 'Businesses, the owners of ad accounts; one row each.', {
  id: text('Business id of the source; a UUID as a rule.').key(),
  name: text('Name as people see it.').nullable(),
  type: text('ADVERTISER, AGENCY, MUSIC_ARTIST_CONCERT_PROMOTER or PODCAST_PROMOTER.').nullable(),
  status: text('Status as the source names it, e.g. ACTIVE.').nullable(),
  ...changed,
});
export type BusinessRow = RowOf<typeof businesses>;

export const adAccounts = table('ads.ad_accounts', 'Ad accounts, one row each.', {
  id: text('Ad account id of the source; a UUID as a rule.').key(),
  business_id: text('The business it belongs to, see ads.businesses.id.').nullable(),
  name: text('Name as people see it.').nullable(),
  status: text('Status as the source names it, e.g. ACTIVE, SUSPEND_LISTED.').nullable(),
  status_reason: text('Why it has that status.').nullable(),
  currency_code: text('ISO 4217 currency of every amount of the account.').nullable(),
  country_code: text('ISO 3166-1 alpha-2 country of the account.').nullable(),
  industry: text('Industry as listed.').nullable(),
  website: text('Website of the advertiser.').nullable(),
  legal_entity_name: text('Legal name of who pays.').nullable(),
  tax_id: text('Tax id on record.').nullable(),
  billing_address: jsonb('Billing address as delivered.').nullable(),
  role: text("The sync account's own role, e.g. AD_ACCOUNT_VIEWER.").nullable(),
  ...changed,
});
export type AdAccountRow = RowOf<typeof adAccounts>;

/** The columns that campaigns and their drafts share. */
export const campaignColumns = {
  id: text('Campaign id of the source; a UUID as a rule.').key(),
  ad_account_id: text('The ad account it belongs to, see ads.ad_accounts.id.'),
  name: text('Name as people see it.').nullable(),
  status: text('Status as the source names it, e.g. ACTIVE, PAUSED, ARCHIVED.').nullable(),
  objective: text(
    'Objective as the source names it, e.g. REACH, CLICKS; the platform is replacing it by delivery goals.',
  ).nullable(),
  delivery_goal_group: text('Group of delivery goals, e.g. AWARENESS.').nullable(),
  purchase_order: text("Purchase order number for the advertiser's own books.").nullable(),
  ...changed,
};
export type CampaignContent = Content<typeof campaignColumns>;

export const campaigns = table(
  'ads.campaigns',
  'Campaigns that are or were live, one row each; the platform archives them and never deletes.',
  campaignColumns,
  {
    firstSynced,
    indexes: ['(source_id, ad_account_id)'],
    versions: {
      into: 'ads.campaign_versions',
      about:
        'Name, status and objective of campaigns over time; one row per campaign and version. Seen, so as fine as the sync is frequent.',
      columns: ['name', 'status', 'objective'],
      changed: 'updated_at',
    },
  },
);
export type CampaignRow = RowOf<typeof campaigns>;

/** The columns that ad sets and their drafts share. */
export const adSetColumns = {
  id: text('Ad set id of the source; a UUID as a rule.').key(),
  ad_account_id: text('The ad account it belongs to, see ads.ad_accounts.id.'),
  campaign_id: text('The campaign, see ads.campaigns.id (of a draft: ads.campaign_drafts.id).').nullable(),
  name: text('Name as people see it.').nullable(),
  status: text('Status as the source names it, e.g. ACTIVE, COMPLETED, ARCHIVED.').nullable(),
  category: text('Advertising category, see ads.ad_categories.id.').nullable(),
  asset_format: text('AUDIO, VIDEO, IMAGE or CATALOG.').nullable(),
  delivery_goal: text('What delivery is optimised for.').nullable(),
  cost_model: text(
    'How it is charged: CPM (per thousand impressions) or CPCL (per completed listen).',
  ).nullable(),
  pacing: text('How the budget is spread: PACING_EVEN or PACING_ASAP.').nullable(),
  start_at: timestamptz('When delivery starts or started (UTC).').nullable(),
  end_at: timestamptz(
    'When delivery is planned to end (UTC); null if it runs until it is stopped.',
  ).nullable(),
  budget: money('Budget in units of budget_currency; a day or the lifetime, see budget_type.').nullable(),
  budget_type: text('DAILY or LIFETIME.').nullable(),
  budget_currency: text(
    "ISO 4217 currency of budget, bid and base rate: the ad account's; null where the source does not repeat it.",
  ).nullable(),
  bid: money(
    'Bid in units of budget_currency, per 1000 impressions or per result as the bid strategy says.',
  ).nullable(),
  bid_strategy: text('MAX_BID, COST_PER_RESULT or AUTOBID.').nullable(),
  base_rate: money('Base rate in units of budget_currency, per 1000 impressions or actions.').nullable(),
  cost_modifiers: jsonb(
    'Rates that modify the base rate, as delivered: id, name, rate (a factor).',
  ).nullable(),
  promotion: jsonb('What is promoted (artist or podcast), as delivered.').nullable(),
  dataset_id: text('Dataset that conversions are counted with.').nullable(),
  mobile_app_id: text('Mobile app that is promoted.').nullable(),
  video_delivery_formats: texts('How videos are shown: IN_STREAM, OPT_IN.'),
  slot_positions: texts('Positions among the ads of a break.'),
  skad_enabled: bool("True where conversions are counted by Apple's SKAdNetwork.").nullable(),
  targets: jsonb('Targeting as delivered; of live ad sets one row a value in ads.ad_set_targets.').nullable(),
  ...changed,
};
export type AdSetContent = Content<typeof adSetColumns>;

export const adSets = table(
  'ads.ad_sets',
  'Ad sets that are or were live, one row each: budget, bid, flight and targeting.',
  {
    ...adSetColumns,
    delivery: text('ON or OFF.').nullable(),
    is_paused: bool('True while it is paused.').nullable(),
    pause_reason: text('Why it is paused, e.g. USER_PAUSED.').nullable(),
    reject_reason: text('Why it was rejected.').nullable(),
    reject_reasons: jsonb('Why it was rejected, in parts, as delivered.').nullable(),
  },
  {
    firstSynced,
    wide: true,
    indexes: ['(source_id, ad_account_id)', '(source_id, campaign_id)'],
    versions: {
      into: 'ads.ad_set_versions',
      about:
        'Status, budget and bid of ad sets over time; one row per ad set and version. Seen, so as fine as the sync is frequent.',
      columns: ['status', 'budget', 'budget_type', 'budget_currency', 'bid', 'bid_strategy'],
      changed: 'updated_at',
    },
  },
);
export type AdSetRow = RowOf<typeof adSets>;

export const adSetTargets = table(
  'ads.ad_set_targets',
  'Targeting of ad sets, exploded; one row per ad set, dimension and value.',
  {
    ad_set_id: text('The ad set, see ads.ad_sets.id.').key(),
    dimension: text(
      'What is targeted: the name in targets, nested ones with a dot, e.g. genders, geo_targets.country_code, audience_ids_exclusions.',
    ).key(),
    value: text(
      'One value as text: 18-24 for age_ranges, MONDAY 9-17 for user_day_parts (hours inclusive), topic=filter for sensitive topics.',
    ).key(),
  },
  { relation: true, indexes: ['(source_id, dimension, value)'] },
);
export type AdSetTargetRow = RowOf<typeof adSetTargets>;

export const adSetFrequencyCaps = table(
  'ads.ad_set_frequency_caps',
  'How often one person may hear an ad set; one row per ad set and cap.',
  {
    ad_set_id: text('The ad set, see ads.ad_sets.id.').key(),
    unit: text('DAY, WEEK or MONTH.').key(),
    period: int('How many of these units.').key(),
    max_impressions: int('At most so many impressions a person in that time.').key(),
  },
  { relation: true },
);
export type AdSetFrequencyCapRow = RowOf<typeof adSetFrequencyCaps>;

export const adSetPlacements = table(
  'ads.ad_set_placements',
  'Where ad sets are placed; one row per ad set and placement.',
  {
    ad_set_id: text('The ad set, see ads.ad_sets.id.').key(),
    placement: text('MUSIC or PODCAST, or what the source names.').key(),
  },
  { relation: true },
);
export type AdSetPlacementRow = RowOf<typeof adSetPlacements>;

/** The columns that ads and their drafts share. */
export const adColumns = {
  id: text('Ad id of the source; a UUID as a rule.').key(),
  ad_account_id: text('The ad account it belongs to, see ads.ad_accounts.id.'),
  ad_set_id: text('The ad set, see ads.ad_sets.id (of a draft: ads.ad_set_drafts.id).').nullable(),
  name: text('Name as people see it.').nullable(),
  status: text('Status as the source names it, e.g. ACTIVE, APPROVED, ARCHIVED.').nullable(),
  advertiser_name: text('Name of the advertiser as listeners see it.').nullable(),
  tagline: text('Line of text shown with the ad.').nullable(),
  asset_id: text('The creative itself, see ads.assets.id.').nullable(),
  companion_asset_id: text('The image shown beside it, see ads.assets.id.').nullable(),
  logo_asset_id: text("The advertiser's logo, see ads.assets.id.").nullable(),
  canvas_asset_id: text('The looping video behind it, see ads.assets.id.').nullable(),
  cta_key: text('Call to action: its key, e.g. LEARN_MORE.').nullable(),
  cta_text: text('Call to action: its words.').nullable(),
  cta_language: text('Call to action: its language.').nullable(),
  cta_url: text('Call to action: where a click leads.').nullable(),
  third_party_tracking: jsonb('Measurement partners and their addresses, as delivered.').nullable(),
  catalog: jsonb(
    'Items of a carousel ad as delivered; prices in it are millionths of the currency unit.',
  ).nullable(),
  weight: numeric('Share in the rotation of its ad set, as given.').nullable(),
  ...changed,
};
export type AdContent = Content<typeof adColumns>;

export const ads = table(
  'ads.ads',
  'Ads that are or were live, one row each.',
  {
    ...adColumns,
    delivery: text('ON or OFF.').nullable(),
    start_at: timestamptz('When delivery starts or started (UTC).').nullable(),
    end_at: timestamptz(
      'When delivery is planned to end (UTC); null if it runs until it is stopped.',
    ).nullable(),
    ad_preview_url: text('Address of a preview.').nullable(),
    reject_reason: text('Why it was rejected.').nullable(),
    reject_reasons: jsonb('Why it was rejected, in parts, as delivered.').nullable(),
  },
  { firstSynced, indexes: ['(source_id, ad_account_id)', '(source_id, ad_set_id)'] },
);
export type AdRow = RowOf<typeof ads>;

export const assets = table(
  'ads.assets',
  'Images, audio and video files for ads, archived or not, one row each.',
  {
    id: text('Asset id of the source; a UUID as a rule.').key(),
    ad_account_id: text('The ad account it belongs to, see ads.ad_accounts.id.'),
    name: text('Name as people see it.').nullable(),
    type: text('IMAGE, AUDIO or VIDEO.').nullable(),
    subtype: text('Kind within the type, e.g. USER_UPLOADED_AUDIO.').nullable(),
    status: text('ERROR, PROCESSING, READY or WAITING_UPLOAD.').nullable(),
    archived: bool('True for archived ones; null where the source does not say.').nullable(),
    url: text('Address of the file.').nullable(),
    file_type: text('File format, e.g. MP3, MP4, PNG.').nullable(),
    duration_ms: bigint('Duration in milliseconds; null for images and until it is processed.').nullable(),
    width: bigint('Width in pixels.').nullable(),
    height: bigint('Height in pixels.').nullable(),
    aspect_ratio: text('Aspect ratio as the source names it, e.g. SQUARE.').nullable(),
    has_audio: bool('Video: true if it has sound.').nullable(),
    thumbnail_url: text('Video: address of a still.').nullable(),
    ...changed,
  },
  { indexes: ['(source_id, ad_account_id)'] },
);
export type AssetRow = RowOf<typeof assets>;

export const audiences = table(
  'ads.audiences',
  'Audiences to target, one row each; deleted ones keep their row.',
  {
    id: text('Audience id of the source; a UUID as a rule.').key(),
    ad_account_id: text('The ad account it belongs to, see ads.ad_accounts.id.'),
    name: text('Name as people see it.').nullable(),
    description: text('Description.').nullable(),
    type: text('CUSTOM or LOOKALIKE.').nullable(),
    subtype: text('Of custom ones: CUSTOMER_LIST, WEB_EVENT, AD_ENGAGEMENT or LIVERAMP.').nullable(),
    category: text('Category, e.g. ARTIST_AFFINITY.').nullable(),
    status: text('Status as the source names it, e.g. LIVE, PROCESSING, ARCHIVED.').nullable(),
    size_min: bigint('Lower end of the estimated number of people.').nullable(),
    size_max: bigint('Upper end of the estimated number of people.').nullable(),
    sources: texts('Where its data come from.'),
    seed_audience_id: text('Of lookalikes: the audience it resembles, see ads.audiences.id.').nullable(),
    seed_audience_name: text('Of lookalikes: the name of that audience.').nullable(),
    lookalike_audience_ids: texts('Lookalikes made from it, see ads.audiences.id.'),
    datasets: jsonb('Of web events: the datasets, as delivered.').nullable(),
    included_events: texts('Of web events: events that count.'),
    excluded_events: texts('Of web events: events that exclude.'),
    lookback_days: bigint('Of web events: how many days are looked back.').nullable(),
    campaign_ids: texts('Of ad engagement: campaigns, see ads.campaigns.id.'),
    ad_set_ids: texts('Of ad engagement: ad sets, see ads.ad_sets.id.'),
    exposure_type: text('Of ad engagement: IMPRESSIONS or CLICKS.').nullable(),
    contract_audience_id: text('Id of the audience in a contract, where the source gives one.').nullable(),
    ...changed,
  },
  { indexes: ['(source_id, ad_account_id)'] },
);
export type AudienceRow = RowOf<typeof audiences>;

export const adCategories = table(
  'ads.ad_categories',
  'Advertising categories of the platform, one row each.',
  {
    id: text('Category id, e.g. ADV_21_182.').key(),
    name: text('Category and subcategory with " - " between them.').nullable(),
    parent_category: text('Name of the category above it.').nullable(),
  },
);
export type AdCategoryRow = RowOf<typeof adCategories>;

export const changeHistory = table(
  'ads.change_history',
  'Who changed what at the platform, one row a change; the source forgets after 180 days, the warehouse does not.',
  {
    id: text('Change id of the source; a UUID as a rule.').key(),
    ad_account_id: text('The ad account it belongs to, see ads.ad_accounts.id.'),
    changed_at: timestamptz('When it was changed (UTC).'),
    entity_type: text('What kind of thing was changed, e.g. CAMPAIGN, AD_SET, CREATIVE.'),
    entity_id: text('Its id.'),
    entity_name: text('Its name when the change was last read.').nullable(),
    operation: text('CREATED, CHANGED or REMOVED.').nullable(),
    actor_id: text('Id of who or what changed it.').nullable(),
    actor_type: text('USER or SERVICE.').nullable(),
    actor_name: text('Name of who or what changed it.').nullable(),
    actor_email: text("The person's e-mail address, where the sync account may see it.").nullable(),
    actor_category: text('ADVERTISER_USER, SUPPORT, API_INTEGRATION, SYSTEM or UNKNOWN.').nullable(),
  },
  { indexes: ['(changed_at)', '(source_id, entity_id, changed_at)'] },
);
export type ChangeRow = RowOf<typeof changeHistory>;

export const changeHistoryItems = table(
  'ads.change_history_items',
  'The fields that a change changed; one row per change and field.',
  {
    change_id: text('The change, see ads.change_history.id.').key(),
    item: int('Place of the field within the change, from 0.').key(),
    field_type: text('Field as the platform calls it, e.g. bidAmount.'),
    display_label: text('Field as people read it.').nullable(),
    change_category: text('STATUS, BUDGET, TARGETING, CREATIVE, SCHEDULING, SETTINGS or BILLING.').nullable(),
    before: jsonb('The value before, as delivered; amounts in it as the platform writes them.').nullable(),
    after: jsonb('The value after, as delivered; amounts in it as the platform writes them.').nullable(),
  },
  { relation: true },
);
export type ChangeItemRow = RowOf<typeof changeHistoryItems>;

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
