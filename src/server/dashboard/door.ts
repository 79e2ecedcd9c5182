/** Signing in and out. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { attempts } from './attempts.ts';
import { fieldOf, type SessionOf } from './guard.ts';
import type { Page } from './layout.ts';
import { nextOf, signIn } from './pages/plain.ts';
import { type Sessions, setCookie } from './session.ts';

/** Sends a page. */
export type Show = (request: FastifyRequest, reply: FastifyReply, page: Page, status?: number) => FastifyReply;

export function door(app: FastifyInstance, sessions: Sessions, sessionOf: SessionOf, show: Show): void {
  const tries = attempts(() => performance.now());

  app.get<{ Querystring: { next?: string } }>('/login', { config: { open: true } }, (request, reply) => {
    const next = nextOf(request.query.next);
    return sessionOf(request) === undefined ? show(request, reply, signIn(next)) : reply.redirect(next, 303);
  });

  app.post('/login', { config: { open: true } }, (request, reply) => {
    const next = nextOf(fieldOf(request.body, 'next'));
    const waitMs = tries.waitMs(request.ip);
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1000);
      reply.header('retry-after', seconds);
      return show(request, reply, signIn(next, `Too many wrong tokens. Try again in ${seconds} s.`), 429);
    }
    if (!sessions.isToken(fieldOf(request.body, 'token') ?? '')) {
      tries.failed(request.ip);
      request.log.warn({ address: request.ip }, 'a wrong token at the dashboard');
      return show(request, reply, signIn(next, 'That is not the token.'), 403);
    }
    tries.succeeded(request.ip);
    const { value } = sessions.open();
    return reply
      .header('set-cookie', setCookie(sessions.cookie, value, 12 * 3600, request.protocol === 'https'))
      .redirect(next, 303);
  });

  app.post('/logout', (request, reply) => {
    const session = sessionOf(request);
    if (session !== undefined) sessions.close(session);
    return reply
      .header('set-cookie', setCookie(sessions.cookie, '', 0, request.protocol === 'https'))
      .redirect('/login', 303);
  });
}
