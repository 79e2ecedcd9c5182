/**
 * The numbers of the ads platform: per entity and day, hour or lifetime, per audience value, and per name from CSV reports. Days and hours
 * are UTC, as in the reports. A metric that the platform does not give is null, never 0; one that it hides is null with `…_suppressed`.
 */
import {
  bigint,
  bool,
  type Child,
  type Columns,
  date,
  int,
  jsonb,
  money,
  numeric,
  type RowOf,
  table,
  text,
  timestamptz,
} from '../../../core/table.ts';
import { hiddenColumn, type MetricKind, metricsOf, type Report } from './metrics.ts';

const builders = { count: bigint, money, rate: numeric } as const satisfies Record<MetricKind, unknown>;

/** The columns of a report's numbers: one a metric, `…_suppressed` where the platform may hide it, and what fits into neither. */
const numbers = (report: Report): Columns => {
  const known = metricsOf(report);
  return {
    ...Object.fromEntries(
      known.map(([column, { kind, about }]) => [column, builders[kind](about).nullable()]),
    ),
    ...Object.fromEntries(
      known
        .filter(([, { hidden }]) => hidden)
        .map(([column]) => [hiddenColumn(column), bool(isHidden(column)).default('false')]),
    ),
    extra_metrics: jsonb(
      'Numbers that no column holds exactly, by their name at the source: metrics without a column, fractions where a count was expected, amounts finer than a millionth.',
    ).nullable(),
    _extra: jsonb(
      'Everything else that the row told and no column holds, and raw values of an unexpected type with the reason.',
    ).nullable(),
  };
};

const isHidden = (column: string): string =>
  `True where ${column} is null because the platform hides 1 to 4 conversions.`;

const revised = (into: string, of: string, report: Report) => ({
  into,
  about: `${of} one row each.`,
  columns: metricsOf(report).map(([column]) => column),
  extra: 'extra_metrics',
});

const firstSynced = 'When this row first came here; the content may have been restated since.';
const account = text('The ad account it belongs to, see ads.ad_accounts.id.');

const entityKey = {
  entity_type: text('AD_ACCOUNT, CAMPAIGN, AD_SET or AD.').key(),
  entity_id: text('The entity: id in ads.ad_accounts, campaigns, ad_sets or ads.').key(),
};
const entity = {
  ad_account_id: account,
  entity_name: text('Its name when the report was read, where told.').nullable(),
  entity_status: text('Its status when the report was read, where told.').nullable(),
  parent_entity_id: text('The entity above it, where told.').nullable(),
};
const capturedOn = date('Day in UTC on which it was asked.').key();

export const reportDaily = table(
  'ads.report_daily',
  "The numbers of every ad account, campaign, ad set and ad by day; one row per entity and day, as last restated. Days without delivery have no row. Levels overlap: an account's numbers are those of its campaigns.",
  { ...entityKey, day: date('Day in UTC, as the report has it.').key(), ...entity, ...numbers('aggregate') },
  {
    relation: true,
    firstSynced,
    afterLoad: {
      is_final: bool(
        'True once the row is older than what is read again: the number is no longer expected to change.',
      ).default('false'),
    },
    indexes: ['(source_id, ad_account_id, entity_type, day)', '(source_id, day) where not is_final'],
    partitions: { by: 'day', each: 'year', from: 2020, to: 2030 },
    revisions: revised(
      'ads.report_revisions',
      'What ads.report_daily said before: every number of a day already read that changed, came late or went;',
      'aggregate',
    ),
  },
);

export const reportHourly = table(
  'ads.report_hourly',
  'The same numbers by hour; one row per entity and hour. The source keeps two weeks, the warehouse keeps them all.',
  {
    ...entityKey,
    hour_start: timestamptz('Beginning of the hour (UTC).').key(),
    ...entity,
    ...numbers('aggregate'),
  },
  {
    relation: true,
    firstSynced,
    afterLoad: {
      is_final: bool(
        'True once the hour is older than what is read again; the platform tells the last two weeks only. What it restates later shows in the numbers of the day alone.',
      ).default('false'),
    },
    indexes: [
      '(source_id, ad_account_id, entity_type, hour_start)',
      '(source_id, hour_start) where not is_final',
    ],
    partitions: { by: 'hour_start', each: 'month', from: 2026, to: 2027 },
    revisions: revised(
      'ads.report_hourly_revisions',
      'What ads.report_hourly said before: every number that changed, came late or went;',
      'aggregate',
    ),
  },
);

