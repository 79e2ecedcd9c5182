create or replace view bi.comments with (security_barrier) as -- Comments; one row per live comment of a live issue. Their text is in bi_pii.comments.
select
  s.name as source,
  c.id::text as comment_id, -- Comment id.
  i.id::text as issue_id,
  i.key as issue_key,
  i.project_id::text as project_id,
  p.key as project_key,
  t.name as issue_type,
  c.author_id, -- The author, see bi.users.user_id.
  ops.shown_name(u.display_name, u.id) as author_name, -- The author, as shown.
  c.visibility is not null as is_restricted, -- True when not everybody who sees the issue may see the comment.
  c.is_public, -- Service desk: true when customers see it; null elsewhere.
  c.updated_at > c.created_at as is_edited, -- True when it was edited after it was written.
  c.created_at,
  c.updated_at,
  (c.created_at at time zone ops.reporting_time_zone())::date as created_date,
  c._synced_at as synced_at
from tracker.comments c
left join ops.sources s on s.source_id = c.source_id
join tracker.shown_issues i on i.source_id = c.source_id and i.id = c.issue_id
left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
left join tracker.issue_types t on t.source_id = i.source_id and t.id = i.issue_type_id
left join tracker.users u on u.source_id = c.source_id and u.id = c.author_id
where c._deleted_at is null;
