/** The DAGs of the engine. */

import * as errors from '../../../core/errors.ts';
import type { Page, Paging, WalkEnd } from '../../../core/paging.ts';
import type { Json } from '../../../core/request.ts';
import type { ReadSide, SliceContext } from '../../../core/stream.ts';
import { mapConcurrent } from '../../../reading/map-concurrent.ts';
import { at, idBy } from '../../../reading/offset-list.ts';
import { pages } from '../../../reading/pages.ts';
import * as client from '../client.ts';
import { daguList, listRequest, statusRequest } from '../dialect.ts';
import type { Dag, Run } from '../fields.ts';
import * as fields from '../fields.ts';
import { allUntil, type Dagu, historyOf } from '../history.ts';
import { keyed, rowsOf } from '../stored-runs.ts';

export const dags = (workflow: client.Workflow): ReadSide => ({
  by: 'list',
  name: 'dags',
  about:
    'DAGs: those the engine lists and those that have runs without being in its list, or those named in WORKFLOW_DAGS.',
  endpoint: 'GET /api/v1/dags, GET …/dag-runs, GET /api/v1/dags/{dag}/status',
  read: (_, given, signal) => client.readingOf(read(workflow, given, signal), idBy('name')),
});

/** What an engine says of its DAGs. `failure`: some could not be read. */
interface Listing {
  readonly dags: readonly Dag[];
  readonly end: WalkEnd;
  readonly failure?: errors.TidemarkError | undefined;
}

/** DAGs are held together: an engine has thousands at most. Throws `Missing` where none of the named DAGs is found. */
async function* read(
  workflow: client.Workflow,
  given: SliceContext,
  signal: AbortSignal,
): AsyncGenerator<Page, WalkEnd, void> {
  const { http, dags: wanted, note } = workflow;
  const { dialect } = await workflow.found(signal);
  const isContract = dialect === 'contract';
  const listing = isContract
    ? await byStatus(workflow, signal)
    : await byList(workflow, { http, dialect }, given, signal);
  const { dags: found, end, failure } = listing;
  const newest = found.flatMap(({ latest }) => latest ?? []);
  const rows = await rowsOf(given, newest);
  for (const { latest, ...dag } of found) {
    const run = latest && keyed(latest, rows(latest), isContract ? given.clock : undefined);
    yield client.pageOf({ ...dag, ...(run && { latest: run }) });
  }
  if (failure !== undefined) throw failure;
  const absent = wanted.filter((name) => !found.some((dag) => isCalled(dag, name)));
  if (absent.length > 0 && absent.length === wanted.length)
    throw new errors.Missing(`${http.origin} knows none of the DAGs ${client.firstOf(absent)}`, 404);
  if (absent.length > 0)
    note(`${http.origin} does not know ${client.firstOf(absent)} of WORKFLOW_DAGS; the other DAGs are read`);
  return end;
}

const fileOf = ({ members }: Dag): string | undefined =>
  fields.textOf(fields.memberOf(members, fields.dagNames, 'file_name'));
const isCalled = (dag: Dag, wanted: string): boolean => dag.name === wanted || fileOf(dag) === wanted;

/** `{pagination: {currentPage, totalPages, nextPage, totalRecords}}`; nextPage of the last page is 1 (measured on 1.30.2). */
const byPage: Paging = {
  next(body, sent) {
    const [current, last] = ['currentPage', 'totalPages'].map((name) => at(at(body, 'pagination'), name));
    if (typeof current !== 'number' || typeof last !== 'number')
      throw new errors.UnexpectedContent(
        `${sent.endpoint}: the answer does not say how many pages there are`,
      );
    if (current >= last) return undefined;
    return { request: { ...sent, query: { ...sent.query, page: current + 1 } }, overlap: 0 };
  },
  total(body) {
    const total = at(at(body, 'pagination'), 'totalRecords');
    return typeof total === 'number' ? total : undefined;
  },
  numbered: true,
};

/**
 * Dagu's list, without what WORKFLOW_DAGS does not name, and the DAGs that have runs and no file. The list names files that
 * it cannot read in `errors` alone (measured on 1.30.2: a file that is being written): then no DAG is taken for deleted.
 */
