create or replace view bi.issue_cycle_times as
select
  c.source,
  c.issue_id::text as issue_id,
  c.issue_key,
  c.project_id::text as project_id,
  c.project_key,
  t.name as issue_type,
  (case when abs(c.story_points) < 1e13 then c.story_points end)::numeric(18,4) as story_points,
  c.created_at,
  c.first_started_at,
  c.first_done_at,
  case when c.is_done then c.last_done_at end as done_at,
  (case when c.is_done then c.last_done_at end at time zone 'UTC')::date as done_date,
  round(
    case when c.is_done then greatest(0, extract(epoch from c.last_done_at - c.created_at)) end / 86400, 3
  )::numeric(18,3) as lead_time_days,
  round(
    case
      when c.is_done and c.first_started_at is not null
        then greatest(0, extract(epoch from c.last_done_at - c.first_started_at))
    end / 86400,
    3
  )::numeric(18,3) as cycle_time_days,
  round(c.todo_seconds / 86400, 3)::numeric(18,3) as todo_days,
  round(c.in_progress_seconds / 86400, 3)::numeric(18,3) as in_progress_days,
  c.reopen_count,
  c.status_changes,
  c.is_done
from (
  select
    h.source,
    h.source_id,
    h.issue_id,
    h.issue_key,
    h.project_id,
    h.project_key,
    h.issue_type_id,
    h.story_points,
    h.created_at,
    min(h.entered_at) filter (where h.category = 'in_progress') as first_started_at,
    min(h.entered_at) filter (where h.category = 'done') as first_done_at,
    max(h.entered_at) filter (
      where h.category = 'done' and h.previous_category is distinct from 'done'
    ) as last_done_at,
    bool_or(h.left_at is null and h.category = 'done') as is_done,
    coalesce(
      sum(
        greatest(0, extract(epoch from coalesce(h.left_at, now()) - h.entered_at))
      ) filter (where h.category = 'todo'),
      0
    ) as todo_seconds,
    coalesce(
      sum(
        greatest(0, extract(epoch from coalesce(h.left_at, now()) - h.entered_at))
      ) filter (where h.category = 'in_progress'),
      0
    ) as in_progress_seconds,
    count(*) filter (where h.previous_category = 'done' and h.category <> 'done') as reopen_count,
    count(*) - 1 as status_changes
  from (
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
      from tracker.issues i
      join ops.sources s on s.source_id = i.source_id
      left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
      left join tracker.issue_changelog c
        on c.source_id = i.source_id
          and c.issue_id = i.id
          and c.field_id = 'status'
      left join tracker.statuses cs on cs.source_id = i.source_id and cs.id = i.status_id
      where i._deleted_at is null window changes as (
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
    end
  ) h
  group by
    h.source,
    h.source_id,
    h.issue_id,
    h.issue_key,
    h.project_id,
    h.project_key,
    h.issue_type_id,
    h.story_points,
    h.created_at
) c
left join tracker.issue_types t on t.source_id = c.source_id and t.id = c.issue_type_id;

comment on view bi.issue_cycle_times is 'Lead and cycle time; one row per live issue. An issue that was reopened and is not done has no done_at.';
comment on column bi.issue_cycle_times.source is 'The source, see ops.sources.name; ids and keys are unique within one source.';
comment on column bi.issue_cycle_times.issue_id is 'Issue id; stable.';
comment on column bi.issue_cycle_times.issue_key is 'Issue key of today, e.g. PROJ-7; changes when the issue moves.';
comment on column bi.issue_cycle_times.project_id is 'Id of the project the issue is in today; stable.';
comment on column bi.issue_cycle_times.project_key is 'Key of the project the issue is in today; null if the warehouse does not know the project.';
comment on column bi.issue_cycle_times.issue_type is 'Issue type of today, e.g. Bug.';
comment on column bi.issue_cycle_times.story_points is 'Story points of today, to four decimals; null if not estimated.';
comment on column bi.issue_cycle_times.created_at is 'When it was created (UTC).';
comment on column bi.issue_cycle_times.first_started_at is 'When it was first in progress (UTC); null if never.';
comment on column bi.issue_cycle_times.first_done_at is 'When it was first done (UTC); null if never.';
comment on column bi.issue_cycle_times.done_at is 'When it last became done (UTC); null while it is not done.';
comment on column bi.issue_cycle_times.done_date is 'Day of done_at in UTC.';
comment on column bi.issue_cycle_times.lead_time_days is 'Days of 24 hours from creation to done_at.';
comment on column bi.issue_cycle_times.cycle_time_days is 'Days of 24 hours from first_started_at to done_at; null if it was never in progress.';
comment on column bi.issue_cycle_times.todo_days is 'Days spent in statuses of the category todo, until now.';
comment on column bi.issue_cycle_times.in_progress_days is 'Days spent in statuses of the category in_progress, until now.';
comment on column bi.issue_cycle_times.reopen_count is 'How often it left done.';
comment on column bi.issue_cycle_times.status_changes is 'How often its status changed.';
comment on column bi.issue_cycle_times.is_done is 'True when its last status by the changelog is done.';
