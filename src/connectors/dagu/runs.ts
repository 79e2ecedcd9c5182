/** The executions of DAGs: Dagu's history, or the current execution of an engine of the contract. */

import { Missing, TidemarkError } from '../../core/errors.ts';
import type { Page, WalkEnd } from '../../core/paging.ts';
import type { ReadSide, Slice, SliceContext } from '../../core/stream.ts';
import { days, parseInstant } from '../../core/time.ts';
import { mapConcurrent } from '../../reading/map-concurrent.ts';
import { confirmed } from './client.ts';
import { attempt, endOf, pageOf, readingOf, statuses, type Workflow } from './engine.ts';
import { beganAt, instantText, type Run, textOf } from './fields.ts';
import { type Dagu, historyOf, isDagu, readWithLogs } from './history.ts';
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
    const asked = { workflow, given, signal };
    const dagu = { http: workflow.http, dialect };
    const pages = isDagu(dagu) ? history(asked, dagu, slice) : current(asked);
    return readingOf(pages, (run) => keyOf(run as Run));
  },
});

interface Asked {
  readonly workflow: Workflow;
  readonly given: SliceContext;
  readonly signal: AbortSignal;
}

type Pages = AsyncGenerator<Page, WalkEnd, void>;

/** Runs of two DAGs may have one id. */
const keyOf = ({ dag, id }: Run): string => `${dag}/${id}`;

/** A run that had not ended and that the engine no longer shows, with `gone_at`. */
const lostPage = ({ workflow, given }: Asked, row: RunRow): Page => {
  const run = lostRun(row, given.clock);
  const what = `${run.dag}: the engine no longer shows the run ${run.id}`;
  workflow.note(`${what}, which had not ended when it was last read`);
  return pageOf([run]);
};

/**
 * The current execution of each named DAG by its status; other runs of the DAG that were active are lost. A run
 * without an id and a start is noted: it may be one that was active, so none is lost then.
 */
async function* current(asked: Asked): Pages {
  const { workflow, given, signal } = asked;
  const active = await activeRuns(given);
  let [count, failed] = [0, 0];
  for await (const status of statuses(workflow, signal)) {
    if (status instanceof TidemarkError) {
      failed += 1;
      continue;
    }
    const { dag, answer, run } = status;
    if (run?.id === '' && run.values.state !== 'idle') {
      const word = JSON.stringify(textOf(run.values.status)?.slice(0, 60));
      workflow.note(`${dag}: the engine says ${word} without an id or a start of the run: it has no row`);
      continue;
    }
    const shown = run?.id ? keyed(run, (await rowsOf(given, [run]))(run), given.clock) : undefined;
    if (shown !== undefined) yield pageOf([shown], answer);
    const lost = active.filter((row) => row.dag_name === dag && row.dag_run_id !== shown?.id);
    for (const row of lost) yield lostPage(asked, row);
    count += lost.length + (shown === undefined ? 0 : 1);
  }
  return endOf(count, count + failed);
}

/** Runs as recent as this are read in detail whatever their summary says: it says nothing of the steps. */
const recent = days(3);

/** Whether a DAG is to be read, by its name: WORKFLOW_DAGS holds names or file names. */
const filterOf = async ({ workflow: { dags }, given }: Asked): Promise<(dag?: string) => boolean> => {
  if (dags.length === 0) return () => true;
  const columns = { name: 'name' };
  const rows = await given.keys({ table: 'workflow.dags', columns, among: { file_name: dags } });
  const names = new Set([...dags, ...rows.map(({ name }) => name)]);
  return (dag) => names.has(dag);
};

/**
 * Dagu's history: summaries of all runs, and the details of those that are new, recent, changed or not over. A backfill
 * reads the details of its window; every other run walks all summaries, with a day of slack: runs are made meanwhile.
 */
async function* history(asked: Asked, dagu: Dagu, { window }: Slice): Pages {
  const { workflow, given, signal } = asked;
  const isBackfill = window?.to !== undefined;
  const [begin, end] = isBackfill ? [window.from, window.to] : [];
  const from = Math.max(1, Math.floor((begin?.getTime() ?? 0) / 1000));
  const to = Math.ceil((end?.getTime() ?? given.clock.getTime() + days(1)) / 1000);
  const since = isBackfill ? '' : new Date(given.clock.getTime() - recent).toISOString();
  const isWanted = await filterOf(asked);
  const active = isBackfill ? [] : (await activeRuns(given)).filter(({ dag_name }) => isWanted(dag_name));
  const shown = new Set<string>();
  let failure: TidemarkError | undefined;
  let count = 0;
  const detail = async (run: Run, until: AbortSignal) => {
    const found = await confirmed(() => readWithLogs(dagu, run.dag, run.id, until));
    if (found !== undefined) return found;
    throw new Missing('the engine lists the run and answers 404 for it', 404);
  };
  for await (const part of historyOf(dagu, { from, to }, signal)) {
    const listed = part.filter(({ dag }) => isWanted(dag));
    const rows = await rowsOf(given, listed);
    const others = listed.filter((run) => {
      const kept = keyed(run, rows(run));
      const row = rows(run).find(({ dag_run_id }) => dag_run_id === kept.id);
      const isSame = row !== undefined && (beganAt(run) ?? since) < since && !differs(run, row);
      if (isSame) shown.add(keyOf(kept));
      return !isSame;
    });
    const ask = async (run: Run, until: AbortSignal) => ({
      ...{ run, found: await attempt(keyOf(run), detail(run, until)) },
    });
    for await (const { run, found } of mapConcurrent(others, workflow.concurrency, ask, signal)) {
      const isFailed = found instanceof TidemarkError;
      if (isFailed) failure ??= found;
      // A summary may not say when its run was made, so which of several runs of one id it is.
      const read = keyed(isFailed ? run : found.run, rows(run));
      shown.add(keyOf(read));
      if (!isFailed) yield pageOf([read], found.answer);
      count += 1;
    }
  }
  for (const row of active.filter((one) => !shown.has(`${one.dag_name}/${one.dag_run_id}`))) {
    yield await unlisted(asked, dagu, row);
    count += 1;
  }
  if (failure !== undefined) throw failure;
  return endOf(count);
}

/** A run that was active and is not in the list is asked for by its id before it counts as lost. */
const unlisted = async (asked: Asked, dagu: Dagu, row: RunRow): Promise<Page> => {
  const { dag_name: dag = '', told_run_id: id = '' } = row;
  const found = id === '' ? undefined : await readWithLogs(dagu, dag, id, asked.signal);
  const run = found && keyed(found.run, (await rowsOf(asked.given, [found.run]))(found.run));
  return run?.id === row.dag_run_id ? pageOf([run], found?.answer) : lostPage(asked, row);
};

/** Whether a summary says something else than the row, or that the run is not over. */
const differs = ({ values }: Run, row: RunRow): boolean =>
  !isOver(values.state) ||
  row.gone_at !== undefined ||
  row.status !== values.status ||
  row.started_at !== instantText(values.started_at) ||
  row.finished_at !== instantText(values.finished_at);
