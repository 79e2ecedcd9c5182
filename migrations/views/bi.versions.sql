create or replace view bi.versions with (security_barrier) as -- Releases with their progress; one row per version that a live issue names. What is said of a version is as of the last change of an issue that names it; a version without issues is not known.
select
  s.name as source,
  v.version_id::text as version_id, -- Version id; stable.
  v.name as version_name, -- Name, e.g. 2.4.0; unique within a project.
  v.project_id::text as project_id,
  p.key as project_key,
  v.description as version_description, -- What the version is for.
  v.released as is_released, -- True when it was released.
  v.archived as is_archived, -- True when it was archived.
  v.start_date, -- Day on which work on it starts; a calendar day without a time zone.
  v.release_date, -- Day of release, planned or real; a calendar day without a time zone.
  coalesce(
    not v.released and v.release_date < (now() at time zone ops.reporting_time_zone())::date, false
  ) as is_overdue, -- True when it is not released and its release day is before today in the reporting time zone.
  v.issues, -- Live issues with this fix version; an issue with several counts in each.
  v.issues - v.done_issues as open_issues, -- Those of them that are not done; may be summed over versions like issues.
  v.in_progress_issues, -- Those of them in the status category in_progress; may be summed over versions like issues.
  v.done_issues, -- Those of them in the status category done; may be summed over versions like issues.
  v.unestimated_issues, -- Those of them without story points; may be summed over versions like issues.
  (case when abs(v.story_points) < 1e13 then v.story_points end)::numeric(18,4) as story_points,
  (case when abs(v.done_story_points) < 1e13 then v.done_story_points end)::numeric(18,4) as done_story_points, -- Story points of its done issues; null if none is estimated. May be summed over versions like issues.
  round(v.done_issues::numeric / nullif(v.issues, 0), 4)::numeric(18,4) as done_issues_ratio, -- done_issues / issues, 0 to 1; null without issues. Never sum it.
  v.affected_issues -- Live issues that say this version shows the fault.
from (
  select
    n.source_id,
    n.version_id,
    (array_agg(n.name order by i.updated_at desc, i.id desc))[1] as name,
    (array_agg(n.description order by i.updated_at desc, i.id desc))[1] as description,
    (array_agg(n.released order by i.updated_at desc, i.id desc))[1] as released,
    (array_agg(n.archived order by i.updated_at desc, i.id desc))[1] as archived,
    (array_agg(n.start_date order by i.updated_at desc, i.id desc))[1] as start_date,
    (array_agg(n.release_date order by i.updated_at desc, i.id desc))[1] as release_date,
    (array_agg(i.project_id order by i.updated_at desc, i.id desc))[1] as project_id,
    count(*) filter (where n.kind = 'fix') as issues,
    count(*) filter (where n.kind = 'fix' and st.category = 'in_progress') as in_progress_issues,
    count(*) filter (where n.kind = 'fix' and st.category = 'done') as done_issues,
    count(*) filter (where n.kind = 'fix' and i.story_points is null) as unestimated_issues,
    sum(i.story_points) filter (where n.kind = 'fix' and abs(i.story_points) < 1e13) as story_points,
    sum(i.story_points) filter (
      where n.kind = 'fix' and st.category = 'done' and abs(i.story_points) < 1e13
    ) as done_story_points,
    count(*) filter (where n.kind = 'affected') as affected_issues
  from tracker.issue_versions n
  join tracker.shown_issues i on i.source_id = n.source_id and i.id = n.issue_id
  left join tracker.statuses st on st.source_id = i.source_id and st.id = i.status_id
  group by n.source_id, n.version_id
) v
join ops.sources s on s.source_id = v.source_id
left join tracker.projects p on p.source_id = v.source_id and p.id = v.project_id;
