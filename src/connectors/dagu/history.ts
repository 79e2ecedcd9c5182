/** Requests to Dagu, 1.30 and 2.x: summaries of runs, one run with its steps, and the ends of the logs of failed steps. */

import * as errors from '../../core/errors.ts';
import type { Paging } from '../../core/paging.ts';
import type { JsonObject } from '../../core/record-object.ts';
import { isObject } from '../../core/record-object.ts';
import type { Answer, Http, Json, Request } from '../../core/request.ts';
import { parseInstant } from '../../core/time.ts';
import { at, textAt } from '../../reading/offset-list.ts';
import { pages } from '../../reading/pages.ts';
import { isOfOneRequest, route, sendOptional } from './client.ts';
import { prefixOf } from './dialect.ts';
import type { Dialect, Run, Step } from './fields.ts';
import * as fields from './fields.ts';

export interface Dagu {
  readonly http: Http;
  readonly dialect: Exclude<Dialect, 'contract'>;
}

/** A request below the prefix of the dialect. */
export const daguRoute = ({ dialect }: Dagu, ...[method, path, ...more]: Parameters<typeof route>): Request =>
  route(method, prefixOf(dialect) + path, ...more);

/** When runs were made: whole seconds since 1970 UTC, `from <= made < to` (measured on 1.30.2; 0 would mean today). */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** All runs of a source whose clock shows this, with a day of slack: runs are made while they are read. */
export const allUntil = (clock: Date): Span => ({ from: 1, to: Math.ceil(clock.getTime() / 1000) + 86_400 });

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
  if (runs !== null && !Array.isArray(runs))
    throw new errors.UnexpectedContent('the answer of the engine has no list dagRuns');
  return runs ?? [];
};

/**
 * The runs of a DAG, or of all DAGs, the newest first. 1.30 cuts its list silently (measured: at 1000 of 1206), so a list as
 * long as a limit is divided at a second and read again. 500 is the largest page of 2.x. Throws `UnexpectedContent` for a run
 * without an id or of another DAG, and where a list is cut that cannot be divided.
 */
export async function* historyOf(
  dagu: Dagu,
  dag: string | undefined,
  { from, to }: Span,
  signal: AbortSignal,
): AsyncGenerator<readonly Run[], void, void> {
  const query = { fromDate: from, toDate: to, limit: dagu.dialect === '2.x' ? 500 : undefined };
  const [path, names] = dag === undefined ? ['/dag-runs', []] : ['/dag-runs/{name}', [dag]];
  const first = daguRoute(dagu, 'GET', path, names, { query });
  const id = (run: Json) =>
    JSON.stringify(['name', 'dagRunId', 'log', 'startedAt'].map((key) => at(run, key)));
  for await (const { records } of pages(dagu.http, { first, paging: byCursor, list: runList, id }, signal)) {
    const runs = records.map((record) => runIn(record, dag));
    if (dagu.dialect === '2.x' || runs.length === 0 || runs.length % 100 !== 0) yield runs;
    else {
      const second = divide(runs, { from, to });
      yield* historyOf(dagu, dag, { from: second, to }, signal);
      yield* historyOf(dagu, dag, { from, to: second }, signal);
    }
  }
}

/** A second that divides the span, with runs on both sides of it where possible. */
const divide = (runs: readonly Run[], { from, to }: Span): number => {
  const made = runs.flatMap((run) => fields.beganAt(run) ?? []).sort();
  const median = Number(parseInstant(made[Math.floor(made.length / 2)] ?? 0) / 1_000_000n);
  if (median > from && median < to) return median;
  const half = Math.floor((from + to) / 2);
  if (half > from) return half;
  throw new errors.UnexpectedContent(`the engine cuts its list of the runs of a single second (${from})`);
};

const runIn = (record: Json, dag: string | undefined): Run => {
  const run = isObject(record) ? fields.daguRun(record, dag) : undefined;
  if (!run?.id || run.dag === '')
    throw new errors.UnexpectedContent(
      `a run in the history of ${dag ?? 'the engine'} has no dagRunId, or no name of its DAG`,
    );
  const name = fields.memberOf(run.members, fields.runNames, 'name') ?? run.dag;
  if (name !== run.dag)
    throw new errors.UnexpectedContent(`asked for runs of ${run.dag}, the answer has ${run.id} of ${name}`);
  return run;
};

/** The run of `{dagRunDetails}`, with the members that a newer release may write beside it. */
export const detailsIn = (body: Json): JsonObject | undefined => {
  if (!isObject(body) || !isObject(body.dagRunDetails)) return undefined;
  const { dagRunDetails, ...beside } = body;
  return { ...beside, ...(dagRunDetails as JsonObject) };
};

/** One run with its steps, and the answer; undefined where the engine does not know it. `dag`: its name, not its file. */
export const readRun = async (
  dagu: Dagu,
  dag: string,
  id: string,
  signal: AbortSignal,
): Promise<{ readonly run: Run; readonly answer: Answer } | undefined> => {
  const request = daguRoute(dagu, 'GET', '/dag-runs/{name}/{dagRunId}', [dag, id]);
  const answer = await sendOptional(dagu.http, request, signal);
  if (answer === undefined) return undefined;
  const run = runIn(detailsIn(answer.body), dag);
  if (run.id === id) return { run, answer };
  throw new errors.UnexpectedContent(`${request.endpoint}: asked for ${id}, the answer is ${run.id}`);
};

/** Bounds of logs, which may have any size (R17): of one log what is kept and read, and how many steps of a run. */
const limits = { characters: 65_536, lines: 500, bytes: 2 * 1024 * 1024, steps: 20 };

/** The run with the ends of the logs of its failed steps. */
export const withLogs = async (dagu: Dagu, run: Run, signal: AbortSignal): Promise<Run> => {
  const logs: Record<string, JsonObject> = {};
  for (const [place, step] of fields.stepsOf(run.members).steps.entries()) {
    const streams = ['stdout', 'stderr'].filter((stream) => textAt(step.rest, stream));
    if (fields.stateIn(step.values, 'step').state !== 'failed' || streams.length === 0) continue;
    logs[place] =
      Object.keys(logs).length < limits.steps
        ? await logEnds(dagu, run, step, streams, signal)
        : { problem: `only the logs of the first ${limits.steps} failed steps are read` };
  }
  return { ...run, logs };
};

/** A log that cannot be read costs itself alone: the run was read with the same credentials. */
const logEnds = async (
  dagu: Dagu,
  { dag, id }: Run,
  { values }: Step,
  streams: readonly string[],
  signal: AbortSignal,
): Promise<JsonObject> => {
  const ends: Record<string, string> = {};
  for (const stream of streams) {
    try {
      const path = '/dag-runs/{name}/{dagRunId}/steps/{stepName}/log';
      const more = { query: { stream, tail: limits.lines }, mostBytes: limits.bytes };
      const names = [dag, id, String(values.step_name)];
      const { body } = await dagu.http.send(daguRoute(dagu, 'GET', path, names, more), signal);
      const content = at(body, 'content');
      if (typeof content !== 'string') throw new errors.UnexpectedContent('the answer has no content');
      // Programs print anything: Postgres holds neither NUL nor half of a surrogate pair.
      ends[stream] = content.slice(-limits.characters).replaceAll('\0', '␀').toWellFormed();
    } catch (cause) {
      const isOwn = cause instanceof errors.Misconfigured || cause instanceof errors.AuthFailed;
      if (!isOwn && !isOfOneRequest(cause)) throw cause;
      ends.problem = `${stream}: ${cause.message}`;
    }
  }
  return ends;
};
