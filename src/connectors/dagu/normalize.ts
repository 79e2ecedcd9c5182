/**
 * Where things are in the answers of a workflow engine. The contract does not say what is in a status; engines of its kind wrap it or do not,
 * and write RequestId, requestId, run_id or dagRunId. Here every dialect becomes one record; what nobody knows keeps its own name.
 */

import { BadData } from '../../core/errors.ts';
import type { Json } from '../../core/request.ts';
import { type Standing, standingOf } from '../../core/run-states.ts';
import { formatInstant, parseAnyInstant } from '../../core/time.ts';
import { isObject, type JsonObject, type Names, plain, renamed, textOf } from './json-members.ts';

/** One execution of a DAG as a record: what src/connectors/dagu/transform.ts reads. */
export interface ToldRun {
  readonly dag: string;
  /** The key: as told, else made from the start. */
  readonly id: string;
  /** What tells two executions of one id apart, RFC 3339; undefined where nothing does. */
  readonly begun: string | undefined;
  readonly run: JsonObject;
  /** Undefined where the answer has no list of steps. */
  readonly steps: readonly Json[] | undefined;
  /** True where these are some of the steps, those that run now or handlers without the list of steps: what it does not name is not gone. */
  readonly inPart?: true;
  /** When the source first did not know the run any more, RFC 3339. */
  readonly gone?: string;
}

const runNames: Names = {
  runId: ['dagrunid', 'runid', 'requestid', 'executionid', 'id'],
  name: ['name', 'dagname'],
  status: ['status', 'currentstatus', 'state'],
  label: ['statuslabel', 'statustext'],
  scheduledAt: ['scheduletime', 'scheduledat', 'scheduledtime', 'scheduledfor'],
  queuedAt: ['queuedat', 'queuetime'],
  startedAt: ['startedat', 'starttime', 'started'],
  finishedAt: ['finishedat', 'endedat', 'endtime', 'finishtime', 'completedat', 'finished'],
  trigger: ['triggertype', 'trigger', 'triggeredby'],
  params: ['params', 'parameters'],
  labels: ['labels', 'tags'],
  worker: ['workerid', 'worker'],
  rootName: ['rootdagrunname', 'rootdagname'],
  rootId: ['rootdagrunid', 'rootrunid'],
  parentName: ['parentdagrunname', 'parentdagname'],
  parentId: ['parentdagrunid', 'parentrunid'],
  autoRetries: ['autoretrycount'],
  log: ['log', 'logfile', 'logpath'],
  error: ['error', 'errormessage'],
  steps: ['nodes', 'steps', 'runningsteps', 'currentsteps'],
  onInit: ['oninit'],
  onSuccess: ['onsuccess'],
  onFailure: ['onfailure'],
  onCancel: ['oncancel', 'onabort'],
  onWait: ['onwait'],
  onExit: ['onexit'],
};

const handlers = ['onInit', 'onSuccess', 'onFailure', 'onCancel', 'onWait', 'onExit'] as const;

const stepNames: Names = {
  name: ['name', 'stepname', 'stream'],
  status: ['status', 'state'],
  label: ['statuslabel', 'statustext'],
  startedAt: ['startedat', 'starttime', 'started'],
  finishedAt: ['finishedat', 'endedat', 'endtime', 'finishtime', 'completedat', 'finished'],
  retries: ['retrycount', 'retries'],
  done: ['donecount'],
  error: ['error', 'errormessage'],
  depends: ['depends', 'dependson'],
  subRuns: ['subruns'],
  stdout: ['stdout'],
  stderr: ['stderr'],
  step: ['step'],
};

const dagNames: Names = {
  // The contract's word for what a DAG is addressed by is dagName.
  name: ['name', 'dagname', 'dagid', 'id'],
  fileName: ['filename', 'file'],
  group: ['group'],
  description: ['description', 'about'],
  schedule: ['schedule', 'schedules'],
  params: ['params', 'parameters'],
  tags: ['tags', 'labels'],
  queue: ['queue'],
  maxActiveRuns: ['maxactiveruns'],
  suspended: ['suspended', 'issuspended'],
  errors: ['errors'],
};

/** Under which of its keys an answer holds the execution. */
const holders = [
  ...['dagrundetails', 'dagrun', 'run', 'status', 'execution', 'executiondetails', 'details', 'currentrun'],
  ...['latestdagrun', 'last'],
];

/** What an answer is about: its `data` where it is the contract's envelope, nothing where that has none, else itself. */
export const payloadOf = (body: Json): JsonObject | undefined => {
  if (!isObject(body)) return undefined;
  const { status, data } = body;
  if ((status === 'success' || status === 'error') && isObject(data)) return data;
  if (status === 'success' && data === null) return {};
  return body;
};

/** The message of an envelope that says `error` under a good status. */
export const refusalIn = (body: Json): string | undefined =>
  isObject(body) && body.status === 'error' && typeof body.message === 'string' ? body.message : undefined;

