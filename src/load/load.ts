import { sql } from 'kysely';
import type pg from 'pg';
import { AccountsDoNotBalance } from '../core/errors.ts';
import type { Counts } from '../core/run.ts';
import type { Table, Value } from '../core/table.ts';
import type { Batch, BatchRecord } from './batch.ts';
import { childrenOf, type Layout } from './layout.ts';
import { countScope, type Merge, mergeChild, mergeRoot, replaceScope } from './merge.ts';
import { keepRejects, resolveRejects } from './rejects.ts';
import { inTransaction, type Session } from './session.ts';
import { stage } from './stage.ts';

/** What must be true when the batch commits, and what commits with it. */
export interface Load extends Merge {
  readonly stream: string;
  /** Whether the stream has open rejects that a good version may resolve. */
  readonly resolves: boolean;
  /** The batch is the complete listing of this scope: rows of it that the batch does not have go. */
  readonly replaces?: Readonly<Record<string, string>>;
  /** Checkpoint, slice, counters: the last writes of the transaction. */
  readonly close: (session: Session, result: Loaded) => Promise<void>;
  /** The very last statement: throws `Fenced` unless the lease is still ours. */
  readonly guard: (session: Session) => Promise<void>;
}

export interface Loaded {
  readonly counts: Counts;
  readonly deleted: number;
  /** True where a complete listing was empty though the warehouse holds many rows of the scope: nothing was removed. */
  readonly braked: boolean;
}

/**
 * A staging table has no statistics, and a young target has old ones: left alone, the planner hashes the entire target once a batch, or
 * reads it through once a staged row. All joins here are look-ups by key.
 */
const settings = `set local enable_hashjoin = off; set local enable_mergejoin = off; set local enable_seqscan = off;
  set local enable_material = off; set local lock_timeout = '30s'`;

/** More rows than this are not removed on the word of an empty list. */
const emptyListBrake = 20;

/**
 * Commits one batch in one transaction: stage, merge, children, rejects, then `close` and the lease check.
 * May be called again with the same batch: it then finds everything unchanged. Throws `AccountsDoNotBalance`, `Fenced` or `Transient`.
 */
export async function load(pool: pg.Pool, batch: Batch, how: Load, signal: AbortSignal): Promise<Loaded> {
  const work = async (session: Session): Promise<Loaded> => {
    const result = await write(session, batch, how);
    await keepRejects(session, how.stream, batch.rejects, how);
    await keepNotes(session, batch, how);
    if (how.resolves) await resolveRejects(session, how.stream, batch.records.map(keyText), how);
    balance(how.stream, result.counts);
    await how.close(session, result);
    await how.guard(session);
    return result;
  };
  return inTransaction(pool, signal, work, { settings });
}

/** A record's key as text, as `ops.rejects.record_key` has it. */
export const keyText = (record: { readonly key: readonly Value[] }): string => record.key.map(String).join('/');

async function write(session: Session, batch: Batch, how: Load): Promise<Loaded> {
  const root = batch.layouts[0] as Layout;
  const { flow } = batch;
  const known = await knownRows(session, flow.table, batch.records, how.sourceId);
  const pending: BatchRecord[] = [];
  let unchanged = 0;
  let superseded = 0;
  for (const record of batch.records) {
    const there = known.get(record.keyText);
    if (there === undefined || there.deleted) pending.push(record);
    else if (there.hash === record.hash) unchanged += 1;
    else if (!how.force && isOlder(record, there)) superseded += 1;
    else pending.push(record);
  }
  // One order for everybody: two transactions with the same keys wait for each other instead of deadlocking.
  pending.sort((a, b) => (a.keyText < b.keyText ? -1 : a.keyText > b.keyText ? 1 : 0));
  let written = { inserted: 0, updated: 0 };
  let deleted = 0;
  let braked = false;
  if (pending.length > 0 || how.replaces !== undefined) {
    await stage(session, batch, 0, pending);
    written = await mergeRoot(session, root, how);
    const left = pending.length - written.inserted - written.updated;
    if (left > 0) {
      const settled = await settle(session, root, pending, flow.table, how, left);
      unchanged += settled.unchanged;
      superseded += settled.superseded;
    }
    deleted += await writeChildren(session, batch, root, pending, written.inserted === pending.length, how);
  }
  if (how.replaces !== undefined) {
    braked = batch.records.length === 0 && (await countScope(session, root, how.replaces, how)) > emptyListBrake;
    if (!braked) deleted += await replaceScope(session, root, how.replaces, how);
  }
  const counts: Counts = {
    received: batch.received,
    ...written,
    unchanged,
    deduplicated: batch.deduplicated,
    superseded,
    rejected: batch.rejects.length,
  };
  return { counts, deleted, braked };
}

