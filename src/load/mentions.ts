/** Things of another table that records name in passing, such as people: what no list of theirs may show. */

import { sql } from 'kysely';
import { storableText } from '../core/json.ts';
import type { Row, Value } from '../core/table.ts';
import type { LoadTask } from './batch.ts';
import { columnList, equalColumns, layoutOf, target, typeOf } from './layout.ts';

/**
 * Writes the rows where they are new or differ; what a record does not say stays. In the order of their keys, so
 * that two transactions wait for each other instead of deadlocking. Records of long ago (`late`) only add.
 */
export async function writeMentions(
  { session, batch, merge }: LoadTask,
  rows: readonly Row[],
): Promise<void> {
  const { mentions: table } = batch.stream;
  if (table === undefined || rows.length === 0) return;
  const { content, key } = layoutOf(table);
  const names = content.map(([name]) => name);
  const rest = names.slice(key.length);
  const lists = names.map((name) => sql`${rows.map((row) => storable(row[name]))}::${typeOf(table, name)}[]`);
  const merged = (of: string) => rest.map((name) => sql`coalesce(${sql.id(of, name)}, ${sql.id('t', name)})`);
  const isSame = sql`row(${columnList(rest, 't')}) is not distinct from row(${sql.join(merged('s'))})`;
  await sql`
    insert into ${target(table)} as t (source_id, ${columnList(names)}, _synced_at, _run_id)
    select ${merge.sourceId}::smallint, ${columnList(names)}, now(), ${merge.runId}::bigint
    from unnest(${sql.join(lists)}) s (${columnList(names)})
    where not exists (select from ${target(table)} t where t.source_id = ${merge.sourceId}::smallint
      and ${equalColumns(key, 't', 's')} and (${merge.late === true} or ${isSame}))
    order by ${columnList(key)}
    on conflict (source_id, ${columnList(key)}) do update set (${columnList(rest)}, _synced_at, _run_id)
      = row(${sql.join(merged('excluded'))}, excluded._synced_at, excluded._run_id)`.execute(session.trx);
}

const storable = (value: Value | undefined): Value =>
  typeof value === 'string' ? storableText(value) : (value ?? null);
