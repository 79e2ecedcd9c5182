/** The log of a run as it is written: server-sent events, or one JSON document a line. */

import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { type ServerDeps, usualLimits } from './deps.ts';
import { Rejected } from './envelope.ts';
import type { HttpExchange } from './route.ts';
import type { logStream } from './schemas.ts';

/** Proxies cut a connection that is idle for long. */
const idleMs = 15_000;

/** Open streams, by server. */
const open = new WeakMap<ServerDeps, number>();

export const streamAbout =
  'Server-sent events: `line` with a LogLine as data and its number as id, then `end` with the run. ' +
  'With Accept: application/x-ndjson one LogLine a line. Continues after `after` or Last-Event-ID.';

type LogRequest = z.infer<typeof logStream>;

/**
 * A stream that ends when the run is over and all lines are sent, the reader leaves, or the service ends.
 * Throws NotFound, Rejected.
 */
export async function streamLog(
  deps: ServerDeps,
  { params, query }: LogRequest,
  { request, reply }: HttpExchange,
): Promise<Readable> {
  await deps.control.run(params.dagName, params.runId);
  const readers = open.get(deps) ?? 0;
  if (readers >= (deps.limits?.streams ?? usualLimits.streams)) {
    reply.header('retry-after', '10');
    throw new Rejected(503, 'too many log streams are open; try again later');
  }
  const lastId = String(request.headers['last-event-id']);
  const after = Number(query.after ?? (/^\d{1,15}$/.test(lastId) ? lastId : 0));
  const isPlain = request.headers.accept?.includes('application/x-ndjson') === true;
  // `x-accel-buffering` keeps proxies such as nginx from buffering the lines.
  reply
    .type(isPlain ? 'application/x-ndjson' : 'text/event-stream; charset=utf-8')
    .header('x-accel-buffering', 'no');
  open.set(deps, readers + 1);
  return Readable.from(follow(deps, params, after, isPlain ? asLine : asEvent)).once('close', () =>
    open.set(deps, (open.get(deps) ?? 1) - 1),
  );
}

/** How a line, the end or nothing (to keep the connection open) is written. */
type Write = (event?: 'line' | 'end', data?: unknown, id?: number) => string;

const asLine: Write = (event, data) => (event === 'line' ? `${JSON.stringify(data)}\n` : '\n');
const asEvent: Write = (event, data, id) =>
  event === undefined
    ? ': waiting\n\n'
    : `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

async function* follow(
  { control, trouble, signal, limits }: ServerDeps,
  { dagName, runId }: LogRequest['params'],
  after: number,
  write: Write,
): AsyncGenerator<string> {
  let last = after;
  // Something is sent at once, so that the headers arrive before the first line.
  let sentAt = Number.NEGATIVE_INFINITY;
  try {
    while (!signal.aborted) {
      // In this order: lines written before the end of the run are read after the end is known.
      const run = await control.run(dagName, runId);
      const lines = await control.log(dagName, runId, { after: last });
      for (const line of lines) yield write('line', line, line.seq);
      last = lines.at(-1)?.seq ?? last;
      if (lines.length === 0 && run.finishedAt !== null) return yield write('end', run);
      const isIdle = performance.now() - sentAt > idleMs;
      if (isIdle && lines.length === 0) yield write();
      if (isIdle || lines.length > 0) sentAt = performance.now();
      if (lines.length === 0)
        await sleep(limits?.followMs ?? usualLimits.followMs, undefined, { signal }).catch(() => undefined);
    }
  } catch (error) {
    // The answer has begun: it ends early, and the reader comes back with the last number.
    trouble('a log stream broke off', error);
  }
}
