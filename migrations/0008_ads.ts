import { type Kysely, sql } from 'kysely';

/**
 * The advertising platform's tables: entities and drafts with tombstones, what hangs on them, their versions; the numbers of reports by day,
 * hour, lifetime, audience and name, and what was said of them before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

type Columns = Readonly<Record<string, readonly [type: string, about: string]>>;

interface Made {
  readonly about: string;
  /** Key columns behind source_id. */
  readonly key: string;
  /** entity: tombstones, content hash, what has no column. relation: what was written when. fact: the same, and since when it is known. */
  readonly kind: 'entity' | 'relation' | 'fact' | 'history';
  /** Type and comment of each column. */
  readonly columns: Columns;
  readonly indexes?: readonly string[];
  /** Rows of about 2 to 8 kB: without this Postgres compresses each of them twice, once staged and once here. */
  readonly wide?: boolean;
  /** The partition key and the partitions: name behind the table's, lower and upper bound. */
  readonly partitions?: {
    readonly by: string;
    readonly ranges: readonly (readonly [string, string, string])[];
  };
}

const id = (what: string): readonly [string, string] => [
  'text not null',
  `${what} id of the source; a UUID as a rule.`,
];
const account: readonly [string, string] = [
  'text not null',
  'The ad account it belongs to, see ads.ad_accounts.id.',
];
const name: readonly [string, string] = ['text', 'Name as people see it.'];
const created: Columns = {
  created_at: ['timestamptz', 'When it was created (UTC), where the source says.'],
  updated_at: ['timestamptz', 'When the source last changed it (UTC), where it says.'],
};
const flight: Columns = {
  start_at: ['timestamptz', 'When delivery starts or started (UTC).'],
  end_at: ['timestamptz', 'When delivery is planned to end (UTC); null if it runs until it is stopped.'],
};

const campaign: Columns = {
  id: id('Campaign'),
  ad_account_id: account,
  name,
  status: ['text', 'Status as the source names it, e.g. ACTIVE, PAUSED, ARCHIVED.'],
  objective: [
    'text',
    'Objective as the source names it, e.g. REACH, CLICKS; the platform is replacing it by delivery goals.',
  ],
  delivery_goal_group: ['text', 'Group of delivery goals, e.g. AWARENESS.'],
  purchase_order: ['text', "Purchase order number for the advertiser's own books."],
  ...created,
};

const adSet: Columns = {
  id: id('Ad set'),
  ad_account_id: account,
  campaign_id: ['text', 'The campaign, see ads.campaigns.id (of a draft: ads.campaign_drafts.id).'],
  name,
  status: ['text', 'Status as the source names it, e.g. ACTIVE, COMPLETED, ARCHIVED.'],
  category: ['text', 'Advertising category, see ads.ad_categories.id.'],
  asset_format: ['text', 'AUDIO, VIDEO, IMAGE or CATALOG.'],
  delivery_goal: ['text', 'What delivery is optimised for.'],
  cost_model: ['text', 'How it is charged: CPM (per thousand impressions) or CPCL (per completed listen).'],
  pacing: ['text', 'How the budget is spread: PACING_EVEN or PACING_ASAP.'],
  ...flight,
  budget: ['numeric(18,6)', 'Budget in units of budget_currency; a day or the lifetime, see budget_type.'],
  budget_type: ['text', 'DAILY or LIFETIME.'],
  budget_currency: [
    'text',
    "ISO 4217 currency of budget, bid and base rate: the ad account's; null where the source does not repeat it.",
  ],
  bid: [
    'numeric(18,6)',
    'Bid in units of budget_currency, per 1000 impressions or per result as the bid strategy says.',
  ],
  bid_strategy: ['text', 'MAX_BID, COST_PER_RESULT or AUTOBID.'],
  base_rate: ['numeric(18,6)', 'Base rate in units of budget_currency, per 1000 impressions or actions.'],
  cost_modifiers: ['jsonb', 'Rates that modify the base rate, as delivered: id, name, rate (a factor).'],
  promotion: ['jsonb', 'What is promoted (artist or podcast), as delivered.'],
  dataset_id: ['text', 'Dataset that conversions are counted with.'],
  mobile_app_id: ['text', 'Mobile app that is promoted.'],
  video_delivery_formats: ["text[] not null default '{}'", 'How videos are shown: IN_STREAM, OPT_IN.'],
  slot_positions: ["text[] not null default '{}'", 'Positions among the ads of a break.'],
  skad_enabled: ['boolean', "True where conversions are counted by Apple's SKAdNetwork."],
  targets: ['jsonb', 'Targeting as delivered; of live ad sets one row a value in ads.ad_set_targets.'],
  ...created,
};

