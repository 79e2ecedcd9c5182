create or replace view bi.issue_field_history with (security_barrier) as -- What fields held when; one row per live issue, field, value and interval. As of an instant: field_name = … and valid_from <= instant and (valid_to > instant or valid_to is null). An issue has one such row of status, assignee, priority and story_points (empty values are rows with null), and one for each of its sprints and fix versions (none without any). Values that were changed again in the same instant are left out: see bi.issue_changes.
-- Postgres takes a view that is nothing but a union apart, and with it the barrier: this one is a subquery.
select
  h.source,
  h.issue_id,
  h.issue_key,
  h.project_id,
  h.project_key,
  h.field_name, -- status, assignee, priority, story_points, sprint or fix_versions, the same at every site; or a custom field by its word in ref.history_fields.
  h.field_id, -- Field id of the source, e.g. customfield_10016; null if the site has no such field.
  case when not x.is_hidden then h.value_id end as value_id, -- The value as id: status, account, priority, sprint, version; null if empty, or where values have no ids.
  case when not x.is_hidden then h.value_text end as value_text, -- The value as people read it: names of today, of what is gone the name at the time; null if empty.
  h.value_number, -- Story points as a number, to four decimals; as of one instant they may be summed.
  h.valid_from, -- Since when it held (UTC); of the first value when the issue was created, or its oldest change where that is older, as imported ones may be.
  h.valid_to, -- Until when it held (UTC), exclusive; null for what holds today. Where no change says when a sprint or version went, the last change of the issue.
  h.is_current, -- True for what holds today.
  h.is_inferred -- True where no change says so: the changes end with another value than that of the issue (the last interval then begins with the resolution of a done issue, else with the last change of the issue; that of a sprint or version that it no longer has ends with its last change), or a change names its value without an id, and not exactly one value has or had the name.
