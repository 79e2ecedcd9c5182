import { type Kysely, sql } from 'kysely';

/**
 * The reading schema's views over the advertising platform. Amounts stand beside their currency, ratios are computed from what they are
 * ratios of, reach is shown for the period it was told for and summed nowhere. Days are the reports' own: UTC.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

type Column = readonly [expression: string, about: string];
type Columns = Readonly<Record<string, Column>>;

interface View {
  readonly about: string;
  /** In the order of the view; later migrations may only add at the end. */
  readonly columns: Columns;
  readonly from: string;
}

/** Wide enough for whatever bigints and numeric(18,6) can give. */
const per = (part: string, whole: string, digits = 6): string =>
  `round((${part})::numeric / nullif(${whole}, 0), ${digits})::numeric(28,${digits})`;
const utcDay = (instant: string): string => `(${instant} at time zone 'UTC')::date`;

const sourceOf = (row: string): string => `join ops.sources s on s.source_id = ${row}.source_id`;
/** For names only, and therefore of tombstoned rows, too: what is gone keeps its name. */
const label = (table: string, alias: string, row: string, id: string): string =>
  `left join ads.${table} ${alias} on ${alias}.source_id = ${row}.source_id and ${alias}.id = ${id}`;

const source: Column = ['s.name', 'The source, see ops.sources.name; ids are unique within one source.'];
const account = (row: string): Columns => ({
  ad_account_id: [`${row}.ad_account_id`, 'Ad account id.'],
  ad_account_name: ['ac.name', 'Name of the ad account.'],
});
const campaignOf = (row: string): Columns => ({
  campaign_id: [`${row}.campaign_id`, 'Campaign id; null if the warehouse does not know the ad set.'],
  campaign_name: ['c.name', 'Name of the campaign.'],
});
const currency = (column = 'ac.currency_code'): Column => [
  column,
  'ISO 4217 currency of every amount in the row; never add amounts of different currencies.',
];
const syncedAt = (row: string): Column => [
  `${row}._synced_at`,
  'When this content last changed in the warehouse (UTC); not when it was last seen.',
];
const isFinal: Column = [
  'r.is_final',
  'True once the platform is not expected to restate the row any more; false while it may.',
];

/** What can be added up over rows of one level. */
const sums: Columns = {
  spend: ['r.spend', 'Spend in units of currency; null if not told.'],
  impressions: ['r.impressions', 'Times shown or played.'],
  clicks: ['r.clicks', 'Clicks.'],
  starts: ['r.starts', 'Times playing began.'],
  completes: ['r.completes', 'Times played to the end.'],
};

/** Conversions, which the platform hides where they are few. */
const conversions: Columns = Object.fromEntries(
  Object.entries({
    page_views: 'Page views credited to the ads',
    leads: 'Leads credited to the ads',
    add_to_cart: 'Products put into a cart, credited to the ads',
    purchases: 'Purchases credited to the ads',
    sign_ups: 'Sign-ups credited to the ads',
    revenue: 'Revenue credited to the ads, in units of currency',
  }).flatMap(([column, about]): readonly (readonly [string, Column])[] => [
    [column, [`r.${column}`, `${about}; null if not told or hidden.`]],
    [
      `${column}_suppressed`,
      [`r.${column}_suppressed`, `True where ${column} is hidden because it stands for 1 to 4 conversions.`],
    ],
  ]),
);

/** For sums over several rows compute them anew from the sums. */
const ratios: Columns = {
  ctr: [per('r.clicks', 'r.impressions'), 'Clicks by impressions, 0 to 1.'],
  cpc: [per('r.spend', 'r.clicks'), 'Spend by clicks, in units of currency.'],
  cpm: [per('r.spend * 1000', 'r.impressions'), 'Spend for a thousand impressions, in units of currency.'],
  completion_ratio: [per('r.completes', 'r.starts'), 'Completes by starts.'],
  return_on_ad_spend_ratio: [
    per('r.revenue', 'r.spend', 4),
    'Revenue by spend; null where revenue is hidden.',
  ],
};

