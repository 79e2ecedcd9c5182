/** Runs that the warehouse holds: which row a run belongs to, and rows of runs that the engine has lost. */

import { parseJson } from '../../core/json.ts';
import { isObject, type JsonObject } from '../../core/record-object.ts';
import type { Json } from '../../core/request.ts';
import { isOver, standingOf } from '../../core/run-states.ts';
import type { SliceContext } from '../../core/stream.ts';
import { beganAt, type Dag, instantText, type Run, standingIn } from './fields.ts';
import { dagRuns } from './tables.ts';

const table = 'workflow.dag_runs';

/** Columns of a row as text; instants in RFC 3339. Nulls are absent. */
export type RunRow = Readonly<Record<string, string | undefined>>;

const columns = [
  'dag_name',
  'dag_run_id',
  'told_run_id',
  'status',
  'begun_at',
  'started_at',
  'finished_at',
  'gone_at',
];
const named = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, name]));

/** `2026-11-21 07:24:25.5+00`, as Postgres writes an instant, in RFC 3339. */
const instant = (text: string | undefined): string | undefined =>
  instantText(text?.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));

const rowIn = (row: RunRow): RunRow =>
  Object.fromEntries(
    Object.entries(row).map(([name, text]) => [name, name.endsWith('_at') ? instant(text) : text]),
  );

/** The rows of a DAG's runs with these ids, as the source gives them. Postgres holds no text with NUL. */
export const existing = async (
  given: SliceContext,
  dag: string,
  ids: readonly string[],
): Promise<readonly RunRow[]> => {
  const among = { told_run_id: ids.filter((id) => !id.includes('\0')) };
  return (await given.keys({ table, columns: named(columns), of: { dag_name: dag }, among })).map(rowIn);
};

const unfinished = `state not in ('succeeded', 'failed', 'aborted') and gone_at is null and _deleted_at is null`;

/** Condition on rows of workflow.dags: a run of the DAG had not ended when it was last read. */
export const hasActiveRun = `exists (select from ${table} r where r.source_id = dags.source_id and r.dag_name = dags.name and ${unfinished})`;

/** Runs that had not ended when they were last read and that the engine has not lost. */
export const activeRuns = async (given: SliceContext, dag: string): Promise<readonly RunRow[]> =>
  (await given.keys({ table, columns: named(columns), of: { dag_name: dag }, where: unfinished })).map(rowIn);

/** Whether nothing more happens to the run of a row. */
export const hasEnded = ({ status, gone_at }: RunRow): boolean =>
  gone_at !== undefined || isOver(standingOf('run', { label: status }).state);

/**
 * The run under the key of the row that is the same execution. Engines reuse ids after a restart (R17): an id that began at
 * another moment is another run, with the key `<id>@<that moment>`. `seenAt`: the contract gives no other beginning than
 * the start, so a run that waits for it is not one that has ended; until it starts, its key has the moment it was first seen.
 */
export const keyed = (run: Run, rows: readonly RunRow[], seenAt?: Date): Run => {
  const same = rows.filter((row) => row.told_run_id === run.id);
  const begun = instantText(run.known.begun_at);
  const newest = same.toSorted((a, b) => ((a.begun_at ?? '') < (b.begun_at ?? '') ? 1 : -1))[0];
  const match =
    same.find((row) => row.begun_at === begun) ??
    same.find((row) => row.begun_at === undefined) ??
    (begun === undefined ? newest : undefined);
  if (match === undefined) return same.length === 0 ? run : { ...run, id: `${run.id}@${begun}` };
  const isWaiting = begun === undefined && standingIn(run.known, 'run').state === 'active';
  if (seenAt !== undefined && isWaiting && match.begun_at !== undefined && hasEnded(match))
    return { ...run, id: `${run.id}@${beganAt(run) ?? seenAt.toISOString()}` };
  const begun_at = begun ?? (isWaiting ? undefined : match.begun_at);
  return { ...run, id: match.dag_run_id ?? run.id, known: { ...run.known, begun_at } };
};

/** The DAGs with their newest runs under the keys of the rows that these have or will have; one query for all. */
export const withKeys = async (
  given: SliceContext,
  dags: readonly Dag[],
  seenAt?: Date,
): Promise<readonly Dag[]> => {
  const sound = dags.flatMap(({ name, latest }) =>
    latest?.id && !`${name}${latest.id}`.includes('\0') ? [latest] : [],
  );
  if (sound.length === 0) return dags;
  const among = {
    dag_name: [...new Set(sound.map(({ dag }) => dag))],
    told_run_id: sound.map(({ id }) => id),
  };
  const rows = (await given.keys({ table, columns: named(columns), of: {}, among })).map(rowIn);
  const byDag = Map.groupBy(rows, (row) => row.dag_name);
  return dags.map((dag) =>
    dag.latest === undefined ? dag : { ...dag, latest: keyed(dag.latest, byDag.get(dag.name) ?? [], seenAt) },
  );
};

const json = (text: string | undefined): Json =>
  text === undefined ? undefined : parseJson(Buffer.from(text));

/**
 * The row of a run that the engine no longer shows, as a run with `gone_at`; its steps stay as they are. Undefined where the
 * row is deleted.
 */
export const lostRun = async (given: SliceContext, dag: string, id: string): Promise<Run | undefined> => {
  const [found] = await given.keys({
    table,
    columns: named(Object.keys(dagRuns.columns)),
    of: { dag_name: dag, dag_run_id: id },
  });
  if (found === undefined) return undefined;
  const { _extra, status, status_code, labels, auto_retry_count, ...row } = rowIn(found);
  const rest = json(_extra);
  const known: JsonObject = {
    ...row,
    status: status_code === undefined ? status : Number(status_code),
    label: status,
    labels: json(labels),
    auto_retry_count: json(auto_retry_count),
    gone_at: given.clock.toISOString(),
  };
  return { dag, id, known, rest: isObject(rest) ? rest : {}, steps: [], partial: true };
};
