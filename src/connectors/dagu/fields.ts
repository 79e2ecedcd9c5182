/**
 * The three dialects of a workflow engine: what their members are called, and how a record becomes columns.
 * Contract: docs of the contract, its status payload as Tidemark's own API and the engines of vendor-facts.md 3.3
 * write it. 1.30 and 2.x: the vendor's OpenAPI files of Dagu 1.30.2 and 2.6.5.
 */

import { BadData } from '../../core/errors.ts';
import { ExactNumber } from '../../core/json.ts';
import { isObject, type JsonObject, own, put } from '../../core/record-object.ts';
import type { Json } from '../../core/request.ts';
import { type Standing, standingOf } from '../../core/run-states.ts';
import { formatInstant, parseAnyInstant } from '../../core/time.ts';

export type Dialect = 'contract' | '1.30' | '2.x';

/** A column and its names in the contract, in 1.30 and in 2.x (absent: as in 1.30). The first filled name wins. */
type Field = readonly [column: string, contract: string, v1: string, v2?: string];

const runFields: readonly Field[] = [
  ['told_run_id', 'runId requestId RequestId dagRunId', 'dagRunId'],
  ['name', 'name Name', 'name'],
  ['status', 'status Status', 'status'],
  ['label', 'statusText StatusText', 'statusLabel'],
  ['scheduled_at', 'scheduledAt', '', 'scheduleTime'],
  ['queued_at', 'queuedAt', 'queuedAt'],
  ['started_at', 'startedAt StartedAt', 'startedAt'],
  ['finished_at', 'finishedAt FinishedAt', 'finishedAt'],
  ['trigger_type', 'trigger', '', 'triggerType'],
  ['params', 'params Params', 'params'],
  ['labels', 'labels', '', 'labels tags'],
  ['worker_id', 'workerId', 'workerId'],
  ['root_dag_name', '', 'rootDAGRunName'],
  ['root_dag_run_id', '', 'rootDAGRunId'],
  ['parent_dag_name', '', 'parentDAGRunName'],
  ['parent_dag_run_id', '', 'parentDAGRunId'],
  ['auto_retry_count', '', '', 'autoRetryCount'],
  ['log_path', 'log Log', 'log'],
  ['error', 'error Error', 'error'],
  ['steps', 'steps nodes Nodes', 'nodes'],
  ['running_steps', 'runningSteps', ''],
];

const stepFields: readonly Field[] = [
  ['step_name', 'name Name', ''],
  ['status', 'status Status', 'status'],
  ['label', 'statusText StatusText', 'statusLabel'],
  ['started_at', 'startedAt StartedAt', 'startedAt'],
  ['finished_at', 'finishedAt FinishedAt', 'finishedAt'],
  ['retry_count', 'retryCount RetryCount', 'retryCount'],
  ['done_count', 'doneCount DoneCount', 'doneCount'],
  ['error', 'error Error', 'error'],
  ['depends', 'depends', ''],
  ['sub_runs', '', 'subRuns'],
  ['definition', 'step Step', 'step'],
];

const definitionFields: readonly Field[] = [
  ['step_name', 'name Name', 'name'],
  ['depends', 'depends Depends', 'depends'],
];

const dagFields: readonly Field[] = [
  ['name', 'name', 'name'],
  ['file_name', '', 'fileName'],
  ['group_name', 'group', 'group'],
  ['description', 'description about', 'description'],
  ['schedule', 'schedule', 'schedule'],
  ['params', 'params', 'params'],
  ['tags', 'tags', 'tags', 'tags labels'],
  ['queue', '', 'queue'],
  ['max_active_runs', '', 'maxActiveRuns'],
  ['is_suspended', '', 'suspended'],
  ['errors', '', 'errors'],
  ['dag', '', 'dag'],
  ['latest', 'last', 'latestDAGRun'],
];

