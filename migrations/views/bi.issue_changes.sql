create or replace view bi.issue_changes with (security_barrier) as
select
  s.name as source,
  c.history_id::text as history_id,
  c.item as item_number,
  i.id::text as issue_id,
  i.key as issue_key,
  i.project_id::text as project_id,
  p.key as project_key,
  c.changed_at,
  (c.changed_at at time zone ops.reporting_time_zone())::date as changed_date,
  c.author_id as changed_by_id,
  ops.shown_name(u.display_name, u.id) as changed_by_name,
  c.field_id,
  coalesce(f.name, c.field_name) as field_name,
  case
    when lower(c.field_id collate "C") = 'comment' or old.is_hidden then null
    when c.field_id in ('assignee', 'reporter', 'creator') or 'user' in (f.schema_type, f.items_type)
      then ops.shown_name(c.from_text, c.from_id)
    else c.from_text
  end as old_value,
  case
    when lower(c.field_id collate "C") = 'comment' or new.is_hidden then null
    when c.field_id in ('assignee', 'reporter', 'creator') or 'user' in (f.schema_type, f.items_type)
      then ops.shown_name(c.to_text, c.to_id)
    else c.to_text
  end as new_value,
  case when not old.is_hidden then c.from_id end as old_id,
  case when not new.is_hidden then c.to_id end as new_id
from tracker.issue_changelog c
left join ops.sources s on s.source_id = c.source_id
join tracker.shown_issues i on i.source_id = c.source_id and i.id = c.issue_id
left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
left join tracker.users u on u.source_id = c.source_id and u.id = c.author_id
left join tracker.fields f on f.source_id = c.source_id and f.id = c.field_id
-- Links, parents and epics name other issues, by key in one of the two.
cross join lateral (
  select (ops.is_issue_key(c.from_id) or ops.is_issue_key(c.from_text)) is true and exists (
    select from tracker.hidden_keys k where k.source_id = c.source_id and k.key in (c.from_id, c.from_text)
  ) as is_hidden
) old
cross join lateral (
  select (ops.is_issue_key(c.to_id) or ops.is_issue_key(c.to_text)) is true and exists (
    select from tracker.hidden_keys k where k.source_id = c.source_id and k.key in (c.to_id, c.to_text)
  ) as is_hidden
) new;

comment on view bi.issue_changes is 'Audit: every change of every field; one row per changed field of a live issue.';
comment on column bi.issue_changes.history_id is 'Id of the change; fields changed together share it.';
comment on column bi.issue_changes.item_number is 'Place of the field within the change, from 0.';
comment on column bi.issue_changes.changed_by_id is 'Who changed it, see bi.users.user_id.';
comment on column bi.issue_changes.changed_by_name is 'Who changed it, as shown.';
comment on column bi.issue_changes.field_id is 'Field id, e.g. status or customfield_10016.';
comment on column bi.issue_changes.field_name is 'Field name of today; of a field that is gone, at the time.';
comment on column bi.issue_changes.old_value is 'Value before, as people read it; null for comments that were edited or removed.';
comment on column bi.issue_changes.new_value is 'Value after, as people read it; null for comments that were edited or removed.';
comment on column bi.issue_changes.old_id is 'Value before, as id where the field has ids.';
comment on column bi.issue_changes.new_id is 'Value after, as id where the field has ids.';
