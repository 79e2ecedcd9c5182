/**
 * The audit of the API and the dashboard: one row of `ops.audit` for each attempt to change something,
 * refused ones included.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import type { Db } from '../../queries/db.ts';
import type { ServerDeps } from './deps.ts';
import type { Role } from './tokens.ts';

/** Who tried what. */
export interface AuditedAttempt {
  readonly role: Role | 'none';
  readonly pipeline?: unknown;
  readonly dagRunId?: unknown;
  readonly params?: unknown;
}

/**
 * Writes the attempts of this scope: before anything is done, completed with the answer. An attempt that
 * cannot be written is not made.
 * `attemptOf` gives undefined for a request that needs no row. `what`: where it was made, after the method
 * and the route.
 */
export function audit(
  app: FastifyInstance,
  { db, trouble }: Pick<ServerDeps, 'db' | 'trouble'>,
  attemptOf: (request: FastifyRequest) => AuditedAttempt | undefined,
  what = '',
): void {
  const rows = new WeakMap<FastifyRequest, string>();
  const begin = async (request: FastifyRequest): Promise<string | undefined> => {
    const attempt = attemptOf(request);
    if (attempt === undefined) return undefined;
    // The route, not the address: an address may hold anything.
    const action = `${request.method} ${request.routeOptions.url ?? 'of no known route'}${what}`;
    const { role, pipeline, dagRunId, params } = attempt;
    const { rows: inserted } = await sql<{ id: string }>`
      insert into ops.audit (role, address, action, pipeline, dag_run_id, params)
      values (${role}, ${request.ip}, ${action}, ${plain(pipeline)}, ${plain(dagRunId)}, ${plain(params)})
      returning audit_id::text as id`.execute(db);
    const id = inserted[0]?.id ?? '';
    rows.set(request, id);
    return id;
  };
  app.addHook('preHandler', async (request) => {
    await begin(request);
  });
  app.addHook('onSend', async (request, reply, payload) => {
    try {
      const id = rows.get(request) ?? (await begin(request));
      if (id !== undefined) await complete(db, id, reply, payload);
    } catch (error) {
      trouble('a row of the audit could not be completed', error);
    }
    return payload;
  });
}

async function complete(db: Db, id: string, reply: FastifyReply, payload: unknown): Promise<void> {
  const isJson = String(reply.getHeader('content-type')).startsWith('application/json');
  const { message, data } = fieldsOf(isJson && typeof payload === 'string' ? JSON.parse(payload) : undefined);
  // A page leads to the run it started.
  const [, led] = /^\/requests\/[^/]+\/([^/]+)$/.exec(String(reply.getHeader('location'))) ?? [];
  const run = led === undefined ? fieldsOf(data).runId : decodeURIComponent(led);
  await sql`update ops.audit set http_status = ${reply.statusCode}, message = ${plain(message)},
      dag_run_id = coalesce(${plain(run)}, dag_run_id) where audit_id = ${id}::bigint`.execute(db);
}

/** The members of an object; of anything else none. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

/** Text that Postgres takes, of readable length; null for anything else. */
const plain = (text: unknown): string | null =>
  typeof text === 'string' ? text.replaceAll('\u0000', '\\0').slice(0, 1000) : null;
