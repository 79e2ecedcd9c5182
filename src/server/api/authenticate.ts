/** What every request to the API passes before it is looked at: the name it was sent to, who sends it, what that role may do; and the audit. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isThisMachine } from '../../core/this-machine.ts';
import { answered, type Deed, intended } from './audit.ts';
import type { ServerDeps } from './deps.ts';
import { failure, messages } from './envelope.ts';
import { patience, type Role, roleOf } from './tokens.ts';

/** What the gate found out about a request. */
interface Seen {
  readonly role: Role | 'nobody';
  /** Its line in the audit, once there is one. */
  line: string | undefined;
  /** One of very many: no line for this one. */
  readonly silent: boolean;
}

const changing = (request: FastifyRequest): boolean => !['GET', 'HEAD', 'OPTIONS'].includes(request.method);

/** Puts the gate before every route of this scope. `audited`: whether what changes something is written down. */
export function gate(
  app: FastifyInstance,
  deps: ServerDeps,
  { audited }: { readonly audited: boolean },
): void {
  const seen = new WeakMap<FastifyRequest, Seen>();
  const guesses = patience(() => performance.now());
  // Whoever is not let in must not be able to fill the audit.
  const strangers = patience(() => performance.now());
  const isOpen = deps.tokens.operate === undefined && deps.tokens.read === undefined;

  const refuse = (reply: FastifyReply, code: number): FastifyReply =>
    reply.code(code).send(failure(messages[code] ?? 'refused'));

  const turnAway = (request: FastifyRequest): void => {
    const silent = strangers.waits(request.ip) > 0;
    seen.set(request, { role: 'nobody', line: undefined, silent });
    if (!silent && changing(request) && strangers.failed(request.ip))
      deps.trouble(`${request.ip} was turned away too often: for a while the audit holds no more of it`);
  };

  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    const address = request.ip;
    if (isOpen && !isOurs(request)) {
      turnAway(request);
      return namesUs(request.headers.host)
        ? reply.code(403).send(failure('this request comes from a page of another site'))
        : refuse(reply, 421);
    }
    const wait = guesses.waits(address);
    if (wait > 0) {
      seen.set(request, { role: 'nobody', line: undefined, silent: true });
      return refuse(reply.header('retry-after', String(wait)), 429);
    }
    const role = roleOf(deps.tokens, request.raw.rawHeaders);
    if (role === undefined) {
      if (request.headers.authorization === undefined) turnAway(request);
      else {
        seen.set(request, { role: 'nobody', line: undefined, silent: false });
        const holdsBack = guesses.failed(address);
        deps.trouble(`${address} showed a wrong token${holdsBack ? ' once too often; it is held back' : ''}`);
      }
      return refuse(reply.header('www-authenticate', 'Bearer'), 401);
    }
    seen.set(request, { role, line: undefined, silent: false });
    if (role === 'read' && changing(request)) return refuse(reply, 403);
    return undefined;
  });
  if (!audited) return;

  // Before anything is done: what cannot be written down is not done.
  app.addHook('preHandler', async (request) => {
    const known = seen.get(request);
    if (known !== undefined && changing(request))
      known.line = await intended(deps.db, deedOf(request, known));
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const known = seen.get(request);
    if (known === undefined || known.silent || !changing(request)) return payload;
    try {
      known.line ??= await intended(deps.db, deedOf(request, known));
      await answered(deps.db, known.line, outcomeOf(reply, payload));
    } catch (error) {
      deps.trouble('a line of the audit could not be completed', error);
    }
    return payload;
  });
}

/** Without a token only names of this machine are answered (another name that leads here is not ours), and no page of another site. */
function isOurs({ headers: { host, origin } }: FastifyRequest): boolean {
  if (!namesUs(host)) return false;
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host?.toLowerCase());
}

/** Whether a Host header, with or without a port, names this machine. */
const namesUs = (host: string | undefined): boolean =>
  host !== undefined && URL.canParse(`http://${host}`) && isThisMachine(new URL(`http://${host}`).hostname);

function deedOf(request: FastifyRequest, { role }: Seen): Deed {
  const { dagName, runId } = fieldsOf(request.params);
  const body = fieldsOf(request.body);
  return {
    role,
    address: request.ip,
    action: `${request.method} ${request.routeOptions.url ?? 'of no known route'}`,
    pipeline: textOf(dagName),
    dagRunId: textOf(runId) ?? textOf(body.runId),
    params: textOf(body.params),
  };
}

function outcomeOf(reply: FastifyReply, payload: unknown) {
  const body = fieldsOf(typeof payload === 'string' ? JSON.parse(payload) : undefined);
  return {
    httpStatus: reply.statusCode,
    message: textOf(body.message),
    dagRunId: textOf(fieldsOf(body.data).runId),
  };
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Who sent the request, for the log of a run: its role and address. */
export const callerOf = (request: FastifyRequest): string => `api ${request.ip}`;
