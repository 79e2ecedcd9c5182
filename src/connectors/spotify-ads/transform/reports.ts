/** The transforms of report rows by day, hour and lifetime, and of insights. Days and hours are UTC, as the platform's reports are. */
import { isObject, type JsonObject, own } from '../../../core/record-object.ts';
import { Reading } from '../../../core/record-reader.ts';
import {
  day,
  instant,
  keyText,
  list,
  requiredInstant,
  requiredKey,
  requireRecord,
  text,
} from '../../../core/record-values.ts';
import type { Json } from '../../../core/request.ts';
import type { LoadSide, Mapped, Slice, Transform } from '../../../core/stream.ts';
import type { Row, Value } from '../../../core/table.ts';
import { formatInstant, type Instant } from '../../../core/time.ts';
import type { InsightStateRow } from '../tables.ts';
import { accountOf, keepNews, within, words } from './mapper.ts';
import { type Filling, Numbers, type Plan, planOf, tellStats, templateOf } from './numbers.ts';

const HOUR = 3_600_000_000n;
const DAY = 24n * HOUR;

const aggregate = planOf('aggregate');
const insights = planOf('insight');

const ROW_KEYS = words(
  'entity_type entity_id entity_name entity_status parent_entity start_time end_time stats',
);
const PARENT_KEYS = words('id name status');

/** The columns that say for what time a row speaks, out of `start_time` and `end_time`. */
interface Times {
  /** The first is one of the key. */
  readonly columns: readonly string[];
  readonly fill: (cells: Filling, r: Reading, record: JsonObject, slice: Slice) => void;
}

/** A transform of report rows, and which row a record is about. */
const reportRow = (stream: string, times: Times): Pick<LoadSide, 'transform' | 'keyOf'> => ({
  transform: transformOf(stream, times),
  keyOf: keyOf(stream, times),
});

const keyOf =
  (stream: string, { columns, fill }: Times): NonNullable<LoadSide['keyOf']> =>
  (record, slice) => {
    const r = new Reading(stream, 'row of', record);
    const found = requireRecord(r, record);
    const cells: Filling = {};
    fill(cells, r, found, slice);
    const [time = ''] = columns;
    const at = cells[time];
    return {
      entity_type: level(r, found, slice),
      entity_id: requiredKey(r, found, 'entity_id'),
      [time]: typeof at === 'bigint' ? formatInstant(at) : String(at),
    };
  };

const transformOf = (stream: string, { columns: times, fill }: Times): Transform => {
  const columns = [
    'entity_type',
    'entity_id',
    ...times,
    'ad_account_id',
    'entity_name',
    'entity_status',
    'parent_entity_id',
  ];
  const template = templateOf(Object.fromEntries(columns.map((column) => [column, null])), aggregate);
  return (record, slice) => {
    const r = new Reading(stream, 'row of', record);
    const found = requireRecord(r, record);
    const cells: Filling = { ...template };
    cells.entity_type = level(r, found, slice);
    cells.entity_id = requiredKey(r, found, 'entity_id');
    fill(cells, r, found, slice);
    cells.ad_account_id = accountOf(slice);
    cells.entity_name = text(r, found, 'entity_name');
    cells.entity_status = text(r, found, 'entity_status');
    cells.parent_entity_id = parentOf(r, found);
    keepNews(r, found, ROW_KEYS);
    return numbered(r, aggregate, cells, own(found, 'stats'));
  };
};

/** The row with its numbers. `cells` is nobody else's. */
const numbered = (r: Reading, plan: Plan, cells: Record<string, Value>, stats: Json): Mapped => {
  const numbers = new Numbers(r, plan, cells);
  tellStats(r, numbers, stats);
  numbers.finish();
  const notes = r.notes();
  return { row: cells, children: {}, ...(notes.length > 0 && { notes }) };
};

/** The level that was asked for. A row of another one would be counted there twice. */
const level = (r: Reading, record: JsonObject, slice: Slice): string => {
  const asked = slice.partition?.entity_type;
  if (asked === undefined) throw new TypeError('the slice has no partition key entity_type');
  const told = own(record, 'entity_type') ?? asked;
  if (told !== asked)
    throw r.reject('wrong_level', 'entity_type', `has another % than ${asked}, which was asked for`);
  return asked;
};

