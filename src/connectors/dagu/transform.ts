/** Records of the workflow engine to rows: fields.ts names the columns, here each is read by its type. */

import { BadData } from '../../core/errors.ts';
import { ExactNumber } from '../../core/json.ts';
import { isObject, type JsonObject, own } from '../../core/record-object.ts';
import { Reading } from '../../core/record-reader.ts';
import * as read from '../../core/record-values.ts';
import type { Mapped, Transform } from '../../core/stream.ts';
import type { ColumnType, Row, Value } from '../../core/table.ts';
import { parseAnyInstant } from '../../core/time.ts';
import { byColumn, type Columns, dagNames, runColumns, type Step, stateIn, stepsOf } from './fields.ts';
import { dagRunSteps, dagRuns, dags } from './tables.ts';

type Read = (r: Reading, values: JsonObject, column: string) => Value;

/** Null for what Dagu (`""`, `-`), Go (year 1) and counts (0) give for none. What cannot be read is kept with the reason. */
const moment: Read = (r, values, column) => {
  const value = own(values, column);
  if (value === undefined || value === null || value === '' || value === '-' || value === 0) return null;
  if (typeof value === 'string' && value.startsWith('0001-01-01T00:00:00')) return null;
  try {
    if (typeof value === 'string' || typeof value === 'number') return parseAnyInstant(value);
  } catch (error) {
    if (!(error instanceof BadData)) throw error;
  }
  return r.flip(column, value, 'an instant');
};

/** Text; a number or truth value as text, because the contract does not say what ids are. Empty text is null. */
const scalar: Read = (r, values, column) => {
  const value = own(values, column);
  const isOther = typeof value === 'number' || typeof value === 'boolean' || value instanceof ExactNumber;
  return isOther ? String(value) : read.text(r, values, column) || null;
};

/** Lists and objects as JSON text: the contract does not say how parameters and errors are written. */
const anyText: Read = (r, values, column) => {
  const value = own(values, column);
  return Array.isArray(value) || isObject(value) ? r.json(column, value) : scalar(r, values, column);
};

const json: Read = (r, values, column) => {
  const value = own(values, column);
  return value === undefined || value === null ? null : r.json(column, value);
};

/** A list of texts, or one text; anything else is kept with the reason. */
const texts: Read = (r, values, column) => {
  const value = own(values, column);
  const found = typeof value === 'string' ? [value].filter(Boolean) : read.list(r, values, column);
  const good = found.filter((one) => typeof one === 'string');
  if (good.length < found.length) r.flip(column, found, 'a list of texts');
  return good;
};

const readers: Partial<Readonly<Record<ColumnType, Read>>> = {
  ...{
    text: scalar,
    bigint: read.integer,
    timestamptz: moment,
    jsonb: json,
    bool: read.bool,
    'text[]': texts,
  },
};

/** The row of a table: the columns that are `given`, and all others from the record. */
const rowOf = (r: Reading, columns: object, { values, rest }: Columns, given: Row): Row => {
  r.keepUnknown(rest, new Set());
  const row: Record<string, Value> = {};
  for (const [column, type] of Object.entries(columns)) {
    const value = column === 'params' || column === 'error' ? anyText : readers[type as ColumnType];
    if (column !== '_extra') row[column] = given[column] ?? value?.(r, values, column) ?? null;
  }
  return { ...row, _extra: r.extra() };
};

/** Status, its number and its meaning. An unknown word is kept (R17). */
const stateColumns = (r: Reading, values: JsonObject, of: 'run' | 'step'): Row => {
  const { word, state } = stateIn(values, of);
  if (word !== null && state === 'unknown') r.note(`status: an unknown word: ${word.slice(0, 60)}`);
  const status_code = typeof values.status === 'string' ? null : read.integer(r, values, 'status');
  return { status: word, status_code, state };
};

const mapped = (r: Reading, row: Row, children: Mapped['children'] = {}): Mapped => {
  const notes = r.notes();
  return { row, children, ...(notes.length > 0 && { notes }) };
};

/** A `Dag` of fields.ts. Its status is that of its newest run. */
export const dag: Transform = (value) => {
  const r = new Reading('workflow.dags', 'DAG', value);
  const record = read.requireRecord(r, value);
  const { values, rest } = byColumn(read.object(r, record, 'members') ?? {}, dagNames);
  const latest = read.object(r, record, 'latest');
  const run = runColumns((latest && read.object(r, latest, 'members')) ?? {}).values;
  const given = {
    ...(latest === null ? { status: null, state: null } : stateColumns(r, run, 'run')),
    name: read.requiredKey(r, record, 'name'),
    latest_dag_run_id: (latest && read.text(r, latest, 'id', 'latest.id')) || null,
  };
  const odd = values.latest !== undefined && !isObject(values.latest) && { latestDAGRun: values.latest };
  return mapped(r, rowOf(r, dags.columns, { values, rest: { ...rest, ...odd } }, given));
};

/** A `Run` of fields.ts with its steps. A step without a name stays with the run, in `_extra`. */
export const dagRun: Transform = (value) => {
  const r = new Reading('workflow.dag_runs', 'run', value);
  const record = read.requireRecord(r, value);
  const members = read.object(r, record, 'members') ?? {};
  const key = { dag_name: read.requiredKey(r, record, 'dag'), dag_run_id: read.requiredKey(r, record, 'id') };
  const { steps: found, isWhole } = stepsOf(members);
  const steps = stepRows(r, key, found, read.object(r, record, 'logs') ?? {});
  const columns = runColumns(members);
  const instants = { begun_at: moment(r, record, 'begun_at'), gone_at: moment(r, record, 'gone_at') };
  const row = rowOf(r, dagRuns.columns, columns, {
    ...stateColumns(r, columns.values, 'run'),
    ...instants,
    ...key,
  });
  const isPartial = !isWhole || steps.length < found.length;
  return { ...mapped(r, row, { steps }), ...(isPartial && { partial: ['steps'] }) };
};

const stepRows = (r: Reading, key: Row, steps: readonly Step[], logs: JsonObject): readonly Row[] => {
  const seen = new Map<string, number>();
  return steps.flatMap((step, position) => {
    const { values, rest, kind } = step;
    const name = values.step_name;
    if (typeof name !== 'string' || name === '') {
      r.keep(`steps[${position}]`, { ...values, ...rest });
      r.note('steps[]: a step without a name');
      return [];
    }
    const at = r.row('steps', position);
    const occurrence = seen.get(name) ?? 0;
    seen.set(name, occurrence + 1);
    const log = read.object(at, logs, String(position)) ?? {};
    const given = {
      ...{ ...key, ...stateColumns(at, values, 'step'), occurrence, position, kind },
      step_name: read.keyText(at, 'step_name', name),
      stdout_tail: read.text(at, log, 'stdout'),
      stderr_tail: read.text(at, log, 'stderr'),
      log_problem: read.text(at, log, 'problem'),
    };
    return [rowOf(at, dagRunSteps.columns, step, given)];
  });
};
