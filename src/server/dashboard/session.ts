/**
 * Who uses the dashboard. A session is a signed cookie, `id.expiry.role`. With an API token, signing in makes
 * it, and every process
 * that has the token accepts it; without one (this machine only) each visitor gets one, so that forms are
 * protected as well.
 */

import crypto from 'node:crypto';
import cookies from '@fastify/cookie';
import csrf from '@fastify/csrf-protection';
import helmet from '@fastify/helmet';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hours } from '../../core/time.ts';
import { isSameOrigin, namesThisMachine } from '../api/authenticate.ts';
import { Rejected } from '../api/envelope.ts';
import { attemptLimit, type Role, roleOfToken, type Tokens } from '../api/tokens.ts';
import { type DashboardDeps, type DashboardPage, signIn } from './layout.ts';

export interface UserSession {
  readonly id: string;
  readonly expiresMs: number;
  readonly role: Role;
  /**
   * What @fastify/csrf-protection makes the tokens of this session's forms from: secret, as the cookie is.
   */
  readonly _csrf: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    session: UserSession | undefined;
  }
  interface FastifyContextConfig {
    /** Answered without a session: assets and the sign-in. */
    readonly isOpen?: boolean;
    /** A form that changes nothing but the session: the read role may send it. */
    readonly isReading?: boolean;
  }
}

/** As long as a working day with overtime. */
const lifetime = hours(12);

interface SessionDeps extends DashboardDeps {
  readonly show: (reply: FastifyReply, page: DashboardPage, status?: number) => FastifyReply;
}

const needsToken = ({ operate, read }: Tokens): boolean => operate !== undefined || read !== undefined;

/** Adds headers, sessions, sign-in and sign-out to every route of this scope. */
export async function sessions(app: FastifyInstance, deps: SessionDeps): Promise<void> {
  const key = keyOf(deps.tokens);
  await app.register(helmet, headers);
  await app.register(cookies, { secret: key });
  await app.register(csrf, {
    sessionPlugin: '@fastify/session',
    getToken: ({ body }) => field(body, '_csrf'),
  });
  const cookie = cookieOf(key, deps.now);
  checks(app, deps, cookie);
  signing(app, deps, cookie);
}

type Cookie = ReturnType<typeof cookieOf>;

/** The sessions as cookies, and those that ended before their time. */
function cookieOf(key: string, now: () => Date) {
  // Processes with different tokens on one host do not overwrite each other's cookies.
  const name = `tidemark_${crypto.createHash('sha256').update(`name ${key}`).digest('hex').slice(0, 8)}`;
  const options = { path: '/', httpOnly: true, sameSite: 'strict', secure: 'auto' } as const;
  const ended = new Map<string, number>();
  return {
    open(reply: FastifyReply, role: Role): UserSession {
      const id = crypto.randomBytes(18).toString('base64url');
      const expiresMs = now().getTime() + lifetime;
      const value = `${id}.${expiresMs}.${role}`;
      reply.setCookie(name, value, { ...options, signed: true, maxAge: lifetime / 1000 });
      return { id, expiresMs, role, _csrf: id };
    },
    /** Undefined: there is none, or it is forged, over or ended. */
    read(request: FastifyRequest): UserSession | undefined {
      const { valid, value } = request.unsignCookie(request.cookies[name] ?? '');
      const [id = '', expires, role] = (valid && value ? value : '').split('.');
      const expiresMs = Number(expires);
      if (!isRole(role) || !(expiresMs > now().getTime()) || ended.has(id)) return undefined;
      return { id, expiresMs, role, _csrf: id };
    },
    /** Ends it here as well: a copy of the cookie is worth nothing. */
    end(reply: FastifyReply, session: UserSession | undefined): void {
      for (const [id, until] of ended) if (until < now().getTime()) ended.delete(id);
      if (session !== undefined) ended.set(session.id, session.expiresMs);
      reply.clearCookie(name, options);
    },
  };
}

/**
 * Finds the session of every request, and refuses: a foreign host name where no token is set (421, DNS
 * rebinding), a page without a
 * session (sign-in), a form from another site, of the read role, or without its session's token (403).
 */
