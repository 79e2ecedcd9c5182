/**
 * DAGs, runs and steps of Dagu to rows (dialects/ makes its records of what other engines say): first each member is given its column (tables.ts has their names), then
 * the values are read by the types of the columns.
 */

import { type EngineRun, standingOf } from '../../core/dag-engine.ts';
import { BadData } from '../../core/errors.ts';
import { ExactNumber } from '../../core/json.ts';
import { isObject, type JsonObject, own } from '../../core/record-object.ts';
import { kindOf, Reading } from '../../core/record-reader.ts';
import * as read from '../../core/record-values.ts';
import type { Json } from '../../core/request.ts';
import type { Transform } from '../../core/stream.ts';
import type { ColumnType, DeclaredTable, Row, Table, Value } from '../../core/table.ts';
import { formatInstant, type Instant, parseAnyInstant } from '../../core/time.ts';
import { dagRunSteps, dagRuns, dags } from './tables.ts';

/**
 * One execution of a DAG by the columns of its table, as the transform receives it; `_extra` has what no column holds,
 * under its own names. Instants are RFC 3339.
 */
export interface Run {
  readonly dag_name: string;
  /** The key of its row; '' where the source gives neither an id nor a start. */
  readonly dag_run_id: string;
  /** What distinguishes two executions of one id. */
  readonly begun_at?: string | undefined;
  /** Handlers last. Absent: the source did not give them. */
  readonly steps?: readonly Json[];
  /** True where `steps` names only some of the steps. */
  readonly isPartial?: boolean;
  /** True where it is whole, and all that the engine shows of its DAG: its id may have named another run before. */
  readonly isCurrent?: boolean;
  readonly [column: string]: Json;
}

export const isFilled = (value: Json): boolean => value !== undefined && value !== null && value !== '';

/** The columns of a table that name members of the record, and in `_extra` what is left of it. */
const columnsOf = (record: JsonObject, { declared }: Pick<DeclaredTable, 'declared'>): JsonObject => {
  const values: Record<string, Json> = {};
  const _extra = { ...record };
  for (const [column, type] of Object.entries(declared)) {
    if (!('members' in type)) continue;
    const members = type.members as readonly string[];
    const name = members.find((one) => isFilled(own(record, one))) ?? members[0] ?? '';
    values[column] = own(record, name);
    delete _extra[name];
  }
  return { ...values, _extra };
};