/** A snapshot is never restated: the next one is another row. */
export const reportLifetime = table(
  'ads.report_lifetime',
  'The same numbers over the life of an entity, as they were on a day; one row per entity and day of capture. The only place where reach over more than a day is told.',
  {
    ...entityKey,
    captured_on: capturedOn,
    ...entity,
    start_at: timestamptz('Beginning of the period (UTC), where told.').nullable(),
    end_at: timestamptz('End of the period (UTC), where told.').nullable(),
    ...numbers('aggregate'),
  },
  { relation: true, indexes: ['(source_id, ad_account_id, entity_type, captured_on)'] },
);

const audienceKey = {
  entity_type: text('CAMPAIGN or AD_SET.').key(),
  entity_id: text('The entity: id in ads.campaigns or ads.ad_sets.').key(),
  dimension: text('What the audience is divided by, e.g. AGE, GENDER, COUNTRY, PLATFORM.').key(),
};

export const insightStates = table(
  'ads.insight_states',
  'What was last answered when the audience of a campaign or ad set was asked for; one row per entity and dimension.',
  {
    ...audienceKey,
    ad_account_id: account,
    state: text(
      'ok: there is a snapshot of asked_on. not_enough_data: too few people to tell, asked again at most daily.',
    ).oneOf('ok', 'not_enough_data'),
    code: text("The platform's code for why there is not enough data.").nullable(),
    asked_on: date('Day in UTC on which it was last asked.'),
  },
  { relation: true },
);
export type InsightStateRow = RowOf<typeof insightStates>;

export const insightSnapshots = table(
  'ads.insight_snapshots',
  'Who heard it: lifetime numbers of a campaign or ad set by value of a dimension, as they were on a day; one row per entity, dimension, value and day.',
  {
    ...audienceKey,
    value: text('The part of the audience, e.g. 18-24, FEMALE, US; empty where the source names none.').key(),
    captured_on: capturedOn,
    ad_account_id: account,
    ...numbers('insight'),
  },
  { relation: true, indexes: ['(source_id, ad_account_id, captured_on)'] },
);

/** Snapshots of other days stay when a new one arrives. */
export const insightChildren = {
  snapshots: { table: insightSnapshots, parent: ['entity_type', 'entity_id', 'dimension'], absent: 'kept' },
} as const satisfies Readonly<Record<string, Child>>;

/** CSV reports name their entities and give no ids; rows that repeat all names and the day are told apart by `occurrence`. */
export const reportCsv = table(
  'ads.report_csv',
  'The numbers of asynchronous CSV reports by day and names; one row per row of the report. It has no ids: prefer ads.report_daily where both can answer.',
  {
    ad_account_id: account.key(),
    day: date('Day in UTC, as the report has it.').key(),
    campaign_name: text('Name of the campaign as the report writes it; empty where it writes none.').key(),
    ad_set_name: text('Name of the ad set as the report writes it; empty where it writes none.').key(),
    ad_name: text('Name of the ad as the report writes it; empty where it writes none.').key(),
    occurrence: int('Tells rows apart that have the same names and day, from 0.').key(),
    ad_account_name: text('Name of the ad account as the report writes it.').nullable(),
    currency: text('ISO 4217 currency as the report writes it.').nullable(),
    campaign_status: text('Status of the campaign as the report writes it.').nullable(),
    campaign_objective: text('Objective of the campaign as the report writes it.').nullable(),
    ad_set_status: text('Status of the ad set as the report writes it.').nullable(),
    ad_set_budget: text(
      'Budget as the report writes it; its unit is not documented. For amounts: ads.ad_sets.budget.',
    ).nullable(),
    ad_set_cost_model: text('Cost model as the report writes it.').nullable(),
    ...numbers('csv'),
  },
  {
    relation: true,
    firstSynced,
    occurrence: 'occurrence',
    revisions: revised(
      'ads.report_csv_revisions',
      'What ads.report_csv said before: every number that changed, came late or went;',
      'csv',
    ),
  },
);
