/** What the warehouse holds of the runs of a DAG. */

import { parseJson } from '../../core/json.ts';
import type { Json } from '../../core/request.ts';
import { isOver, standingOf } from '../../core/run-states.ts';
import type { SliceContext } from '../../core/stream.ts';
import { isObject, type JsonObject, textOf } from './json-members.ts';
import { beganAt } from './listing.ts';
import { instantText, standingTold, type ToldRun } from './normalize.ts';

const table = 'workflow.dag_runs';

/** A run as the warehouse has it. Instants in RFC 3339. */
export interface Known {
  /** The key. */
  readonly id: string;
  /** The id as the source told it. */
  readonly told: string | undefined;
  readonly status: string | undefined;
  readonly begun: string | undefined;
  readonly started: string | undefined;
  readonly finished: string | undefined;
  readonly gone: boolean;
}

const columns = {
  id: 'dag_run_id',
  told: 'told_run_id',
  status: 'status',
  begun: 'begun_at',
  started: 'started_at',
  finished: 'finished_at',
  gone: 'gone_at',
} as const;

const knownIn = (row: Readonly<Record<string, string>>): Known => ({
  id: row.id ?? '',
  told: row.told,
  status: row.status,
  begun: instant(row.begun),
  started: instant(row.started),
  finished: instant(row.finished),
  gone: row.gone !== undefined,
});

/** `2026-11-21 07:24:25.5+00`, as Postgres writes an instant, in our own spelling. */
const instant = (text: string | undefined): string | undefined =>
  instantText(text?.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));

/** Rows of runs with these ids, as told. Postgres has no text with NUL: such an id is known to nobody. */
export const known = async (
  given: SliceContext,
  dag: string,
  ids: readonly string[],
): Promise<readonly Known[]> => {
  const among = { told_run_id: sound(ids) };
  return (await given.keys({ table, columns, of: { dag_name: dag }, among })).map(knownIn);
};

const sound = (ids: readonly string[]): readonly string[] => ids.filter((id) => !id.includes('\0'));

/** Of rows of runs: not ended when they were last read, and not lost by the engine. */
const unfinished = `state not in ('succeeded', 'failed', 'aborted') and gone_at is null and _deleted_at is null`;

/** Of rows of workflow.dags: there is a run that is still active. */
export const hasActiveRun = `exists (select from ${table} r where r.source_id = dags.source_id and r.dag_name = dags.name and ${unfinished})`;

/** Runs that had not ended when they were last read and that the engine has not lost. */
export const stillActive = async (given: SliceContext, dag: string): Promise<readonly Known[]> => {
  return (await given.keys({ table, columns, of: { dag_name: dag }, where: unfinished })).map(knownIn);
};

/**
 * The told run under the key of the row that is the same execution: the newest one where no beginning is told. An id that the engine gave
 * again, to an execution that began at another moment, is another run: its key is the id, @ and that moment. `seen`: where an engine tells each
 * start, one that waits is none that is over or lost, and while its beginning is not told it is keyed by when it was queued, else first seen.
 */
export const knownAs = (told: ToldRun, rows: readonly Known[], seen?: Date): ToldRun => {
  const same = rows.filter((row) => row.told === told.id);
  const match =
    same.find((row) => row.begun === told.begun) ??
    same.find((row) => row.begun === undefined) ??
    (told.begun === undefined ? newestOf(same) : undefined);
  const { state } = standingTold(told.run);
  if (match === undefined) return same.length === 0 ? told : { ...told, id: `${told.id}@${told.begun}` };
  if (
    seen !== undefined &&
    told.begun === undefined &&
    state === 'active' &&
    match.begun !== undefined &&
    hasEnded(match)
  )
    return { ...told, id: `${told.id}@${beganAt(told) ?? seen.toISOString()}` };
  // What is told of its end may not tell its start again.
  return { ...told, id: match.id, begun: told.begun ?? (isOver(state) ? match.begun : undefined) };
};

