/** The DAGs of the engine. */

import { Missing, Refused, Transient, UnexpectedContent } from '../../../core/errors.ts';
import type { Page, Paging, WalkEnd } from '../../../core/paging.ts';
import type { Answer, Json } from '../../../core/request.ts';
import type { SliceContext, Stream } from '../../../core/stream.ts';
import { several } from '../../../reading/map-concurrent.ts';
import { at, idBy } from '../../../reading/offset-list.ts';
import { pages } from '../../../reading/pages.ts';
import { confirmed, endOf, ifThere, pageOf, readingOf, some, type Workflow } from '../client.ts';
import { allUntil, type Dagu, historyOf } from '../dagu.ts';
import { contractList, daguList, isOfOneDag, listRequest, statusRequest } from '../dialect.ts';
import { withKeys } from '../existing-runs.ts';
import { currentRun, type Dag, type Dialect, dagIn, payloadOf, type Run, textOf } from '../fields.ts';

export const dags = (workflow: Workflow): Stream => ({
  name: 'dags',
  about:
    'DAGs: those the engine lists and those that have runs without being in its list, or those named in WORKFLOW_DAGS.',
  endpoint: 'GET /api/v1/dags, GET …/dag-runs, GET /api/v1/dags/{dag}/status',
  promised: true,
  async read(_, given, signal) {
    const { dialect, hasDags } = await workflow.found(signal);
    const reading =
      dialect === 'contract'
        ? byStatus(workflow, given, hasDags, signal)
        : byList(workflow, { http: workflow.http, dialect }, given, hasDags, signal);
    return readingOf(reading, idBy('name'));
  },
});

