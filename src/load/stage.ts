import { type RawBuilder, sql } from 'kysely';
import type { Table } from '../core/table.ts';
import type { Batch, BatchRecord } from './batch.ts';
import { copyRows } from './copy.ts';
import { type Layout, rootExtras } from './layout.ts';
import type { Session } from './session.ts';

/** The staging table of a table: temporary, one a session, emptied at every commit. */
export const stageOf = (table: Table): RawBuilder<unknown> => sql.id('pg_temp', stageName(table));

const stageName = (table: Table): string => `stage_${table.schema}_${table.name}`;

/** Columns of a staging table behind the content. */
function extrasOf(table: Table, isRoot: boolean): readonly (readonly [string, string])[] {
  const hash = table.entity ? [[rootExtras.hash, 'bigint'] as const] : [];
  if (!isRoot) return hash;
  return [...hash, [rootExtras.fetched, 'timestamptz'], [rootExtras.delivered, 'int']];
}

/**
 * Puts the rows of one table of the batch into its staging table with one binary COPY. Gives the number of rows; where a child has none there
 * may be no staging table. It keeps wide rows out of TOAST: they would be compressed twice otherwise.
 */
export async function stage(
  session: Session,
  batch: Batch,
  index: number,
  records: readonly BatchRecord[],
): Promise<number> {
  const layout = batch.layouts[index] as Layout;
  const create = creation(layout, index === 0, 'delete');
  const columns = [...layout.content, ...extrasOf(layout.table, index === 0)].map(([column]) => column);
  const into = `pg_temp."${stageName(layout.table)}"`;
  // One message for both: a batch has many tables.
  const rows = await copyRows(session, batch, index, records, { into, columns, first: create });
  if (rows === 0 && index === 0) await session.client.query(create);
  return rows;
}

/** Makes a staging table whose rows stay until it is dropped. */
export async function createLastingStage(session: Session, layout: Layout): Promise<void> {
  await dropStage(session, layout);
  await session.client.query(creation(layout, true, 'preserve'));
}

/** The statement that makes the staging table unless this session has it; its rows go with the transaction (delete) or stay (preserve). */
function creation(layout: Layout, isRoot: boolean, onCommit: 'delete' | 'preserve'): string {
  const columns = [...layout.content, ...extrasOf(layout.table, isRoot)].map(
    ([column, type]) => `"${column}" ${type}`,
  );
  return `create temp table if not exists "${stageName(layout.table)}" (${columns.join(', ')})
    with (toast_tuple_target = 8160) on commit ${onCommit} rows`;
}

/** Away with the session's staging table, if it has one. */
export async function dropStage(session: Session, layout: Layout): Promise<void> {
  await sql`drop table if exists ${stageOf(layout.table)}`.execute(session.trx);
}
