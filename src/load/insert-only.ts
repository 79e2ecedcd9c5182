/** A batch whose records the warehouse has never seen goes straight into the tables: no staging, no look-ups, no conflict to settle. */

import { sql } from 'kysely';
import type { Flow } from '../core/stream.ts';
import type { Table } from '../core/table.ts';
import { codeOf } from '../warehouse/pg-errors.ts';
import type { Batch, BatchRecord } from './batch.ts';
import { binaryWriter } from './binary.ts';
import { copyRows, type Tail } from './copy.ts';
import { childrenOf, type Layout, rootExtras } from './layout.ts';
import type { Merge } from './merge.ts';
import type { Session } from './session.ts';

/**
 * Whether it is known which records of the flow are new (entities with one key column are looked up), and new rows need nothing but to be
 * written: nothing is counted among them, and no history is kept of them.
 */
export const isPlain = (flow: Flow): boolean =>
  flow.table.entity &&
  flow.table.key.length === 1 &&
  [flow.table, ...childrenOf(flow.children).map(([, child]) => child.table)].every(isPlainTable);

const isPlainTable = ({ occurrence, versions, revisions }: Table): boolean =>
  occurrence === undefined && versions === undefined && revisions === undefined;

/**
 * Copies the rows of the records, of which there is one at least, into their tables, if none of their keys is there. False, and nothing written,
 * where one is: a row of a child that another parent left, or a record that somebody else wrote just now. Then they must be merged.
 */
export async function copyOrNot(
  session: Session,
  batch: Batch,
  records: readonly BatchRecord[],
  merge: Merge,
): Promise<boolean> {
  try {
    for (const [index, layout] of batch.layouts.entries())
      await copyInto(session, batch, index, layout, records, merge);
  } catch (error) {
    if (codeOf(error) !== uniqueViolation) throw error;
    // Released, too: what is written next must belong to the transaction itself, its `xmin` is looked at.
    await sql`rollback to savepoint fresh`.execute(session.trx);
    await sql`release savepoint fresh`.execute(session.trx);
    return false;
  }
  await sql`release savepoint fresh`.execute(session.trx);
  return true;
}

const uniqueViolation = '23505';

/** Encoded fields of the loader's own columns. */
const deliveredBytes = 8;

function copyInto(
  session: Session,
  batch: Batch,
  index: number,
  { table, content }: Layout,
  records: readonly BatchRecord[],
  merge: Merge,
): Promise<number> {
  const isRoot = index === 0;
  const moves = childrenOf(batch.flow.children)[index - 1]?.[1].moves === true;
  // Other children's `_synced_at` is the column's default, the transaction's time, as in a merge.
  const columns = [
    ...content.map(([name]) => name),
    ...(table.entity ? [rootExtras.hash] : []),
    ...(isRoot ? ['_synced_at'] : []),
    'source_id',
    '_run_id',
    ...(moves ? ['_synced_at'] : []),
  ];
  const behind = binaryWriter(32);
  behind.field('smallint', merge.sourceId);
  behind.field('bigint', BigInt(merge.runId));
  const same = behind.bytes(0, behind.length);
  const tail: Tail = {
    fields: columns.length,
    without: isRoot ? deliveredBytes : 0,
    with: ({ fetchedAt }) => {
      if (!moves) return same;
      behind.rewind(same.length);
      behind.field('timestamptz', fetchedAt);
      return behind.bytes(0, behind.length);
    },
  };
  // In one message with the first rows: whoever waits for an answer in between has nothing to do.
  const first = isRoot ? { first: 'savepoint fresh' } : {};
  const into = `"${table.schema}"."${table.name}"`;
  return copyRows(session, batch, index, records, { into, columns, ...first }, tail);
}
