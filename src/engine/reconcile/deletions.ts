/** Tombstones of one stream (guarantee G10). */

import { sql } from 'kysely';
import { Missing } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import { noCounts } from '../../core/run.ts';
import { target } from '../../load/layout.ts';
import { mostDeletions } from '../../load/replace.ts';
import { rowsOf } from '../../queries/db.ts';
import { tell } from '../context/run-context.ts';
import type { Problem } from '../context/stream-in-run.ts';
import { countBatch } from '../state/run-state.ts';
import { keyOf, type Reconciling } from './seen-ids.ts';

/** A live row that was not seen. */
interface Candidate {
  readonly key: string;
  /** A seen row that must answer for this one to count as gone: of the same group, if rows have groups. */
  readonly canary: string | null;
  /** Live rows of the table. */
  readonly live: number;
}

/**
 * Marks rows that are gone. Gives what is in doubt, and whether the deletion guard held everything: then
 * nothing is marked.
 */
export async function markDeleted(
  reconciling: Reconciling,
): Promise<{ readonly attention?: Problem; readonly isHeld: boolean }> {
  const { context, stream } = reconciling;
  const candidates = await rowsNotSeen(reconciling);
  const live = candidates[0]?.live ?? 0;
  const most = mostDeletions(live);
  const first = await ask(reconciling, candidates, most);
  if (first.missing.length > most) {
    const reason = `${stream.name}: more than ${most} of ${live} rows are gone at the source; nothing was deleted: is it the right site, and may the account still see every project?`;
    return { attention: { status: 'attention', reason }, isHeld: true };
  }
  // The canaries of both rounds enclose the first one: an outage that began after them does not count.
  const second = await ask(reconciling, first.missing, most);
  await setTombstones(reconciling, second.missing, true);
  const listed = first.listed.length + second.listed.length;
  if (listed > 0)
    tell(
      context,
      'warn',
      `${stream.name}: ${plural(listed, 'row')} can be had one by one but the source lists them no more (they left what the configuration selects?): they stay here as they were`,
    );
  const unsure = first.unsure.length + second.unsure.length;
  if (unsure === 0) return { isHeld: false };
  const reason = `${stream.name}: ${plural(unsure, 'row')} can no longer be seen, but no other row of their kind can either: they were not deleted. Is a project hidden from the account? Of a server that has no address for a single one no reconciliation can tell`;
  return { attention: { status: 'attention', reason }, isHeld: false };
}

/**
 * The live rows that were not seen. Those of a stream that is read by changes are noted: when they are seen
 * again, they are read again. A stream that is listed whole needs no note.
 */
function rowsNotSeen({ context, stream, db }: Reconciling): Promise<readonly Candidate[]> {
  const { sourceId } = context.run;
  const key = keyOf(stream);
  const kin =
    stream.canaryBy === undefined ? sql`''` : sql`coalesce(${sql.id('t', stream.canaryBy)}::text, '')`;
  const statement = sql<Candidate>`with rows as (
      select ${key} as key, ${kin} as kin, s.key is not null as seen
      from ${target(stream.table)} t left join (select distinct key from pg_temp.reconcile_seen) s on s.key = ${key}
      where t.source_id = ${sourceId} and t._deleted_at is null),
    canaries as (select kin, min(key) as canary from rows where seen group by kin),
    noted as (
      insert into ops.unseen (source_id, stream, key)
      select ${sourceId}::smallint, ${stream.name}, key from rows where not seen and ${stream.by === 'changes'}
      on conflict do nothing)
    select key, canary, (select count(*)::int from rows) as live
    from rows left join canaries using (kin) where not seen`;
  return rowsOf(statement, db);
}

/** A canary's answer counts for the minute in which it was asked. */
const canaryMs = 60_000;

/** Rows by what their own requests say. */
type Answers = Readonly<Record<'missing' | 'listed' | 'unsure', Candidate[]>>;

/**
 * Asks for each row, after a canary of its group: where that does not answer, the absence is a permission or
 * an outage, or the source gives no single entity. Ends where more than `most` are missing.
 */
async function ask(
  { context, stream }: Reconciling,
  rows: readonly Candidate[],
  most: number,
): Promise<Answers> {
  const exists = async (key: string): Promise<boolean> =>
    (await stream.exists?.(key, context.signal)) === true;
  const answered = new Map<string, boolean>();
  const lives = async (canary: string): Promise<boolean> => {
    const now = `${canary} ${Math.floor(performance.now() / canaryMs)}`;
    const answer = answered.get(now) ?? (await exists(canary).catch(falseIfMissing));
    answered.set(now, answer);
    return answer;
  };
  const answers: Answers = { missing: [], listed: [], unsure: [] };
  for (const row of rows) {
    if (answers.missing.length > most) break;
    if (row.canary === null || !(await lives(row.canary))) answers.unsure.push(row);
    else answers[(await exists(row.key)) ? 'listed' : 'missing'].push(row);
  }
  return answers;
}

const falseIfMissing = (error: unknown): boolean => {
  if (error instanceof Missing) return false;
  throw error;
};

/** Lifts the tombstones of rows that were seen. */
export async function liftTombstones(reconciling: Reconciling): Promise<void> {
  const { context, stream, db } = reconciling;
  const statement = sql<{ key: string }>`select distinct s.key
    from ${target(stream.table)} t join pg_temp.reconcile_seen s on s.key = ${keyOf(stream)}
    where t.source_id = ${context.run.sourceId} and t._deleted_at is not null`;
  await setTombstones(reconciling, await rowsOf(statement, db), false);
}

/** Sets or lifts tombstones in one fenced transaction. A row that is alive again counts as updated. */
async function setTombstones(
  { context, stream }: Reconciling,
  rows: readonly { readonly key: string }[],
  isDead: boolean,
): Promise<void> {
  const many = rows.length;
  if (many === 0) return;
  const { runId, sourceId } = context.run;
  const loaded = isDead
    ? { counts: noCounts, deleted: many }
    : { counts: { ...noCounts, received: many, updated: many }, deleted: 0 };
  const keys = rows.map(({ key }) => key);
  await context.lease.transaction(async (session) => {
    // What is gone is not read again; should it come back, its tombstone says as much.
    await sql`with changed as (
        update ${target(stream.table)} t set _deleted_at = ${isDead ? sql`now()` : sql`null`}, _synced_at = now(),
          _run_id = ${runId}::bigint
        where source_id = ${sourceId} and ${keyOf(stream)} = any (${keys}::text[]))
      delete from ops.unseen where source_id = ${sourceId} and stream = ${stream.name}
        and key = any (${keys}::text[])`.execute(session.trx);
    await countBatch(session, context.run, stream.name, loaded);
  });
  tell(
    context,
    'info',
    `${stream.name}: ${plural(many, 'row')} ${isDead ? 'marked as deleted' : 'alive again'}`,
  );
}