/** DAGs whose newest runs are told by the keys of their rows, that they have or will have: one question for all. */
export const withKeys = async (
  given: SliceContext,
  dags: readonly JsonObject[],
  seen?: Date,
): Promise<readonly JsonObject[]> => {
  const told = dags.map(newestTold);
  const runs = told.filter((run) => run !== undefined);
  if (runs.length === 0) return dags;
  const among = {
    dag_name: [...new Set(runs.map(({ dag }) => dag))],
    told_run_id: sound(runs.map(({ id }) => id)),
  };
  const rows = await given.keys({ table, columns: { ...columns, dag: 'dag_name' }, among });
  const byDag = Map.groupBy(rows, ({ dag }) => dag);
  return dags.map((dag, place) => {
    const run = told[place];
    if (run === undefined) return dag;
    const { id } = knownAs(run, (byDag.get(run.dag) ?? []).map(knownIn), seen);
    return { ...dag, latest: { ...run.run, dagRunId: id } };
  });
};

/** The same of one DAG. */
export const withKey = async (given: SliceContext, dag: JsonObject, seen?: Date): Promise<JsonObject> =>
  (await withKeys(given, [dag], seen))[0] ?? dag;

/** The newest run that a DAG's record tells; undefined for none, and where the DAG's name cannot be in the warehouse. */
const newestTold = ({ name: named, latest }: JsonObject): ToldRun | undefined => {
  const name = textOf(named);
  const id = isObject(latest) ? textOf(latest.dagRunId) : undefined;
  if (!isObject(latest) || id === undefined || name === undefined || name.includes('\0')) return undefined;
  return { dag: name, id, begun: textOf(latest.begun), run: latest, steps: undefined };
};

const newestOf = (rows: readonly Known[]): Known | undefined =>
  rows.toSorted((a, b) => ((a.begun ?? '') < (b.begun ?? '') ? 1 : -1))[0];

const hasEnded = ({ status, gone }: Known): boolean =>
  gone || isOver(standingOf('run', { label: status }).state);

const everything = {
  ...columns,
  code: 'status_code',
  scheduled: 'scheduled_at',
  queued: 'queued_at',
  trigger: 'trigger_type',
  params: 'params',
  labels: 'labels',
  worker: 'worker_id',
  rootName: 'root_dag_name',
  rootId: 'root_dag_run_id',
  parentName: 'parent_dag_name',
  parentId: 'parent_dag_run_id',
  retries: 'auto_retry_count',
  log: 'log_path',
  error: 'error',
  extra: '_extra',
} as const;

/**
 * A run that the source no longer tells of, as the record that its row came from, lost at this moment. Its steps are left as they are.
 * Undefined where the row is gone, too.
 */
export const lost = async (given: SliceContext, dag: string, id: string): Promise<ToldRun | undefined> => {
  const of = { dag_name: dag, dag_run_id: id };
  const [row] = await given.keys({ table, columns: everything, of });
  if (row === undefined) return undefined;
  const { told, status, code, labels, retries, extra, begun, scheduled, queued, started, finished, ...text } =
    row;
  const { id: _, gone: __, ...same } = text;
  return {
    dag,
    id,
    begun: instant(begun),
    steps: undefined,
    gone: given.clock.toISOString(),
    run: {
      ...objectIn(extra),
      ...same,
      runId: told,
      status: code === undefined ? status : Number(code),
      label: status,
      labels: json(labels),
      autoRetries: retries === undefined ? undefined : Number(retries),
      scheduledAt: instant(scheduled),
      queuedAt: instant(queued),
      startedAt: instant(started),
      finishedAt: instant(finished),
    },
  };
};

const json = (text: string | undefined): Json =>
  text === undefined ? undefined : parseJson(Buffer.from(text));
const objectIn = (text: string | undefined): JsonObject => {
  const value = json(text);
  return isObject(value) ? value : {};
};
