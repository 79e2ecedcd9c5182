/**
 * The numbers of the ads platform: per entity and day, hour or lifetime, per audience value, and per name from CSV reports. Days and hours
 * are UTC, as the reports' own. A metric that was not told is null, never 0; one that the platform hides is null with `…_suppressed`.
 */
import { type Child, type ColumnType, type Row, type Table, table } from '../../../core/table.ts';
import { hiddenColumn, type MetricKind, metricsOf, type Report } from './metrics.ts';

const types: Readonly<Record<MetricKind, ColumnType>> = {
  count: 'bigint',
  money: 'numeric',
  rate: 'numeric',
};

/**
 * The columns of a report's numbers: one a metric, `…_suppressed` where the platform may hide it, `extra_metrics` (further numbers by their
 * name at the source) and `_extra` (everything else that has no column).
 */
const numbers = (report: Report): Readonly<Record<string, ColumnType>> => {
  const known = metricsOf(report);
  return {
    ...Object.fromEntries(known.map(([column, { kind }]) => [column, types[kind]])),
    ...Object.fromEntries(
      known.filter(([, one]) => one.hidden).map(([column]) => [hiddenColumn(column), 'bool']),
    ),
    extra_metrics: 'jsonb',
    _extra: 'jsonb',
  };
};

const revised = (into: string, report: Report): NonNullable<Table['revisions']> => ({
  into,
  columns: metricsOf(report).map(([column]) => column),
  extra: 'extra_metrics',
});

const entity = {
  ad_account_id: 'text',
  entity_name: 'text',
  entity_status: 'text',
  parent_entity_id: 'text',
} as const;

export const reportDaily = table<Row>({
  schema: 'ads',
  name: 'report_daily',
  columns: { entity_type: 'text', entity_id: 'text', day: 'date', ...entity, ...numbers('aggregate') },
  key: ['entity_type', 'entity_id', 'day'],
  tombstones: false,
  entity: false,
  partitioned: true,
  revisions: revised('ads.report_revisions', 'aggregate'),
});

export const reportHourly = table<Row>({
  schema: 'ads',
  name: 'report_hourly',
  columns: {
    entity_type: 'text',
    entity_id: 'text',
    hour_start: 'timestamptz',
    ...entity,
    ...numbers('aggregate'),
  },
  key: ['entity_type', 'entity_id', 'hour_start'],
  tombstones: false,
  entity: false,
  partitioned: true,
  revisions: revised('ads.report_hourly_revisions', 'aggregate'),
});

/** What a lifetime report said on a day; a snapshot is never restated, the next one is another row. */
export const reportLifetime = table<Row>({
  schema: 'ads',
  name: 'report_lifetime',
  columns: {
    entity_type: 'text',
    entity_id: 'text',
    captured_on: 'date',
    ...entity,
    start_at: 'timestamptz',
    end_at: 'timestamptz',
    ...numbers('aggregate'),
  },
  key: ['entity_type', 'entity_id', 'captured_on'],
  tombstones: false,
  entity: false,
});

export type InsightStateRow = {
  readonly entity_type: string;
  readonly entity_id: string;
  readonly dimension: string;
  readonly ad_account_id: string;
  readonly state: 'ok' | 'not_enough_data';
  readonly code: string | null;
  readonly asked_on: string;
};

export const insightStates = table<InsightStateRow>({
  schema: 'ads',
  name: 'insight_states',
  columns: {
    entity_type: 'text',
    entity_id: 'text',
    dimension: 'text',
    ad_account_id: 'text',
    state: 'text',
    code: 'text',
    asked_on: 'date',
  },
  key: ['entity_type', 'entity_id', 'dimension'],
  tombstones: false,
  entity: false,
});

export const insightSnapshots = table<Row>({
  schema: 'ads',
  name: 'insight_snapshots',
  columns: {
    entity_type: 'text',
    entity_id: 'text',
    dimension: 'text',
    value: 'text',
    captured_on: 'date',
    ad_account_id: 'text',
    ...numbers('insight'),
  },
  key: ['entity_type', 'entity_id', 'dimension', 'value', 'captured_on'],
  tombstones: false,
  entity: false,
});

/** Snapshots of other days stay when a new one arrives. */
export const insightChildren = {
  snapshots: { table: insightSnapshots, parent: ['entity_type', 'entity_id', 'dimension'], absent: 'kept' },
} as const satisfies Readonly<Record<string, Child>>;

/** Rows of CSV reports know their entities by name only; rows that repeat all names and the day are told apart by `occurrence`. */
export const reportCsv = table<Row>({
  schema: 'ads',
  name: 'report_csv',
  columns: {
    ad_account_id: 'text',
    day: 'date',
    campaign_name: 'text',
    ad_set_name: 'text',
    ad_name: 'text',
    occurrence: 'int',
    ad_account_name: 'text',
    currency: 'text',
    campaign_status: 'text',
    campaign_objective: 'text',
    ad_set_status: 'text',
    ad_set_budget: 'text',
    ad_set_cost_model: 'text',
    ...numbers('csv'),
  },
  key: ['ad_account_id', 'day', 'campaign_name', 'ad_set_name', 'ad_name', 'occurrence'],
  tombstones: false,
  entity: false,
  occurrence: 'occurrence',
  revisions: revised('ads.report_csv_revisions', 'csv'),
});
