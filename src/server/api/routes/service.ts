/** Beside the API: is it alive, is it ready, what does it measure, and how is it to be used. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { gate } from '../authenticate.ts';
import type { ServerDeps } from '../deps.ts';
import { openMetrics } from '../metrics.ts';
import { apiPage } from '../page.ts';

export async function serviceRoutes(app: FastifyInstance, deps: ServerDeps): Promise<void> {
  // Alive is alive: whatever it depends on may be down.
  app.get('/healthz', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('text/plain').send('ok\n'),
  );

  const readiness = shared(deps.unready, 1_000);
  app.get('/readyz', { schema: { hide: true } }, async (_request, reply) => {
    const why = await Promise.race([readiness(), sleep(longestLookMs, silent, { ref: false })]);
    reply.header('cache-control', 'no-store').type('text/plain');
    return why.length === 0 ? reply.send('ready\n') : reply.code(503).send(`${why.join('\n')}\n`);
  });

  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json').send(app.swagger()),
  );

  app.get('/api', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header(
        'content-security-policy',
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
      )
      .header('x-content-type-options', 'nosniff')
      .send(apiPage(JSON.parse(JSON.stringify(app.swagger())))),
  );

  await app.register(async (metrics) => {
    gate(metrics, deps, { audited: false });
    const read = openMetrics(deps);
    metrics.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
      const { contentType, text } = await read();
      return reply.type(contentType).send(text);
    });
  });
}

/** A probe does not wait: a look at the warehouse that takes longer, ms, is an answer, too. */
const longestLookMs = 800;
const silent: readonly string[] = ['the warehouse does not answer'];

/**
 * Everybody who asks within `ms`, or before there is an answer, gets the same one: it needs no token, and must not be a way to keep the warehouse
 * busy.
 */
function shared<T>(ask: () => Promise<T>, ms: number): () => Promise<T> {
  let last: { readonly at: number; readonly answer: Promise<T>; over: boolean } | undefined;
  const anew = (): { readonly at: number; readonly answer: Promise<T>; over: boolean } => {
    const asked = { at: performance.now(), answer: ask(), over: false };
    const end = (): void => {
      asked.over = true;
    };
    asked.answer.then(end, end);
    return asked;
  };
  return () => {
    if (last === undefined || (last.over && performance.now() - last.at > ms)) last = anew();
    return last.answer;
  };
}