const reach: Columns = {
  reach_day: [
    'r.reach',
    'Different people reached on this day, as the platform counts them; never sum it over days or rows: people repeat.',
  ],
  frequency_day: [per('r.impressions', 'r.reach', 4), 'Impressions by reach of this day.'],
};

/** An ad's row with what is above it. An ad that the warehouse does not know keeps the name and parent its report told. */
const adOf = `ads.%table% r
      ${sourceOf('r')}
      ${label('ads', 'a', 'r', 'r.entity_id')}
      ${label('ad_sets', 'st', 'r', 'coalesce(a.ad_set_id, r.parent_entity_id)')}
      ${label('campaigns', 'c', 'r', 'st.campaign_id')}
      ${label('ad_accounts', 'ac', 'r', 'r.ad_account_id')}
      where r.entity_type = 'AD'`;
const adNames: Columns = {
  ...account('r'),
  currency: currency(),
  ...campaignOf('st'),
  objective: ['c.objective', 'Objective of the campaign.'],
  ad_set_id: ['coalesce(a.ad_set_id, r.parent_entity_id)', 'Ad set id.'],
  ad_set_name: ['st.name', 'Name of the ad set.'],
  asset_format: ['st.asset_format', 'AUDIO, VIDEO, IMAGE or CATALOG.'],
  ad_id: ['r.entity_id', 'Ad id.'],
  ad_name: ['coalesce(a.name, r.entity_name)', 'Name of the ad.'],
};

/** Spend of every ad set as its own reports tell it, and the days it was told for. */
const spentByAdSet = `(
  select source_id, entity_id, sum(spend) as spent, min(day) as first_day, max(day) as last_day
  from ads.report_daily where entity_type = 'AD_SET' group by source_id, entity_id
)`;

/** The last day of the flight that has been reported. */
const reportedUntil = `least(${utcDay(`(st.end_at - interval '1 microsecond')`)}, sp.last_day)`;
const flightFrom = `coalesce(${utcDay('st.start_at')}, sp.first_day)`;

/**
 * What a daily budget allowed from the first day to the last reported one: a changed budget counts from the day of its change on, the first
 * one seen also for the days before.
 */
const dailyBudgets = `(
  select sum(v.budget * greatest(0, least(coalesce(${utcDay('v.valid_to')}, ${reportedUntil} + 1), ${reportedUntil} + 1)
    - greatest(case when v.is_first then ${flightFrom} else ${utcDay('v.valid_from')} end, ${flightFrom}))) as allowed
  from (
    select budget, budget_type, valid_from, valid_to, row_number() over (order by valid_from) = 1 as is_first
    from ads.ad_set_versions where source_id = st.source_id and id = st.id
  ) v
  where v.budget_type = 'DAILY'
)`;
const budgetToDate = `(case st.budget_type when 'LIFETIME' then st.budget when 'DAILY' then b.allowed end)::numeric(28,6)`;

const insightPartition = 'partition by s.name, i.source_id, i.entity_type, i.entity_id, i.dimension';

/** A number of any metric: 22 digits before the point are more than any count has. */
const anyMetric = (column: string): string =>
  `(case when abs(${column}) < 1e21 then ${column} end)::numeric(28,6)`;
/** A JSON value as text: the platform wraps most in {"value": …}. */
const changedValue = (column: string): string => `coalesce(${column} ->> 'value', ${column}::text)`;

