/** Requests to Dagu, 1.30 and 2.x: summaries of all runs, one run with its steps, and the ends of the logs of failed steps. */

import * as errors from '../../core/errors.ts';
import type { Paging } from '../../core/paging.ts';
import { isObject, type JsonObject } from '../../core/record-object.ts';
import type { Answer, Http, Json, Request } from '../../core/request.ts';
import { parseInstant } from '../../core/time.ts';
import { at, textAt } from '../../reading/offset-list.ts';
import { pages } from '../../reading/pages.ts';
import { ifThere, route } from './client.ts';
import { prefixOf } from './dialect.ts';
import { beganAt, type Dialect, type Run, runIn, type Step, standingIn } from './fields.ts';

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

/** One part of the history. `whole` is false where it was cut and cannot be divided. */
export interface Part {
  readonly runs: readonly Run[];
  readonly whole: boolean;
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
  if (runs !== null && !Array.isArray(runs))
    throw new errors.UnexpectedContent('the answer of the engine has no list dagRuns');
  return runs ?? [];
};

/**
 * The runs of a DAG, or of all DAGs, part by part. 1.30 cuts its list silently (measured: at 1000 of 1206), so a list as
 * long as a limit is divided at a second and read again. 500 is the largest page of 2.x. Throws `UnexpectedContent` for a run
 * without an id or of another DAG.
 */
export async function* historyOf(
  dagu: Dagu,
  dag: string | undefined,
  { from, to }: Span,
  signal: AbortSignal,
): AsyncGenerator<Part, void, void> {
  const query = { fromDate: from, toDate: to, limit: dagu.dialect === '2.x' ? 500 : undefined };
  const [path, names] = dag === undefined ? ['/dag-runs', []] : ['/dag-runs/{name}', [dag]];
  const first = daguRoute(dagu, 'GET', path, names, { query });
  const id = (run: Json) =>
    JSON.stringify(['name', 'dagRunId', 'log', 'startedAt'].map((key) => at(run, key)));
  const walk = pages(dagu.http, { first, paging: byCursor, list: runList, id }, signal);
  for await (const { records } of walk) {
    const runs = records.map((record) => daguRun(record, dagu.dialect, dag));
    const isCut = dagu.dialect === '1.30' && runs.length > 0 && runs.length % 100 === 0;
    const second = isCut ? divide(runs, { from, to }) : undefined;
    if (second === undefined) yield { runs, whole: !isCut };
    else {
      yield* historyOf(dagu, dag, { from: second, to }, signal);
      yield* historyOf(dagu, dag, { from, to: second }, signal);
    }
  }
}

/** A second that divides the span, with runs on both sides of it where possible; undefined for a span of one second. */
const divide = (runs: readonly Run[], { from, to }: Span): number | undefined => {
  const made = runs.flatMap((run) => beganAt(run) ?? []).sort();
  const median = Number(parseInstant(made[Math.floor(made.length / 2)] ?? 0) / 1_000_000n);
  if (median > from && median < to) return median;
  const half = Math.floor((from + to) / 2);
  return half > from ? half : undefined;
};

const daguRun = (record: Json, dialect: Dagu['dialect'], dag: string | undefined): Run => {
  const run = isObject(record) ? runIn(record, dialect, dag) : undefined;
  if (!run?.id || run.dag === '')
    throw new errors.UnexpectedContent(
      `a run in the history of ${dag ?? 'the engine'} has no dagRunId, or no name of its DAG`,
    );
  const { name } = run.known;
  if (typeof name === 'string' && name !== '' && name !== run.dag)
    throw new errors.UnexpectedContent(`asked for runs of ${run.dag}, the answer has ${run.id} of ${name}`);
  return run;
};

/** The run of `{dagRunDetails}`, with the members that a newer release may write beside it. */
export const detailsIn = (body: Json): JsonObject | undefined => {
  if (!isObject(body) || !isObject(body.dagRunDetails)) return undefined;
  const { dagRunDetails: _, ...beside } = body;
  return { ...beside, ...body.dagRunDetails };
};

