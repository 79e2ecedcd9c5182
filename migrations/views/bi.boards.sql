create or replace view bi.boards as -- Scrum and Kanban boards; one row per live board.
select
  s.name as source,
  b.id::text as board_id, -- Board id.
  b.name as board_name,
  b.type as board_type, -- scrum, kanban or simple.
  b.project_id::text as project_id,
  p.key as project_key,
  p.name as project_name, -- Name of that project.
  b._synced_at as synced_at
from tracker.boards b
join ops.sources s on s.source_id = b.source_id
left join tracker.projects p on p.source_id = b.source_id and p.id = b.project_id
where b._deleted_at is null;
