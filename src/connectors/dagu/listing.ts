/** The engine's history, of one DAG or of all, as summaries, complete whatever the engine gives at once. */

import { PagingLoop, UnexpectedContent } from '../../core/errors.ts';
import type { Json, Request } from '../../core/request.ts';
import { parseInstant } from '../../core/time.ts';
import { at, textAt } from '../../reading/offset-list.ts';
import type { Workflow } from './dagu.ts';
import { type History, segment } from './dialect.ts';
import { isObject, type JsonObject, textOf } from './json-members.ts';
import { dagNameIn, instantText, runIn, type ToldRun } from './normalize.ts';

/** Whole seconds since 1970 UTC, half open; by when the engine made a run (measured on the vendor's 1.30.2: `from <= made < to`). */
export interface Span {
  readonly from: number;
  readonly to: number | undefined;
}

/** One part of the history. */
export interface Part {
  readonly runs: readonly ToldRun[];
  /** False where the engine gave as many as it gives at most and the part cannot be cut further. */
  readonly whole: boolean;
}

/** The most that 2.x gives at once. */
const pageSize = 500;
/** More pages than that are no history but a circle. */
const mostPages = 10_000;

/**
 * The runs of a DAG, or of all where none is given, that were made in a span, part by part, newest first. 1.x cuts its list silently (measured: at 1000 of 1206) and has no
 * pages: what looks cut is asked for again in two halves. 2.x gives a cursor.
 */
export async function* partsOf(
  workflow: Workflow,
  history: History,
  dag: string | undefined,
  span: Span,
  signal: AbortSignal,
): AsyncGenerator<Part, void, void> {
  const root = `${history.prefix}/dag-runs`;
  const first: Request = {
    method: 'GET',
    path: dag === undefined ? root : `${root}/${segment(dag)}`,
    endpoint: dag === undefined ? root : `${root}/{name}`,
    query: { fromDate: span.from, toDate: span.to, ...(history.prefix === '/api/v1' && { limit: pageSize }) },
  };
  const { body } = await workflow.http.send(first, signal);
  const cursor = textAt(body, 'nextCursor');
  if (cursor !== undefined && cursor !== '') return yield* byCursor(workflow, dag, first, body, signal);
  const found = runsOf(first, body);
  if (!looksCut(found.length)) return yield { runs: toldRuns(found, dag), whole: true };
  const cut = middle(found, span);
  if (cut === undefined) return yield { runs: toldRuns(found, dag), whole: false };
  yield* partsOf(workflow, history, dag, { from: cut, to: span.to }, signal);
  yield* partsOf(workflow, history, dag, { from: span.from, to: cut }, signal);
}

async function* byCursor(
  { http }: Workflow,
  dag: string | undefined,
  first: Request,
  body: Json,
  signal: AbortSignal,
): AsyncGenerator<Part, void, void> {
  const seen = new Set<string>();
  let answer = body;
  for (let page = 1; page <= mostPages; page++) {
    yield { runs: toldRuns(runsOf(first, answer), dag), whole: true };
    const cursor = textAt(answer, 'nextCursor');
    if (cursor === undefined || cursor === '') return;
    if (seen.has(cursor))
      throw new PagingLoop(`${first.endpoint}: the engine gave the cursor of page ${page} before`);
    seen.add(cursor);
    ({ body: answer } = await http.send({ ...first, query: { ...first.query, cursor } }, signal));
  }
  throw new PagingLoop(`${first.endpoint}: more than ${mostPages} pages`);
}

/** Limits are round numbers: 100, 500, 1000. */
const looksCut = (count: number): boolean => count > 0 && count % 100 === 0;

/** An empty list is null. */
const runsOf = ({ endpoint }: Request, body: Json): readonly Json[] => {
  const list = at(body, 'dagRuns');
  if (list === null) return [];
  if (!Array.isArray(list)) throw new UnexpectedContent(`${endpoint}: the answer has no list dagRuns`);
  return list;
};

const toldRuns = (runs: readonly Json[], dag: string | undefined): readonly ToldRun[] =>
  runs.map((run) => {
    const name = dag ?? (isObject(run) ? dagNameIn(run) : undefined);
    const told = isObject(run) && name !== undefined ? runIn(run, name, 'making') : undefined;
    // One that is told apart by its start alone could not be asked for.
    if (told === undefined || textOf(told.run.runId) === undefined)
      throw new UnexpectedContent(
        `a run in the history of ${name ?? 'the engine'} has no id, or no name of its DAG`,
      );
    if (dag !== undefined) mustBeOf(dag, told);
    return told;
  });

/** Throws `UnexpectedContent` for a run that says that it is of another DAG than the one it was asked for by name: it is not of its history. */
export const mustBeOf = (dag: string, { id, run: { name } }: ToldRun): void => {
  if (typeof name === 'string' && name !== '' && name !== dag)
    throw new UnexpectedContent(`asked for runs of ${dag}, the answer has ${id} of ${name}`);
};

/** A second within the span with runs on both sides of it, as far as their starts tell; undefined where there is none left. */
const middle = (runs: readonly Json[], { from, to }: Span): number | undefined => {
  const starts = runs.flatMap((run) => secondOf(run) ?? []).sort((a, b) => a - b);
  const wanted = starts[Math.floor(starts.length / 2)];
  if (wanted !== undefined && wanted > from && (to === undefined || wanted < to)) return wanted;
  const end = to ?? Math.max(from, ...starts.slice(-1)) + 2;
  const half = Math.floor((from + end) / 2);
  return half > from && half < end ? half : undefined;
};

const secondOf = (run: Json): number | undefined => {
  if (!isObject(run)) return undefined;
  const { begun, run: told } = runIn(run, '', 'making') ?? {};
  const text = begun ?? startOf(told ?? {});
  return text === undefined ? undefined : Number(parseInstant(text) / 1_000_000n);
};

const startOf = ({ queuedAt, startedAt }: JsonObject): string | undefined =>
  instantText(queuedAt) ?? instantText(startedAt);

/** When a run came to be, as far as it tells: made, else queued, else started. RFC 3339. */
export const beganAt = ({ begun, run }: ToldRun): string | undefined => begun ?? startOf(run);
