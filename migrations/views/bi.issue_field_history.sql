create or replace view bi.issue_field_history as
select
  h.source,
  h.issue_id,
  h.issue_key,
  h.project_id,
  h.project_key,
  'status' as field_name,
  'status' as field_id,
  h.status_id as value_id,
  h.status as value_text,
  null::numeric(18,4) as value_number,
  h.entered_at as valid_from,
  h.left_at as valid_to,
  h.is_current
from bi.issue_status_history h
where h.is_current or h.left_at > h.entered_at
union all
select
  s.name,
  v.issue_id::text,
  v.issue_key,
  v.project_id::text,
  v.project_key,
  v.field_name,
  v.field_id,
  shown.id,
  case
    when v.field_name = 'assignee' or f.schema_type = 'user'
      then ops.shown_name(coalesce(u.display_name, v.value_text), shown.id)
    when v.field_name = 'priority' then coalesce(pr.name, v.value_text)
    else v.value_text
  end,
  (
    case
      when v.field_name = 'story_points' and v.value_text ~ '^-?[0-9]{1,13}(\.[0-9]*)?$' then v.value_text::numeric
    end
  )::numeric(18,4),
  v.valid_from,
  v.valid_to,
  v.valid_to is null
from tracker.value_stays v
join ops.sources s on s.source_id = v.source_id
left join tracker.fields f on f.source_id = v.source_id and f.id = v.field_id
-- A person in a custom field that never changed is there by the account id.
cross join lateral (select coalesce(v.value_id, case f.schema_type when 'user' then v.value_text end) as id) as shown
left join tracker.users u on u.source_id = v.source_id and u.id = shown.id
left join tracker.priorities pr on pr.source_id = v.source_id and pr.id::text = v.value_id
where v.valid_to is null or v.valid_to > v.valid_from
union all
select
  s.name,
  v.issue_id::text,
  v.issue_key,
  v.project_id::text,
  v.project_key,
  v.field_name,
  f.field_id,
  v.value_id,
  coalesce(
    case
      when v.field_name = 'sprint'
        then (
            select sp.name
            from tracker.sprints sp
            where sp.source_id = v.source_id
              and sp.id = case when v.value_id ~ '^[0-9]{1,18}$' then v.value_id::bigint end
          )
    end,
    v.value_text
  ),
  null::numeric(18,4),
  v.valid_from,
  v.valid_to,
  v.valid_to is null
from tracker.list_value_stays v
join ops.sources s on s.source_id = v.source_id
left join (
  select source_id, field_name, max(field_id) as field_id
  from tracker.followed_fields
  group by source_id, field_name
) f on f.source_id = v.source_id and f.field_name = v.field_name
where v.valid_to is null or v.valid_to > v.valid_from;

comment on view bi.issue_field_history is 'What fields held when; one row per live issue, field, value and interval. As of an instant: field_name = … and valid_from <= instant and (valid_to > instant or valid_to is null). An issue has one such row of status, assignee, priority and story_points (empty values are rows with null), and one for each of its sprints and fix versions (none without any). Values that were changed again in the same instant are left out: see bi.issue_changes.';
comment on column bi.issue_field_history.source is 'The source, see ops.sources.name; ids and keys are unique within one source.';
comment on column bi.issue_field_history.issue_id is 'Issue id; stable.';
comment on column bi.issue_field_history.issue_key is 'Issue key of today, e.g. PROJ-7; changes when the issue moves.';
comment on column bi.issue_field_history.project_id is 'Id of the project the issue is in today; stable.';
comment on column bi.issue_field_history.project_key is 'Key of the project the issue is in today; null if the warehouse does not know the project.';
comment on column bi.issue_field_history.field_name is 'status, assignee, priority, story_points, sprint or fix_versions, the same at every site; or a custom field by its word in ref.history_fields.';
comment on column bi.issue_field_history.field_id is 'Field id of the source, e.g. customfield_10016; null if the site has no such field.';
comment on column bi.issue_field_history.value_id is 'The value as id: status, account, priority, sprint, version; null if empty, or where values have no ids.';
comment on column bi.issue_field_history.value_text is 'The value as people read it: names of today, of what is gone the name at the time; null if empty.';
comment on column bi.issue_field_history.value_number is 'Story points as a number, to four decimals; as of one instant they may be summed.';
comment on column bi.issue_field_history.valid_from is 'Since when it held (UTC); of the first value when the issue was created.';
comment on column bi.issue_field_history.valid_to is 'Until when it held (UTC), exclusive; null for what holds today. Where no change says when a sprint or version went, the last change of the issue.';
comment on column bi.issue_field_history.is_current is 'True for what holds today.';
