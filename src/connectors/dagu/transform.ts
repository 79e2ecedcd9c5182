/** DAGs, runs and steps of Dagu to rows (tables.ts). dialects/ makes its records of what other engines say. */

import type { EngineRun } from '../../core/dag-engine.ts';
import { isObject, type JsonObject, kindOf, own, Reading } from '../../core/record.ts';
import { transformOf } from '../../core/record-table.ts';
import { keyText } from '../../core/record-values.ts';
import type { Json, Transform } from '../../core/stream.ts';
import type { Row } from '../../core/table.ts';
import type { Instant } from '../../core/time.ts';
import { instantIn, instantText, isFilled, standingIn, textOf } from './fields.ts';
import { dagRunSteps, dagRuns, dags } from './tables.ts';

/** A step or handler as Dagu's record of it. */
interface StepRecord {
  readonly kind: string;
  readonly step: Json;
}

/** One execution of a DAG as the transform receives it: Dagu's record, and what is made of it under the names of columns. */
export interface DagRunRecord {
  readonly dag_name: string;
  /** The key of its row; '' where the source gives neither an id nor a start. */
  readonly dag_run_id: string;
  /** What distinguishes two executions of one id. */
  readonly begun_at?: string | undefined;
  /** With the kind of each; handlers last. Absent: the source did not give them. */
  readonly steps?: readonly StepRecord[];
  /** True where `steps` names only some of the steps. */
  readonly isPartial?: boolean;
  /** True where it is whole, and all that the engine shows of its DAG: its id may have named another run before. */
  readonly isCurrent?: boolean;
  readonly [member: string]: Json;
}

/** The record with the first of the members that is filled under the name of the first one; others beside it stay. */
export const firstAs = (record: JsonObject, ...names: readonly [string, ...string[]]): JsonObject => {
  const found = names.find((name) => isFilled(own(record, name)));
  if (found === undefined) return record;
  const { [found]: value, ...others } = record;
  return { ...others, [names[0]]: value };
};

/** When a run came to be: made, else queued, else started. */
export const beganAt = ({ begun_at, queuedAt, startedAt }: DagRunRecord): Instant | undefined =>
  [begun_at, queuedAt, startedAt].map(instantIn).find((one) => typeof one === 'bigint');

/** Dagu puts the definition of a step into `step`. */
const stepIn = (record: JsonObject): JsonObject => {
  const { step, ...members } = record;
  const { name: _, depends, ...definition } = isObject(step) ? step : {};
  const more = Object.keys(definition).length > 0 && { definition };
  const answered = firstAs({ ...members, ...more }, 'humanTaskCompletedBy', 'approvedBy', 'rejectedBy');
  return { ...firstAs(answered, 'approvedAt', 'rejectedAt'), depends };
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
export const runIn = ({ name, nodes, runningNodes, ...others }: JsonObject): DagRunRecord => {
  const listed: readonly Json[] = [nodes, runningNodes].find((one) => Array.isArray(one)) ?? [];
  const isHandler = ([key, value]: [string, Json]): boolean => handlers.includes(key) && isObject(value);
  const members = Object.entries(others).filter((member) => !isHandler(member));
  const ofHandlers = Object.entries(others).filter(isHandler);
  return {
    ...firstAs(Object.fromEntries(members), 'labels', 'tags'),
    dag_name: textOf(name) ?? '',
    dag_run_id: textOf(others.dagRunId) ?? '',
    begun_at: madeAt(others.log),
    steps: [
      ...listed.map((step) => ({ kind: 'step', step })),
      ...ofHandlers.map(([key, step]) => ({ kind: key === 'onAbort' ? 'onCancel' : key, step })),
    ],
    isPartial: !Array.isArray(nodes),
  };
};

/** A DAG of Dagu's list, with its newest run. One that never ran has a run without an id (measured on 1.30.2). */
export const dagIn = (record: Json): JsonObject => {
  const { dag, ...others } = isObject(record) ? record : {};
  return firstAs({ ...others, ...(isObject(dag) && dag) }, 'tags', 'labels');
};

/** What a state means for a hand-off: an idle run was made and has not begun. */
const meanings: Readonly<Record<string, EngineRun['state']>> = {
  active: 'active',
  idle: 'active',
  succeeded: 'succeeded',
  failed: 'failed',
  aborted: 'failed',
};

/** A run as hand-offs see it. */
export const engineRun = (run: DagRunRecord): EngineRun => {
  const { word, state } = standingIn('run', run);
  const started = instantText(run.startedAt);
  return {
    runId: textOf(run.dagRunId),
    params: textOf(run.params),
    state: meanings[state] ?? 'unknown',
    label: word ?? 'unknown',
    startedAt: started === undefined ? undefined : new Date(started),
  };
};

export const dag: Transform = transformOf(dags);

/** A run with its steps. A step without a name is called by its number, a handler by its kind; steps of one name are counted. */
export const dagRun: Transform = (record) => {
  const { steps, isPartial, isCurrent: _, ...run } = record as DagRunRecord;
  const { dag_name, dag_run_id } = run;
  const r = new Reading('workflow.dag_runs', 'run', { id: dag_run_id });
  const row = dagRuns.rowOf(r, run);
  const counts = new Map<string, number>();
  const stepRow = (one: Json, position: number): readonly Row[] => {
    const { kind, step: raw } = one as StepRecord;
    const at = r.element('steps', position, true);
    if (!isObject(raw)) throw at.reject('bad_type', '', `has ${kindOf(raw)} as %, expected a step`);
    const step_name =
      textOf(isObject(raw.step) ? own(raw.step, 'name') : undefined) ??
      (kind === 'step' ? `step ${position + 1}` : kind);
    const occurrence = counts.get(step_name) ?? 0;
    counts.set(step_name, occurrence + 1);
    keyText(at, 'step_name', step_name);
    const place = { dag_name, dag_run_id, kind, position, step_name, occurrence };
    return [dagRunSteps.rowOf(at, stepIn(raw), place)];
  };
  const given = () => ({ dag_name, dag_run_id });
  const children = steps && { steps: r.parts('steps', steps, stepRow, given) };
  return { row, children: children ?? {}, ...r.remarks(), ...(isPartial && { partial: ['steps'] }) };
};
