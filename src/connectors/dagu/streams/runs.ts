/** The executions of DAGs: a history where the engine has one, else what is current. */

import { Missing, UnexpectedContent } from '../../../core/errors.ts';
import { plural } from '../../../core/format.ts';
import type { Page, WalkEnd } from '../../../core/paging.ts';
import type { Answer, Json } from '../../../core/request.ts';
import { isOver, standingOf } from '../../../core/run-states.ts';
import type { Slice, SliceContext, Stream } from '../../../core/stream.ts';
import { days, type Instant, parseInstant } from '../../../core/time.ts';
import { several } from '../../../reading/map-concurrent.ts';
import { at, idBy, textAt } from '../../../reading/offset-list.ts';
import { endOf, madeReading, pageOf, type Workflow } from '../dagu.ts';
import { type History, statusRequest } from '../dialect.ts';
import { isObject } from '../json-members.ts';
import { hasActiveRun, type Known, known, knownAs, lost, stillActive } from '../known-runs.ts';
import { beganAt, mustBeOf, type Part, partsOf, type Span } from '../listing.ts';
import { withLogs } from '../logs.ts';
import { instantText, payloadOf, runIn, type ToldRun, wordOfUnkeyed } from '../normalize.ts';
import { askRun } from '../one-run.ts';

export const dagRuns = (workflow: Workflow): Stream => ({
  name: 'dag_runs',
  about:
    'Executions of DAGs with their steps. An engine with a history is read whole, run by run where something changed; of one without, what is current; where it names only the steps that run now, others stay as they were told last.',
  endpoint:
    'GET /api/v1/dags/{dag}/status; GET …/dag-runs/{name}, …/dag-runs/{name}/{id} and the logs of failed steps',
  promised: true,
  after: ['dags'],
  parents: { table: 'workflow.dags', columns: { dag_name: 'name' }, where: dagsToRead(workflow.dags) },
  windows: {
    scope: 'all runs',
    count: async () => undefined,
    changes: async () => 'created',
    instant: (record) => (isObject(record) ? instantIn(record) : undefined),
  },
  async read(slice, given, signal) {
    const dag = slice.partition?.dag_name;
    if (dag === undefined) throw new Error('a slice of runs names the DAG');
    const { dialect } = await workflow.found(signal);
    const pages =
      dialect.kind === 'history'
        ? past({ workflow, history: dialect, dag, slice, given, signal })
        : present({ workflow, dag, given, signal });
    return madeReading(pages, nameOf);
  },
});

/** Runs of two DAGs may have one id, above all where it was made from their start. */
const nameOf = (record: Json): string => {
  const id = idOf(record);
  return id === '' ? '' : `${textAt(record, 'dag') ?? ''}/${id}`;
};
const idOf = idBy('id');

/** A DAG that is gone may still have a history; a status it has not, but a run of it that was active must not stay so. */
const dagsToRead = (wanted: readonly string[]): string => {
  const alive = `(_deleted_at is null or file_name is not null or ${hasActiveRun})`;
  if (wanted.length === 0) return alive;
  const names = wanted.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ');
  return `${alive} and (name in (${names}) or file_name in (${names}))`;
};

const instantIn = (record: object): Instant | undefined => {
  const run = at(record, 'run');
  const text =
    textAt(record, 'begun') ?? instantText(at(run, 'queuedAt')) ?? instantText(at(run, 'startedAt'));
  return text === undefined ? undefined : parseInstant(text);
};

interface Asked {
  readonly workflow: Workflow;
  readonly dag: string;
  readonly given: SliceContext;
  readonly signal: AbortSignal;
}

/**
 * What the status tells; nothing where it tells of no execution. A word that cannot be laid to any run is noted: it may well be about one that
 * is active here, which is therefore not gone. Throws `Missing` where the engine neither knows nor lists the DAG and no run of it is
 * active here.
 */
