/** The DAGs of the engine, and their executions: the history of Dagu, or the current execution of an engine of the contract. */

import { Missing } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { isObject, type JsonObject } from '../../core/record.ts';
import type { SourceColumn } from '../../core/record-table.ts';
import type { Json, KeySet, Page, SliceContext, Stream, WalkEnd, Window } from '../../core/stream.ts';
import type { ColumnType } from '../../core/table.ts';
import { days } from '../../core/time.ts';
import { at, idBy } from '../../reading/requests.ts';
import type { DaguDialect } from './dialects/dialect.ts';
import { listIn } from './dialects/v2.ts';
import { instantText, standingIn, textOf } from './fields.ts';
import * as tables from './tables.ts';
import { beganAt, type DagRunRecord, dag, dagIn, dagRun } from './transform.ts';
import { each, firstOf, pagesOf, readingOf, type Workflow } from './workflow.ts';

export const dags = (workflow: Workflow): Stream => ({
  by: 'list',
  name: 'dags',
  about: 'DAGs: those the engine lists, or those named in WORKFLOW_DAGS.',
  endpoint: 'GET /api/v1/dags, GET /api/v1/dags/{dag}/status',
  table: tables.dags,
  transform: dag,
  canLeaveOut: true,
  // A DAG that left the engine's list is gone; one that left WORKFLOW_DAGS is not.
  absent: workflow.dags.length === 0 ? 'delete' : 'keep',
  read: (_, _context, signal) => readingOf(readDags(workflow, signal), idBy('name')),
});

/**
 * Dagu's list names files that it cannot read in `errors` alone (measured on 1.30.2: a file that is being written): then
 * no DAG is taken for deleted. Throws `Missing` where none of the named DAGs is found.
 */
async function* readDags(workflow: Workflow, signal: AbortSignal): AsyncGenerator<Page, WalkEnd, void> {
  const { http, dags: wanted, note } = workflow;
  const { dialect } = await workflow.found(signal);
  const absent = new Set<Json>(wanted);
  const unread = new Set<string>();
  const isWanted = ({ name, fileName }: JsonObject): boolean => {
    for (const one of [name, fileName]) absent.delete(one);
    return wanted.length === 0 || wanted.some((one) => one === name || one === fileName);
  };
  const list = (body: Json): readonly Json[] => {
    const problems = at(body, 'errors');
    if (Array.isArray(problems)) for (const one of problems) unread.add(textOf(one) ?? 'an error');
    return listIn('dags')(body).map(dagIn).filter(isWanted);
  };
  const end = yield* dialect.dags(list, wanted.length === 0, signal);
  const message = `${http.origin} lists no ${firstOf([...absent].map(String))}, named in WORKFLOW_DAGS`;
  if (absent.size > 0 && absent.size === wanted.length) throw new Missing(message, 404);
  if (absent.size > 0) note(message);
  if (unread.size === 0) return end;
  const problems = firstOf([...unread].map((error) => error.slice(0, 300)));
  note(`the engine cannot read all files of its DAGs, so none is deleted: ${problems}`);
  return { ...end, lacks: true };
}

export const runs = (workflow: Workflow): Stream => ({
  by: 'changes',
  name: 'dag_runs',
  about:
    'Executions of DAGs with their steps. Dagu: the whole history, in detail where something changed. The contract: the current execution; where it names only the steps that run now, others stay as they were read last.',
  endpoint: 'GET /api/v1/dags/{dag}/status; GET …/dag-runs, …/dag-runs/{name}/{id}',
  after: ['dags'],
  table: tables.dagRuns,
  children: tables.dagRunChildren,
  transform: dagRun,
  absent: 'keep',
  windows: {
    scope: 'all runs',
    count: async () => undefined,
    changes: async () => 'created',
    instant: (record) => beganAt(record as DagRunRecord),
  },
  read({ window }, context, signal) {
    const backfill = window?.to === undefined ? undefined : window;
    const found = read({ workflow, context, signal, backfill, shown: new Set() });
    return readingOf(pagesOf(found), (run) => keyOf(run as DagRunRecord));
  },
});

/** One reading of runs. */
interface Asked {
  readonly workflow: Workflow;
  readonly context: SliceContext;
  readonly signal: AbortSignal;
  /** What a backfill reads; every other reading asks for all. */
  readonly backfill: Window | undefined;
  /** Keys of the runs that the engine shows. */
  readonly shown: Set<string>;
}

type Runs = AsyncGenerator<DagRunRecord, void, void>;

/** Runs of two DAGs may have one id. */
const keyOf = ({ dag_name, dag_run_id }: DagRunRecord): string => `${dag_name}/${dag_run_id}`;

