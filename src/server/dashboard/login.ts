/** Signing in and out. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { attemptLimit } from '../api/tokens.ts';
import type { DashboardDeps } from './deps.ts';
import type { Page } from './layout.ts';
import { nextOf, signIn } from './pages/message.ts';
import { fieldOf, type SessionOf } from './security-headers.ts';
import { type Sessions, setCookie } from './session.ts';

/** Sends a page. */
export type Show = (
  request: FastifyRequest,
  reply: FastifyReply,
  page: Page,
  status?: number,
) => FastifyReply;

export function door(
  app: FastifyInstance,
  { trouble }: Pick<DashboardDeps, 'trouble'>,
  sessions: Sessions,
  sessionOf: SessionOf,
  show: Show,
): void {
  const guesses = attemptLimit();

  app.get<{ Querystring: { next?: string } }>('/login', { config: { open: true } }, (request, reply) => {
    const next = nextOf(request.query.next);
    return sessionOf(request) === undefined ? show(request, reply, signIn(next)) : reply.redirect(next, 303);
  });

  app.post('/login', { config: { open: true } }, (request, reply) => {
    const next = nextOf(fieldOf(request.body, 'next'));
    const seconds = guesses.waitOf(request.ip);
    if (seconds > 0) {
      reply.header('retry-after', seconds);
      return show(request, reply, signIn(next, `Too many wrong tokens. Try again in ${seconds} s.`), 429);
    }
    const role = sessions.roleOf(fieldOf(request.body, 'token') ?? '');
    if (role === undefined) {
      const holdsBack = guesses.failed(request.ip);
      trouble(
        `${request.ip} signed in with a wrong token${holdsBack ? ' once too often; it is held back' : ''}`,
      );
      return show(request, reply, signIn(next, 'That is not the token.'), 403);
    }
    const { value } = sessions.open(role);
    return reply
      .header('set-cookie', setCookie(sessions.cookie, value, 12 * 3600, request.protocol === 'https'))
      .redirect(next, 303);
  });

  app.post('/logout', { config: { reading: true } }, (request, reply) => {
    const session = sessionOf(request);
    if (session !== undefined) sessions.close(session);
    return reply
      .header('set-cookie', setCookie(sessions.cookie, '', 0, request.protocol === 'https'))
      .redirect('/login', 303);
  });
}
