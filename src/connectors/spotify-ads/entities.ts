/**
 * Everything of the ads platform but ad sets and reports: tables and transforms from one list of fields each. The contract
 * promises little of a record, so only its id is required; what is missing is null. Ids are text as the source gives them
 * (UUIDs), instants are UTC. Times of change may be missing, so records without one are ordered by when they were read.
 * Members are named as in the vendor's OpenAPI, other names as in the contract.
 */

import { isObject, type JsonObject, own } from '../../core/record-object.ts';
import type { Reading } from '../../core/record-reader.ts';
import { list } from '../../core/record-values.ts';
import type { Mapped } from '../../core/stream.ts';
import * as columns from '../../core/table.ts';
import {
  bool,
  capitals,
  columnsOf,
  decimal,
  entity,
  type Fields,
  instant,
  integer,
  json,
  key,
  owner,
  readerOf,
  requiredInstant,
  requiredText,
  text,
  texts,
} from './fields.ts';

/** When the source made and last changed it. */
export const changed = {
  created_at: instant('When it was created (UTC), where the source says.'),
  updated_at: instant('When the source last changed it (UTC), where it says.'),
};

/** The comment of `_first_synced_at`. */
export const firstSynced =
  'When the row came to be here (UTC). Its reports from before are read when it does.';

export const ofAccount = { ad_account_id: owner('The ad account it belongs to, see ads.ad_accounts.id.') };

/** What only drafts have. */
export const draftVersion = {
  draft_hierarchy_version: integer(
    'Grows with every change in the draft campaign and below it; null for drafts below a campaign as a rule.',
  ),
};

export const businesses = entity(
  'ads.businesses',
  'business',
  'Businesses, the owners of ad accounts; one row each.',
  {
    id: key('Business id of the source; a UUID as a rule.'),
    name: text('Name as people see it.'),
    type: text('ADVERTISER, AGENCY, MUSIC_ARTIST_CONCERT_PROMOTER or PODCAST_PROMOTER.'),
    status: text('Status as the source names it, e.g. ACTIVE.'),
    ...changed,
  },
);

