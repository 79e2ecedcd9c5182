/**
 * What the source forgets: earlier versions of a row, and numbers that it has restated. Written in the
 * transaction of the rows.
 */

import { type RawBuilder, sql } from 'kysely';
import type { Table } from '../core/table.ts';
import type { LoadTask } from './batch.ts';
import { columnList, equalColumns, sameKey, stageOf, target } from './layout.ts';
import { hasRows, inScope, type Listing, notRejected } from './replace.ts';
import { withHashJoin } from './session.ts';

/**
 * When a row `t` became what it is. The moment that the source states is taken where it lies between the last
 * complete walk and this reading, else the moment of reading.
 */
function changedAt({ order, versions }: Table, sourceId: number, stream: string): RawBuilder<unknown> {
  if (order !== undefined) return sql`coalesce(${sql.id('t', order)}, t._synced_at)`;
  if (versions?.changed === undefined) return sql`t._synced_at`;
  const at = sql.id('t', versions.changed);
  return sql`case when ${at} <= t._synced_at and ${at} > coalesce((select watermark from ops.checkpoints where
    source_id = ${sourceId}::smallint and stream = ${stream}), '-infinity') then ${at} else t._synced_at end`;
}

/**
 * Closes the open version of every row that the merge just wrote with other values, and opens the new one.
 * Runs after the merge, in its transaction. A version begins when the source says that the row changed, never
 * before the one it follows.
 */
export async function keepVersions({ session, batch, merge }: LoadTask): Promise<void> {
  const { sourceId, runId } = merge;
  const [layout] = batch.layouts;
  const { table, key } = layout;
  const { versions } = table;
  if (versions === undefined) return;
  const into = sql.table(versions.into);
  const isOpen = (of: string) =>
    sql`v.source_id = ${sourceId}::smallint and ${equalColumns(key, 'v', of)} and v.valid_to is null`;
  const columns = [...key, ...versions.columns];
  await sql`
    with written as (
      select ${columnList(columns, 't')}, ${changedAt(table, sourceId, batch.stream.name)} as stated
      from ${stageOf(table)} s join ${target(table)} t on ${sameKey(layout, sourceId)}
      where t._run_id = ${runId}::bigint and t.xmin = pg_current_xact_id()::xid
    ), changed as (
      select w.*, greatest(w.stated, last.valid_from + interval '1 microsecond') as since
      from written w left join lateral (select v.valid_from, ${columnList(versions.columns, 'v')}
        from ${into} v where ${isOpen('w')}) last on true
      where last.valid_from is null
        or (${columnList(versions.columns, 'last')}) is distinct from (${columnList(versions.columns, 'w')})
    ), closed as (update ${into} v set valid_to = c.since from changed c where ${isOpen('c')})
    insert into ${into} (source_id, ${columnList(columns)}, valid_from, _run_id)
    select ${sourceId}::smallint, ${columnList(columns, 'c')}, c.since, ${runId}::bigint
    from changed c`.execute(session.trx);
}

/**
 * Records every number that is about to change, to arrive late or to be removed, with its old and new value.
 * Runs before the merge and before absent rows are removed. A day that is read for the first time has no
 * revisions.
 */
export async function keepRevisions(task: LoadTask, listing: Listing): Promise<void> {
  const { sourceId } = task.merge;
  const [{ table, key }] = task.batch.layouts;
  const { equal, days } = listing.scope;
  if (table.revisions === undefined) return;
  // Without it each number of a first listing would look for its day.
  if (!(await hasRows(task.session, table, listing.scope, sourceId))) return;
  const isSameDay = days === undefined ? sql`true` : equalColumns([days.column], 'd', 's');
  const wasRead = sql`exists (select from ${target(table)} d
    where ${inScope(table, { equal }, sourceId, 'd')} and ${isSameDay})`;
  const pairs = sql`(select * from ${target(table)} t where ${inScope(table, listing.scope, sourceId)}) t
    full join ${stageOf(table)} s on ${equalColumns(key, 't', 's')}`;
  const condition = sql`(t.source_id is not null or ${wasRead})
    and (${sql.id('s', key[0] ?? '')} is not null or ${notRejected(table, listing)})`;
  await withHashJoin(task.session, revisions(task, pairs, condition));
}

/**
 * The same for replayed records (`Merge.late`), which are no listing; rows written since stay as they are.
 * Runs before the merge.
 */
export async function keepLateRevisions(task: LoadTask): Promise<void> {
  const [layout] = task.batch.layouts;
  const { table } = layout;
  if (table.revisions === undefined) return;
  const pairs = sql`${stageOf(table)} s join ${target(table)} t on ${sameKey(layout, task.merge.sourceId)}`;
  await revisions(task, pairs, sql`t._synced_at <= s._synced_at`).execute(task.session.trx);
}

/** The statement that adds the numbers that differ between stored rows `t` and staged rows `s`. */
function revisions(task: LoadTask, pairs: RawBuilder<unknown>, condition: RawBuilder<unknown>) {
  const { sourceId, runId } = task.merge;
  const [{ table, key }] = task.batch.layouts;
  const { into = '', columns = [], extra } = table.revisions ?? {};
  const typed = columns.map(
    (name) => sql`(${name}::text, ${sql.id('t', name)}::numeric, ${sql.id('s', name)}::numeric)`,
  );
  const extraOf = (of: string): RawBuilder<unknown> =>
    sql`(select p.key, p.value::text::numeric as value
      from jsonb_each(coalesce(${sql.id(of, extra ?? '')}, '{}')) p where jsonb_typeof(p.value) = 'number')`;
  const more =
    extra === undefined
      ? sql``
      : sql`union all select coalesce(o.key, n.key), o.value, n.value
        from ${extraOf('t')} o full join ${extraOf('s')} n on n.key = o.key`;
  const ofKey = key.map((name) => sql`coalesce(${sql.id('t', name)}, ${sql.id('s', name)})`);
  return sql`
    insert into ${sql.table(into)}
      (source_id, ${columnList(key)}, metric, old_value, new_value, seen_at, _run_id)
    select ${sourceId}::smallint, ${sql.join(ofKey)}, m.*, now(), ${runId}::bigint
    from ${pairs}
    cross join lateral (
      select * from (values ${sql.join(typed)}) typed (metric, old_value, new_value) ${more}) m
    where m.old_value is distinct from m.new_value and ${condition}`;
}