/** The execution in a payload: an object within it, with what stands beside it, or the payload itself. Undefined where it is said to be none. */
const executionIn = (payload: JsonObject): JsonObject | undefined => {
  const keys = Object.keys(payload);
  for (const name of holders) {
    const key = keys.find((one) => plain(one) === name);
    if (key === undefined) continue;
    const inner = payload[key];
    if (isObject(inner)) return heldIn(payload, key, inner);
    if (inner === null && name !== 'status') return undefined;
  }
  const { dag: _, ...rest } = payload;
  const own = renamed(rest, runNames);
  if (tellsOfRun(own)) return own;
  // A holder whose name nobody knows: what is in it says what it is, where it is the only one.
  const held = Object.entries(rest).flatMap(([key, value]) =>
    isObject(value) && isRun(value) ? [{ key, value }] : [],
  );
  const [only] = held;
  return only !== undefined && held.length === 1 ? heldIn(payload, only.key, only.value) : own;
};

/** The execution under a key of a payload, with what stands beside it. */
const heldIn = (payload: JsonObject, key: string, inner: JsonObject): JsonObject => {
  const beside = Object.entries(payload).filter(([one]) => one !== key && plain(one) !== 'dag');
  return { ...renamed(Object.fromEntries(beside), runNames), ...renamed(inner, runNames) };
};

/** Whether an object says how an execution stands or when it started; a name and an id may be those of a DAG or a step. */
const tellsOfRun = ({ status, label, startedAt }: JsonObject): boolean =>
  [status, label, startedAt].some((one) => textOf(one) !== undefined);

/** Whether an object is one execution by what it says of itself: how it stands, and which it is. */
const isRun = (value: JsonObject): boolean => {
  const told = renamed(value, runNames);
  return tellsOfRun(told) && [told.runId, told.startedAt].some((one) => textOf(one) !== undefined);
};

/** The name of the DAG that a payload tells an execution of, or that it had none yet. */
export const dagNameIn = (payload: JsonObject): string | undefined => textOf(executionIn(payload)?.name);

/**
 * Which executions of one id are one run. `start`: every start is an execution of its own (engines that tell only their current status).
 * `making`: a run that was retried keeps its id and its making (engines with a history).
 */
export type SameRun = 'start' | 'making';

/** The execution that a payload tells of, keyed; undefined where it tells of none that could be told from others. */
export const runIn = (payload: JsonObject, dag: string, same: SameRun): ToldRun | undefined => {
  const whole = executionIn(payload);
  if (whole === undefined) return undefined;
  const { steps, ...rest } = whole;
  const list = Array.isArray(steps) ? steps : byTheirNames(steps);
  const run = Object.fromEntries(
    Object.entries(rest).filter(([key, value]) => !(isHandler(key) && isObject(value))),
  );
  const started = instantText(run.startedAt);
  const id = textOf(run.runId) ?? keyByStart(run.startedAt);
  if (id === undefined) return undefined;
  const after = handlers.flatMap((kind) => {
    const one = rest[kind];
    return isObject(one) ? [{ ...stepOf(one, kind), kind }] : [];
  });
  return {
    dag,
    id,
    begun: same === 'start' ? started : madeAt(run.log),
    run: list !== undefined || steps === undefined || steps === null ? run : { ...run, steps },
    steps:
      list !== undefined
        ? [...list.map((step) => stepOf(step)), ...after]
        : after.length > 0
          ? after
          : undefined,
    ...((list !== undefined ? namesRunning(payload, steps) : after.length > 0) && { inPart: true }),
  };
};

/** Steps that stand in an object by their names, as objects or as words for how they stand; undefined for an object of something else. */
const byTheirNames = (steps: Json): readonly JsonObject[] | undefined => {
  if (!isObject(steps)) return undefined;
  const named = Object.entries(steps).map(([name, one]) => {
    if (isObject(one)) return tellsOfRun(renamed(one, stepNames)) ? { name, ...one } : undefined;
    return typeof one === 'string' && standingOf('step', { label: one }).state !== 'unknown'
      ? { name, status: one }
      : undefined;
  });
  const good = named.filter((one) => one !== undefined);
  return good.length > 0 && good.length === named.length ? good : undefined;
};

/** Whether the list of steps stands under a name that promises no more than those which run now. */
const namesRunning = (payload: JsonObject, steps: Json): boolean =>
  [payload, ...Object.values(payload).filter(isObject)].some((one) =>
    Object.entries(one).some(
      ([key, value]) => value === steps && /^(running|current)steps$/.test(plain(key)),
    ),
  );

/** The key of a run without an id; by its start as told where that is a day and a time without what makes it an instant. */
const keyByStart = (told: Json): string | undefined => {
  const local =
    typeof told === 'string' && /^(?!0001-)\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(told) ? told : undefined;
  const start = instantText(told) ?? local;
  return start === undefined ? undefined : `started:${start}`;
};

