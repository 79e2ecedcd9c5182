/** Runs that the warehouse holds: which row a run belongs to, and the rows of runs that the engine has lost. */

import { parseJson } from '../../core/json.ts';
import { isObject } from '../../core/record-object.ts';
import type { Json } from '../../core/request.ts';
import type { KeySet, SliceContext } from '../../core/stream.ts';
import { beganAt, instantText, type Run } from './fields.ts';
import { dagRuns } from './tables.ts';

/** Columns of a row as text; instants in RFC 3339. Nulls are absent. */
export type RunRow = Readonly<Record<string, string | undefined>>;

/** `2026-11-21 07:24:25.5+00`, as Postgres writes an instant, in RFC 3339. */
const instant = (text: string): string | undefined =>
  instantText(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));

const rowsWith = async (
  given: SliceContext,
  names: readonly string[],
  set: Partial<KeySet>,
): Promise<readonly RunRow[]> => {
  const columns = Object.fromEntries(names.map((name) => [name, name]));
  const rows = await given.keys({ ...set, table: 'workflow.dag_runs', columns });
  const read = ([name, text]: [string, string]) => [name, name.endsWith('_at') ? instant(text) : text];
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(read)));
};

/** The columns that tell runs apart and whether one has changed. */
const compared = 'dag_name dag_run_id told_run_id status state begun_at started_at finished_at gone_at'.split(
  ' ',
);

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
  const rows = sound.length === 0 ? [] : await rowsWith(given, compared, { among });
  const byRun = Map.groupBy(rows, (row) => JSON.stringify([row.dag_name, row.told_run_id]));
  return ({ dag, id }) => byRun.get(JSON.stringify([dag, id])) ?? [];
};

const ended = ['succeeded', 'failed', 'aborted'];

/** Whether nothing more happens to a run in this state by itself. */
export const isOver = (state: Json): boolean => typeof state === 'string' && ended.includes(state);

/** Runs that had not ended when they were last read and that the engine has not lost. */
export const activeRuns = (given: SliceContext): Promise<readonly RunRow[]> =>
  rowsWith(given, Object.keys(dagRuns.columns), {
    where: "state not in ('succeeded', 'failed', 'aborted') and gone_at is null and _deleted_at is null",
  });

/**
 * The run under the key of the row that is the same execution. Engines reuse ids after a restart (R17): an id that
 * began at another moment is another run, with the key `<id>@<that moment>`. `seenAt`: the contract gives no other
 * beginning than the start, so a run that waits for it is not one that has ended; until it starts, its key has the
 * moment it was first seen.
 */
export const keyed = (run: Run, rows: readonly RunRow[], seenAt?: Date): Run => {
  const begun = run.begun_at;
  const newest = rows.toSorted((a, b) => ((a.begun_at ?? '') < (b.begun_at ?? '') ? 1 : -1))[0];
  const match =
    rows.find((row) => row.begun_at === begun) ??
    rows.find((row) => row.begun_at === undefined) ??
    (begun === undefined ? newest : undefined);
  if (match === undefined) return rows.length === 0 ? run : { ...run, id: `${run.id}@${begun}` };
  const isWaiting = begun === undefined && run.values.state === 'active';
  const isOther = isWaiting && match.begun_at !== undefined && (match.gone_at ?? isOver(match.state));
  if (seenAt !== undefined && isOther)
    return { ...run, id: `${run.id}@${beganAt(run) ?? seenAt.toISOString()}` };
  const id = match.dag_run_id ?? run.id;
  return { ...run, id, begun_at: begun ?? (isWaiting ? undefined : match.begun_at) };
};

const json = (text: string | undefined): Json => (text === undefined ? null : parseJson(Buffer.from(text)));

/** A run that the engine no longer shows, as its row holds it, with `gone_at`. Its steps stay as they are. */
export const lostRun = ({ _extra, labels, begun_at, ...row }: RunRow, clock: Date): Run => {
  const rest = json(_extra);
  const values = { ...row, labels: json(labels), gone_at: clock.toISOString() };
  return {
    dag: row.dag_name ?? '',
    id: row.dag_run_id ?? '',
    begun_at,
    values,
    rest: isObject(rest) ? rest : {},
  };
};
