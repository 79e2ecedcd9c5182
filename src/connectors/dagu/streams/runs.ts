/** The executions of DAGs: Dagu's history, or the current execution of an engine of the contract. */

import { Missing, UnexpectedContent } from '../../../core/errors.ts';
import { plural } from '../../../core/format.ts';
import type { Page, WalkEnd } from '../../../core/paging.ts';
import { isObject } from '../../../core/record-object.ts';
import type { Answer } from '../../../core/request.ts';
import { isOver } from '../../../core/run-states.ts';
import type { Slice, SliceContext, Stream } from '../../../core/stream.ts';
import { days, parseInstant } from '../../../core/time.ts';
import { several } from '../../../reading/map-concurrent.ts';
import { at, textAt } from '../../../reading/offset-list.ts';
import { confirmed, endOf, ifThere, pageOf, readingOf, some, type Workflow } from '../client.ts';
import { allUntil, askRun, type Dagu, historyOf, type Part, type Span, withLogs } from '../dagu.ts';
import { statusRequest } from '../dialect.ts';
import { activeRuns, existing, hasActiveRun, keyed, lostRun, type RunRow } from '../existing-runs.ts';
import { beganAt, currentRun, instantText, type Run, standingIn } from '../fields.ts';

export const runs = (workflow: Workflow): Stream => ({
  name: 'dag_runs',
  about:
    'Executions of DAGs with their steps. Dagu: the whole history, in detail where something changed. The contract: the current execution; where it names only the steps that run now, others stay as they were read last.',
  endpoint:
    'GET /api/v1/dags/{dag}/status; GET …/dag-runs/{name}, …/dag-runs/{name}/{id} and the logs of failed steps',
  promised: true,
  after: ['dags'],
  parents: { table: 'workflow.dags', columns: { dag_name: 'name' }, where: dagsToRead(workflow.dags) },
  windows: {
    scope: 'all runs',
    count: async () => undefined,
    changes: async () => 'created',
    instant: (record) => {
      const known = at(record, 'known');
      const began = isObject(known) ? beganAt({ known }) : undefined;
      return began === undefined ? undefined : parseInstant(began);
    },
  },
  async read(slice, given, signal) {
    const dag = slice.partition?.dag_name;
    if (dag === undefined) throw new Error('a slice of dag_runs needs the name of a DAG');
    const { dialect } = await workflow.found(signal);
    const asked = { workflow, dag, given, signal };
    return readingOf(
      dialect === 'contract'
        ? current(asked)
        : new History(asked, { http: workflow.http, dialect }, slice).read(),
      // Runs of two DAGs may have one id.
      (record) => (textAt(record, 'id') ? `${textAt(record, 'dag')}/${textAt(record, 'id')}` : ''),
    );
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
 * The current execution by the status of a DAG; other runs that were active are lost. A status of a run without an id and a
 * start is noted: it may be about one that was active, so none is lost then. Throws `Missing` for an unknown DAG without
 * active runs.
 */
async function* current(asked: Asked): AsyncGenerator<Page, WalkEnd, void> {
  const { workflow, dag, given, signal } = asked;
  const answer = await confirmed(() => ifThere(workflow.http, statusRequest(dag), signal));
  const active = await activeRuns(given, dag);
  if (answer === undefined && active.length === 0)
    throw new Missing(`${workflow.http.origin} has no status of the DAG ${dag}`, 404);
  const found = answer && currentRun(answer.body, dag);
  if (answer !== undefined && found === undefined)
    throw new UnexpectedContent(`the status of ${dag} has no word for its state`);
  const { word, state } = standingIn(found?.known ?? {}, 'run');
  if (found?.id === '' && state !== 'idle') {
    const said = JSON.stringify(word?.slice(0, 60));
    workflow.note(
      `${dag}: the engine says ${said} and gives neither an id nor a start of the run: it has no row`,
    );
    return endOf(0, 0);
  }
  const run = found?.id ? keyed(found, await existing(given, dag, [found.id]), given.clock) : undefined;
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

/** One reading of the history of a DAG. A backfill keeps to its window; every other run walks all summaries. */
class History {
  readonly #asked: Asked;
  readonly #dagu: Dagu;
  readonly #isBackfill: boolean;
  readonly #span: Span;
  /** Milliseconds since 1970: runs made since then are read in detail. */
  readonly #detailSince: number;
  /** Keys of the rows that the history shows. */
  readonly #shown = new Set<string>();
  /** Ids that the list has and a request by id does not know. */
  readonly #unknown = new Set<string>();
  #fetched = 0;
  #whole = true;

  constructor(asked: Asked, dagu: Dagu, { window }: Slice) {
    const from = window?.from?.getTime() ?? 0;
    this.#asked = asked;
    this.#dagu = dagu;
    this.#isBackfill = window?.to !== undefined;
    this.#span =
      window?.to === undefined
        ? allUntil(asked.given.clock)
        : { from: Math.max(1, Math.floor(from / 1000)), to: Math.ceil(window.to.getTime() / 1000) };
    this.#detailSince = this.#isBackfill ? 0 : Math.min(from, asked.given.clock.getTime() - recent);
  }

  async *read(): AsyncGenerator<Page, WalkEnd, void> {
    const { workflow, dag } = this.#asked;
    for await (const part of this.#parts()) yield* this.#details(part);
    const lacking = await this.#stillListed();
    const gone = this.#unknown.size - lacking.length;
    if (gone > 0)
      workflow.note(`${dag}: ${plural(gone, 'run was', 'runs were')} in the history and gone when asked for`);
    if (lacking.length > 0)
      workflow.note(
        `${dag}: the engine lists ${plural(lacking.length, 'run')} and answers 404 for each: ${some(lacking)}`,
      );
    if (!this.#whole)
      workflow.note(`${dag}: the engine cuts its list even of a single second; runs may be missing`);
    if (!this.#isBackfill) yield* this.#lost();
    const expected = this.#fetched + lacking.length;
    return endOf(expected, this.#fetched, this.#whole && lacking.length === 0);
  }

  /** Throws `UnexpectedContent` where the engine lists the DAG with a run and shows no history of it. */
  async *#parts(): AsyncGenerator<Part, void, void> {
    const { dag, given, signal } = this.#asked;
    let isEmpty = true;
    let missing: Missing | undefined;
    try {
      for await (const part of historyOf(this.#dagu, dag, this.#span, signal)) {
        isEmpty &&= part.runs.length === 0;
        this.#whole &&= part.whole;
        yield part;
      }
    } catch (cause) {
      if (!(cause instanceof Missing)) throw cause;
      missing = cause;
    }
    if (missing === undefined && (!isEmpty || this.#isBackfill)) return;
    const where = '_deleted_at is null and file_name is not null and latest_dag_run_id is not null';
    const columns = { name: 'name' };
    const rows = await given.keys({ table: 'workflow.dags', columns, of: { name: dag }, where });
    const why = missing?.message ?? 'its history is empty';
    if (rows.length > 0)
      throw new UnexpectedContent(`the engine lists ${dag} with a run, and not its runs: ${why}`, {
        cause: missing,
      });
    if (missing !== undefined) throw missing;
  }

  /** The runs of a part that have to be read in detail. */
  async *#details({ runs: listed }: Part): AsyncGenerator<Page, void, void> {
    const { workflow, dag, given, signal } = this.#asked;
    const ids = listed.map(({ id }) => id);
    const rows = await existing(given, dag, ids);
    const byId = new Map(rows.map((row) => [row.told_run_id, row]));
    const wanted: Run[] = [];
    for (const run of listed) {
      const row = byId.get(run.id);
      if (row === undefined || this.#isSince(run) || differs(run, row)) wanted.push(run);
      else this.#shown.add(row.dag_run_id ?? '');
    }
    const ask = async (listed: Run, until: AbortSignal) => ({
      listed,
      found: await confirmed(() => this.#detail(listed.id, until)),
    });
    for await (const one of several(wanted, workflow.concurrency, ask, signal)) {
      // A summary may not say when its run was made, so which of several runs of one id it is.
      const run = keyed(one.found?.run ?? one.listed, rows);
      this.#shown.add(run.id);
      if (one.found === undefined) this.#unknown.add(one.listed.id);
      else yield this.#page(run, one.found.answer);
    }
  }

  #isSince(run: Run): boolean {
    const began = beganAt(run);
    return began === undefined || parseInstant(began) >= BigInt(this.#detailSince) * 1000n;
  }

  /** One run with its steps and the logs of failed ones; undefined where the engine does not know it. */
  async #detail(id: string, signal: AbortSignal): Promise<{ run: Run; answer: Answer } | undefined> {
    const found = await askRun(this.#dagu, this.#asked.dag, id, signal);
    return found && { ...found, run: await withLogs(this.#dagu, found.run, signal) };
  }

  #page(run: Run, answer: Answer): Page {
    this.#fetched += 1;
    return pageOf(run, answer);
  }

  /** Ids that the engine did not know although its list still has them: such runs must not pass for gone. */
  async #stillListed(): Promise<readonly string[]> {
    const { dag, signal } = this.#asked;
    const listed = new Set<string>();
    if (this.#unknown.size === 0) return [];
    for await (const part of historyOf(this.#dagu, dag, this.#span, signal))
      for (const { id } of part.runs) if (this.#unknown.has(id)) listed.add(id);
    return [...listed];
  }

  /** Runs that were active and that the history no longer shows: asked for by id, else lost. */
  async *#lost(): AsyncGenerator<Page, void, void> {
    const { given, dag, signal } = this.#asked;
    for (const row of await activeRuns(given, dag)) {
      const { dag_run_id: key = '', told_run_id: id } = row;
      if (this.#shown.has(key)) continue;
      const found = id === undefined ? undefined : await this.#detail(id, signal);
      const run = found && keyed(found.run, await existing(given, dag, [found.run.id]));
      if (found !== undefined && run?.id === key) yield this.#page(run, found.answer);
      else
        for await (const page of lostPage(this.#asked, row)) {
          this.#fetched += 1;
          yield page;
        }
    }
  }
}

/** Whether a summary says something else than the row, or that the run is not over. */
const differs = ({ known }: Run, row: RunRow): boolean => {
  const { word, state } = standingIn(known, 'run');
  return (
    !isOver(state) ||
    row.gone_at !== undefined ||
    row.status !== (word ?? undefined) ||
    row.started_at !== instantText(known.started_at) ||
    row.finished_at !== instantText(known.finished_at)
  );
};
