import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Fault, Scene } from './faults.ts';
import type { Answer } from './http.ts';

const packed = promisify(gzip);

/** Writes an answer as it should be. */
const plainly = async (answer: Answer, scene: Scene): Promise<void> => {
  const { response, signal } = scene;
  if (signal.aborted) return;
  const length = answer.status === 204 ? {} : { 'content-length': answer.body.length };
  response.writeHead(answer.status, { ...answer.headers, ...length });
  response.end(answer.body);
};

/** Compresses an answer if the client takes it and it is worth it. */
export const compressed = async (answer: Answer, accepted: string | undefined): Promise<Answer> => {
  const wanted = (accepted ?? '').split(',').some((one) => one.trim().split(';', 1)[0] === 'gzip');
  if (!wanted || answer.body.length < 1024 || answer.headers['content-encoding'] !== undefined) return answer;
  return {
    ...answer,
    headers: { ...answer.headers, 'content-encoding': 'gzip' },
    body: await packed(answer.body, { level: 1 }),
  };
};

/** Sends an answer through the faults that were scripted for it. */
export const deliver = async (answer: Answer, scene: Scene, faults: readonly Fault[]): Promise<void> => {
  const send = faults.find((one) => one.send !== undefined)?.send ?? plainly;
  await send(answer, scene);
};
