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
 * Puts the rows of one table of the batch into its staging table with one binary COPY. Gives the number of rows.
 * The staging table keeps wide rows out of TOAST: they would be compressed twice otherwise.
 */
export async function stage(
  session: Session,
  batch: Batch,
  index: number,
  records: readonly BatchRecord[],
): Promise<number> {
  const layout = batch.layouts[index] as Layout;
  await createStage(session, layout, index === 0, 'delete');
  const columns = [...layout.content, ...extrasOf(layout.table, index === 0)].map(([column]) => column);
  return copyRows(session, batch, index, records, `pg_temp."${stageName(layout.table)}"`, columns);
}

/** Makes the staging table unless this session has it; its rows go with the transaction (delete) or stay until it is dropped (preserve). */
export async function createStage(
  session: Session,
  layout: Layout,
  isRoot: boolean,
  onCommit: 'delete' | 'preserve',
): Promise<void> {
  if (onCommit === 'preserve') await dropStage(session, layout);
  const columns = [...layout.content, ...extrasOf(layout.table, isRoot)];
  await sql`create temp table if not exists ${sql.id(stageName(layout.table))} (${sql.join(
    columns.map(([column, type]) => sql`${sql.id(column)} ${sql.raw(type)}`),
  )}) with (toast_tuple_target = 8160) on commit ${sql.raw(onCommit)} rows`.execute(session.trx);
}

/** Away with the session's staging table, if it has one. */
export async function dropStage(session: Session, layout: Layout): Promise<void> {
  await sql`drop table if exists ${stageOf(layout.table)}`.execute(session.trx);
}
