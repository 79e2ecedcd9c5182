/**
 * DAGs, runs and steps of all dialects by the columns of their tables. The names of members are data: those of Dagu's
 * OpenAPI (1.30.2 and 2.6.5), and for the contract, which shows no fields, those that its engines use (vendor-facts 3.3).
 */

import { BadData, Refused, UnexpectedContent } from '../../core/errors.ts';
import { ExactNumber } from '../../core/json.ts';
import { isObject, type JsonObject, own, put } from '../../core/record-object.ts';
import type { Json } from '../../core/request.ts';
import { standingOf } from '../../core/run-states.ts';
import { formatInstant, parseAnyInstant } from '../../core/time.ts';

/** `contract`: `/api/v1` with an envelope · `1.30`: `/api/v2` of Dagu 1.17 to 1.30 · `2.x`: `/api/v1` of Dagu 2. */
export type Dialect = 'contract' | '1.30' | '2.x';

/** Each column with the names that its member may have; the first that is filled is taken. */
type Fields = readonly (readonly [string, readonly string[]])[];

/** Written `column=member|member`; without a member the column in camel case. */
const fieldsOf = (...lines: readonly string[]): Fields =>
  lines.flatMap((line) =>
    line.split(' ').map((field) => {
      const [column = '', members = column.replaceAll(/_(\w)/g, (_, c: string) => c.toUpperCase())] =
        field.split('=');
      return [column, members.split('|')] as const;
    }),
  );

const runFields = fieldsOf(
  'told_run_id=dagRunId|runId|requestId name status label=statusLabel|statusText error params',
  'scheduled_at=scheduleTime queued_at started_at finished_at trigger_type worker_id auto_retry_count',
  'root_dag_name=rootDAGRunName root_dag_run_id=rootDAGRunId log_path=log labels=labels|tags',
  'parent_dag_name=parentDAGRunName parent_dag_run_id=parentDAGRunId steps=nodes|steps running_steps',
);
const stepFields = fieldsOf(
  'step_name=name status label=statusLabel|statusText started_at finished_at retry_count done_count error',
  'depends sub_runs',
);
const dagFields = fieldsOf(
  'name file_name group_name=group description schedule params tags=tags|labels queue max_active_runs errors',
  'is_suspended=suspended latest=latestDAGRun',
);

/** The members that hold handlers; 2.x says onAbort for onCancel. */
const handlers = ['onInit', 'onSuccess', 'onFailure', 'onCancel', 'onAbort', 'onExit'];

/** A record by the columns of its table; `rest`: what no column holds, under its own names. */
export interface Columns {
  readonly values: JsonObject;
  readonly rest: JsonObject;
}

/** One execution of a DAG, as the transform receives it. Instants are RFC 3339. */
export interface Run extends Columns {
  readonly dag: string;
  /** The key of its row; '' where the source gives neither an id nor a start. */
  readonly id: string;
  /** What distinguishes two executions of one id. */
  readonly begun_at?: string | undefined;
  /** Handlers last. Absent: the source did not give them. */
  readonly steps?: readonly Columns[];
  /** True where `steps` names only some of the steps. */
  readonly isPartial?: boolean;
}

/** A DAG, as the transform receives it, with its newest run; without one where it never ran. */
export interface Dag extends Columns {
  readonly name: string;
  readonly latest?: Run | undefined;
}

const isFilled = (value: Json): boolean => value !== undefined && value !== null && value !== '';

const columnsOf = (record: JsonObject, fields: Fields): Columns => {
  const values: Record<string, Json> = {};
  const rest = { ...record };
  for (const [column, names] of fields) {
    const name = names.find((one) => isFilled(own(record, one))) ?? names[0] ?? column;
    values[column] = own(record, name);
    delete rest[name];
  }
  return { values, rest };
};

