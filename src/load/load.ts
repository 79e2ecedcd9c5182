import { sql } from 'kysely';
import type pg from 'pg';
import { AccountsDoNotBalance } from '../core/errors.ts';
import type { Counts } from '../core/run.ts';
import type { Stream } from '../core/stream.ts';
import { Batch, type BatchRecord, byKey, type LoadTask, type Merge, type Reject } from './batch.ts';
import { BinaryWriter } from './binary.ts';
import { copyRows, insertOnly } from './copy.ts';
import { keepLateRevisions, keepRevisions, keepVersions } from './history.ts';
import { columnList, stageOf, target } from './layout.ts';
import { writeMentions } from './mentions.ts';
import { dropUnwritten, type ExistingRow, existingRows, isSame, mergeRoot, writeChildren } from './merge.ts';
import { keepRejects, resolveRejects, resolveScope } from './rejects.ts';
import * as replace from './replace.ts';
import { begin, inTransaction, type OpenTransaction, planner, type Session, transientIf } from './session.ts';

/** What must be true when the batch commits, and what commits with it. */
export interface Load extends Merge {
  /** Whether the stream has open rejects that a good version may resolve. */
  readonly resolves: boolean;
  /** SET LOCAL statements for the transaction, besides ours. */
  readonly settings?: string;
  /**
   * What is loaded is the complete listing of this scope. What it does not show is gone: the rejects are
   * resolved and, where the stream deletes what is absent, the rows removed.
   */
  readonly lists?: replace.Scope;
  /** Checkpoint, slice, counters: the last writes of the transaction. */
  readonly close: (session: Session, result: Loaded) => Promise<void>;
  /**
   * The very last statement: throws `Fenced` unless the lease is still ours. Its result is called once the
   * transaction is committed.
   */
  readonly guard: (session: Session) => Promise<() => void>;
}

export interface Loaded {
  readonly counts: Counts;
  readonly deleted: number;
  /**
   * True where a complete listing would have removed more rows of the scope than the deletion guard allows:
   * nothing was removed.
   */
  readonly isHeld: boolean;
  /**
   * Rows that a complete listing did not show and that stay, because a rejected record without a name may be
   * any of them.
   */
  readonly spared?: number;
}

/**
 * Commits one batch in one transaction: existing rows → stage → merge → children → rejects → `close` → lease
 * check. May be called again with the same batch: it then finds everything unchanged. `listing`: the rows of
 * the same listing that were taken before; the batch is its last one. Throws `AccountsDoNotBalance`, `Fenced`
 * or `Transient`.
 */
export async function load(
  pool: pg.Pool,
  batch: Batch,
  how: Load,
  signal: AbortSignal,
  listing?: ListingLoad,
): Promise<Loaded> {
  const work = async (session: Session) => {
    const task: LoadTask = { session, batch, merge: how };
    const writer = new RowWriter(task);
    const replaced = batch.stream.absent === 'delete' ? how.lists : undefined;
    await (batch.isListing || replaced ? writer.writeListing(replaced, listing) : writer.write());
    const taken = listing?.taken ?? batch;
    const parts = writer.rejectedParts();
    const loaded = writer.loaded(taken, parts.length);
    await keepRejects(task, [...taken.rejects, ...parts]);
    for (const note of taken.notes)
      await sql`insert into ops.schema_changes (source_id, stream, note, run_id)
        values (${how.sourceId}, ${batch.stream.name}, ${note}, ${how.runId}::bigint)
        on conflict do nothing`.execute(session.trx);
    if (how.resolves) {
      await resolveRejects(task, taken.names);
      if (how.lists !== undefined && !loaded.isHeld) await resolveScope(task, how.lists);
    }
    await writeMentions(task, [...taken.mentions.values()]);
    checkBalance(batch.stream.name, loaded.counts);
    await how.close(session, loaded);
    return { loaded, confirm: await how.guard(session) };
  };
  const settings = `${planner}; ${how.settings ?? ''}`;
  const { loaded, confirm } = await (listing?.finish(work) ??
    inTransaction(pool, signal, work, { settings }));
  confirm();
  return loaded;
}

/** Guarantee G13, inside the transaction. */
function checkBalance(stream: string, { received, ...parts }: Counts): void {
  const sum = Object.values(parts).reduce((total, part) => total + part, 0);
  if (sum !== received)
    throw new AccountsDoNotBalance(
      `${stream}: ${received} records received, ${sum} accounted for: ${JSON.stringify(parts)}`,
    );
}

