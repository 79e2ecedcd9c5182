import type { Warehouse } from '../../../src/warehouse/connect.ts';

/** Every table and view of ours as text: columns, key, checks and indexes. Equal on every version of Postgres. */
export async function schemaText({ pool }: Pick<Warehouse, 'pool'>): Promise<string> {
  const { rows } = await pool.query<{ line: string }>(`
    with ours as (
      select n.nspname || '.' || c.relname as name, c.* from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('ops', 'tracker', 'ads', 'workflow', 'bi')
    )
    select line from (
      select name, 0 as part, '' as sort, name || case relkind when 'v' then ' (view)' else '' end
        || coalesce(' partition by ' || lower(pg_get_partkeydef(ours.oid)), '') || coalesce(' ' || reloptions::text, '') as line
      from ours where relkind in ('r', 'p', 'v') and not relispartition
      union all
      select name, 1, attname, '  ' || attname || ' ' || format_type(atttypid, atttypmod) || case when attnotnull then ' not null' else '' end
        || case attidentity when 'a' then ' identity' else '' end
        || coalesce(case when attgenerated = '' then ' default ' else ' generated ' end || regexp_replace(pg_get_expr(adbin, adrelid), 's+', ' ', 'g'), '')
      from ours join pg_attribute on attrelid = ours.oid and attnum > 0 and not attisdropped
      left join pg_attrdef on adrelid = ours.oid and adnum = attnum
      where relkind in ('r', 'p', 'v') and not relispartition
      union all
      select name, 2, conname, '  ' || pg_get_constraintdef(pg_constraint.oid)
      from ours join pg_constraint on conrelid = ours.oid where contype <> 'n' and not relispartition
      union all
      select ours.name, 3, i.relname, '  ' || pg_get_indexdef(indexrelid)
      from ours join pg_index on indrelid = ours.oid and not indisprimary and not indisunique join pg_class i on i.oid = indexrelid
      where not ours.relispartition
      union all
      select name, 4, part.relname, '  partition ' || part.relname || ' ' || pg_get_expr(part.relpartbound, part.oid)
      from ours join pg_inherits on inhparent = ours.oid join pg_class part on part.oid = inhrelid where part.relkind = 'r'
    ) lines
    order by name collate "C", part, sort collate "C", line collate "C"`);
  return `${rows.map(({ line }) => line).join('\n')}\n`;
}
