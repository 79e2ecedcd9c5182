create or replace view bi.issue_changes with (security_barrier) as -- Audit: every change of every field; one row per changed field of a live issue.
select
  s.name as source,
  c.history_id::text as history_id, -- Id of the change; fields changed together share it.
  c.item as item_number, -- Place of the field within the change, from 0.
  i.id::text as issue_id,
  i.key as issue_key,
  i.project_id::text as project_id,
  p.key as project_key,
  c.changed_at,
  (c.changed_at at time zone ops.reporting_time_zone())::date as changed_date,
  c.author_id as changed_by_id, -- Who changed it, see bi.users.user_id.
  ops.shown_name(u.display_name, u.id) as changed_by_name, -- Who changed it, as shown.
  c.field_id, -- Field id, e.g. status or customfield_10016.
  coalesce(f.name, c.field_name) as field_name, -- Field name of today; of a field that is gone, at the time.
  case
    when lower(c.field_id collate "C") = 'comment' or old.is_hidden then null
    when c.field_id in ('assignee', 'reporter', 'creator') or 'user' in (f.schema_type, f.items_type)
      then ops.shown_name(c.from_text, c.from_id)
    else c.from_text
  end as old_value, -- Value before, as people read it; null for comments that were edited or removed.
  case
    when lower(c.field_id collate "C") = 'comment' or new.is_hidden then null
    when c.field_id in ('assignee', 'reporter', 'creator') or 'user' in (f.schema_type, f.items_type)
      then ops.shown_name(c.to_text, c.to_id)
    else c.to_text
  end as new_value, -- Value after, as people read it; null for comments that were edited or removed.
  case when not old.is_hidden then c.from_id end as old_id, -- Value before, as id where the field has ids.
  case when not new.is_hidden then c.to_id end as new_id -- Value after, as id where the field has ids.
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
