import { type RawBuilder, sql } from 'kysely';
import type { Table } from '../core/table.ts';
import type { Batch, BatchRecord } from './batch.ts';
import { copyRows } from './copy.ts';
import { columnList, type Layout, loaderColumns } from './layout.ts';
import { withHashJoin } from './planner.ts';
import type { Session } from './session.ts';

/** The staging table of a table: temporary, one a session, emptied at every commit. */
export const stageOf = (table: Table): RawBuilder<unknown> => sql.id('pg_temp', stageName(table));

const stageName = (table: Table): string => `stage_${table.schema}_${table.name}`;

/** Columns of a staging table after the content. */
function extrasOf(table: Table, isRoot: boolean): readonly (readonly [string, string])[] {
  const hash = table.entity ? [[loaderColumns.hash, 'bigint'] as const] : [];
  return isRoot ? [...hash, [loaderColumns.fetched, 'timestamptz'], [loaderColumns.delivered, 'int']] : hash;
}

/** The statement that makes the staging table unless this session has it. Wide rows stay out of TOAST: they would be compressed twice. */
function creation(layout: Layout, isRoot: boolean): string {
  const columns = [...layout.content, ...extrasOf(layout.table, isRoot)].map(
    ([column, type]) => `"${column}" ${type}`,
  );
  return `create temp table if not exists "${stageName(layout.table)}" (${columns.join(', ')})
    with (toast_tuple_target = 8160) on commit delete rows`;
}

/** Makes the staging table of a stream's own table, which may stay empty. */
export async function createStage(session: Session, layout: Layout): Promise<void> {
  await session.client.query(creation(layout, true));
}

/**
 * Puts the rows of one table of the batch (0 is the stream's own) into its staging table with one binary COPY. Gives the number of rows; of
 * a child without rows there may be no staging table.
 */
export async function stage(
  session: Session,
  batch: Batch,
  index: number,
  records: readonly BatchRecord[],
): Promise<number> {
  const layout = batch.layouts[index] as Layout;
  const columns = [...layout.content, ...extrasOf(layout.table, index === 0)].map(([column]) => column);
  const into = `pg_temp."${stageName(layout.table)}"`;
  // One message for both statements: a batch has many tables.
  const first = creation(layout, index === 0);
  const rows = await copyRows(session, batch, index, records, { into, columns, first });
  if (rows === 0 && index === 0) await createStage(session, layout);
  return rows;
}

/**
 * Makes the keys of the staged rows distinct. Rows of a table with an occurrence counter are counted in the order of their content, so that
 * the same rows get the same numbers in whatever order they came; of others the newest stays. Gives how many rows were removed.
 */
export async function settleRepeats(session: Session, layout: Layout): Promise<number> {
  const { occurrence } = layout.table;
  const key = layout.key.filter((name) => name !== occurrence);
  const staged = stageOf(layout.table);
  const { rows } = await sql<{ repeats: boolean }>`select exists (
    select from ${staged} group by ${columnList(key)} having count(*) > 1) as repeats`.execute(session.trx);
  if (rows[0]?.repeats !== true) return 0;
  const order =
    occurrence === undefined
      ? sql`${sql.id(loaderColumns.fetched)} desc, ctid desc`
      : columnList(layout.content.map(([name]) => name).filter((name) => !key.includes(name)));
  const numbered = sql`(select ctid as place, row_number() over (partition by ${columnList(key)} order by ${order}) - 1 as nth
    from ${staged}) n`;
  const statement =
    occurrence === undefined
      ? sql`delete from ${staged} s using ${numbered} where s.ctid = n.place and n.nth > 0`
      : sql`update ${staged} s set ${sql.id(occurrence)} = n.nth from ${numbered} where s.ctid = n.place and n.nth > 0`;
  const { numAffectedRows } = await withHashJoin(session, () => statement.execute(session.trx));
  return occurrence === undefined ? Number(numAffectedRows ?? 0) : 0;
}
