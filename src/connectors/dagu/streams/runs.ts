/** The executions of DAGs: Dagu's history, or the current execution of an engine of the contract. */

import { Missing, UnexpectedContent } from '../../../core/errors.ts';
import type { Page, WalkEnd } from '../../../core/paging.ts';
import { isObject } from '../../../core/record-object.ts';
import { isOver } from '../../../core/run-states.ts';
import type { ReadSide, Slice, SliceContext } from '../../../core/stream.ts';
import { days, parseInstant } from '../../../core/time.ts';
import { mapConcurrent } from '../../../reading/map-concurrent.ts';
import { textAt } from '../../../reading/offset-list.ts';
import { confirmed, endOf, firstOf, pageOf, readingOf, sendOptional, type Workflow } from '../client.ts';
import { statusRequest } from '../dialect.ts';
import type { Run } from '../fields.ts';
import * as fields from '../fields.ts';
import { allUntil, type Dagu, historyOf, readRun, type Span, withLogs } from '../history.ts';
import { activeRuns, hasActiveRun, keyed, lostRun, type RunRow, rowsOf } from '../stored-runs.ts';

export const runs = (workflow: Workflow): ReadSide => ({
  by: 'changes',
  name: 'dag_runs',
  about:
    'Executions of DAGs with their steps. Dagu: the whole history, in detail where something changed. The contract: the current execution; where it names only the steps that run now, others stay as they were read last.',
  endpoint:
    'GET /api/v1/dags/{dag}/status; GET …/dag-runs/{name}, …/dag-runs/{name}/{id} and the logs of failed steps',
  after: ['dags'],
  partitions: { table: 'workflow.dags', columns: { dag_name: 'name' }, where: dagsToRead(workflow.dags) },
  windows: {
    scope: 'all runs',
    count: async () => undefined,
    changes: async () => 'created',
    instant: (record) => {
      const began = isObject(record) ? fields.beganAt(record as unknown as Run) : undefined;
      return began === undefined ? undefined : parseInstant(began);
    },
  },
  async read(slice, given, signal) {
    const { dialect } = await workflow.found(signal);
    const dag = slice.partition?.dag_name ?? '';
    const asked = { workflow, dag, given, signal };
    const pages =
      dialect === 'contract' ? current(asked) : history(asked, { http: workflow.http, dialect }, slice);
    // Runs of two DAGs may have one id.
    return readingOf(pages, (run) => (textAt(run, 'id') ? `${textAt(run, 'dag')}/${textAt(run, 'id')}` : ''));
  },
});

/** A deleted DAG with a file may have a history; without one it is read while a run of it was active. */
const dagsToRead = (wanted: readonly string[]): string => {
  const readable = `(_deleted_at is null or file_name is not null or ${hasActiveRun})`;
  if (wanted.length === 0) return readable;
  const names = wanted.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ');
  return `${readable} and (name in (${names}) or file_name in (${names}))`;
};

interface Asked {
  readonly workflow: Workflow;
  readonly dag: string;
  readonly given: SliceContext;
  readonly signal: AbortSignal;
}

/**
 * The current execution by the status of a DAG; other runs that were active are lost. A run without an id and a start is
 * noted: it may be one that was active, so none is lost then. Throws `Missing` for an unknown DAG without active runs.
 */
async function* current(asked: Asked): AsyncGenerator<Page, WalkEnd, void> {
  const { workflow, dag, given, signal } = asked;
  const answer = await confirmed(() => sendOptional(workflow.http, statusRequest(dag), signal));
  const active = await activeRuns(given, dag);
  if (answer === undefined && active.length === 0)
    throw new Missing(`${workflow.http.origin} has no status of the DAG ${dag}`, 404);
  const found = answer && fields.currentRun(answer.body, dag);
  const { word, state } = found === undefined ? { state: 'idle' } : fields.stateOf(found);
  if (found?.id === '' && state !== 'idle') {
    workflow.note(
      `${dag}: the engine says ${JSON.stringify(word?.slice(0, 60))} and gives neither an id nor a start of the run: it has no row`,
    );
    return endOf(0, 0);
  }
  const run = found?.id ? keyed(found, (await rowsOf(given, [found]))(found), given.clock) : undefined;
  if (run !== undefined) yield pageOf(run, answer);
  const lost = active.filter(({ dag_run_id: id }) => id !== run?.id);
  for (const row of lost) yield* lostPage(asked, row);
  const count = lost.length + (run === undefined ? 0 : 1);
  return endOf(count, count);
}

/** A run that had not ended and that the engine no longer shows, written once more with `gone_at`. */
async function* lostPage(
  { workflow, given, dag }: Asked,
  { dag_run_id: id = '' }: RunRow,
): AsyncGenerator<Page, void, void> {
  const run = await lostRun(given, dag, id);
  if (run === undefined) return;
  workflow.note(
    `${dag}: the engine no longer shows the run ${id}, which had not ended when it was last read`,
  );
  yield pageOf(run);
}