/** The members that hold handlers of a run, and the kind that the warehouse calls them. 2.x says onAbort for onCancel. */
const handlerKinds: Readonly<Record<string, string>> = {
  onInit: 'onInit',
  onSuccess: 'onSuccess',
  onFailure: 'onFailure',
  onCancel: 'onCancel',
  onAbort: 'onCancel',
  onExit: 'onExit',
};

/** The members that hold the execution in a status of the contract; their members count as the status's own. */
const executions = ['details', 'execution', 'executionDetails', 'run', 'Status'];

/** A record of the source by the columns of its table; `rest`: what no column holds, under its own names. */
export interface Columns {
  readonly known: JsonObject;
  readonly rest: JsonObject;
}

/** A step or handler of a run. `tails`: the ends of its logs. */
export interface Step extends Columns {
  readonly kind: string;
  readonly tails?: JsonObject;
}

/** One execution of a DAG, as it is handed to the transform. `known.begun_at` tells two executions of one id apart. */
export interface Run extends Columns {
  readonly dag: string;
  /** The key of its row; '' where the source gives neither an id nor a start. */
  readonly id: string;
  readonly steps: readonly Step[];
  /** True where `steps` are not all the steps: the others stay as they were read last. */
  readonly partial: boolean;
}

/** A DAG, as it is handed to the transform. */
export interface Dag extends Columns {
  readonly name: string;
  /** Its newest run, if it is known. */
  readonly latest?: Run;
}

const isFilled = (value: Json): boolean => value !== undefined && value !== null && value !== '';

const columnsOf = (record: JsonObject, fields: readonly Field[], dialect: Dialect): Columns => {
  const columns = new Map<string, string>();
  for (const [column, contract, v1, v2 = v1] of fields) {
    const names = { contract, '1.30': v1, '2.x': v2 }[dialect].split(' ');
    columns.set(names.find((name) => isFilled(own(record, name))) ?? names[0] ?? '', column);
  }
  const known: Record<string, Json> = {};
  const rest: Record<string, Json> = {};
  for (const [name, value] of Object.entries(record)) {
    const column = name === '' ? undefined : columns.get(name);
    put(column === undefined ? rest : known, column ?? name, value);
  }
  return { known, rest };
};

/** Text, or a number as its digits; undefined for an empty text and everything else. */
export const textOf = (value: Json): string | undefined => {
  if (typeof value === 'number' || value instanceof ExactNumber) return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** An instant in RFC 3339; undefined for what is none: Dagu writes `""` or `-`, Go the year 1. */
export const instantText = (value: Json): string | undefined => {
  if (typeof value === 'string' ? value === '' || value.startsWith('0001-') : typeof value !== 'number')
    return undefined;
  try {
    return formatInstant(parseAnyInstant(value as string | number));
  } catch (error) {
    if (error instanceof BadData) return undefined;
    throw error;
  }
};

/** The source's word for the state of a run or step, and what it means. `status` is a word or a number, `label` its word. */
export const standingIn = ({ status, label }: JsonObject, of: 'run' | 'step'): Standing =>
  standingOf(of, {
    label: textOf(label) ?? (typeof status === 'string' ? status : undefined),
    code: typeof status === 'number' ? status : undefined,
  });

/** When a run came to be, in RFC 3339: made, else queued, else started. */
export const beganAt = ({ known }: Pick<Run, 'known'>): string | undefined =>
  [known.begun_at, known.queued_at, known.started_at].map(instantText).find((text) => text !== undefined);

/** The object without one member. */
const without = (object: JsonObject, member: string): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== member));

const stepIn = (record: Json, dialect: Dialect, kind = 'step'): Step => {
  if (!isObject(record)) {
    return typeof record === 'string'
      ? { kind, known: { step_name: record }, rest: {} }
      : { kind, known: {}, rest: { step: record } };
  }
  const { known, rest } = columnsOf(record, stepFields, dialect);
  const { definition, ...outer } = known;
  if (!isObject(definition)) return { kind, known: outer, rest };
  const inner = columnsOf(definition, definitionFields, dialect);
  const more = Object.keys(inner.rest).length > 0 && { definition: inner.rest };
  return { kind, known: { ...outer, ...inner.known }, rest: { ...rest, ...more } };
};