const ad: Columns = {
  id: id('Ad'),
  ad_account_id: account,
  ad_set_id: ['text', 'The ad set, see ads.ad_sets.id (of a draft: ads.ad_set_drafts.id).'],
  name,
  status: ['text', 'Status as the source names it, e.g. ACTIVE, APPROVED, ARCHIVED.'],
  advertiser_name: ['text', 'Name of the advertiser as listeners see it.'],
  tagline: ['text', 'Line of text shown with the ad.'],
  asset_id: ['text', 'The creative itself, see ads.assets.id.'],
  companion_asset_id: ['text', 'The image shown beside it, see ads.assets.id.'],
  logo_asset_id: ['text', "The advertiser's logo, see ads.assets.id."],
  canvas_asset_id: ['text', 'The looping video behind it, see ads.assets.id.'],
  cta_key: ['text', 'Call to action: its key, e.g. LEARN_MORE.'],
  cta_text: ['text', 'Call to action: its words.'],
  cta_language: ['text', 'Call to action: its language.'],
  cta_url: ['text', 'Call to action: where a click leads.'],
  third_party_tracking: ['jsonb', 'Measurement partners and their addresses, as delivered.'],
  catalog: [
    'jsonb',
    'Items of a carousel ad as delivered; prices in it are millionths of the currency unit.',
  ],
  weight: ['numeric', 'Share in the rotation of its ad set, as given.'],
  ...created,
};

const version: Columns = {
  draft_hierarchy_version: [
    'bigint',
    'Grows with every change in the draft campaign and below it; null for drafts below a campaign as a rule.',
  ],
};

/** Letters: a aggregate reports, i insight reports, c CSV reports; h: the platform may hide it. */
const metrics: Readonly<
  Record<string, readonly [kind: 'count' | 'money' | 'rate', letters: string, about: string]>
> = {
  spend: ['money', 'ac', "Spend in units of the ad account's currency, as reported (not millionths)."],
  impressions: ['count', 'aic', 'Times shown or played on the platform.'],
  off_platform_impressions: ['count', 'ac', 'Times shown or played elsewhere.'],
  streamed_impressions: ['count', 'ai', 'Impressions that were streamed.'],
  clicks: ['count', 'aic', 'Clicks.'],
  ctr: ['rate', 'aic', 'Clicks by impressions, as reported.'],
  cpm: ['rate', 'c', "Cost of a thousand impressions in the ad account's currency, as reported."],
  reach: ['count', 'aic', 'Different people reached in the period of the row; never sum it over rows.'],
  frequency: ['rate', 'ac', 'Impressions by reach in the period of the row, as reported; never sum it.'],
  starts: ['count', 'ac', 'Times playing began.'],
  first_quartiles: ['count', 'aic', 'Times a quarter was played.'],
  midpoints: ['count', 'aic', 'Times half was played.'],
  third_quartiles: ['count', 'aic', 'Times three quarters were played.'],
  played_to_end: ['count', 'c', 'Times played to 100 percent, as CSV reports count it.'],
  completes: ['count', 'aic', 'Times played to the end.'],
  completion_rate: ['rate', 'aic', 'Completes by starts, as reported.'],
  completes_reach: [
    'count',
    'c',
    'Different people who heard it to the end in the period of the row; never sum it.',
  ],
  completes_frequency: ['rate', 'c', 'Completes by their reach, as reported; never sum it.'],
  e_cpcl: ['rate', 'ac', "Effective cost of a completed listen in the ad account's currency, as reported."],
  skips: ['count', 'a', 'Times skipped.'],
  unmutes: ['count', 'ac', 'Times unmuted.'],
  video_views: ['count', 'aic', 'Video views.'],
  video_expands: ['count', 'aic', 'Times a video was expanded.'],
  video_expand_rate: ['rate', 'aic', 'Expands by views, as reported.'],
  paid_listens: ['count', 'ai', 'Paid listens.'],
  paid_listens_reach: [
    'count',
    'ai',
    'Different people with a paid listen in the period of the row; never sum it.',
  ],
  paid_listens_frequency: ['rate', 'a', 'Paid listens by their reach, as reported; never sum it.'],
  listeners: ['count', 'aic', 'Different people who listened to what is promoted; never sum it.'],
  new_listeners: ['count', 'aic', 'Different people who listened to it for the first time; never sum it.'],
  streams: ['count', 'aic', 'Streams of what is promoted.'],
  new_listener_streams: ['count', 'ai', 'Streams of it by new listeners.'],
  conversion_rate: ['rate', 'aic', 'Listeners by reach, as reported.'],
  new_listener_conversion_rate: ['rate', 'aic', 'New listeners by reach, as reported.'],
  streams_per_user: ['rate', 'aic', 'Streams by listeners, as reported.'],
  streams_per_new_listener: ['rate', 'aic', 'Streams of new listeners by their number, as reported.'],
  intent_rate: ['rate', 'aic', 'Share of listeners with intent (saved or added to a playlist), as reported.'],
  page_views: ['count', 'aich', 'Page views credited to the ads.'],
  leads: ['count', 'aich', 'Leads credited to the ads.'],
  add_to_cart: ['count', 'aich', 'Products put into a cart, credited to the ads.'],
  start_checkout: ['count', 'aich', 'Checkouts begun, credited to the ads.'],
  purchases: ['count', 'aich', 'Purchases credited to the ads.'],
  products: ['count', 'aich', 'Product views credited to the ads.'],
  sign_ups: ['count', 'aich', 'Sign-ups credited to the ads.'],
  custom_event_1: ['count', 'aich', 'Events of the first custom kind.'],
  custom_event_2: ['count', 'aich', 'Events of the second custom kind.'],
  custom_event_3: ['count', 'aich', 'Events of the third custom kind.'],
  custom_event_4: ['count', 'aich', 'Events of the fourth custom kind.'],
  custom_event_5: ['count', 'aich', 'Events of the fifth custom kind.'],
  revenue: [
    'money',
    'aich',
    "Revenue credited to the ads in units of the ad account's currency, as reported.",
  ],
  average_order_value: ['rate', 'aich', "Revenue by purchases in the ad account's currency, as reported."],
  return_on_ad_spend: ['rate', 'aich', 'Revenue by spend, as reported.'],
  customer_acquisition_cost: [
    'rate',
    'aich',
    "Spend by purchases in the ad account's currency, as reported.",
  ],
  cost_per_lead: ['rate', 'aich', "Spend by leads in the ad account's currency, as reported."],
  modeled_page_views: ['count', 'ch', 'Page views that are estimated.'],
  modeled_leads: ['count', 'ch', 'Leads that are estimated.'],
  modeled_add_to_cart: ['count', 'ch', 'Products put into a cart, estimated.'],
  modeled_purchases: ['count', 'ch', 'Purchases that are estimated.'],
  unmodeled_page_views: ['count', 'ch', 'Page views that were observed.'],
  unmodeled_leads: ['count', 'ch', 'Leads that were observed.'],
  unmodeled_add_to_cart: ['count', 'ch', 'Products put into a cart, observed.'],
  unmodeled_purchases: ['count', 'ch', 'Purchases that were observed.'],
  skad_app_installs: ['count', 'ch', "App installs as Apple's SKAdNetwork counts them."],
  kochava_app_installs: ['count', 'ch', 'App installs as Kochava counts them.'],
  appsflyer_app_installs: ['count', 'ch', 'App installs as AppsFlyer counts them.'],
};

