/**
 * What the members of DAGs, runs and steps are called, as data: the vendor's OpenAPI of Dagu 1.30.2 and 2.6.5, and for the contract,
 * which shows no fields, the shapes of vendor-facts 3.3 (these also with a capital letter).
 */

import { BadData, UnexpectedContent } from '../../core/errors.ts';
import { ExactNumber } from '../../core/json.ts';
import { isObject, type JsonObject, own, put } from '../../core/record-object.ts';
import type { Json } from '../../core/request.ts';
import { type Standing, standingOf } from '../../core/run-states.ts';
import { formatInstant, parseAnyInstant } from '../../core/time.ts';

export type Dialect = 'contract' | '1.30' | '2.x';

/** The names that a column's value may have; the first that is filled wins. */
type Names = ReadonlyMap<string, readonly string[]>;

const camelCase = (column: string): string =>
  column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** The names of columns: `same` in camel case, `other` as they are given. */
const namesOf = (same: string, other: Readonly<Record<string, string>>): Names =>
  new Map(
    [...same.split(' ').map((column) => [column, camelCase(column)] as const), ...Object.entries(other)].map(
      ([column, names]) => [column, names.split(' ').flatMap((name) => [name, capital(name)])],
    ),
  );

const states = { status: 'status', label: 'statusLabel statusText' };
export const runNames = namesOf(
  'trigger_type queued_at started_at finished_at params worker_id auto_retry_count error',
  {
    ...{ ...states, name: 'name', steps: 'nodes steps', running_steps: 'runningSteps' },
    ...{ told_run_id: 'dagRunId runId requestId', scheduled_at: 'scheduledAt scheduleTime' },
    ...{ labels: 'labels tags', log_path: 'log' },
    ...{ root_dag_name: 'rootDAGRunName', root_dag_run_id: 'rootDAGRunId' },
    ...{ parent_dag_name: 'parentDAGRunName', parent_dag_run_id: 'parentDAGRunId' },
  },
);
const stepNames = namesOf('started_at finished_at retry_count done_count error depends sub_runs', {
  ...{ ...states, step_name: 'name', definition: 'step' },
});
const definitionNames = namesOf('depends', { step_name: 'name' });
export const dagNames = namesOf('name file_name description schedule params queue max_active_runs errors', {
  ...{ group_name: 'group', tags: 'tags labels' },
  ...{ is_suspended: 'suspended', latest: 'latestDAGRun' },
});

/** The members that hold handlers, and their kind in the warehouse: 2.x says onAbort for onCancel. */
const handlerKinds: Readonly<Record<string, string>> = {
  ...{ onInit: 'onInit', onSuccess: 'onSuccess', onFailure: 'onFailure', onCancel: 'onCancel' },
  ...{ onAbort: 'onCancel', onExit: 'onExit' },
};

/** The members that hold the execution in a status of the contract ("execution details"). */
const executions = ['details', 'execution', 'executionDetails', 'run', 'Status'];

/** A record by the columns of its table; `rest`: what no column holds, under its own names. */
export interface Columns {
  readonly values: JsonObject;
  readonly rest: JsonObject;
}

/** A step or handler of a run. */
export interface Step extends Columns {
  readonly kind: string;
}

/** One execution of a DAG, as it is handed to the transform. Instants are RFC 3339. */
export interface Run {
  readonly dag: string;
  /** The key of its row; '' where the source gives neither an id nor a start. */
  readonly id: string;
  /** What distinguishes two executions of one id. */
  readonly begun_at?: string | undefined;
  readonly gone_at?: string;
  readonly members: JsonObject;
  /** The ends of the logs of steps, by their place: `{stdout?, stderr?, problem?}`. */
  readonly logs?: Readonly<Record<string, JsonObject>>;
}

/** A DAG, as it is handed to the transform. */
export interface Dag {
  readonly name: string;
  readonly members: JsonObject;
  /** Its newest run, where the engine gives it. */
  readonly latest?: Run | undefined;
}

const isFilled = (value: Json): boolean => value !== undefined && value !== null && value !== '';

/** The value of a column. */
export const memberOf = (record: JsonObject, names: Names, column: string): Json =>
  (names.get(column) ?? []).map((name) => own(record, name)).find(isFilled);

export const byColumn = (record: JsonObject, names: Names): Columns => {
  const columns = new Map<string, string>();
  for (const [column, each] of names) {
    const name =
      each.find((one) => isFilled(own(record, one))) ?? each.find((one) => own(record, one) !== undefined);
    if (name !== undefined && !columns.has(name)) columns.set(name, column);
  }
  const values: Record<string, Json> = {};
  const rest: Record<string, Json> = {};
  for (const [name, value] of Object.entries(record)) {
    const column = columns.get(name);
    put(column === undefined ? rest : values, column ?? name, value);
  }
  return { values, rest };
};

