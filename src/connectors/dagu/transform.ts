/** Records of the workflow engine to rows: fields.ts gives each value its column, here it is read by the column's type. */

import { BadData } from '../../core/errors.ts';
import { ExactNumber } from '../../core/json.ts';
import { type JsonObject, own } from '../../core/record-object.ts';
import { Reading } from '../../core/record-reader.ts';
import * as read from '../../core/record-values.ts';
import type { Transform } from '../../core/stream.ts';
import type { ColumnType, Row, Value } from '../../core/table.ts';
import { parseAnyInstant } from '../../core/time.ts';
import { type Columns, type Dag, isNoInstant, type Run, textOf } from './fields.ts';
import { dagRunSteps, dagRuns, dags } from './tables.ts';

type Read = (r: Reading, values: JsonObject, column: string) => Value;

/** What cannot be read as an instant is kept with the reason. */
const moment: Read = (r, values, column) => {
  const value = own(values, column);
  if (isNoInstant(value)) return null;
  try {
    if (typeof value === 'string' || typeof value === 'number') return parseAnyInstant(value);
  } catch (error) {
    if (!(error instanceof BadData)) throw error;
  }
  return r.flip(column, value, 'an instant');
};

/** Text; a number as its digits, because the contract does not say what ids are. Empty text is null. */
const scalar: Read = (r, values, column) => {
  const value = own(values, column);
  const isNumber = typeof value === 'number' || value instanceof ExactNumber;
  return isNumber ? String(value) : read.text(r, values, column) || null;
};

const json: Read = (r, values, column) => {
  const value = own(values, column);
  return value === undefined || value === null ? null : r.json(column, value);
};

const texts: Read = (r, values, column) => {
  const found = read.list(r, values, column);
  const good = found.filter((one) => typeof one === 'string');
  if (good.length < found.length) r.flip(column, found, 'a list of texts');
  return good;
};

const readers = new Map<ColumnType, Read>([
  ['text', scalar],
  ['bigint', read.id],
  ['timestamptz', moment],
  ['jsonb', json],
  ['bool', read.bool],
  ['text[]', texts],
]);

/** The row of a table: the columns that are `given`, and all others from the record. An unknown word for a state is noted (R17). */
const rowOf = (r: Reading, columns: object, { values, rest }: Columns, given: Row): Row => {
  r.keepUnknown(rest, new Set());
  if (values.state === 'unknown' && values.status !== null)
    r.note(`status: an unknown word: ${textOf(values.status)?.slice(0, 60)}`);
  const row: Record<string, Value> = {};
  for (const [column, type] of Object.entries(columns))
    if (column !== '_extra')
      row[column] = given[column] ?? readers.get(type as ColumnType)?.(r, values, column) ?? null;
  return { ...row, _extra: r.extra() };
};

/** A `Dag` of fields.ts. Its status is that of its newest run. */
export const dag: Transform = (record) => {
  const { name, latest, ...columns } = record as Dag;
  const r = new Reading('workflow.dags', 'DAG', record);
  const { status = null, state = null } = latest?.values ?? {};
  const values = { ...columns.values, status, state, latest_dag_run_id: latest?.id };
  const row = rowOf(r, dags.columns, { ...columns, values }, { name: read.requiredKey(r, { name }, 'name') });
  return { row, children: {}, notes: r.notes() };
};

/** A `Run` of fields.ts with its steps. */
export const dagRun: Transform = (record) => {
  const { dag, id, begun_at, steps, isPartial, ...columns } = record as Run;
  const r = new Reading('workflow.dag_runs', 'run', record);
  const key = {
    dag_name: read.requiredKey(r, { dag }, 'dag'),
    dag_run_id: read.requiredKey(r, { id }, 'id'),
  };
  const row = rowOf(r, dagRuns.columns, { ...columns, values: { ...columns.values, begun_at } }, key);
  const children = steps === undefined ? {} : { steps: stepRows(r, key, steps) };
  return { row, children, notes: r.notes(), ...(isPartial && { partial: ['steps'] }) };
};

/** A step without a name is called by its number, a handler by its kind. */
const stepRows = (r: Reading, key: Row, steps: readonly Columns[]): readonly Row[] => {
  const seen = new Map<string, number>();
  return steps.map((step, position) => {
    const kind = String(step.values.kind);
    const name = textOf(step.values.step_name) ?? (kind === 'step' ? `step ${position + 1}` : kind);
    const occurrence = seen.get(name) ?? 0;
    seen.set(name, occurrence + 1);
    const at = r.row('steps', position);
    const step_name = read.keyText(at, 'step_name', name);
    return rowOf(at, dagRunSteps.columns, step, { ...key, occurrence, position, step_name });
  });
};
