create or replace view ops.table_readers as -- Which views of bi read which table, through other views too; one row per table and view.
with recursive direct as (
  select distinct d.refobjid as read_id, r.ev_class as view_id
  from pg_depend d
  join pg_rewrite r on r.oid = d.objid
  where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and r.ev_class <> d.refobjid
),
readers as (
  select read_id, view_id, 1 as steps from direct
  union
  select r.read_id, d.view_id, r.steps + 1 from readers r join direct d on d.read_id = r.view_id
)
select
  tn.nspname || '.' || t.relname as table_name, -- schema.table.
  v.relname::text as view_name, -- The view of bi.
  obj_description(v.oid, 'pg_class') as about, -- What the view holds.
  min(r.steps) as steps -- 1 where the view reads the table itself; one more for each view between them.
from readers r
join pg_class t on t.oid = r.read_id and t.relkind in ('r', 'p')
join pg_namespace tn on tn.oid = t.relnamespace
join pg_class v on v.oid = r.view_id and v.relkind = 'v' and v.relnamespace = 'bi'::regnamespace
group by tn.nspname, t.relname, v.oid, v.relname;
