/** One run at an engine that has a history, asked for by its id. */

import { UnexpectedContent } from '../../core/errors.ts';
import type { Answer, Http } from '../../core/request.ts';
import { type History, segment, there } from './dialect.ts';
import { payloadOf, runIn, type ToldRun } from './normalize.ts';

/** The run with its steps. `dag`: the name of the DAG, not that of its file. Undefined where the engine does not know it. */
export const askRun = async (
  http: Http,
  { prefix }: History,
  dag: string,
  id: string,
  signal: AbortSignal,
): Promise<{ readonly told: ToldRun; readonly answer: Answer } | undefined> => {
  const endpoint = `${prefix}/dag-runs/{name}/{dagRunId}`;
  const path = `${prefix}/dag-runs/${segment(dag)}/${segment(id)}`;
  const answer = await there(http, { method: 'GET', path, endpoint }, signal);
  if (answer === undefined) return undefined;
  const payload = payloadOf(answer.body);
  const told = payload && runIn(payload, dag, 'making');
  if (told?.id !== id)
    throw new UnexpectedContent(`${endpoint}: asked for ${id}, the answer is ${told?.id ?? 'no run'}`);
  return { told, answer };
};
