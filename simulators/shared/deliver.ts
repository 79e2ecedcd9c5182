import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Fault, Scene, Whole } from './faults.ts';
import { type Answer, lengthOf, wholeOf } from './http.ts';

const packed = promisify(gzip);

/** Aborted when the client goes before it has its answer, or when the server closes. */
export const untilGone = (response: ServerResponse, closing: AbortSignal): AbortSignal => {
  const left = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) left.abort();
  });
  return AbortSignal.any([left.signal, closing]);
};

/** Writes an answer as it should be. */
const plainly = async (answer: Answer, scene: Scene): Promise<void> => {
  const { response, signal } = scene;
  if (signal.aborted) return;
  const length = answer.status === 204 ? {} : { 'content-length': lengthOf(answer.body) };
  response.writeHead(answer.status, { ...answer.headers, ...length });
  response.cork();
  for (const piece of answer.body) response.write(piece);
  response.end();
  response.uncork();
};

/** Compresses an answer if the client takes it and it is worth it. */
export const compressed = async (answer: Answer, accepted: string | undefined): Promise<Answer> => {
  const wanted = (accepted ?? '').split(',').some((one) => one.trim().split(';', 1)[0] === 'gzip');
  if (!wanted || lengthOf(answer.body) < 1024 || answer.headers['content-encoding'] !== undefined)
    return answer;
  return {
    ...answer,
    headers: { ...answer.headers, 'content-encoding': 'gzip' },
    body: [await packed(wholeOf(answer.body), { level: 1 })],
  };
};

/** Sends an answer the way one of the faults wants, or plainly. */
export const deliver = async (answer: Answer, scene: Scene, faults: readonly Fault[]): Promise<void> => {
  const send = faults.find((one) => one.send !== undefined)?.send;
  if (send === undefined) await plainly(answer, scene);
  else await send({ ...answer, body: wholeOf(answer.body) }, scene);
};

/** The answer as the faults leave it. */
export const spoiled = (answer: Answer, scene: Scene, faults: readonly Fault[]): Answer => {
  const spoilers = faults.flatMap((one) => one.answer ?? []);
  if (spoilers.length === 0) return answer;
  let whole: Whole = { ...answer, body: wholeOf(answer.body) };
  for (const spoil of spoilers) whole = spoil(whole, scene);
  return { ...whole, body: [whole.body] };
};
