import { sql } from 'kysely';
import type pg from 'pg';
import { AccountsDoNotBalance } from '../core/errors.ts';
import type { Counts } from '../core/run.ts';
import { type Batch, type BatchRecord, byKey } from './batch.ts';
import { dropUnwritten, type ExistingRow, existingRows, isOlder } from './existing-rows.ts';
import { keepLateRevisions, keepRevisions, keepVersions } from './history.ts';
import { insertOnly, isPlain } from './insert-only.ts';
import { childrenOf, type Layout } from './layout.ts';
import type { ListingLoad } from './listing-load.ts';
import { type Merge, mergeChildren, mergeRoot, removeAbsent, type StagedChild } from './merge.ts';
import { settings } from './planner.ts';
import { keepRejects, resolveRejects, resolveScope } from './rejects.ts';
import { judgeListing, listingOf, replaceScope, type Scope } from './replace.ts';
import { inTransaction, type Session } from './session.ts';
import { settleRepeats, stage } from './stage.ts';

/** What must be true when the batch commits, and what commits with it. */
export interface Load extends Merge {
  readonly stream: string;
  /** Whether the stream has open rejects that a good version may resolve. */
  readonly resolves: boolean;
  /** SET LOCAL statements for the transaction, besides ours. */
  readonly settings?: string;
  /** What is loaded is the complete listing of this scope: rows of it that the listing does not show are removed. */
  readonly replaces?: Scope;
  /** What is loaded is the complete listing of this scope: its rejects that the listing does not show are resolved. */
  readonly lists?: Scope;
  /** Checkpoint, slice, counters: the last writes of the transaction. */
  readonly close: (session: Session, result: Loaded) => Promise<void>;
  /** The very last statement: throws `Fenced` unless the lease is still ours. Its result is called once the transaction is committed. */
  readonly guard: (session: Session) => Promise<() => void>;
}

export interface Loaded {
  readonly counts: Counts;
  readonly deleted: number;
  /** True where a complete listing would have removed more rows of the scope than the deletion guard allows: nothing was removed. */
  readonly isHeld: boolean;
  /** Rows that a complete listing did not show and that stay, because a rejected record without a name may be any of them. */
  readonly spared?: number;
}

/** What became of the records of a batch, and of the rows that it replaces. */
interface Outcome {
  inserted: number;
  updated: number;
  unchanged: number;
  superseded: number;
  /** Staged rows that repeated a key. */
  repeated: number;
  deleted: number;
  isHeld: boolean;
  spared: number;
}

/**
 * Commits one batch in one transaction: existing rows → stage → merge → children → rejects → `close` → lease check. May be called again
 * with the same batch: it then finds everything unchanged. `listing`: the rows of the same listing that were taken before; the batch is its
 * last one. Throws `AccountsDoNotBalance`, `Fenced` or `Transient`.
 */
export async function load(
  pool: pg.Pool,
  batch: Batch,
  how: Load,
  signal: AbortSignal,
  listing?: ListingLoad,
): Promise<Loaded> {
  const work = async (session: Session) => {
    const outcome = await write(session, batch, how, listing);
    const loaded = loadedOf(batch, outcome, listing);
    await keepRejects(session, how.stream, [...(listing?.rejects ?? []), ...batch.rejects], how);
    await keepNotes(session, new Set([...(listing?.notes ?? []), ...batch.notes]), how);
    if (how.resolves) {
      await resolveRejects(session, how.stream, [...(listing?.names ?? []), ...batch.names], how);
      if (how.lists !== undefined && !loaded.isHeld) await resolveScope(session, how.stream, how.lists, how);
    }
    checkBalance(how.stream, loaded.counts);
    await how.close(session, loaded);
    return { loaded, confirm: await how.guard(session) };
  };
  const { loaded, confirm } =
    listing === undefined
      ? await inTransaction(pool, signal, work, { settings: `${settings}; ${how.settings ?? ''}` })
      : await listing.finish(work);
  confirm();
  return loaded;
}

function loadedOf(batch: Batch, outcome: Outcome, listing: ListingLoad | undefined): Loaded {
  const { inserted, updated, unchanged, superseded, repeated, deleted, isHeld, spared } = outcome;
  const counts: Counts = {
    received: batch.received + (listing?.received ?? 0),
    inserted,
    updated,
    unchanged,
    deduplicated: batch.deduplicated + (listing?.deduplicated ?? 0) + repeated,
    superseded,
    rejected: batch.rejects.length + (listing?.rejects.length ?? 0),
  };
  return { counts, deleted, isHeld, ...(spared > 0 && { spared }) };
}

/** Writes the records by the shortest path that is right for them. */
async function write(
  session: Session,
  batch: Batch,
  how: Load,
  listing: ListingLoad | undefined,
): Promise<Outcome> {
  const outcome: Outcome = {
    inserted: listing?.inserted ?? 0,
    updated: 0,
    unchanged: 0,
    superseded: 0,
    repeated: 0,
    deleted: 0,
    isHeld: false,
    spared: 0,
  };
  if (listing !== undefined || how.replaces !== undefined) {
    await writeListing(session, batch, how, listing, outcome);
    return outcome;
  }
  const existing = await existingRows(session, batch.stream.table, batch.records, how.sourceId);
  const pending = pendingOf(batch, existing, how, outcome);
  if (pending.length === 0) return outcome;
  if (existing.size === 0 && isPlain(batch.stream) && (await insertOnly(session, batch, pending, how)))
    outcome.inserted = pending.length;
  else {
    const rows = await stage(session, batch, 0, pending);
    await mergeStaged(session, batch, pending, rows, how, outcome);
  }
  return outcome;
}

