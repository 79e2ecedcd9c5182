/** Writes down what people do, as the control API does: before it is done, and what came of it; refusals, too. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { answered, type Deed, intended } from '../api/audit.ts';
import type { DashboardDeps } from './deps.ts';
import { fieldOf, type SessionOf } from './security-headers.ts';

/** For every route of this scope. Put before them. */
export function audited(app: FastifyInstance, { db, trouble }: DashboardDeps, sessionOf: SessionOf): void {
  const lines = new WeakMap<FastifyRequest, string>();
  const deedOf = (request: FastifyRequest): Deed => ({
    role: sessionOf(request)?.role ?? 'nobody',
    address: request.ip,
    action: `${request.method} ${request.routeOptions.url ?? ''} of the dashboard`,
    pipeline: fieldOf(request.body, 'pipeline') ?? null,
    dagRunId: fieldOf(request.body, 'runId') ?? fieldOf(request.body, 'run') ?? null,
    params:
      ['from', 'to']
        .flatMap((name) => {
          const value = fieldOf(request.body, name);
          return value === undefined ? [] : [`${name.toUpperCase()}=${value}`];
        })
        .join(' ') || null,
  });
  // What cannot be written down is not done.
  app.addHook('preHandler', async (request) => {
    lines.set(request, await intended(db, deedOf(request)));
  });
  app.addHook('onSend', async (request, reply, payload) => {
    try {
      const line = lines.get(request) ?? (await intended(db, deedOf(request)));
      const to = /^\/requests\/[^/]+\/(?<id>[^/]+)$/.exec(String(reply.getHeader('location') ?? ''))?.groups
        ?.id;
      await answered(db, line, {
        httpStatus: reply.statusCode,
        message: null,
        dagRunId: to === undefined ? null : decodeURIComponent(to),
      });
    } catch (error) {
      trouble('a line of the audit could not be completed', error);
    }
    return payload;
  });
}