/** One run with its steps, and the answer; undefined where the engine does not know it. `dag`: its name, not its file. */
export const askRun = async (
  dagu: Dagu,
  dag: string,
  id: string,
  signal: AbortSignal,
): Promise<{ readonly run: Run; readonly answer: Answer } | undefined> => {
  const request = daguRoute(dagu, 'GET', '/dag-runs/{name}/{dagRunId}', [dag, id]);
  const answer = await ifThere(dagu.http, request, signal);
  if (answer === undefined) return undefined;
  const run = daguRun(detailsIn(answer.body), dagu.dialect, dag);
  if (run.id === id) return { run, answer };
  throw new errors.UnexpectedContent(`${request.endpoint}: asked for ${id}, the answer is ${run.id}`);
};

/** Bounds of logs, which may have any size (R17): of one log what is kept and read, and steps of one run. */
const limits = { characters: 65_536, bytes: 2 * 1024 * 1024, steps: 20 };
/** A line can have any length, so fewer are asked for where many are too much. */
const lineCounts = [1000, 20];

/** The run with `tails: {stdout?, stderr?, problem?}`, the ends of its logs, on each failed step that has logs. */
export const withLogs = async (dagu: Dagu, run: Run, signal: AbortSignal): Promise<Run> => {
  const steps: Step[] = [];
  let read = 0;
  for (const step of run.steps) {
    const isFailed = standingIn(step.known, 'step').state === 'failed';
    const streams = ['stdout', 'stderr'].filter((stream) => isFailed && textAt(step.rest, stream));
    if (streams.length > 0) read += 1;
    const problem = `only the logs of the first ${limits.steps} failed steps are read`;
    if (streams.length === 0) steps.push(step);
    else if (read > limits.steps) steps.push({ ...step, tails: { problem } });
    else steps.push({ ...step, tails: await tailsOf(dagu, run, step, streams, signal) });
  }
  return { ...run, steps };
};

/** What fails a log alone: the run itself was read with the same credentials. */
const ofLog = [
  ...[errors.AuthFailed, errors.Misconfigured, errors.Missing, errors.Refused],
  ...[errors.TooLarge, errors.Transient, errors.UnexpectedContent],
];

const tailsOf = async (
  dagu: Dagu,
  { dag, id }: Run,
  { known }: Step,
  streams: readonly string[],
  signal: AbortSignal,
): Promise<JsonObject> => {
  const tails: Record<string, string> = {};
  for (const stream of streams) {
    try {
      const path = '/dag-runs/{name}/{dagRunId}/steps/{stepName}/log';
      const more = { query: { stream }, mostBytes: limits.bytes };
      const request = daguRoute(dagu, 'GET', path, [dag, id, String(known.step_name)], more);
      tails[stream] = await tailOf(dagu.http, request, signal);
    } catch (cause) {
      if (!(cause instanceof Error && ofLog.some((kind) => cause instanceof kind))) throw cause;
      tails.problem = `${stream}: ${cause.message}`;
    }
  }
  return tails;
};

const tailOf = async (http: Http, request: Request, signal: AbortSignal): Promise<string> => {
  for (const tail of lineCounts) {
    try {
      const { body } = await http.send({ ...request, query: { ...request.query, tail } }, signal);
      const content = at(body, 'content');
      if (typeof content !== 'string') throw new errors.UnexpectedContent('the answer has no content');
      // Programs print anything: Postgres holds neither NUL nor half of a surrogate pair.
      return content.slice(-limits.characters).replaceAll('\0', '␀').toWellFormed();
    } catch (cause) {
      if (!(cause instanceof errors.TooLarge)) throw cause;
    }
  }
  throw new errors.TooLarge(`its last ${lineCounts.at(-1)} lines are more than ${limits.bytes} bytes`);
};
