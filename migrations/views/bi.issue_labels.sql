create or replace view bi.issue_labels with (security_barrier) as -- Labels; one row per live issue and label.
select
  s.name as source,
  i.id::text as issue_id,
  i.key as issue_key,
  i.project_id::text as project_id,
  p.key as project_key,
  l.label as issue_label -- The label.
from tracker.issue_labels l
left join ops.sources s on s.source_id = l.source_id
join tracker.shown_issues i on i.source_id = l.source_id and i.id = l.issue_id
left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id;
