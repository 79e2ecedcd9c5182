/** The description of the API for programs, made of the same schemas that requests are checked by. */

import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';

/** Options of the plugin that collects the routes. */
export const describe = (version: string): FastifyDynamicSwaggerOptions => ({
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Tidemark control API',
      version,
      description:
        'Start, stop and inspect runs of the pipelines. Every answer is an envelope: {"status": "success", "data": …} or {"status": "error", "message": …}. Instants are ISO 8601, UTC.',
    },
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'TIDEMARK_API_TOKEN, or TIDEMARK_READ_TOKEN to look only. Not needed where none is set (this machine only).',
        },
      },
    },
    security: [{ token: [] }],
  },
  hideUntagged: false,
  // Pages, forms and what stands beside the API are no part of it: they take no bearer token, and answer without an envelope.
  transform: ({ schema, url }) => ({
    schema: url.startsWith('/api/v1/') ? schema : { ...schema, hide: true },
    url,
  }),
  transformObject: (document) => {
    if (!('openapiObject' in document)) return document.swaggerObject;
    for (const path of Object.values(document.openapiObject.paths ?? {}))
      if (path?.post !== undefined) withBodyAsTaken(path.post);
    return document.openapiObject;
  },
  refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `def-${i}`) },
});

type Paths = NonNullable<Extract<Described, { openapiObject: unknown }>['openapiObject']['paths']>;
type Described = Parameters<NonNullable<FastifyDynamicSwaggerOptions['transformObject']>>[0];
type Operation = NonNullable<NonNullable<Paths[string]>['post']>;

/** The plugin says of every body that it must be there. One that may be null may be absent: a start without parameters has none (contract, rule 1). */
function withBodyAsTaken({ requestBody }: Operation): void {
  if (requestBody === undefined || !('content' in requestBody)) return;
  const schema = requestBody.content['application/json']?.schema;
  if (schema !== undefined && 'type' in schema && schema.type?.includes('null')) requestBody.required = false;
}
