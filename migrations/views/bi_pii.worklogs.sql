create or replace view bi_pii.worklogs with (security_barrier) as -- The text of worklogs; one row per live entry of a live issue, see bi.worklogs.
select
  s.name as source,
  w.id::text as worklog_id, -- Worklog id, see bi.worklogs.worklog_id.
  i.id::text as issue_id,
  i.key as issue_key,
  case when w.visibility is null then w.comment end as work_comment -- What was done, in the author's words; null if its visibility is restricted.
from tracker.worklogs w
left join ops.sources s on s.source_id = w.source_id
join tracker.shown_issues i on i.source_id = w.source_id and i.id = w.issue_id
where w._deleted_at is null;
