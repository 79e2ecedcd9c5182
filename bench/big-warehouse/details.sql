-- Comments and worklogs.

insert into tracker.comments (source_id, id, issue_id, author_id, update_author_id, body, is_public,
  created_at, updated_at)
select 1, n, p.id, a.id, a.id, 'A word about ' || p.key || ': '
  || repeat('done soon. ', 1 + (n % 9)::integer), n % 5 > 0, at, at
from generate_series(1, fill.size('comments')) n
join fill.plan p on p.id = 1 + fill.pick(n, 120, fill.size('issues'))
cross join lateral (select p.created_at + (p.ended_at - p.created_at) * fill.part(n, 121) ^ 2 as at,
  'user-' || (1 + fill.pick(n, 122, 500)) as id) a;

insert into tracker.worklogs (source_id, id, issue_id, author_id, update_author_id, started_at,
  time_spent_seconds, comment, created_at, updated_at)
select 1, n, p.id, a.id, a.id, at, 900 * (1 + fill.pick(n, 123, 24)), 'Worked on ' || p.key,
  at + interval '3 hours', at + interval '3 hours'
from generate_series(1, fill.size('worklogs')) n
join fill.plan p on p.id = 1 + fill.pick(n, 124, fill.size('issues'))
cross join lateral (select p.created_at + (p.ended_at - p.created_at) * fill.part(n, 125) as at,
  'user-' || (1 + fill.pick(n, 126, 500)) as id) a;
