create or replace view bi.projects as
select
  s.name as source,
  p.id::text as project_id,
  p.key as project_key,
  p.name as project_name,
  p.type as project_type,
  p.category as project_category,
  p.lead_user_id as lead_id,
  ops.shown_name(u.display_name, u.id) as lead_name,
  p.archived as is_archived,
  p._synced_at as synced_at
from tracker.projects p
join ops.sources s on s.source_id = p.source_id
left join tracker.users u on u.source_id = p.source_id and u.id = p.lead_user_id
where p._deleted_at is null;

comment on view bi.projects is 'Projects; one row per live project.';
comment on column bi.projects.source is 'The source, see ops.sources.name; ids and keys are unique within one source.';
comment on column bi.projects.project_id is 'Project id; stable.';
comment on column bi.projects.project_key is 'Project key as issue keys begin with it, e.g. PROJ.';
comment on column bi.projects.project_name is 'Name.';
comment on column bi.projects.project_type is 'Type key of the source, e.g. software.';
comment on column bi.projects.project_category is 'Name of the project category.';
comment on column bi.projects.lead_id is 'The project lead, see bi.users.user_id.';
comment on column bi.projects.lead_name is 'The project lead, as shown.';
comment on column bi.projects.is_archived is 'True when the project is archived.';
comment on column bi.projects.synced_at is 'When this content last changed in the warehouse (UTC); not when it was last seen.';
