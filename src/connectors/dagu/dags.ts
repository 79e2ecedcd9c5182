/** The DAGs of the engine. */

import { Missing, TidemarkError, UnexpectedContent } from '../../core/errors.ts';
import type { Page, Paging, WalkEnd } from '../../core/paging.ts';
import type { Json } from '../../core/request.ts';
import type { ReadSide, SliceContext } from '../../core/stream.ts';
import { at, idBy } from '../../reading/offset-list.ts';
import { pages } from '../../reading/pages.ts';
import { daguList, firstOf, listRequest } from './client.ts';
import { endOf, pageOf, readingOf, statuses, type Workflow } from './engine.ts';
import { type Dag, dagIn, textOf } from './fields.ts';
import type { Dagu } from './history.ts';
import { keyed, rowsOf } from './stored-runs.ts';

export const dags = (workflow: Workflow): ReadSide => ({
  by: 'list',
  name: 'dags',
  about: 'DAGs: those the engine lists, or those named in WORKFLOW_DAGS.',
  endpoint: 'GET /api/v1/dags, GET /api/v1/dags/{dag}/status',
  read: (_, given, signal) => readingOf(read(workflow, given, signal), idBy('name')),
});

type Dags = AsyncGenerator<readonly Dag[], WalkEnd, void>;

/** Throws `Missing` where none of the named DAGs is found. */
async function* read(
  workflow: Workflow,
  given: SliceContext,
  signal: AbortSignal,
): AsyncGenerator<Page, WalkEnd, void> {
  const { http, dags: wanted } = workflow;
  const { dialect } = await workflow.found(signal);
  const isContract = dialect === 'contract';
  const walk = isContract ? byStatus(workflow, signal) : byList(workflow, { http, dialect }, signal);
  const names = new Set<Json>();
  const isWanted = ({ name, values }: Dag): boolean =>
    wanted.length === 0 || wanted.some((one) => one === name || one === values.file_name);
  let step = await walk.next();
  for (; step.done !== true; step = await walk.next()) {
    const found = step.value.filter(isWanted);
    for (const { name, values } of found) names.add(name).add(values.file_name);
    const rows = await rowsOf(
      given,
      found.flatMap(({ latest }) => latest ?? []),
    );
    const seenAt = isContract ? given.clock : undefined;
    yield pageOf(
      found.map(({ latest, ...dag }) => ({ ...dag, latest: latest && keyed(latest, rows(latest), seenAt) })),
    );
  }
  const absent = wanted.filter((name) => !names.has(name));
  const message = `${http.origin} lists no ${firstOf(absent)}, named in WORKFLOW_DAGS`;
  if (absent.length > 0 && absent.length === wanted.length) throw new Missing(message, 404);
  if (absent.length > 0) workflow.note(message);
  return step.value;
}

const pagination = (body: Json, name: string): number => {
  const value = at(at(body, 'pagination'), name);
  if (typeof value === 'number') return value;
  throw new UnexpectedContent(`the list of DAGs does not say its pagination.${name}`);
};

/** `{pagination: {currentPage, totalPages, nextPage, totalRecords}}`; nextPage of the last page is 1 (measured on 1.30.2). */
const byPage: Paging = {
  next(body, sent) {
    const page = pagination(body, 'currentPage') + 1;
    if (page > pagination(body, 'totalPages')) return undefined;
    return { request: { ...sent, query: { ...sent.query, page } }, overlap: 0 };
  },
  total: (body) => pagination(body, 'totalRecords'),
  numbered: true,
};

/**
 * Dagu's list. It names files that it cannot read in `errors` alone (measured on 1.30.2: a file that is being
 * written): then no DAG is taken for deleted.
 */
async function* byList({ note }: Workflow, { http, dialect }: Dagu, signal: AbortSignal): Dags {
  const unread = new Set<string>();
  const list = (body: Json): readonly Json[] => {
    const problems = at(body, 'errors');
    if (Array.isArray(problems)) for (const one of problems) unread.add(textOf(one) ?? 'an error');
    return daguList(body);
  };
  const first = listRequest(dialect);
  const walk = pages(http, { first, paging: byPage, list, id: idBy('fileName') }, signal);
  let step = await walk.next();
  for (; step.done !== true; step = await walk.next()) yield step.value.records.map(dagIn);
  if (unread.size === 0) return step.value;
  const problems = firstOf([...unread].map((error) => error.slice(0, 300)));
  note(`the engine cannot read all files of its DAGs, so none is deleted: ${problems}`);
  return { ...step.value, lacks: true };
}

/** Each named DAG by its status of the contract. Throws the first failure at the end. */
async function* byStatus(workflow: Workflow, signal: AbortSignal): Dags {
  let failure: TidemarkError | undefined;
  let count = 0;
  for await (const status of statuses(workflow, signal))
    if (status instanceof TidemarkError) failure ??= status;
    else if (status.run !== undefined) {
      count += 1;
      yield [{ name: status.dag, values: { name: status.dag }, rest: {}, latest: status.run }];
    }
  if (failure !== undefined) throw failure;
  return endOf(count);
}
