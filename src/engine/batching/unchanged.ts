/** What the warehouse holds already of records that came: their lists need not be fetched. */

import { sql } from 'kysely';
import type { Mapped, Stream } from '../../core/stream.ts';
import { lackedIn } from '../../load/incomplete.ts';
import { patiently } from '../../warehouse/with-retry.ts';
import type { RunContext } from '../context/run-context.ts';

/** The key of a record's row in the flow's own table, as text. */
export const keyOf = ({ table }: Stream, { row }: Mapped): string => String(row[table.key[0] ?? '']);

/**
 * The records that the warehouse already holds with the same content, each with the children that its row lacks: only the tails of those need
 * to be fetched.
 */
export async function unchangedOf(
  context: RunContext,
  flow: Stream,
  digests: readonly { readonly mapped: Mapped; readonly digest: bigint }[],
): Promise<ReadonlyMap<Mapped, readonly string[]>> {
  const [key] = flow.table.key;
  if (key === undefined || digests.length === 0) return new Map();
  const types: Readonly<Record<string, string>> = flow.table.columns;
  const keys = digests.map(({ mapped }) => keyOf(flow, mapped));
  const { rows } = await patiently(() =>
    sql<{ key: string; hash: string }>`select ${sql.id(key)}::text as key, _row_hash::text as hash
    from ${sql.id(flow.table.schema, flow.table.name)}
    where source_id = ${context.run.sourceId} and _deleted_at is null and _row_hash is not null
      and ${sql.id(key)} = any (${keys}::${sql.raw(types[key] ?? 'text')}[])`.execute(
      context.deps.warehouse.db,
    ),
  );
  const stored = new Map(rows.map((row) => [row.key, BigInt(row.hash)]));
  return new Map(
    digests.flatMap(({ mapped, digest }) => {
      const hash = stored.get(keyOf(flow, mapped));
      const lacked = hash === undefined ? undefined : lackedIn(flow, hash, digest);
      return lacked === undefined ? [] : [[mapped, lacked] as const];
    }),
  );
}
