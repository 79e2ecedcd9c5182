-- One table and subqueries: a query of bi.issues that asks for no epic leaves the joins to this view out.
create or replace view tracker.issue_epics as
select
  i.source_id,
  i.id as issue_id,
  i.parent_id,
  coalesce(
    (
      select t.hierarchy_level = 1
      from tracker.issue_types t
      where t.source_id = i.source_id and t.id = i.issue_type_id
    ),
    -- Servers that say no level: the name of the epic is a field that only epics have.
    exists (
      select
      from tracker.fields f
      where f.source_id = i.source_id
        and f.schema_custom = 'com.pyxis.greenhopper.jira:gh-epic-label'
        and i.custom_fields ? f.id
    )
  ) as is_epic,
  coalesce(
    i.epic_id,
    (
      select n.id
      from tracker.issue_keys k
      join tracker.issues n on n.source_id = k.source_id and n.id = k.issue_id
      where k.source_id = i.source_id and k.key = i.epic_key
      order by n.key <> k.key, n._deleted_at is not null, n.id desc
      limit 1
    )
  ) as epic_id,
  i.epic_key,
  case
    when i.epic_key is not null
      and not exists (select from tracker.issues o where o.source_id = i.source_id and o.id = i.epic_id)
      and not exists (select from tracker.issue_keys k where k.source_id = i.source_id and k.key = i.epic_key)
      and not exists (select from tracker.hidden_keys k where k.source_id = i.source_id and k.key = i.epic_key)
      then i.epic_key
  end as unknown_epic_key
from tracker.issues i;

comment on view tracker.issue_epics is 'Whether an issue is an epic, and which epic it names itself; one row per issue. What the epics in bi.issues are reached by, hidden issues included.';
comment on column tracker.issue_epics.source_id is 'The source, see ops.sources.';
comment on column tracker.issue_epics.issue_id is 'The issue, see tracker.issues.id.';
comment on column tracker.issue_epics.parent_id is 'Its parent, see tracker.issues.id.';
comment on column tracker.issue_epics.is_epic is 'True where its type is of the level of epics, or it has the name of an epic.';
comment on column tracker.issue_epics.epic_id is 'The epic that it names, by id or by any key that the epic has or had; null: none, or its id is not known.';
comment on column tracker.issue_epics.epic_key is 'Key of the epic as it names it.';
comment on column tracker.issue_epics.unknown_epic_key is 'epic_key, where no issue of the warehouse has or had that key.';