async function* present({ workflow, dag, given, signal }: Asked): AsyncGenerator<Page, WalkEnd, void> {
  const heard = workflow.heard.get(dag);
  const answer = heard ?? (await status(workflow, dag, signal));
  workflow.heard.delete(dag);
  if (answer instanceof Missing) {
    const lasting = await stillActive(given, dag);
    if (lasting.length === 0 && heard === undefined) throw answer;
    for (const { id } of lasting) yield* goodbye(workflow, given, dag, id);
    return endOf(lasting.length, lasting.length);
  }
  const payload = payloadOf(answer.body);
  if (payload === undefined) throw new UnexpectedContent(`the status of ${dag} is no object`);
  const told = runIn(payload, dag, 'start');
  const current = told && knownAs(told, await known(given, dag, [told.id]), given.clock);
  if (current !== undefined) yield pageOf(current, answer);
  const word = current === undefined ? wordOfUnkeyed(payload) : undefined;
  if (word !== undefined) {
    const said = JSON.stringify(word.slice(0, 60));
    workflow.note(
      `${dag}: the engine says ${said} and tells neither an id nor a start of the run that could be read: it cannot be told from others, and has no row`,
    );
    return endOf(0, 0);
  }
  let gone = 0;
  for (const { id } of await stillActive(given, dag)) {
    if (id === current?.id) continue;
    gone += 1;
    yield* goodbye(workflow, given, dag, id);
  }
  const all = gone + (current === undefined ? 0 : 1);
  return endOf(all, all);
}

const status = async ({ http }: Workflow, dag: string, signal: AbortSignal): Promise<Answer | Missing> => {
  try {
    return await http.send(statusRequest(dag), signal);
  } catch (cause) {
    if (cause instanceof Missing) return cause;
    throw cause;
  }
};

/** The row of a run that had not ended and that the engine no longer tells of: its end will never be known. */
async function* goodbye(
  { note }: Workflow,
  given: SliceContext,
  dag: string,
  id: string,
): AsyncGenerator<Page, void, void> {
  const row = await lost(given, dag, id);
  if (row === undefined) return;
  note(`${dag}: the engine no longer tells of the run ${id}, which had not ended when it was last read`);
  const raw = Buffer.from(JSON.stringify(row));
  yield pageOf(row, { raw, date: undefined, receivedAt: performance.now() });
}

interface AskedPast extends Asked {
  readonly history: History;
  readonly slice: Slice;
}

/** Runs made so recently are read again whatever their summary says: it tells nothing of the steps. */
const recent = days(3);

/**
 * The whole history by its summaries; in detail what is not known here as it is told there, what is recent, what is not over, and in a full
 * walk everything. A backfill keeps to its window. A run that was active and that the engine no longer knows is told once, as gone. One that it lists and
 * does not know is lacking, and the walk is not complete.
 */
async function* past(asked: AskedPast): AsyncGenerator<Page, WalkEnd, void> {
  const { workflow, dag, slice, given, signal } = asked;
  const isBackfill = slice.window?.to !== undefined;
  const from = slice.window?.from?.getTime() ?? 0;
  const anew = Math.min(from, given.clock.getTime() - recent);
  const span: Span = isBackfill
    ? { from: Math.max(1, Math.floor(from / 1000)), to: Math.ceil((slice.window?.to?.getTime() ?? 0) / 1000) }
    : // 0 would mean today.
      { from: 1, to: undefined };
  const keys = new Set<string>();
  let expected = 0;
  let fetched = 0;
  const unknown = new Set<string>();
  let whole = true;
  // It is in the history: that there is no such run is asked twice.
  const detail = async (told: ToldRun, until: AbortSignal) => ({
    told,
    one: (await detailed(asked, told.id, until)) ?? (await detailed(asked, told.id, until)),
  });
  for await (const part of historyOf(asked, span)) {
    const { rows, wanted, unchanged } = await choose(
      given,
      part,
      dag,
      (told) => isBackfill || isSince(told, anew),
    );
    for (const { id } of unchanged) keys.add(id);
    whole &&= part.whole;
    expected += wanted.length;
    for await (const { told, one } of several(wanted, workflow.concurrency, detail, signal)) {
      // A summary may not tell when its run was made, and then not which of several runs of one id it is.
      const same = knownAs(one?.told ?? told, rows);
      keys.add(same.id);
      if (one === undefined) unknown.add(told.id);
      else {
        fetched += 1;
        yield pageOf(same, one.answer);
      }
    }
  }
  const listed = await stillListed(asked, span, unknown);
  const gone = unknown.size - listed.length;
  if (gone > 0)
    workflow.note(`${dag}: ${plural(gone, 'run was', 'runs were')} in the history and gone when asked for`);
  if (listed.length > 0)
    workflow.note(
      `${dag}: the engine lists ${plural(listed.length, 'run')} of which it says that it knows nothing: ${some(listed)}`,
    );
  if (!whole) workflow.note(`${dag}: the engine cuts its list even of a single second; runs may be missing`);
  for (const { id, told } of isBackfill ? [] : await stillActive(given, dag)) {
    if (keys.has(id)) continue;
    const one = told === undefined ? undefined : await detailed(asked, told, signal);
    const same = one && knownAs(one.told, await known(given, dag, [one.told.id]));
    expected += 1;
    fetched += 1;
    if (one !== undefined && same?.id === id) yield pageOf(same, one.answer);
    else yield* goodbye(workflow, given, dag, id);
  }
  return endOf(expected - gone, fetched, whole && listed.length === 0);
}

