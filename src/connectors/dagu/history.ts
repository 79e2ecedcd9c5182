/** Requests to Dagu, 1.30 and 2.x: summaries of runs, one run with its steps, and the ends of the logs of failed steps. */

import { UnexpectedContent } from '../../core/errors.ts';
import { storableText } from '../../core/json.ts';
import type { Paging } from '../../core/paging.ts';
import { isObject, type JsonObject } from '../../core/record-object.ts';
import type { Http, Json } from '../../core/request.ts';
import { parseInstant } from '../../core/time.ts';
import { at, textAt } from '../../reading/offset-list.ts';
import { pages } from '../../reading/pages.ts';
import { ofOneRequest, route, sendOptional } from './client.ts';
import { beganAt, type Columns, type Dialect, type Run, runIn } from './fields.ts';

export interface Dagu {
  readonly http: Http;
  readonly dialect: Exclude<Dialect, 'contract'>;
}

export const isDagu = (engine: { http: Http; dialect: Dialect }): engine is Dagu =>
  engine.dialect !== 'contract';

/** When runs were made: whole seconds since 1970 UTC, `from <= made < to` (measured on 1.30.2; 0 would mean today). */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** 2.x pages by `nextCursor`; 1.30 has no pages. */
const byCursor: Paging = {
  next(body, sent) {
    const cursor = textAt(body, 'nextCursor');
    return cursor ? { request: { ...sent, query: { ...sent.query, cursor } }, overlap: 0 } : undefined;
  },
  total: () => undefined,
};

/** An empty list is null. */
const runList = (body: Json): readonly Json[] => {
  const runs = at(body, 'dagRuns');
  if (runs === null || Array.isArray(runs)) return runs ?? [];
  throw new UnexpectedContent('the answer of the engine has no list dagRuns');
};

/**
 * The runs of all DAGs, the newest first. 1.30 cuts its list silently (measured: at 1000 of 1206), so a list that is
 * as long as a limit is divided at a second and read again. 500 is the largest page of 2.x. Throws
 * `UnexpectedContent` for a run without an id or the name of its DAG, and where a list is cut that cannot be divided.
 */
export async function* historyOf(
  dagu: Dagu,
  span: Span,
  signal: AbortSignal,
): AsyncGenerator<readonly Run[], void, void> {
  const isPaged = dagu.dialect === '2.x';
  const query = { fromDate: span.from, toDate: span.to, limit: isPaged ? 500 : undefined };
  const first = route(dagu.dialect, 'GET', '/dag-runs', [], { query });
  const id = (run: Json) =>
    JSON.stringify(['name', 'dagRunId', 'log', 'startedAt'].map((key) => at(run, key)));
  for await (const { records } of pages(dagu.http, { first, paging: byCursor, list: runList, id }, signal)) {
    const runs = records.map(daguRun);
    if (isPaged || runs.length === 0 || runs.length % 100 !== 0) yield runs;
    else {
      const second = divide(runs, span);
      yield* historyOf(dagu, { ...span, from: second }, signal);
      yield* historyOf(dagu, { ...span, to: second }, signal);
    }
  }
}

/** A second within the span with runs on both sides of it, where possible. */
const divide = (runs: readonly Run[], { from, to }: Span): number => {
  const made = runs.flatMap((run) => beganAt(run) ?? []).sort();
  const median = Number(parseInstant(made[Math.floor(made.length / 2)] ?? 0) / 1_000_000n);
  const second = [median, Math.floor((from + to) / 2)].find((one) => one > from && one < to);
  if (second !== undefined) return second;
  throw new UnexpectedContent(`the engine cuts its list of the runs of a single second (${from})`);
};

/** A summary or the details of a run. */
const daguRun = (record: Json): Run => {
  const run = runIn(isObject(record) ? record : {});
  if (run.id !== '' && run.dag !== '') return run;
  throw new UnexpectedContent('a run of the engine has no dagRunId, or no name of its DAG');
};

/** The run of `{dagRunDetails}`, with the members that a newer release may write beside it. */
export const detailsIn = (body: Json): JsonObject => {
  const { dagRunDetails, ...beside } = isObject(body) ? body : {};
  return { ...beside, ...(isObject(dagRunDetails) && dagRunDetails) };
};

/** One run with its steps; undefined where the engine answers 404. `dag`: its name, not its file. */
export const readRun = async (dagu: Dagu, dag: string, id: string, signal: AbortSignal) => {
  const request = route(dagu.dialect, 'GET', '/dag-runs/{name}/{dagRunId}', [dag, id]);
  const answer = await sendOptional(dagu.http, request, signal);
  if (answer === undefined) return undefined;
  const run = daguRun(detailsIn(answer.body));
  if (run.id === id && run.dag === dag) return { run, answer };
  throw new UnexpectedContent(`asked for the run ${id} of ${dag}, the answer is ${run.id} of ${run.dag}`);
};

/** Bounds of logs, which may have any size (R17): what is kept and read of one log, and how many steps of a run. */
const limits = { characters: 65_536, lines: 500, bytes: 2 * 1024 * 1024, steps: 20 };

/** The same with the ends of the logs of failed steps. */
export const readWithLogs = async (dagu: Dagu, dag: string, id: string, signal: AbortSignal) => {
  const found = await readRun(dagu, dag, id, signal);
  if (found === undefined) return undefined;
  const steps: Columns[] = [];
  let failed = 0;
  for (const { values, rest } of found.run.steps ?? []) {
    if (values.state === 'failed') failed += 1;
    const isRead = values.state === 'failed' && failed <= limits.steps;
    const ends = isRead ? await logEnds(dagu, [dag, id, String(values.step_name)], rest, signal) : {};
    steps.push({ values: { ...values, ...ends }, rest });
  }
  return { ...found, run: { ...found.run, steps } };
};

/** The columns of the logs of a step. A log that cannot be read costs itself alone: the run was read with the same credentials. */
const logEnds = async (
  dagu: Dagu,
  names: readonly string[],
  paths: JsonObject,
  signal: AbortSignal,
): Promise<JsonObject> => {
  const ends: Record<string, string> = {};
  for (const stream of ['stdout', 'stderr'].filter((one) => textAt(paths, one))) {
    try {
      const path = '/dag-runs/{name}/{dagRunId}/steps/{stepName}/log';
      const more = { query: { stream, tail: limits.lines }, mostBytes: limits.bytes };
      const { body } = await dagu.http.send(route(dagu.dialect, 'GET', path, names, more), signal);
      const content = textAt(body, 'content');
      if (content === undefined) throw new UnexpectedContent('the answer has no content');
      ends[`${stream}_tail`] = storableText(content.slice(-limits.characters));
    } catch (error) {
      ends.log_problem = `${stream}: ${ofOneRequest(error).message}`;
    }
  }
  return ends;
};