const metricTypes = { count: 'bigint', money: 'numeric(18,6)', rate: 'numeric' };

const numbers = (report: 'a' | 'i' | 'c'): Columns => {
  const known = Object.entries(metrics).filter(([, [, letters]]) => letters.includes(report));
  const hidden = known.filter(([, [, letters]]) => letters.includes('h'));
  return {
    ...Object.fromEntries(
      known.map(([column, [kind, , about]]) => [column, [metricTypes[kind], about] as const]),
    ),
    ...Object.fromEntries(
      hidden.map(
        ([column]) =>
          [
            `${column}_suppressed`,
            [
              'boolean not null default false',
              `True where ${column} is null because the platform hides 1 to 4 conversions.`,
            ],
          ] as const,
      ),
    ),
    extra_metrics: [
      'jsonb',
      'Numbers that no column holds exactly, by their name at the source: metrics without a column, fractions where a count was expected, amounts finer than a millionth.',
    ],
    _extra: [
      'jsonb',
      'Everything else that the row told and no column holds, and raw values of an unexpected type with the reason.',
    ],
  };
};

const entity: Columns = {
  ad_account_id: account,
  entity_name: ['text', 'Its name when the report was read, where told.'],
  entity_status: ['text', 'Its status when the report was read, where told.'],
  parent_entity_id: ['text', 'The entity above it, where told.'],
};
const entityType: readonly [string, string] = ['text not null', 'AD_ACCOUNT, CAMPAIGN, AD_SET or AD.'];
const entityId: readonly [string, string] = [
  'text not null',
  'The entity: id in ads.ad_accounts, campaigns, ad_sets or ads.',
];
const isFinal: readonly [string, string] = [
  'boolean not null default false',
  'True once the row is older than what is read again: the number is no longer expected to change.',
];

/** What lies outside is in a partition of its own; a later step of the schema may cut it out. Few, because every one costs at every planning. */
const years = Array.from({ length: 11 }, (_, i) => 2020 + i).map(
  (year) => [`${year}`, `${year}-01-01`, `${year + 1}-01-01`] as const,
);
const months = Array.from({ length: 24 }, (_, i) => [2026 + Math.floor(i / 12), (i % 12) + 1] as const).map(
  ([year, month]) => {
    const from = `${year}-${String(month).padStart(2, '0')}`;
    const to = month === 12 ? `${year + 1}-01` : `${year}-${String(month + 1).padStart(2, '0')}`;
    return [from.replace('-', '_'), `${from}-01 00:00:00+00`, `${to}-01 00:00:00+00`] as const;
  },
);

