/** Runs that the warehouse holds: which row a run belongs to, and the rows of runs that the engine has lost. */

import { parseJson } from '../../core/json.ts';
import { isObject, type JsonObject } from '../../core/record-object.ts';
import type { Json } from '../../core/request.ts';
import { isOver, standingOf } from '../../core/run-states.ts';
import type { KeySet, SliceContext } from '../../core/stream.ts';
import { beganAt, instantText, type Run, runNames, stateOf } from './fields.ts';
import { dagRuns } from './tables.ts';

/** Columns of a row as text; instants in RFC 3339. Nulls are absent. */
export type RunRow = Readonly<Record<string, string | undefined>>;

const table = 'workflow.dag_runs';
const columns = [
  ...['dag_name', 'dag_run_id', 'told_run_id', 'status'],
  ...['begun_at', 'started_at', 'finished_at', 'gone_at'],
];

/** `2026-11-21 07:24:25.5+00`, as Postgres writes an instant, in RFC 3339. */
const instant = (text: string): string | undefined =>
  instantText(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));

const rowsWith = async (
  given: SliceContext,
  set: Omit<KeySet, 'table' | 'columns'>,
  names: readonly string[] = columns,
): Promise<readonly RunRow[]> => {
  const rows = await given.keys({
    ...set,
    table,
    columns: Object.fromEntries(names.map((name) => [name, name])),
  });
  const read = ([name, text]: [string, string]) => [name, name.endsWith('_at') ? instant(text) : text];
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(read)));
};

/** The rows that have the ids of these runs, by run; one query. Postgres holds no text with NUL. */
export const rowsOf = async (
  given: SliceContext,
  runs: readonly Run[],
): Promise<(run: Run) => readonly RunRow[]> => {
  const sound = runs.filter(({ dag, id }) => id !== '' && !`${dag}${id}`.includes('\0'));
  const among = {
    dag_name: [...new Set(sound.map(({ dag }) => dag))],
    told_run_id: sound.map(({ id }) => id),
  };
  const rows = sound.length === 0 ? [] : await rowsWith(given, { among });
  const byRun = Map.groupBy(rows, (row) => JSON.stringify([row.dag_name, row.told_run_id]));
  return ({ dag, id }) => byRun.get(JSON.stringify([dag, id])) ?? [];
};

const unfinished = `state not in ('succeeded', 'failed', 'aborted') and gone_at is null and _deleted_at is null`;

/** Condition on rows of workflow.dags: a run of the DAG had not ended when it was last read. */
export const hasActiveRun = `exists (select from ${table} r where r.source_id = dags.source_id and r.dag_name = dags.name and ${unfinished})`;

/** Runs that had not ended when they were last read and that the engine has not lost. */
export const activeRuns = (given: SliceContext, dag: string): Promise<readonly RunRow[]> =>
  rowsWith(given, { of: { dag_name: dag }, where: unfinished });

const hasEnded = ({ status, gone_at }: RunRow): boolean =>
  gone_at !== undefined || isOver(standingOf('run', { label: status }).state);

/**
 * The run under the key of the row that is the same execution. Engines reuse ids after a restart (R17): an id that began at
 * another moment is another run, with the key `<id>@<that moment>`. `seenAt`: the contract gives no other beginning than the
 * start, so a run that waits for it is not one that has ended; until it starts, its key has the moment it was first seen.
 */
export const keyed = (run: Run, rows: readonly RunRow[], seenAt?: Date): Run => {
  const begun = run.begun_at;
  const newest = rows.toSorted((a, b) => ((a.begun_at ?? '') < (b.begun_at ?? '') ? 1 : -1))[0];
  const match =
    rows.find((row) => row.begun_at === begun) ??
    rows.find((row) => row.begun_at === undefined) ??
    (begun === undefined ? newest : undefined);
  if (match === undefined) return rows.length === 0 ? run : { ...run, id: `${run.id}@${begun}` };
  const isWaiting = begun === undefined && stateOf(run).state === 'active';
  if (seenAt !== undefined && isWaiting && match.begun_at !== undefined && hasEnded(match))
    return { ...run, id: `${run.id}@${beganAt(run) ?? seenAt.toISOString()}` };
  return {
    ...run,
    id: match.dag_run_id ?? run.id,
    begun_at: begun ?? (isWaiting ? undefined : match.begun_at),
  };
};

const json = (text: string): Json => parseJson(Buffer.from(text));

/** A run that the engine no longer shows, as its row holds it, with `gone_at`. Its steps stay as they are. */
export const lostRun = async (given: SliceContext, dag: string, id: string): Promise<Run | undefined> => {
  const { columns: types } = dagRuns;
  const of = { dag_name: dag, dag_run_id: id };
  const [row] = await rowsWith(given, { of }, Object.keys(types));
  if (row === undefined) return undefined;
  const { _extra, begun_at, status, status_code } = row;
  const read = ([column, text]: [string, string | undefined]): readonly (readonly [string, Json])[] => {
    const type = types[column as keyof typeof types];
    const isJson = text !== undefined && (type === 'jsonb' || type === 'bigint');
    const [name] = runNames.get(column) ?? [];
    return name === undefined ? [] : [[name, isJson ? json(text) : text]];
  };
  const rest = _extra === undefined ? {} : json(_extra);
  const members: JsonObject = {
    ...(isObject(rest) && rest),
    ...Object.fromEntries(Object.entries(row).flatMap(read)),
    ...{ status: status_code === undefined ? status : Number(status_code), statusLabel: status },
  };
  return { dag, id, begun_at, gone_at: given.clock.toISOString(), members };
};
