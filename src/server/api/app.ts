/** The HTTP server: the control API under `/api/v1`, health and metrics beside it, pages at `/` where there are any. */

import { STATUS_CODES } from 'node:http';
import rateLimit from '@fastify/rate-limit';
import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { gate } from './authenticate.ts';
import { mostBytes, readBodies } from './bodies.ts';
import { type Limits, type ServerDeps, usualLimits } from './deps.ts';
import { failure, messages, Rejected, refusalOf } from './envelope.ts';
import { describe } from './openapi.ts';
import { dagRoutes } from './routes/dags.ts';
import { logRoutes } from './routes/log.ts';
import { serviceRoutes } from './routes/service.ts';
import { all } from './schemas.ts';

/** Builds the server; it does not listen yet. */
export async function buildApp(deps: ServerDeps): Promise<FastifyInstance> {
  const limits: Limits = { ...usualLimits, ...deps.limits };
  const app = Fastify({
    bodyLimit: mostBytes,
    requestTimeout: limits.requestMs,
    // A request that comes in drops must not hold a connection: looked for twice in the time that it has.
    http: {
      connectionsCheckingInterval: Math.max(100, limits.requestMs / 2),
      headersTimeout: limits.requestMs,
    },
    routerOptions: { maxParamLength: 200 },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: false } },
    // Whoever does not listen must not keep the process from ending.
    forceCloseConnections: true,
    frameworkErrors: (error, request, reply) => send(deps, error, request, reply),
    clientErrorHandler: (error, socket) => {
      const code = clientCodes[error.code] ?? 400;
      const body = JSON.stringify(failure(messages[code] ?? 'the request is malformed'));
      if (socket.writable)
        socket.write(
          `HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\ncontent-type: ${json}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
        );
      socket.destroy(error);
    },
  });
  // Node answers an `Expect` that it does not know by itself, and without a body.
  app.server.on('checkExpectation', (_request, response) => {
    response.writeHead(417, { 'content-type': json, connection: 'close' });
    response.end(JSON.stringify(failure('this server knows no Expect but 100-continue')));
  });
  // Shapes are for those who read them: what is sent is what the code says, whole.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler((error, request, reply) => send(deps, error, request, reply));
  app.setNotFoundHandler((request, reply) =>
    isApi(request)
      ? reply.code(404).send(failure('there is no such resource'))
      : reply.code(404).type('text/plain').send('There is nothing here.\n'),
  );
  await app.register(swagger, describe(deps.version));
  for (const schema of all) app.addSchema(schema);
  await app.register(async (api) => controlApi(api, deps, limits), { prefix: '/api/v1' });
  await app.register(async (service) => serviceRoutes(service, deps));
  if (deps.pages !== undefined) await app.register(deps.pages);
  return app;
}

const json = 'application/json; charset=utf-8';

/** What Node says of requests that never became one. */
const clientCodes: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

async function controlApi(api: FastifyInstance, deps: ServerDeps, limits: Limits): Promise<void> {
  await api.register(rateLimit, {
    global: false,
    max: limits.perMinute,
    timeWindow: 60_000,
    errorResponseBuilder: (_request, { ttl }) =>
      new Rejected(429, `too many requests; try again in ${Math.ceil(ttl / 1000)} s`),
  });
  // Before the gate: who is not let in counts, too.
  api.addHook('onRequest', api.rateLimit());
  readBodies(api);
  gate(api, deps, { audited: true });
  const methods = knownMethods(api);
  dagRoutes(api, deps);
  logRoutes(api, deps, limits);
  api.setNotFoundHandler((request, reply) => {
    const allowed = methods(request.url);
    if (allowed.length === 0) return reply.code(404).send(failure('there is no such resource'));
    return reply
      .code(405)
      .header('allow', allowed.join(', '))
      .send(failure(`this resource takes ${allowed.join(', ')}`));
  });
}

/** Collects the routes of a scope as they are made: which methods an address takes. */
function knownMethods(app: FastifyInstance): (url: string) => readonly string[] {
  const known: { readonly path: RegExp; readonly method: string }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    const path = new RegExp(`^${url.replaceAll(/:[A-Za-z]+/g, '[^/]+')}$`);
    for (const each of [method].flat()) known.push({ path, method: each });
  });
  return (url) => {
    const [path = ''] = url.split('?');
    return [...new Set(known.filter((route) => route.path.test(path)).map(({ method }) => method))].sort();
  };
}

function send(deps: ServerDeps, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { code, body, ours } = refusalOf(error);
  const said = code === 400 && error instanceof Error ? validation(error, body.message) : body.message;
  if (ours)
    deps.trouble(`${request.method} ${request.routeOptions.url ?? 'of no known route'} failed`, error);
  if (code === 429) reply.header('retry-after', reply.getHeader('retry-after') ?? '10');
  return reply.code(code).send({ ...body, message: said });
}

/** What the schemas found wrong, in words of ours: which field and what it must be. The value is not repeated. */
function validation(error: Error, otherwise: string): string {
  if (error instanceof Rejected) return error.message;
  const found: unknown = Reflect.get(error, 'validation');
  const where: unknown = Reflect.get(error, 'validationContext');
  const [first] = Array.isArray(found) ? found : [];
  if (first === undefined) return otherwise;
  const { instancePath, keyword, message, params } = first;
  const name = String(instancePath).slice(1) || String(where);
  if (keyword === 'pattern') return `${name} is not of the form that /openapi.json tells`;
  const extra =
    keyword === 'additionalProperties'
      ? `: ${JSON.stringify(String(params.additionalProperty).slice(0, 40))}`
      : '';
  return `${name} ${String(message)}${extra}`;
}

const isApi = ({ url }: FastifyRequest): boolean => /^\/api\//.test(url);
