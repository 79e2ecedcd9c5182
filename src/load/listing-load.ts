/** A complete listing that is too large for memory: taken batch by batch as it is read, committed as one at its end. */

import { sql } from 'kysely';
import type pg from 'pg';
import type { Stream } from '../core/stream.ts';
import { type Batch, type BatchRecord, byKey, type Reject } from './batch.ts';
import { insertOnly } from './insert-only.ts';
import { columnList, type Layout, layoutOf, loaderColumns, target } from './layout.ts';
import type { Merge } from './merge.ts';
import { settings } from './planner.ts';
import { hasRows, inScope, type Scope } from './replace.ts';
import { OpenTransaction, type Session, transientIf } from './session.ts';
import { createStage, stage, stageOf } from './stage.ts';

/** `transaction_timeout` exists since Postgres 17. */
const withoutTimeouts = `set local idle_in_transaction_session_timeout = 0;
  select set_config('transaction_timeout', '0', true) where current_setting('transaction_timeout', true) is not null`;

/** Where a listing goes and who writes it. */
export interface ListingTarget extends Merge {
  readonly stream: Stream;
  readonly scope: Scope;
  /** SET LOCAL statements for the transaction, besides those of the loader. */
  readonly settings: string;
}

/**
 * The transaction stays open while the source is read; it blocks no reader and no writer of other scopes. Rows of a scope that holds
 * nothing go straight into the table: there is nothing to compare. At the first key that exists already, all move to the staging table.
 */
export class ListingLoad {
  received = 0;
  deduplicated = 0;
  /** Rows in the table itself. */
  inserted = 0;
  /** Rows in the staging table. */
  staged = 0;
  readonly rejects: Reject[] = [];
  readonly notes = new Set<string>();
  readonly names: string[] = [];
  readonly #transaction: OpenTransaction;
  readonly #target: ListingTarget;
  readonly #layout: Layout;
  /** True while all rows are in the table itself. */
  isDirect: boolean;

  private constructor(transaction: OpenTransaction, at: ListingTarget, layout: Layout, isDirect: boolean) {
    this.#transaction = transaction;
    this.#target = at;
    this.#layout = layout;
    this.isDirect = isDirect;
  }

  /** For a stream without children. It and its methods throw `Transient` where the session is lost: the slice may be read again. */
  static async open(pool: pg.Pool, at: ListingTarget, signal: AbortSignal): Promise<ListingLoad> {
    const layout = layoutOf(at.stream.table);
    const begin = () =>
      OpenTransaction.begin(pool, signal, `${settings}; ${at.settings}; ${withoutTimeouts}`);
    let open: OpenTransaction | undefined;
    try {
      open = await begin();
      const isDirect =
        layout.table.versions === undefined &&
        !(await hasRows(open.session.trx, layout, at.scope, at.sourceId));
      if (isDirect) return new ListingLoad(open, at, layout, true);
      // A new transaction has no lock on the table while the source is read.
      await open.rollback();
      open = undefined;
      return new ListingLoad(await begin(), at, layout, false);
    } catch (error) {
      await open?.rollback(error);
      throw transientIf(error);
    }
  }

  /** Writes the rows of the batch; its memory may be used again. */
  async add(batch: Batch): Promise<void> {
    await this.#once((session) => this.write(session, batch, byKey(batch.records)));
    this.received += batch.received;
    this.deduplicated += batch.deduplicated;
    this.rejects.push(...batch.rejects);
    for (const note of batch.notes) this.notes.add(note);
    this.names.push(...batch.names);
  }

  /** Writes the rows into the table or the staging table. */
  async write(session: Session, batch: Batch, records: readonly BatchRecord[]): Promise<void> {
    if (records.length === 0) return;
    if (this.isDirect && (await insertOnly(session, batch, records, this.#target))) {
      this.inserted += records.length;
      return;
    }
    if (this.isDirect) await this.#moveToStage(session);
    this.staged += await stage(session, batch, 0, records);
  }

  /** Does the work in the transaction, commits it, and gives the result once that is certain. */
  async finish<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const result = await this.#once(work);
    await this.#transaction.commit();
    return result;
  }

  /** Gives the connection back, without what was not committed. */
  close(): Promise<void> {
    return this.#transaction.rollback();
  }

  /** Repeated keys are numbered over all rows of the listing: rows that were written already are staged like the rest. */
  async #moveToStage(session: Session): Promise<void> {
    this.isDirect = false;
    await createStage(session, this.#layout);
    const { table, content } = this.#layout;
    const names = content.map(([name]) => name);
    const { numAffectedRows } = await sql`
      with moved as (delete from ${target(table)} t where ${inScope(this.#layout, this.#target.scope, this.#target.sourceId)} returning t.*)
      insert into ${stageOf(table)} (${columnList(names)}, ${sql.id(loaderColumns.fetched)}, ${sql.id(loaderColumns.delivered)})
      select ${columnList(names)}, _synced_at, 0 from moved`.execute(session.trx);
    const moved = Number(numAffectedRows ?? 0);
    this.inserted -= moved;
    this.staged += moved;
  }

  /** No part of an open transaction can be repeated. */
  async #once<T>(work: (session: Session) => Promise<T>): Promise<T> {
    try {
      return await work(this.#transaction.session);
    } catch (error) {
      throw transientIf(error);
    }
  }
}