/** Text, or a number as its digits; undefined for an empty text and everything else. */
export const textOf = (value: Json): string | undefined => {
  if (typeof value === 'number' || value instanceof ExactNumber) return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** Null where it says that there is no instant: Dagu writes `""` or `-`, Go the year 1, counts of seconds 0. Undefined for what is none. */
export const instantIn = (value: Json): Instant | null | undefined => {
  if (!isFilled(value) || value === '-' || value === 0 || value === '0001-01-01T00:00:00Z') return null;
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  try {
    return parseAnyInstant(value);
  } catch (error) {
    if (error instanceof BadData) return undefined;
    throw error;
  }
};

/** An instant in RFC 3339; undefined where there is none. */
export const instantText = (value: Json): string | undefined => {
  const instant = instantIn(value);
  return typeof instant === 'bigint' ? formatInstant(instant) : undefined;
};

/** When a run came to be: made, else queued, else started. */
export const beganAt = ({ begun_at, queued_at, started_at }: Run): Instant | undefined =>
  [begun_at, queued_at, started_at].map(instantIn).find((one) => typeof one === 'bigint');

/** The columns of a run or a step, with the status as a word, its number and its meaning. */
const statedIn = (of: 'run' | 'step', { status, statusLabel, ...members }: JsonObject): JsonObject => {
  const code = typeof status === 'number' ? status : undefined;
  const { word, state } = standingOf(of, { label: textOf(statusLabel), code });
  const columns = columnsOf(members, of === 'run' ? dagRuns : dagRunSteps);
  return { ...columns, status: word, state, status_code: status };
};

/** Dagu puts the definition of a step into `step`. */
const stepIn = (record: Json, kind: string): JsonObject => {
  const { step, ...members } = isObject(record) ? record : {};
  const { name, depends, ...definition } = isObject(step) ? step : {};
  const more = Object.keys(definition).length > 0 && { definition };
  return { ...statedIn('step', { ...members, ...more, depends }), kind, step_name: name };
};

/**
 * A step without a name is called by its number, a handler by its kind; steps of one name are counted. What is no step
 * stays, to be rejected.
 */
const numbered = (steps: readonly Json[]): readonly Json[] => {
  const counts = new Map<string, number>();
  return steps.map((one, position) => {
    if (!isObject(one)) return one;
    const { kind, ...step } = one;
    const step_name = textOf(step.step_name) ?? (kind === 'step' ? `step ${position + 1}` : String(kind));
    const occurrence = counts.get(step_name) ?? 0;
    counts.set(step_name, occurrence + 1);
    return { ...step, kind, step_name, occurrence, position };
  });
};

/** The members that hold handlers; 2.x says onAbort for onCancel, and 2.15 has onWait. */
const handlers = ['onInit', 'onWait', 'onSuccess', 'onFailure', 'onCancel', 'onAbort', 'onExit'];

/** When a run was made, by the folder of its log `…/dag-run_20261121_072425Z_<id>/…` (measured on 1.30.2; a retry keeps it). */
const madeAt = (log: Json): string | undefined => {
  const found = /dag-run_(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)Z_/.exec(textOf(log) ?? '');
  const [, year, month, day, hour, minute, second] = found ?? [];
  return instantText(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
};

/** A summary or the details of a run. `runningNodes`: only some of its steps. */
export const runIn = ({ name, nodes, runningNodes, ...others }: JsonObject): Run => {
  const listed = [nodes, runningNodes].find((one) => Array.isArray(one)) ?? [];
  const isStep = (step: Json): boolean => isObject(step) || textOf(step) !== undefined;
  const found: Json[] = listed.map((step) => (isStep(step) ? stepIn(step, 'step') : step));
  const isHandler = ([key, value]: [string, Json]): boolean => handlers.includes(key) && isObject(value);
  for (const [key, value] of Object.entries(others).filter(isHandler))
    found.push(stepIn(value, key === 'onAbort' ? 'onCancel' : key));
  const members = Object.fromEntries(Object.entries(others).filter((member) => !isHandler(member)));
  const columns = statedIn('run', members);
  return {
    ...columns,
    dag_name: textOf(name) ?? '',
    dag_run_id: textOf(columns.told_run_id) ?? '',
    begun_at: madeAt(columns.log_path),
    steps: numbered(found),
    isPartial: !Array.isArray(nodes),
  };
};

/** A DAG of Dagu's list, with the status of its newest run. One that never ran has a run without an id (measured on 1.30.2). */
export const dagIn = (record: Json): JsonObject => {
  const { dag, latestDAGRun, ...others } = isObject(record) ? record : {};
  const { name, ...members } = { ...others, ...(isObject(dag) && dag) };
  const latest = isObject(latestDAGRun) ? runIn(latestDAGRun) : undefined;
  return { ...columnsOf(members, dags), name, status: latest?.status, state: latest?.state };
};

/** What a state means for a hand-off: an idle run was made and has not begun. */
const meanings: Readonly<Record<string, EngineRun['state']>> = {
  ...{ active: 'active', idle: 'active', succeeded: 'succeeded', failed: 'failed', aborted: 'failed' },
};

/** A run as hand-offs see it. */
export const engineRun = (run: Run): EngineRun => {
  const started = instantText(run.started_at);
  return {
    runId: textOf(run.told_run_id),
    params: textOf(run.params),
    state: meanings[String(run.state)] ?? 'unknown',
    label: textOf(run.status) ?? 'unknown',
    startedAt: started === undefined ? undefined : new Date(started),
  };
};

type Read = (r: Reading, record: JsonObject, column: string) => Value;

/** What cannot be read as an instant is kept with the reason. */
const moment: Read = (r, record, column) => {
  const instant = instantIn(own(record, column));
  return instant === undefined ? r.flip(column, own(record, column), 'an instant') : instant;
};

/** Text; a number as its digits, because the contract does not say what ids are. Empty text is null. */
const scalar: Read = (r, record, column) =>
  textOf(own(record, column)) ?? (read.text(r, record, column) || null);

const json: Read = (r, record, column) => {
  const value = own(record, column);
  return value === undefined || value === null ? null : r.json(column, value);
};

const texts: Read = (r, record, column) => {
  const found = read.list(r, record, column);
  const good = found.filter((one) => typeof one === 'string');
  if (good.length < found.length) r.flip(column, found, 'a list of texts');
  return good;
};

const readers: Partial<Record<ColumnType, Read>> = {
  ...{ text: scalar, bigint: read.id, int: read.int4, bool: read.bool },
  ...{ timestamptz: moment, jsonb: json, 'text[]': texts },
};

/** The row of a table. An unknown word for a state is noted (R17). */
const rowOf = (r: Reading, { columns, key }: Table, { _extra, ...record }: JsonObject): Row => {
  if (isObject(_extra)) r.keepUnknown(_extra, new Set());
  const word = record.state === 'unknown' ? textOf(record.status) : undefined;
  if (word !== undefined) r.note(`status: an unknown word: ${word.slice(0, 60)}`);
  const row: Record<string, Value> = {};
  for (const [column, type] of Object.entries(columns)) {
    const reader = type === 'text' && key.includes(column) ? read.requiredKey : readers[type];
    row[column] = reader?.(r, record, column) ?? null;
  }
  return { ...row, _extra: r.extra() };
};

export const dag: Transform = (record) => {
  const r = new Reading('workflow.dags', 'DAG', record);
  return { row: rowOf(r, dags, record as JsonObject), children: {}, notes: r.notes() };
};

/** A `Run` with its steps. */
export const dagRun: Transform = (record) => {
  const { steps, isPartial, isCurrent: _, ...run } = record as Run;
  const { dag_name, dag_run_id } = run;
  const r = new Reading('workflow.dag_runs', 'run', { id: dag_run_id });
  const row = rowOf(r, dagRuns, run);
  const stepRow = (step: Json, position: number): readonly Row[] => {
    const at = r.row('steps', position);
    if (!isObject(step)) throw at.reject('bad_type', '', `has ${kindOf(step)} as %, expected a step`);
    return [rowOf(at, dagRunSteps, { ...step, dag_name, dag_run_id })];
  };
  const given = () => ({ dag_name, dag_run_id });
  const children = steps && { steps: r.parts('steps', steps, stepRow, given) };
  return { row, children: children ?? {}, ...r.remarks(), ...(isPartial && { partial: ['steps'] }) };
};
