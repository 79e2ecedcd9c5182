/** Staged rows that repeat a key. */

import { type RawBuilder, sql } from 'kysely';
import type { Layout } from './layout.ts';
import { rootExtras } from './layout.ts';
import { withHashJoin } from './merge.ts';
import type { Session } from './session.ts';
import { stageOf } from './stage.ts';

/**
 * Makes the keys of the staged rows distinct: rows of a table with an occurrence counter are counted (in the order of their content, so that
 * the same rows get the same numbers whatever order they came in), of others the newest stays. Gives how many went.
 */
export async function settleRepeats(session: Session, layout: Layout): Promise<number> {
  const { occurrence } = layout.table;
  const key = layout.content.slice(0, layout.keys).map(([name]) => name);
  const told = key.filter((name) => name !== occurrence);
  const list = (names: readonly string[]): RawBuilder<unknown> => sql.join(names.map((name) => sql.id(name)));
  const stage = stageOf(layout.table);
  const { rows } = await sql<{ repeats: boolean }>`select exists (
    select from ${stage} group by ${list(told)} having count(*) > 1) as repeats`.execute(session.trx);
  if (rows[0]?.repeats !== true) return 0;
  const order =
    occurrence === undefined
      ? sql`${sql.id(rootExtras.fetched)} desc, ctid desc`
      : list(layout.content.map(([name]) => name).filter((name) => !told.includes(name)));
  const numbered = sql`(select ctid as place, row_number() over (partition by ${list(told)} order by ${order}) - 1 as nth from ${stage})`;
  const statement =
    occurrence === undefined
      ? sql`delete from ${stage} s using ${numbered} n where s.ctid = n.place and n.nth > 0`
      : sql`update ${stage} s set ${sql.id(occurrence)} = n.nth from ${numbered} n where s.ctid = n.place and n.nth > 0`;
  const { numAffectedRows } = await withHashJoin(session, () => statement.execute(session.trx));
  return occurrence === undefined ? Number(numAffectedRows ?? 0) : 0;
}