/** Where an execution stands, by what is told of it. */
export const standingTold = ({ status, label }: JsonObject): Standing =>
  standingOf('run', {
    label: textOf(label) ?? (typeof status === 'string' ? status : undefined),
    code: typeof status === 'number' ? status : undefined,
  });

/** The word for an execution that has begun, in a payload that `runIn` cannot key; undefined where it speaks of none. */
export const wordOfUnkeyed = (payload: JsonObject): string | undefined => {
  // An envelope with nothing in it.
  if ('data' in payload && payload.status === 'success') return undefined;
  const words = [executionIn(payload) ?? {}, ...within(payload)].flatMap((one) => {
    const { word, state } = standingTold(one);
    return word === null || state === 'idle' ? [] : [word];
  });
  return words[0];
};

/** Objects in a payload that may be executions under names or in lists that nobody knows. */
const within = (payload: JsonObject): readonly JsonObject[] =>
  Object.entries(payload)
    .filter(([key]) => plain(key) !== 'dag')
    .flatMap(([, value]) => (Array.isArray(value) ? value : [value]))
    .filter(isObject)
    .map((one) => renamed(one, runNames));

const isHandler = (key: string): boolean => handlers.some((one) => one === key);

/** A step; what it is defined as may stand in an object of its own beside what became of it. */
const stepOf = (told: Json, otherwise?: string): JsonObject => {
  if (typeof told === 'string') return { name: told };
  if (!isObject(told)) return { step: told };
  const { step, ...own } = renamed(told, stepNames);
  const inner = typeof step === 'string' ? { name: step } : isObject(step) ? renamed(step, stepNames) : {};
  const { name: named, depends = own.depends, ...definition } = inner;
  // An engine may write a handler's name as empty where it has none.
  const name =
    [named, own.name, otherwise].find((one) => one !== undefined && one !== '') ?? named ?? own.name;
  return {
    ...own,
    ...(name !== undefined && { name }),
    ...(depends !== undefined && { depends }),
    ...(Object.keys(definition).length > 0 && { definition }),
  };
};

/**
 * When the engine made the run, from the folder of its log: `…/dag-run_20261121_072425Z_<id>/…`. A retry keeps it, a run that got an old id
 * again does not (measured on the vendor's 1.30.2).
 */
export const madeAt = (log: Json): string | undefined => {
  const found = typeof log === 'string' ? /dag-run_(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)Z_/.exec(log) : null;
  if (found === null) return undefined;
  const [, year, month, day, hour, minute, second] = found;
  return instantText(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
};

/** An instant (text, or a count since 1970) in one spelling; undefined for what is none. */
export const instantText = (value: Json): string | undefined => {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  if (value === '' || value === '-' || String(value).startsWith('0001-')) return undefined;
  try {
    return formatInstant(parseAnyInstant(value));
  } catch (error) {
    if (error instanceof BadData) return undefined;
    throw error;
  }
};

/** A DAG as a record: what src/connectors/dagu/transform.ts reads. Undefined where an element of the engine's list has no name. */
export const dagInList = (element: Json): JsonObject | undefined => {
  if (typeof element === 'string') return element === '' ? undefined : { name: element };
  if (!isObject(element)) return undefined;
  const { dag, latest, name, ...own } = renamed(element, {
    ...dagNames,
    dag: ['dag'],
    latest: ['latestdagrun', 'last'],
  });
  const inner = isObject(dag) ? renamed(dag, dagNames) : {};
  const named = textOf(inner.name) ?? textOf(name);
  if (named === undefined) return undefined;
  if (latest === undefined || latest === null) return { ...own, ...inner, name: named };
  return { ...own, ...inner, name: named, latest: isObject(latest) ? newest(latest, 'making') : latest };
};

/** The same of a status: what it says of the DAG itself, and how its newest execution stands. */
export const dagInStatus = (name: string, payload: JsonObject): JsonObject => {
  const dag = Object.entries(payload).find(([key]) => plain(key) === 'dag')?.[1];
  const own = isObject(dag) ? renamed(dag, dagNames) : {};
  // How it last went is told by the run.
  const { last: _, ...kept } = own;
  return { ...kept, name, latest: newest(payload, 'start') };
};

const newest = (payload: JsonObject, same: SameRun): JsonObject => {
  // Where there was no execution yet, what stands beside it says so.
  const { status, label } = executionIn(payload) ?? renamed(payload, runNames);
  const told = runIn(payload, '', same);
  return { status, label, ...(told && newestRun(told)) };
};

/** What of a DAG's newest run goes with the DAG: its id as told, and what tells it from others of that id. */
export const newestRun = ({ id, begun, run: { queuedAt } }: ToldRun): JsonObject => ({
  dagRunId: id,
  begun,
  queuedAt,
});
