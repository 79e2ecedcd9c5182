create or replace view tracker.value_stays as
select
  x.source_id,
  x.issue_id,
  x.issue_key,
  x.project_id,
  x.project_key,
  x.field_name,
  x.field_id,
  nullif(
    case when x.next_at is null and part.is_last then x.now_id when part.is_after then x.to_id else x.from_id end, ''
  ) as value_id,
  nullif(
    case when x.next_at is null and part.is_last then x.now_text when part.is_after then x.to_text else x.from_text end,
    ''
  ) as value_text,
  case when part.is_after then x.changed_at else x.created_at end as valid_from,
  case when part.is_last then x.next_at else x.changed_at end as valid_to
from (
  select
    i.source_id,
    i.id as issue_id,
    i.key as issue_key,
    i.project_id,
    p.key as project_key,
    i.created_at,
    f.field_name,
    f.field_id,
    c.changed_at,
    c.from_id,
    c.from_text,
    c.to_id,
    c.to_text,
    case f.field_name
      when 'assignee' then i.assignee_id
      when 'priority' then i.priority_id::text
      when 'story_points' then null
      else c.to_id
    end as now_id,
    case
      when f.field_name = 'assignee' then null
      when f.field_name = 'priority' then i.priority
      when f.field_name = 'story_points' then i.story_points::text
      when c.changed_at is null then i.custom_fields ->> f.field_id
      else c.to_text
    end as now_text,
    row_number() over changes as change_number,
    lead(c.changed_at) over changes as next_at
  from tracker.shown_issues i
  join (
    select source_id, field_name, max(field_id) as field_id
    from tracker.followed_fields
    where not is_list
    group by source_id, field_name
  ) f on f.source_id = i.source_id
  left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
  left join (
    select c.*, h.field_name as word
    from tracker.issue_changelog c
    join tracker.followed_fields h on h.source_id = c.source_id and h.field_id = c.field_id and not h.is_list
  ) c on c.source_id = i.source_id and c.issue_id = i.id and c.word = f.field_name
  window changes as (
    partition by i.source_id,
    i.id,
    i.key,
    p.key,
    f.field_name order by c.changed_at,
    c.history_id,
    c.item
  )
) x
cross join (values (false), (true)) as after (is_after)
cross join lateral (
  select after.is_after, after.is_after or x.changed_at is null as is_last
) part
where case when part.is_after then x.changed_at is not null else x.change_number = 1 end;

comment on view tracker.value_stays is 'Values of fields that have one at a time, from the changelog and the value now; one row per shown issue, field and interval. What bi.issue_field_history is made of.';
comment on column tracker.value_stays.source_id is 'The source, see ops.sources.';
comment on column tracker.value_stays.issue_id is 'Issue id.';
comment on column tracker.value_stays.issue_key is 'Issue key of today.';
comment on column tracker.value_stays.project_id is 'Project of today.';
comment on column tracker.value_stays.project_key is 'Its key; null if the project is not known.';
comment on column tracker.value_stays.field_name is 'See tracker.followed_fields.';
comment on column tracker.value_stays.field_id is 'Field id; of several with one meaning, one of them.';
comment on column tracker.value_stays.value_id is 'The value, as id where the field has ids; null: none.';
comment on column tracker.value_stays.value_text is 'The value as text at the time of the change; null: none.';
comment on column tracker.value_stays.valid_from is 'Since when it held (UTC); of the first value when the issue was created.';
comment on column tracker.value_stays.valid_to is 'Until when (UTC), exclusive; null for the value of today.';
