/** The DAGs of the engine. */

import { Missing } from '../../core/errors.ts';
import type { JsonObject } from '../../core/record-object.ts';
import type { Json, Page, Stream, WalkEnd } from '../../core/stream.ts';
import { at, idBy } from '../../reading/offset-list.ts';
import { firstOf } from './client.ts';
import { listIn } from './dialects/v2.ts';
import { textOf } from './fields.ts';
import * as tables from './tables.ts';
import { dag, dagIn } from './transform.ts';
import { readingOf, type Workflow } from './workflow.ts';

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
  read: (_, _context, signal) => readingOf(read(workflow, signal), idBy('name')),
});

/**
 * Dagu's list names files that it cannot read in `errors` alone (measured on 1.30.2: a file that is being written): then
 * no DAG is taken for deleted. Throws `Missing` where none of the named DAGs is found.
 */
async function* read(workflow: Workflow, signal: AbortSignal): AsyncGenerator<Page, WalkEnd, void> {
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
