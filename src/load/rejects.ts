import crypto from 'node:crypto';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { AnyDatabase } from '../warehouse/connect.ts';
import type { Batch, LoadTask, Reject } from './batch.ts';
import type { Scope } from './replace.ts';

/** A payload longer than this is kept in part, with the digest of the whole. */
const longestPayload = 1 << 20;

/** A NUL, which no text column takes, written out: what it was is in the payload. */
const withoutNul = (text: string): string => text.replaceAll('\0', '\\x00');

/**
 * Puts rejects into `ops.rejects` with their exact bytes. The same record rejected again is the same row,
 * with one more attempt per run, and stays dismissed if it was; where it came with other bytes, the earlier
 * row is resolved.
 */
export async function keepRejects(task: LoadTask, rejects: readonly Reject[]): Promise<void> {
  const { sourceId, runId } = task.merge;
  for (const { key: name, payload, stage, code, field, message, slice, part } of rejects) {
    const digest = crypto.hash('sha256', payload, 'buffer');
    const kept = payload.subarray(0, longestPayload);
    const key = withoutNul(name);
    await sql`insert into ops.rejects as r (source_id, stream, part, given,
        record_key, sha256, payload, truncated, stage, code, field, message, slice, first_run_id, last_run_id)
      values (${sourceId}, ${task.batch.stream.name}, ${part?.child ?? ''}, ${part?.given ?? null}::jsonb, ${key}, ${digest}, ${kept},
        ${kept.length < payload.length}, ${stage}, ${code}, ${field === undefined ? null : withoutNul(field)},
        ${withoutNul(message)}, ${JSON.stringify(slice)}::jsonb, ${runId}::bigint, ${runId}::bigint)
      on conflict (source_id, stream, part, record_key, sha256) do update set
        last_run_id = excluded.last_run_id, last_seen_at = now(), message = excluded.message,
        code = excluded.code, field = excluded.field, given = excluded.given,
        status = case r.status when 'dismissed' then r.status else 'open' end,
        resolved_at = case r.status when 'dismissed' then now() end,
        attempts = r.attempts + (r.last_run_id <> excluded.last_run_id)::int`.execute(task.session.trx);
    // What the record was before is of no use any more. A record has several parts: see `resolveRejects`.
    const before = sql`part = '' and record_key = ${key} and sha256 <> ${digest} and ${isOfOtherRun(task)}`;
    if (key !== '' && part === undefined) await resolve(task, before);
  }
}

const isOfOtherRun = ({ merge }: LoadTask): RawBuilder<unknown> => sql`last_run_id <> ${merge.runId}::bigint`;

/** Marks open rejects of the stream that meet the condition as resolved. */
const resolve = ({ session, batch, merge }: LoadTask, condition: RawBuilder<unknown>) =>
  sql`update ops.rejects set status = 'resolved', resolved_at = now() where source_id = ${merge.sourceId}
    and stream = ${batch.stream.name} and status = 'open' and ${condition}`.execute(session.trx);

/**
 * Marks rejects as resolved that were met in the scope of a complete listing and not in this one: their
 * records are good by now, or gone. Call it after `keepRejects`. Of one whose slice reaches beyond the scope
 * nothing is known, nor of a part that may have been fetched apart with its record.
 */
export async function resolveScope(task: LoadTask, { equal, days }: Scope): Promise<void> {
  const within =
    days === undefined
      ? sql`true`
      : sql`(slice #>> '{window,from}')::timestamptz >= ${days.from.toISOString()}::timestamptz
          and (slice #>> '{window,to}')::timestamptz <= ${days.to.toISOString()}::timestamptz`;
  const isInScope = sql`part = '' and ${isOfOtherRun(task)}
    and coalesce(slice -> 'partition', '{}') = ${JSON.stringify(equal)}::jsonb and ${within}`;
  await resolve(task, isInScope);
}

/**
 * Marks rejects as resolved of what was read by these names (`Batch.names`). Call it after `keepRejects`: parts that it
 * kept, in this transaction, stay.
 */
export async function resolveRejects(task: LoadTask, read: Batch['names']): Promise<void> {
  if (read.length === 0) return;
  const names = read.map(([name]) => withoutNul(name));
  const parts = read.map(([, part]) => part);
  const isRead = sql`(record_key, part) in (select * from unnest(${names}::text[], ${parts}::text[]))`;
  await resolve(task, sql`record_key <> '' and ${isRead} and (part = '' or last_seen_at <> now())`);
}

/**
 * Deletes rejects of the source that were resolved 90 days ago: until then their bytes help to find the
 * cause. One that is open stays, whatever its age.
 */
export async function pruneRejects(db: Kysely<AnyDatabase>, sourceId: number): Promise<void> {
  await sql`delete from ops.rejects where source_id = ${sourceId} and status <> 'open'
    and resolved_at < now() - interval '90 days'`.execute(db);
}