/** `{pagination: {currentPage, totalPages, nextPage, totalRecords}}`; nextPage of the last page is 1 (measured on 1.30.2). */
const byPage: Paging = {
  next(body, sent) {
    const current = at(at(body, 'pagination'), 'currentPage');
    const last = at(at(body, 'pagination'), 'totalPages');
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

/** Throws `UnexpectedContent` for a DAG without a name: it would pass for deleted. */
const dagOf = (record: Json, dialect: Dialect): Dag => {
  const dag = dagIn(record, dialect);
  if (dag === undefined) throw new UnexpectedContent('a DAG in the list of the engine has no name');
  return dag;
};

/**
 * Dagu's list, without what WORKFLOW_DAGS does not name, then the DAGs that have runs and no file. The list names files that
 * it cannot read in `errors` alone (measured on 1.30.2: a file that is being written): then no DAG is taken for deleted, nor
 * where the list is empty for a moment. Throws `Missing` where none of the named DAGs is found.
 */
async function* byList(
  workflow: Workflow,
  dagu: Dagu,
  given: SliceContext,
  hasDags: boolean,
  signal: AbortSignal,
): AsyncGenerator<Page, WalkEnd, void> {
  const { http, dags: wanted, note } = workflow;
  const first = listRequest(dagu.dialect);
  const unread = new Set<string>();
  const list = (body: Json): readonly Json[] => {
    const errors = at(body, 'errors');
    if (Array.isArray(errors)) for (const error of errors) unread.add(textOf(error) ?? 'an error');
    return daguList(body) ?? [];
  };
  const files = new Map<string, string>();
  let hasRuns = false;
  const walk = pages(http, { first, paging: byPage, list, id: idBy('fileName') }, signal);
  let step = await walk.next();
  for (; step.done !== true; step = await walk.next()) {
    const found = step.value.records.map((record) => dagOf(record, dagu.dialect));
    const read = found.filter((dag) => wanted.length === 0 || wanted.some((name) => isCalled(dag, name)));
    for (const { name, known } of read) {
      const file = textOf(known.file_name) ?? name;
      if (files.has(name)) note(`two files define a DAG ${name}: ${files.get(name)} and ${file}`);
      files.set(name, file);
    }
    // A DAG that never ran has a newest run without an id (measured on 1.30.2).
    hasRuns ||= read.some(({ latest }) => latest !== undefined && latest.id !== '');
    yield { ...step.value, records: await withKeys(given, read) };
  }
  let more = 0;
  for await (const dag of withoutFile(workflow, dagu, given, { files, hasRuns }, signal)) {
    more += 1;
    files.set(dag.name, dag.name);
    yield pageOf(dag);
  }
  const { expected, fetched } = step.value;
  if (unread.size > 0)
    note(
      `the engine cannot read all files of its DAGs, so none is deleted: ${some([...unread].map((error) => error.slice(0, 300)))}`,
    );
  checkFound(workflow, new Set([...files].flat()));
  const lacks = unread.size > 0 || (hasDags && fetched === 0);
  const total = wanted.length > 0 || expected === null ? null : expected + more;
  return { ...step.value, expected: total, fetched: fetched + more, ...(lacks && { lacks }) };
}

const isCalled = ({ name, known }: Dag, wanted: string): boolean =>
  name === wanted || known.file_name === wanted;

/**
 * DAGs that have runs and no file: started under a name of their own (`dagName`), from a definition of their own
 * (`POST /dag-runs`), or removed before they were read. Throws `UnexpectedContent` where no run is shown although the list
 * has DAGs with runs: these DAGs would pass for deleted.
 */
async function* withoutFile(
  { http, dags: wanted, note }: Workflow,
  dagu: Dagu,
  given: SliceContext,
  { files, hasRuns }: { files: ReadonlyMap<string, string>; hasRuns: boolean },
  signal: AbortSignal,
): AsyncGenerator<Dag, void, void> {
  const rows = await given.keys({
    table: 'workflow.dags',
    columns: { name: 'name', file: 'file_name' },
    of: {},
    where: 'file_name is not null',
  });
  const seen = new Set([...files.keys(), ...rows.map(({ name }) => name ?? '')]);
  const known = new Set([...seen, ...files.values(), ...rows.map(({ file }) => file ?? '')]);
  const asked = wanted.length === 0 ? [undefined] : wanted.filter((name) => !known.has(name));
  let isWhole = true;
  let isEmpty = true;
  try {
    for (const name of asked)
      for await (const part of historyOf(dagu, name, allUntil(given.clock), signal)) {
        isWhole &&= part.whole;
        isEmpty &&= part.runs.length === 0;
        // The newest run comes first.
        const fresh = part.runs.filter(({ dag }) => !seen.has(dag) && seen.add(dag));
        yield* await withKeys(given, fresh.map(dagOfRun));
      }
  } catch (cause) {
    if (!(cause instanceof Missing)) throw cause;
    isWhole = false;
  }
  if (wanted.length === 0 && isEmpty && hasRuns)
    throw new UnexpectedContent(`${http.origin} lists DAGs with runs, and shows no runs`);
  if (!isWhole)
    note('the engine does not show all runs: those of DAGs that are not in its list may be missing');
}

const dagOfRun = (latest: Run): Dag => ({
  name: latest.dag,
  known: { name: latest.dag },
  rest: {},
  latest: { ...latest, steps: [] },
});

/**
 * Each DAG of the contract by its status: those that are named, or those of the list. The error of one DAG is thrown after all
 * others are read. Throws `Missing` where none of the named DAGs is found.
 */
async function* byStatus(
  workflow: Workflow,
  given: SliceContext,
  hasDags: boolean,
  signal: AbortSignal,
): AsyncGenerator<Page, WalkEnd, void> {
  const { http, concurrency, dags: wanted } = workflow;
  const listed = wanted.length > 0 ? new Map<string, Dag>() : await listedOf(workflow, signal);
  const names = wanted.length > 0 ? wanted : [...listed.keys()];
  const ask = async (
    name: string,
    until: AbortSignal,
  ): Promise<{ dag?: Dag | undefined; error?: Failure }> => {
    try {
      const answer = await confirmed(() => ifThere(http, statusRequest(name), until));
      return { dag: dagOfStatus(name, answer, listed.get(name)) };
    } catch (cause) {
      if (cause instanceof UnexpectedContent || isOfOneDag(cause)) return { error: named(name, cause) };
      throw cause;
    }
  };
  const failed: Failure[] = [];
  const found = new Set<string>();
  for await (const { dag, error } of several(names, concurrency, ask, signal)) {
    if (error !== undefined) failed.push(error);
    // Three DAGs that fail in passing: the engine is down, so the others would be waited for in vain.
    if (failed.filter((one) => one instanceof Transient).length >= 3) break;
    if (dag === undefined) continue;
    found.add(dag.name);
    for (const one of await withKeys(given, [dag], given.clock)) yield pageOf(one);
  }
  const [cause] = failed;
  if (cause !== undefined) throw cause;
  checkFound(workflow, found);
  return { ...endOf(names.length, found.size), ...(hasDags && names.length === 0 && { lacks: true }) };
}

type Failure = Refused | Transient | UnexpectedContent;

const listedOf = async ({ http }: Workflow, signal: AbortSignal): Promise<ReadonlyMap<string, Dag>> => {
  const request = listRequest('contract');
  const list = contractList((await http.send(request, signal)).body);
  if (list === undefined) throw new UnexpectedContent(`${request.endpoint}: the answer has no list of DAGs`);
  return new Map(list.map((record) => dagOf(record, 'contract')).map((dag) => [dag.name, dag]));
};

/** A DAG by its status, with what the list says of it; the latter alone where the engine has no status of it. */
const dagOfStatus = (name: string, answer: Answer | undefined, listed: Dag | undefined): Dag | undefined => {
  if (answer === undefined) return listed;
  const run = currentRun(answer.body, name);
  if (run === undefined) throw new UnexpectedContent(`the status of ${name} has no word for its state`);
  const own = dagIn(payloadOf(answer.body)?.dag, 'contract');
  const known = { ...listed?.known, ...own?.known, name };
  return { name, known, rest: { ...listed?.rest, ...own?.rest }, latest: { ...run, steps: [] } };
};

/** The same error with the name of the DAG. */
const named = (name: string, cause: Failure): Failure => {
  const message = `${name}: ${cause.message}`;
  if (cause instanceof Refused) return new Refused(message, cause.status, cause.messages, { cause });
  if (cause instanceof Transient) return new Transient(message, { cause, retryAfterMs: cause.retryAfterMs });
  return new UnexpectedContent(message, { cause });
};

/** A named DAG that is not there is noted; where that is true of all, the names or the address are wrong. */
const checkFound = ({ http, dags: wanted, note }: Workflow, found: ReadonlySet<string>): void => {
  const absent = wanted.filter((name) => !found.has(name));
  if (absent.length === 0) return;
  if (absent.length === wanted.length)
    throw new Missing(`${http.origin} knows none of the DAGs that are wanted: ${some(absent)}`, 404);
  note(`${http.origin} does not know ${some(absent)} of WORKFLOW_DAGS; the other DAGs are read`);
};