/** What the engine shows, then the runs that were active and that it no longer shows; these only after a reading without a failure. */
async function* read(asked: Asked): Runs {
  const { workflow, context, signal, shown } = asked;
  const { dialect } = await workflow.found(signal);
  const isWanted = await filterOf(asked);
  const active = asked.backfill === undefined ? (await activeRuns(context)).filter(isWanted) : [];
  const details = async ([run, rows]: Listed, until: AbortSignal): Promise<DagRunRecord> => {
    if (run.isCurrent) return keyed(run, rows, context.clock);
    const found = await dialect.run(run.dag_name, run.dag_run_id, until);
    if (found === undefined) throw new Missing('the engine lists the run and answers 404 for it', 404);
    // A summary may not say when its run was made, so which of several runs of one id it is.
    return keyed(found, rows);
  };
  const listed = changed(asked, dialect, isWanted, active);
  for await (const run of each(listed, ([run]) => keyOf(run), details, signal)) {
    shown.add(keyOf(run));
    yield run;
  }
  /** A run that is not in the list is asked for by its id, where that can be, before it counts as lost. */
  const again = async (row: DagRunRecord, until: AbortSignal): Promise<DagRunRecord> => {
    const id = textOf(row.dagRunId);
    const found = id && (await dialect.run(row.dag_name, id, until));
    const run = found && keyed(found, await rowsOf(context, [found]));
    if (run && run.dag_run_id === row.dag_run_id) return run;
    const what = `${row.dag_name}: the engine no longer shows the run ${row.dag_run_id}`;
    workflow.note(`${what}, which had not ended when it was last read`);
    // As its row holds it; its steps stay as they are.
    const { _extra, state: _, ...members } = row;
    return { ...(isObject(_extra) && _extra), ...members, gone_at: context.clock.toISOString() };
  };
  const left = active.filter((row) => !shown.has(keyOf(row)));
  yield* each(left, keyOf, again, signal);
}

/** Whether the runs of a DAG are to be read, by its name: WORKFLOW_DAGS holds names or file names. */
const filterOf = async ({ workflow, context }: Asked): Promise<(run: DagRunRecord) => boolean> => {
  const { dags, leftOut } = workflow;
  if (dags.length === 0) return ({ dag_name }) => !leftOut?.has(dag_name);
  const columns = { name: 'name' };
  const rows = await context.keys({ table: 'workflow.dags', columns, among: { file_name: dags } });
  const names = new Set([...dags, ...rows.map(({ name }) => name)]);
  return ({ dag_name }) => names.has(dag_name) && !leftOut?.has(dag_name);
};

/** A summary, and the rows among which its own may be. */
type Listed = readonly [run: DagRunRecord, rows: readonly DagRunRecord[]];

/** Runs as recent as this are read in detail whatever their summary says: it says nothing of the steps. */
const recent = days(3);

/**
 * What the engine shows of a backfill's window, or of all time and a day of slack (runs are made meanwhile), where there is
 * more to ask or to write; the keys of the others go to `shown`. A run without an id and a start may be any of `active`.
 */
async function* changed(
  { workflow, context, backfill, shown, signal }: Asked,
  dialect: DaguDialect,
  isWanted: (run: DagRunRecord) => boolean,
  active: readonly DagRunRecord[],
): AsyncGenerator<Listed, void, void> {
  const now = context.clock.getTime();
  const from = Math.max(1, Math.floor((backfill?.from?.getTime() ?? 0) / 1000));
  const to = Math.ceil((backfill?.to?.getTime() ?? now + days(1)) / 1000);
  const since = backfill === undefined ? BigInt(now - recent) * 1000n : 0n;
  for await (const part of dialect.history({ from, to }, signal)) {
    const listed = part.filter(isWanted);
    const rows = await rowsOf(context, listed);
    for (const run of listed) {
      const { dag_name, dag_run_id } = keyed(run, rows);
      const row = rows.find((one) => one.dag_run_id === dag_run_id && one.dag_name === dag_name);
      const isNameless = run.dag_run_id === '';
      const { word, state } = standingIn('run', run);
      if (isNameless && state !== 'idle') {
        workflow.note(
          `${dag_name}: the engine says ${JSON.stringify(word?.slice(0, 60))} without an id or a start of a run: it has no row`,
        );
        for (const one of active) if (one.dag_name === dag_name) shown.add(keyOf(one));
      }
      if (isNameless) continue;
      if (row && (beganAt(run) ?? since) < since && !differs(run, row)) shown.add(keyOf(row));
      else yield [run, rows];
    }
  }
}

/** Whether a summary says something else than the row, or that the run is not over. */
const differs = (run: DagRunRecord, row: DagRunRecord): boolean =>
  !isOver(run) ||
  row.gone_at !== undefined ||
  row.statusLabel !== standingIn('run', run).word ||
  row.startedAt !== instantText(run.startedAt) ||
  row.finishedAt !== instantText(run.finishedAt);

