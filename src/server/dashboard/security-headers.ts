/** What every request passes: headers, the name it was sent to, who sends it, and for forms where they come from. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isThisMachine } from '../../core/this-machine.ts';
import { type Session, type Sessions, setCookie } from './session.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** May be asked for without a session: styles, scripts and the sign-in page. */
    readonly open?: boolean;
    /** A form that changes nothing but the session. */
    readonly reading?: boolean;
  }
}

/** Headers of every answer. Styles and scripts come from our own files only, images also from Pico's `data:`; nothing may frame a page. */
export const safeHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};

/** The session of a request that passed the guard. */
export type SessionOf = (request: FastifyRequest) => Session | undefined;

/**
 * Lets a request pass or answers it. A page without a session leads to the sign-in; a form from another site, or without its session's
 * token, is refused with 403. Without an API token only names of this machine are answered: another name that leads here is not ours.
 */
export function guard(app: FastifyInstance, sessions: Sessions, refuse: Refuse): SessionOf {
  const known = new WeakMap<FastifyRequest, Session>();
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(safeHeaders);
    reply.header('cache-control', 'no-store');
    if (!sessions.needsToken && !isThisMachine(nameOf(request.headers.host)))
      return refuse(reply, 421, 'Without an API token the dashboard answers to names of this machine only.');
    const session = sessions.read(request.headers.cookie);
    if (session !== undefined) known.set(request, session);
    else if (!sessions.needsToken) known.set(request, welcome(request, reply, sessions));
    else if (request.routeOptions.config.open !== true) return toSignIn(request, reply, refuse);
    if (request.method === 'POST' && !isSameOrigin(request))
      return refuse(reply, 403, 'This form was sent from another site.');
    return undefined;
  });
  app.addHook('preHandler', async (request, reply) => {
    // Signing in needs no session, so it has no token to carry; its origin was checked.
    if (request.method !== 'POST' || request.routeOptions.config.open === true) return undefined;
    const session = known.get(request);
    if (session?.role === 'read' && request.routeOptions.config.reading !== true)
      return refuse(reply, 403, 'This token is read-only.');
    if (session !== undefined && sessions.isCsrf(session, fieldOf(request.body, 'csrf') ?? ''))
      return undefined;
    return refuse(reply, 403, 'This page has expired: reload it.');
  });
  return (request) => known.get(request);
}

/** Answers with a page that says why not. */
export type Refuse = (reply: FastifyReply, status: number, message: string) => FastifyReply;

function welcome(request: FastifyRequest, reply: FastifyReply, sessions: Sessions): Session {
  const { session, value } = sessions.open('local');
  // An event stream or a script must not replace the session of the page that asked for it.
  if (request.method === 'GET' && request.headers.accept?.includes('text/html'))
    reply.header('set-cookie', setCookie(sessions.cookie, value, 12 * 3600, request.protocol === 'https'));
  return session;
}

function toSignIn(request: FastifyRequest, reply: FastifyReply, refuse: Refuse): FastifyReply {
  if (request.method !== 'GET' || !request.headers.accept?.includes('text/html'))
    return refuse(reply, 401, 'Sign in first.');
  return reply.redirect(`/login?next=${encodeURIComponent(request.url)}`, 303);
}

/** Browsers send `Origin` with every form; what sends none is not a browser's form of ours. */
function isSameOrigin(request: FastifyRequest): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined || host === undefined) return false;
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}

/** The name of a `Host` header without its port; empty where it is none. */
const nameOf = (host: string | undefined): string =>
  host !== undefined && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '';

/** One field of a form; undefined if it is not there or not text, nor is what the warehouse cannot take as text. */
export function fieldOf(body: unknown, name: string): string | undefined {
  if (!(body instanceof URLSearchParams)) return undefined;
  const value = body.get(name);
  return value === null || value.includes('\0') ? undefined : value;
}
