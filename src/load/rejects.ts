import crypto from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { AnyDatabase } from '../warehouse/connect.ts';
import type { Reject } from './batch.ts';
import type { Merge } from './merge.ts';
import type { Scope } from './replace.ts';
import type { Session } from './session.ts';

/** A payload longer than this is kept in part, with the digest of the whole. */
const longestPayload = 1 << 20;

/**
 * Puts rejects into `ops.rejects` with their exact bytes. The same record rejected again is the same row, with one more attempt per run; where it
 * came with other bytes, the earlier row is resolved.
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
    const key = written(reject.key);
    const field = reject.field === undefined ? null : written(reject.field);
    await sql`insert into ops.rejects as r
        (source_id, stream, record_key, sha256, payload, truncated, stage, code, field, message, slice, first_run_id, last_run_id)
      values (${merge.sourceId}, ${stream}, ${key}, ${digest}, ${kept}, ${kept.length < reject.payload.length},
        ${reject.stage}, ${reject.code}, ${field}, ${reject.message}, ${JSON.stringify(reject.slice)}::jsonb,
        ${merge.runId}::bigint, ${merge.runId}::bigint)
      on conflict (source_id, stream, record_key, sha256) do update set
        last_run_id = excluded.last_run_id, last_seen_at = now(), message = excluded.message, code = excluded.code,
        field = excluded.field, status = 'open', resolved_at = null,
        attempts = r.attempts + case when r.last_run_id = excluded.last_run_id then 0 else 1 end`.execute(
      session.trx,
    );
    // What the record was before is of no use any more.
    await sql`update ops.rejects set status = 'resolved', resolved_at = now()
      where source_id = ${merge.sourceId} and stream = ${stream} and status = 'open' and record_key <> ''
        and record_key = ${key} and sha256 <> ${digest} and last_run_id <> ${merge.runId}::bigint`.execute(
      session.trx,
    );
  }
}

/** A NUL, which no text column takes, written out: what it was is in the payload. */
const written = (text: string): string => text.replaceAll('\0', '\\x00');

/**
 * Marks rejects as resolved that were met in the scope of a complete listing and not in this one: their records are good by now, or gone.
 * Call it after `keepRejects`. Of one whose slice reaches beyond the scope nothing is known.
 */
export async function resolveScope(
  session: Session,
  stream: string,
  scope: Scope,
  merge: Merge,
): Promise<void> {
  const { equal, days } = scope;
  const within =
    days === undefined
      ? sql`true`
      : sql`(slice #>> '{window,from}')::timestamptz >= ${days.from.toISOString()}::timestamptz
          and (slice #>> '{window,to}')::timestamptz <= ${days.to.toISOString()}::timestamptz`;
  await sql`update ops.rejects set status = 'resolved', resolved_at = now()
    where source_id = ${merge.sourceId} and stream = ${stream} and status = 'open' and last_run_id <> ${merge.runId}::bigint
      and coalesce(slice -> 'partition', '{}') = ${JSON.stringify(equal)}::jsonb and ${within}`.execute(
    session.trx,
  );
}

/** Marks rejects as resolved whose record has now landed. `names` are the records' names, as rejects have them. */
export async function resolveRejects(
  session: Session,
  stream: string,
  names: readonly string[],
  merge: Merge,
): Promise<void> {
  if (names.length === 0) return;
  await sql`update ops.rejects set status = 'resolved', resolved_at = now()
    where source_id = ${merge.sourceId} and stream = ${stream} and status = 'open' and record_key <> ''
      and record_key = any (${[...new Set(names.map(written))]}::text[])`.execute(session.trx);
}

/** How long rejects are kept whose record has landed, or is gone: their bytes help to find the cause. */
const settledKeptFor = '90 days';

/** Forgets rejects of the source that were settled long ago; one that is open stays, whatever its age. */
export async function pruneRejects(db: Kysely<AnyDatabase>, sourceId: number): Promise<void> {
  await sql`delete from ops.rejects
    where source_id = ${sourceId} and status <> 'open' and resolved_at < now() - ${settledKeptFor}::interval`.execute(
    db,
  );
}
