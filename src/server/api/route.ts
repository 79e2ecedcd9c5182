/** What a route of the API is: one entry gives its checks, its types and its part of `openapi.json`. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { escaped } from '../../core/format.ts';
import type { ServerDeps } from './deps.ts';
import { Rejected } from './envelope.ts';

interface RouteDetails<S extends z.ZodObject> {
  readonly description?: string;
  /** `params`, `query` and `body` of a request, as far as they are checked. */
  readonly input?: S;
  /** What a success holds; absent: log lines as a stream. */
  readonly data?: z.ZodType;
  /** Status codes of a success, the usual one last; default 200 for GET, 202 for POST. */
  readonly codes?: readonly number[];
}

export interface HttpExchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export interface ApiRoute extends RouteDetails<z.ZodObject> {
  readonly input: z.ZodObject;
  readonly codes: readonly number[];
  readonly method: string;
  /** Below `/api/v1`, with `:name` for parameters. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  /** Checks the request and gives the data of the answer. Throws Rejected with 400. */
  answer(deps: ServerDeps, http: HttpExchange): Promise<unknown>;
}

/** `name`: operation id, method and path. `answer` gets the checked parts of the request. */
export function route<S extends z.ZodObject = z.ZodObject>(
  name: string,
  summary: string,
  details: RouteDetails<S>,
  answer: (deps: ServerDeps, asked: z.infer<S>, http: HttpExchange) => Promise<unknown>,
): ApiRoute {
  const [operationId = '', method = '', path = ''] = name.split(' ');
  const common = {
    method,
    path,
    operationId,
    summary,
    input: z.object({}),
    codes: [method === 'GET' ? 200 : 202],
  };
  const answered: ApiRoute['answer'] = async (deps, http) => {
    const found = (details.input ?? common.input).safeParse(http.request);
    if (!found.success) throw new Rejected(400, problem(found.error));
    return answer(deps, found.data as z.infer<S>, http);
  };
  return { ...common, ...details, answer: answered };
}

/** The first problem in words: which field, and what it must be. */
export function problem({ issues: [first] }: z.ZodError): string {
  const message = first?.message.slice(0, 200) ?? 'malformed';
  return escaped(`${first?.path.join('.')}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`);
}
