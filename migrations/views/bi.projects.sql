create or replace view bi.projects as -- Projects; one row per live project.
select
  s.name as source,
  p.id::text as project_id,
  p.key as project_key,
  p.name as project_name,
  p.type as project_type, -- Type key of the source, e.g. software.
  p.category as project_category, -- Name of the project category.
  p.lead_user_id as lead_id,
  ops.shown_name(u.display_name, u.id) as lead_name,
  p.archived as is_archived,
  p._synced_at as synced_at
from tracker.projects p
join ops.sources s on s.source_id = p.source_id
left join tracker.users u on u.source_id = p.source_id and u.id = p.lead_user_id
where p._deleted_at is null;