/**
 * Writes the records of one batch by the shortest path that is right for them, and counts what became of
 * them.
 */
class RowWriter {
  readonly #task: LoadTask;
  /** `deduplicated`: staged rows that repeated a key. */
  readonly #counts = { inserted: 0, updated: 0, unchanged: 0, deduplicated: 0 };
  readonly #outcome = { deleted: 0, isHeld: false, spared: 0 };
  /** Records of which the warehouse has a newer version. */
  readonly #outdated = new Set<BatchRecord>();

  constructor(task: LoadTask) {
    this.#task = task;
  }

  /** Parts of the records that are, or were already, stored. */
  rejectedParts(): readonly Reject[] {
    return this.#task.batch.records.flatMap((one) => (this.#outdated.has(one) ? [] : (one.rejects ?? [])));
  }

  /** What became of the records. A part that was rejected counts as a record of its own. */
  loaded({ received, deduplicated, rejects }: Batch, parts: number): Loaded {
    const superseded = this.#outdated.size;
    const rejected = rejects.length + parts;
    const counts = { ...this.#counts, superseded, received: received + parts, rejected };
    counts.deduplicated += deduplicated;
    const { spared, ...outcome } = this.#outcome;
    return { counts, ...outcome, ...(spared > 0 && { spared }) };
  }

  async write(): Promise<void> {
    const { batch } = this.#task;
    const { entity, versions } = batch.stream.table;
    const existing = await existingRows(this.#task, batch.records);
    const pending = this.#pending(existing);
    if (pending.length === 0) return;
    // Of relations it is not known which rows exist, and versions are made of staged rows.
    const isNew = existing.size === 0 && entity && versions === undefined;
    if (isNew && (await insertOnly(this.#task, pending))) this.#counts.inserted = pending.length;
    else await this.#merge(pending, await copyRows(this.#task, 0, pending));
  }

  /** The records that must be written, in the order of their keys. */
  #pending(existing: ReadonlyMap<string, ExistingRow>): BatchRecord[] {
    const { batch, merge } = this.#task;
    const pending = batch.records.filter((record) => {
      const row = existing.get(record.keyText);
      if (row === undefined || row.deleted) return true;
      if (isSame(row, record) && !(merge.force && record.hasNested)) this.#counts.unchanged += 1;
      else if (!merge.force && isOlder(record, row)) this.#outdated.add(record);
      else return true;
      return false;
    });
    return byKey(pending);
  }

  /**
   * A complete listing is staged whole, as what it does not show is removed; the first one of a scope may be
   * in its table already.
   */
  async writeListing(scope: replace.Scope | undefined, listing: ListingLoad | undefined): Promise<void> {
    const { session, batch } = this.#task;
    const pending = byKey(batch.records);
    await listing?.take(session, batch);
    if (listing?.isDirect) this.#counts.inserted = listing.rows;
    if (listing?.isDirect) return;
    const staged = listing?.rows ?? (await copyRows(this.#task, 0, pending));
    if (batch.isListing) this.#counts.deduplicated = await replace.removeRepeats(this.#task);
    const rows = staged - this.#counts.deduplicated;
    if (scope !== undefined) await this.#replace(scope, listing?.taken ?? batch, rows);
    await this.#merge(pending, rows);
  }

  async #replace(scope: replace.Scope, { rejects }: Batch, rows: number): Promise<void> {
    const listing = replace.listingOf(this.#task.batch.stream.table, scope, rejects);
    const { isHeld, spared } = Object.assign(
      this.#outcome,
      await replace.judgeListing(this.#task, listing, rows),
    );
    if (isHeld || spared > 0) return;
    await keepRevisions(this.#task, listing);
    this.#outcome.deleted = await replace.removeUnlisted(this.#task, listing);
  }

  /** Merges the `rows` that are staged of a stream's own table, then its children. */
  async #merge(pending: readonly BatchRecord[], rows: number): Promise<void> {
    const task = this.#task;
    if (task.merge.late === true) await keepLateRevisions(task);
    const { inserted, updated } = await mergeRoot(task);
    this.#counts.inserted += inserted;
    this.#counts.updated += updated;
    let written = pending;
    const left = rows - inserted - updated;
    if (left > 0 && !task.batch.stream.table.entity) this.#counts.unchanged += left;
    else if (left > 0) {
      const { kept, unchanged, superseded } = await dropUnwritten(task, pending);
      written = kept;
      this.#counts.unchanged += unchanged;
      for (const one of superseded) this.#outdated.add(one);
    }
    await keepVersions(task);
    this.#outcome.deleted += await writeChildren(task, written);
  }
}

/** Whether the record is an older version of the existing row. */
const isOlder = (record: BatchRecord, { order }: ExistingRow): boolean =>
  order !== null && typeof record.order === 'bigint' && record.order < BigInt(order);

/** `transaction_timeout` exists since Postgres 17. */
const withoutTimeouts = `set local idle_in_transaction_session_timeout = 0;
  select set_config('transaction_timeout', '0', true)
  where current_setting('transaction_timeout', true) is not null`;

/** No part of an open transaction can be repeated. */
const fail = (error: unknown): never => {
  throw transientIf(error);
};

/** Where a listing goes and which run writes it. */
interface ListingTarget extends Merge {
  /** A stream without children. */
  readonly stream: Stream;
  readonly scope: replace.Scope;
  /** SET LOCAL statements for the transaction, besides those of the loader. */
  readonly settings: string;
}

/**
 * A complete listing that is too large for memory: taken batch by batch as it is read, committed as one at
 * its end. The transaction stays open while the source is read; it blocks no reader and no writer of other
 * scopes. Rows of a scope that holds nothing go straight into the table: there is nothing to compare. At the
 * first key that exists already, all move to the staging table.
 */
export class ListingLoad {
  /** Counts and rejects of what came so far; its rows are written. */
  readonly taken: Batch;
  /** Rows so far. */
  rows = 0;
  /** True while all rows are in the table itself, else they are in the staging table. */
  isDirect: boolean;
  readonly #transaction: OpenTransaction;
  readonly #target: ListingTarget;

  private constructor(transaction: OpenTransaction, at: ListingTarget, isDirect: boolean) {
    this.#transaction = transaction;
    this.#target = at;
    this.taken = new Batch(at.stream, new BinaryWriter(0));
    this.isDirect = isDirect;
  }

  /** It and its methods throw `Transient` where the session is lost: the slice may be read again. */
  static async open(pool: pg.Pool, at: ListingTarget, signal: AbortSignal): Promise<ListingLoad> {
    const { table } = at.stream;
    // In a transaction of its own, which holds no lock on the table while the source is read.
    const look = (session: Session) => replace.hasRows(session, table, at.scope, at.sourceId);
    const isDirect = !(await inTransaction(pool, signal, look, { settings: planner }));
    const settings = `${planner}; ${at.settings}; ${withoutTimeouts}`;
    return new ListingLoad(await begin(pool, signal, settings).catch(fail), at, isDirect);
  }

  /** Writes the rows of the batch; its memory may be used again. */
  add(batch: Batch): Promise<void> {
    return this.take(this.#transaction.session, batch).catch(fail);
  }

  /** Does the work in the transaction, commits it, and gives the result once that is certain. */
  async finish<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const result = await work(this.#transaction.session).catch(fail);
    await this.#transaction.commit().catch(fail);
    return result;
  }

  /** Gives the connection back, without what was not committed. */
  close(): Promise<void> {
    return this.#transaction.rollback();
  }

  /** Writes the rows of the batch into the table or the staging table, and counts the batch in. */
  async take(session: Session, batch: Batch): Promise<void> {
    const { records } = batch;
    const task: LoadTask = { session, batch, merge: this.#target };
    const isDone = this.isDirect && (records.length === 0 || (await insertOnly(task, records)));
    if (this.isDirect && !isDone) await this.#moveToStage(task);
    this.rows += isDone ? records.length : await copyRows(task, 0, records);
    this.taken.include(batch);
  }

  /**
   * Repeated keys are numbered over all rows of the listing: rows that were written already are staged like
   * the rest.
   */
  async #moveToStage(task: LoadTask): Promise<void> {
    this.isDirect = false;
    await copyRows(task, 0, []);
    const { scope, sourceId } = this.#target;
    const [{ table, key, rest }] = task.batch.layouts;
    const columns = columnList([...key, ...rest, '_synced_at']);
    await sql`with moved as (
        delete from ${target(table)} t where ${replace.inScope(table, scope, sourceId)} returning t.*)
      insert into ${stageOf(table)} (${columns}, _delivered) select ${columns}, 0
      from moved`.execute(task.session.trx);
  }
}
