/** The ends of the logs of steps that failed. A log may be of any size: only so much of it is asked for, taken in and kept. */

import { Missing, Refused, TooLarge, Transient, UnexpectedContent } from '../../core/errors.ts';
import type { Http, Request } from '../../core/request.ts';
import { standingOf } from '../../core/run-states.ts';
import { at, textAt } from '../../reading/offset-list.ts';
import { isForbidden } from './dialect.ts';
import type { JsonObject } from './json-members.ts';
import type { ToldRun } from './normalize.ts';

/** What is kept of one log. */
const mostCharacters = 65_536;
/** What is taken in of one; a line can be of any length, so fewer lines are asked for if many are too much. */
const mostBytes = 2 * 1024 * 1024;
const lines = [1000, 20] as const;
/** Steps whose logs are read, of one run. */
const mostSteps = 20;

/** The run with `tails` on each step that failed and has a log: `{stdout?, stderr?, problem?}`. */
export const withLogs = async (
  http: Http,
  prefix: string,
  told: ToldRun,
  runId: string,
  signal: AbortSignal,
): Promise<ToldRun> => {
  const steps: unknown[] = [];
  let read = 0;
  for (const step of told.steps ?? []) {
    const streams = hasFailed(step) ? (['stdout', 'stderr'] as const).filter((one) => textAt(step, one)) : [];
    if (streams.length === 0) {
      steps.push(step);
      continue;
    }
    read += 1;
    const tails =
      read > mostSteps
        ? { problem: `only the logs of the first ${mostSteps} steps that failed are read` }
        : await tailsOf(
            http,
            `${prefix}/dag-runs`,
            [told.dag, runId, textAt(step, 'name') ?? ''],
            streams,
            signal,
          );
    steps.push({ ...(step as JsonObject), tails });
  }
  return told.steps === undefined ? told : { ...told, steps };
};

const hasFailed = (step: unknown): boolean => {
  const status = at(step, 'status');
  const label = textAt(step, 'label') ?? (typeof status === 'string' ? status : undefined);
  const code = typeof status === 'number' ? status : undefined;
  return standingOf('step', { label, code }).state === 'failed';
};

const tailsOf = async (
  http: Http,
  root: string,
  [dag, run, step]: readonly [string, string, string],
  streams: readonly ('stdout' | 'stderr')[],
  signal: AbortSignal,
): Promise<JsonObject> => {
  if (isNoSegment.test(step)) return { problem: 'the name of the step cannot stand in an address' };
  const path = `${root}/${encodeURIComponent(dag)}/${encodeURIComponent(run)}/steps/${encodeURIComponent(step)}/log`;
  const endpoint = `${root}/{name}/{dagRunId}/steps/{stepName}/log`;
  const tails: Record<string, string> = {};
  for (const stream of streams) {
    const end = await endOfLog(http, { method: 'GET', path, endpoint, mostBytes }, stream, signal);
    if ('problem' in end) tails.problem = `${stream}: ${end.problem}`;
    else tails[stream] = end.content;
  }
  return tails;
};

/** Names that lead out of the path, to the log of the whole run: a URL knows no way to write them. */
const isNoSegment = /^\.{0,2}$/;

/** What keeps us from a log is told beside its step and costs nothing else: the run itself has been read. */
const endOfLog = async (
  http: Http,
  request: Request,
  stream: string,
  signal: AbortSignal,
): Promise<{ readonly content: string } | { readonly problem: string }> => {
  let problem = '';
  for (const tail of lines) {
    try {
      const { body } = await http.send({ ...request, query: { stream, tail } }, signal);
      const content = at(body, 'content');
      if (typeof content !== 'string') return { problem: 'the answer has no content' };
      return { content: shown(content) };
    } catch (cause) {
      if (cause instanceof TooLarge) {
        problem = `its last ${tail} lines are more than ${mostBytes} bytes`;
        continue;
      }
      // The run was shown to these credentials: that its log is not says nothing of them.
      const closed =
        isForbidden(cause) ||
        [Missing, Refused, Transient, UnexpectedContent].some((kind) => cause instanceof kind);
      if (!closed || !(cause instanceof Error)) throw cause;
      return { problem: cause.message };
    }
  }
  return { problem };
};

/** Programs print anything: NUL and halves of surrogate pairs are shown as signs, because Postgres takes neither. */
const shown = (content: string): string =>
  content.slice(-mostCharacters).replaceAll('\0', '␀').toWellFormed();