/** Text, or a number as its digits; undefined for an empty text and everything else. */
export const textOf = (value: Json): string | undefined => {
  if (typeof value === 'number' || value instanceof ExactNumber) return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** An instant in RFC 3339; undefined for what is none: Dagu writes `""` or `-`, Go the year 1. */
export const instantText = (value: Json): string | undefined => {
  if (typeof value === 'string' ? value.startsWith('0001-') : typeof value !== 'number') return undefined;
  try {
    return formatInstant(parseAnyInstant(value as string | number));
  } catch (error) {
    if (error instanceof BadData) return undefined;
    throw error;
  }
};

export const startOf = ({ members }: Run): string | undefined =>
  instantText(memberOf(members, runNames, 'started_at'));

/** When a run came to be, in RFC 3339: made, else queued, else started. */
export const beganAt = (run: Run): string | undefined =>
  run.begun_at ?? instantText(memberOf(run.members, runNames, 'queued_at')) ?? startOf(run);

/** The source's word for a state and what it means; `status` is a word or a number, `label` its word. */
export const stateIn = ({ status, label }: JsonObject, of: 'run' | 'step'): Standing =>
  standingOf(of, {
    label: textOf(label) ?? (typeof status === 'string' ? status : undefined),
    code: typeof status === 'number' ? status : undefined,
  });
export const stateOf = ({ members }: Run): Standing => stateIn(byColumn(members, runNames).values, 'run');

/** When a run was made, by the folder of its log `…/dag-run_20261121_072425Z_<id>/…` (measured on 1.30.2; a retry keeps it). */
const madeAt = (log: Json): string | undefined => {
  const found = /dag-run_(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)Z_/.exec(textOf(log) ?? '');
  const [, year, month, day, hour, minute, second] = found ?? [];
  return found === null ? undefined : instantText(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
};

/** A summary or details of Dagu. `dag`: its name, where the request gives it. */
export const daguRun = (members: JsonObject, dag?: string): Run => {
  const [id, name, log] = ['told_run_id', 'name', 'log_path'].map((each) =>
    memberOf(members, runNames, each),
  );
  return { dag: dag ?? textOf(name) ?? '', id: textOf(id) ?? '', begun_at: madeAt(log), members };
};

const stepIn = (record: Json, kind: string): Step => {
  if (typeof record === 'string') return { kind, values: { step_name: record }, rest: {} };
  if (!isObject(record)) return { kind, values: {}, rest: { step: record } };
  const { values, rest } = byColumn(record, stepNames);
  const { definition, ...outer } = values;
  if (!isObject(definition)) return { kind, values: outer, rest };
  const inner = byColumn(definition, definitionNames);
  const more = Object.keys(inner.rest).length > 0 && { definition: inner.rest };
  return { kind, values: { ...outer, ...inner.values }, rest: { ...rest, ...more } };
};

/** The steps of a run, handlers last. A handler without a name is called after its kind. `isWhole`: all steps are given. */
export const stepsOf = (
  members: JsonObject,
): { readonly steps: readonly Step[]; readonly isWhole: boolean } => {
  const [all, running] = ['steps', 'running_steps'].map((each) => memberOf(members, runNames, each));
  const list = [all, running].find((one) => Array.isArray(one)) ?? [];
  const handlers = Object.entries(handlerKinds).flatMap(([name, kind]) => {
    const handler = own(members, name);
    if (!isObject(handler)) return [];
    const step = stepIn(handler, kind);
    return [{ ...step, values: { ...step.values, step_name: textOf(step.values.step_name) ?? kind } }];
  });
  return { steps: [...list.map((step) => stepIn(step, 'step')), ...handlers], isWhole: Array.isArray(all) };
};

/** The columns of a run. Steps under a member that is no list stay in `rest`. */
export const runColumns = (members: JsonObject): Columns => {
  const { values, rest } = byColumn(members, runNames);
  const { steps, running_steps: _, ...columns } = values;
  const others = Object.entries(rest).filter(([name, value]) => !(name in handlerKinds && isObject(value)));
  const odd = isFilled(steps) && !Array.isArray(steps) && { steps };
  return { values: columns, rest: { ...Object.fromEntries(others), ...odd } };
};

/** A DAG of Dagu's list. Throws `UnexpectedContent` for one without a name: it would pass for deleted. */
export const dagIn = (record: Json): Dag => {
  const { dag, ...others } = isObject(record) ? record : {};
  const members = isObject(dag) ? { ...others, ...dag } : { ...others, ...(dag !== undefined && { dag }) };
  const [name, latest] = ['name', 'latest'].map((column) => memberOf(members, dagNames, column));
  const text = textOf(name);
  if (text === undefined) throw new UnexpectedContent('a DAG in the list of the engine has no name');
  return { name: text, members, ...(isObject(latest) && { latest: daguRun(latest, text) }) };
};

/** What an answer of the contract is about: `data` of its envelope, or the body where an engine writes none (3.3). */
export const payloadOf = (body: Json): JsonObject => {
  const payload = isObject(body) && body.status === 'success' && 'data' in body ? body.data : body;
  return isObject(payload) ? payload : {};
};

/** The current execution in a status of the contract. Throws `UnexpectedContent` where the status has no word for its state. */
export const currentRun = (body: Json, dag: string): Run => {
  const payload = Object.entries(payloadOf(body));
  const isExecution = ([name, value]: [string, Json]) => executions.includes(name) && isObject(value);
  const outer = payload.filter((entry) => !isExecution(entry));
  const inner = payload.filter(isExecution).flatMap(([, execution]) => Object.entries(execution ?? {}));
  const run = daguRun(Object.fromEntries([...outer, ...inner]), dag);
  if (stateOf(run).word === null)
    throw new UnexpectedContent(`the status of ${dag} has no word for its state`);
  const begun_at = startOf(run);
  return { ...run, begun_at, id: run.id || (begun_at === undefined ? '' : `started:${begun_at}`) };
};
