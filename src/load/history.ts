/** What the source forgets: earlier versions of a row, and numbers that it has restated. Written in the transaction of the rows. */

import { type RawBuilder, sql } from 'kysely';
import type { Table } from '../core/table.ts';
import { columnList, equalColumns, type Layout, loaderColumns, target } from './layout.ts';
import type { Merge } from './merge.ts';
import { withHashJoin } from './planner.ts';
import { hasRows, inScope, type Listing, notRejected } from './replace.ts';
import type { Session } from './session.ts';
import { stageOf } from './stage.ts';

/**
 * When a row `t` became what it is. The moment that the source states is taken where it lies between the last complete walk and this
 * reading, else the moment of reading.
 */
function changedAt({ table }: Layout, { sourceId, stream }: Merge & { readonly stream: string }) {
  const { order, versions: { changed } = {} } = table;
  if (order !== undefined) return sql`coalesce(${sql.id('t', order)}, t._synced_at)`;
  if (changed === undefined) return sql`t._synced_at`;
  const at = sql.id('t', changed);
  return sql`case when ${at} <= t._synced_at and ${at} > coalesce((select watermark from ops.checkpoints
    where source_id = ${sourceId}::smallint and stream = ${stream}), '-infinity') then ${at} else t._synced_at end`;
}

/**
 * Closes the open version of every row that the merge just wrote with other values, and opens the new one. Runs after the merge, in its
 * transaction. A version begins when the source says that the row changed, never before the one it follows.
 */
export async function keepVersions(
  session: Session,
  layout: Layout,
  merge: Merge & { readonly stream: string },
): Promise<void> {
  const { table } = layout;
  const { versions } = table;
  if (versions === undefined) return;
  const { key } = layout;
  await sql`
    with written as (
      select ${columnList(key, 't')}, ${columnList(versions.columns, 't')}, ${changedAt(layout, merge)} as stated
      from ${stageOf(table)} s join ${target(table)} t on t.source_id = ${merge.sourceId}::smallint and ${equalColumns(key, 't', 's')}
      where t._run_id = ${merge.runId}::bigint and t.xmin = pg_current_xact_id()::xid
    ), changed as (
      select w.*, greatest(w.stated, last.valid_from + interval '1 microsecond') as since
      from written w left join lateral (
        select v.valid_from, ${columnList(versions.columns, 'v')} from ${sql.table(versions.into)} v
        where v.source_id = ${merge.sourceId}::smallint and ${equalColumns(key, 'v', 'w')} and v.valid_to is null
      ) last on true
      where last.valid_from is null or (${columnList(versions.columns, 'last')}) is distinct from (${columnList(versions.columns, 'w')})
    ), closed as (
      update ${sql.table(versions.into)} v set valid_to = c.since from changed c
      where v.source_id = ${merge.sourceId}::smallint and ${equalColumns(key, 'v', 'c')} and v.valid_to is null
    )
    insert into ${sql.table(versions.into)} (source_id, ${columnList([...key, ...versions.columns])}, valid_from, _run_id)
    select ${merge.sourceId}::smallint, ${columnList([...key, ...versions.columns], 'c')}, c.since, ${merge.runId}::bigint
    from changed c`.execute(session.trx);
}

/**
 * Records every number that is about to change, to arrive late or to be removed, with its old and new value. Runs before the merge and
 * before absent rows are removed. A day that is read for the first time has no revisions.
 */
export async function keepRevisions(
  session: Session,
  layout: Layout,
  listing: Listing,
  merge: Merge,
): Promise<void> {
  const { table } = layout;
  const { scope } = listing;
  if (table.revisions === undefined) return;
  if (!(await hasRows(session.trx, layout, scope, merge.sourceId))) return;
  const { key } = layout;
  const { days } = scope;
  const staged = sql.id('s', key[0] ?? '');
  const sameDay =
    days === undefined
      ? sql`true`
      : sql`exists (select from ${target(table)} d where ${inScope(layout, { equal: scope.equal }, merge.sourceId, 'd')}
          and ${sql.id('d', days.column)} = ${sql.id('s', days.column)})`;
  await withHashJoin(session, () =>
    sql`
    insert into ${sql.table(table.revisions?.into ?? '')} (source_id, ${columnList(key)}, metric, old_value, new_value, seen_at, _run_id)
    select ${merge.sourceId}::smallint, ${sql.join(key.map((name) => sql`coalesce(${sql.id('t', name)}, ${sql.id('s', name)})`))},
      m.metric, m.old_value, m.new_value, now(), ${merge.runId}::bigint
    from (select * from ${target(table)} t where ${inScope(layout, scope, merge.sourceId)}) t
    full join ${stageOf(table)} s on ${equalColumns(key, 't', 's')}
    cross join lateral (${metrics(table)}) m
    where m.old_value is distinct from m.new_value and (t.source_id is not null or ${sameDay})
      and (${staged} is not null or ${notRejected(layout, listing)})`.execute(session.trx),
  );
}

/** The same for replayed records (`Merge.late`), which are no listing; rows written since stay as they are. Runs before the merge. */
export async function keepLateRevisions(session: Session, layout: Layout, merge: Merge): Promise<void> {
  const { table } = layout;
  if (table.revisions === undefined) return;
  const { key } = layout;
  await sql`
    insert into ${sql.table(table.revisions.into)} (source_id, ${columnList(key)}, metric, old_value, new_value, seen_at, _run_id)
    select ${merge.sourceId}::smallint, ${columnList(key, 's')}, m.metric, m.old_value, m.new_value, now(), ${merge.runId}::bigint
    from ${stageOf(table)} s join ${target(table)} t on t.source_id = ${merge.sourceId}::smallint and ${equalColumns(key, 't', 's')}
      and t._synced_at <= ${sql.id('s', loaderColumns.fetched)}
    cross join lateral (${metrics(table)}) m
    where m.old_value is distinct from m.new_value`.execute(session.trx);
}

/** metric, old_value, new_value of one pair of rows. */
function metrics(table: Table): RawBuilder<unknown> {
  const { columns: names = [], extra } = table.revisions ?? {};
  const typed = sql`values ${sql.join(
    names.map((name) => sql`(${name}::text, ${sql.id('t', name)}::numeric, ${sql.id('s', name)}::numeric)`),
  )}`;
  if (extra === undefined) return sql`select * from (${typed}) typed (metric, old_value, new_value)`;
  const pairs = (of: string): RawBuilder<unknown> =>
    sql`(select p.key, p.value::text::numeric as value from jsonb_each(coalesce(${sql.id(of, extra)}, '{}')) p
      where jsonb_typeof(p.value) = 'number')`;
  return sql`select * from (${typed}) typed (metric, old_value, new_value)
    union all
    select coalesce(o.key, n.key), o.value, n.value from ${pairs('t')} o full join ${pairs('s')} n on n.key = o.key`;
}
