/** How `bi` differs from what a source finds by a query of its own. */
import { sql } from 'kysely';
import { codeOf, Misconfigured, saidBy } from '../core/errors.ts';
import type { Finder, FoundRecord, Stream } from '../core/stream.ts';
import { nameOf } from '../core/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { query } from './db.ts';

/** A record that one side has and the other does not count. */
export interface Difference {
  readonly id: string;
  /** By which people know it. */
  readonly name: string;
  readonly onlyIn: 'source' | 'bi';
  /**
   * What the warehouse knows of the reason. new: the stream was not read since it changed; missing: it was; condition:
   * both sides have the same version of it; null: only the source can say.
   */
  readonly why: 'rejected' | 'new' | 'missing' | 'deleted' | 'hidden' | 'changed' | 'condition' | null;
  /** When it changed last, as the warehouse has it. */
  readonly changedAt: Date | null;
}

/**
 * Records that are found and that `bi` does not count, and the other way round, by name. `condition`: what is counted,
 * as SQL over the view, which can only read; without it each found record that the view shows is counted. Throws
 * Misconfigured where the condition is wrong.
 */
export async function differences(
  { db }: Pick<Warehouse, 'db'>,
  { pipeline, stream, view }: { readonly pipeline: string; readonly stream: Stream } & Pick<Finder, 'view'>,
  found: ReadonlyMap<string, FoundRecord>,
  condition?: string,
): Promise<readonly Difference[]> {
  const records = JSON.stringify([...found].map(([id, record]) => ({ id, ...record })));
  const source = sql`(select source_id from ops.sources where name = ${pipeline})`;
  const version = sql.ref(`t.${stream.table.order ?? '_synced_at'}`);
  const isFound = sql`${sql.ref(view.id)} in (select record from found)`;
  // A comment in the condition must not hide the parenthesis.
  const isCounted = condition === undefined ? isFound : sql`coalesce((${sql.raw(`${condition}\n`)}), false)`;
  const transaction = db.transaction().setAccessMode('read only');
  const compare = (trx: typeof db) => query(trx)<Difference>`
    with found as materialized (
      select id as record, name, "changedAt" as changed_at
      from jsonb_to_recordset(${records}::jsonb) f (id text, name text, "changedAt" timestamptz)),
    shown as materialized (
      select * from (
        select ${sql.ref(view.id)} as record, ${sql.ref(view.name)} as name, ${isCounted} as is_counted, ${isFound} as is_found
        from ${sql.table(view.table)} where source = ${pipeline}) v
      where is_counted or is_found)
    select record as id, coalesce(f.name, v.name) as name, case when f.record is null then 'bi' else 'source' end as only_in,
      ${version} as changed_at, case
        when f.record is null then null
        when exists (
          select from ops.rejects r where r.source_id = ${source} and r.stream = ${stream.name} and r.part = ''
            and r.record_key = record and r.status = 'open') then 'rejected'
        when t.id is null then case when f.changed_at <= c.watermark then 'missing' else 'new' end
        when t._deleted_at is not null then 'deleted'
        when v.record is null then 'hidden'
        when ${version} is distinct from f.changed_at then 'changed'
        else 'condition' end as why
    from found f full join shown v using (record)
    left join ${sql.table(nameOf(stream.table))} t on t.source_id = ${source} and t.id::text = record
    left join ops.checkpoints c on c.source_id = ${source} and c.stream = ${stream.name}
    where f.record is null or not coalesce(v.is_counted, false)
    order by name`;
  return transaction.execute(compare).catch((cause: unknown) => {
    // Classes 22 and 42: values that do not fit, and wrong SQL; 25006: an attempt to write.
    if (condition === undefined || !/^(22|42|25006)/.test(codeOf(cause) ?? '')) throw cause;
    throw new Misconfigured(`--where cannot be used: ${saidBy(cause)}`, { cause });
  });
}