/** A value from the text that Postgres gives of it; an instant as RFC 3339 text. */
const parse = (type: ColumnType | undefined, text: string): Json => {
  if (type === 'jsonb') return parseJson(Buffer.from(text));
  if (type !== 'timestamptz') return text;
  return instantText(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));
};

/** The first member that a column is read from; the column itself where there is none. */
const memberOf = (column: string): string =>
  (tables.dagRuns.declared[column] as Partial<SourceColumn> | undefined)?.members?.[0] ?? column;

/** Rows as runs without steps, from these columns; what is null in the row is absent. */
const storedRuns = async (context: SliceContext, names: readonly string[], set: Partial<KeySet>) => {
  const types: Readonly<Record<string, ColumnType>> = tables.dagRuns.columns;
  const columns = Object.fromEntries(names.map((name) => [memberOf(name), name]));
  const rows = await context.keys({ ...set, table: 'workflow.dag_runs', columns });
  const parsed = ([member, text]: [string, string]) => [member, parse(types[columns[member] ?? ''], text)];
  return rows.map((row): DagRunRecord => Object.fromEntries(Object.entries(row).map(parsed)));
};

/** What is kept of an earlier try. */
const kept = [
  'status',
  'state',
  'started_at',
  'finished_at',
  'trigger_type',
  'trigger_actor',
  'auto_retry_count',
  'error',
];

/** The columns that tell runs apart and whether one has changed. The runs of one id come by their begin, those without last. */
const compared = ['dag_name', 'told_run_id', 'begun_at', 'dag_run_id', 'gone_at', 'earlier_tries', ...kept];

/** The rows that have the ids of these runs; one query. Postgres holds no text with NUL. */
const rowsOf = (context: SliceContext, runs: readonly DagRunRecord[]): Promise<readonly DagRunRecord[]> => {
  const sound = runs.filter((run) => !keyOf(run).includes('\0'));
  const dag_name = [...new Set(sound.map((run) => run.dag_name))];
  const told_run_id = sound.map((run) => run.dag_run_id);
  return storedRuns(context, compared, { among: { dag_name, told_run_id } });
};

/** Whether nothing more happens to the run by itself. */
const isOver = (run: DagRunRecord): boolean =>
  ['succeeded', 'failed', 'aborted'].includes(standingIn('run', run).state);

/** Runs that had not ended when they were last read and that the engine has not lost. */
const activeRuns = (context: SliceContext): Promise<readonly DagRunRecord[]> =>
  storedRuns(context, Object.keys(tables.dagRuns.columns), {
    where: "state not in ('succeeded', 'failed', 'aborted') and gone_at is null and _deleted_at is null",
  });

/**
 * The run under the key of the stored row that is the same execution. Engines reuse ids after a restart (R17): an id that
 * began at another moment is another run, with the key `<id>@<that moment>`. `seenAt`: the contract gives no other
 * beginning than the start, so a run that waits for it is not one that has ended; until it starts, its key has the
 * moment it was first seen.
 */
const keyed = (run: DagRunRecord, stored: readonly DagRunRecord[], seenAt?: Date): DagRunRecord => {
  const { dag_name, dag_run_id: id, begun_at } = run;
  const rows = stored.filter((one) => one.dagRunId === id && one.dag_name === dag_name);
  const last = rows.at(-1);
  if (last === undefined) return run;
  const isUnclear = begun_at === undefined || last.begun_at === undefined;
  const row = rows.find((one) => one.begun_at === begun_at) ?? (isUnclear ? last : undefined);
  if (row === undefined) return { ...run, dag_run_id: `${id}@${begun_at}` };
  const { state } = standingIn('run', run);
  const waitsAnew = begun_at === undefined && state === 'active' && row.begun_at !== undefined;
  if (seenAt !== undefined && waitsAnew && (isOver(row) || row.gone_at !== undefined))
    return { ...run, dag_run_id: `${id}@${instantText(run.queuedAt) ?? seenAt.toISOString()}` };
  const earlier = Array.isArray(row.earlier_tries) ? row.earlier_tries : [];
  // Dagu retries a run under its id and shows the last try alone, so what the row says of the try before is kept. A run that had ended and got
  // another status at the same start is the same try, e.g. one that the engine had taken for dead.
  const isAnotherTry = isOver(row) && (state === 'active' || row.startedAt !== instantText(run.startedAt));
  const before = () => Object.fromEntries(kept.map((name) => [name, row[memberOf(name)]]));
  const tries = isAnotherTry ? [...earlier, before()] : earlier;
  // In one order of members: Postgres gives them in another, which would count as a change.
  const listed = tries.map((one) => Object.fromEntries(kept.map((name) => [name, at(one, name)])));
  const earlier_tries = listed.length > 0 ? listed : null;
  return { ...run, earlier_tries, dag_run_id: row.dag_run_id, begun_at: begun_at ?? row.begun_at };
};
