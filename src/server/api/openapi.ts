/** `openapi.json` and the page `/api`, made of the routes and their schemas. */

import { z } from 'zod';
import type { ApiRoute } from './route.ts';
import { routes } from './routes.ts';
import { failed, logLine, shapes } from './schemas.ts';

const uri = (id: string): string => `#/components/schemas/${id}`;
const ref = (schema: z.ZodType): object => ({ $ref: uri(shapes.get(schema)?.id ?? '') });

const about =
  'Start, stop and inspect runs of the pipelines. Every answer is an envelope: {"status": "success", "data": …} or ' +
  '{"status": "error", "message": …}. Instants are ISO 8601, UTC.';

const auth =
  'TIDEMARK_API_TOKEN, or TIDEMARK_READ_TOKEN for reading. Not needed where no token is set (this machine only).';

/** The description of the API for programs. */
export const openapi = (version: string) => ({
  openapi: '3.1.0',
  info: { title: 'Tidemark control API', version, description: about },
  components: {
    securitySchemes: { token: { type: 'http', scheme: 'bearer', description: auth } },
    schemas: Object.fromEntries(
      Object.entries(z.toJSONSchema(shapes, { uri, io: 'input' }).schemas).map(([id, each]) => [
        id,
        bare(each),
      ]),
    ),
  },
  security: [{ token: [] }],
  paths: Object.fromEntries(
    [...Map.groupBy(routes, ({ path }) => path)].map(([path, own]) => [
      addressOf(path),
      Object.fromEntries(own.map((each) => [each.method.toLowerCase(), operation(each)])),
    ]),
  ),
});

const addressOf = (path: string): string => `/api/v1${path.replaceAll(/:([A-Za-z]+)/g, '{$1}')}`;

/** OpenAPI names schemas by their place. */
const bare = ({ $schema, $id, ...schema }: Readonly<Record<string, unknown>>) => schema;
const jsonSchema = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input' });

const operation = ({ operationId, summary, description, input, data, codes }: ApiRoute) => ({
  operationId,
  summary,
  ...(description === undefined ? {} : { description }),
  parameters: [...parameters('path', input.shape.params), ...parameters('query', input.shape.query)],
  ...(input.shape.body === undefined ? {} : { requestBody: bodyOf(input.shape.body) }),
  responses: {
    ...Object.fromEntries(codes.map((code) => [code, { description: 'Success.', ...success(data) }])),
    '4XX': failure('Malformed, not allowed, unknown, in conflict, or too many requests.'),
    '5XX': failure('An error of this server, or a warehouse that does not answer.'),
  },
});

/** A start without parameters has no body (contract, rule 1). */
const bodyOf = (body: z.ZodType) => ({
  required: !body.safeParse(undefined).success,
  ...json(bare(jsonSchema(body))),
});

const json = (schema: object) => ({ content: { 'application/json': { schema } } });

const failure = (description: string) => ({ description, ...json(ref(failed)) });

const success = (data: z.ZodType | undefined) =>
  data === undefined
    ? {
        content: {
          'text/event-stream': { schema: { type: 'string' } },
          'application/x-ndjson': { schema: ref(logLine) },
        },
      }
    : json({
        type: 'object',
        required: ['status', 'data'],
        properties: { status: { const: 'success' }, data: ref(data) },
      });

function parameters(where: 'path' | 'query', schema: z.ZodType | undefined): readonly object[] {
  const { properties = {}, required = [] } = schema === undefined ? {} : jsonSchema(schema);
  return Object.entries(properties).map(([name, schema]) => {
    const isRequired = required.includes(name);
    return { name, in: where, required: isRequired, schema };
  });
}

/** The API as a page for people. */
export const apiText = (): string =>
  `Tidemark control API\n\n${about}\n\n${auth}\n\n${routes
    .map(({ method, path, summary }) => `${method.padEnd(4)} ${addressOf(path)}\n     ${summary}.`)
    .join('\n\n')}\n\nFor programs: /openapi.json\n`;
