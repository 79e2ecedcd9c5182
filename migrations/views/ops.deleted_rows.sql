create or replace view ops.deleted_rows as -- Rows that are marked as deleted, with the run that found it out; one row each.
select
  d.source as pipeline,
  d.record_name as name, -- As bi.deletions.record_name.
  d.table_name as of_table, -- As bi.deletions.table_name.
  d.deleted_at as found, -- When it was found to be gone (UTC).
  d.record_id as id, -- As bi.deletions.record_id.
  d.run_id as run
from bi.deletions d
order by d.deleted_at desc, d.table_name, d.record_id;
