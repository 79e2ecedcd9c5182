import crypto from 'node:crypto';
import { sql } from 'kysely';
import type { Reject } from './batch.ts';
import type { Merge } from './merge.ts';
import type { Session } from './session.ts';

/** A payload longer than this is kept in part, with the digest of the whole. */
const longestPayload = 1 << 20;

/**
 * Puts rejects into `ops.rejects` with their exact bytes. The same record rejected again is the same row, with one more attempt per run.
 */
export async function keepRejects(
  session: Session,
  stream: string,
  rejects: readonly Reject[],
  merge: Merge,
): Promise<void> {
  for (const reject of rejects) {
    const digest = crypto.hash('sha256', reject.payload, 'buffer');
    const kept = reject.payload.subarray(0, longestPayload);
    await sql`insert into ops.rejects as r
        (source_id, stream, record_key, sha256, payload, truncated, stage, code, field, message, slice, first_run_id, last_run_id)
      values (${merge.sourceId}, ${stream}, ${reject.key}, ${digest}, ${kept}, ${kept.length < reject.payload.length},
        ${reject.stage}, ${reject.code}, ${reject.field ?? null}, ${reject.message}, ${JSON.stringify(reject.slice)}::jsonb,
        ${merge.runId}::bigint, ${merge.runId}::bigint)
      on conflict (source_id, stream, record_key, sha256) do update set
        last_run_id = excluded.last_run_id, last_seen_at = now(), message = excluded.message, code = excluded.code,
        field = excluded.field, status = 'open', resolved_at = null,
        attempts = r.attempts + case when r.last_run_id = excluded.last_run_id then 0 else 1 end`.execute(session.trx);
  }
}

/** Marks rejects as resolved whose record has now landed. `keys` are the records' keys as text. */
export async function resolveRejects(
  session: Session,
  stream: string,
  keys: readonly string[],
  merge: Merge,
): Promise<void> {
  await sql`update ops.rejects set status = 'resolved', resolved_at = now()
    where source_id = ${merge.sourceId} and stream = ${stream} and status = 'open' and record_key <> ''
      and record_key = any (${keys}::text[])`.execute(session.trx);
}
