create or replace view bi_pii.worklogs with (security_barrier) as
select
  s.name as source,
  w.id::text as worklog_id,
  i.id::text as issue_id,
  i.key as issue_key,
  case when w.visibility is null then w.comment end as work_comment
from tracker.worklogs w
left join ops.sources s on s.source_id = w.source_id
join tracker.shown_issues i on i.source_id = w.source_id and i.id = w.issue_id
where w._deleted_at is null;

comment on view bi_pii.worklogs is 'The text of worklogs; one row per live entry of a live issue, see bi.worklogs.';
comment on column bi_pii.worklogs.worklog_id is 'Worklog id, see bi.worklogs.worklog_id.';
comment on column bi_pii.worklogs.work_comment is 'What was done, in the author''s words; null if its visibility is restricted.';