const byList = async (
  workflow: client.Workflow,
  dagu: Dagu,
  given: SliceContext,
  signal: AbortSignal,
): Promise<Listing> => {
  const { http, dags: wanted, note } = workflow;
  const unread = new Set<string>();
  const list = (body: Json): readonly Json[] => {
    const problems = at(body, 'errors');
    if (Array.isArray(problems))
      for (const problem of problems) unread.add(fields.textOf(problem) ?? 'an error');
    return daguList(body) ?? [];
  };
  const first = listRequest(dagu.dialect);
  const listed: Dag[] = [];
  const walk = pages(http, { first, paging: byPage, list, id: idBy('fileName') }, signal);
  let step = await walk.next();
  for (; step.done !== true; step = await walk.next())
    listed.push(...step.value.records.map((record) => fields.dagIn(record)));
  const dags = listed.filter((dag) => wanted.length === 0 || wanted.some((name) => isCalled(dag, name)));
  for (const [name, files] of Map.groupBy(dags, (dag) => dag.name))
    if (files.length > 1) note(`several files define a DAG ${name}: ${files.map(fileOf).join(', ')}`);
  if (unread.size > 0)
    note(
      `the engine cannot read all files of its DAGs, so none is deleted: ${client.firstOf([...unread].map((error) => error.slice(0, 300)))}`,
    );
  const more = await withoutFile(workflow, dagu, given, dags, signal);
  const { expected, fetched } = step.value;
  const total = wanted.length > 0 || expected === null ? null : expected + more.length;
  const end = { ...step.value, expected: total, fetched: fetched + more.length };
  // Where the list had DAGs a moment ago, an empty one deletes nothing.
  const isVanished = listed.length === 0 && (await workflow.found(signal)).hasDags;
  const lacks = (unread.size > 0 || isVanished) && ({ lacks: true } as const);
  return { dags: [...dags, ...more], end: { ...end, ...lacks } };
};

/**
 * DAGs that have runs and no file: started under a name of their own (`dagName`), from a definition of their own
 * (`POST /dag-runs`), or removed before they were read. Throws `UnexpectedContent` where no run is shown although the list
 * has DAGs with runs: these DAGs would pass for deleted.
 */
const withoutFile = async (
  { http, dags: wanted }: client.Workflow,
  dagu: Dagu,
  given: SliceContext,
  listed: readonly Dag[],
  signal: AbortSignal,
): Promise<readonly Dag[]> => {
  const columns = { name: 'name', file: 'file_name' };
  const rows = await given.keys({ table: 'workflow.dags', columns, of: {}, where: 'file_name is not null' });
  const names = new Set([...listed.map(({ name }) => name), ...rows.map(({ name }) => name)]);
  const files = new Set([...listed.map(fileOf), ...rows.map(({ file }) => file)]);
  const asked = wanted.filter((name) => !names.has(name) && !files.has(name));
  const newest = new Map<string, Run>();
  let isEmpty = true;
  for (const dag of wanted.length === 0 ? [undefined] : asked)
    for await (const runs of historyOf(dagu, dag, allUntil(given.clock), signal)) {
      isEmpty &&= runs.length === 0;
      for (const run of runs) if (!names.has(run.dag) && !newest.has(run.dag)) newest.set(run.dag, run);
    }
  // A DAG that never ran has a newest run without an id (measured on 1.30.2).
  if (wanted.length === 0 && isEmpty && listed.some(({ latest }) => latest?.id))
    throw new errors.UnexpectedContent(`${http.origin} lists DAGs with runs, and shows no runs`);
  return [...newest].map(([name, latest]) => ({ name, members: { name }, latest }));
};

/** Each named DAG by its status of the contract. One that fails keeps no other out. */
const byStatus = async (workflow: client.Workflow, signal: AbortSignal): Promise<Listing> => {
  const { http, concurrency, dags: names } = workflow;
  const ask = async (name: string, until: AbortSignal): Promise<Dag | errors.TidemarkError | undefined> => {
    try {
      const answer = await client.confirmed(() => client.sendOptional(http, statusRequest(name), until));
      return answer && { name, members: { name }, latest: fields.currentRun(answer.body, name) };
    } catch (cause) {
      if (!client.isOfOneRequest(cause)) throw cause;
      return new errors.UnexpectedContent(`${name}: ${cause.message}`, { cause });
    }
  };
  const dags: Dag[] = [];
  const failures: errors.TidemarkError[] = [];
  for await (const one of mapConcurrent(names, concurrency, ask, signal)) {
    if (one instanceof errors.TidemarkError) failures.push(one);
    else if (one !== undefined) dags.push(one);
    // The engine is down: the others would exhaust their retries, too.
    if (failures.filter(({ cause }) => cause instanceof errors.Transient).length >= 3) break;
  }
  return { dags, end: { ...client.endOf(names.length, dags.length), matched: true }, failure: failures[0] };
};
