/** The DAGs of the engine. */

import { Missing, Refused, Transient, UnexpectedContent } from '../../../core/errors.ts';
import type { Page, Paging, WalkEnd } from '../../../core/paging.ts';
import type { Answer, Json } from '../../../core/request.ts';
import type { SliceContext, Stream } from '../../../core/stream.ts';
import { several } from '../../../reading/map-concurrent.ts';
import { at, idBy } from '../../../reading/offset-list.ts';
import { pages } from '../../../reading/pages.ts';
import { allListed } from '../dag-catalogue.ts';
import { endOf, madeReading, pageOf, type Workflow } from '../dagu.ts';
import { type History, isIll, isOfOneDag, listRequest, namesIn, statusRequest } from '../dialect.ts';
import { type JsonObject, textOf } from '../json-members.ts';
import { withKey, withKeys } from '../known-runs.ts';
import { partsOf } from '../listing.ts';
import { dagInList, dagInStatus, newestRun, payloadOf, refusalIn } from '../normalize.ts';

export const dags = (workflow: Workflow): Stream => ({
  name: 'dags',
  about:
    'DAGs: those the engine lists and those that have runs without being in its list, or those named in WORKFLOW_DAGS.',
  endpoint: 'GET /api/v1/dags, GET …/dag-runs, GET /api/v1/dags/{dag}/status',
  promised: true,
  async read(_, given, signal) {
    const { dialect } = await workflow.found(signal);
    const reading =
      dialect.kind === 'history' ? listed(workflow, dialect, given, signal) : asked(workflow, given, signal);
    return madeReading(reading, idBy('name'));
  },
});

/** `{pagination: {currentPage, totalPages, nextPage, totalRecords}}` beside the list; 1 follows 1 at its end (measured on 1.30.2). */
const byPage: Paging = {
  next(body, sent) {
    const pagination = at(body, 'pagination');
    const current = at(pagination, 'currentPage');
    const last = at(pagination, 'totalPages');
    if (typeof current !== 'number' || typeof last !== 'number')
      throw new UnexpectedContent(`${sent.endpoint}: the answer does not say how many pages there are`);
    if (current >= last) return undefined;
    return { request: { ...sent, query: { ...sent.query, page: current + 1 } }, overlap: 0 };
  },
  total(body) {
    const total = at(at(body, 'pagination'), 'totalRecords');
    return typeof total === 'number' ? total : undefined;
  },
  numbered: true,
};

const nameIn = idBy('name');

/**
 * The vendor's list, less what WORKFLOW_DAGS does not name. A file that the engine cannot read is in the list's `errors` alone (measured on
 * 1.30.2: a file that is empty while an editor or a deployment writes it): its DAG is not gone. Throws `Missing` where none that is named is
 * in the list.
 */
async function* listed(
  workflow: Workflow,
  history: History,
  given: SliceContext,
  signal: AbortSignal,
): AsyncGenerator<Page, WalkEnd, void> {
  const { http, dags: wanted, note } = workflow;
  const { prefix } = history;
  const first = listRequest(prefix);
  // An empty list is null.
  const unread = new Set<string>();
  const list = (body: Json): readonly Json[] => {
    const errors = at(body, 'errors');
    for (const error of Array.isArray(errors) ? errors : [])
      unread.add(textOf(error) ?? 'an error without words');
    return at(body, 'dags') === null ? [] : (namesIn(body) ?? noList(prefix));
  };
  const found = new Set<string>();
  const files = new Map<string, string>();
  let hasRuns = false;
  const walk = pages(http, { first, paging: byPage, list, id: idBy('fileName') }, signal);
  for (;;) {
    const step = await walk.next();
    if (step.done === true) {
      let without = 0;
      for await (const dag of withoutFile(workflow, history, { files, found, given, hasRuns }, signal)) {
        without += 1;
        found.add(nameIn(dag));
        yield pageOf(dag, {
          raw: Buffer.from(JSON.stringify(dag)),
          date: undefined,
          receivedAt: performance.now(),
        });
      }
      const end = withMore(step.value, without);
      if (unread.size > 0 && (wanted.length === 0 || wanted.some((name) => !found.has(name))))
        note(unreadable(unread));
      missed(wanted, found, http.origin, note);
      const told = wanted.length > 0 ? { ...end, expected: null } : end;
      return unread.size === 0 ? told : { ...told, lacks: true };
    }
    const records: JsonObject[] = [];
    for (const element of step.value.records) {
      const dag = dagInList(element);
      if (dag === undefined) throw new UnexpectedContent(`${first.endpoint}: a DAG in the list has no name`);
      const names = [nameIn(dag), idBy('fileName')(dag)];
      if (wanted.length > 0 && !names.some((name) => wanted.includes(name))) continue;
      for (const name of names) found.add(name);
      const [name = '', file = ''] = names;
      if (files.has(name))
        note(
          `two files define a DAG ${name}: ${files.get(name)} and ${file}; the engine keeps their runs as one DAG's`,
        );
      files.set(name, file);
      hasRuns ||= textOf(at(dag.latest, 'dagRunId')) !== undefined;
      records.push(dag);
    }
    yield { ...step.value, records: await withKeys(given, records) };
  }
}

