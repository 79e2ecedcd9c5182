/**
 * What every request to the API passes first: the host name it was sent to, its token, and what that role may
 * do.
 */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isThisMachine } from '../../core/this-machine.ts';
import { audit, fieldsOf } from './audit.ts';
import type { ServerDeps } from './deps.ts';
import { Rejected } from './envelope.ts';
import { attemptLimit, type Role, roleOf } from './tokens.ts';

const isChanging = ({ method }: FastifyRequest): boolean => !['GET', 'HEAD', 'OPTIONS'].includes(method);

/** Guards every route of this scope. `isAudited`: attempts to change something get a row in `ops.audit`. */
export function authenticate(app: FastifyInstance, deps: ServerDeps, isAudited: boolean): void {
  const { tokens, trouble } = deps;
  const roles = new WeakMap<FastifyRequest, Role | 'none'>();
  const guesses = attemptLimit();
  const isOpen = tokens.operate === undefined && tokens.read === undefined;

  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    const { host, origin, authorization } = request.headers;
    const wait = guesses.waitOf(request.ip);
    if (wait > 0) {
      reply.header('retry-after', String(wait));
      throw new Rejected(429);
    }
    roles.set(request, 'none');
    if (isOpen && !namesThisMachine(host)) throw new Rejected(421);
    if (isOpen && origin !== undefined && !isSameOrigin(origin, host))
      throw new Rejected(403, 'this request comes from a page of another site');
    const role = roleOf(tokens, request.raw.rawHeaders);
    if (role === undefined) {
      const isHeldBack = authorization !== undefined && guesses.failed(request.ip);
      if (authorization !== undefined)
        trouble(`${request.ip} showed a wrong token${isHeldBack ? ' once too often; it is held back' : ''}`);
      reply.header('www-authenticate', 'Bearer');
      throw new Rejected(401);
    }
    roles.set(request, role);
    if (role === 'read' && isChanging(request)) throw new Rejected(403);
  });
  if (!isAudited) return;
  // Callers without a valid token must not be able to fill the audit.
  const strangers = attemptLimit();
  audit(app, deps, (request) => {
    const role = roles.get(request);
    if (role === undefined || !isChanging(request)) return undefined;
    if (role === 'none' && strangers.waitOf(request.ip) > 0) return undefined;
    if (role === 'none' && strangers.failed(request.ip))
      trouble(`${request.ip} was turned away too often: for a while the audit holds no more of it`);
    const { dagName, runId } = fieldsOf(request.params);
    const body = fieldsOf(request.body);
    return { role, pipeline: dagName, dagRunId: runId ?? body.runId, params: body.params };
  });
}

/** Whether a Host header, with or without a port, names this machine. Any other name may be DNS rebinding. */
export const namesThisMachine = (host: string | undefined): boolean =>
  host !== undefined && URL.canParse(`http://${host}`) && isThisMachine(new URL(`http://${host}`).hostname);

/** Whether an Origin header is that of our own pages. */
export const isSameOrigin = (origin: string | undefined, host: string | undefined): boolean =>
  origin !== undefined && URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
