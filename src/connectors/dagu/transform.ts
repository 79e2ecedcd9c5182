/** Records of the workflow engine to rows. fields.ts has named their members by column; here each column is read by its type. */

import { BadData } from '../../core/errors.ts';
import { ExactNumber } from '../../core/json.ts';
import { isObject, type JsonObject, own } from '../../core/record-object.ts';
import { Reading } from '../../core/record-reader.ts';
import {
  bool,
  integer,
  keyText,
  list,
  object,
  requiredKey,
  requireRecord,
  soundText,
  text,
} from '../../core/record-values.ts';
import type { Json } from '../../core/request.ts';
import type { Flow, Mapped } from '../../core/stream.ts';
import type { ColumnType, Row, Value } from '../../core/table.ts';
import { type Instant, parseAnyInstant } from '../../core/time.ts';
import { standingIn } from './fields.ts';
import { dagRunSteps, dagRuns, dags } from './tables.ts';

type Read = (r: Reading, known: JsonObject, column: string) => Value;

/** An instant; null for what Dagu (`""`, `-`) and Go (year 1) write for none. What cannot be read is kept with the reason. */
const moment: Read = (r, known, column): Instant | null => {
  const value = own(known, column);
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
const scalar: Read = (r, known, column) => {
  const value = own(known, column);
  const isOther = typeof value === 'number' || typeof value === 'boolean' || value instanceof ExactNumber;
  return isOther ? String(value) : text(r, known, column) || null;
};

/** Text as it is; lists and objects as JSON text: the contract does not say how parameters and errors are written. */
const anyText: Read = (r, known, column) => {
  const value = own(known, column);
  return Array.isArray(value) || isObject(value) ? r.json(column, value) : scalar(r, known, column);
};

const json: Read = (r, known, column) => {
  const value = own(known, column);
  return value === undefined || value === null ? null : r.json(column, value);
};

/** A list of texts, or one text; anything else is kept with the reason. */
const texts: Read = (r, known, column) => {
  const value = own(known, column);
  const found = typeof value === 'string' ? [value].filter(Boolean) : list(r, known, column);
  const good = found.filter((one) => typeof one === 'string');
  if (good.length < found.length) r.flip(column, found, 'a list of texts');
  return good.map((one) => soundText(r, column, one));
};

const readers: Partial<Readonly<Record<ColumnType, Read>>> = {
  ...{ text: scalar, bigint: integer, timestamptz: moment, jsonb: json, bool, 'text[]': texts },
};

/** The row of a table: the columns that are `given`, and all others from the record. */
const rowOf = (r: Reading, columns: object, record: JsonObject, given: Row): Row => {
  const known = object(r, record, 'known') ?? {};
  r.keepUnknown(object(r, record, 'rest') ?? {}, new Set());
  const row: Record<string, Value> = {};
  for (const [column, type] of Object.entries(columns)) {
    const read = column === 'params' || column === 'error' ? anyText : readers[type as ColumnType];
    if (column !== '_extra') row[column] = given[column] ?? read?.(r, known, column) ?? null;
  }
  return { ...row, _extra: r.extra() };
};

/** Status, its number and its meaning. An unknown word is kept (R17). */
const standing = (r: Reading, record: JsonObject, of: 'run' | 'step'): Row => {
  const known = object(r, record, 'known') ?? {};
  const { word, state } = standingIn(known, of);
  if (word !== null && state === 'unknown')
    r.note(
      `status: an unknown word: ${/^[\w.-]{1,60}$/.test(word) ? word : JSON.stringify(word.slice(0, 60))}`,
    );
  const code = typeof own(known, 'status') === 'string' ? null : integer(r, known, 'status');
  return { status: word === null ? null : soundText(r, 'status', word), status_code: code, state };
};

const withNotes = (r: Reading, mapped: Mapped): Mapped => {
  const notes = r.notes();
  return notes.length === 0 ? mapped : { ...mapped, notes };
};

/** A `Dag` of fields.ts. Its status is that of its newest run. */
export const dag: Flow['via'] = (value) => {
  const r = new Reading('workflow.dags', 'DAG', value);
  const record = requireRecord(r, value);
  const latest = object(r, record, 'latest');
  const newest = latest === null ? { status: null, state: null } : standing(r, latest, 'run');
  const id = latest === null ? null : text(r, latest, 'id', 'latest.id') || null;
  const given = { ...newest, name: requiredKey(r, record, 'name'), latest_dag_run_id: id };
  return withNotes(r, { row: rowOf(r, dags.columns, record, given), children: {} });
};

/** A `Run` of fields.ts with its steps. A step without a name stays with the run, in `_extra`. */
export const dagRun: Flow['via'] = (value) => {
  const r = new Reading('workflow.dag_runs', 'run', value);
  const record = requireRecord(r, value);
  const key = { dag_name: requiredKey(r, record, 'dag'), dag_run_id: requiredKey(r, record, 'id') };
  const found = list(r, record, 'steps');
  const steps = stepRows(r, key, found);
  const row = rowOf(r, dagRuns.columns, record, { ...standing(r, record, 'run'), ...key });
  const isPartial = own(record, 'partial') === true || steps.length < found.length;
  return withNotes(r, { row, children: { steps }, ...(isPartial && { partial: ['steps'] }) });
};

const stepRows = (r: Reading, key: Row, steps: readonly Json[]): readonly Row[] => {
  const seen = new Map<string, number>();
  return steps.flatMap((step, position) => {
    if (!isObject(step)) return [];
    const known = object(r, step, 'known') ?? {};
    const name = own(known, 'step_name');
    if (typeof name !== 'string' || name === '') {
      r.keep(`steps[${position}]`, { ...known, ...object(r, step, 'rest') });
      r.note('steps[]: a step without a name');
      return [];
    }
    const at = r.row('steps', position);
    const occurrence = seen.get(name) ?? 0;
    seen.set(name, occurrence + 1);
    const tails = object(at, step, 'tails') ?? {};
    const given = {
      ...{ ...key, ...standing(at, step, 'step'), occurrence, position },
      ...{ step_name: keyText(at, 'step_name', name), kind: text(at, step, 'kind') ?? 'step' },
      stdout_tail: text(at, tails, 'stdout'),
      stderr_tail: text(at, tails, 'stderr'),
      log_problem: text(at, tails, 'problem'),
    };
    return [rowOf(at, dagRunSteps.columns, step, given)];
  });
};