/** Those of the runs that the engine did not know when they were asked for which its history shows all the same: they are not gone. */
const stillListed = async (
  { workflow, history, dag, signal }: AskedPast,
  span: Span,
  unknown: ReadonlySet<string>,
): Promise<readonly string[]> => {
  const listed = new Set<string>();
  if (unknown.size === 0) return [];
  try {
    for await (const { runs } of partsOf(workflow, history, dag, span, signal))
      for (const { id } of runs) if (unknown.has(id)) listed.add(id);
  } catch (cause) {
    if (!(cause instanceof Missing)) throw cause;
  }
  return [...listed];
};

const some = (ids: readonly string[]): string =>
  `${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ` and ${ids.length - 5} more` : ''}`;

/**
 * The parts of it. Throws `UnexpectedContent` where the engine shows the DAG in its list with a run, and of its whole history none, or that it knows
 * nothing of it.
 */
async function* historyOf(
  { workflow, history, dag, slice, given, signal }: AskedPast,
  span: Span,
): AsyncGenerator<Part, void, void> {
  let isEmpty = true;
  let unknown: Missing | undefined;
  try {
    for await (const part of partsOf(workflow, history, dag, span, signal)) {
      isEmpty &&= part.runs.length === 0;
      yield part;
    }
  } catch (cause) {
    if (!(cause instanceof Missing)) throw cause;
    unknown = cause;
  }
  const isWhole = slice.window?.to === undefined;
  if (unknown === undefined && !(isEmpty && isWhole)) return;
  const where = '_deleted_at is null and file_name is not null and latest_dag_run_id is not null';
  const [row] = await given.keys({
    table: 'workflow.dags',
    columns: { name: 'name' },
    of: { name: dag },
    where,
  });
  if (row !== undefined) {
    const said = unknown === undefined ? 'its history is empty' : unknown.message;
    throw new UnexpectedContent(`the engine lists ${dag} with a run, and not its runs: ${said}`, {
      cause: unknown,
    });
  }
  if (unknown !== undefined) throw unknown;
}

const isSince = (told: ToldRun, sinceMs: number): boolean => {
  const began = beganAt(told);
  return began === undefined || parseInstant(began) >= BigInt(sinceMs) * 1000n;
};

interface Chosen {
  readonly rows: readonly Known[];
  readonly wanted: readonly ToldRun[];
  readonly unchanged: readonly Known[];
}

/** The runs of a part to read in detail, with what is known of them here, and the rows of those that need not be. */
const choose = async (
  given: SliceContext,
  { runs }: Part,
  dag: string,
  anew: (told: ToldRun) => boolean,
): Promise<Chosen> => {
  const rows = await known(
    given,
    dag,
    runs.map(({ id }) => id),
  );
  const byId = new Map(rows.map((row) => [row.told, row]));
  const wanted = runs.filter((told) => anew(told) || differs(told, byId.get(told.id)));
  const isWanted = new Set(wanted);
  return {
    rows,
    wanted,
    unchanged: runs.flatMap((told) => (isWanted.has(told) ? [] : (byId.get(told.id) ?? []))),
  };
};

const differs = ({ run }: ToldRun, row: Known | undefined): boolean => {
  const { status, label, startedAt, finishedAt } = run;
  const standing = standingOf('run', {
    label: typeof label === 'string' ? label : undefined,
    code: typeof status === 'number' ? status : undefined,
  });
  return (
    row === undefined ||
    !isOver(standing.state) ||
    row.gone ||
    row.status !== (standing.word ?? undefined) ||
    row.started !== instantText(startedAt) ||
    row.finished !== instantText(finishedAt)
  );
};

interface Detailed {
  readonly told: ToldRun;
  readonly answer: Answer;
}

/** One run with its steps and the logs of those that failed; undefined where the engine does not know it. */
const detailed = async (
  { workflow, history, dag }: AskedPast,
  id: string,
  signal: AbortSignal,
): Promise<Detailed | undefined> => {
  const { http } = workflow;
  const found = await askRun(http, history, dag, id, signal);
  if (found !== undefined) mustBeOf(dag, found.told);
  return found && { ...found, told: await withLogs(http, history.prefix, found.told, id, signal) };
};
