/** What the warehouse holds already of records that came: their lists need not be fetched. */

import { sql } from 'kysely';
import type { Mapped, Stream } from '../../core/stream.ts';
import { lackedIn } from '../../load/layout.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { RunContext } from '../context/run-context.ts';

/** The key of a record's row in the stream's own table, as text. */
export const keyOf = ({ table }: Stream, { row }: Mapped): string => String(row[table.key[0] ?? '']);

/**
 * The records that the warehouse already holds with the same content, each with the children that its row
 * lacks: only those nested lists are fetched.
 */
export async function unchangedOf(
  context: RunContext,
  stream: Stream,
  digests: readonly { readonly mapped: Mapped; readonly digest: bigint }[],
): Promise<ReadonlyMap<Mapped, readonly string[]>> {
  const [key] = stream.table.key;
  if (key === undefined || digests.length === 0) return new Map();
  const types: Readonly<Record<string, string>> = stream.table.columns;
  const keys = digests.map(({ mapped }) => keyOf(stream, mapped));
  const { rows } = await withRetry(() =>
    sql<{ key: string; hash: string }>`select ${sql.id(key)}::text as key, _row_hash::text as hash
    from ${sql.id(stream.table.schema, stream.table.name)}
    where source_id = ${context.run.sourceId} and _deleted_at is null and _row_hash is not null
      and ${sql.id(key)} = any (${keys}::${sql.raw(types[key] ?? 'text')}[])`.execute(
      context.deps.warehouse.db,
    ),
  );
  const stored = new Map(rows.map((row) => [row.key, BigInt(row.hash)]));
  return new Map(
    digests.flatMap(({ mapped, digest }) => {
      const hash = stored.get(keyOf(stream, mapped));
      const lacked = hash === undefined ? undefined : lackedIn(stream, hash, digest);
      return lacked === undefined ? [] : [[mapped, lacked] as const];
    }),
  );
}
