/** The executions of DAGs: Dagu's history, or the current execution of an engine of the contract. */

import { Missing, TidemarkError } from '../../core/errors.ts';
import type { Page, WalkEnd } from '../../core/paging.ts';
import type { ReadSide, Slice, SliceContext } from '../../core/stream.ts';
import { days, parseInstant } from '../../core/time.ts';
import { mapConcurrent } from '../../reading/map-concurrent.ts';
import { confirmed } from './client.ts';
import { attempt, endOf, pageOf, readingOf, statuses, type Workflow } from './engine.ts';
import { beganAt, instantText, type Run, textOf } from './fields.ts';
import { type Dagu, historyOf, readWithLogs } from './history.ts';
import { activeRuns, isOver, keyed, lostRun, type RunRow, rowsOf } from './stored-runs.ts';

export const runs = (workflow: Workflow): ReadSide => ({
  by: 'changes',
  name: 'dag_runs',
  about:
    'Executions of DAGs with their steps. Dagu: the whole history, in detail where something changed. The contract: the current execution; where it names only the steps that run now, others stay as they were read last.',
  endpoint:
    'GET /api/v1/dags/{dag}/status; GET …/dag-runs, …/dag-runs/{name}/{id} and the logs of failed steps',
  after: ['dags'],
  windows: {
    scope: 'all runs',
    count: async () => undefined,
    changes: async () => 'created',
    instant: (record) => {
      const began = beganAt(record as Run);
      return began === undefined ? undefined : parseInstant(began);
    },
  },
  async read(slice, given, signal) {
    const { dialect } = await workflow.found(signal);
    const { http } = workflow;
    const pages =
      dialect === 'contract'
        ? current(workflow, given, signal)
        : history(workflow, { http, dialect }, slice, given, signal);
    return readingOf(pages, (run) => keyOf(run as Run));
  },
});

type Pages = AsyncGenerator<Page, WalkEnd, void>;

/** Runs of two DAGs may have one id. */
const keyOf = ({ dag, id }: Run): string => `${dag}/${id}`;

/** A run that had not ended and that the engine no longer shows, with `gone_at`. */
const lostPage = ({ note }: Workflow, row: RunRow, clock: Date): Page => {
  const run = lostRun(row, clock);
  note(`${run.dag}: the engine no longer shows the run ${run.id}, which had not ended when it was last read`);
  return pageOf([run]);
};

/**
 * The current execution of each named DAG by its status; other runs of the DAG that were active are lost. A run
 * without an id and a start is noted: it may be one that was active, so none is lost then.
 */
async function* current(workflow: Workflow, given: SliceContext, signal: AbortSignal): Pages {
  const active = await activeRuns(given);
  let count = 0;
  let failed = 0;
  for await (const status of statuses(workflow, signal)) {
    if (status instanceof TidemarkError) {
      failed += 1;
      continue;
    }
    const { dag, answer, run } = status;
    if (run?.id === '' && run.values.state !== 'idle') {
      const word = JSON.stringify(textOf(run.values.status)?.slice(0, 60));
      workflow.note(
        `${dag}: the engine says ${word} and gives neither an id nor a start of the run: it has no row`,
      );
      continue;
    }
    const shown = run?.id ? keyed(run, (await rowsOf(given, [run]))(run), given.clock) : undefined;
    if (shown !== undefined) yield pageOf([shown], answer);
    const lost = active.filter((row) => row.dag_name === dag && row.dag_run_id !== shown?.id);
    for (const row of lost) yield lostPage(workflow, row, given.clock);
    count += lost.length + (shown === undefined ? 0 : 1);
  }
  return endOf(count, count + failed);
}

/** Runs as recent as this are read in detail whatever their summary says: it says nothing of the steps. */
const recent = days(3);

/**
 * What to read of the history. A backfill reads its window in detail; every other run walks all summaries, with a day
 * of slack: runs are made while they are read.
 */
