/** Tombstones of one stream (guarantee G10). */

import { sql } from 'kysely';
import { caught, Forbidden, Missing } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import { noCounts } from '../../core/run.ts';
import { target } from '../../load/layout.ts';
import { mostDeletions } from '../../load/replace.ts';
import { rowsOf } from '../../queries/db.ts';
import { tell } from '../context/run-context.ts';
import { countBatch } from '../state/run-state.ts';
import { keyOf, type Reconciling } from './seen-ids.ts';

/** A live row that was not seen. */
interface Candidate {
  readonly key: string;
  /** A seen row that must answer for this one to count as gone: of the same group, if rows have groups. */
  readonly canary: string | null;
  /** Another row owns its key: no canary needs to answer. */
  readonly isReplaced: boolean;
  /** Live rows of the table. */
  readonly live: number;
}

/** Rows that were not seen, by what their own requests say. `unsure`: closed, or their canary does not answer either. */
type Answers = Record<'missing' | 'listed' | 'unsure', Candidate[]>;

/**
 * Marks rows that are gone. Gives what is in doubt, and whether the deletion guard held everything: then
 * nothing is marked.
 */
export async function markDeleted(reconciling: Reconciling) {
  const { stream } = reconciling;
  const candidates = await rowsNotSeen(reconciling);
  const live = candidates[0]?.live ?? 0;
  const most = mostDeletions(live);
  const answers: Answers = { missing: [], listed: [], unsure: [] };
  await ask(reconciling, candidates, most, answers);
  if (answers.missing.length > most) {
    const doubt = `${stream.name}: more than ${most} of ${live} rows are gone at the source; nothing was deleted: is it the right site, and may the account still see every project?`;
    return { doubt, isHeld: true };
  }
  // The canaries of both rounds enclose the first one: an outage that began after them does not count.
  await ask(reconciling, answers.missing.splice(0), most, answers);
  await setTombstones(reconciling, answers.missing, true);
  const listed = answers.listed.length;
  const unsure = answers.unsure.length;
  const left = `${stream.name}: ${plural(listed, 'row')} can be had one by one but the source lists them no more (they left what the configuration selects?): they stay here as they were`;
  if (listed > 0) tell(reconciling, 'warn', left);
  const doubt = `${stream.name}: ${plural(unsure, 'row')} can no longer be seen, but they are closed to the account, or no other row of their kind can be seen either: they were not deleted. Is a project hidden from the account? Of a server that has no address for a single one no reconciliation can tell`;
  return { ...(unsure > 0 && { doubt }), isHeld: false };
}

/**
 * The live rows that were not seen; a row without a hash was never listed. Those of a stream that is read by changes are noted: when they are seen
 * again, they are read again. A stream that is listed whole needs no note.
 */
function rowsNotSeen({ sourceId, stream, own }: Reconciling): Promise<readonly Candidate[]> {
  const { canaryBy, replaced = 'false', leftOut = 'false' } = stream;
  const kin = canaryBy === undefined ? sql`''` : sql`coalesce(${sql.id('t', canaryBy)}::text, '')`;
  const statement = sql<Candidate>`with rows as (
      select ${keyOf(stream)} as key, ${kin} as kin, s.key is not null as seen,
        s.key is null and (${sql.raw(replaced)}) as "isReplaced"
      from ${target(stream.table)} t
      left join (select distinct key from pg_temp.reconcile_seen) s on s.key = ${keyOf(stream)}
      where t.source_id = ${sourceId} and t._deleted_at is null and t._row_hash is not null
        and (${sql.raw(leftOut)}) is not true),
    canaries as (select kin, min(key) as canary from rows where seen group by kin),
    noted as (
      insert into ops.unseen (source_id, stream, key)
      select ${sourceId}::smallint, ${stream.name}, key from rows where not seen and ${stream.by === 'changes'}
      on conflict do nothing)
    select key, canary, "isReplaced", (select count(*)::int from rows) as live
    from rows left join canaries using (kin) where not seen`;
  return rowsOf(statement, own);
}

/** A canary's answer counts for the minute in which it was asked. */
const canaryMs = 60_000;

/**
 * Asks for each row, after a canary of its group: where that does not answer, the absence is a permission or
 * an outage, or the source gives no single entity. Ends where more than `most` are missing.
 */
async function ask(
  { signal, stream }: Reconciling,
  rows: readonly Candidate[],
  most: number,
  answers: Answers,
): Promise<void> {
  const exists = async (key: string) => (await stream.exists?.(key, signal)) === true;
  const answered = new Map<string, boolean>();
  const lives = async (canary: string): Promise<boolean> => {
    const now = `${canary} ${Math.floor(performance.now() / canaryMs)}`;
    const answer = answered.get(now) ?? (await exists(canary).catch(caught(Missing))) === true;
    answered.set(now, answer);
    return answer;
  };
  for (const row of rows) {
    if (answers.missing.length > most) break;
    const isProof = row.isReplaced || (row.canary !== null && (await lives(row.canary)));
    // A row that is closed to the account (401, 403) may be there.
    const answer = isProof ? await exists(row.key).catch(caught(Forbidden)) : undefined;
    answers[typeof answer !== 'boolean' ? 'unsure' : answer ? 'listed' : 'missing'].push(row);
  }
}

/** Lifts the tombstones of rows that were seen. */
export async function liftTombstones(reconciling: Reconciling): Promise<void> {
  const { sourceId, stream, own } = reconciling;
  const statement = sql<{ key: string }>`select distinct s.key
    from ${target(stream.table)} t join pg_temp.reconcile_seen s on s.key = ${keyOf(stream)}
    where t.source_id = ${sourceId} and t._deleted_at is not null`;
  await setTombstones(reconciling, await rowsOf(statement, own), false);
}

/** Sets or lifts tombstones in one fenced transaction. A row that is alive again counts as updated. */
async function setTombstones(
  reconciling: Reconciling,
  rows: readonly { readonly key: string }[],
  isDead: boolean,
): Promise<void> {
  if (rows.length === 0) return;
  const { sourceId, runId, lease, stream } = reconciling;
  const [deleted, updated] = isDead ? [rows.length, 0] : [0, rows.length];
  const loaded = { counts: { ...noCounts, received: updated, updated }, deleted };
  const keys = rows.map(({ key }) => key);
  await lease.transaction(async (session) => {
    // What is gone is not read again; should it come back, its tombstone says as much.
    await sql`with changed as (
        update ${target(stream.table)} t set _deleted_at = ${isDead ? sql`now()` : sql`null`}, _synced_at = now(),
          _run_id = ${runId}::bigint
        where source_id = ${sourceId} and ${keyOf(stream)} = any (${keys}::text[]))
      delete from ops.unseen where source_id = ${sourceId} and stream = ${stream.name}
        and key = any (${keys}::text[])`.execute(session.trx);
    await countBatch(session, reconciling, stream.name, loaded);
  });
  const what = isDead ? 'marked as deleted' : 'alive again';
  tell(reconciling, 'info', `${stream.name}: ${plural(rows.length, 'row')} ${what}`);
}
