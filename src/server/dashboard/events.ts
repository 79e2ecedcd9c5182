/** Tells pages that something happened, and reads them the log of a run as it is written. Server-sent events. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pulse } from '../../queries/change-token.ts';
import type { DashboardDeps } from './deps.ts';
import { type SessionOf, safeHeaders } from './security-headers.ts';

/** Pages that follow at once, at most. */
const mostReaders = 200;
/** Proxies cut what says nothing. */
const idleMs = 15_000;

/** Looks, while anybody listens, whether something happened; one look for all listeners. */
interface Pulse {
  /** `hear` gets `change` with the state as a short text, or `trouble` when it cannot be told. */
  listen(hear: (event: 'change' | 'trouble', text: string) => void): () => void;
  stop(): void;
}

function pulses(deps: DashboardDeps, everyMs: number): Pulse {
  const listeners = new Set<(event: 'change' | 'trouble', text: string) => void>();
  let timer: NodeJS.Timeout | undefined;
  let last: { readonly event: 'change' | 'trouble'; readonly text: string } | undefined;
  const look = async (): Promise<void> => {
    const told = await beat(deps).then(
      (text) => ({ event: 'change' as const, text }),
      () => ({ event: 'trouble' as const, text: 'the warehouse does not answer' }),
    );
    const isNew = told.event !== last?.event || told.text !== last.text;
    if (isNew) for (const hear of listeners) hear(told.event, told.text);
    last = told;
    const idle = listeners.size === 0;
    // Whoever comes next is told at once, whatever the last one knew.
    if (idle) last = undefined;
    timer = idle ? undefined : setTimeout(look, everyMs);
  };
  return {
    listen(hear) {
      listeners.add(hear);
      // Something may have happened between the page and its listening.
      if (last !== undefined) hear(last.event, last.text);
      timer ??= setTimeout(look, 0);
      return () => listeners.delete(hear);
    },
    stop() {
      listeners.clear();
      clearTimeout(timer);
    },
  };
}

async function beat({ db, control }: DashboardDeps): Promise<string> {
  const [past, dags] = await Promise.all([pulse(db), control.list()]);
  const requests = dags.map(({ name, last }) =>
    [name, last?.runId, last?.status, last?.stopping, last?.received].join(':'),
  );
  return [past, ...requests].join(' ');
}

/**
 * `/events` says `change` whenever a page may look different; `/events/log/PIPELINE/RUN` sends log lines, and `end` behind the last of a run that
 * is over. Both end with their session.
 */
export function events(app: FastifyInstance, deps: DashboardDeps, sessionOf: SessionOf): void {
  const everyMs = deps.pulseMs ?? 1000;
  const going = pulses(deps, everyMs);
  const open = new Set<Channel>();
  const begin = (request: FastifyRequest, reply: FastifyReply): Channel | undefined => {
    if (open.size >= mostReaders) {
      void reply
        .code(503)
        .header('retry-after', '30')
        .type('text/plain')
        .send('too many pages follow; try later\n');
      return undefined;
    }
    const channel = channelOf(
      request,
      reply,
      (sessionOf(request)?.expiresAt.getTime() ?? 0) - deps.now().getTime(),
    );
    open.add(channel);
    channel.onEnd(() => open.delete(channel));
    return channel;
  };
  app.addHook('preClose', async () => {
    going.stop();
    for (const channel of open) channel.end();
  });

  app.get('/events', (request, reply) => {
    const channel = begin(request, reply);
    if (channel !== undefined) channel.onEnd(going.listen((event, text) => channel.send(event, text)));
  });

  app.get<{ Params: { pipeline: string; runId: string }; Querystring: { after?: string } }>(
    '/events/log/:pipeline/:runId',
    async (request, reply) => {
      const { pipeline, runId } = request.params;
      await deps.control.run(pipeline, runId);
      const channel = begin(request, reply);
      if (channel === undefined) return reply;
      let after = seqOf(request.headers['last-event-id']) ?? seqOf(request.query.after) ?? 0;
      let timer: NodeJS.Timeout | undefined;
      const read = async (): Promise<void> => {
        try {
          // In this order: what is written before a run is over is read after that is known.
          const { finishedAt, status } = await deps.control.run(pipeline, runId);
          const lines = await deps.control.log(pipeline, runId, { after });
          for (const line of lines) {
            channel.send(
              'line',
              JSON.stringify({ at: line.at, level: line.level, message: line.message }),
              line.seq,
            );
            after = line.seq;
          }
          if (finishedAt !== null && lines.length === 0) {
            channel.send('end', status);
            channel.end();
          }
        } catch {
          // The page says so; the next look may succeed.
          channel.send('trouble', 'the log cannot be read');
        }
        if (!channel.isOver()) timer = setTimeout(read, everyMs);
      };
      channel.onEnd(() => clearTimeout(timer));
      await read();
      return reply;
    },
  );
}

const seqOf = (text: unknown): number | undefined =>
  typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined;

/** One open event stream. */
interface Channel {
  send(event: string, text: string, id?: number): void;
  onEnd(work: () => void): void;
  isOver(): boolean;
  end(): void;
}

function channelOf(request: FastifyRequest, reply: FastifyReply, lastsMs: number): Channel {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    ...safeHeaders,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  raw.write(`retry: 3000\n\n`);
  let over = false;
  const work: (() => void)[] = [];
  const end = (): void => {
    if (over) return;
    over = true;
    for (const each of work) each();
    raw.end();
  };
  const idle = setInterval(() => raw.write(': still here\n\n'), idleMs);
  const expiry = setTimeout(end, Math.min(Math.max(0, lastsMs), 2 ** 31 - 1));
  work.push(
    () => clearInterval(idle),
    () => clearTimeout(expiry),
  );
  request.raw.on('close', end);
  raw.on('error', end);
  return {
    send: (event, text, id) => {
      // A reader that does not read must not fill our memory: it may come again.
      if (raw.writableLength > 1 << 20) return end();
      if (!over)
        raw.write(
          `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\n${text
            .split(/\r\n|\r|\n/)
            .map((line) => `data: ${line}\n`)
            .join('')}\n`,
        );
    },
    onEnd: (each) => (over ? each() : void work.push(each)),
    isOver: () => over,
    end,
  };
}
