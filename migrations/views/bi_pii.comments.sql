create or replace view bi_pii.comments with (security_barrier) as -- The text of comments; one row per live comment of a live issue, see bi.comments.
select
  s.name as source,
  c.id::text as comment_id, -- Comment id, see bi.comments.comment_id.
  i.id::text as issue_id,
  i.key as issue_key,
  case when c.visibility is null then c.body end as body -- The comment as plain text; null if its visibility is restricted.
from tracker.comments c
left join ops.sources s on s.source_id = c.source_id
join tracker.shown_issues i on i.source_id = c.source_id and i.id = c.issue_id
where c._deleted_at is null;