/** Runs as recent as this are read in detail whatever their summary says: it says nothing of the steps. */
const recent = days(3);

/** What to read of a history. A backfill reads its window in detail; every other run walks all summaries. */
const spanOf = ({ window }: Slice, clock: Date) => {
  if (window?.to === undefined)
    return {
      span: allUntil(clock),
      since: new Date(clock.getTime() - recent).toISOString(),
      isBackfill: false,
    };
  const from = Math.max(1, Math.floor((window.from?.getTime() ?? 0) / 1000));
  return { span: { from, to: Math.ceil(window.to.getTime() / 1000) }, since: '', isBackfill: true };
};

/** The history of a DAG: summaries of its runs, and the details of those that are new, recent, changed or not over. */
async function* history(asked: Asked, dagu: Dagu, slice: Slice): AsyncGenerator<Page, WalkEnd, void> {
  const { workflow, dag, given, signal } = asked;
  const { span, since, isBackfill } = spanOf(slice, given.clock);
  const shown = new Set<string | undefined>();
  const unknown: string[] = [];
  let fetched = 0;
  const detail = async (run: Run, until: AbortSignal) => ({
    run,
    found: await confirmed(() => readDetails(dagu, dag, run.id, until)),
  });
  for await (const part of partsOf(asked, dagu, span, isBackfill)) {
    const rows = await rowsOf(given, part);
    const wanted = part.filter((run) => {
      const { id } = keyed(run, rows(run));
      const row = rows(run).find(({ dag_run_id }) => dag_run_id === id);
      const isSame = row !== undefined && (fields.beganAt(run) ?? since) < since && !differs(run, row);
      if (isSame) shown.add(id);
      return !isSame;
    });
    for await (const { run, found } of mapConcurrent(wanted, workflow.concurrency, detail, signal)) {
      // A summary may not say when its run was made, so which of several runs of one id it is.
      const read = keyed(found?.run ?? run, rows(run));
      shown.add(read.id);
      fetched += found === undefined ? 0 : 1;
      if (found === undefined) unknown.push(run.id);
      else yield pageOf(read, found.answer);
    }
  }
  if (unknown.length > 0)
    workflow.note(`${dag}: the engine lists runs and answers 404 for each: ${firstOf(unknown)}`);
  // A run that was active and is no longer listed is asked for by its id before it counts as lost.
  const unseen = isBackfill ? [] : await activeRuns(given, dag);
  for (const row of unseen.filter(({ dag_run_id }) => !shown.has(dag_run_id))) {
    const id = row.told_run_id;
    const found = id === undefined ? undefined : await readDetails(dagu, dag, id, signal);
    const run = found && keyed(found.run, (await rowsOf(given, [found.run]))(found.run));
    if (run?.id === row.dag_run_id) yield pageOf(run, found?.answer);
    else yield* lostPage(asked, row);
    fetched += 1;
  }
  return endOf(fetched + unknown.length, fetched);
}

/** Throws `UnexpectedContent` where the engine lists the DAG with a run, and shows none in its history. */
async function* partsOf({ dag, given, signal }: Asked, dagu: Dagu, span: Span, isBackfill: boolean) {
  let isEmpty = true;
  try {
    for await (const part of historyOf(dagu, dag, span, signal)) {
      isEmpty &&= part.length === 0;
      yield part;
    }
  } catch (cause) {
    if (!(cause instanceof Missing) || !isEmpty) throw cause;
  }
  if (isBackfill || !isEmpty) return;
  const where = '_deleted_at is null and file_name is not null and latest_dag_run_id is not null';
  const columns = { name: 'name' };
  const rows = await given.keys({ table: 'workflow.dags', columns, of: { name: dag }, where });
  if (rows.length > 0)
    throw new UnexpectedContent(`the engine lists ${dag} with a run, and its history shows none`);
}

/** One run with its steps and the logs of failed ones; undefined where the engine does not know it. */
const readDetails = async (dagu: Dagu, dag: string, id: string, signal: AbortSignal) => {
  const found = await readRun(dagu, dag, id, signal);
  return found && { ...found, run: await withLogs(dagu, found.run, signal) };
};

/** Whether a summary says something else than the row, or that the run is not over. */
const differs = (run: Run, row: RunRow): boolean => {
  const { word, state } = fields.stateOf(run);
  return (
    !isOver(state) ||
    row.gone_at !== undefined ||
    row.status !== (word ?? undefined) ||
    row.started_at !== fields.startOf(run) ||
    row.finished_at !== fields.instantText(fields.memberOf(run.members, fields.runNames, 'finished_at'))
  );
};