/** Text, or a number as its digits; undefined for an empty text and everything else. */
export const textOf = (value: Json): string | undefined => {
  if (typeof value === 'number' || value instanceof ExactNumber) return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** Whether it says that there is no instant: Dagu writes `""` or `-`, Go the year 1, counts of seconds 0. */
export const isNoInstant = (value: Json): boolean =>
  !isFilled(value) || value === '-' || value === 0 || value === '0001-01-01T00:00:00Z';

/** An instant in RFC 3339; undefined for what is none. */
export const instantText = (value: Json): string | undefined => {
  if (isNoInstant(value) || (typeof value !== 'string' && typeof value !== 'number')) return undefined;
  try {
    return formatInstant(parseAnyInstant(value));
  } catch (error) {
    if (error instanceof BadData) return undefined;
    throw error;
  }
};

/** When a run came to be, in RFC 3339: made, else queued, else started. */
export const beganAt = ({ begun_at, values }: Run): string | undefined =>
  begun_at ?? instantText(values.queued_at) ?? instantText(values.started_at);

/** The status as a word, its number and its meaning. The source gives a word, a number or both. */
const withState = ({ label, status, ...others }: JsonObject, of: 'run' | 'step'): JsonObject => {
  const isWord = typeof status === 'string';
  const code = typeof status === 'number' ? status : undefined;
  const { word, state } = standingOf(of, { label: textOf(label) ?? (isWord ? status : undefined), code });
  return { ...others, status: word, state, status_code: isWord ? null : status };
};

/** Dagu puts the definition of a step into `step`. The contract may name a step by a text alone. */
const stepIn = (record: Json, kind: string): Columns => {
  const { step, ...outer } = isObject(record) ? record : { name: record };
  const { name = outer.name, depends = outer.depends, ...definition } = isObject(step) ? step : {};
  const more = Object.keys(definition).length > 0 && { definition };
  const { values, rest } = columnsOf({ ...outer, ...more, name, depends }, stepFields);
  return { values: { ...withState(values, 'step'), kind }, rest };
};

/** When a run was made, by the folder of its log `…/dag-run_20261121_072425Z_<id>/…` (measured on 1.30.2; a retry keeps it). */
const madeAt = (log: Json): string | undefined => {
  const found = /dag-run_(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)Z_/.exec(textOf(log) ?? '');
  const [, year, month, day, hour, minute, second] = found ?? [];
  return instantText(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
};

/** A summary or the details of a run. `dag`: its name, where the request gives it. */
export const runIn = (record: JsonObject, dag?: string): Run => {
  const { values, rest } = columnsOf(record, runFields);
  const { name, steps, running_steps: running, ...columns } = values;
  const listed = [steps, running].find((one) => Array.isArray(one)) ?? [];
  const found = listed.map((step) => stepIn(step, 'step'));
  const others: Record<string, Json> = {};
  for (const [key, value] of Object.entries(rest))
    if (handlers.includes(key) && isObject(value))
      found.push(stepIn(value, key === 'onAbort' ? 'onCancel' : key));
    else put(others, key, value);
  return {
    dag: dag ?? textOf(name) ?? '',
    id: textOf(values.told_run_id) ?? '',
    begun_at: madeAt(values.log_path),
    values: withState(columns, 'run'),
    rest: others,
    steps: found,
    isPartial: !Array.isArray(steps),
  };
};

/** A DAG of Dagu's list. One that never ran has a newest run without an id (measured on 1.30.2). */
export const dagIn = (record: Json): Dag => {
  const { dag, ...others } = isObject(record) ? record : {};
  const { values, rest } = columnsOf({ ...others, ...(isObject(dag) && dag) }, dagFields);
  const { latest, ...columns } = values;
  const name = textOf(values.name) ?? '';
  return { name, values: columns, rest, ...(isObject(latest) && { latest: runIn(latest, name) }) };
};

/**
 * `data` of the contract's envelope; the members of `details` ("execution details") count as those of the status. Throws
 * `Refused` for the envelope of an error, under any HTTP status.
 */
export const payloadOf = (body: Json): JsonObject => {
  const { status, data, message } = isObject(body) ? body : {};
  if (status === 'error') throw new Refused(`answered with an error: ${textOf(message)}`, 200, []);
  const { details, ...others } = status === 'success' && isObject(data) ? data : {};
  return isObject(details) ? { ...others, ...details } : { ...others, ...(isFilled(details) && { details }) };
};

/** The current execution in a status of the contract. Throws `UnexpectedContent` where the status has no state. */
export const currentRun = (body: Json, dag: string): Run => {
  const run = runIn(payloadOf(body), dag);
  if (run.values.status === null)
    throw new UnexpectedContent(`the status of ${dag} has no word for its state`);
  const begun_at = instantText(run.values.started_at);
  return { ...run, begun_at, id: run.id || (begun_at === undefined ? '' : `started:${begun_at}`) };
};