/** The records that must be written, in the order of their keys: two transactions with the same keys then wait instead of deadlocking. */
function pendingOf(
  batch: Batch,
  existing: ReadonlyMap<string, ExistingRow>,
  how: Load,
  outcome: Outcome,
): BatchRecord[] {
  const pending = batch.records.filter((record) => {
    const row = existing.get(record.keyText);
    if (row === undefined || row.deleted) return true;
    if (row.hash === record.hash && !(how.force && record.tailed)) outcome.unchanged += 1;
    else if (!how.force && isOlder(record, row)) outcome.superseded += 1;
    else return true;
    return false;
  });
  return byKey(pending);
}

/** A complete listing is staged whole, as what it does not show is removed; the first one of a scope may be in its table already. */
async function writeListing(
  session: Session,
  batch: Batch,
  how: Load,
  listing: ListingLoad | undefined,
  outcome: Outcome,
): Promise<void> {
  const root = batch.layouts[0] as Layout;
  const pending = byKey(batch.records);
  let rows: number;
  if (listing === undefined) rows = await stage(session, batch, 0, pending);
  else {
    await listing.write(session, batch, pending);
    rows = listing.staged;
    outcome.inserted = listing.inserted;
    if (listing.isDirect) return;
  }
  if (batch.isListing) outcome.repeated = await settleRepeats(session, root);
  rows -= outcome.repeated;
  if (how.replaces !== undefined) {
    const rejects = [...(listing?.rejects ?? []), ...batch.rejects];
    const listed = listingOf(root, how.replaces, rejects);
    const verdict = await judgeListing(session, root, listed, how, { rows, rejects: rejects.length });
    Object.assign(outcome, verdict);
    if (!verdict.isHeld && verdict.spared === 0) {
      await keepRevisions(session, root, listed, how);
      outcome.deleted += await replaceScope(session, root, listed, how);
    }
  }
  await mergeStaged(session, batch, pending, rows, how, outcome);
}

/** Merges the `rows` that are staged of a stream's own table, then its children. */
async function mergeStaged(
  session: Session,
  batch: Batch,
  pending: BatchRecord[],
  rows: number,
  how: Load,
  outcome: Outcome,
): Promise<void> {
  const root = batch.layouts[0] as Layout;
  const { table } = root;
  if (how.late === true) await keepLateRevisions(session, root, how);
  const { inserted, updated } = await mergeRoot(session, root, how);
  outcome.inserted += inserted;
  outcome.updated += updated;
  let written = pending;
  const left = rows - inserted - updated;
  if (left > 0 && !table.entity) outcome.unchanged += left;
  else if (left > 0) {
    const { kept, unchanged, superseded } = await dropUnwritten(session, pending, table, how);
    written = kept;
    outcome.unchanged += unchanged;
    outcome.superseded += superseded;
  }
  await keepVersions(session, root, how);
  outcome.deleted += await writeChildren(session, batch, written, inserted === written.length, how);
}

/** Gives how many child rows were removed. `allNew`: the parents are new, so that there is nothing to remove. */
async function writeChildren(
  session: Session,
  batch: Batch,
  parents: readonly BatchRecord[],
  allNew: boolean,
  how: Load,
): Promise<number> {
  const root = batch.layouts[0] as Layout;
  const staged: StagedChild[] = [];
  for (const [bit, [, child]] of childrenOf(batch.stream.children).entries())
    if (parents.some(({ delivered }) => (delivered & (1 << bit)) !== 0))
      staged.push({ child, bit, rows: await stage(session, batch, bit + 1, parents) });
  const shrinking = allNew ? [] : staged.filter(({ child }) => child.absent !== 'kept');
  const deleted = await removeAbsent(session, root, shrinking, how);
  const withRows = staged.filter(({ rows }) => rows > 0).map(({ child }) => child);
  await mergeChildren(session, root, withRows, how);
  return deleted;
}

async function keepNotes(session: Session, notes: ReadonlySet<string>, how: Load): Promise<void> {
  for (const note of notes)
    await sql`insert into ops.schema_changes (source_id, stream, note, run_id)
      values (${how.sourceId}, ${how.stream}, ${note}, ${how.runId}::bigint) on conflict do nothing`.execute(
      session.trx,
    );
}

/** Guarantee G13, inside the transaction. */
function checkBalance(stream: string, { received, ...parts }: Counts): void {
  const sum = Object.values(parts).reduce((total, part) => total + part, 0);
  if (sum !== received)
    throw new AccountsDoNotBalance(
      `${stream}: ${received} records received, ${sum} accounted for: ${JSON.stringify(parts)}`,
    );
}