const withMore = (end: WalkEnd, more: number): WalkEnd => ({
  ...end,
  expected: end.expected === null ? null : end.expected + more,
  fetched: end.fetched + more,
});

interface Filed {
  /** Name of each DAG in the list, with that of its file. */
  readonly files: ReadonlyMap<string, string>;
  /** Names of DAGs and files that were found. */
  readonly found: ReadonlySet<string>;
  readonly given: SliceContext;
  /** The list shows a DAG with a run. */
  readonly hasRuns: boolean;
}

/**
 * DAGs that have runs and no file: run under another name or from a definition of their own (`dagName` of a start, `POST /dag-runs`), or
 * removed before they were ever read. One that was read while it had a file is no longer there; its runs are read all the same. Throws
 * `UnexpectedContent` where no run is shown, but in the list: who has runs and no file would pass for gone.
 */
async function* withoutFile(
  workflow: Workflow,
  history: History,
  { files, found, given, hasRuns }: Filed,
  signal: AbortSignal,
): AsyncGenerator<JsonObject, void, void> {
  const where = 'file_name is not null';
  const rows = await given.keys({
    table: 'workflow.dags',
    columns: { name: 'name', file: 'file_name' },
    of: {},
    where,
  });
  const known = new Set([...files.keys(), ...rows.map(({ name }) => name ?? '')]);
  const { dags: wanted } = workflow;
  const absent = wanted.filter(
    (name) => !found.has(name) && !rows.some((row) => row.name === name || row.file === name),
  );
  let whole = true;
  let isEmpty = true;
  try {
    for (const dag of wanted.length === 0 ? [undefined] : absent) {
      for await (const part of partsOf(workflow, history, dag, { from: 1, to: undefined }, signal)) {
        whole &&= part.whole;
        isEmpty &&= part.runs.length === 0;
        for (const told of part.runs) {
          const { dag: name, run } = told;
          if (known.has(name)) continue;
          known.add(name);
          // The newest run comes first.
          yield withKey(given, {
            name,
            latest: { status: run.status, label: run.label, ...newestRun(told) },
          });
        }
      }
    }
  } catch (cause) {
    if (!(cause instanceof Missing)) throw cause;
    whole = false;
  }
  if (wanted.length === 0 && whole && isEmpty && hasRuns)
    throw new UnexpectedContent(
      `${history.prefix}/dag-runs: the engine lists DAGs with runs, and shows no runs`,
    );
  if (!whole)
    workflow.note(
      'the engine does not show all runs at once: those of DAGs that are not in its list may be missing',
    );
}

const unreadable = (errors: ReadonlySet<string>): string => {
  const some = [...errors].slice(0, 5).map((error) => error.slice(0, 300));
  const more = errors.size > some.length ? `; and ${errors.size - some.length} more` : '';
  return `the engine could not read all files of its DAGs, so those that its list does not show are not taken for gone: ${some.join('; ')}${more}`;
};

const noList = (prefix: string): never => {
  throw new UnexpectedContent(`${prefix}/dags: the answer has no list of DAGs`);
};

/**
 * Each DAG by its status: those that are named, or those of the list by which the engine was found out. One that cannot be read is thrown at
 * the end, when all others are read.
 */
