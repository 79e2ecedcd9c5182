/** Beside the API: liveness, readiness, metrics, and its description. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { authenticate } from './authenticate.ts';
import type { ServerDeps } from './deps.ts';
import { openMetrics } from './metrics.ts';
import { apiText, openapi } from './openapi.ts';

/** A probe must not wait: a warehouse that is slower than this, ms, counts as not answering. */
const longestProbeMs = 800;

export async function serviceRoutes(app: FastifyInstance, deps: ServerDeps): Promise<void> {
  // Liveness depends on nothing else.
  app.get('/healthz', async (_request, reply) => reply.type('text/plain').send('ok\n'));

  const readiness = shared(deps.unready, 1_000);
  app.get('/readyz', async (_request, reply) => {
    const late = sleep(longestProbeMs, ['the warehouse does not answer'], { ref: false });
    const reasons = await Promise.race([readiness(), late]);
    reply.header('cache-control', 'no-store').type('text/plain');
    return reasons.length === 0 ? reply.send('ready\n') : reply.code(503).send(`${reasons.join('\n')}\n`);
  });

  app.get('/openapi.json', async () => openapi(deps.version));

  // With pages it is one of them.
  if (deps.pages === undefined)
    app.get('/api', async (_request, reply) => reply.type('text/plain; charset=utf-8').send(apiText()));

  await app.register(async (metrics) => {
    authenticate(metrics, deps, false);
    const read = openMetrics(deps);
    metrics.get('/metrics', async (_request, reply) => {
      const { contentType, text } = await read();
      return reply.type(contentType).send(text);
    });
  });
}

/**
 * Shares one call among all callers until it has ended, and its answer for `ms` after that: callers must not be able to
 * keep the warehouse busy.
 */
export function shared<T>(call: () => Promise<T>, ms: number): () => Promise<T> {
  let last: Promise<T> | undefined;
  const forget = () => void setTimeout(() => (last = undefined), ms).unref();
  return () => {
    last ??= call().finally(forget);
    return last;
  };
}
