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
  (case when c.is_done then c.last_done_at end at time zone ops.reporting_time_zone())::date as done_date,
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
  from tracker.status_stays h
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
comment on column bi.issue_cycle_times.done_date is 'Day of done_at in the reporting time zone.';
comment on column bi.issue_cycle_times.lead_time_days is 'Days of 24 hours from creation to done_at.';
comment on column bi.issue_cycle_times.cycle_time_days is 'Days of 24 hours from first_started_at to done_at; null if it was never in progress.';
comment on column bi.issue_cycle_times.todo_days is 'Days spent in statuses of the category todo, until now.';
comment on column bi.issue_cycle_times.in_progress_days is 'Days spent in statuses of the category in_progress, until now.';
comment on column bi.issue_cycle_times.reopen_count is 'How often it left done.';
comment on column bi.issue_cycle_times.status_changes is 'How often its status changed.';
comment on column bi.issue_cycle_times.is_done is 'True when its last status by the changelog is done.';