const parentOf = (r: Reading, record: JsonObject): string | null => {
  const parent = within(r, record, 'parent_entity', PARENT_KEYS);
  return parent && text(r, parent, 'id', 'parent_entity.id');
};

/** The beginning of the row's hour or day. A row that begins within one or lasts longer would be put down to the wrong one: rejected. */
const beginning = (r: Reading, record: JsonObject, length: bigint, what: string): Instant => {
  const start = requiredInstant(r, record, 'start_time');
  const end = instant(r, record, 'end_time');
  if (start % length !== 0n)
    throw r.reject('bad_period', 'start_time', `has a % that begins no ${what} in UTC`);
  if (end !== null && (end < start || end - start > length))
    throw r.reject('bad_period', 'end_time', `has a % that is not within one ${what} of its start_time`);
  return start;
};

/** Partition `ad_account_id`, `entity_type`. */
export const dailyRow = reportRow('ads.report_daily', {
  columns: ['day'],
  fill: (cells, r, record) => {
    cells.day = formatInstant(beginning(r, record, DAY, 'day')).slice(0, 10);
  },
});

/** Partition `ad_account_id`, `entity_type`. */
export const hourlyRow = reportRow('ads.report_hourly', {
  columns: ['hour_start'],
  fill: (cells, r, record) => {
    cells.hour_start = beginning(r, record, HOUR, 'hour');
  },
});

/** Partition `ad_account_id`, `entity_type`; the window's day is when it was captured. */
export const lifetimeRow = reportRow('ads.report_lifetime', {
  columns: ['captured_on', 'start_at', 'end_at'],
  fill: (cells, r, record, slice) => {
    const captured = slice.window?.from;
    if (captured === undefined) throw new TypeError('the slice of a snapshot has no day');
    cells.captured_on = captured.toISOString().slice(0, 10);
    cells.start_at = instant(r, record, 'start_time');
    cells.end_at = instant(r, record, 'end_time');
  },
});

/**
 * Partition `ad_account_id`. The record is what was asked and answered: {entity_type, entity_id, dimension, asked_on, state, code?, rows}.
 * Child `snapshots`: one row a value. A value told twice rejects the record: one of the two would be lost.
 */
export const insight: Transform = (record, slice) => {
  const r = new Reading('ads.insight_states', 'insight of', record);
  const found = requireRecord(r, record);
  const state = own(found, 'state');
  if (state !== 'ok' && state !== 'not_enough_data') throw r.reject('bad_state', 'state', 'has an unknown %');
  const asked = day(r, found, 'asked_on');
  if (asked === null) throw r.reject('missing_field', 'asked_on', 'has no %');
  const row: InsightStateRow = {
    entity_type: requiredKey(r, found, 'entity_type'),
    entity_id: requiredKey(r, found, 'entity_id'),
    dimension: requiredKey(r, found, 'dimension'),
    ad_account_id: accountOf(slice),
    state,
    code: text(r, found, 'code'),
    asked_on: asked,
  };
  const notes = new Set<string>();
  const values = new Set<string>();
  const snapshots = list(r, found, 'rows').map((part): Row => {
    const at = new Reading('ads.insight_snapshots', `${row.dimension} of`, { id: row.entity_id });
    const snapshot = snapshotRow(at, row, part);
    if (values.has(String(snapshot.value)))
      throw at.reject('repeated_value', 'insight_value', 'has two rows of one %');
    values.add(String(snapshot.value));
    for (const note of at.notes()) notes.add(note);
    return snapshot;
  });
  for (const note of r.notes()) notes.add(note);
  return { row, children: { snapshots }, ...(notes.size > 0 && { notes: [...notes] }) };
};

const INSIGHT_KEYS = words('id name status insight_value stats');

const snapshotRow = (
  r: Reading,
  { entity_type, entity_id, dimension, ad_account_id, asked_on }: InsightStateRow,
  part: Json,
): Row => {
  if (!isObject(part)) throw r.reject('bad_type', 'rows[]', 'has a % that is no object');
  keepNews(r, part, INSIGHT_KEYS);
  const cells = {
    entity_type,
    entity_id,
    dimension,
    value: keyText(r, 'insight_value', text(r, part, 'insight_value') ?? ''),
    captured_on: asked_on,
    ad_account_id,
    ...insights.empty,
  };
  return numbered(r, insights, cells, own(part, 'stats')).row;
};