const valid: Columns = {
  valid_from: ['timestamptz not null', 'Since when these values hold (UTC): when the change was seen here.'],
  valid_to: ['timestamptz', 'Until when they held (UTC), exclusive; null for the current ones.'],
};

const revision: Columns = {
  metric: ['text not null', 'The column that changed, or the name of a metric in extra_metrics.'],
  old_value: ['numeric', 'What the warehouse held; null if nothing.'],
  new_value: ['numeric', 'What the source says now; null if the number went away.'],
  seen_at: ['timestamptz not null', 'When the change was seen here (UTC).'],
};

const csvKey: Columns = {
  ad_account_id: account,
  day: ['date not null', 'Day in UTC, as the report has it.'],
  campaign_name: [
    'text not null',
    'Name of the campaign as the report writes it; empty where it writes none.',
  ],
  ad_set_name: ['text not null', 'Name of the ad set as the report writes it; empty where it writes none.'],
  ad_name: ['text not null', 'Name of the ad as the report writes it; empty where it writes none.'],
  occurrence: ['integer not null', 'Tells rows apart that have the same names and day, from 0.'],
};

const tables: Readonly<Record<string, Made>> = {
  businesses: {
    about: 'Businesses, the owners of ad accounts; one row each.',
    key: 'id',
    kind: 'entity',
    columns: {
      id: id('Business'),
      name,
      type: ['text', 'ADVERTISER, AGENCY, MUSIC_ARTIST_CONCERT_PROMOTER or PODCAST_PROMOTER.'],
      status: ['text', 'Status as the source names it, e.g. ACTIVE.'],
      ...created,
    },
  },
  ad_accounts: {
    about: 'Ad accounts, one row each.',
    key: 'id',
    kind: 'entity',
    columns: {
      id: id('Ad account'),
      business_id: ['text', 'The business it belongs to, see ads.businesses.id.'],
      name,
      status: ['text', 'Status as the source names it, e.g. ACTIVE, SUSPEND_LISTED.'],
      status_reason: ['text', 'Why it has that status.'],
      currency_code: ['text', 'ISO 4217 currency of every amount of the account.'],
      country_code: ['text', 'ISO 3166-1 alpha-2 country of the account.'],
      industry: ['text', 'Industry as listed.'],
      website: ['text', 'Website of the advertiser.'],
      legal_entity_name: ['text', 'Legal name of who pays.'],
      tax_id: ['text', 'Tax id on record.'],
      billing_address: ['jsonb', 'Billing address as delivered.'],
      role: ['text', "The sync account's own role, e.g. AD_ACCOUNT_VIEWER."],
      ...created,
    },
  },
  campaigns: {
    about: 'Campaigns that are or were live, one row each; the platform archives them and never deletes.',
    key: 'id',
    kind: 'entity',
    columns: campaign,
    indexes: ['(source_id, ad_account_id)'],
  },
  ad_sets: {
    about: 'Ad sets that are or were live, one row each: budget, bid, flight and targeting.',
    key: 'id',
    kind: 'entity',
    wide: true,
    columns: {
      ...adSet,
      delivery: ['text', 'ON or OFF.'],
      is_paused: ['boolean', 'True while it is paused.'],
      pause_reason: ['text', 'Why it is paused, e.g. USER_PAUSED.'],
      reject_reason: ['text', 'Why it was rejected.'],
      reject_reasons: ['jsonb', 'Why it was rejected, in parts, as delivered.'],
    },
    indexes: ['(source_id, ad_account_id)', '(source_id, campaign_id)'],
  },
  ad_set_targets: {
    about: 'Targeting of ad sets, exploded; one row per ad set, dimension and value.',
    key: 'ad_set_id, dimension, value',
    kind: 'relation',
    columns: {
      ad_set_id: ['text not null', 'The ad set, see ads.ad_sets.id.'],
      dimension: [
        'text not null',
        'What is targeted: the name in targets, nested ones with a dot, e.g. genders, geo_targets.country_code, audience_ids_exclusions.',
      ],
      value: [
        'text not null',
        'One value as text: 18-24 for age_ranges, MONDAY 9-17 for user_day_parts (hours inclusive), topic=filter for sensitive topics.',
      ],
    },
    indexes: ['(source_id, dimension, value)'],
  },
  ad_set_frequency_caps: {
    about: 'How often one person may hear an ad set; one row per ad set and cap.',
    key: 'ad_set_id, unit, period, max_impressions',
    kind: 'relation',
    columns: {
      ad_set_id: ['text not null', 'The ad set, see ads.ad_sets.id.'],
      unit: ['text not null', 'DAY, WEEK or MONTH.'],
      period: ['integer not null', 'How many of these units.'],
      max_impressions: ['integer not null', 'At most so many impressions a person in that time.'],
    },
  },
  ad_set_placements: {
    about: 'Where ad sets are placed; one row per ad set and placement.',
    key: 'ad_set_id, placement',
    kind: 'relation',
    columns: {
      ad_set_id: ['text not null', 'The ad set, see ads.ad_sets.id.'],
      placement: ['text not null', 'MUSIC or PODCAST, or what the source names.'],
    },
  },
  ads: {
    about: 'Ads that are or were live, one row each.',
    key: 'id',
    kind: 'entity',
    columns: {
      ...ad,
      delivery: ['text', 'ON or OFF.'],
      ...flight,
      ad_preview_url: ['text', 'Address of a preview.'],
      reject_reason: ['text', 'Why it was rejected.'],
      reject_reasons: ['jsonb', 'Why it was rejected, in parts, as delivered.'],
    },
    indexes: ['(source_id, ad_account_id)', '(source_id, ad_set_id)'],
  },
  assets: {
    about: 'Images, audio and video files for ads, archived or not, one row each.',
    key: 'id',
    kind: 'entity',
    columns: {
      id: id('Asset'),
      ad_account_id: account,
      name,
      type: ['text', 'IMAGE, AUDIO or VIDEO.'],
      subtype: ['text', 'Kind within the type, e.g. USER_UPLOADED_AUDIO.'],
      status: ['text', 'ERROR, PROCESSING, READY or WAITING_UPLOAD.'],
      archived: ['boolean', 'True for archived ones; null where the source does not say.'],
      url: ['text', 'Address of the file.'],
      file_type: ['text', 'File format, e.g. MP3, MP4, PNG.'],
      duration_ms: ['bigint', 'Duration in milliseconds; null for images and until it is processed.'],
      width: ['bigint', 'Width in pixels.'],
      height: ['bigint', 'Height in pixels.'],
      aspect_ratio: ['text', 'Aspect ratio as the source names it, e.g. SQUARE.'],
      has_audio: ['boolean', 'Video: true if it has sound.'],
      thumbnail_url: ['text', 'Video: address of a still.'],
      ...created,
    },
    indexes: ['(source_id, ad_account_id)'],
  },
  audiences: {
    about: 'Audiences to target, one row each; deleted ones keep their row.',
    key: 'id',
    kind: 'entity',
    columns: {
      id: id('Audience'),
      ad_account_id: account,
      name,
      description: ['text', 'Description.'],
      type: ['text', 'CUSTOM or LOOKALIKE.'],
      subtype: ['text', 'Of custom ones: CUSTOMER_LIST, WEB_EVENT, AD_ENGAGEMENT or LIVERAMP.'],
      category: ['text', 'Category, e.g. ARTIST_AFFINITY.'],
      status: ['text', 'Status as the source names it, e.g. LIVE, PROCESSING, ARCHIVED.'],
      size_min: ['bigint', 'Lower end of the estimated number of people.'],
      size_max: ['bigint', 'Upper end of the estimated number of people.'],
      sources: ["text[] not null default '{}'", 'Where its data come from.'],
      seed_audience_id: ['text', 'Of lookalikes: the audience it resembles, see ads.audiences.id.'],
      seed_audience_name: ['text', 'Of lookalikes: the name of that audience.'],
      lookalike_audience_ids: [
        "text[] not null default '{}'",
        'Lookalikes made from it, see ads.audiences.id.',
      ],
      datasets: ['jsonb', 'Of web events: the datasets, as delivered.'],
      included_events: ["text[] not null default '{}'", 'Of web events: events that count.'],
      excluded_events: ["text[] not null default '{}'", 'Of web events: events that exclude.'],
      lookback_days: ['bigint', 'Of web events: how many days are looked back.'],
      campaign_ids: ["text[] not null default '{}'", 'Of ad engagement: campaigns, see ads.campaigns.id.'],
      ad_set_ids: ["text[] not null default '{}'", 'Of ad engagement: ad sets, see ads.ad_sets.id.'],
      exposure_type: ['text', 'Of ad engagement: IMPRESSIONS or CLICKS.'],
      contract_audience_id: ['text', 'Id of the audience in a contract, where the source gives one.'],
      ...created,
    },
    indexes: ['(source_id, ad_account_id)'],
  },
  ad_categories: {
    about: 'Advertising categories of the platform, one row each.',
    key: 'id',
    kind: 'entity',
    columns: {
      id: ['text not null', 'Category id, e.g. ADV_21_182.'],
      name: ['text', 'Category and subcategory with " - " between them.'],
      parent_category: ['text', 'Name of the category above it.'],
    },
  },
  change_history: {
    about:
      'Who changed what at the platform, one row a change; the source forgets after 180 days, the warehouse does not.',
    key: 'id',
    kind: 'entity',
    columns: {
      id: id('Change'),
      ad_account_id: account,
      changed_at: ['timestamptz not null', 'When it was changed (UTC).'],
      entity_type: ['text not null', 'What kind of thing was changed, e.g. CAMPAIGN, AD_SET, CREATIVE.'],
      entity_id: ['text not null', 'Its id.'],
      entity_name: ['text', 'Its name when the change was last read.'],
      operation: ['text', 'CREATED, CHANGED or REMOVED.'],
      actor_id: ['text', 'Id of who or what changed it.'],
      actor_type: ['text', 'USER or SERVICE.'],
      actor_name: ['text', 'Name of who or what changed it.'],
      actor_email: ['text', "The person's e-mail address, where the sync account may see it."],
      actor_category: ['text', 'ADVERTISER_USER, SUPPORT, API_INTEGRATION, SYSTEM or UNKNOWN.'],
    },
    indexes: ['(source_id, entity_id, changed_at)', '(changed_at)'],
  },
  change_history_items: {
    about: 'The fields that a change changed; one row per change and field.',
    key: 'change_id, item',
    kind: 'relation',
    columns: {
      change_id: ['text not null', 'The change, see ads.change_history.id.'],
      item: ['integer not null', 'Place of the field within the change, from 0.'],
      field_type: ['text not null', 'Field as the platform calls it, e.g. bidAmount.'],
      display_label: ['text', 'Field as people read it.'],
      change_category: ['text', 'STATUS, BUDGET, TARGETING, CREATIVE, SCHEDULING, SETTINGS or BILLING.'],
      before: ['jsonb', 'The value before, as delivered; amounts in it as the platform writes them.'],
      after: ['jsonb', 'The value after, as delivered; amounts in it as the platform writes them.'],
    },
  },
  campaign_drafts: {
    about:
      'Draft campaigns, one row each; not live. A draft shares its id with the live campaign it came from or becomes.',
    key: 'id',
    kind: 'entity',
    columns: {
      ...campaign,
      ...version,
      channel: ['text', 'Booking channel.'],
      ad_product: ['text', 'Ad product.'],
      salesforce_opportunity: ['text', 'Opportunity code in Salesforce.'],
      salesforce_sales_order: ['text', 'Sales order code in Salesforce.'],
      media_plan_id: ['text', 'Media plan it belongs to.'],
      needs_advertiser_review: [
        'boolean',
        'True when the advertiser must look at it before it is published.',
      ],
      modified_by_role: ['text', 'Who changed it last: ADVERTISER or IMPERSONATOR.'],
    },
    indexes: ['(source_id, ad_account_id)'],
  },
  ad_set_drafts: {
    about:
      'Draft ad sets, one row each; not live. A draft shares its id with the live ad set it came from or becomes.',
    key: 'id',
    kind: 'entity',
    wide: true,
    columns: {
      ...adSet,
      ...version,
      frequency_caps: ['jsonb', 'How often one person may hear it, as delivered.'],
      reservation_id: ['text', 'Reservation it uses.'],
      ias_campaign_id: ['text', 'Campaign at Integral Ad Science.'],
      success_metric: ['text', 'What success is measured by.'],
    },
    indexes: ['(source_id, ad_account_id)'],
  },
  ad_drafts: {
    about:
      'Draft ads, one row each; not live. A draft shares its id with the live ad it came from or becomes.',
    key: 'id',
    kind: 'entity',
    columns: {
      ...ad,
      ...version,
      asset_format: ['text', 'AUDIO, VIDEO, IMAGE or CATALOG.'],
      placements: ["text[] not null default '{}'", 'Where it may be placed.'],
      dv_client_code: ['text', 'Client code at DoubleVerify.'],
    },
    indexes: ['(source_id, ad_account_id)'],
  },
  campaign_versions: {
    about:
      'Name, status and objective of campaigns over time; one row per campaign and version. Seen, so as fine as the sync is frequent.',
    key: 'id, valid_from',
    kind: 'history',
    columns: {
      id: campaign.id ?? id('Campaign'),
      name,
      status: campaign.status ?? name,
      objective: campaign.objective ?? name,
      ...valid,
    },
  },
  ad_set_versions: {
    about:
      'Status, budget and bid of ad sets over time; one row per ad set and version. Seen, so as fine as the sync is frequent.',
    key: 'id, valid_from',
    kind: 'history',
    columns: {
      ...Object.fromEntries(
        ['id', 'status', 'budget', 'budget_type', 'budget_currency', 'bid', 'bid_strategy'].map(
          (column) => [column, adSet[column] ?? name] as const,
        ),
      ),
      ...valid,
    },
  },
  report_daily: {
    about:
      "The numbers of every ad account, campaign, ad set and ad by day; one row per entity and day, as last restated. Days without delivery have no row. Levels overlap: an account's numbers are those of its campaigns.",
    key: 'entity_type, entity_id, day',
    kind: 'fact',
    columns: {
      entity_type: entityType,
      entity_id: entityId,
      day: ['date not null', 'Day in UTC, as the report has it.'],
      ...entity,
      ...numbers('a'),
      is_final: isFinal,
    },
    indexes: ['(source_id, ad_account_id, entity_type, day)', '(source_id, day) where not is_final'],
    partitions: { by: 'day', ranges: years },
  },
  report_hourly: {
    about:
      'The same numbers by hour; one row per entity and hour. The source keeps two weeks, the warehouse keeps them all.',
    key: 'entity_type, entity_id, hour_start',
    kind: 'fact',
    columns: {
      entity_type: entityType,
      entity_id: entityId,
      hour_start: ['timestamptz not null', 'Beginning of the hour (UTC).'],
      ...entity,
      ...numbers('a'),
      is_final: isFinal,
    },
    indexes: [
      '(source_id, ad_account_id, entity_type, hour_start)',
      '(source_id, hour_start) where not is_final',
    ],
    partitions: { by: 'hour_start', ranges: months },
  },
  report_lifetime: {
    about:
      'The same numbers over the life of an entity, as they were on a day; one row per entity and day of capture. The only place where reach over more than a day is told.',
    key: 'entity_type, entity_id, captured_on',
    kind: 'relation',
    columns: {
      entity_type: entityType,
      entity_id: entityId,
      captured_on: ['date not null', 'Day in UTC on which it was asked.'],
      ...entity,
      start_at: ['timestamptz', 'Beginning of the period (UTC), where told.'],
      end_at: ['timestamptz', 'End of the period (UTC), where told.'],
      ...numbers('a'),
    },
    indexes: ['(source_id, ad_account_id, entity_type, captured_on)'],
  },
  report_csv: {
    about:
      'The numbers of asynchronous CSV reports by day and names; one row per row of the report. It has no ids: prefer ads.report_daily where both can answer.',
    key: 'ad_account_id, day, campaign_name, ad_set_name, ad_name, occurrence',
    kind: 'fact',
    columns: {
      ...csvKey,
      ad_account_name: ['text', 'Name of the ad account as the report writes it.'],
      currency: ['text', 'ISO 4217 currency as the report writes it.'],
      campaign_status: ['text', 'Status of the campaign as the report writes it.'],
      campaign_objective: ['text', 'Objective of the campaign as the report writes it.'],
      ad_set_status: ['text', 'Status of the ad set as the report writes it.'],
      ad_set_budget: [
        'text',
        'Budget as the report writes it; its unit is not documented. For amounts: ads.ad_sets.budget.',
      ],
      ad_set_cost_model: ['text', 'Cost model as the report writes it.'],
      ...numbers('c'),
    },
  },
  report_revisions: {
    about:
      'What ads.report_daily said before: every number of a day already read that changed, came late or went; one row each.',
    key: 'entity_type, entity_id, day, metric, seen_at',
    kind: 'history',
    columns: {
      entity_type: entityType,
      entity_id: entityId,
      day: ['date not null', 'The day whose number changed, UTC.'],
      ...revision,
    },
    indexes: ['(source_id, seen_at)'],
  },
  report_hourly_revisions: {
    about: 'What ads.report_hourly said before: every number that changed, came late or went; one row each.',
    key: 'entity_type, entity_id, hour_start, metric, seen_at',
    kind: 'history',
    columns: {
      entity_type: entityType,
      entity_id: entityId,
      hour_start: ['timestamptz not null', 'Beginning of the hour whose number changed (UTC).'],
      ...revision,
    },
    indexes: ['(source_id, seen_at)'],
  },
  report_csv_revisions: {
    about: 'What ads.report_csv said before: every number that changed, came late or went; one row each.',
    key: 'ad_account_id, day, campaign_name, ad_set_name, ad_name, occurrence, metric, seen_at',
    kind: 'history',
    columns: { ...csvKey, ...revision },
    indexes: ['(source_id, seen_at)'],
  },
  insight_states: {
    about:
      'What was last answered when the audience of a campaign or ad set was asked for; one row per entity and dimension.',
    key: 'entity_type, entity_id, dimension',
    kind: 'relation',
    columns: {
      entity_type: ['text not null', 'CAMPAIGN or AD_SET.'],
      entity_id: ['text not null', 'The entity: id in ads.campaigns or ads.ad_sets.'],
      dimension: ['text not null', 'What the audience is divided by, e.g. AGE, GENDER, COUNTRY, PLATFORM.'],
      ad_account_id: account,
      state: [
        "text not null check (state in ('ok', 'not_enough_data'))",
        'ok: there is a snapshot of asked_on. not_enough_data: too few people to tell, asked again at most daily.',
      ],
      code: ['text', "The platform's code for why there is not enough data."],
      asked_on: ['date not null', 'Day in UTC on which it was last asked.'],
    },
  },
  insight_snapshots: {
    about:
      'Who heard it: lifetime numbers of a campaign or ad set by value of a dimension, as they were on a day; one row per entity, dimension, value and day.',
    key: 'entity_type, entity_id, dimension, value, captured_on',
    kind: 'relation',
    columns: {
      entity_type: ['text not null', 'CAMPAIGN or AD_SET.'],
      entity_id: ['text not null', 'The entity: id in ads.campaigns or ads.ad_sets.'],
      dimension: ['text not null', 'What the audience is divided by, e.g. AGE, GENDER, COUNTRY, PLATFORM.'],
      value: [
        'text not null',
        'The part of the audience, e.g. 18-24, FEMALE, US; empty where the source names none.',
      ],
      captured_on: ['date not null', 'Day in UTC on which it was asked.'],
      ad_account_id: account,
      ...numbers('i'),
    },
    indexes: ['(source_id, ad_account_id, captured_on)'],
  },
};