export const adAccounts = entity('ads.ad_accounts', 'ad account', 'Ad accounts, one row each.', {
  id: key('Ad account id of the source; a UUID as a rule.'),
  business_id: text('The business it belongs to, see ads.businesses.id.'),
  name: text('Name as people see it.'),
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
const campaignFields = {
  id: key('Campaign id of the source; a UUID as a rule.'),
  ...ofAccount,
  name: text('Name as people see it.'),
  status: text('Status as the source names it, e.g. ACTIVE, PAUSED, ARCHIVED.'),
  objective: text(
    'Objective as the source names it, e.g. REACH, CLICKS; the platform is replacing it by delivery goals.',
  ),
  delivery_goal_group: text('Group of delivery goals, e.g. AWARENESS.'),
  purchase_order: text("Purchase order number for the advertiser's own books."),
  ...changed,
};

export const campaigns = entity(
  'ads.campaigns',
  'campaign',
  'Campaigns that are or were live, one row each; the platform archives them and never deletes.',
  campaignFields,
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

export const campaignDrafts = entity(
  'ads.campaign_drafts',
  'draft campaign',
  'Draft campaigns, one row each; not live. A draft shares its id with the live campaign it came from or becomes.',
  {
    ...campaignFields,
    ...draftVersion,
    channel: text('Booking channel.'),
    ad_product: text('Ad product.'),
    salesforce_opportunity: text('Opportunity code in Salesforce.'),
    salesforce_sales_order: text('Sales order code in Salesforce.'),
    media_plan_id: text('Media plan it belongs to.'),
    needs_advertiser_review: bool('True when the advertiser must look at it before it is published.'),
    modified_by_role: text('Who changed it last: ADVERTISER or IMPERSONATOR.'),
  },
  { indexes: ['(source_id, ad_account_id)'] },
);

/** What ads and their drafts share. */
const adFields = {
  id: key('Ad id of the source; a UUID as a rule.'),
  ...ofAccount,
  ad_set_id: text('The ad set, see ads.ad_sets.id (of a draft: ads.ad_set_drafts.id).'),
  name: text('Name as people see it.'),
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
  weight: decimal('Share in the rotation of its ad set, as given.'),
  ...changed,
};

export const ads = entity(
  'ads.ads',
  'ad',
  'Ads that are or were live, one row each.',
  {
    ...adFields,
    delivery: text('ON or OFF.'),
    start_at: instant('When delivery starts or started (UTC).', 'start_time'),
    end_at: instant(
      'When delivery is planned to end (UTC); null if it runs until it is stopped.',
      'end_time',
    ),
    ad_preview_url: text('Address of a preview.'),
    reject_reason: text('Why it was rejected.'),
    reject_reasons: json('Why it was rejected, in parts, as delivered.'),
  },
  { firstSynced, indexes: ['(source_id, ad_account_id)', '(source_id, ad_set_id)'] },
);

export const adDrafts = entity(
  'ads.ad_drafts',
  'draft ad',
  'Draft ads, one row each; not live. A draft shares its id with the live ad it came from or becomes.',
  {
    ...adFields,
    ...draftVersion,
    asset_format: text('AUDIO, VIDEO, IMAGE or CATALOG.'),
    placements: texts('Where it may be placed.'),
    dv_client_code: text('Client code at DoubleVerify.'),
  },
  { indexes: ['(source_id, ad_account_id)'] },
);

export const assets = entity(
  'ads.assets',
  'asset',
  'Images, audio and video files for ads, archived or not, one row each.',
  {
    id: key('Asset id of the source; a UUID as a rule.'),
    ...ofAccount,
    name: text('Name as people see it.'),
    type: capitals('IMAGE, AUDIO or VIDEO.', 'asset_type', 'kind', 'type'),
    subtype: text('Kind within the type, e.g. USER_UPLOADED_AUDIO.', 'asset_subtype', 'audio_type'),
    status: text('ERROR, PROCESSING, READY or WAITING_UPLOAD.'),
    archived: bool('True for archived ones; null where the source does not say.'),
    url: text('Address of the file.'),
    file_type: text('File format, e.g. MP3, MP4, PNG.'),
    duration_ms: integer('Duration in milliseconds; null for images and until it is processed.'),
    width: integer('Width in pixels.'),
    height: integer('Height in pixels.'),
    aspect_ratio: text('Aspect ratio as the source names it, e.g. SQUARE.'),
    has_audio: bool('Video: true if it has sound.'),
    thumbnail_url: text('Video: address of a still.'),
    ...changed,
  },
  { indexes: ['(source_id, ad_account_id)'] },
);

export const audiences = entity(
  'ads.audiences',
  'audience',
  'Audiences to target, one row each; deleted ones keep their row.',
  {
    id: key('Audience id of the source; a UUID as a rule.'),
    ...ofAccount,
    name: text('Name as people see it.'),
    description: text('Description.'),
    type: capitals('CUSTOM or LOOKALIKE.', 'type', 'kind'),
    subtype: text('Of custom ones: CUSTOMER_LIST, WEB_EVENT, AD_ENGAGEMENT or LIVERAMP.'),
    category: text('Category, e.g. ARTIST_AFFINITY.', 'audience_category'),
    status: text('Status as the source names it, e.g. LIVE, PROCESSING, ARCHIVED.'),
    size_min: integer('Lower end of the estimated number of people.', 'size.min'),
    size_max: integer('Upper end of the estimated number of people.', 'size.max'),
    sources: texts('Where its data come from.'),
    seed_audience_id: text('Of lookalikes: the audience it resembles, see ads.audiences.id.'),
    seed_audience_name: text('Of lookalikes: the name of that audience.'),
    lookalike_audience_ids: texts('Lookalikes made from it, see ads.audiences.id.'),
    datasets: json('Of web events: the datasets, as delivered.'),
    included_events: texts('Of web events: events that count.'),
    excluded_events: texts('Of web events: events that exclude.'),
    lookback_days: integer('Of web events: how many days are looked back.'),
    campaign_ids: texts('Of ad engagement: campaigns, see ads.campaigns.id.'),
    ad_set_ids: texts('Of ad engagement: ad sets, see ads.ad_sets.id.'),
    exposure_type: text('Of ad engagement: IMPRESSIONS or CLICKS.'),
    contract_audience_id: text('Id of the audience in a contract, where the source gives one.'),
    ...changed,
  },
  { indexes: ['(source_id, ad_account_id)'] },
);

export const adCategories = entity(
  'ads.ad_categories',
  'category',
  'Advertising categories of the platform, one row each.',
  {
    id: key('Category id, e.g. ADV_21_182.'),
    name: text('Category and subcategory with " - " between them.'),
    parent_category: text('Name of the category above it.'),
  },
);

const itemFields: Fields = {
  field_type: requiredText('Field as the platform calls it, e.g. bidAmount.'),
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
    ...columnsOf(itemFields),
  },
  { relation: true },
);

const readItem = readerOf(itemFields);

const itemsOf = (r: Reading, record: JsonObject, id: string): Pick<Mapped, 'children' | 'partial'> => {
  const items = list(r, record, 'changes').map((item, index) => {
    if (!isObject(item)) throw r.reject('bad_type', `changes[${index}]`, 'has a % that is no object');
    const content = readItem(r.element('changes', index), item, {}, 'changes[].');
    return { change_id: id, item: index, ...content };
  });
  const isWhole = Array.isArray(own(record, 'changes') ?? []);
  return { children: { items }, ...(!isWhole && { partial: ['items'] }) };
};

/** A change is history: without its id, time and subject it is rejected. */
export const changeHistory = entity(
  'ads.change_history',
  'change',
  'Who changed what at the platform, one row a change; the source forgets after 180 days, the warehouse does not.',
  {
    id: key('Change id of the source; a UUID as a rule.', 'change_id'),
    ...ofAccount,
    changed_at: requiredInstant('When it was changed (UTC).', 'timestamp'),
    entity_type: requiredText('What kind of thing was changed, e.g. CAMPAIGN, AD_SET, CREATIVE.'),
    entity_id: requiredText('Its id.'),
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
