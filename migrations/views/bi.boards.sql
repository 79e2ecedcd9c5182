create or replace view bi.boards as
select
  s.name as source,
  b.id::text as board_id,
  b.name as board_name,
  b.type as board_type,
  b.project_id::text as project_id,
  p.key as project_key,
  p.name as project_name,
  b._synced_at as synced_at
from tracker.boards b
join ops.sources s on s.source_id = b.source_id
left join tracker.projects p on p.source_id = b.source_id and p.id = b.project_id
where b._deleted_at is null;

comment on view bi.boards is 'Scrum and Kanban boards; one row per live board.';
comment on column bi.boards.source is 'The source, see ops.sources.name; ids and keys are unique within one source.';
comment on column bi.boards.board_id is 'Board id.';
comment on column bi.boards.board_name is 'Name.';
comment on column bi.boards.board_type is 'scrum, kanban or simple.';
comment on column bi.boards.project_id is 'Id of the project the board is located in; null if none.';
comment on column bi.boards.project_key is 'Key of that project.';
comment on column bi.boards.project_name is 'Name of that project.';
comment on column bi.boards.synced_at is 'When this content last changed in the warehouse (UTC); not when it was last seen.';
