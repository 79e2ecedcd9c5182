create or replace view tracker.status_stays as
select
  x.source,
  x.source_id,
  x.issue_id,
  x.issue_key,
  x.project_id,
  x.project_key,
  x.issue_type_id,
  x.story_points,
  x.created_at,
  y.sequence,
  y.entered_at,
  y.left_at,
  y.entered_by,
  coalesce(st.category, 'unknown') as category,
  coalesce(st.name, y.status_text, '(status ' || y.status_ref || ')', '(unknown)') as status,
  y.status_ref,
  case when y.sequence > 0 then coalesce(ps.category, 'unknown') end as previous_category
from (
  select
    s.name as source,
    i.source_id,
    i.id as issue_id,
    i.key as issue_key,
    i.project_id,
    p.key as project_key,
    i.issue_type_id,
    i.status_id,
    i.story_points,
    i.created_at,
    i.creator_id,
    case
      when c.history_id is null and cs.category = 'done' and i.resolved_at > i.created_at then i.resolved_at
    end as done_since,
    c.history_id,
    c.changed_at,
    c.author_id,
    c.from_id,
    c.from_text,
    c.to_id,
    c.to_text,
    row_number() over changes as change_number,
    lead(c.changed_at) over changes as next_changed_at,
    lag(c.to_id) over changes as previous_to_id
  from tracker.shown_issues i
  join ops.sources s on s.source_id = i.source_id
  left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
  left join tracker.issue_changelog c
    on c.source_id = i.source_id
      and c.issue_id = i.id
      and c.field_id = 'status'
  left join tracker.statuses cs on cs.source_id = i.source_id and cs.id = i.status_id
  window changes as (
    partition by i.source_id,
    i.id,
    i.key,
    i.project_id,
    p.key,
    s.name order by c.changed_at,
    c.history_id,
    c.item
  )
) x
cross join (values (false), (true)) as part (is_after)
cross join lateral (
  select
    case when part.is_after then x.change_number else 0 end as sequence,
    case
      when x.history_id is null
        then case when part.is_after or x.done_since is null then x.status_id::text end
      when part.is_after then x.to_id
      else x.from_id
    end as status_ref,
    case when part.is_after then x.to_text else x.from_text end as status_text,
    case when x.change_number > 1 then x.previous_to_id else x.from_id end as previous_ref,
    case when part.is_after then coalesce(x.changed_at, x.done_since) else x.created_at end as entered_at,
    case when part.is_after then x.next_changed_at else coalesce(x.changed_at, x.done_since) end as left_at,
    case when part.is_after then x.author_id else x.creator_id end as entered_by
) y
left join tracker.statuses st on st.source_id = x.source_id and st.id::text = y.status_ref
left join tracker.statuses ps on ps.source_id = x.source_id and ps.id::text = y.previous_ref
where case
  when part.is_after then coalesce(x.changed_at, x.done_since) is not null
  else x.change_number = 1
end;

comment on view tracker.status_stays is 'Stays of live issues in a status, from the changelog; one row per issue and stay. What bi.issue_status_history and the views of flow are made of.';
comment on column tracker.status_stays.source is 'Name of the source, see ops.sources.name.';
comment on column tracker.status_stays.source_id is 'The source, see ops.sources.';
comment on column tracker.status_stays.issue_id is 'Issue id.';
comment on column tracker.status_stays.issue_key is 'Issue key of today.';
comment on column tracker.status_stays.project_id is 'Project of today.';
comment on column tracker.status_stays.project_key is 'Its key; null if the project is not known.';
comment on column tracker.status_stays.issue_type_id is 'Issue type of today.';
comment on column tracker.status_stays.story_points is 'Story points of today.';
comment on column tracker.status_stays.created_at is 'When the issue was created (UTC).';
comment on column tracker.status_stays.sequence is '0 for the status at creation, then 1, 2, …';
comment on column tracker.status_stays.entered_at is 'When the stay began (UTC).';
comment on column tracker.status_stays.left_at is 'When it ended (UTC); null for the present one.';
comment on column tracker.status_stays.entered_by is 'Who changed the status, see tracker.users.id; at first the creator.';
comment on column tracker.status_stays.category is 'todo, in_progress, done or unknown.';
comment on column tracker.status_stays.status is 'Name of the status today, else as the changelog wrote it.';
comment on column tracker.status_stays.status_ref is 'Id of the status, as text.';
comment on column tracker.status_stays.previous_category is 'Category of the stay before; null for the first.';
