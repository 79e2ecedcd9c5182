/** Records whose keys the warehouse does not hold go straight into the tables: no staging, no look-ups, no conflict to settle. */

import { sql } from 'kysely';
import type { Stream } from '../core/stream.ts';
import type { Table } from '../core/table.ts';
import { codeOf } from '../warehouse/pg-errors.ts';
import { type Batch, type BatchRecord, deliveredBytes } from './batch.ts';
import { BinaryWriter } from './binary.ts';
import { copyRows, type Tail } from './copy.ts';
import { childrenOf, type Layout, loaderColumns } from './layout.ts';
import type { Merge } from './merge.ts';
import type { Session } from './session.ts';

/** Whether a look-up finds which records of the stream are new (entities with one key column), and new rows need nothing but an insert. */
export const isPlain = (stream: Stream): boolean =>
  stream.table.entity &&
  stream.table.key.length === 1 &&
  [stream.table, ...childrenOf(stream.children).map(([, child]) => child.table)].every(
    (table) => table.occurrence === undefined && hasNoHistory(table),
  );

/** Whether no versions and no revisions of its rows are kept. */
const hasNoHistory = ({ versions, revisions }: Table): boolean =>
  versions === undefined && revisions === undefined;

const uniqueViolation = '23505';

/**
 * Copies the rows of the records, of which there is one at least, into their tables. False, and nothing written, where one of their keys
 * exists: a child row that another parent left, or a row that another writer inserted just now. Then they must be merged.
 */
export async function insertOnly(
  session: Session,
  batch: Batch,
  records: readonly BatchRecord[],
  merge: Merge,
): Promise<boolean> {
  try {
    for (const [index, layout] of batch.layouts.entries())
      await insert(session, batch, index, layout, records, merge);
  } catch (error) {
    if (codeOf(error) !== uniqueViolation) throw error;
    await sql`rollback to savepoint insert_only`.execute(session.trx);
    // Released, too: rows written next must have the `xmin` of the transaction itself, which is compared later.
    await sql`release savepoint insert_only`.execute(session.trx);
    return false;
  }
  await sql`release savepoint insert_only`.execute(session.trx);
  return true;
}

function insert(
  session: Session,
  batch: Batch,
  index: number,
  { table, content }: Layout,
  records: readonly BatchRecord[],
  merge: Merge,
): Promise<number> {
  const isRoot = index === 0;
  const moves = childrenOf(batch.stream.children)[index - 1]?.[1].moves === true;
  // Other children's `_synced_at` is the column's default, the transaction's time, as in a merge.
  const columns = [
    ...content.map(([name]) => name),
    ...(table.entity ? [loaderColumns.hash] : []),
    ...(isRoot ? ['_synced_at'] : []),
    'source_id',
    '_run_id',
    ...(moves ? ['_synced_at'] : []),
  ];
  const writer = new BinaryWriter(32);
  writer.field('smallint', merge.sourceId);
  writer.field('bigint', BigInt(merge.runId));
  const ids = writer.length;
  const tail: Tail = {
    fields: columns.length,
    without: isRoot ? deliveredBytes : 0,
    with: ({ fetchedAt }) => {
      writer.rewind(ids);
      if (moves) writer.field('timestamptz', fetchedAt);
      return writer.bytes(0, writer.length);
    },
  };
  const into = `"${table.schema}"."${table.name}"`;
  // In one message with the first rows, which saves a round trip.
  const first = isRoot ? { first: 'savepoint insert_only' } : {};
  return copyRows(session, batch, index, records, { into, columns, ...first }, tail);
}