const own: Columns = { source_id: ['smallint not null', 'The source, see ops.sources.'] };
const run: Columns = { _run_id: ['bigint', 'The run that wrote this content, see ops.runs.'] };
const bookkeeping: Columns = {
  _synced_at: [
    'timestamptz not null default now()',
    "When this row's content last changed here (not: last seen).",
  ],
  ...run,
};
const kept: Readonly<Record<Made['kind'], Columns>> = {
  entity: {
    ...bookkeeping,
    _deleted_at: ['timestamptz', 'When it was found to be gone at the source; null while it lives.'],
    _row_hash: ['bigint', '64-bit hash of the content; an equal hash means that nothing is written.'],
    _extra: [
      'jsonb',
      'What the source gives and no column holds, and raw values of an unexpected type with the reason.',
    ],
  },
  relation: bookkeeping,
  fact: {
    _first_synced_at: [
      'timestamptz not null default now()',
      'When this row first came here; the content may have been restated since.',
    ],
    ...bookkeeping,
  },
  history: run,
};

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const partitionsOf = (table: string, { partitions, ...made }: Made): readonly string[] => {
  if (partitions === undefined) return [];
  return [
    ...partitions.ranges.map(
      ([suffix, from, to]) =>
        `create table ads.${table}_${suffix} partition of ads.${table} for values from (${quoted(from)}) to (${quoted(to)})`,
    ),
    `create table ads.${table}_default partition of ads.${table} default`,
    `comment on table ads.${table}_default is ${quoted(`Rows of ads.${table} outside of every other partition. ${made.about}`)}`,
    ...partitions.ranges.map(
      ([suffix, from, to]) =>
        `comment on table ads.${table}_${suffix} is ${quoted(`Part of ads.${table}: ${partitions.by} from ${from} to before ${to}.`)}`,
    ),
  ];
};

