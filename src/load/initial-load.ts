/**
 * A complete listing of a scope of which the warehouse has nothing yet: nothing can change, so nothing is compared. Its rows go straight into
 * the table, batch by batch as they come, in one transaction that commits at its end: readers see all of it or nothing.
 */

import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import type { Flow } from '../core/stream.ts';
import type { Table } from '../core/table.ts';
import { type Batch, type BatchRecord, byKey } from './batch.ts';
import { settleRepeats } from './dedupe.ts';
import { copyOrNot } from './insert-only.ts';
import { layoutOf, rootExtras } from './layout.ts';
import { type Merge, mergeRoot, type Written } from './merge.ts';
import { inScope, type Scope } from './scope.ts';
import { beginTransaction, type Session, transientIf } from './session.ts';
import { stage, stageOf } from './stage.ts';
import { type Gathering, takings } from './staged-replace.ts';

/** Batches with a repeated key after which the rest is not tried any more: it is staged at once. */
const mostRepeats = 3;

/**
 * For a flow without children. Undefined where the scope holds rows already. The transaction is open while the source is read: it keeps nobody
 * from reading or writing other scopes, and time limits on idle transactions are off for it. It and what it gives throw `Transient` where the
 * session is lost.
 */
export async function writeThrough(
  pool: pg.Pool,
  flow: Flow,
  scope: Scope,
  merge: Merge,
  { settings, signal }: { readonly settings: string; readonly signal: AbortSignal },
): Promise<Gathering | undefined> {
  const open = await beginTransaction(pool, signal, `${settings}; ${untimed}`);
  const { session } = open;
  const root = layoutOf(flow.table);
  const { taken, add } = takings();
  let repeats = 0;
  let staged = 0;
  const write = async (batch: Batch, records: readonly BatchRecord[]): Promise<void> => {
    if (records.length === 0) return;
    if (repeats < mostRepeats && (await copyOrNot(session, batch, records, merge))) return;
    repeats += 1;
    staged += await stage(session, batch, 0, records);
  };
  try {
    const { rows } = await sql<{ there: boolean }>`select exists (
      select from ${target(flow.table)} t where ${inScope(root, scope, merge.sourceId)}) as there`.execute(
      session.trx,
    );
    if (rows[0]?.there === true) {
      await open.rollback();
      return undefined;
    }
  } catch (error) {
    await open.rollback();
    throw transientIf(error);
  }
  // Nothing of an open transaction can be repeated, but the slice may be read another time.
  const onceOnly = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw transientIf(error);
    }
  };
  return Object.assign(taken, {
    async add(batch: Batch) {
      const records = byKey(batch.records);
      await onceOnly(() => write(batch, records));
      add(batch, records.length);
    },
    async within<T>(work: (session: Session) => Promise<T>) {
      const result = await onceOnly(() => work(session));
      await open.commit();
      return result;
    },
    async finish(batch: Batch, records: readonly BatchRecord[]) {
      await write(batch, records);
      const rows = taken.rows + records.length;
      if (staged === 0) return { inserted: rows, updated: 0, unchanged: 0, repeated: 0 };
      const moved = await moveRepeated(session, flow.table, scope, merge);
      const repeated = await settleRepeats(session, root);
      const merged: Written = await mergeRoot(session, root, merge);
      const left = staged + moved - repeated;
      return {
        inserted: rows - staged - moved + merged.inserted,
        updated: merged.updated,
        unchanged: left - merged.inserted - merged.updated,
        repeated,
      };
    },
    close: () => open.rollback(),
  });
}

/** `transaction_timeout` is there since Postgres 17. */
const untimed = `set local idle_in_transaction_session_timeout = 0;
  select set_config('transaction_timeout', '0', true) where current_setting('transaction_timeout', true) is not null`;

const target = (table: Table): RawBuilder<unknown> => sql.id(table.schema, table.name);

/** Takes rows that were written out again where the staged ones repeat them: who is the newest, or the how-manieth, is settled among all. */
async function moveRepeated(session: Session, table: Table, scope: Scope, merge: Merge): Promise<number> {
  const layout = layoutOf(table);
  const names = layout.content.map(([name]) => name);
  const told = names.slice(0, layout.keys).filter((name) => name !== table.occurrence);
  const same = sql.join(
    told.map((name) => sql`${sql.id('t', name)} = ${sql.id('s', name)}`),
    sql` and `,
  );
  const list = (of: readonly string[]): RawBuilder<unknown> => sql.join(of.map((name) => sql.id(name)));
  const { numAffectedRows } = await sql`
    with repeated as materialized (select distinct ${list(told)} from ${stageOf(table)}),
    moved as (delete from ${target(table)} t using repeated s
      where ${inScope(layout, scope, merge.sourceId)} and ${same} returning t.*)
    insert into ${stageOf(table)} (${list(names)}, ${sql.id(rootExtras.fetched)}, ${sql.id(rootExtras.delivered)})
    select ${list(names)}, _synced_at, 0 from moved`.execute(session.trx);
  return Number(numAffectedRows ?? 0);
}
