/**
 * Rows of aggregate and insight reports: their tables and the transforms that fill them. Days and hours are UTC, as the platform's reports are.
 * CSV reports: csv-rows.ts.
 */
import { isObject, own, Reading } from '../../core/record.ts';
import { field, from, readerOf } from '../../core/record-table.ts';
import * as values from '../../core/record-values.ts';
import type { LoadSide, Slice, Transform } from '../../core/stream.ts';
import * as columns from '../../core/table.ts';
import { formatInstant } from '../../core/time.ts';
import { metricsOf, numberColumns, type ReportKind } from './metrics.ts';
import { type Filling, rowMaker, statsReader } from './numbers.ts';

/** Facts with their transform, and which row a record is about that cannot become one. */
export interface Facts {
  readonly table: columns.DeclaredTable;
  readonly transform: Transform;
  readonly keyOf: NonNullable<LoadSide['keyOf']>;
}

/** In microseconds. */
const lengths = { hour: 3_600_000_000n, day: 86_400_000_000n } as const;
type Length = keyof typeof lengths;

/** A numbers table's earlier values, when the platform restates them. */
export const revised = (into: string, of: string, report: ReportKind) => ({
  into,
  about: `What ${of} said before: every number ${of === 'ads.report_daily' ? 'of a day already read ' : ''}that changed, came late or went; one row each.`,
  columns: metricsOf(report).map(({ column }) => column),
  extra: 'extra_metrics',
});

export const firstSynced = 'When this row first came here; the content may have been restated since.';

/** The level that was requested. A row of another one would be counted twice. */
const level = from(
  columns.text('AD_ACCOUNT, CAMPAIGN, AD_SET or AD.').key(),
  'entity_type',
  (r, record, { entity_type: asked }) => {
    if (typeof asked !== 'string') throw new TypeError('the slice has no partition key entity_type');
    if ((own(record, 'entity_type') ?? asked) === asked) return asked;
    throw r.reject('wrong_level', 'entity_type', `has another % than ${asked}, which was asked for`);
  },
);

/** The beginning of the row's hour or day. A row that begins within one or lasts longer is rejected. */
const beginning = (column: columns.Column, what: Length, as: (start: bigint) => columns.Value) =>
  from(column.key(), 'start_time', (r, record) => {
    const name = 'start_time';
    const start = values.requiredInstant(r, record, name);
    const end = values.instant(r, record, 'end_time');
    const length = lengths[what];
    if (start % length !== 0n) throw r.reject('bad_period', name, `has a % that begins no ${what} in UTC`);
    if (end !== null && (end < start || end - start > length))
      throw r.reject('bad_period', 'end_time', `has a % that is not within one ${what} of its ${name}`);
    return as(start);
  });

const account = field.owner('ad_account_id', 'The ad account it belongs to, see ads.ad_accounts.id.');
const capturedOn = columns.date('Day in UTC on which it was asked.').key();

/** The facts of a granularity. `time`: the field of the key that says when; `more`: further columns. Partition `ad_account_id`, `entity_type`. */
const aggregate = (
  name: `ads.${string}`,
  about: string,
  time: columns.Columns,
  options: columns.TableOptions,
  more: columns.Columns = {},
): Facts => {
  const keys = {
    entity_type: level,
    entity_id: field.keyText('entity_id', 'Id in ads.ad_accounts, campaigns, ad_sets or ads.').key(),
    ...time,
  };
  const fields = {
    ...keys,
    ad_account_id: account,
    entity_name: field.text('entity_name?', 'Its name when the report was read, where given.'),
    entity_status: field.text('entity_status?', 'Its status when the report was read, where given.'),
    parent_entity_id: field.text('parent_entity?.id?', 'The entity above it, where given.'),
    ...more,
  };
  const ignored = 'start_time end_time stats parent_entity.name parent_entity.status';
  const read = readerOf(fields, { ignored, noted: true });
  const readKey = readerOf(keys, { ignored });
  const readStats = statsReader('aggregate');
  const newRow = rowMaker('aggregate');
  const content = { ...fields, ...numberColumns('aggregate') };
  return {
    table: columns.table(name, about, content, { relation: true, ...options }),
    transform: (given, slice) => {
      const r = new Reading(name, 'row of', given);
      const record = values.requireRecord(r, given);
      const row: Filling = { ...newRow(), ...read(r, record, givenBy(slice)) };
      readStats(r, row, own(record, 'stats'));
      return { row, children: {}, ...r.remarks() };
    },
    keyOf: (given, slice) => {
      const r = new Reading(name, 'row of', given);
      const found = Object.entries(readKey(r, values.requireRecord(r, given), givenBy(slice)));
      return Object.fromEntries(found.map(([column, value]) => [column, keyText(value)]));
    },
  };
};

/** What the slice says of its rows. */
const givenBy = ({ partition = {}, window }: Slice): columns.Row => ({
  ...partition,
  // Of a reject that is replayed the window is text.
  captured_on: window?.from ? new Date(window.from).toISOString().slice(0, 10) : null,
});

const keyText = (value: columns.Value): string =>
  typeof value === 'bigint' ? formatInstant(value) : String(value);

const isFinal = (about: string) => ({ is_final: columns.bool(about).default('false') });