const makeTable = ([table, made]: readonly [string, Made]): readonly string[] => {
  const columns = Object.entries({ ...own, ...made.columns, ...kept[made.kind] });
  const lines = columns.map(([column, [type]]) => `${column} ${type}`);
  const by = made.partitions === undefined ? '' : ` partition by range (${made.partitions.by})`;
  return [
    `create table ads.${table} (\n  ${[...lines, `primary key (source_id, ${made.key})`].join(',\n  ')}\n)${by}`,
    `comment on table ads.${table} is ${quoted(made.about)}`,
    ...(made.wide === true ? [`alter table ads.${table} set (toast_tuple_target = 8160)`] : []),
    ...(made.indexes ?? []).map((on) => `create index on ads.${table} ${on}`),
    ...columns.map(([column, [, about]]) => `comment on column ads.${table}.${column} is ${quoted(about)}`),
    ...partitionsOf(table, made),
  ];
};

const levels: Readonly<Record<string, string>> = {
  source_id: 'The source, see ops.sources.',
  ad_account_id: 'A live ad account, see ads.ad_accounts.id.',
  entity_type: 'A level that reports are asked at: AD_ACCOUNT, CAMPAIGN, AD_SET or AD.',
};

const statements: readonly string[] = [
  ...Object.entries(tables).flatMap(makeTable),
  // Only the open version of an entity is looked for when a new one is written.
  'create index campaign_versions_open on ads.campaign_versions (source_id, id) where valid_to is null',
  'create index ad_set_versions_open on ads.ad_set_versions (source_id, id) where valid_to is null',
  `create view ads.report_levels as
    select a.source_id, a.id as ad_account_id, l.entity_type
    from ads.ad_accounts a cross join (values ('AD_ACCOUNT'), ('CAMPAIGN'), ('AD_SET'), ('AD')) l (entity_type)
    where a._deleted_at is null`,
  `comment on view ads.report_levels is 'What reports are read for: one row per live ad account and level.'`,
  ...Object.entries(levels).map(
    ([column, about]) => `comment on column ads.report_levels.${column} is ${quoted(about)}`,
  ),
];
