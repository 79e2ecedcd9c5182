/** Dagu 2: its camelCase API, under `/api/v1` (measured on 1.30.2, where it is under `/api/v2`; the OpenAPI of 2.6.5 and 2.15). */

import { Misconfigured, Refused, UnexpectedContent } from '../../../core/errors.ts';
import { isObject, type JsonObject } from '../../../core/record.ts';
import type { Http, Json, Paging } from '../../../core/stream.ts';
import { pages } from '../../../reading/pages.ts';
import { at, idBy, textAt } from '../../../reading/requests.ts';
import { beganAt, type DagRunRecord, engineRun, runIn } from '../transform.ts';
import { ifBusy, type Prefix, route, sendOptional } from '../workflow.ts';
import type { DaguDialect, Span } from './dialect.ts';

/** 100 is the largest page of DAGs. */
export const listRequest = (prefix: Prefix) =>
  route(prefix, 'GET', '/dags', [], { query: { page: 1, perPage: 100 } });

export const v2 = (http: Http, prefix: Prefix = '/api/v1'): DaguDialect => {
  const run: DaguDialect['run'] = async (dag, id, signal) => {
    const request = route(prefix, 'GET', '/dag-runs/{name}/{dagRunId}', [dag, id]);
    const answer = await sendOptional(http, request, signal);
    const found = answer && daguRun(detailsIn(answer.body));
    if (found === undefined || (found.dag_run_id === id && found.dag_name === dag)) return found;
    const other = `${found.dag_run_id} of ${found.dag_name}`;
    throw new UnexpectedContent(`asked for the run ${id} of ${dag}, the answer is ${other}`);
  };
  /**
   * By the name of the file 1.30.2 answers an id that it does not know with an active run, or with 500 (measured), so a
   * run is asked for by the name of its DAG, which the newest run has.
   */
  const ofFile = async (file: string, runId: string, signal: AbortSignal) => {
    const request = route(prefix, 'GET', '/dags/{fileName}/dag-runs/latest', [file]);
    const record = at((await sendOptional(http, request, signal))?.body, 'dagRun');
    const newest = isObject(record) ? runIn(record) : undefined;
    return newest?.dag_run_id === runId ? newest : run(newest?.dag_name || file, runId, signal);
  };
  return {
    about: 'API: runs and steps (/api/v1, Dagu 2)',
    takesRunId: true,
    run,
    async *history({ from, to }, signal) {
      // 500 is the largest page; 1.30 has none.
      const query = { fromDate: from, toDate: to, limit: prefix === '/api/v1' ? 500 : undefined };
      const first = route(prefix, 'GET', '/dag-runs', [], { query });
      const walk = { first, paging: byCursor, list: listIn('dagRuns'), id: summaryId };
      for await (const { records } of pages(http, walk, signal)) yield records.map(daguRun);
    },
    dags(list, isWhole, signal) {
      // The stated total counts the DAGs that are left out, too.
      const paging = isWhole ? byPage : { ...byPage, total: () => undefined };
      return pages(http, { first: listRequest(prefix), paging, list, id: idBy('fileName') }, signal);
    },
    async start(dag, { params, runId }, signal) {
      if (!idForm.test(runId))
        throw new Misconfigured(`${JSON.stringify(runId)} cannot be the id of a run at ${http.origin}`);
      // Always with a body: without one 1.30.2 answers 500 (measured). The id makes it safe to send it again.
      const body = { dagRunId: runId, ...(params !== '' && { params }) };
      const request = route(prefix, 'POST', '/dags/{fileName}/start', [dag], { body });
      await http.send(request, signal).catch(async (cause: unknown) => {
        const isConflict = cause instanceof Refused && cause.status === 409;
        if (!isConflict || (await ofFile(dag, runId, signal)) === undefined) ifBusy(dag)(cause);
      });
      return { runId };
    },
    async status(dag, runId, signal) {
      const found = await ofFile(dag, runId, signal);
      return found && engineRun(found);
    },
  };
};

/** What Dagu takes as an id (its OpenAPI, DAGRunId). To a longer one 1.30.2 answers 200 and runs nothing (measured). */
const idForm = /^[a-zA-Z0-9_-]{1,64}$/;

/** A list in an answer of Dagu; an empty one is null. Throws `UnexpectedContent` for anything else. */
export const listIn =
  (name: 'dags' | 'dagRuns') =>
  (body: Json): readonly Json[] => {
    const list = at(body, name);
    if (list === null || Array.isArray(list)) return list ?? [];
    throw new UnexpectedContent(`the answer of the engine has no list ${name}`);
  };

/** A summary or the details of a run. */
const daguRun = (record: Json): DagRunRecord => {
  const run = runIn(isObject(record) ? record : {});
  if (run.dag_run_id !== '' && run.dag_name !== '') return run;
  throw new UnexpectedContent('a run of the engine has no dagRunId, or no name of its DAG');
};

/** What tells the summaries of a list apart. */
const summaryId = (run: Json): string =>
  JSON.stringify(['name', 'dagRunId', 'log', 'startedAt'].map((key) => at(run, key)));

/** The run of `{dagRunDetails}`, with the members that a newer release may write beside it. */
export const detailsIn = (body: Json): JsonObject => {
  const { dagRunDetails, ...beside } = isObject(body) ? body : {};
  return { ...beside, ...(isObject(dagRunDetails) && dagRunDetails) };
};

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

const byCursor: Paging = {
  next(body, sent) {
    const cursor = textAt(body, 'nextCursor');
    return cursor ? { request: { ...sent, query: { ...sent.query, cursor } }, overlap: 0 } : undefined;
  },
  total: () => undefined,
};

// Dagu 1.17 to 1.30: what Dagu 2 has, under `/api/v2` and without pages of runs.

export const v1_30 = (http: Http): DaguDialect => {
  const dagu = v2(http, '/api/v2');
  /**
   * It cuts its list silently (measured: at 1000 of 1206), so a list that is as long as a limit is divided at a second
   * and read again. Throws `UnexpectedContent` where a list is cut that cannot be divided.
   */
  async function* history(
    span: Span,
    signal: AbortSignal,
  ): AsyncGenerator<readonly DagRunRecord[], void, void> {
    for await (const runs of dagu.history(span, signal))
      if (runs.length === 0 || runs.length % 100 !== 0) yield runs;
      else {
        const second = divide(runs, span);
        yield* history({ ...span, from: second }, signal);
        yield* history({ ...span, to: second }, signal);
      }
  }
  return { ...dagu, about: 'API: runs and steps (/api/v2, Dagu 1.17 to 1.30)', history };
};

/** A second within the span with runs on both sides of it, where possible. */
const divide = (runs: readonly DagRunRecord[], { from, to }: Span): number => {
  const made = runs.flatMap((run) => beganAt(run) ?? []).sort((a, b) => Number(a - b));
  const median = Number((made[Math.floor(made.length / 2)] ?? 0n) / 1_000_000n);
  const second = [median, Math.floor((from + to) / 2)].find((one) => one > from && one < to);
  if (second !== undefined) return second;
  throw new UnexpectedContent(`the engine cuts its list of the runs of a single second (${from})`);
};