const spanOf = ({ window }: Slice, clock: Date) => {
  const end = window?.to?.getTime() ?? clock.getTime() + days(1);
  const begin = window?.to === undefined ? 0 : (window.from?.getTime() ?? 0);
  return { from: Math.max(1, Math.floor(begin / 1000)), to: Math.ceil(end / 1000) };
};

/** Whether a DAG is to be read, by its name: WORKFLOW_DAGS holds names or file names. */
const filterOf = async ({ dags }: Workflow, given: SliceContext): Promise<(dag?: string) => boolean> => {
  if (dags.length === 0) return () => true;
  const columns = { name: 'name' };
  const rows = await given.keys({ table: 'workflow.dags', columns, among: { file_name: dags } });
  const names = new Set([...dags, ...rows.map(({ name }) => name)]);
  return (dag) => names.has(dag);
};

/** Dagu's history: summaries of all runs, and the details of those that are new, recent, changed or not over. */
async function* history(
  workflow: Workflow,
  dagu: Dagu,
  slice: Slice,
  given: SliceContext,
  signal: AbortSignal,
): Pages {
  const isWanted = await filterOf(workflow, given);
  const isBackfill = slice.window?.to !== undefined;
  const since = isBackfill ? '' : new Date(given.clock.getTime() - recent).toISOString();
  const active = isBackfill ? [] : (await activeRuns(given)).filter(({ dag_name }) => isWanted(dag_name));
  const shown = new Set<string>();
  let failure: TidemarkError | undefined;
  let count = 0;
  const detail = async (run: Run, until: AbortSignal) => {
    const found = await confirmed(() => readWithLogs(dagu, run.dag, run.id, until));
    if (found !== undefined) return found;
    throw new Missing('the engine lists the run and answers 404 for it', 404);
  };
  const attempted = async (run: Run, until: AbortSignal) => ({
    run,
    found: await attempt(keyOf(run), detail(run, until)),
  });
  for await (const part of historyOf(dagu, spanOf(slice, given.clock), signal)) {
    const listed = part.filter(({ dag }) => isWanted(dag));
    const rows = await rowsOf(given, listed);
    const others = listed.filter((run) => {
      const { dag, id } = keyed(run, rows(run));
      const row = rows(run).find(({ dag_run_id }) => dag_run_id === id);
      const isSame = row !== undefined && (beganAt(run) ?? since) < since && !differs(run, row);
      if (isSame) shown.add(`${dag}/${id}`);
      return !isSame;
    });
    for await (const { run, found } of mapConcurrent(others, workflow.concurrency, attempted, signal)) {
      const isFailed = found instanceof TidemarkError;
      if (isFailed) failure ??= found;
      // A summary may not say when its run was made, so which of several runs of one id it is.
      const read = keyed(isFailed ? run : found.run, rows(run));
      shown.add(keyOf(read));
      if (isFailed) continue;
      count += 1;
      yield pageOf([read], found.answer);
    }
  }
  for (const row of active.filter((one) => !shown.has(`${one.dag_name}/${one.dag_run_id}`))) {
    count += 1;
    yield await unlisted(workflow, dagu, row, given, signal);
  }
  if (failure !== undefined) throw failure;
  return endOf(count);
}

/** A run that was active and is not in the list is asked for by its id before it counts as lost. */
const unlisted = async (
  workflow: Workflow,
  dagu: Dagu,
  row: RunRow,
  given: SliceContext,
  signal: AbortSignal,
): Promise<Page> => {
  const { dag_name: dag = '', told_run_id: id = '' } = row;
  const found = id === '' ? undefined : await readWithLogs(dagu, dag, id, signal);
  const run = found && keyed(found.run, (await rowsOf(given, [found.run]))(found.run));
  return run?.id === row.dag_run_id ? pageOf([run], found?.answer) : lostPage(workflow, row, given.clock);
};

/** Whether a summary says something else than the row, or that the run is not over. */
const differs = ({ values }: Run, row: RunRow): boolean =>
  !isOver(values.state) ||
  row.gone_at !== undefined ||
  row.status !== values.status ||
  row.started_at !== instantText(values.started_at) ||
  row.finished_at !== instantText(values.finished_at);