/** Dagu may leave the name of a handler empty; it is then called after its kind. */
const handlerIn = (record: JsonObject, dialect: Dialect, kind: string): Step => {
  const step = stepIn(record, dialect, kind);
  return isFilled(step.known.step_name) ? step : { ...step, known: { ...step.known, step_name: kind } };
};

/** When a run was made, by the folder of its log `…/dag-run_20261121_072425Z_<id>/…` (measured on 1.30.2; a retry keeps it). */
const madeAt = (log: Json): string | undefined => {
  const found = typeof log === 'string' ? /dag-run_(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)Z_/.exec(log) : null;
  if (found === null) return undefined;
  const [, year, month, day, hour, minute, second] = found;
  return instantText(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
};

/**
 * One execution: a summary or details of Dagu, or the merged status of the contract. `dag`: its name, where the request says
 * it. Steps under a member that is no list stay in `rest`.
 */
export const runIn = (record: JsonObject, dialect: Dialect, dag?: string): Run => {
  const { known, rest } = columnsOf(record, runFields, dialect);
  const { steps, running_steps: running, ...columns } = known;
  const isHandler = (name: string, value: Json) => name in handlerKinds && isObject(value);
  const handlers = Object.entries(handlerKinds).flatMap(([name, kind]) => {
    const handler = own(rest, name);
    return isObject(handler) ? [handlerIn(handler, dialect, kind)] : [];
  });
  const list = [steps, running].find((one) => Array.isArray(one)) ?? [];
  const others = Object.entries(rest).filter(([name, value]) => !isHandler(name, value));
  const started = instantText(columns.started_at);
  return {
    dag: dag ?? textOf(columns.name) ?? '',
    id: textOf(columns.told_run_id) ?? (dialect === 'contract' && started ? `started:${started}` : ''),
    known: { ...columns, begun_at: dialect === 'contract' ? started : madeAt(columns.log_path) },
    rest: { ...Object.fromEntries(others), ...(isFilled(steps) && !Array.isArray(steps) && { steps }) },
    steps: [...list.map((step: Json) => stepIn(step, dialect)), ...handlers],
    partial: !Array.isArray(steps),
  };
};

/** What an answer of the contract is about: `data` of its envelope, or the body where an engine writes none (3.3). */
export const payloadOf = (body: Json): JsonObject | undefined => {
  if (!isObject(body)) return undefined;
  if (body.status !== 'success' || !('data' in body)) return body;
  return isObject(body.data) ? body.data : undefined;
};

/** The current execution in a status of the contract; undefined where the status has no word for it. */
export const currentRun = (body: Json, dag: string): Run | undefined => {
  const payload = payloadOf(body);
  if (payload === undefined) return undefined;
  const flat = executions.reduce(
    (all, name) => {
      const held = all[name];
      return isObject(held) ? { ...without(all, name), ...held } : all;
    },
    without(payload, 'dag'),
  );
  const run = runIn(flat, 'contract', dag);
  return standingIn(run.known, 'run').word === null ? undefined : run;
};

/** A DAG of a list, or of a status of the contract. Undefined for what has no name. */
export const dagIn = (record: Json, dialect: Dialect): Dag | undefined => {
  if (!isObject(record)) return undefined;
  const outer = columnsOf(record, dagFields, dialect);
  const inner = isObject(outer.known.dag) ? columnsOf(outer.known.dag, dagFields, dialect) : undefined;
  const { dag, latest, ...known } = { ...outer.known, ...inner?.known };
  const name = textOf(known.name);
  if (name === undefined) return undefined;
  const rest = { ...outer.rest, ...inner?.rest };
  return {
    name,
    known,
    rest: isObject(latest) || !isFilled(latest) ? rest : { ...rest, latestDAGRun: latest },
    ...(isObject(latest) && dialect !== 'contract' && { latest: runIn(latest, dialect, name) }),
  };
};
