/**
 * The HTTP server: the control API under `/api/v1`, health and metrics, and the pages at `/` if there are
 * any.
 */

import { isUtf8 } from 'node:buffer';
import { STATUS_CODES } from 'node:http';
import rateLimit from '@fastify/rate-limit';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { authenticate } from './authenticate.ts';
import { type Limits, type ServerDeps, usualLimits } from './deps.ts';
import { failure, messages, Rejected, refusalOf, success } from './envelope.ts';
import { routes } from './routes.ts';
import { serviceRoutes } from './service.ts';

/** No body that means something here is larger. */
const bodyLimit = 64 * 1024;

const json = 'application/json; charset=utf-8';

/** Builds the server; it does not listen yet. */
export async function buildApp(deps: ServerDeps): Promise<FastifyInstance> {
  const limits: Limits = { ...usualLimits, ...deps.limits };
  const refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { code, body, isOurs } = refusalOf(error);
    if (isOurs)
      deps.trouble(`${request.method} ${request.routeOptions.url ?? 'of no known route'} failed`, error);
    if (code === 429 && !reply.hasHeader('retry-after')) reply.header('retry-after', '10');
    return reply.code(code).send(body);
  };
  const app = Fastify({
    bodyLimit,
    requestTimeout: limits.requestMs,
    // A request that arrives slowly must not hold a connection: checked twice within its time.
    http: {
      connectionsCheckingInterval: Math.max(100, limits.requestMs / 2),
      headersTimeout: limits.requestMs,
    },
    routerOptions: { maxParamLength: 200 },
    // A client that does not read must not keep the process from ending.
    forceCloseConnections: true,
    frameworkErrors: refuse,
    clientErrorHandler: (error, socket) => {
      const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
      const code = isLate ? 408 : error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
      const body = JSON.stringify(failure(messages[code] ?? ''));
      const head = [`HTTP/1.1 ${code} ${STATUS_CODES[code]}`, `content-type: ${json}`, 'connection: close'];
      if (socket.writable) socket.write([...head, `content-length: ${body.length}`, '', body].join('\r\n'));
      socket.destroy(error);
    },
  });
  app.setErrorHandler(refuse);
  // Pages answer a wrong address themselves.
  if (deps.pages === undefined)
    app.setNotFoundHandler(() => {
      throw new Rejected(404);
    });
  await app.register(async (api) => controlApi(api, deps, limits), { prefix: '/api/v1' });
  await app.register(async (service) => serviceRoutes(service, deps));
  if (deps.pages !== undefined) await app.register(deps.pages);
  return app;
}

async function controlApi(api: FastifyInstance, deps: ServerDeps, limits: Limits): Promise<void> {
  await api.register(rateLimit, { global: false, max: limits.perMinute, timeWindow: 60_000 });
  // Before authentication: refused requests count, too.
  api.addHook('onRequest', api.rateLimit());
  acceptJson(api);
  authenticate(api, deps, true);
  for (const { method, path, data: shape, codes, answer } of routes)
    api.route({
      method,
      url: path,
      // A HEAD of a stream would be a connection that stays open without a body.
      exposeHeadRoute: method === 'GET' && shape !== undefined,
      handler: async (request, reply) => {
        reply.code(codes.at(-1) ?? 200);
        const data = await answer(deps, { request, reply });
        return shape === undefined ? reply.send(data) : reply.send(success(data));
      },
    });
  api.setNotFoundHandler(({ url }, reply) => {
    const allowed = methodsOf(url);
    if (allowed.length === 0) throw new Rejected(404);
    reply.header('allow', allowed.join(', '));
    throw new Rejected(405, `this resource takes ${allowed.join(', ')}`);
  });
}

/** The methods of an address; none: there is no such resource. */
function methodsOf(url: string): readonly string[] {
  const path = url.replace(/\?.*$/s, '');
  const own = routes.filter((route) =>
    new RegExp(`^/api/v1${route.path.replaceAll(/:[A-Za-z]+/g, '[^/]+')}$`).test(path),
  );
  return [...new Set(own.map(({ method }) => method))].sort();
}

/** Takes `application/json`; an empty body of any type counts as absent. Others are refused with 415. */
function acceptJson(api: FastifyInstance): void {
  api.removeAllContentTypeParsers();
  const options = { parseAs: 'buffer', bodyLimit } as const;
  api.addContentTypeParser('application/json', options, parsed);
  api.addContentTypeParser('*', options, async (_request: unknown, body: Buffer) => {
    if (body.length > 0) throw new Rejected(415);
  });
}

async function parsed(_request: unknown, body: Buffer): Promise<unknown> {
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw new Rejected(400, 'the body is not valid UTF-8');
  const text = body.toString('utf8');
  try {
    const value: unknown = JSON.parse(text);
    if (!hasDuplicates(text)) return value;
  } catch {
    throw new Rejected(400, 'the body is not one JSON document');
  }
  // Two readers may disagree about which of them counts.
  throw new Rejected(400, 'the body has the same field twice');
}

/** Whether a field name occurs twice anywhere in a valid JSON document. Our documents are flat. */
function hasDuplicates(text: string): boolean {
  // Every string is matched, so that none is taken for a name because of what it holds.
  const names = [...text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?/g)].flatMap(
    ([, name = '', colon]): unknown[] => (colon === undefined ? [] : [JSON.parse(name)]),
  );
  return new Set(names).size < names.length;
}