async function writeChildren(
  session: Session,
  batch: Batch,
  root: Layout,
  pending: readonly BatchRecord[],
  fresh: boolean,
  how: Load,
): Promise<number> {
  let deleted = 0;
  const children = childrenOf(batch.flow.children);
  for (let i = 0; i < children.length; i += 1) {
    const [, child] = children[i] as (typeof children)[number];
    const bit = 1 << i;
    if (!pending.some((record) => (record.delivered & bit) !== 0)) continue;
    const rows = await stage(session, batch, i + 1, pending);
    if (rows === 0 && (fresh || child.absent === 'kept')) continue;
    deleted += (await mergeChild(session, root, child, i, fresh, how)).deleted;
  }
  return deleted;
}

interface Known {
  readonly hash: bigint | undefined;
  readonly order: string | undefined;
  readonly deleted: boolean;
}

/** What the warehouse holds of the batch's keys. Relations have no hash: nothing is known of them before the merge. */
async function knownRows(
  session: Session,
  table: Table,
  records: readonly BatchRecord[],
  sourceId: number,
): Promise<ReadonlyMap<string, Known>> {
  const known = new Map<string, Known>();
  const [key, second] = table.key;
  if (!table.entity || key === undefined || second !== undefined || records.length === 0) return known;
  const columns: Readonly<Record<string, string>> = table.columns;
  const byKey = new Map(records.map((record) => [String(record.key[0]), record.keyText]));
  const order = table.order === undefined ? sql`null` : orderText(table.order);
  const { rows } = await sql<{ key: string; hash: string | null; order: string | null; deleted: boolean }>`
    select ${sql.id(key)}::text as key, _row_hash::text as hash, ${order} as order,
      ${table.tombstones ? sql`_deleted_at is not null` : sql`false`} as deleted
    from ${sql.id(table.schema, table.name)}
    where source_id = ${sourceId} and ${sql.id(key)} = any (${[...byKey.keys()]}::${sql.raw(columns[key] ?? 'text')}[])`.execute(
    session.trx,
  );
  for (const row of rows) {
    const text = byKey.get(row.key);
    if (text === undefined) continue;
    known.set(text, {
      hash: row.hash === null ? undefined : BigInt(row.hash),
      order: row.order ?? undefined,
      deleted: row.deleted,
    });
  }
  return known;
}

/** An order column as text that compares with our values: microseconds since 1970 for instants. */
const orderText = (column: string) => sql`(extract(epoch from ${sql.id(column)}) * 1000000)::bigint::text`;

const isOlder = (record: BatchRecord, there: Known): boolean =>
  there.order !== undefined && typeof record.order === 'bigint' && record.order < BigInt(there.order);

/**
 * Staged records that the merge did not write: somebody else's row is newer, or equal. Their children must not be written either,
 * so they leave the staging table.
 */
async function settle(
  session: Session,
  root: Layout,
  pending: BatchRecord[],
  table: Table,
  how: Load,
  left: number,
): Promise<{ unchanged: number; superseded: number }> {
  if (!table.entity) return { unchanged: left, superseded: 0 };
  const there = await knownRows(session, table, pending, how.sourceId);
  const { rows } = await sql<{ key: string }>`select ${sql.id(table.key[0] ?? '')}::text as key
    from ${sql.id(table.schema, table.name)} where source_id = ${how.sourceId} and _run_id = ${how.runId}::bigint
      and xmin = pg_current_xact_id()::xid
      and ${sql.id(table.key[0] ?? '')}::text = any (${pending.map((record) => String(record.key[0]))}::text[])`.execute(
    session.trx,
  );
  const ours = new Set(rows.map((row) => row.key));
  let unchanged = 0;
  let superseded = 0;
  const kept: BatchRecord[] = [];
  for (const record of pending) {
    if (ours.has(String(record.key[0]))) kept.push(record);
    else if (there.get(record.keyText)?.hash === record.hash) unchanged += 1;
    else superseded += 1;
  }
  pending.splice(0, pending.length, ...kept);
  const keys = kept.map((record) => String(record.key[0]));
  const type: Readonly<Record<string, string>> = root.table.columns;
  const column = table.key[0] ?? '';
  await sql`delete from ${sql.id('pg_temp', `stage_${table.schema}_${table.name}`)}
    where ${sql.id(column)} <> all (${keys}::${sql.raw(type[column] ?? 'text')}[])`.execute(session.trx);
  return { unchanged, superseded };
}

async function keepNotes(session: Session, batch: Batch, how: Load): Promise<void> {
  for (const note of batch.notes)
    await sql`insert into ops.schema_changes (source_id, stream, note, run_id)
      values (${how.sourceId}, ${how.stream}, ${note}, ${how.runId}::bigint) on conflict do nothing`.execute(
      session.trx,
    );
}

/** Guarantee G13, inside the transaction. */
function balance(stream: string, counts: Counts): void {
  const sum =
    counts.inserted + counts.updated + counts.unchanged + counts.deduplicated + counts.superseded + counts.rejected;
  if (sum !== counts.received)
    throw new AccountsDoNotBalance(
      `${stream}: ${counts.received} records received, ${sum} accounted for: ${JSON.stringify(counts)}`,
    );
}
