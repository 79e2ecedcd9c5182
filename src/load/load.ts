import { sql } from 'kysely';
import type pg from 'pg';
import { AccountsDoNotBalance } from '../core/errors.ts';
import type { Counts } from '../core/run.ts';
import { type Batch, type BatchRecord, byKey, type Reject } from './batch.ts';
import { settleRepeats } from './dedupe.ts';
import { isOlder, type Known, knownRows, settle } from './existing-rows.ts';
import { keepLateRevisions, keepRevisions, keepVersions } from './history.ts';
import { copyOrNot, isPlain } from './insert-only.ts';
import { childrenOf, type Layout } from './layout.ts';
import {
  countScope,
  type Listing,
  type Merge,
  mergeChildren,
  mergeRoot,
  removeAbsent,
  replaceScope,
  type StagedChild,
} from './merge.ts';
import { keepRejects, resolveRejects, resolveScope } from './rejects.ts';
import type { Scope } from './scope.ts';
import { inTransaction, type Session } from './session.ts';
import { stage } from './stage.ts';
import type { Gathered } from './staged-replace.ts';

/** What must be true when the batch commits, and what commits with it. */
export interface Load extends Merge {
  readonly stream: string;
  /** Whether the stream has open rejects that a good version may resolve. */
  readonly resolves: boolean;
  /** SET LOCAL statements for the transaction, besides ours. */
  readonly settings?: string;
  /** What is loaded is the complete listing of this scope: rows of it that are not there go. */
  readonly replaces?: Scope;
  /** What is loaded is the complete listing of this scope, whatever becomes of its rows: rejects of it that it does not show are over. */
  readonly lists?: Scope;
  /** Checkpoint, slice, counters: the last writes of the transaction. */
  readonly close: (session: Session, result: Loaded) => Promise<void>;
  /** The very last statement: throws `Fenced` unless the lease is still ours. What it gives is called once the transaction is committed. */
  readonly guard: (session: Session) => Promise<() => void>;
}

export interface Loaded {
  readonly counts: Counts;
  readonly deleted: number;
  /** True where a complete listing would have removed more rows of the scope than is believable: nothing was removed. */
  readonly braked: boolean;
  /** Rows that a complete listing did not show and that stay: one of them may be of a record that was rejected and cannot be told by name. */
  readonly spared?: number;
}

/**
 * A staging table has no statistics, and a young target has old ones: left alone, the planner hashes the entire target once a batch, or
 * reads it through once a staged row. All joins here are look-ups by key.
 */
export const settings = `set local enable_hashjoin = off; set local enable_mergejoin = off; set local enable_seqscan = off;
  set local enable_material = off; set local lock_timeout = '30s'`;

/** So many rows of a scope may go at once without a doubt (guarantee G10). */
const believable = 20;
const believableShare = 0.05;

/**
 * Commits one batch in one transaction: stage, merge, children, rejects, then `close` and the lease check.
 * May be called again with the same batch: it then finds everything unchanged. `before`: what was staged of the same listing already, on the
 * session that the transaction then uses. Throws `AccountsDoNotBalance`, `Fenced` or `Transient`.
 */
export async function load(
  pool: pg.Pool,
  batch: Batch,
  how: Load,
  signal: AbortSignal,
  before?: Gathered,
): Promise<Loaded> {
  const work = async (
    session: Session,
  ): Promise<{ readonly result: Loaded; readonly confirm: () => void }> => {
    const result = await write(session, batch, how, before);
    await keepRejects(session, how.stream, [...(before?.rejects ?? []), ...batch.rejects], how);
    await keepNotes(session, [...(before?.notes ?? []), ...batch.notes], how);
    if (how.resolves) {
      await resolveRejects(session, how.stream, [...(before?.names ?? []), ...batch.names], how);
      if (how.lists !== undefined && !result.braked) await resolveScope(session, how.stream, how.lists, how);
    }
    balance(how.stream, result.counts);
    await how.close(session, result);
    return { result, confirm: await how.guard(session) };
  };
  const { result, confirm } =
    before?.within !== undefined
      ? await before.within(work)
      : await inTransaction(pool, signal, work, {
          settings: how.settings === undefined ? settings : `${settings}; ${how.settings}`,
          ...(before?.client === undefined ? {} : { on: before.client }),
        });
  confirm();
  return result;
}