export const daily = aggregate(
  'ads.report_daily',
  "The numbers of every ad account, campaign, ad set and ad by day; one row per entity and day, as last restated. Days without delivery have no row. Levels overlap: an account's numbers are those of its campaigns.",
  {
    day: beginning(columns.date('Day in UTC, as the report has it.'), 'day', (start) =>
      formatInstant(start).slice(0, 10),
    ),
  },
  {
    firstSynced,
    afterLoad: isFinal('True once the row is older than what is read again: no change is expected.'),
    // The level first: rows of one source lie together, and the planner would read most of the table through such an index.
    indexes: ['(entity_type, source_id, ad_account_id, day)', '(source_id, day) where not is_final'],
    partitions: { by: 'day', each: 'year', from: 2020, to: 2030 },
    revisions: revised('ads.report_revisions', 'ads.report_daily', 'aggregate'),
  },
);

export const hourly = aggregate(
  'ads.report_hourly',
  'The same numbers by hour; one row per entity and hour. The source keeps two weeks, the warehouse keeps them all.',
  {
    hour_start: beginning(columns.timestamptz('Beginning of the hour (UTC).'), 'hour', (start) => start),
  },
  {
    firstSynced,
    afterLoad: isFinal('True once it is older than what is read again; later changes show in its day only.'),
    indexes: [
      '(entity_type, source_id, ad_account_id, hour_start)',
      '(source_id, hour_start) where not is_final',
    ],
    partitions: { by: 'hour_start', each: 'month', from: 2026, to: 2027 },
    revisions: revised('ads.report_hourly_revisions', 'ads.report_hourly', 'aggregate'),
  },
);

/** The window's day is when it was captured. A snapshot is never restated: the next one is another row. */
export const lifetime = aggregate(
  'ads.report_lifetime',
  'The same numbers over the life of an entity, as they were on a day; one row per entity and day of capture. The only place where reach over more than a day is told.',
  { captured_on: capturedOn },
  { indexes: ['(source_id, ad_account_id, entity_type, captured_on)'] },
  {
    start_at: field.instant('start_time?', 'Beginning of the period (UTC), where given.'),
    end_at: field.instant('end_time?', 'End of the period (UTC), where given.'),
  },
);

const audience = {
  entity_type: field.keyText('entity_type', 'CAMPAIGN or AD_SET.').key(),
  entity_id: field.keyText('entity_id', 'The entity: id in ads.campaigns or ads.ad_sets.').key(),
  dimension: field.keyText('dimension', 'What the audience is divided by, e.g. AGE, COUNTRY.').key(),
};
const state = {
  ...audience,
  ad_account_id: account,
  state: field
    .text('state', 'ok: a snapshot of asked_on. not_enough_data: too few people.')
    .oneOf('ok', 'not_enough_data'),
  code: field.text('code?', "The platform's code for why there is not enough data."),
  asked_on: field.day('asked_on', 'Day in UTC on which it was last asked.'),
};

const insightSnapshots = columns.table(
  'ads.insight_snapshots',
  'Who heard it: lifetime numbers of a campaign or ad set by value of a dimension, as they were on a day; one row per entity, dimension, value and day.',
  {
    ...audience,
    value: columns.text('Part of the audience, e.g. 18-24, US; empty where the source names none.').key(),
    captured_on: capturedOn,
    ad_account_id: account,
    ...numberColumns('insight'),
  },
  { relation: true, indexes: ['(source_id, ad_account_id, captured_on)'] },
);

const readState = readerOf(state, { ignored: 'rows', noted: true });
const readStats = statsReader('insight');
const newSnapshot = rowMaker('insight');
const snapshotKeys = new Set(['id', 'name', 'status', 'insight_value', 'stats']);

/**
 * Partition `ad_account_id`. A record is a request and its answer, as `reports/insight.ts` makes it: {entity_type, entity_id, dimension,
 * asked_on, state, code?, rows}. A value that comes twice rejects the record: one of the two would be lost.
 */
export const insights = {
  table: columns.table(
    'ads.insight_states',
    'What was last answered when the audience of a campaign or ad set was asked for; one row per entity and dimension.',
    state,
    { relation: true },
  ),
  // Snapshots of other days stay when a new one arrives.
  children: {
    snapshots: {
      table: insightSnapshots,
      parent: ['entity_type', 'entity_id', 'dimension'],
      absent: 'kept',
    },
  },
  transform: ((given, slice) => {
    const r = new Reading('ads.insight_states', 'insight of', given);
    const record = values.requireRecord(r, given);
    const row = readState(r, record, givenBy(slice));
    const { entity_type = null, entity_id = null, dimension = null, ad_account_id = null } = row;
    const snapshots = new Map<string, Filling>();
    for (const part of values.list(r, record, 'rows')) {
      const at = new Reading('ads.insight_snapshots', `${dimension} of`, { id: String(entity_id) });
      if (!isObject(part)) throw at.reject('bad_type', 'rows[]', 'has a % that is no object');
      at.keepUnknown(part, snapshotKeys, '', true);
      const value = values.keyText(at, 'insight_value', values.text(at, part, 'insight_value') ?? '');
      if (snapshots.has(value)) throw at.reject('repeated_value', 'insight_value', 'has two rows of one %');
      const of = { entity_type, entity_id, dimension, ad_account_id, captured_on: row.asked_on ?? null };
      const snapshot: Filling = { ...newSnapshot(), ...of, value };
      readStats(at, snapshot, own(part, 'stats'));
      snapshots.set(value, snapshot);
      for (const note of at.notes()) r.note(note);
    }
    return { row, children: { snapshots: [...snapshots.values()] }, ...r.remarks() };
  }) satisfies Transform,
} as const;