function checks(app: FastifyInstance, { tokens }: SessionDeps, cookie: Cookie): void {
  app.decorateRequest('session', undefined);
  app.addHook('onRequest', async (request, reply) => {
    const { host, origin } = request.headers;
    reply.header('cache-control', 'no-store');
    if (!needsToken(tokens) && !namesThisMachine(host))
      throw new Rejected(421, 'Without an API token the dashboard answers to names of this machine only.');
    request.session = cookie.read(request);
    if (request.session === undefined && !needsToken(tokens) && isPage(request))
      request.session = cookie.open(reply, 'local');
    const mustSignIn = needsToken(tokens) && request.routeOptions.config.isOpen !== true && !request.is404;
    if (request.session === undefined && mustSignIn) {
      if (!isPage(request)) throw new Rejected(401, 'Sign in first.');
      return reply.redirect(`/login?next=${encodeURIComponent(request.url)}`, 303);
    }
    if (request.method === 'POST' && !isSameOrigin(origin, host))
      throw new Rejected(403, 'This form was sent from another site.');
    return undefined;
  });
  app.addHook('preHandler', (request, reply, done) => {
    const { isOpen, isReading } = request.routeOptions.config;
    // The sign-in has no session yet, so it has no token to carry; its origin was checked.
    if (request.method !== 'POST' || isOpen === true) return done();
    if (request.session?.role === 'read' && isReading !== true)
      return done(new Rejected(403, 'This token is read-only.'));
    if (request.session === undefined) return done(new Rejected(403, 'This page has expired: reload it.'));
    return app.csrfProtection(request, reply, done);
  });
}

function signing(app: FastifyInstance, { tokens, trouble, show }: SessionDeps, cookie: Cookie): void {
  const guesses = attemptLimit();
  app.get<{ Querystring: { next?: string } }>('/login', { config: { isOpen: true } }, (request, reply) => {
    const next = nextOf(request.query.next);
    return request.session === undefined ? show(reply, signIn(next)) : reply.redirect(next, 303);
  });
  app.post('/login', { config: { isOpen: true } }, ({ ip, body }, reply) => {
    const next = nextOf(field(body, 'next'));
    const wait = guesses.waitOf(ip);
    if (wait > 0) {
      reply.header('retry-after', wait);
      return show(reply, signIn(next, `Too many wrong tokens. Try again in ${wait} s.`), 429);
    }
    const role = roleOfToken(tokens, field(body, 'token') ?? '');
    if (role === undefined) {
      const isHeldBack = guesses.failed(ip);
      trouble(`${ip} signed in with a wrong token${isHeldBack ? ' once too often; it is held back' : ''}`);
      return show(reply, signIn(next, 'That is not the token.'), 403);
    }
    cookie.open(reply, role);
    return reply.redirect(next, 303);
  });
  app.post('/logout', { config: { isReading: true } }, ({ session }, reply) => {
    cookie.end(reply, session);
    return reply.redirect('/login', 303);
  });
}

/** Derived from the tokens: a changed token ends all sessions. */
function keyOf(tokens: Tokens): string {
  if (!needsToken(tokens)) return crypto.randomBytes(32).toString('hex');
  const { operate = '', read = '' } = tokens;
  return crypto.createHmac('sha256', `${operate.length} ${operate}${read}`).update('tidemark').digest('hex');
}

const isRole = (text: string | undefined): text is Role => ['operate', 'read', 'local'].includes(text ?? '');

/** Whether a browser asks for a page. */
export const isPage = ({ method, headers: { accept } }: FastifyRequest): boolean =>
  method === 'GET' && accept?.includes('text/html') === true;

/**
 * Helmet's defaults, stricter: styles from our own files only, no frames. No HSTS: usually served without TLS
 * on this machine.
 */
const headers = {
  contentSecurityPolicy: {
    directives: { styleSrc: ["'self'"], frameAncestors: ["'none'"], upgradeInsecureRequests: null },
  },
  referrerPolicy: { policy: 'same-origin' as const },
  hsts: false,
};

/** Where to go after signing in: a path of ours, whatever the address says. */
export const nextOf = (given: string | undefined): string =>
  given !== undefined && /^\/(?![/\\])[^\\\s]*$/.test(given) && !given.startsWith('/login') ? given : '/';

/** A field of a form; undefined if it is absent or holds what the warehouse cannot take as text. */
export function field(body: unknown, name: string): string | undefined {
  const value = body instanceof URLSearchParams ? body.get(name) : null;
  return value === null || value.includes('\0') ? undefined : value;
}
