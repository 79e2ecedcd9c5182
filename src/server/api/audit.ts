/** The audit of the control API: a line before anything is changed, completed with the answer; for what is refused earlier, the line with its refusal. */

import { type Kysely, sql } from 'kysely';
import type { AnyDatabase } from '../../warehouse/connect.ts';
import type { Role } from './tokens.ts';

export interface Deed {
  readonly role: Role | 'nobody';
  readonly address: string;
  /** Method and route; never the address as it was sent: it may hold anything. */
  readonly action: string;
  readonly pipeline: string | null;
  readonly dagRunId: string | null;
  readonly params: string | null;
}

export interface Answered {
  readonly httpStatus: number;
  readonly message: string | null;
  readonly dagRunId: string | null;
}

/** Gives the number of the line. */
export async function intended(db: Kysely<AnyDatabase>, deed: Deed): Promise<string> {
  const { rows } = await sql<{
    id: string;
  }>`insert into ops.audit (role, address, action, pipeline, dag_run_id, params)
    values (${deed.role}, ${deed.address}, ${deed.action}, ${plain(deed.pipeline)}, ${plain(deed.dagRunId)}, ${plain(deed.params)})
    returning audit_id::text as id`.execute(db);
  return rows[0]?.id ?? '';
}

export async function answered(
  db: Kysely<AnyDatabase>,
  line: string,
  { httpStatus, message, dagRunId }: Answered,
): Promise<void> {
  await sql`update ops.audit set http_status = ${httpStatus}, message = ${plain(message)},
      dag_run_id = coalesce(${plain(dagRunId)}, dag_run_id) where audit_id = ${line}::bigint`.execute(db);
}

/** Text that Postgres takes, not longer than somebody will read. */
const plain = (text: string | null): string | null =>
  text?.replaceAll('\u0000', '\\0').slice(0, 1000) ?? null;