const views: Readonly<Record<string, View>> = {
  ad_accounts: {
    about: 'Ad accounts; one row per live account.',
    columns: {
      source,
      ad_account_id: ['ac.id', 'Ad account id.'],
      ad_account_name: ['ac.name', 'Name.'],
      status: ['ac.status', 'Status as the platform names it, e.g. ACTIVE.'],
      currency: currency(),
      country_code: ['ac.country_code', 'ISO 3166-1 alpha-2 country.'],
      industry: ['ac.industry', 'Industry as listed.'],
      business_id: ['ac.business_id', 'Id of the business it belongs to.'],
      business_name: ['bu.name', 'Name of that business.'],
      synced_at: syncedAt('ac'),
    },
    from: `ads.ad_accounts ac ${sourceOf('ac')} ${label('businesses', 'bu', 'ac', 'ac.business_id')} where ac._deleted_at is null`,
  },
  campaigns: {
    about: 'Campaigns that are or were live; one row per campaign. Drafts are left out.',
    columns: {
      source,
      ...account('c'),
      campaign_id: ['c.id', 'Campaign id.'],
      campaign_name: ['c.name', 'Name.'],
      status: ['c.status', 'Status as the platform names it, e.g. ACTIVE, ARCHIVED.'],
      objective: ['c.objective', 'Objective as the platform names it.'],
      delivery_goal_group: ['c.delivery_goal_group', 'Group of delivery goals.'],
      created_at: ['c.created_at', 'When it was created (UTC).'],
      updated_at: ['c.updated_at', 'When it was last changed at the platform (UTC).'],
      synced_at: syncedAt('c'),
    },
    from: `ads.campaigns c ${sourceOf('c')} ${label('ad_accounts', 'ac', 'c', 'c.ad_account_id')} where c._deleted_at is null`,
  },
  ads: {
    about: 'Ads that are or were live, with what is above them; one row per ad. Drafts are left out.',
    columns: {
      source,
      ...account('a'),
      ...campaignOf('st'),
      ad_set_id: ['a.ad_set_id', 'Ad set id.'],
      ad_set_name: ['st.name', 'Name of the ad set.'],
      ad_id: ['a.id', 'Ad id.'],
      ad_name: ['a.name', 'Name.'],
      status: ['a.status', 'Status as the platform names it.'],
      advertiser_name: ['a.advertiser_name', 'Advertiser as listeners see it.'],
      tagline: ['a.tagline', 'Line of text shown with it.'],
      asset_id: ['a.asset_id', 'The creative.'],
      asset_name: ['x.name', 'Name of the creative.'],
      asset_type: ['x.type', 'IMAGE, AUDIO or VIDEO.'],
      click_url: ['a.cta_url', 'Where a click leads.'],
      created_at: ['a.created_at', 'When it was created (UTC).'],
      updated_at: ['a.updated_at', 'When it was last changed at the platform (UTC).'],
      synced_at: syncedAt('a'),
    },
    from: `ads.ads a ${sourceOf('a')}
      ${label('ad_sets', 'st', 'a', 'a.ad_set_id')}
      ${label('campaigns', 'c', 'a', 'st.campaign_id')}
      ${label('assets', 'x', 'a', 'a.asset_id')}
      ${label('ad_accounts', 'ac', 'a', 'a.ad_account_id')}
      where a._deleted_at is null`,
  },
  ad_set_targets: {
    about: 'Whom ad sets are aimed at; one row per ad set, dimension and value.',
    columns: {
      source,
      ad_set_id: ['st.id', 'Ad set id.'],
      ad_set_name: ['st.name', 'Name of the ad set.'],
      ...campaignOf('st'),
      dimension: ['g.dimension', 'What is targeted, e.g. genders, age_ranges, geo_targets.country_code.'],
      target_value: ['g.value', 'One value, e.g. FEMALE, 18-24, DE.'],
    },
    from: `ads.ad_set_targets g ${sourceOf('g')}
      join ads.ad_sets st on st.source_id = g.source_id and st.id = g.ad_set_id and st._deleted_at is null
      ${label('campaigns', 'c', 'g', 'st.campaign_id')}`,
  },
  ad_set_history: {
    about:
      'Status, budget and bid of ad sets over time; one row per ad set and version. As fine as the sync is frequent.',
    columns: {
      source,
      ad_set_id: ['v.id', 'Ad set id.'],
      ad_set_name: ['st.name', 'Name of the ad set today.'],
      status: ['v.status', 'Status at the time.'],
      currency: currency('coalesce(v.budget_currency, ac.currency_code)'),
      budget: [
        'v.budget',
        'Budget at the time, in units of currency; a day or the lifetime, see budget_type.',
      ],
      budget_type: ['v.budget_type', 'DAILY or LIFETIME.'],
      bid: ['v.bid', 'Bid at the time, in units of currency.'],
      bid_strategy: ['v.bid_strategy', 'Bid strategy at the time.'],
      valid_from: ['v.valid_from', 'Since when it holds (UTC): when the change was seen.'],
      valid_to: ['v.valid_to', 'Until when it held (UTC); null for the current version.'],
      is_current: ['v.valid_to is null', 'True for the current version.'],
    },
    from: `ads.ad_set_versions v ${sourceOf('v')}
      ${label('ad_sets', 'st', 'v', 'v.id')}
      ${label('ad_accounts', 'ac', 'v', 'st.ad_account_id')}`,
  },
  ad_performance_daily: {
    about:
      'What every ad did on every day, with what is above it; one row per ad and day with delivery. The main table of advertising. Facts of deleted ads stay.',
    columns: {
      source,
      date_day: ['r.day', 'Day in UTC, as the report has it.'],
      ...adNames,
      ...sums,
      ...conversions,
      ...ratios,
      ...reach,
      is_final: isFinal,
      synced_at: syncedAt('r'),
    },
    from: adOf.replace('%table%', 'report_daily'),
  },
  ad_performance_hourly: {
    about:
      'What every ad did in every hour; one row per ad and hour with delivery, since the first sync less two weeks.',
    columns: {
      source,
      hour_start_at: ['r.hour_start', 'Beginning of the hour (UTC).'],
      date_day: [utcDay('r.hour_start'), 'Day of the hour in UTC.'],
      ...adNames,
      ...sums,
      is_final: isFinal,
      synced_at: syncedAt('r'),
    },
    from: adOf.replace('%table%', 'report_hourly'),
  },
  campaign_performance_daily: {
    about:
      "What every campaign did on every day; one row per campaign and day with delivery. For reach, which cannot be added up from the campaign's ads.",
    columns: {
      source,
      date_day: ['r.day', 'Day in UTC, as the report has it.'],
      ...account('r'),
      currency: currency(),
      campaign_id: ['r.entity_id', 'Campaign id.'],
      campaign_name: ['coalesce(c.name, r.entity_name)', 'Name of the campaign.'],
      objective: ['c.objective', 'Objective of the campaign.'],
      status: ['coalesce(c.status, r.entity_status)', 'Status of the campaign today.'],
      ...sums,
      ...conversions,
      ...ratios,
      ...reach,
      is_final: isFinal,
      synced_at: syncedAt('r'),
    },
    from: `ads.report_daily r
      ${sourceOf('r')}
      ${label('campaigns', 'c', 'r', 'r.entity_id')}
      ${label('ad_accounts', 'ac', 'r', 'r.ad_account_id')}
      where r.entity_type = 'CAMPAIGN'`,
  },
  ad_set_pacing: {
    about: 'Is the budget spent at the pace of the flight? One row per ad set that is or was live.',
    columns: {
      source,
      ...account('st'),
      ...campaignOf('st'),
      ad_set_id: ['st.id', 'Ad set id.'],
      ad_set_name: ['st.name', 'Name of the ad set.'],
      status: ['st.status', 'Status as the platform names it.'],
      is_paused: ['st.is_paused', 'True while it is paused; null if the platform does not say.'],
      currency: currency('coalesce(st.budget_currency, ac.currency_code)'),
      budget_type: ['st.budget_type', 'DAILY or LIFETIME.'],
      budget: ['st.budget', 'Budget of today in units of currency; a day or the lifetime, see budget_type.'],
      budget_to_date: [
        budgetToDate,
        'LIFETIME: the budget. DAILY: what the daily budgets in force allowed up to last_report_date, paused days included; a change counts from its day on.',
      ],
      spend_to_date: [
        'sp.spent::numeric(28,6)',
        'Spend so far in units of currency, as reported for the ad set.',
      ],
      budget_used_ratio: [
        per('sp.spent', budgetToDate, 4),
        'spend_to_date by budget_to_date; 1 is exactly spent.',
      ],
      flight_elapsed_ratio: [
        `(case when st.end_at > st.start_at then
          least(1, greatest(0, extract(epoch from now() - st.start_at) / extract(epoch from st.end_at - st.start_at))) end)::numeric(6,4)`,
        'How much of the flight is over, 0 to 1; null without an end.',
      ],
      bid: ['st.bid', 'Bid of today in units of currency.'],
      bid_strategy: ['st.bid_strategy', 'Bid strategy of today.'],
      start_at: ['st.start_at', 'When delivery starts or started (UTC).'],
      end_at: ['st.end_at', 'When delivery is planned to end (UTC).'],
      first_report_date: ['sp.first_day', 'First day with numbers, UTC.'],
      last_report_date: ['sp.last_day', 'Last day with numbers, UTC.'],
      synced_at: syncedAt('st'),
    },
    from: `ads.ad_sets st
      ${sourceOf('st')}
      ${label('campaigns', 'c', 'st', 'st.campaign_id')}
      ${label('ad_accounts', 'ac', 'st', 'st.ad_account_id')}
      left join ${spentByAdSet} sp on sp.source_id = st.source_id and sp.entity_id = st.id
      left join lateral ${dailyBudgets} b on st.budget_type = 'DAILY' and sp.last_day is not null
      where st._deleted_at is null`,
  },
  audience_insights: {
    about:
      'Who heard it: lifetime numbers of campaigns and ad sets by part of their audience, as they were on a day; one row per entity, dimension, value and day of capture.',
    columns: {
      source,
      entity_type: ['i.entity_type', 'CAMPAIGN or AD_SET.'],
      entity_id: ['i.entity_id', 'Campaign or ad set id.'],
      entity_name: [`case i.entity_type when 'CAMPAIGN' then c.name else st.name end`, 'Its name.'],
      dimension: ['i.dimension', 'What the audience is divided by, e.g. AGE, GENDER, COUNTRY.'],
      dimension_value: [
        'i.value',
        'The part of the audience, e.g. 18-24; empty where the platform names none.',
      ],
      captured_date: [
        'i.captured_on',
        'Day of capture in UTC; numbers are those from the beginning up to then.',
      ],
      is_latest: [
        `i.captured_on = max(i.captured_on) over (${insightPartition})`,
        'True for the latest capture of the entity and dimension. Filter on it: captures are not to be summed.',
      ],
      impressions: ['i.impressions', 'Times shown or played.'],
      clicks: ['i.clicks', 'Clicks.'],
      completes: ['i.completes', 'Times played to the end.'],
      reach: ['i.reach', 'Different people reached; never sum it over captures or dimensions.'],
      listeners: ['i.listeners', 'Different people who listened to what is promoted; never sum it.'],
      streams: ['i.streams', 'Streams of what is promoted.'],
      purchases: ['i.purchases', 'Purchases credited to the ads; null if not told or hidden.'],
      purchases_suppressed: ['i.purchases_suppressed', 'True where purchases are hidden: 1 to 4.'],
      ctr: [per('i.clicks', 'i.impressions'), 'Clicks by impressions, 0 to 1.'],
      impression_share_ratio: [
        per('i.impressions', `sum(i.impressions) over (${insightPartition}, i.captured_on)`),
        'Share of the impressions of all values of the dimension in this capture, 0 to 1.',
      ],
    },
    from: `ads.insight_snapshots i
      ${sourceOf('i')}
      ${label('campaigns', 'c', 'i', 'i.entity_id')}
      ${label('ad_sets', 'st', 'i', 'i.entity_id')}`,
  },
  ad_change_history: {
    about:
      'Who changed what at the platform; one row per change and field. Empty where the server keeps no such history.',
    columns: {
      source,
      change_id: ['h.id', 'Change id; the fields changed together share it.'],
      ...account('h'),
      changed_at: ['h.changed_at', 'When it was changed (UTC).'],
      changed_date: [utcDay('h.changed_at'), 'Day of the change in UTC.'],
      entity_type: ['h.entity_type', 'What was changed, e.g. CAMPAIGN, AD_SET, CREATIVE.'],
      entity_id: ['h.entity_id', 'Its id.'],
      entity_name: ['h.entity_name', 'Its name.'],
      operation: ['h.operation', 'CREATED, CHANGED or REMOVED.'],
      changed_by: ['h.actor_name', 'Who or what changed it, as shown.'],
      changed_by_category: [
        'h.actor_category',
        'ADVERTISER_USER, SUPPORT, API_INTEGRATION, SYSTEM or UNKNOWN.',
      ],
      field_number: [
        'f.item',
        'Place of the field within its change, from 0; null for a change without fields.',
      ],
      field_name: ['coalesce(f.display_label, f.field_type)', 'The field, as people read it.'],
      change_category: [
        'f.change_category',
        'STATUS, BUDGET, TARGETING, CREATIVE, SCHEDULING, SETTINGS or BILLING.',
      ],
      old_value: [changedValue('f.before'), 'Value before, as text; amounts as the platform writes them.'],
      new_value: [changedValue('f.after'), 'Value after, as text; amounts as the platform writes them.'],
    },
    from: `ads.change_history h
      ${sourceOf('h')}
      left join ads.change_history_items f on f.source_id = h.source_id and f.change_id = h.id
      ${label('ad_accounts', 'ac', 'h', 'h.ad_account_id')}
      where h._deleted_at is null`,
  },
  report_revisions: {
    about:
      'What daily numbers said before the platform restated them; one row per number and change. A day read for the first time is no change.',
    columns: {
      source,
      ad_account_id: ['ac.id', 'Ad account id.'],
      ad_account_name: ['ac.name', 'Name of the ad account.'],
      currency: currency(),
      entity_type: ['v.entity_type', 'AD_ACCOUNT, CAMPAIGN, AD_SET or AD.'],
      entity_id: ['v.entity_id', 'Its id.'],
      entity_name: [
        `case v.entity_type when 'AD' then a.name when 'AD_SET' then st.name when 'CAMPAIGN' then c.name else ac.name end`,
        'Its name.',
      ],
      date_day: ['v.day', 'The day whose number changed, UTC.'],
      metric: ['v.metric', 'The number that changed, e.g. spend (in units of currency), impressions.'],
      old_value: [anyMetric('v.old_value'), 'What it was, to six decimals; null if there was nothing.'],
      new_value: [anyMetric('v.new_value'), 'What it became, to six decimals; null if it went away.'],
      difference: [
        anyMetric('(coalesce(v.new_value, 0) - coalesce(v.old_value, 0))'),
        'new_value less old_value, nothing counted as 0. Sum it per metric only; ratios and reach not at all.',
      ],
      seen_at: ['v.seen_at', 'When the change was seen (UTC).'],
      days_later: [`${utcDay('v.seen_at')} - v.day`, 'How many days after the day itself it was seen.'],
      run_id: ['v._run_id::text', 'The run that saw it, see bi.sync_runs.run_id.'],
    },
    from: `ads.report_revisions v
      ${sourceOf('v')}
      left join ads.report_daily r on r.source_id = v.source_id and r.entity_type = v.entity_type and r.entity_id = v.entity_id and r.day = v.day
      left join ads.ads a on v.entity_type = 'AD' and a.source_id = v.source_id and a.id = v.entity_id
      left join ads.ad_sets st on v.entity_type = 'AD_SET' and st.source_id = v.source_id and st.id = v.entity_id
      left join ads.campaigns c on v.entity_type = 'CAMPAIGN' and c.source_id = v.source_id and c.id = v.entity_id
      ${label(
        'ad_accounts',
        'ac',
        'v',
        `coalesce(r.ad_account_id, a.ad_account_id, st.ad_account_id, c.ad_account_id, case v.entity_type when 'AD_ACCOUNT' then v.entity_id end)`,
      )}`,
  },
};

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const statements: readonly string[] = Object.entries(views).flatMap(([name, { about, columns, from }]) => [
  `create view bi.${name} as select ${Object.entries(columns)
    .map(([column, [expression]]) => `${expression} as ${column}`)
    .join(', ')} from ${from}`,
  `comment on view bi.${name} is ${quoted(about)}`,
  ...Object.entries(columns).map(
    ([column, [, comment]]) => `comment on column bi.${name}.${column} is ${quoted(comment)}`,
  ),
]);