from (
  select
    null::smallint as source_id,
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
    -- The text as the source gives it.
    null as given_text,
    h.entered_at as valid_from,
    h.left_at as valid_to,
    h.is_current,
    h.is_inferred
  from bi.issue_status_history h
  where h.is_current or h.left_at > h.entered_at
  union all
  select
    i.source_id,
    s.name,
    i.id::text,
    i.key,
    i.project_id::text,
    p.key,
    v.field_name,
    coalesce(
      v.field_id,
      (
        select max(l.field_id)
        from tracker.followed_fields l
        where l.source_id = v.source_id and l.field_name = v.field_name
      )
    ),
    v.value_id,
    -- Names by computed ids are looked up: such joins would be planned for a few rows.
    case
      when v.field_name = 'priority'
        then coalesce(
          (
            select pr.name
            from tracker.priorities pr
            where pr.source_id = v.source_id
              and pr.id = case when v.value_id ~ '^[0-9]{1,18}$' then v.value_id::bigint end
          ),
          v.value_text
        )
      when v.field_name = 'sprint'
        then coalesce(
          (
            select sp.name
            from tracker.sprints sp
            where sp.source_id = v.source_id
              and sp.id = case when v.value_id ~ '^[0-9]{1,18}$' then v.value_id::bigint end
          ),
          v.value_text
        )
      when v.field_name = 'assignee'
        or (
          select f.schema_type
          from tracker.fields f
          where f.source_id = v.source_id and f.id = v.field_id
        ) = 'user'
        then ops.shown_name(coalesce(u.display_name, v.value_text), v.value_id)
      else v.value_text
    end,
    (
      case
        when v.field_name = 'story_points' and v.value_text ~ '^-?[0-9]{1,13}(\.[0-9]*)?$' then v.value_text::numeric
      end
    )::numeric(18,4),
    v.value_text,
    v.valid_from,
    v.valid_to,
    v.valid_to is null,
    v.is_inferred
  from tracker.issue_value_intervals v
  join tracker.shown_issues i on i.source_id = v.source_id and i.id = v.issue_id
  left join ops.sources s on s.source_id = i.source_id
  left join tracker.users u on u.source_id = v.source_id and u.id = v.value_id
  left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
  where v.valid_to is null or v.valid_to > v.valid_from
  union all
  -- Values that never changed: a branch for each field, so that a question about one field reads its columns alone.
  select
    i.source_id,
    s.name,
    i.id::text,
    i.key,
    i.project_id::text,
    p.key,
    'assignee',
    'assignee',
    i.assignee_id,
    ops.shown_name(u.display_name, i.assignee_id),
    null::numeric(18,4),
    null,
    b.began_at,
    null,
    true,
    false
  from tracker.shown_issues i
  join tracker.issue_facts b on b.source_id = i.source_id and b.issue_id = i.id and b.assignee_changes = 0
  left join ops.sources s on s.source_id = i.source_id
  left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
  left join tracker.users u on u.source_id = i.source_id and u.id = i.assignee_id
  union all
  select
    i.source_id,
    s.name,
    i.id::text,
    i.key,
    i.project_id::text,
    p.key,
    'priority',
    'priority',
    i.priority_id::text,
    -- Only where the list lacks it, the wide row of the issue is read.
    coalesce(pr.name, (select w.priority from tracker.shown_issues w where w.source_id = i.source_id and w.id = i.id)),
    null::numeric(18,4),
    null,
    b.began_at,
    null,
    true,
    false
  from tracker.shown_issues i
  join tracker.issue_facts b on b.source_id = i.source_id and b.issue_id = i.id and b.priority_changes = 0
  left join ops.sources s on s.source_id = i.source_id
  left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
  left join tracker.priorities pr on pr.source_id = i.source_id and pr.id = i.priority_id
  union all
  select
    i.source_id,
    s.name,
    i.id::text,
    i.key,
    i.project_id::text,
    p.key,
    'story_points',
    f.field_id,
    null,
    i.story_points::text,
    (case when abs(i.story_points) < 1e13 then i.story_points end)::numeric(18,4),
    null,
    b.began_at,
    null,
    true,
    false
  from tracker.shown_issues i
  join tracker.issue_facts b on b.source_id = i.source_id and b.issue_id = i.id
  left join ops.sources s on s.source_id = i.source_id
  left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
  left join (
    select source_id, max(field_id) as field_id from tracker.followed_fields where field_name = 'story_points' group by source_id
  ) f on f.source_id = i.source_id
  where not exists (
    select
    from tracker.issue_value_intervals v
    where v.source_id = i.source_id and v.issue_id = i.id and v.field_name = 'story_points'
  )
  union all
  select
    i.source_id,
    s.name,
    i.id::text,
    i.key,
    i.project_id::text,
    p.key,
    f.field_name,
    f.field_id,
    -- A person in a custom field is there by the account id.
    case when f.is_person then w.value end,
    case
      when f.is_person
        then ops.shown_name(
          coalesce((select u.display_name from tracker.users u where u.source_id = i.source_id and u.id = w.value), w.value),
          w.value
        )
      else w.value
    end,
    null::numeric(18,4),
    w.value,
    b.began_at,
    null,
    true,
    false
  from tracker.shown_issues i
  join tracker.issue_facts b on b.source_id = i.source_id and b.issue_id = i.id
  left join ops.sources s on s.source_id = i.source_id
  left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
  join (
    select h.field_name, h.field_id, s.source_id, coalesce(f.schema_type = 'user', false) as is_person
    from ref.history_fields h
    join ops.sources s on s.name = h.source
    left join tracker.fields f on f.source_id = s.source_id and f.id = h.field_id
  ) f on f.source_id = i.source_id
  cross join lateral (select i.custom_fields ->> f.field_id as value) w
  where not exists (
    select
    from tracker.issue_value_intervals v
    where v.source_id = i.source_id and v.issue_id = i.id and v.field_name = f.field_name
  )
) h
-- A custom field may name another issue, by its key.
cross join lateral (
  select (
    h.field_name not in ('status', 'assignee', 'priority', 'story_points', 'sprint', 'fix_versions')
    and (ops.is_issue_key(h.value_id) or ops.is_issue_key(h.given_text))
  ) is true and exists (
    select from tracker.hidden_keys k where k.source_id = h.source_id and k.key in (h.value_id, h.given_text)
  ) as is_hidden
) x;
