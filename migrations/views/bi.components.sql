create or replace view bi.components with (security_barrier) as -- Components with what is open in them; one row per component that a live issue names. Name and description are as of the last change of an issue that names it; a component without issues is not known.
select
  s.name as source,
  c.component_id::text as component_id, -- Component id; stable.
  c.name as component_name, -- Name; unique within a project.
  c.project_id::text as project_id,
  p.key as project_key,
  c.description as component_description, -- What the component is.
  c.issues, -- Live issues of the component; an issue with several components counts in each.
  c.issues - c.done_issues as open_issues, -- Those of them that are not done; may be summed over components like issues.
  c.in_progress_issues, -- Those of them in the status category in_progress; may be summed over components like issues.
  c.done_issues, -- Those of them in the status category done; may be summed over components like issues.
  (case when abs(c.open_story_points) < 1e13 then c.open_story_points end)::numeric(18,4) as open_story_points,
  c.oldest_open_at -- When the oldest of its open issues was created (UTC); null if none is open.
from (
  select
    n.source_id,
    n.component_id,
    (array_agg(n.name order by i.updated_at desc, i.id desc))[1] as name,
    (array_agg(n.description order by i.updated_at desc, i.id desc))[1] as description,
    (array_agg(i.project_id order by i.updated_at desc, i.id desc))[1] as project_id,
    count(*) as issues,
    count(*) filter (where st.category = 'in_progress') as in_progress_issues,
    count(*) filter (where st.category = 'done') as done_issues,
    sum(i.story_points) filter (
      where st.category is distinct from 'done' and abs(i.story_points) < 1e13
    ) as open_story_points,
    min(i.created_at) filter (where st.category is distinct from 'done') as oldest_open_at
  from tracker.issue_components n
  join tracker.shown_issues i on i.source_id = n.source_id and i.id = n.issue_id
  left join tracker.statuses st on st.source_id = i.source_id and st.id = i.status_id
  group by n.source_id, n.component_id
) c
join ops.sources s on s.source_id = c.source_id
left join tracker.projects p on p.source_id = c.source_id and p.id = c.project_id;
