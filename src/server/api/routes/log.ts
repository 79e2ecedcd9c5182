/** The log of a run: its tail, and as it is written. */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { LogLine } from '../../../scheduler/control.ts';
import type { Limits, ServerDeps } from '../deps.ts';
import { failure, success } from '../envelope.ts';
import { dagName, enveloped, refusals, runId } from '../schemas.ts';
import { nameOf, runIdOf, textsOf } from './dags.ts';

const namedRun = { type: 'object', required: ['dagName', 'runId'], properties: { dagName, runId } } as const;
const number = { type: 'string', pattern: '^[0-9]{1,15}$' } as const;

/** Proxies cut what says nothing for long. */
const silenceMs = 15_000;

export function logRoutes(app: FastifyInstance, deps: ServerDeps, limits: Limits): void {
  const { control, signal } = deps;
  let readers = 0;

  app.get(
    '/dags/:dagName/runs/:runId/log',
    {
      schema: {
        summary: 'Lines of the log of a run',
        operationId: 'getLog',
        params: namedRun,
        querystring: {
          type: 'object',
          additionalProperties: false,
          properties: {
            tail: { ...number, description: 'Only the last so many, up to 1000.' },
            after: { ...number, description: 'Only lines behind this one: `next` of the answer before.' },
          },
        },
        response: {
          200: enveloped(
            {
              type: 'object',
              required: ['lines', 'next'],
              properties: {
                lines: { type: 'array', items: { $ref: 'LogLine#' } },
                next: { type: 'integer', description: '`after` of the next look.' },
              },
            },
            'Lines, oldest first, at most 1000.',
          ),
          ...refusals,
        },
      },
    },
    async (request) => {
      const { tail, after } = textsOf(request.query);
      const lines = await control.log(nameOf(request), runIdOf(request), {
        ...(tail === undefined ? {} : { tail: Number(tail) }),
        ...(after === undefined ? {} : { after: Number(after) }),
      });
      return success({ lines, next: lines.at(-1)?.seq ?? Number(after ?? 0) });
    },
  );

  app.get(
    '/dags/:dagName/runs/:runId/log/stream',
    {
      // Without a body it would only be a connection that stays.
      exposeHeadRoute: false,
      schema: {
        summary: 'The log of a run as it is written, until the run is over',
        operationId: 'streamLog',
        description:
          'Server-sent events: `line` with a LogLine as data and its number as id, then `end` with the run. With Accept: application/x-ndjson one LogLine a line. Goes on behind `after` or Last-Event-ID.',
        params: namedRun,
        querystring: { type: 'object', additionalProperties: false, properties: { after: number } },
        response: {
          200: {
            description: 'The lines, as they are written.',
            content: {
              'text/event-stream': { schema: { type: 'string' } },
              'application/x-ndjson': { schema: { $ref: 'LogLine#' } },
            },
          },
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const [name, id] = [nameOf(request), runIdOf(request)];
      await control.run(name, id);
      if (readers >= limits.streams)
        return reply
          .code(503)
          .header('retry-after', '10')
          .send(failure('too many follow logs already; try again later'));
      const lastId = request.headers['last-event-id'];
      const after = Number(textsOf(request.query).after ?? (/^\d{1,15}$/.test(String(lastId)) ? lastId : 0));
      const plain = request.headers.accept?.includes('application/x-ndjson') === true;
      readers += 1;
      try {
        await follow(
          { ...deps, name, id, everyMs: limits.followMs },
          after,
          await begin(reply, plain),
          signal,
        );
      } finally {
        readers -= 1;
      }
      return reply;
    },
  );
}

/** Where lines are sent. */
interface Sending {
  line(line: LogLine): string;
  end(run: unknown): string;
  readonly idle: string;
  readonly gone: AbortSignal;
  write(text: string): Promise<void>;
  close(): void;
}

async function begin(reply: FastifyReply, plain: boolean): Promise<Sending> {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  reply.hijack();
  reply.raw.writeHead(200, {
    'content-type': plain ? 'application/x-ndjson' : 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    // Proxies such as nginx would keep the lines to themselves.
    'x-accel-buffering': 'no',
  });
  reply.raw.flushHeaders();
  return {
    line: (line) =>
      plain ? `${JSON.stringify(line)}\n` : `id: ${line.seq}\nevent: line\ndata: ${JSON.stringify(line)}\n\n`,
    end: (run) => (plain ? '' : `event: end\ndata: ${JSON.stringify(run)}\n\n`),
    idle: plain ? '\n' : ': waiting\n\n',
    gone: gone.signal,
    async write(text) {
      if (text === '' || reply.raw.destroyed || reply.raw.write(text)) return;
      // A reader that does not read makes us wait, not remember.
      await once(reply.raw, 'drain', { signal: gone.signal }).catch(() => undefined);
    },
    close: () => reply.raw.end(),
  };
}

interface Followed extends Pick<ServerDeps, 'control' | 'trouble'> {
  readonly name: string;
  readonly id: string;
  readonly everyMs: number;
}

/** Sends lines until the run is over and all of them are sent, the reader is gone, or the service ends. */
async function follow(what: Followed, after: number, sending: Sending, ending: AbortSignal): Promise<void> {
  const { control, trouble, name, id, everyMs } = what;
  const over = AbortSignal.any([ending, sending.gone]);
  let last = after;
  let saidAt = performance.now();
  try {
    while (!over.aborted) {
      // In this order: what is written before a run is over is read after that is known.
      const run = await control.run(name, id);
      const lines = await control.log(name, id, { after: last });
      for (const line of lines) await sending.write(sending.line(line));
      last = lines.at(-1)?.seq ?? last;
      if (lines.length > 0) saidAt = performance.now();
      else if (run.finishedAt !== null) {
        await sending.write(sending.end(run));
        return;
      } else if (performance.now() - saidAt > silenceMs) {
        await sending.write(sending.idle);
        saidAt = performance.now();
      }
      if (lines.length === 0) await sleep(everyMs, undefined, { signal: over }).catch(() => undefined);
    }
  } catch (error) {
    // The answer has begun: all that can be said is that it ends early; a reader comes back with the last number.
    trouble('a log stream broke off', error);
  } finally {
    sending.close();
  }
}