async function write(
  session: Session,
  batch: Batch,
  how: Load,
  before: Gathered | undefined,
): Promise<Loaded> {
  const root = batch.layouts[0] as Layout;
  const { flow } = batch;
  // A complete listing is staged whole: what is not there is gone.
  const known =
    how.replaces !== undefined || before !== undefined
      ? new Map<string, Known>()
      : await knownRows(session, flow.table, batch.records, how.sourceId);
  let pending: BatchRecord[] = [];
  let unchanged = 0;
  let superseded = 0;
  for (const record of batch.records) {
    const there = known.get(record.keyText);
    if (there === undefined || there.deleted) pending.push(record);
    else if (there.hash === record.hash && !(how.force && record.tailed)) unchanged += 1;
    else if (!how.force && isOlder(record, there)) superseded += 1;
    else pending.push(record);
  }
  // One order for everybody: two transactions with the same keys wait for each other instead of deadlocking.
  pending = byKey(pending);
  let written = { inserted: 0, updated: 0 };
  let deleted = 0;
  let braked = false;
  let spared = 0;
  let repeated = 0;
  const isFresh =
    how.replaces === undefined &&
    before === undefined &&
    known.size === 0 &&
    pending.length > 0 &&
    isPlain(flow);
  if (before?.finish !== undefined) {
    const done = await before.finish(batch, pending);
    written = { inserted: done.inserted, updated: done.updated };
    unchanged += done.unchanged;
    repeated = done.repeated;
  } else if (isFresh && (await copyOrNot(session, batch, pending, how)))
    written = { inserted: pending.length, updated: 0 };
  else if (pending.length > 0 || how.replaces !== undefined || before !== undefined) {
    let staged = (before?.rows ?? 0) + (await stage(session, batch, 0, pending));
    if (batch.isListing) repeated = await settleRepeats(session, root);
    staged -= repeated;
    if (how.replaces !== undefined) {
      const rejects = [...(before?.rejects ?? []), ...batch.rejects];
      const listed = listingOf(root, how.replaces, rejects);
      const verdict = await verdictOn(session, root, listed, how, { rows: staged, rejects: rejects.length });
      ({ braked, spared } = verdict);
      if (!braked && spared === 0) {
        await keepRevisions(session, root, listed, how);
        deleted += await replaceScope(session, root, listed, how);
      }
    }
    if (how.late === true) await keepLateRevisions(session, root, how);
    written = await mergeRoot(session, root, how);
    const left = staged - written.inserted - written.updated;
    if (left > 0) {
      const settled = await settle(session, pending, flow.table, how, left);
      unchanged += settled.unchanged;
      superseded += settled.superseded;
    }
    await keepVersions(session, root, how);
    deleted += await writeChildren(session, batch, root, pending, written.inserted === pending.length, how);
  }
  const counts: Counts = {
    received: batch.received + (before?.received ?? 0),
    ...written,
    unchanged,
    deduplicated: batch.deduplicated + (before?.deduplicated ?? 0) + repeated,
    superseded,
    rejected: batch.rejects.length + (before?.rejects.length ?? 0),
  };
  return { counts, deleted, braked, ...(spared === 0 ? {} : { spared }) };
}

/**
 * A listing with its rejects: what a rejected record is about is shown as well as anything else (guarantee G10), and stays as it was. Of a relation
 * the record is the other end alone: which row it is cannot be told. A row of a report says it, or is told anew with the rest of its days.
 */
function listingOf(
  { table }: Layout,
  scope: Scope,
  rejects: readonly Reject[],
): Listing & { readonly nameless: boolean } {
  const all = { scope, rejected: [], about: [], nameless: false };
  if (!table.tombstones && scope.days !== undefined)
    return { ...all, about: rejects.flatMap(({ row }) => (row === undefined ? [] : [row])) };
  if (table.key.length > 1) return { ...all, nameless: rejects.length > 0 };
  const names = rejects.map(({ key }) => key);
  return { ...all, rejected: names, nameless: names.includes('') };
}

/**
 * What a complete listing may take away. Too much of entities is more than 20 and 5 % of the scope, of relations and reports all of more
 * than 20 on the word of an empty list, and any row on the word of a list of which not one record could become a row: it is not empty. A
 * forced resync may empty a report, never tombstone. `spared`: the rows that it does not show, where a rejected record has no name: it may
 * be any of them.
 */
async function verdictOn(
  session: Session,
  root: Layout,
  listed: Listing & { readonly nameless: boolean },
  how: Load,
  shown: Shown,
): Promise<{ readonly braked: boolean; readonly spared: number }> {
  const entities = root.table.tombstones;
  const atMost = mayEmpty(shown, listed.scope, how);
  if (!entities && atMost === Infinity && !listed.nameless) return { braked: false, spared: 0 };
  const { live, absent } = await countScope(session, root, listed, how);
  const braked = entities ? absent > Math.max(believable, live * believableShare) : live > atMost;
  return { braked, spared: listed.nameless && !braked ? absent : 0 };
}

/** How much a complete listing shows. */
interface Shown {
  readonly rows: number;
  readonly rejects: number;
}

/** How many rows, at most, a listing of relations or of days may leave none of. */
function mayEmpty({ rows, rejects }: Shown, { days }: Scope, { force }: Load): number {
  if (rows > 0) return Infinity;
  if (rejects > 0 && days !== undefined) return 0;
  return force ? Infinity : believable;
}

async function writeChildren(
  session: Session,
  batch: Batch,
  root: Layout,
  pending: readonly BatchRecord[],
  fresh: boolean,
  how: Load,
): Promise<number> {
  const staged: StagedChild[] = [];
  for (const [bit, [, child]] of childrenOf(batch.flow.children).entries())
    if (pending.some((record) => (record.delivered & (1 << bit)) !== 0))
      staged.push({ child, bit, rows: await stage(session, batch, bit + 1, pending) });
  // Of parents that are all new there is nothing to take away.
  const shrinking = fresh ? [] : staged.filter(({ child }) => child.absent !== 'kept');
  const deleted = await removeAbsent(session, root, shrinking, how);
  const delivered = staged.filter(({ rows }) => rows > 0);
  await mergeChildren(
    session,
    root,
    delivered.map(({ child }) => child),
    how,
  );
  return deleted;
}

async function keepNotes(session: Session, notes: readonly string[], how: Load): Promise<void> {
  for (const note of notes)
    await sql`insert into ops.schema_changes (source_id, stream, note, run_id)
      values (${how.sourceId}, ${how.stream}, ${note}, ${how.runId}::bigint) on conflict do nothing`.execute(
      session.trx,
    );
}

/** Guarantee G13, inside the transaction. */
function balance(stream: string, counts: Counts): void {
  const sum =
    counts.inserted +
    counts.updated +
    counts.unchanged +
    counts.deduplicated +
    counts.superseded +
    counts.rejected;
  if (sum !== counts.received)
    throw new AccountsDoNotBalance(
      `${stream}: ${counts.received} records received, ${sum} accounted for: ${JSON.stringify(counts)}`,
    );
}