async function* asked(
  workflow: Workflow,
  given: SliceContext,
  signal: AbortSignal,
): AsyncGenerator<Page, WalkEnd, void> {
  const { http, concurrency, note, heard, found } = workflow;
  const first = await found(signal);
  const told =
    first.dag === undefined
      ? await allListed(workflow, given, first.answer, signal)
      : new Map<string, JsonObject>();
  const names = workflow.dags.length > 0 ? workflow.dags : [...told.keys()];
  type Heard = Answer | Missing | Refused | Transient;
  const status = async (name: string, until: AbortSignal): Promise<Heard> => {
    try {
      return await http.send(statusRequest(name), until);
    } catch (cause) {
      if (!(cause instanceof Missing || isOfOneDag(cause))) throw cause;
      return cause;
    }
  };
  const ask = async (name: string, until: AbortSignal): Promise<readonly [string, Heard]> => {
    const answer = name === first.dag && !heard.has(name) ? first.answer : await status(name, until);
    // It is named, or in the list: that there is none, or nothing in it, is asked twice.
    return [name, answer instanceof Missing || saysNothing(answer) ? await status(name, until) : answer];
  };
  const refused: (Refused | Transient)[] = [];
  const answered = new Set<string>();
  const still: JsonObject[] = [];
  let inItsWords = true;
  for await (const [name, answer] of several(new Set(names), concurrency, ask, signal)) {
    if (answer instanceof Missing) {
      const dag = told.get(name);
      if (dag === undefined) continue;
      // The engine has no run of it to tell, which the runs need not ask again.
      heard.set(name, answer);
      still.push(dag);
      inItsWords &&= refusalIn(answer.body) !== undefined;
      continue;
    }
    if (isOfOneDag(answer)) {
      refused.push(ofDag(name, answer));
      if (isIll(refused)) throw answer;
      continue;
    }
    const payload = payloadOf(answer.body);
    if (payload === undefined) throw new UnexpectedContent(`the status of ${name} is no object`);
    answered.add(name);
    heard.set(name, answer);
    const dag = { ...told.get(name), ...dagInStatus(name, payload) };
    yield pageOf(await withKey(given, dag, given.clock), answer);
  }
  for (const dag of still) yield pageOf(await withKey(given, dag, given.clock), first.answer);
  const [cause] = refused;
  if (cause !== undefined) throw cause;
  // Of an engine that is new none ever ran. One that is none of the contract has no such words, and its runs would be missing without a word.
  if (still.length > 0 && (answered.size > 0 || inItsWords)) {
    const some = still.slice(0, 5).map(nameIn).join(', ');
    note(
      `${http.origin} lists DAGs of which it knows no status: ${some}${still.length > 5 ? ` and ${still.length - 5} more` : ''}`,
    );
    for (const dag of still) answered.add(nameIn(dag));
  }
  missed(names, answered, http.origin, note);
  return endOf(new Set(names).size, answered.size);
}

/** Whether an answer is an object, or an envelope, with nothing in it. */
const saysNothing = (answer: Answer | Refused | Transient): boolean =>
  !isOfOneDag(answer) && Object.keys(payloadOf(answer.body) ?? { none: true }).length === 0;

/** The same error, with the name of the DAG whose it is. */
const ofDag = (name: string, cause: Refused | Transient): Refused | Transient => {
  const message = `${name}: ${cause.message}`;
  if (cause instanceof Refused)
    return new Refused(message, cause.status, cause.messages, { cause, whole: cause.whole });
  return new Transient(message, { cause, retryAfterMs: cause.retryAfterMs });
};

/** A DAG that is named and not there costs itself alone; if that is true of all, the names or the address are wrong. */
const missed = (
  wanted: readonly string[],
  found: ReadonlySet<string>,
  origin: string,
  note: (message: string) => void,
): void => {
  const absent = wanted.filter((name) => !found.has(name));
  if (absent.length === 0) return;
  const named = `${absent.slice(0, 5).join(', ')}${absent.length > 5 ? ` and ${absent.length - 5} more` : ''}`;
  if (absent.length === wanted.length)
    throw new Missing(`${origin} knows none of the DAGs that are wanted: ${named}`, 404);
  note(`${origin} does not know ${named} of WORKFLOW_DAGS; the other DAGs are read`);
};
